"""Least squares with a matrix: the normal equations beside the covariance, from which it is recomputed at times.

Sigma is updated row by row, which predictions during training need. Where columns have very different units, the prior
is weak for some of them, and the first rows reduce variances by many orders of magnitude, so digits cancel. The normal
equations lose no digits::

    precision = sum_t zeta_t x_t x_t',     shift = sum_t zeta_t x_t y_t

with zeta = w/r. After a fixed number of rows, which grows by a factor of four up to a period,
Sigma = (I/p + precision)^-1 and mean = Sigma shift are computed from them.

=============  =======================  ==========================================================================
entry          shape, type              meaning
=============  =======================  ==========================================================================
precision      (F, F) float64           what the rows have added to the precision
shift          (F, K) float64           what they have added to the product of precision and mean
held.rows      (128, F) float64         rows that are still to be added
held.evidence  (128, 1 + K) float64     zeta, and the targets less their offset
held.count     (1,) int64               number of these rows; the others are zero
=============  =======================  ==========================================================================

Rows are added in groups, which are the same however the rows are cut into calls.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..rules.ranges import Range
from .examples import Examples
from .host_arrays import NumpyArrays
from .settings import Settings
from .state import COUNT, REAL, Shapes, State, within
from .threads import crew

LEAST_ROWS, PERIOD = 16, 1024
PERIODS_PER_COLUMN = 16
ROWS_PER_CHUNK = 128
PREFIX = "held."
SUMS = ("precision", "shift")
MAX_HELD = 1e120


def applies(settings: Settings) -> bool:
    """Return whether a learner of these settings keeps its normal equations."""
    return settings.rule.squared_loss and settings.dtype == "float64"


def shapes(rows: int, columns: int) -> Shapes:
    """Return shape and type of the entries, for the rows of the weights and the numbers per row."""
    return {
        "precision": ((rows, rows), REAL),
        "shift": ((rows, columns), REAL),
        "held.rows": ((ROWS_PER_CHUNK, rows), REAL),
        "held.evidence": ((ROWS_PER_CHUNK, 1 + columns), REAL),
        "held.count": ((1,), COUNT),
    }


def grown(state: State, rows: int, columns: int) -> State:
    """Return the entries with room for more features; those of a state without them are new."""
    found = {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes(rows, columns).items()}
    if "precision" in state:
        n = len(state["shift"])
        found["precision"][:n, :n] = state["precision"]
        found["shift"][:n] = state["shift"]
        found["held.rows"][:, :n] = state["held.rows"]
        found |= {name: state[name].copy() for name in ("held.evidence", "held.count")}
    return found


def packed(arrays: State, used: int) -> State:
    """Return the arrays of a file, of rows that are held, if there are any, with the features in use only."""
    if PREFIX + "count" not in arrays:
        return arrays
    n = int(arrays["held.count"][0])
    found = {name: array for name, array in arrays.items() if not name.startswith(PREFIX)}
    if n:
        rows, evidence = arrays["held.rows"][:n, :used], arrays["held.evidence"][:n]
        found |= {"held.rows": np.ascontiguousarray(rows), "held.evidence": evidence.copy()}
    return found


def unpacked(arrays: State, rows: int, columns: int) -> State:
    """Return the arrays with room for the rows that are held; ``ValueError`` if those of a file do not fit."""
    found = dict(arrays)
    for name, (shape, dtype) in shapes(rows, columns).items():
        if name.startswith(PREFIX):
            found[name] = np.zeros(shape, dtype)
    held, evidence = arrays.get("held.rows"), arrays.get("held.evidence")
    if held is None and evidence is None:
        return found
    wrong = ValueError("the rows that are held do not fit the weights")
    if held is None or evidence is None or held.ndim != 2 or evidence.shape != (len(held), 1 + columns):
        raise wrong
    if len(held) >= ROWS_PER_CHUNK or held.shape[1] > rows:
        raise wrong
    if held.dtype != REAL or evidence.dtype != REAL:
        raise ValueError(f"the rows that are held must be {REAL}")
    n = len(held)
    found["held.rows"][:n, : held.shape[1]], found["held.evidence"][:n], found["held.count"][0] = held, evidence, n
    return found


def held_values(state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and range of the rows that are held."""
    yield "held.rows", state["held.rows"], within(MAX_HELD)
    yield "the weight of held rows", state["held.evidence"][:, :1], Range(0.0, MAX_HELD, closed_low=True)
    yield "held.evidence", state["held.evidence"], within(MAX_HELD)


def rows_until_due(state: State) -> int:
    """Return the number of rows after which the covariance is to be computed again."""
    seen, columns = int(state["counters"][0]), len(state["shift"])
    due, period = _power_of_two(max(LEAST_ROWS, columns // 2)), _power_of_two(max(PERIOD, PERIODS_PER_COLUMN * columns))
    while due <= seen and due < period:
        due *= 4
    return due - seen if due > seen else period - seen % period


def add(
    state: State, examples: Examples, evidence: np.ndarray, settings: Settings, arrays: NumpyArrays, in_place: bool
) -> None:
    """Add examples, with the evidence that training has recorded of them; the last ones are held until others come.

    ``in_place``: whether the arrays of the sums are written to instead of replaced.
    """
    rows, first = len(state["shift"]), 0
    while first < len(examples):
        held = int(state["held.count"][0])
        block = examples.block(first, min(first + ROWS_PER_CHUNK - held, len(examples)))
        last = held + block.n
        state["held.rows"][held:last, :rows] = block.dense(settings, rows)
        state["held.evidence"][held:last], state["held.count"][0] = evidence[first : first + block.n], last
        if last == ROWS_PER_CHUNK:
            _add(state, np.ascontiguousarray(state["held.rows"][:, :rows]), state["held.evidence"], arrays, in_place)
            _clear_held(state)
        first += block.n


def add_held(state: State, used: int, in_place: bool) -> None:
    """Add the rows that are held, of which ``used`` features are stored."""
    if n := int(state["held.count"][0]):
        whole = {"precision": np.ascontiguousarray(state["precision"][:used, :used]), "shift": state["shift"][:used]}
        rows = np.ascontiguousarray(state["held.rows"][:n, :used])
        with crew() as threads:
            _add(whole, rows, state["held.evidence"][:n], NumpyArrays(threads), in_place)
        if in_place:
            state["precision"][:used, :used] = whole["precision"]
        else:
            state.update(whole)
        _clear_held(state)


def _clear_held(state: State) -> None:
    for name in ("held.rows", "held.evidence", "held.count"):
        state[name] = np.zeros_like(state[name])


def forget(state: State, used: int, kept: float, prior_variance: float) -> None:
    """Leave a fraction of what rows have added, and move the shift so that the mean stays; the sums are replaced."""
    add_held(state, used, in_place=False)
    state["precision"] = kept * state["precision"]
    state["shift"] = kept * state["shift"] + (1.0 - kept) / prior_variance * state["weights"][:, 0]


def _add(state: State, A: np.ndarray, evidence: np.ndarray, arrays: NumpyArrays, in_place: bool) -> None:
    if not in_place:
        state["precision"], state["shift"] = state["precision"].copy(), state["shift"].copy()
    zeta = evidence[:, :1]
    state["shift"] += A.T @ (zeta * evidence[:, 1:])
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
    return inverse * np.outer(unit, unit), unit[:, None] * mean  # symmetric to the last bit


def _power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << (n - 1).bit_length()
