"""Time against the number of rows, in whole processes that read a file, and against the number of features in memory.

Files: 63 of 47,000 features per row, compared with Vowpal Wabbit 9 on VW text. Memory: 200,000 rows of 63 features,
CW-Stdev compared with scikit-learn's Perceptron. Every number is the median of runs that take turns.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from harness import arguments, interleaved, machine, table, write_json
from peers import TRAIN, VW
from processes import BLOCK_ROWS, CONFIDENTLY, block, in_turns, medians, write
from sklearn.linear_model import Perceptron
from speed import ONE_PASS, synthetic
from threadpoolctl import threadpool_limits

from confidently import OnlineClassifier

ROWS = (4_000, 20_000, 100_000, 400_000, 1_000_000)
BITS = (12, 14, 16, 18, 20, 22, 24)


def by_rows(folder: Path, rows: tuple[int, ...], repetitions: int) -> dict[str, dict[int, float]]:
    """Return the seconds of whole processes by tool and number of rows."""
    found: dict[str, dict[int, float]] = {}
    model = str(folder / "model")
    for n in rows:
        svm, vw, cache = folder / "rows.svm", folder / "rows.vw", folder / "rows.cache"
        for path in (svm, vw):
            write(path, block(lambda x: f"{x:.4f}", path == vw), n // BLOCK_ROWS)
        cache.unlink(missing_ok=True)
        in_turns({"": [*CONFIDENTLY, "cache", str(svm), "-o", str(cache)]}, 0)
        commands = {
            "VW, its text": [*VW, "-d", str(vw), "-f", model],
            "confidently, VW text": [*TRAIN, str(vw), "-o", model],
            "confidently, svmlight": [*TRAIN, str(svm), "-o", model],
            "confidently, its cache": [*TRAIN, str(cache), "-o", model],
        }
        for name, runs in in_turns(commands, repetitions).items():
            found.setdefault(name, {})[n] = medians(runs)["seconds"]
    return found


def by_features(bits: tuple[int, ...], repetitions: int) -> dict[str, dict[int, float]]:
    """Return the seconds of one pass in memory by learner and number of features."""
    found: dict[str, dict[int, float]] = {}
    for b in bits:
        X, y = synthetic(2**b, zipf=True)
        models = {
            "Perceptron": Perceptron(**ONE_PASS),
            "confidently, cw_stdev": OnlineClassifier("cw_stdev", view=None),
        }
        runs: dict[str, Any] = {name: partial(model.fit, X, y) for name, model in models.items()}
        with threadpool_limits(1):
            for name, seconds in interleaved(runs, repetitions).items():
                found.setdefault(name, {})[2**b] = median(seconds)
    return found


def main() -> None:
    options = arguments(
        __doc__,
        ("--repetitions", {"type": int, "default": 3, "help": "runs of each (default 3)"}),
        ("--quick", {"action": "store_true", "help": "one run of each, up to 20,000 rows and 2^16 features"}),
    )
    print(machine())
    n = 1 if options.quick else options.repetitions
    with tempfile.TemporaryDirectory() as name:
        found = {
            "rows": by_rows(Path(name), ROWS[:2] if options.quick else ROWS, n),
            "features": by_features((12, 16) if options.quick else BITS, n),
        }
    for what, times in found.items():
        header = [what, *(f"{k:,}" for k in next(iter(times.values())))]
        print(table(header, [[name, *(f"{s:.3f} s" for s in by.values())] for name, by in times.items()]))
    write_json(options.json, found)


if __name__ == "__main__":
    main()
