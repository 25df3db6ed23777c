"""Forgetting with matrices: rows take evidence away together, as soon as they are to take away half of it.

Every row of weight w is to leave (1 - f)^w of the precision in excess of the prior's. With matrices this costs as much
as an inverse, so it is done after the row with which the weight of the rows since the last time, ``aged``, reaches
the half-life log 2 / -log(1 - f), for all of them at once::

    Sigma^-1 <- kept Sigma^-1 + (1 - kept) prior^-1,     kept = (1 - f)^aged

It is exact, and the mean stays. When it is done follows from the weights of the rows, however they are cut into calls.
"""

from __future__ import annotations

import math

import numpy as np

from .examples import Examples
from .host_arrays import NumpyArrays

# Least fraction kept in one step, since rounding errors grow by its reciprocal; and in all, so that steps are few.
MIN_KEPT, MIN_KEPT_IN_ALL = 0.05, 1e-100


def half_life(forget: float) -> float:
    """Return the weight of the rows after which half of the evidence is to be forgotten."""
    return math.log(2.0) / -math.log1p(-forget)


def rows_at_a_time(forget: float) -> int:
    """Return the number of rows of weight 1 that take evidence away together."""
    return math.ceil(min(half_life(forget), 1e9))


def next_step(forget: float, aged: float, examples: Examples, first: int) -> tuple[int, float]:
    """Return the end of the rows, from ``first`` on, with which to forget, or to see again, and ``aged`` after them."""
    block = examples.block(first, min(first + rows_at_a_time(forget), len(examples)))
    ages = np.cumsum(np.append(aged, block.weights()))[1:]
    rows = min(int(np.searchsorted(ages, half_life(forget))) + 1, block.n)
    return first + rows, float(ages[rows - 1])


def kept(forget: float, aged: float) -> float:
    """Return the fraction of the evidence that rows of this weight leave."""
    return max(math.exp(aged * math.log1p(-forget)), MIN_KEPT_IN_ALL)


def forgotten(sigma: np.ndarray, kept: float, prior: float, arrays: NumpyArrays) -> np.ndarray:
    """Return (kept sigma^-1 + (1 - kept) / prior)^-1 of a matrix, symmetric to the last bit.

    Features that no row has moved from the prior stay there, and take no part: how many there are depends on where a
    call ends, and the products of larger matrices round otherwise.

    Only the lower triangle is read. On devices the triangles differ by rounding, which no update corrects, and which
    would grow by 1/kept each time.

    With M = kept prior + (1 - kept) sigma, whose eigenvalues are those of neither sigma nor its inverse but between
    kept prior and prior, it is (sigma - (1 - kept) sigma M^-1 sigma) / kept.
    """
    sigma = np.tril(sigma) + np.tril(sigma, -1).T
    away = sigma.copy()
    away.flat[:: len(away) + 1] -= prior
    moved = np.flatnonzero(away.any(axis=1))
    if len(moved) == len(sigma):
        return _of_moved(sigma, kept, prior, arrays)
    if len(moved):
        at = np.ix_(moved, moved)
        sigma[at] = _of_moved(np.ascontiguousarray(sigma[at]), kept, prior, arrays)
    return sigma


def _of_moved(sigma: np.ndarray, kept: float, prior: float, arrays: NumpyArrays) -> np.ndarray:
    from scipy.linalg.blas import dtrsm  # imported here since SciPy is slow to import
    from scipy.linalg.lapack import dpotrf

    steps = math.ceil(math.log(kept) / math.log(MIN_KEPT))
    for _ in range(steps):
        one = kept ** (1.0 / steps)
        M = (1.0 - one) * sigma
        M.flat[:: len(M) + 1] += one * prior
        factor, failed = dpotrf(M.T, lower=True, overwrite_a=True)
        if failed:
            return sigma
        rows = dtrsm(math.sqrt(1.0 - one), factor, sigma.T, lower=True)
        arrays.subtract_gram([(sigma, np.ascontiguousarray(rows))])
        sigma /= one
    return sigma
