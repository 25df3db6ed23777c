"""Microseconds of ``partial_fit`` with one row and with ten, compared with SGDClassifier: medians of interleaved runs.

Rows of 20 numbers, two classes, one thread. What a call costs besides learning decides.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

import numpy as np
from harness import arguments, interleaved, machine, ratio, table, write_json
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from confidently import OnlineClassifier

CALLS, FEATURES = 2000, 20


def calls(model: Any, X: np.ndarray, y: np.ndarray, n: int) -> None:
    """Learn n rows at a time."""
    for first in range(0, len(y), n):
        model.partial_fit(X[first : first + n], y[first : first + n], classes=[0, 1])


def main() -> None:
    options = arguments(
        __doc__,
        ("--repetitions", {"type": int, "default": 7, "help": "repetitions of each (default 7)"}),
        ("--quick", {"action": "store_true", "help": "two repetitions"}),
    )
    print(machine())
    random = np.random.default_rng(0)
    lines, results = [], {}
    for n in (1, 10):
        X = random.normal(size=(n * CALLS, FEATURES))
        y = (X @ random.normal(size=FEATURES) > 0).astype(int)
        models = {"SGDClassifier": SGDClassifier(), "arow": OnlineClassifier("arow", view=None)}
        runs = {name: partial(calls, model, X, y, n) for name, model in models.items()}
        with threadpool_limits(1):
            seconds = interleaved(runs, 2 if options.quick else options.repetitions)
        microseconds = {name: 1e6 * median(found) / CALLS for name, found in seconds.items()}
        times = ratio(seconds, "SGDClassifier", "arow")
        results[str(n)] = {"microseconds": microseconds, "ratio": times}
        lines.append([str(n), *(f"{found:.0f}" for found in microseconds.values()), f"{times:.1f}x"])
    print(table(["rows of a call", "SGDClassifier, us", "arow, us", "ratio"], lines))
    write_json(options.json, {"results": results})


if __name__ == "__main__":
    main()
