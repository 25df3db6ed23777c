"""What is known of the standardized errors of the rows of a group: how they are distributed, and levels.

They are relative to what all rows say of the size of the noise, and learned by core/tasks/error_counts.hpp. The
functions are those of :mod:`confidently.tasks.conformal` for the scores of classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _core
from ..rules.ranges import Range
from .conformal import LEVELS, MAX_COUNT, Values, followed, level_values, untrained_levels
from .targets import TARGET_GROUPS, error_limits

COUNTS, LOW, HIGH, SIZE = _core.group_errors_places()
BINS = COUNTS + TARGET_GROUPS  # after the sums of groups of these
GAIN, SEEN = 0, 1


def untrained(numbers: int) -> np.ndarray:
    """Return what is learned of so many numbers, before the first row."""
    state = np.zeros(numbers * SIZE)
    _core.group_errors_begin(state, numbers)
    return state


def none_of(state: np.ndarray) -> np.ndarray:
    """Return what is learned of as many numbers, before the first row."""
    return untrained(state.size // SIZE)


def grown(state: np.ndarray, numbers: int) -> np.ndarray:
    """Return the state, since no numbers are added."""
    return state


def placed(state: np.ndarray, outputs: np.ndarray, numbers: int) -> np.ndarray:
    """Return the state, since no numbers are added."""
    return state


def settled(state: np.ndarray) -> np.ndarray:
    """Return what was learned of rows in random order, of which misses have changed the levels by chance."""
    found = state.reshape(-1, SIZE).copy()
    for start in (LOW, HIGH):
        found[:, start : start + LEVELS] = untrained_levels()
    return found.ravel()


def rows_seen(state: np.ndarray) -> int:
    """Return how many rows were learned."""
    return int(state[SEEN])


def rows(state: np.ndarray) -> np.ndarray:
    """Return how many errors count, shape (numbers,): old ones less."""
    return _bins(state).sum(axis=1)


def limits(state: np.ndarray, coverage: float) -> np.ndarray:
    """Return limits of the standardized errors, shape (numbers, 2): :func:`confidently.tasks.targets.error_limits`."""
    own, tail = state.reshape(-1, SIZE), 0.5 * (1.0 - coverage)
    tails = np.stack([followed(own[:, start : start + LEVELS], tail) for start in (LOW, HIGH)], axis=1)
    return error_limits(_bins(state), rows(state), coverage, np.clip(tails, 0.0, 0.5))


def _bins(state: np.ndarray) -> np.ndarray:
    """Return the weights of the standardized errors, shape (numbers, bins)."""
    own = state.reshape(-1, SIZE)
    return own[:, BINS:LOW] / own[:, [GAIN]]


def together(states: Sequence[np.ndarray], numbers: int) -> np.ndarray:
    """Return the errors of rows of several kinds, each counting as it does there; levels are those of no misses."""
    found = untrained(numbers)
    for own, state in ((found.reshape(-1, SIZE), state.reshape(-1, SIZE)) for state in states):
        own[:, COUNTS:LOW] += state[:, COUNTS:LOW] / state[:, [GAIN]]
        own[:, SEEN] += state[:, SEEN]
    return found


def merged(parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    """Return the errors of learners whose training continued from a base: those of all; levels are a mean."""
    found, start = none_of(base).reshape(-1, SIZE), base.reshape(-1, SIZE)
    states = np.array(parts).reshape(len(parts), -1, SIZE)
    before = start[:, COUNTS:LOW] / start[:, [GAIN]]
    gained = np.maximum(states[..., COUNTS:LOW] / states[..., [GAIN]] - before, 0.0)
    found[:, COUNTS:LOW] = before + gained.sum(axis=0)
    found[:, SEEN] = start[:, SEEN] + (states[..., SEEN] - start[:, SEEN]).sum(axis=0)
    found[:, LOW:] = states[..., LOW:].mean(axis=0)
    return found.ravel()


def values(state: np.ndarray) -> Values:
    """Yield name, numbers and range of the parts of what was learned."""
    own = state.reshape(-1, SIZE)
    yield "the weight of an error", own[:, GAIN], Range(1.0, MAX_COUNT, closed_low=True)
    yield "the errors of a group", own[:, SEEN:LOW], Range(0.0, MAX_COUNT, closed_low=True)
    for start in (LOW, HIGH):
        yield from level_values(own[:, start : start + LEVELS])
