"""The command line on a large svmlight file and on none: text per second, peak memory, how long it takes to start.

Every run is a process of its own. Megabytes are of text, also where it is compressed. "whole" counts the start of the
process and the writing of the model; "learning" is what the command itself reports: reading, parsing and learning.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import arguments, machine, table, write_json

NON_ZEROS, FEATURES, BLOCK_ROWS = 63, 47_000, 4000
VALUES: dict[str, Callable[[float], str]] = {
    "values of 4 digits": lambda x: f"{x:.4f}",
    "ones": lambda x: "1",
    "values of 17 digits": repr,
}
COMMAND = [sys.executable, "-c", "from confidently.cli import main; main()"]


def block(written: Callable[[float], str]) -> bytes:
    """Rows with features drawn like words, the common ones first, and labels that depend on them."""
    random = np.random.default_rng(0)
    truth = random.standard_normal(FEATURES)
    share = 1.0 / np.arange(10, FEATURES + 10)
    rows = []
    for _ in range(BLOCK_ROWS):
        columns = np.sort(random.choice(FEATURES, NON_ZEROS, replace=False, p=share / share.sum()))
        values = random.uniform(0.1, 1.0, NON_ZEROS)
        label = "+1" if truth[columns] @ values > 0 else "-1"
        features = zip((columns + 1).tolist(), values.tolist(), strict=True)
        rows.append(f"{label} " + " ".join(f"{j}:{written(x)}" for j, x in features))
    return ("\n".join(rows) + "\n").encode()


def write(path: Path, text: bytes, megabytes: int) -> int:
    """The text again and again; how many bytes of text that makes."""
    times = -(-megabytes * 1_000_000 // len(text))
    with gzip.open(path, "wb", compresslevel=6) if path.suffix == ".gz" else open(path, "wb") as file:
        for _ in range(times):
            file.write(text)
    return times * len(text)


def measure(arguments: Sequence[str]) -> dict[str, float]:
    """Seconds and peak memory of one process, and the seconds it reports itself."""
    start = time.perf_counter()
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}")
    found = {"seconds": seconds, "peak_mb": usage.ru_maxrss / 1000}
    if "--json" in arguments:
        result = json.loads(output)
        found |= {"learning": result["seconds"], "model_mb": result["model_bytes"] / 1e6}
    return found


def repeated(arguments: Sequence[str], repetitions: int) -> dict[str, float]:
    """Medians over several runs, after one that warms the caches."""
    measure(arguments)
    runs = [measure(arguments) for _ in range(repetitions)]
    return {name: median(run[name] for run in runs) for name in runs[0]}


def throughput(folder: Path, megabytes: int, repetitions: int) -> dict[str, Any]:
    """Training on large files."""
    results, rows = {}, []
    for name, written in VALUES.items():
        text = block(written)
        for suffix in (".svm", ".svm.gz") if name == "values of 4 digits" else (".svm",):
            path = folder / f"data{suffix}"
            size = write(path, text, megabytes) / 1e6
            found = repeated(["train", str(path), "-q", "--json", "-o", str(folder / "model.cw")], repetitions)
            found |= {
                "text_mb": size,
                "mb_per_s": size / found["seconds"],
                "learning_mb_per_s": size / found["learning"],
            }
            label = name + (", gzip" if suffix.endswith("gz") else "")
            results[label] = found
            rows.append([
                label, f"{size:.0f} MB", f"{found['seconds']:.2f} s", f"{found['mb_per_s']:.0f} MB/s",
                f"{found['learning_mb_per_s']:.0f} MB/s", f"{found['peak_mb']:.0f} MB", f"{found['model_mb']:.1f} MB",
            ])  # fmt: skip
            path.unlink()
    print(f"\nconfidently train, {NON_ZEROS} of {FEATURES:,} features a row, diagonal AROW")
    print(table(["", "text", "whole", "whole", "learning", "peak memory", "model"], rows))
    return results


def starts(folder: Path, repetitions: int) -> dict[str, Any]:
    """Whole processes that have next to nothing to do."""
    path = folder / "small.svm"
    path.write_bytes(b"".join(line + b"\n" for line in block(VALUES["values of 4 digits"]).splitlines()[:1000]))
    runs = {
        "python -c pass": None,
        "confidently --help": ["--help"],
        "confidently train, 1,000 rows": ["train", str(path), "-q", "-o", str(folder / "model.cw")],
    }
    results = {"import confidently": _python("import confidently", repetitions)}
    for name, given in runs.items():
        results[name] = repeated(given, repetitions)["seconds"] if given else _python("pass", repetitions)
    print("\nwhole processes", table(["", "median"], [[n, f"{s:.3f} s"] for n, s in results.items()]), sep="\n")
    return results


def _python(code: str, repetitions: int) -> float:
    seconds = []
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:])


def main() -> None:
    options = arguments(
        __doc__,
        ("--repetitions", {"type": int, "default": 5, "help": "how often each is run (default 5)"}),
        ("--megabytes", {"type": int, "default": 300, "help": "size of the files (default 300)"}),
    )
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {"starts": starts(folder, options.repetitions)}
        results |= {"train": throughput(folder, options.megabytes, options.repetitions)}
    write_json(options.json, results)


if __name__ == "__main__":
    main()
