"""Products of matrices by NumPy's BLAS, in strips that threads share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .threads import WORTHWHILE, Crew, Task

ALIGNED = 16  # columns: where strips begin
Product = tuple[Any, Any, Any]  # left, right and where their product goes


class BlockUpdate(NamedTuple):
    """The updates of one covariance by n directions z, as arrays of the host, apart from G.

    With Q = (I + lower)^-1 (G[plus] - G[minus]), the weights change by (mean @ Q)', and the covariance loses the Gram
    matrix of the rows size * Q.
    """

    G: Any  # positions x D, on the device
    plus: np.ndarray
    minus: np.ndarray | None
    lower: np.ndarray  # (n, n), strictly lower
    mean: np.ndarray  # (m, n)
    size: np.ndarray  # (n,)
    weights: np.ndarray  # (D, m), which are changed


class NumpyArrays:
    """NumPy's ``@`` into arrays that are kept, since new ones of megabytes cost a page fault every 4 KB."""

    shares_memory = True

    def __init__(self, crew: Crew | None = None) -> None:
        self.crew = crew or Crew()
        self._kept: dict[str, np.ndarray] = {}

    def put(self, array: np.ndarray) -> np.ndarray:
        return array

    def get(self, array: np.ndarray) -> np.ndarray:
        return array

    def empty(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an array of any values, that of the last call with this name if it is large enough."""
        size = int(np.prod(shape))
        kept = self._kept.get(name)
        if kept is None or kept.size < size or kept.dtype != dtype:
            kept = self._kept[name] = np.empty(size, dtype)
        return kept[:size].reshape(shape)

    def multiply(self, products: Sequence[Product], subtract: bool = False) -> None:
        """Compute out = left @ right, or out -= left @ right, for each (left, right, out)."""
        tasks: list[Task] = []
        operations = 0.0
        for left, right, out in products:
            own = 2.0 * left.shape[0] * left.shape[1] * right.shape[1]
            operations += own
            for columns in self._strips(right.shape[1], own):
                tasks.append(self._multiply_strip(left, right[:, columns], out[:, columns], subtract))
        self.crew.run(tasks, operations)

    def _multiply_strip(self, left: np.ndarray, right: np.ndarray, out: np.ndarray, subtract: bool) -> Task:
        def run(thread: int) -> None:
            if subtract:
                product = self.empty(f"tile {thread}", out.shape, out.dtype)
                np.matmul(left, right, out=product)
                np.subtract(out, product, out=out)
            else:
                np.matmul(left, right, out=out)

        return run

    def update(self, updates: Sequence[BlockUpdate]) -> list[np.ndarray]:
        """Change the weights; return size * Q of each update."""
        tasks: list[Task] = []
        found, operations = [], 0.0
        for number, update in enumerate(updates):
            n, d = len(update.plus), update.G.shape[1]
            Q = self.empty(f"Q {number}", (n, d), update.G.dtype)
            own = 2.0 * n * (n + len(update.mean)) * d
            operations += own
            tasks += [partial(_update_strip, update, Q, strip) for strip in self._strips(d, own)]
            found.append(Q)
        self.crew.run(tasks, operations)
        return found

    def subtract_gram(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        """Compute s -= rows' rows, symmetric to the last bit, for each (s, rows)."""
        self.add_gram(pairs, -1.0)

    def add_gram(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]], sign: float = 1.0) -> None:
        """Compute s += sign rows' rows, symmetric to the last bit, for each (s, rows)."""
        tasks: list[Task] = []
        operations = 0.0
        for s, rows in pairs:
            own = float(len(rows) * s.size)
            operations += own
            tasks += [
                partial(_add_gram_strip, s, rows, sign, strip) for strip in self._strips(len(s), own, triangle=True)
            ]
        self.crew.run(tasks, operations)

    def add_product(self, s: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        """Compute s += left' right."""
        operations = 2.0 * len(left) * s.size
        strips = self._strips(len(s), operations)
        self.crew.run([partial(_add_product_strip, s, left, right, strip) for strip in strips], operations)

    def _strips(self, columns: int, operations: float, triangle: bool = False) -> list[slice]:
        """Return the columns of a product, one strip per thread if it is large, of equal areas (of one triangle)."""
        n = self.crew.threads if operations >= WORTHWHILE else 1
        if n == 1:
            return [slice(0, columns)]
        ends = [int(columns * (k / n) ** (0.5 if triangle else 1.0)) // ALIGNED * ALIGNED for k in range(n)] + [columns]
        return [slice(*ends) for ends in pairwise(ends)]


def _update_strip(update: BlockUpdate, Q: np.ndarray, strip: slice, thread: int) -> None:
    _core.update_block(scipy_blas(), *update, Q, strip.start, strip.stop)


def _add_gram_strip(s: np.ndarray, rows: np.ndarray, sign: float, strip: slice, thread: int) -> None:
    _core.add_gram(scipy_blas(), s, rows, sign, strip.start, strip.stop)


def _add_product_strip(s: np.ndarray, left: np.ndarray, right: np.ndarray, strip: slice, thread: int) -> None:
    _core.add_product(scipy_blas(), s, left, right, strip.start, strip.stop)


@cache
def scipy_blas() -> _core.Blas:
    """Return the BLAS that SciPy brings, for the core."""
    from scipy.linalg import cython_blas  # imported here since SciPy is slow to import

    return _core.Blas(cython_blas.__pyx_capi__)
