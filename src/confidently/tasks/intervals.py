"""What makes intervals around predictions of numbers conformal: sizes of errors, and levels that follow misses.

The core learns it of every prediction before it uses the target (core/tasks/conformal.hpp, for each number).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .. import _core
from ..rules.ranges import Range
from .conformal import ALARMS, LEVELS, MAX_COUNT, QUIET, Values, followed, level_values, untrained_levels

AT_MEAN, LOW, HIGH, MARTINGALE, SIZE = _core.conformal_places_of_numbers()
KNOTS = AT_MEAN // 2
KNOTS_PER_UNIT, STRETCH = 4.0, 2.0  # as in the core
LARGEST_SIZE = Range(-5.0, 5.0, closed_low=True, closed_high=True)


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

    Sizes are a mean by the evidence for them, levels one of all, and alarms are added. The martingale begins anew.
    """
    states, start = np.array(parts).reshape(len(parts), -1, SIZE), base.reshape(-1, SIZE)
    found: np.ndarray = states.mean(axis=0)
    sizes, evidence = states[..., :KNOTS], states[..., KNOTS:AT_MEAN]
    weights = evidence + np.finfo(np.float64).tiny
    found[:, :KNOTS] = (weights * sizes).sum(axis=0) / weights.sum(axis=0)
    found[:, KNOTS:AT_MEAN] = evidence.max(axis=0)
    found[:, MARTINGALE:] = untrained(1)[MARTINGALE:]
    alarms = states[..., MARTINGALE + ALARMS]
    found[:, MARTINGALE + ALARMS] = start[:, MARTINGALE + ALARMS] * (1 - len(parts)) + alarms.sum(axis=0)
    found[:, MARTINGALE + QUIET] = states[..., MARTINGALE + QUIET].min(axis=0)
    return found.ravel()


def values(state: np.ndarray) -> Values:
    """Yield name, numbers and range of the parts of what was learned."""
    for own in state.reshape(-1, SIZE):
        yield "the sizes of errors", own[:KNOTS], LARGEST_SIZE
        yield "the evidence for sizes", own[KNOTS:LOW], Range(0.0, MAX_COUNT, closed_low=True)
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
        rows = doubted[:, AT_MEAN + 1] - doubted[:, MARTINGALE + QUIET]
        return int(rows.max()) if len(rows) else None

    def tails(self, coverage: float) -> np.ndarray:
        """Return the probabilities below and above an interval, as changed by misses, shape (numbers, 2)."""
        tail = 0.5 * (1.0 - coverage)
        found = [[followed(own[start : start + LEVELS], tail) for start in (LOW, HIGH)] for own in self._state]
        tails: np.ndarray = np.clip(np.array(found), 0.0, 0.5)
        return tails

    def sizes(self, means: np.ndarray, targets: np.ndarray, units: np.ndarray) -> np.ndarray:
        """Return the sizes of errors of predictions, relative to others, shape (n, numbers).

        Parameters
        ----------
        means : array of shape (n, numbers)
            The predictions.
        targets, units : arrays of shape (numbers,)
            Mean and standard deviation of the targets.
        """
        places = np.arcsinh(STRETCH * (means - targets) / units) * KNOTS_PER_UNIT + KNOTS // 2
        by_number = zip(places.T, self._state[:, :KNOTS], strict=True)
        logs = np.stack([np.interp(at, np.arange(KNOTS), own) for at, own in by_number], axis=1)
        sizes: np.ndarray = np.exp(logs)
        return sizes
