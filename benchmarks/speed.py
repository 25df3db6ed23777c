"""Speed of one pass in memory, compared with scikit-learn, one thread: medians of interleaved repetitions.

(a) CSR, 200,000 rows x 63 non-zeros of 47,000 features, CW-Stdev with a diagonal covariance, compared with
    Perceptron and SGDClassifier's PA-I; features with the frequencies of words (Zipf's law), and with equal
    frequencies, which is the worst case for a cache.
(b) The same with 2^24 features, compared with Perceptron.
(c) MNIST, 60,000 x 784, ten classes, AROW compared with SGDClassifier, dense and CSR, with test errors (needs
    shared/data).

Labels of (a) and (b) come from a random linear teacher whose decision is flipped for one row in twenty.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from harness import arguments, have_data, interleaved, machine, mnist_pixels, ratio, table, write_json
from scipy.sparse import csr_matrix
from sklearn.linear_model import Perceptron, SGDClassifier
from threadpoolctl import threadpool_limits

from confidently import OnlineClassifier

ROWS, NON_ZEROS, FLIPPED = 200_000, 63, 0.05
ONE_PASS = {"max_iter": 1, "tol": None, "shuffle": False}
BINARY: dict[str, Callable[[], Any]] = {
    "cw_stdev": lambda: OnlineClassifier("cw_stdev", view=None),
    "Perceptron": lambda: Perceptron(**ONE_PASS),
    "SGD pa1": lambda: SGDClassifier(loss="hinge", learning_rate="pa1", penalty=None, **ONE_PASS),
}
MULTICLASS: dict[str, Callable[[], Any]] = {
    "arow": lambda: OnlineClassifier("arow", view=None),
    "SGD": lambda: SGDClassifier(**ONE_PASS),
}


def synthetic(n_features: int, zipf: bool, seed: int = 0) -> tuple[csr_matrix, np.ndarray]:
    """Return sparse rows of unit L2 norm and their labels."""
    rng = np.random.default_rng(seed)
    draws = (ROWS, 2 * NON_ZEROS)
    if zipf:  # density 1/x over the ranks, scattered over the columns
        rank = np.exp(rng.random(draws) * np.log(n_features)).astype(np.int64)
        columns = rank * 2_654_435_761 % n_features
    else:
        columns = rng.integers(0, n_features, draws)
    columns = np.sort(first_distinct(columns), axis=1).astype(np.int32)
    start = np.arange(0, columns.size + 1, NON_ZEROS)
    X = csr_matrix((rng.lognormal(size=columns.size), columns.ravel(), start), shape=(ROWS, n_features))
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr))
    y = np.where(X @ rng.normal(size=n_features) > 0, 1, -1)
    return X, np.where(rng.random(ROWS) < FLIPPED, -y, y)


def first_distinct(columns: np.ndarray) -> np.ndarray:
    """Return the first NON_ZEROS distinct numbers of every row, which has more than enough."""
    order = np.argsort(columns, axis=1, kind="stable")
    in_order = np.take_along_axis(columns, order, axis=1)
    repeated = np.zeros(columns.shape, dtype=bool)
    np.put_along_axis(repeated, order[:, 1:], in_order[:, 1:] == in_order[:, :-1], axis=1)
    return np.take_along_axis(columns, np.argsort(repeated, axis=1, kind="stable")[:, :NON_ZEROS], axis=1)


def compare(
    title: str, makers: dict[str, Callable[[], Any]], X: Any, y: np.ndarray, repetitions: int, test: Any = None
) -> dict[str, Any]:
    """Time fits of all makers' classifiers in turn, the first of which is ours; print and return the results."""
    own = next(iter(makers))
    seconds = interleaved({name: partial(_fit, make, X, y) for name, make in makers.items()}, repetitions)
    visits = X.nnz if hasattr(X, "nnz") else X.size
    rows, result = [], {}
    for name, make in makers.items():
        typical = median(seconds[name])
        error = 1 - float(make().fit(X, y).score(*test)) if test else None
        result[name] = {"seconds": seconds[name], "ratio": ratio(seconds, name, own), "test_error": error}
        shown = "" if error is None else f"{100 * error:.2f} %"
        rows.append(
            [
                name,
                f"{typical:.3f} s",
                f"{visits / typical / 1e6:.0f} M/s",
                f"{result[name]['ratio']:.2f}x",
                shown,
            ]
        )
    print(f"\n{title}", table(["", "median", "feature visits", f"time / {own}'s", "test error"], rows), sep="\n")
    return result


def _fit(make: Callable[[], Any], X: Any, y: np.ndarray) -> None:
    make().fit(X, y)


def main() -> None:
    options = arguments(
        __doc__, ("--repetitions", {"type": int, "default": 5, "help": "repetitions of each (default 5)"})
    )
    print(machine())
    results = {}
    with threadpool_limits(1):
        for name, zipf in (("like words", True), ("uniform", False)):
            X, y = synthetic(47_000, zipf)
            title = f"(a) 47,000 features, {name}: {X.shape[0]} rows, {X.nnz / len(y):.0f} non-zeros per row"
            results[title] = compare(title, BINARY, X, y, options.repetitions)
        two = {name: make for name, make in BINARY.items() if name != "SGD pa1"}
        for name, zipf in (("like words", True), ("uniform", False)):
            X, y = synthetic(2**24, zipf)
            title = f"(b) 2^24 features, {name}: {X.shape[0]} rows, {X.nnz / len(y):.0f} non-zeros per row"
            results[title] = compare(title, two, X, y, options.repetitions)
        if have_data():
            X, y, X_test, y_test = mnist_pixels()
            for kind, change in (("dense", np.ascontiguousarray), ("CSR", csr_matrix)):
                title = f"(c) MNIST, {kind}: {X.shape[0]} rows x {X.shape[1]}, 10 classes"
                results[title] = compare(title, MULTICLASS, change(X), y, options.repetitions, (change(X_test), y_test))
    write_json(options.json, {"results": results})


if __name__ == "__main__":
    main()
