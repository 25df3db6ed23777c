"""What makes intervals around predictions of numbers conformal: the size of the noise, and levels that follow misses.

The core learns it of every prediction before it uses the target (core/tasks/intervals.hpp, for each number).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import _core
from ..rules.ranges import Range
from .conformal import ALARMS, LEVELS, MAX_COUNT, QUIET, Values, followed, level_values, untrained_levels
from .targets import Targets, error_limits, shortage

LOW, HIGH, MARTINGALE, SIZE = _core.conformal_places_of_numbers()
INPUTS, KNOTS = _core.noise_inputs, 9  # of the noise, as in core/tasks/noise_scale.hpp
WHOLE, SHARES, PRECISION, CENTERS, VARIANCES = 2, 4, 6, 9, 9 + INPUTS
SLOPES = CENTERS + 2 * INPUTS
SLOPES_KNOWN, AT_KNOTS, KNOTS_KNOWN = SLOPES + 2 * INPUTS, SLOPES + 4 * INPUTS, SLOPES + (4 + KNOTS) * INPUTS
SCALES = KNOTS_KNOWN + KNOTS * INPUTS
MIN_VARIANCE = 1e-300
MAX_SLOPE = Range(-1e6, 1e6, closed_low=True, closed_high=True)


def untrained(numbers: int) -> np.ndarray:
    """Return what is learned of so many numbers, before the first row."""
    state = np.zeros(SIZE)
    _core.conformal_begin_intervals(state)
    return np.tile(state, numbers)


def settled(own: np.ndarray) -> np.ndarray:
    """Return what was learned of rows in random order, of which misses have changed the levels by chance."""
    found = own.reshape(-1, SIZE).copy()
    for of_number in found:
        for start in (LOW, HIGH):
            of_number[start : start + LEVELS] = untrained_levels()
    return found.ravel()


def merged(parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    """Return what learners have learned whose training continued from a base.

    What is known of the noise is a mean by the evidence for it, levels are one of all, and alarms are added. The
    martingale begins anew.
    """
    states, start = np.array(parts).reshape(len(parts), -1, SIZE), base.reshape(-1, SIZE)
    found: np.ndarray = states.mean(axis=0)
    by_rows = [slice(WHOLE, SHARES), slice(SHARES, PRECISION), slice(CENTERS, VARIANCES), slice(VARIANCES, SLOPES)]
    for own in by_rows:
        found[:, own] = _mean(states[..., own], states[..., :1])
    for first, known in ((SLOPES, SLOPES_KNOWN), (AT_KNOTS, KNOTS_KNOWN)):
        found[:, first:known] = _mean(states[..., first:known], states[..., known : 2 * known - first])
    # the variances of inputs are around the mean of all
    centers, rows = states[..., CENTERS:VARIANCES], states[..., :1]
    found[:, VARIANCES:SLOPES] += _mean((centers - found[:, CENTERS:VARIANCES]) ** 2, rows)
    gained = np.maximum(states - start, 0.0).sum(axis=0)
    for own in (slice(0, 1), slice(PRECISION, CENTERS), slice(SLOPES_KNOWN, AT_KNOTS), slice(KNOTS_KNOWN, SCALES)):
        found[:, own] = start[:, own] + gained[:, own]
    found[:, PRECISION + 1] = start[:, PRECISION + 1] + (states - start)[..., PRECISION + 1].sum(axis=0)
    variances = found[:, VARIANCES:SLOPES]
    found[:, SCALES:LOW] = np.where(variances > MIN_VARIANCE, 1.0 / np.sqrt(np.maximum(variances, MIN_VARIANCE)), 0.0)
    found[:, 1] = states[..., 1].max(axis=0)
    found[:, MARTINGALE:] = untrained(1)[MARTINGALE:]
    alarms = states[..., MARTINGALE + ALARMS]
    found[:, MARTINGALE + ALARMS] = start[:, MARTINGALE + ALARMS] * (1 - len(parts)) + alarms.sum(axis=0)
    found[:, MARTINGALE + QUIET] = states[..., MARTINGALE + QUIET].min(axis=0)
    return found.ravel()


def _mean(numbers: np.ndarray, evidence: np.ndarray) -> np.ndarray:
    """Return the mean over the first axis by the evidence."""
    weights = evidence + np.finfo(np.float64).tiny
    return (weights * numbers).sum(axis=0) / weights.sum(axis=0)


def values(state: np.ndarray) -> Values:
    """Yield name, numbers and range of the parts of what was learned."""
    for own in state.reshape(-1, SIZE):
        gained = own[[PRECISION, PRECISION + 2]]
        known = np.concatenate([own[:SHARES], gained, own[SLOPES_KNOWN:AT_KNOTS], own[KNOTS_KNOWN:SCALES]])
        slopes = np.concatenate([own[SHARES:PRECISION], own[SLOPES:SLOPES_KNOWN], own[AT_KNOTS:KNOTS_KNOWN]])
        yield "the inputs of the noise", own[1:2], Range(0.0, INPUTS, closed_low=True, closed_high=True)
        yield "the evidence of the noise", known, Range(0.0, MAX_COUNT, closed_low=True)
        yield "the slopes of the noise", slopes, MAX_SLOPE
        for start in (VARIANCES, SCALES):
            spread = own[start : start + INPUTS]
            yield "the variances of the noise's inputs", spread, Range(0.0, math.inf, closed_low=True)
        for start in (LOW, HIGH):
            yield from level_values(own[start : start + LEVELS])
        yield "the martingale", own[MARTINGALE:], Range(0.0, math.inf, closed_low=True)


class ConformalIntervals:
    """What was learned of the errors of numbers.

    Parameters
    ----------
    state : array
    """

    def __init__(self, state: np.ndarray) -> None:
        self._state = state.reshape(-1, SIZE)

    @property
    def alarms(self) -> int:
        """Drift alarms so far, of the number of which there were most."""
        return int(self._state[:, MARTINGALE + ALARMS].max())

    @property
    def rows_since_alarm(self) -> int:
        """Rows since the last alarm, or since the first row."""
        return int(self._state[:, MARTINGALE + QUIET].min())

    @property
    def last_alarm(self) -> int | None:
        """The row of the last alarm, from 1 and of those learned; None: there was none."""
        doubted = self._state[self._state[:, MARTINGALE + ALARMS] > 0]
        rows = doubted[:, 0] - doubted[:, MARTINGALE + QUIET]
        return int(rows.max()) if len(rows) else None

    def tails(self, coverage: float) -> np.ndarray:
        """Return the probabilities below and above an interval, as changed by misses, shape (numbers, 2)."""
        tail = 0.5 * (1.0 - coverage)
        found = [[followed(own[start : start + LEVELS], tail) for start in (LOW, HIGH)] for own in self._state]
        return np.clip(np.array(found), 0.0, 0.5)

    def shortage(self, targets: Targets, coverage: float, values: Sequence[str] | None = None) -> str | None:
        """Return why limits of intervals are infinite, as text; None if they are not.

        ``values`` are those of the rows in the column by which coverage holds, if there is one.
        """
        return shortage(targets.errors, coverage)

    def error_limits(self, targets: Targets, coverage: float, values: Sequence[str] | None = None) -> np.ndarray:
        """Return limits of the standardized errors, shape (K, 2) or, for rows with such values, (n, K, 2)."""
        return error_limits(targets.bins, targets.errors, coverage, self.tails(coverage))

    def sizes(self, means: np.ndarray, rows: _core.Matrix) -> np.ndarray:
        """Return the sizes of the noise of rows, relative to others, shape (n, numbers).

        Parameters
        ----------
        means : array of shape (n, numbers)
            The predictions.
        rows : Matrix
            As the learner sees them.
        """
        found = np.empty(means.shape[::-1])
        for own, mean, sizes in zip(self._state, np.ascontiguousarray(means.T), found, strict=True):
            _core.noise_sizes(own, rows, mean, sizes)
        return found.T
