"""Speed of prediction in memory, compared with SGDClassifier(log_loss), one thread: medians of interleaved runs.

Sparse rows of 63 of 47,000 features with 2 and with 20 classes, and dense rows of 784 with 10: classes and
probabilities.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

import numpy as np
from harness import arguments, interleaved, machine, ratio, table, write_json
from sklearn.linear_model import SGDClassifier
from speed import synthetic
from threadpoolctl import threadpool_limits

from confidently import OnlineClassifier

PEER, OURS = "SGDClassifier", "confidently"


def data(dense_rows: int) -> dict[str, tuple[Any, np.ndarray]]:
    """Return the rows and labels to predict, by name."""
    random = np.random.default_rng(0)
    sparse, two = synthetic(47_000, zipf=True)
    dense = random.random((dense_rows, 784))
    return {
        "sparse, 2 classes": (sparse, two),
        "sparse, 20 classes": (sparse, (sparse @ random.normal(size=(sparse.shape[1], 20))).argmax(axis=1)),
        "dense, 784 features, 10 classes": (dense, (dense @ random.normal(size=(784, 10))).argmax(axis=1)),
    }


def main() -> None:
    options = arguments(
        __doc__,
        ("--repetitions", {"type": int, "default": 5, "help": "repetitions of each (default 5)"}),
        ("--quick", {"action": "store_true", "help": "two repetitions"}),
    )
    print(machine())
    comparisons, lines = [], []
    with threadpool_limits(1):
        for name, (X, y) in data(5_000 if options.quick else 20_000).items():
            few = slice(0, 5_000)
            models = {
                PEER: SGDClassifier(loss="log_loss", max_iter=5, tol=None),
                OURS: OnlineClassifier("arow", view=None),
            }
            for model in models.values():
                model.fit(X[few], y[few])
            for method in ("predict", "predict_proba"):
                runs = {each: partial(getattr(model, method), X) for each, model in models.items()}
                seconds = interleaved(runs, 2 if options.quick else options.repetitions)
                theirs, ours = (median(seconds[each]) for each in (PEER, OURS))
                times = ratio(seconds, PEER, OURS)
                work = f"{method}, {X.shape[0]:,} rows: {name}"
                comparisons.append({"work": work, "peer": PEER, "theirs": theirs, "ours": ours, "ratio": times})
                lines.append([work, f"{1e3 * theirs:.1f} ms", f"{1e3 * ours:.1f} ms", f"{times:.2f}x"])
    print(table(["", PEER, OURS, "ratio"], lines))
    write_json(options.json, {"comparisons": comparisons})


if __name__ == "__main__":
    main()
