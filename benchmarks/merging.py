"""Test error of merged models on film reviews: product and mean of shards, compared with one learner and one shard.

Reviews as hashed binary words and word pairs of unit L2 norm (``tests/data_sets.py``), AROW with r = 0.1, diagonal, one
pass. Row i of the shuffled training rows goes to shard i modulo their number. No setting is chosen on the
test rows. "One shard" is the mean over the first four shards, or over both of two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from harness import arguments, have_data, load, machine, markdown, table, write_json
from sklearn.metrics import log_loss

from confidently import AROW, OnlineClassifier, merge

SHARDS = (2, 4, 16)
R = 0.1
COLUMNS = 2**22  # for about 1.5 million words and pairs, so that few collide
HEADER = ["learner", "test error %", "log-loss"]


def learned(X: object, y: np.ndarray) -> OnlineClassifier:
    return OnlineClassifier(AROW(r=R), view=None).fit(X, y)


def measured(name: str, classifiers: Sequence[OnlineClassifier], X: object, y: np.ndarray) -> list[str]:
    """Return error and log-loss on the test rows, means over classifiers."""
    errors = [1 - classifier.score(X, y) for classifier in classifiers]
    costs = [log_loss(y, classifier.predict_proba(X)) for classifier in classifiers]
    return [name, f"{100 * np.mean(errors):.2f}", f"{np.mean(costs):.3f}"]


def main() -> None:
    options = arguments(__doc__)
    if not have_data():
        return
    X, y, X_test, y_test = load("imdb", columns=COLUMNS)
    print(machine())
    rows = [measured("one learner", [learned(X, y)], X_test, y_test)]
    for n in SHARDS:
        parts = [learned(X[k::n], y[k::n]) for k in range(n)]
        rows.append(measured(f"{n} shards, product", [merge(parts)], X_test, y_test))
        rows.append(measured(f"{n} shards, mean", [merge(parts, how="mean")], X_test, y_test))
        rows.append(measured(f"one shard of {n}", parts[:4], X_test, y_test))
    print(table(HEADER, rows), markdown(HEADER, rows), sep="\n\n")
    write_json(options.json, {"rows": rows})


if __name__ == "__main__":
    main()
