"""Common code of benchmarks of whole processes: generating large files, and measuring a process."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

NON_ZEROS, FEATURES, BLOCK_ROWS = 63, 47_000, 4000
CONFIDENTLY = [sys.executable, "-m", "confidently"]


def block(format_value: Callable[[float], str], vw: bool = False) -> bytes:
    """Return svmlight or VW text: features with the frequencies of words, and labels that depend on them."""
    random = np.random.default_rng(0)
    truth = random.standard_normal(FEATURES)
    frequency = 1.0 / np.arange(10, FEATURES + 10)
    rows = []
    for _ in range(BLOCK_ROWS):
        columns = np.sort(random.choice(FEATURES, NON_ZEROS, replace=False, p=frequency / frequency.sum()))
        values = random.uniform(0.1, 1.0, NON_ZEROS)
        positive = truth[columns] @ values > 0
        label = ("1 |" if positive else "-1 |") if vw else "+1" if positive else "-1"
        features = zip((columns + 1).tolist(), values.tolist(), strict=True)
        rows.append(f"{label} " + " ".join(f"{j}:{format_value(x)}" for j, x in features))
    return ("\n".join(rows) + "\n").encode()


def write(path: Path, text: bytes, times: int) -> int:
    """Write the text repeatedly; return the number of bytes before compression."""
    with gzip.open(path, "wb", compresslevel=6) if path.suffix == ".gz" else open(path, "wb") as file:
        for _ in range(times):
            file.write(text)
    return times * len(text)


# A small process starts the measured one, since a child's peak memory includes that of the process it is forked from.
LAUNCHER = """
import json, os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
output = process.stdout.read()
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps([time.perf_counter() - start, usage.ru_maxrss / 1000, os.waitstatus_to_exitcode(status)]))
sys.stdout.write(output.decode())
"""


def measure(command: Sequence[str]) -> dict[str, float]:
    """Return seconds and peak memory of one process, and what it reports itself with ``--json``."""
    launcher = [sys.executable, "-S", "-c", LAUNCHER, *command]
    environment = {
        k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"
    }  # installed programs have compiled files
    launched = subprocess.run(launcher, capture_output=True, check=True, text=True, env=environment)
    numbers, _, output = launched.stdout.partition("\n")
    seconds, peak, code = json.loads(numbers)
    if code:
        raise SystemExit(f"{' '.join(command)} ended with {code}: {output}")
    found = {"seconds": seconds, "peak_mb": peak}
    if "--json" in command:
        result = json.loads(output.splitlines()[-1])
        found |= {"learning": result["seconds"], "model_mb": result.get("model_bytes", 0) / 1e6}
    return found


def in_turns(commands: dict[str, Sequence[str]], repetitions: int) -> dict[str, list[dict[str, float]]]:
    """Measure the commands in turns, so that a busy machine slows all equally, after one turn to warm caches."""
    for command in commands.values():
        measure(command)
    turns = [{name: measure(command) for name, command in commands.items()} for _ in range(repetitions)]
    return {name: [turn[name] for turn in turns] for name in commands}


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the medians of all measurements."""
    return {name: median(run[name] for run in runs) for name in runs[0]}


def quotient(runs: dict[str, list[dict[str, float]]], other: str, own: str) -> float:
    """Return how many times as long the other takes: the median over turns."""
    return median(a["seconds"] / b["seconds"] for a, b in zip(runs[other], runs[own], strict=True))
