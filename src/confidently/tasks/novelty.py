"""How unlike all rows before a row is: whether it conforms to no class, or its margin is more uncertain than theirs.

The core learns how uncertain the margin of every row is before it uses the label (core/tasks/margin_variances.hpp).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _core
from ..rules.ranges import Range
from .conformal import MAX_COUNT, Values, merged_counts, renewed_counts

VARIANCES = "variances"  # the entry of a state
SIZE = _core.margin_variances_size  # the mean of their logarithms to base 2, and counts
MAX_LOG = 1100.0
LEAST_PART, LARGEST_PART, ROWS_SHOWN = 0.1, 0.5, 50.0  # part of a level that variances have, and that times rows


def untrained() -> np.ndarray:
    """Return what is learned of variances, before the first row."""
    state = np.zeros(SIZE)
    state[1] = 1.0
    return state


def merged(parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    """Return what learners know whose training continued from a base: the mean of their means, and all counts."""
    states = np.array(parts)
    rows = states[:, 2] / states[:, 1]
    mean = rows @ states[:, 0] / max(rows.sum(), 1.0)
    return np.array([mean, *merged_counts(states[:, 1:], base[1:])])


def renewed(state: np.ndarray, part: float) -> np.ndarray:
    """Return counts in which the rows before count by so much of what they did."""
    return np.array([state[0], *renewed_counts(state[1:], part)])


def values(state: np.ndarray) -> Values:
    """Yield name, numbers and range of the parts of what was learned."""
    allowed = Range(-MAX_LOG, MAX_LOG, closed_low=True, closed_high=True)
    yield "the mean variance of margins", state[:1], allowed
    yield "the variances of margins", state[1:], Range(0.0, MAX_COUNT, closed_low=True)
    yield "the weight of a variance", state[1:2], Range(1.0, MAX_COUNT, closed_low=True)


def p_values(state: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the part of the rows before whose margin had a variance as large, shape (n,)."""
    found = np.empty(len(variances))
    _core.margin_variances_p_values(state, np.ascontiguousarray(variances, np.float64), found)
    return found


def rows(state: np.ndarray) -> float:
    """Return the rows that count: those before, of which old ones count less."""
    return float(state[2] / state[1])


def combined(conformity: np.ndarray | None, rarities: Sequence[np.ndarray], rows: float) -> np.ndarray:
    """Return p-values of rows, shape (n,), from those of their best classes and of variances, one for each learner.

    Of r p-values, the k-th smallest is at most t k/r in a fraction t of rows at most, whatever their dependence
    (Rüger 1978); of several learners a third must be as uncertain. Variances have a part of t, since rows that conform
    to no class are more often new: a tenth, or as much as lets few rows show something. Without ``conformity`` they
    have all of it.
    """
    learners = len(rarities)
    third = -(-learners // 3)
    found: np.ndarray = np.sort(rarities, axis=0)[third - 1] * (learners / third)
    if conformity is not None:
        part = min(max(ROWS_SHOWN / max(rows, 1.0), LEAST_PART), LARGEST_PART)
        found = np.minimum(found / part, conformity / (1.0 - part))
    return np.minimum(found, 1.0)
