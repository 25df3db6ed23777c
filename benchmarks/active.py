"""Active learning on text: test error with a fifth of the labels, selected in several ways, compared with all labels.

Tasks and rows are those of ``confidently reproduce cw2008`` (words and bigrams, rows of unit L2 norm), at most ROWS of
each; the last quarter is for testing. AROW with its default r = 0.1, diagonal. Stream: for each row in turn the label
is requested or not. Pool: FIRST random rows, then rounds of STEP labels from all rows, each trained on as it comes.
Refit: the same pool, trained from scratch in each round with PASSES passes. Means over SEEDS orders.
"""

from __future__ import annotations

import numpy as np
from harness import FOLDER, arguments, have_data, machine, markdown, table, write_json
from sklearn.base import clone

from confidently import OnlineClassifier
from confidently.evaluation.active import STRATEGIES, Selector, simulate
from confidently.papers.experiments.text import TEXT_TASKS, rows_of

ROWS, SEEDS, BUDGET = 2000, 3, 0.2
FIRST, STEP = 20, 4  # labels of a pool's first round, and of each later one
PASSES = 10
ONCE = OnlineClassifier("arow")
REFIT = OnlineClassifier("arow", passes=PASSES, shuffle=True, random_state=0)
WAYS = [f"{way}, {strategy}" for way in ("stream", "pool", "refit") for strategy in STRATEGIES]
HEADER = ["task", "rows", "all labels", f"all labels, {PASSES} passes", *WAYS]


def stream_error(X: object, y: np.ndarray, X_test: object, y_test: np.ndarray, strategy: str, seed: int) -> float:
    """Return the test error after one pass over a stream."""
    classifier = clone(ONCE)
    selector = Selector(classifier, BUDGET, strategy, seed)
    for k in range(len(y)):
        if selector.should_query(X[[k]]):
            classifier.partial_fit(X[[k]], y[[k]], classes=[0, 1])
    return 1 - classifier.score(X_test, y_test)


def errors(X: object, y: np.ndarray, seed: int) -> list[float]:
    """Return the test errors for one order of the rows: with all labels, then for every way to select labels."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    parts = X[train], y[train], X[test], y[test]
    labels = range(FIRST, int(BUDGET * len(train)) + 1, STEP)
    return [
        *(1 - clone(classifier).fit(*parts[:2]).score(*parts[2:]) for classifier in (ONCE, REFIT)),
        *(stream_error(*parts, strategy, seed) for strategy in STRATEGIES),
        *(simulate(way, *parts, labels, strategy, seed)[-1] for way in (ONCE, REFIT) for strategy in STRATEGIES),
    ]


def main() -> None:
    options = arguments(__doc__)
    if not have_data():
        return
    print(machine(), flush=True)
    by_files: dict[tuple[str, ...], list[str]] = {}
    for name, task in TEXT_TASKS.items():
        by_files.setdefault(task.files, []).append(name)
    found = {}
    for names in by_files.values():
        for name, (X, y) in rows_of(names, FOLDER, ROWS).items():
            found[name] = [len(y), *(100 * np.mean([errors(X, y, seed) for seed in range(SEEDS)], axis=0))]
            print(name, *(f"{value:.1f}" for value in found[name][1:]), flush=True)
    found["mean"] = [int(np.mean([row[0] for row in found.values()])), *np.mean(list(found.values()), axis=0)[1:]]
    rows = [[name, f"{n:,}", *(f"{value:.1f}" for value in values)] for name, (n, *values) in found.items()]
    print(table(HEADER, rows), markdown(HEADER, rows), sep="\n\n")
    write_json(options.json, {"tasks": found})


if __name__ == "__main__":
    main()
