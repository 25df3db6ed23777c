"""Least squares with a matrix: the normal equations beside the covariance, from which it is computed again at times.

Sigma is updated row by row, which predictions during training need. Where columns have very different units, the prior
is weak for some of them, and the first rows make variances fall by many orders of magnitude: digits cancel. The normal
equations lose none::

    precision = sum_t zeta_t x_t x_t',     shift = sum_t zeta_t x_t y_t

with zeta = w/r. After a fixed number of rows, which grows by a factor of four up to a period,
Sigma = (I/p + precision)^-1 and mean = Sigma shift are computed from them.

=============  =======================  ==========================================================================
entry          shape, type              meaning
=============  =======================  ==========================================================================
precision      (F, F) float64           what the rows have added to the precision
shift          (F, K) float64           what they have added to the product of precision and mean
=============  =======================  ==========================================================================
"""

from __future__ import annotations

from ..late import numpy as np
from .examples import Examples
from .host_arrays import NumpyArrays
from .settings import Settings
from .state import REAL, Shapes, State

LEAST_ROWS, PERIOD = 16, 1024
PERIODS_PER_COLUMN = 16
ROWS_PER_CHUNK = 1024


def applies(settings: Settings) -> bool:
    """Return whether a learner of these settings keeps its normal equations."""
    return settings.squared_loss and settings.dtype == "float64"


def shapes(rows: int, columns: int) -> Shapes:
    """Return shape and type of the entries, for the rows of the weights and the numbers per example."""
    return {"precision": ((rows, rows), REAL), "shift": ((rows, columns), REAL)}


def grown(state: State, rows: int, columns: int) -> State:
    """Return the entries with room for more features; those of a state without them are new."""
    found = {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes(rows, columns).items()}
    if "precision" in state:
        n = len(state["shift"])
        found["precision"][:n, :n] = state["precision"]
        found["shift"][:n] = state["shift"]
    return found


def rows_until_due(state: State) -> int:
    """Return the number of rows after which the covariance is to be computed again."""
    seen, columns = int(state["counters"][0]), len(state["shift"])
    due, period = _power_of_two(max(LEAST_ROWS, columns // 2)), _power_of_two(max(PERIOD, PERIODS_PER_COLUMN * columns))
    while due <= seen and due < period:
        due *= 4
    return due - seen if due > seen else period - seen % period


def add(state: State, examples: Examples, evidence: np.ndarray, settings: Settings, arrays: NumpyArrays) -> None:
    """Add examples, with the evidence that training has recorded of them."""
    rows = len(state["shift"])
    for first in range(0, len(examples), ROWS_PER_CHUNK):
        block = examples.block(first, min(first + ROWS_PER_CHUNK, len(examples)))
        A, own = block.dense(settings, rows), evidence[first : first + block.n]
        zeta = own[:, :1]
        state["shift"] += A.T @ (zeta * own[:, 1:])
        arrays.add_gram([(state["precision"], A * np.sqrt(zeta))])


def solve(state: State, prior_variance: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return Sigma (F, F) and the mean (F, K); None if rounding leaves the precision without an inverse."""
    from scipy.linalg.lapack import dpotrf, dpotri, dpotrs  # imported here since SciPy is slow to import

    whole = state["precision"] + np.eye(len(state["shift"])) / prior_variance
    unit = 1.0 / np.sqrt(whole.diagonal())  # columns in units in which their own precision is 1
    factor, failed = dpotrf(unit[:, None] * whole * unit, lower=True)
    if failed:
        return None
    mean, _ = dpotrs(factor, unit[:, None] * state["shift"], lower=True)
    inverse, failed = dpotri(factor, lower=True)
    if failed:
        return None
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    return unit[:, None] * inverse * unit, unit[:, None] * mean


def _power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()
