"""Common code of the benchmarks: the data sets of the tests, interleaved timing, tables, a line about the machine."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy
import sklearn

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.append(str(REPOSITORY))  # one set of loaders for tests and benchmarks

from tests.data_sets import FOLDER, load, mnist_pixels, word_counts  # noqa: E402

__all__ = [
    "FOLDER",
    "arguments",
    "have_data",
    "interleaved",
    "load",
    "machine",
    "markdown",
    "mnist_pixels",
    "ratio",
    "table",
    "word_counts",
    "write_json",
]


def have_data() -> bool:
    """Return whether the data sets exist; print a message if they do not."""
    if not FOLDER.is_dir():
        print("This benchmark needs the data sets in the folder shared/data next to the repository.")
    return FOLDER.is_dir()


def arguments(description: str, *more: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """Parse the command line of a benchmark: ``--json FILE``, and further options."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all numbers to this file")
    for flag, options in more:
        parser.add_argument(flag, **options)
    return parser.parse_args()


def machine() -> str:
    """Return processor and versions, for the first line of a report."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return (
        f"{model}, {os.cpu_count()} cores; Python {platform.python_version()}, NumPy {np.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )


def interleaved(runs: dict[str, Callable[[], Any]], repetitions: int = 5) -> dict[str, list[float]]:
    """Return the seconds of each run; the runs take turns, so that a busy machine slows all of them equally."""
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repetitions):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], other: str, own: str) -> float:
    """Return how many times as long the other takes: the median over repetitions of the ratio in the same turn."""
    return median(a / b for a, b in zip(seconds[other], seconds[own], strict=True))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns of text, the first aligned to the left, the others to the right."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (str(cell) for cell in cells)
        return "  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))])

    return "\n".join([line(header), line(["-" * w for w in widths]), *map(line, rows)])


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the same as a Markdown table."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


def write_json(file: Path | None, result: Any) -> None:
    """Write all numbers, with the line about the machine, if there is a file."""
    if file is not None:
        file.write_text(json.dumps({"machine": machine(), **result}, indent=1) + "\n")
