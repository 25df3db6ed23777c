"""The server: acknowledged learning, predictions beside it, memory, next to two other servers that learn.

The client runs on the same machine, so server and client share its processors. Rows are 30 words of 5,000, drawn like
words of text. The peers are a minimal FastAPI + River server and the daemon of Vowpal Wabbit, which has one worker and
so one connection. Both keep their models in memory only: what they acknowledge is lost when they are killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx
from harness import arguments, machine, table, write_json

WORDS, PER_ROW, KINDS = 5000, 30, 2000
MODEL, AUTO = "/v1/models/m", "/v1/models/auto"
AUTO_RATE = 200  # rows a second that the AutoClassifier learns beside predictions
SOAK_RATE = 300
SLOW_DISK = """
import sys, time
import apsw
from confidently.serve.server import Server

class SlowFile(apsw.VFSFile):
    def xSync(self, flags):
        time.sleep(5e-3)
        super().xSync(flags)

class SlowDisk(apsw.VFS):
    def __init__(self):
        super().__init__("slow", "")
    def xOpen(self, name, flags):
        return SlowFile("", name, flags)

disk = SlowDisk()
server = Server(sys.argv[1], port=0, vfs="slow")
sys.exit(server.run(lambda one: print("at", one.address, flush=True)))
"""
PEER = """
import socket, sys
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from river import linear_model

class Row(BaseModel):
    features: dict[str, float]
    label: str | None = None

app, model = FastAPI(), linear_model.LogisticRegression()

@app.post("/learn")
def learn(row: Row):
    model.learn_one(row.features, row.label == "b")
    return {"status": "learned"}

@app.post("/predict")
def predict(row: Row):
    return {"probability": model.predict_proba_one(row.features)}

