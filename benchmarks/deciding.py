"""A server that decides: mean reward beside the library's DecisionModel, and the time of decisions over HTTP.

Classification sets become bandits as in benchmarks/bandits.py: an action per class, reward 1 for the right class. The
server gets one request after the other over one connection, and the reward of each decision is learned before the next
one; so its decisions are those of the DecisionModel, and so is the reward. --speed measures decisions as one client
sees them: of three actions while another client sends rewards at a constant rate, and of thousands of actions, sent
with each request, some of which were rewarded before; 3,000 rewards are known. Beside them stand the times of the same
web server with an application that does nothing but store as many bytes, wait until the disk has them, and answer as
many: no server that keeps its decisions is faster on the machine.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from bandits import rows_of
from harness import arguments, have_data, machine, markdown, write_json

from confidently.bandits import Action, Actions, DecisionModel

SETS = ("letter", "digits", "shuttle")
MODEL = "/v1/models/m"
N_TIMED, N_KNOWN, TOGETHER = 300, 3000, 50  # decisions, rewards, and decisions whose rewards are sent at once
RATE, SECONDS = 1000, 10  # rewards per second
PAUSE = 0.02  # seconds between decisions
PAGE, PER_ACTION = 4096, 24  # bytes that the log stores of a decision
STORED, ANSWERED = b"stored", b"answered"  # headers with numbers of bytes


class Spent(NamedTuple):
    """Milliseconds of decisions, those of the processors for each, and of requests to a server that does nothing."""

    decisions: list[float]
    processor: float | None = None
    nothing: list[float] | None = None


class Client:
    """A connection to a server, which may answer one request at a time."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def send(
        self, method: str, path: str, body: Any, kind: str = "application/json", headers: dict[str, str] | None = None
    ) -> bytes:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.connection.request(method, path, content, {"Content-Type": kind} | (headers or {}))
        answer = self.connection.getresponse()
        told = answer.read()
        if answer.status >= 300:
            raise RuntimeError(told.decode())
        return told

    def decide(self, id: str, context: dict[str, Any], actions: list[Any]) -> Any:
        return json.loads(self.send("POST", f"{MODEL}/decide", {"id": id, "context": context, "actions": actions}))

    def reward(self, rewards: dict[str, float]) -> None:
        lines = "".join(json.dumps({"id": id, "reward": reward}) + "\n" for id, reward in rewards.items())
        self.send("POST", f"{MODEL}/rewards?wait=learned", lines.encode(), "application/x-ndjson")


@contextmanager
def served(**settings: Any) -> Iterator[tuple[int, int]]:
    """Serve a model of decisions; yield the port and the process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "confidently", "serve", folder, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline().split("http://")[1].split()[0].rsplit(":", 1)[1].strip("/"))
            Client(port).send("PUT", MODEL, {"task": "decisions", **settings})
            yield port, server.pid
            server.terminate()


def processor(process: int) -> float:
    """Return the milliseconds of processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def mean_rewards(name: str, n_rows: int) -> dict[str, float]:
    """Return the mean rewards of a server, of a DecisionModel, and of the best fixed action."""
    X, rewards = rows_of(name, n_rows)
    order = np.random.default_rng(0).permutation(len(X))
    model, earned = DecisionModel(), {"server": 0.0, "DecisionModel": 0.0}
    names = [f"a{k}" for k in range(rewards.shape[1])]
    actions = Actions([Action(id) for id in names])
    with served() as (port, _):
        client = Client(port)
        for i in order.tolist():
            context = {f"x{j}": float(X[i, j]) for j in np.flatnonzero(X[i])}
            chosen = model.decide(context, actions, f"d{i}").chosen
            model.learn(context, Action(names[chosen]), rewards[i, chosen])
            earned["DecisionModel"] += rewards[i, chosen] / len(X)
            reward = float(rewards[i, names.index(client.decide(f"d{i}", context, names)["chosen"])])
            client.reward({f"d{i}": reward})
            earned["server"] += reward / len(X)
    return earned | {"best fixed action": float(rewards.mean(axis=0).max())}


def context_of(random: np.random.Generator) -> dict[str, Any]:
    return {"city": f"c{random.integers(10)}", "device": f"d{random.integers(3)}", "hour": round(random.random(), 4)}


def taught(client: Client, random: np.random.Generator, actions: list[Any]) -> None:
    """Decide among some of the actions, and send rewards, so that the model has something to say."""
    for first in range(0, N_KNOWN, TOGETHER):
        rewards = {}
        for k in range(first, first + TOGETHER):
            some = [actions[j] for j in random.choice(len(actions), min(5, len(actions)), replace=False)]
            client.decide(f"known{k}", context_of(random), some)
            rewards[f"known{k}"] = float(random.random() < 0.3)
        client.reward(rewards)


def times(
    client: Client, random: np.random.Generator, actions: list[Any], pause: float, headers: dict[str, str] | None = None
) -> list[float]:
    """Return the milliseconds of decisions, or of requests like them."""
    found, parts = [], json.dumps(actions).encode()
    for k in range(N_TIMED):
        context = json.dumps(context_of(random)).encode()
        body = b'{"id":"timed%d","context":%b,"actions":%b}' % (k, context, parts)
        begun = time.perf_counter()
        client.send("POST", f"{MODEL}/decide", body, headers=headers)
        found.append(1e3 * (time.perf_counter() - begun))
        time.sleep(pause)
    return found[10:]


