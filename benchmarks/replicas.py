"""Predictions per second of one server, and of replicas that follow it and share a port, under the load of ``wrk``.

Rows are those of serve.py. The load comes from the same machine, so that it takes some of its processors; the processor
time of the servers per prediction does not depend on that.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import httpx
from harness import arguments, machine, table, write_json
from serve import MODEL, process, rows

SCRIPT = """
local bodies = {{ {bodies} }}
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local k = 0
request = function()
  k = k % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[k])
end
"""
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def served(*options: str) -> Iterator[tuple[str, int]]:
    """Run a server; yield its address and its process number."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "confidently", "serve", f"{folder}/served", *options]
        with process(command) as found:
            yield found


def processor_seconds(pids: list[int]) -> float:
    """Return the processor time of processes so far."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(one[11]) + int(one[12]) for one in fields) / TICKS


def load(address: str, pids: list[int], script: str, seconds: int, connections: int) -> tuple[float, float]:
    """Return predictions per second, and the microseconds of the servers' processor time for each."""
    before, began = processor_seconds(pids), time.perf_counter()
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script, f"{address}{MODEL}/predict"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in told, told
    requests = int(re.search(r"(\d+) requests in", told)[1])  # type: ignore[index]
    spent, lasted = processor_seconds(pids) - before, time.perf_counter() - began
    return requests / lasted, 1e6 * spent / requests


def measure(replicas: int, seconds: int, repetitions: int, connections: int) -> dict[str, float]:
    """Measure the server and its replicas in turn."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        script = f"{folder}/load.lua"
        bodies = ", ".join(json.dumps(body.decode()) for body in rows(labelled=False)[:500])
        Path(script).write_text(SCRIPT.format(bodies=bodies))
        primary, pid = stack.enter_context(served("--port", "0"))
        with httpx.Client(base_url=primary, timeout=60.0) as client:
            client.put(MODEL, json={"view": "none"}).raise_for_status()
            lines = b"\n".join(rows(labelled=True) * 5)
            header = {"content-type": "application/x-ndjson"}
            client.post(f"{MODEL}/learn?wait=learned", content=lines, headers=header).raise_for_status()
        shared, first = stack.enter_context(served("--port", "0", "--replica-of", primary))
        port = shared.rpartition(":")[2]
        others = [stack.enter_context(served("--port", port, "--replica-of", primary))[1] for _ in range(replicas - 1)]
        time.sleep(3.0)  # until all are level
        for _ in range(repetitions):
            for name, address, pids in (("one server", primary, [pid]), ("replicas", shared, [first, *others])):
                rate, spent = load(address, pids, script, seconds, connections)
                found.setdefault(f"{name}: predictions/s", []).append(rate)
                found.setdefault(f"{name}: processor time of a prediction, us", []).append(spent)
    return {name: median(values) for name, values in found.items()}


def main() -> None:
    options = arguments(
        __doc__ or "", ("--replicas", {"type": int, "default": 2}), ("--seconds", {"type": int, "default": 5}),
        ("--repetitions", {"type": int, "default": 5}), ("--connections", {"type": int, "default": 32}),
    )  # fmt: skip
    print(machine())
    found = measure(options.replicas, options.seconds, options.repetitions, options.connections)
    found["replicas / one server"] = found["replicas: predictions/s"] / found["one server: predictions/s"]
    print(table(["figure", "median"], [[name, f"{value:,.2f}"] for name, value in found.items()]))
    write_json(options.json, found)


if __name__ == "__main__":
    main()