found = socket.socket(proto=socket.IPPROTO_TCP)
found.bind(("127.0.0.1", 0))
found.listen(512)
print("at http://127.0.0.1:%d" % found.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run([found])
"""


DAEMON = """
import socket
import vowpalwabbit

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
print("at http://127.0.0.1:%d" % port, flush=True)  # now, since the next line waits for a connection
daemon = ["--daemon", "--foreground", "--num_children", "1", "--port", str(port)]
model = vowpalwabbit.Workspace(arg_list=[*daemon, "--loss_function", "logistic", "--link", "logistic", "--quiet"])
model.run_parser()
"""


class Load(NamedTuple):
    """Requests a second, and the latencies, in milliseconds, that half and 99 % of the requests do not exceed."""

    rate: float
    p50: float
    p99: float


class Clock:
    """Counts the processor time of a server, with its children, for each of some requests; others do not change it."""

    def __init__(self, pid: int) -> None:
        self._pid, self._before = pid, processor_seconds(pid)

    def microseconds(self, requests: int) -> float:
        """Return the microseconds per request since the last call."""
        before, self._before = self._before, processor_seconds(self._pid)
        return 1e6 * (self._before - before) / requests


def processor_seconds(group: int) -> float:
    """Return what the processes of a group have used so far."""
    found = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def rows(labelled: bool) -> list[bytes]:
    """Return bodies of requests."""
    source = random.Random(0)
    shares = [1.0 / (k + 10) for k in range(WORDS)]
    found = []
    for _ in range(KINDS):
        features = {f"w{k}": 1.0 for k in source.choices(range(WORDS), shares, k=PER_ROW)}
        label = {"label": "b" if source.random() < 0.5 else "a"} if labelled else {}
        found.append(json.dumps({"features": features} | label).encode())
    return found


@contextmanager
def process(command: list[str]) -> Iterator[tuple[str, int]]:
    """Run a server; yield its address, which it prints, and its process number."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1], server.pid
        finally:
            os.killpg(server.pid, signal.SIGTERM)  # the daemon has children
            server.wait(30)


async def connection(port: int, path: str, bodies: list[bytes], count: int, first: int, spent: list[float]) -> None:
    """Send requests one after the other, as a client written for speed does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    for k in range(first, first + count):
        body = bodies[k % len(bodies)]
        began = time.perf_counter()
        writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert b" 200 " in answer[:16], answer
        await reader.readexactly(int(answer.split(b"content-length: ")[1].split(b"\r")[0]))
        spent.append(time.perf_counter() - began)
    writer.close()


def daemon_load(address: str, labelled: bool, count: int) -> Load:
    """Send rows to the daemon of Vowpal Wabbit over one connection, each after the prediction of the one before."""
    lines = [daemon_line(json.loads(body)) for body in rows(labelled)]
    spent: list[float] = []
    with connected_to(int(address.rpartition(":")[2])) as connected:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        for k in range(count):
            sent = time.perf_counter()
            connected.sendall(lines[k % len(lines)])
            answer = b""
            while not answer.endswith(b"\n"):
                answer += connected.recv(100)
            assert 0.0 <= float(answer) <= 1.0
            spent.append(time.perf_counter() - sent)
        rate = count / (time.perf_counter() - began)
    spent.sort()
    return Load(rate, 1e3 * spent[len(spent) // 2], 1e3 * spent[int(len(spent) * 0.99)])


def connected_to(port: int) -> socket.socket:
    """Return a connection to a server that may still be starting."""
    until = time.perf_counter() + 30.0
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if time.perf_counter() > until:
                raise
            time.sleep(0.05)


def daemon_line(row: dict[str, Any]) -> bytes:
    """Return a row as Vowpal Wabbit reads it."""
    label = {"a": "-1", "b": "1"}.get(row.get("label", ""), "")
    return f"{label} |f {' '.join(row['features'])}\n".encode()


async def load(address: str, path: str, bodies: list[bytes], connections: int, total: int) -> Load:
    """Send requests over some connections at once."""
    spent: list[float] = []
    port, each = int(address.rpartition(":")[2]), total // connections
    began = time.perf_counter()
    await asyncio.gather(*(connection(port, path, bodies, each, each * k, spent) for k in range(connections)))
    rate = len(spent) / (time.perf_counter() - began)
    spent.sort()
    return Load(rate, 1e3 * spent[len(spent) // 2], 1e3 * spent[int(len(spent) * 0.99)])


async def beside(
    address: str, rate: float, seconds: float, taught_model: str = MODEL, asked_model: str = MODEL, pause: float = 0.0
) -> Load:
    """Return the latencies of predictions while rows are learned at a steady rate.

    Predictions come one after the other, with a pause after 50 of them.
    """
    taught, asked = rows(labelled=True), rows(labelled=False)
    port, spent, questions = int(address.rpartition(":")[2]), list[float](), list[float]()
    until = time.perf_counter() + seconds

    async def teach(first: int, connections: int = 8) -> None:
        began, k = time.perf_counter(), 0
        while time.perf_counter() < until:
            await connection(port, f"{taught_model}/learn", taught, 20, first + k, spent)
            k += 20
            await asyncio.sleep(max(began + k * connections / rate - time.perf_counter(), 0.0))

    async def ask() -> None:
        while time.perf_counter() < until:
            await connection(port, f"{asked_model}/predict", asked, 50, 0, questions)
            await asyncio.sleep(pause)

    await asyncio.gather(ask(), *(teach(200 * k) for k in range(8)))
    questions.sort()
    return Load(len(spent) / seconds, 1e3 * questions[len(questions) // 2], 1e3 * questions[int(0.99 * len(questions))])


def lines(address: str, total: int) -> float:
    """Return rows a second of one NDJSON request."""
    bodies = rows(labelled=True)
    content = b"\n".join(bodies[k % len(bodies)] for k in range(total))
    began = time.perf_counter()
    answer = httpx.post(
        f"{address}{MODEL}/learn", content=content, headers={"Content-Type": "application/x-ndjson"}, timeout=600
    )
    assert answer.text.count('"durable"') == total
    return total / (time.perf_counter() - began)


def memory(pid: int) -> float:
    """Return megabytes that a process has resident."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def beside_auto(taught: list[bytes], asked: list[bytes], count: int) -> dict[str, float]:
    """Return the latencies of predictions of an AutoClassifier and another model, idle and while the first learns."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, process(ours(folder)) as (address, _):
        for path, settings in ((MODEL, {}), (AUTO, {"auto": True})):
            httpx.put(address + path, json={"classes": ["a", "b"]} | settings).raise_for_status()
            asyncio.run(load(address, f"{path}/learn", taught, 8, 1200))
        for of, path in (("AutoClassifier", AUTO), ("other model", MODEL)):
            idle = asyncio.run(load(address, f"{path}/predict", asked, 1, count))
            busy = asyncio.run(beside(address, AUTO_RATE, 4.0, AUTO, path))
            for when, one in (("idle", idle), (f"beside {AUTO_RATE} learns/s of an AutoClassifier", busy)):
                found[f"{of}: predict p50 {when}, ms"] = one.p50
                found[f"{of}: predict p99 {when}, ms"] = one.p99
    return found


def soak(minutes: int) -> dict[str, Any]:
    """Learn at a steady rate beside predictions; return the memory after every minute, and what was learned."""
    found: dict[str, Any] = {"memory, MB": []}
    with tempfile.TemporaryDirectory() as folder, process(ours(folder)) as (address, pid):
        httpx.put(address + MODEL, json={"classes": ["a", "b"]}).raise_for_status()
        for _ in range(minutes):
            asyncio.run(beside(address, SOAK_RATE, 60.0, pause=0.5))
            found["memory, MB"].append(round(memory(pid), 1))
        found["rows learned"] = httpx.get(address + MODEL).json()["rows"]
    return found


def ours(folder: str) -> list[str]:
    return [sys.executable, "-m", "confidently", "serve", folder, "--port", "0"]


def measure(requests: int, repetitions: int) -> dict[str, Any]:
    """Run everything; servers in turns."""
    taught, asked = rows(labelled=True), rows(labelled=False)
    found: dict[str, Any] = {}

    def note(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)

    for _ in range(repetitions):
        for name, slow in (("", False), (", disk with 5 ms a sync", True)):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-c", SLOW_DISK, folder] if slow else ours(folder)
                with process(command) as (address, pid):
                    httpx.put(address + MODEL, json={"classes": ["a", "b"]}).raise_for_status()
                    asyncio.run(load(address, f"{MODEL}/learn", taught, 8, 1200))  # the first rows
                    clock = Clock(pid)
                    for n in (64,) if slow else (1, 8, 64):
                        learned = asyncio.run(load(address, f"{MODEL}/learn", taught, n, requests))
                        note(f"learns/s, {n} connections{name}", learned.rate)
                        spent = clock.microseconds(requests)
                    if slow:
                        continue
                    note("processor time of a learn, 64 connections, us", spent)
                    idle = asyncio.run(load(address, f"{MODEL}/predict", asked, 1, requests // 2))
                    note("predict p50, ms", idle.p50)
                    note("predict p99, ms", idle.p99)
                    clock.microseconds(1)
                    many = asyncio.run(load(address, f"{MODEL}/predict", asked, 64, requests))
                    note("predicts/s, 64 connections", many.rate)
                    note("processor time of a predict, 64 connections, us", clock.microseconds(requests))
                    busy = asyncio.run(beside(address, 2000, 4.0))
                    note("learns/s beside predictions", busy.rate)
                    note("predict p50 beside learning, ms", busy.p50)
                    note("predict p99 beside learning, ms", busy.p99)
                    before = memory(pid)
                    clock.microseconds(1)
                    note("NDJSON rows/s", lines(address, 20 * requests))
                    note("processor time of a row of NDJSON, us", clock.microseconds(20 * requests))
                    note("memory, MB", memory(pid))
                    note("memory added by NDJSON, MB", memory(pid) - before)
                    os.kill(pid, signal.SIGKILL)
                if not slow:
                    began = time.perf_counter()
                    with process(ours(folder)) as (address, _):
                        while httpx.get(f"{address}/readyz").status_code != 200:
                            time.sleep(0.01)
                        note("seconds to ready after a kill", time.perf_counter() - began)
        for name, value in beside_auto(taught, asked, requests // 8).items():
            note(name, value)
        if find_spec("fastapi") and find_spec("river"):
            with process([sys.executable, "-c", PEER]) as (address, pid):
                clock = Clock(pid)
                for n in (1, 64):
                    learned = asyncio.run(load(address, "/learn", taught, n, requests // 4))
                    note(f"FastAPI + River: learns/s, {n} connections", learned.rate)
                    spent = clock.microseconds(requests // 4)
                note("FastAPI + River: processor time of a learn, 64 connections, us", spent)
                asyncio.run(load(address, "/predict", asked, 64, requests // 4))
                spent = clock.microseconds(requests // 4)
                note("FastAPI + River: processor time of a predict, 64 connections, us", spent)
                idle = asyncio.run(load(address, "/predict", asked, 1, requests // 4))
                note("FastAPI + River: predict p99, ms", idle.p99)
        if find_spec("vowpalwabbit"):
            with process([sys.executable, "-c", DAEMON]) as (address, pid):
                clock = Clock(pid)
                note("VW's daemon: learns/s, 1 connection", daemon_load(address, True, requests).rate)
                note("VW's daemon: processor time of a learn, us", clock.microseconds(requests))
                note("VW's daemon: predict p99, ms", daemon_load(address, False, requests // 4).p99)
    return {name: median(values) for name, values in found.items()}


def main() -> None:
    options = arguments(
        __doc__ or "", ("--requests", {"type": int, "default": 8000}), ("--repetitions", {"type": int, "default": 3}),
        ("--soak", {"type": int, "default": 0, "metavar": "MINUTES", "help": "measure memory only, for so long"}),
    )  # fmt: skip
    print(machine())
    if options.soak:
        steady = soak(options.soak)
        print(*(f"{name}: {value}" for name, value in steady.items()), sep="\n")
        write_json(options.json, steady)
        return
    found = measure(options.requests, options.repetitions)
    shown = [[name, f"{value:,.2f}" if value < 100 else f"{value:,.0f}"] for name, value in found.items()]
    print(table(["figure", "median"], shown))
    write_json(options.json, found)


if __name__ == "__main__":
    main()
