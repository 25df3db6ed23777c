"""How the constants of dense covariances were chosen: rows per product, when to go row by row, sparse products.

Parts: ``products`` (rows per second by size of the covariance and rows per product), ``small`` (the compiled loop row
by row against products), ``sparse`` (dense and sparse products, by density). Each line is timed in turn; medians.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from harness import arguments, interleaved, machine, table, write_json
from scipy.sparse import random as random_sparse

from confidently import _core
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner

SIZES = (150, 250, 500, 1000, 2000, 4000)
BLOCKS = (16, 32, 64, 128, 256, 512)
SMALL = (20, 50, 75, 100, 125, 150, 200, 300)
DENSITIES = (0.002, 0.005, 0.01, 0.02)  # that count as sparse
ROWS = 1024


def noise(d: int, n: int, dtype: str = "float64") -> tuple[Any, np.ndarray]:
    """Return rows of norm about 1 with random labels: nearly every row is an update."""
    rng = np.random.default_rng(0)
    return as_matrix((rng.normal(size=(n, d)) / np.sqrt(d)).astype(dtype)), rng.integers(0, 2, n).astype(np.int32)


def rates(runs: dict[Any, Any], rows: int, repetitions: int) -> dict[Any, float]:
    """Return rows per second."""
    return {name: rows / median(times) for name, times in interleaved(runs, repetitions).items()}


def learning(d: int, X: Any, y: np.ndarray, small: int = 0, **options: Any) -> Any:
    """Return a function that trains on the rows again, by the compiled loop if d is at most ``small``."""
    learner = Learner(Settings("arow", "full", fit_intercept=False, **options), n_features=d)

    def run() -> None:
        with patch("confidently.covariances.dense_state.SMALL", small):
            learner.learn(X, y)

    return run


def product_sizes(dtype: str, repetitions: int) -> dict[int, dict[int, float]]:
    """Part 1."""
    found = {}
    for d in SIZES:
        n = min(ROWS, 4_000_000 // d)
        X, y = noise(d, n, dtype)
        runs = {size: learning(d, X, y, rows_per_product=size, dtype=dtype) for size in BLOCKS}
        found[d] = rates(runs, n, repetitions)
        print(d, *(f"{rate:,.0f}" for rate in found[d].values()), sep="  ", flush=True)
    print(f"\nRows per second, {dtype}, by rows per product\n")
    print(table(["d", *map(str, BLOCKS)], [[d, *(f"{rate:,.0f}" for rate in r.values())] for d, r in found.items()]))
    return found


def small(dtype: str, repetitions: int) -> dict[int, dict[str, float]]:
    """Part 2."""
    found = {}
    for d in SMALL:
        X, y = noise(d, ROWS, dtype)
        runs = {"row by row": learning(d, X, y, small=d, dtype=dtype), "products": learning(d, X, y, dtype=dtype)}
        found[d] = rates(runs, ROWS, repetitions)
    print(f"\nRows per second, {dtype}\n")
    print(table(["d", "row by row", "products"], [[d, *(f"{v:,.0f}" for v in r.values())] for d, r in found.items()]))
    return found


def sparse(repetitions: int) -> dict[str, float]:
    """Part 3: seconds of the dense product over those of the sparse one."""
    found, lines = {}, []
    for d in (500, 2000, 4000):
        line = [d]
        for density in DENSITIES:
            A = random_sparse(256, d, density, "csr", random_state=0).toarray()
            S, out = np.random.default_rng(0).normal(size=(d, d)), np.empty((256, d))
            runs = {
                "dense": partial(np.matmul, A, S, out=out), "sparse": partial(_core.multiply_sparse_rows, A, S, out),
            }  # fmt: skip
            seconds = interleaved(runs, repetitions)
            found[f"{d}, {density}"] = median(seconds["dense"]) / median(seconds["sparse"])
            line.append(f"{found[f'{d}, {density}']:.2f}")
        lines.append(line)
    print("\nSeconds of a dense product over those of a sparse one, by fraction of nonzero values\n")
    print(table(["d", *map(str, DENSITIES)], lines))
    return found


def main() -> None:
    options = arguments(
        __doc__,
        ("--part", {"choices": ["products", "small", "sparse"], "action": "append", "help": "default: all"}),
        ("--dtype", {"choices": ["float64", "float32"], "default": "float64"}),
        ("--repetitions", {"type": int, "default": 5}),
    )
    parts, found = options.part or ["products", "small", "sparse"], {}
    print(machine())
    if "small" in parts:
        found["small"] = small(options.dtype, options.repetitions)
    if "products" in parts:
        found["products"] = product_sizes(options.dtype, options.repetitions)
    if "sparse" in parts:
        found["sparse"] = sparse(options.repetitions)
    if options.json:
        write_json(options.json, found)


if __name__ == "__main__":
    main()
