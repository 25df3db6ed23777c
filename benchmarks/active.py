"""Active learning on text: test error with a fifth of the labels, selected in several ways, compared with all labels.

Tasks and rows are those of ``python -m papers cw2008`` (words and bigrams, rows of unit L2 norm), at most ROWS of
each; the last quarter is for testing. AROW with its default r = 0.1, diagonal. Stream: for each row in turn the label
is requested or not. Pool: FIRST random rows, then rounds of STEP labels from all rows, each trained on as it comes.
Refit: the same pool, trained from scratch in each round with PASSES passes. Means over SEEDS orders.

``--auto``: the same pool, with AutoClassifier, rounds of STACK_STEP labels, EXPLORE of them random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import FOLDER, arguments, have_data, machine, markdown, table, write_json
from sklearn.base import clone

from confidently import AutoClassifier, OnlineClassifier
from confidently.evaluation.active import STRATEGIES, STRATEGIES_OF_STACKS, Selector, simulate
from papers.experiments.text import TEXT_TASKS, rows_of

ROWS, SEEDS, BUDGET = 2000, 3, 0.2
FIRST, STEP = 20, 4  # labels of a pool's first round, and of each later one
STACK_STEP, EXPLORE = 5, 0.15
PASSES = 10
ONCE = OnlineClassifier("arow", view=None)
REFIT = OnlineClassifier("arow", passes=PASSES, shuffle=True, random_state=0, view=None)
STACK = AutoClassifier()
STACK_REFIT = AutoClassifier(passes=PASSES, shuffle=True, random_state=0)
ALL = ["all labels", f"all labels, {PASSES} passes"]
HEADER = [*ALL, *(f"{way}, {strategy}" for way in ("stream", "pool", "refit") for strategy in STRATEGIES)]
STACK_HEADER = [*ALL, *(f"{way}, {strategy}" for way in ("pool", "refit") for strategy in STRATEGIES_OF_STACKS)]


def stream_error(X: object, y: np.ndarray, X_test: object, y_test: np.ndarray, strategy: str, seed: int) -> float:
    """Return the test error after one pass over a stream."""
    classifier = clone(ONCE)
    selector = Selector(classifier, BUDGET, strategy, seed)
    for k in range(len(y)):
        if selector.should_query(X[[k]]):
            classifier.partial_fit(X[[k]], y[[k]], classes=[0, 1])
    return 1 - classifier.score(X_test, y_test)


def parts_of(X: object, y: np.ndarray, seed: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return rows and labels to train on and to test on, for one order of the rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    return X[train], y[train], X[test], y[test]


def error(classifier: Any, X: object, y: np.ndarray, X_test: object, y_test: np.ndarray) -> float:
    """Return the test error of training on all labels."""
    return 1 - clone(classifier).fit(X, y).score(X_test, y_test)


def errors(X: object, y: np.ndarray, seed: int) -> list[float]:
    """Return the test errors of AROW: with all labels, then for every way to select labels."""
    parts = parts_of(X, y, seed)
    labels = range(FIRST, int(BUDGET * len(parts[1])) + 1, STEP)
    return [
        *(error(classifier, *parts) for classifier in (ONCE, REFIT)),
        *(stream_error(*parts, strategy, seed) for strategy in STRATEGIES),
        *(simulate(way, *parts, labels, strategy, seed)[-1] for way in (ONCE, REFIT) for strategy in STRATEGIES),
    ]


def stack_errors(X: object, y: np.ndarray, seed: int) -> list[float]:
    """Return the test errors of AutoClassifier: with all labels, then for every way to select labels."""
    parts = parts_of(X, y, seed)
    labels = range(FIRST, int(BUDGET * len(parts[1])) + 1, STACK_STEP)
    ways, strategies = (STACK, STACK_REFIT), STRATEGIES_OF_STACKS
    return [
        *(error(classifier, *parts) for classifier in ways),
        *(simulate(way, *parts, labels, one, seed, EXPLORE)[-1] for way in ways for one in strategies),
    ]


def main() -> None:
    options = arguments(
        __doc__,
        ("--auto", {"action": "store_true", "help": "of AutoClassifier"}),
        ("--orders", {"type": int, "default": SEEDS, "help": "of the rows of every task"}),
    )
    if not have_data():
        return
    print(machine(), flush=True)
    measured, ways = (stack_errors, STACK_HEADER) if options.auto else (errors, HEADER)
    by_files: dict[tuple[str, ...], list[str]] = {}
    for name, task in TEXT_TASKS.items():
        by_files.setdefault(task.files, []).append(name)
    found = {}
    for names in by_files.values():
        for name, (X, y) in rows_of(names, FOLDER, ROWS).items():
            found[name] = 100 * np.mean([measured(X, y, seed) for seed in range(options.orders)], axis=0)
            print(name, *(f"{value:.1f}" for value in found[name]), flush=True)
    every = np.array(list(found.values()))
    rows = [[name, *(f"{value:.1f}" for value in values)] for name, values in found.items()]
    rows.append(["mean", *(f"{value:.2f}" for value in every.mean(axis=0))])
    rows.append(["within a point of all labels", *(str(n) for n in (every <= every[:, :1] + 1).sum(axis=0))])
    header = ["task", *ways]
    print(table(header, rows), markdown(header, rows), sep="\n\n")
    write_json(options.json, {"ways": ways, "tasks": {name: values.tolist() for name, values in found.items()}})


if __name__ == "__main__":
    main()