async def nothing(
    scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """Store as many bytes as a request says, and answer as many: an application of the web server."""
    while (await receive()).get("more_body"):
        pass
    sizes = dict(scope["headers"])
    os.pwrite(store().fileno(), bytes(int(sizes[STORED])), 0)
    os.fdatasync(store().fileno())
    answer = bytes(int(sizes[ANSWERED]))
    headers = [(b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


@cache
def store() -> IO[bytes]:
    return tempfile.TemporaryFile()


def doing_nothing(actions: list[Any], stored: int, answered: int) -> list[float]:
    """Return the milliseconds of requests to a server that does nothing but keep and answer so many bytes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = Path(__file__).resolve()
    options = f"--port {port} --lifespan off --no-access-log --log-level error".split()
    command = [sys.executable, "-m", "uvicorn", f"{here.stem}:nothing", "--app-dir", str(here.parent), *options]
    with subprocess.Popen(command) as server:
        for _ in range(100):
            with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        headers = {STORED.decode(): str(stored), ANSWERED.decode(): str(answered)}
        found = times(Client(port), np.random.default_rng(0), actions, PAUSE, headers)
        server.terminate()
    return found


def many_actions(n: int, with_features: bool) -> Spent:
    """Time decisions among some actions, and requests like them to a server that does nothing."""
    random = np.random.default_rng(0)
    actions: list[Any] = [f"item{k}" for k in range(n)]
    if with_features:
        actions = [
            {"id": id, "features": {f"topic{k % 20}": 1, "price": round(random.random(), 4)}}
            for k, id in enumerate(actions)
        ]
    with served() as (port, process):
        client = Client(port)
        taught(client, random, actions)
        before = processor(process)
        found = times(client, random, actions, PAUSE)
        used = (processor(process) - before) / N_TIMED
        answered = len(json.dumps(client.decide("last", context_of(random), actions)))
    return Spent(found, used, doing_nothing(actions, max(PAGE, PER_ACTION * n), answered))


def beside_rewards() -> tuple[Spent, float]:
    """Time decisions beside rewards; return how many rewards came per second, too."""
    random, actions = np.random.default_rng(0), ["news", "sport", "games"]
    with served() as (port, _):
        client = Client(port)
        taught(client, random, actions)
        for k in range(RATE * SECONDS):
            client.decide(f"r{k}", context_of(random), actions)
        sent, ends = 0, threading.Event()

        def send() -> None:
            nonlocal sent
            other, begun = Client(port), time.perf_counter()
            while not ends.is_set() and sent < RATE * SECONDS:
                due = min(int((time.perf_counter() - begun) * RATE), RATE * SECONDS)
                if due > sent:
                    lines = "".join(f'{{"id":"r{k}","reward":{k % 2}}}\n' for k in range(sent, due))
                    other.send("POST", f"{MODEL}/rewards", lines.encode(), "application/x-ndjson")
                    sent = due
                time.sleep(0.002)

        thread, begun = threading.Thread(target=send), time.perf_counter()
        thread.start()
        found = times(client, random, actions, 0.01)
        ends.set()
        seconds = time.perf_counter() - begun
        thread.join()
        return Spent(found), sent / seconds


def percentiles(found: list[float]) -> list[str]:
    return [f"{np.percentile(found, q):.1f}" for q in (50, 99)]


def main() -> None:
    args = arguments(
        __doc__ or "",
        ("--only", {"metavar": "NAMES", "default": ",".join(SETS)}),
        ("--rows", {"type": int, "default": 4000}),
        ("--actions", {"type": int, "default": 10_000}),
        ("--speed", {"action": "store_true", "help": "time decisions only"}),
    )
    print(machine())
    if args.speed:
        beside, rate = beside_rewards()
        spent = {
            "3 actions": many_actions(3, False),
            f"3 actions, beside {rate:,.0f} rewards per second": beside,
            f"{args.actions:,} actions": many_actions(args.actions, False),
            f"{args.actions:,} actions with features": many_actions(args.actions, True),
        }
        print(markdown(
            ["ms per decision", "median", "99 %", "processor", "nothing: median", "99 %"],
            [[name, *percentiles(one.decisions), "" if one.processor is None else f"{one.processor:.1f}",
              *(["", ""] if one.nothing is None else percentiles(one.nothing))] for name, one in spent.items()],
        ))  # fmt: skip
        write_json(args.json, {name: one._asdict() for name, one in spent.items()})
        return
    if not have_data():
        return
    rewards = {}
    for name in args.only.split(","):
        rewards[name] = mean_rewards(name, args.rows)
        print(name, rewards[name], flush=True)
    lines = [[name, *(f"{value:.3f}" for value in row.values())] for name, row in rewards.items()]
    print(markdown(["set", *next(iter(rewards.values()))], lines))
    write_json(args.json, rewards)


if __name__ == "__main__":
    main()
