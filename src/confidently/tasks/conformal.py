"""Conformal prediction: sets of classes that have the true one as often as is asked for, and answers that are withheld.

The core learns the scores of the true classes, each before it uses the label (core/tasks/conformal.hpp). This module
reads what it has learned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from .. import _core
from ..rules.ranges import Range

CONFORMAL = "conformal"  # the entry of a state
SCORES, MARTINGALE, ANSWERS, MISTAKES, BEST, OWN_LEVELS, CLASSES = _core.conformal_places()
BINS = _core.conformal_bins
FIRST_BIN = 3 + BINS // 8  # after what a row adds, the sum, the rows so far, and sums of groups of bins
COUNTS = FIRST_BIN + BINS
ERRORS = np.array(_core.conformal_errors())  # levels that are followed, descending
EXPERTS = _core.conformal_experts
WEIGHTS = EXPERTS * len(ERRORS)  # where the weights begin in levels
LEVELS = 2 * WEIGHTS + 1
CERTAINTY = 0.99  # that the error of answers is not larger than asked for: about .95 for that of as many to come
FIRST_TEST = 10.0  # mistakes that answers have of which the first threshold is tested, were the error as allowed
ENOUGH, ENOUGH_PER_CLASS = 300, 30  # rows of which sets are made alone, without those of a model that was worse
MAX_CHANGE, MAX_COUNT = 2.0, 1e104
ALARMS, QUIET = 1, 2  # in the martingale
ROUNDING = 1e-9  # relative, of sums of rows
NO_ANSWERS = "none of the answers before are known to be wrong in at most {:g} of the cases"
UNCALIBRATED = "calibration=None has calibrated nothing; train with calibration='progressive'"
SEVERAL_LABELS = (
    "rows have several labels, which are not right or wrong as a whole; use predict_set, in which each relevant label "
    "is with the probability asked for"
)
Values = Iterator[tuple[str, np.ndarray, Range]]


def untrained(classes: int) -> np.ndarray:
    """Return what is learned of so many classes, before the first row."""
    state = np.zeros(size(classes))
    _core.conformal_begin(state, classes)
    return state


def no_counts() -> np.ndarray:
    """Return counts without rows."""
    return untrained(0)[BEST : BEST + COUNTS]


def none_of(state: np.ndarray) -> np.ndarray:
    """Return what is learned of as many classes, before the first row."""
    return untrained((state.size - CLASSES) // COUNTS)


def size(classes: int) -> int:
    """Return how many numbers are learned of so many classes."""
    return CLASSES + classes * COUNTS


def placed(own: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the scores of classes that have these numbers among more, of which the others have none yet."""
    found = untrained(n_classes)
    found[:CLASSES] = own[:CLASSES]
    known = min(len(classes), (own.size - CLASSES) // COUNTS)
    by_class = found[CLASSES:].reshape(n_classes, COUNTS)
    by_class[classes[:known]] = own[CLASSES:].reshape(-1, COUNTS)[:known]
    return found


def grown(own: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the scores with room for more classes; fewer change nothing."""
    known = (own.size - CLASSES) // COUNTS
    return placed(own, np.arange(known), n_classes) if n_classes > known else own


def settled(own: np.ndarray) -> np.ndarray:
    """Return the scores of rows in random order, of which misses have changed the levels by chance."""
    found = own.copy()
    for start in (0, OWN_LEVELS):
        found[start : start + LEVELS] = untrained_levels()
    return found


def part_to_keep(own: np.ndarray, ratio: float) -> float:
    """Return by how much the rows so far count where so many per row come that are of a better model.

    They make up for what is missing of 300 rows, or of 30 per class.
    """
    gain, total, seen = own[SCORES : SCORES + 3].tolist()
    enough = max(ENOUGH, ENOUGH_PER_CLASS * (own.size - CLASSES) // COUNTS)
    return min(max(enough - ratio * seen, 0.0) * gain / total, 1.0) if total > 0.0 else 1.0


def renewed(own: np.ndarray, part: float) -> np.ndarray:
    """Return the scores of which rows count by so much of what they did, since those to come are of a better model."""
    found = own.copy()
    for start in (SCORES, ANSWERS, MISTAKES, BEST, *range(CLASSES, own.size, COUNTS)):
        found[start : start + COUNTS] = renewed_counts(own[start : start + COUNTS], part)
    return found


def renewed_counts(counts: np.ndarray, part: float) -> np.ndarray:
    """Return counts in which the rows before count by so much of what they did."""
    found = counts.copy()
    found[[1, *range(3, len(counts))]] *= part / counts[0]
    found[0] = 1.0
    return found


def learned_late(
    own: np.ndarray, predicted: np.ndarray, labels: np.ndarray, start: np.ndarray | None, weight: np.ndarray | None
) -> np.ndarray:
    """Return the scores after rows whose labels came long after their predictions; levels stay as they are.

    Parameters
    ----------
    own : array
    predicted : float64 array of shape (n, classes)
        The probabilities of classes as they were predicted.
    labels, start, weight : array
        As :meth:`confidently.learner.learner.Learner.learn` takes them.
    """
    found = own.copy()
    _core.conformal_learn_late(found, np.ascontiguousarray(predicted), labels, start, weight)
    return found


def merged(parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    """Return the scores of learners whose training continued from a base, of the same classes.

    Scores, answers and mistakes are those of all, each counting by its rows, and together as many as the learner with
    most has; changes of levels are a mean, and the alarms are added. The martingale begins anew.
    """
    states = np.array(parts)
    found = np.empty_like(base)
    levels = [slice(start, start + LEVELS) for start in (0, OWN_LEVELS)]
    for own in levels:
        found[own] = states[:, own].mean(axis=0)
    starts = [SCORES, ANSWERS, MISTAKES, BEST, *range(CLASSES, base.size, COUNTS)]
    for start in starts:
        own = slice(start, start + COUNTS)
        found[own] = merged_counts(states[:, own], base[own])
    martingale = slice(MARTINGALE, ANSWERS)
    found[martingale] = none_of(base)[martingale]
    alarms = MARTINGALE + ALARMS
    found[alarms] = base[alarms] + (states[:, alarms] - base[alarms]).sum()
    found[MARTINGALE + QUIET] = states[:, MARTINGALE + QUIET].min()
    return found


def merged_counts(counts: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Return the counts of all, shape (bins,), of those of learners, shape (learners, bins), that began with a base."""
    rows = np.delete(counts, [0, 2], axis=1) / counts[:, :1]
    total = rows.sum(axis=0)
    part = rows[:, 0].max() / total[0] if total[0] > 0 else 0.0
    seen = base[2] + (counts[:, 2] - base[2]).sum()
    return np.array([1.0, part * total[0], seen, *(part * total[1:])])


def values(state: np.ndarray) -> Values:
    """Yield name, numbers and range of the parts of what was learned."""
    counted = np.concatenate([state[SCORES:MARTINGALE], state[ANSWERS:OWN_LEVELS], state[CLASSES:]])
    for start in (0, OWN_LEVELS):
        yield from level_values(state[start : start + LEVELS])
    yield "the conformal scores", counted, Range(0.0, MAX_COUNT, closed_low=True)
    gains = counted.reshape(-1, COUNTS)[:, 0]
    yield "the weight of a conformal score", gains, Range(1.0, MAX_COUNT, closed_low=True)
    yield "the martingale", state[MARTINGALE:ANSWERS], Range(0.0, math.inf, closed_low=True)


def followed(levels: np.ndarray, error: float) -> float:
    """Return a level of error as misses have changed it, linear between those that are followed."""
    change, weight = levels[:-1].reshape(2, EXPERTS, len(ERRORS))
    said = (weight * change).sum(axis=0) / weight.sum(axis=0)
    found = np.maximum.accumulate((ERRORS + said)[::-1])
    lowest, highest = min(0.0, float(found[0])), max(1.0, float(found[-1]))
    return float(np.interp(error, [0.0, *ERRORS[::-1], 1.0], [lowest, *found, highest]))


def untrained_levels() -> np.ndarray:
    """Return levels that no miss has changed."""
    return untrained(0)[:LEVELS]


def level_values(own: np.ndarray) -> Values:
    """Yield name, numbers and range of the parts of levels."""
    within_change = Range(-MAX_CHANGE, MAX_CHANGE, closed_low=True, closed_high=True)
    changes, weights, rows = np.split(own, [WEIGHTS, 2 * WEIGHTS])
    yield "the changes of levels", changes, within_change
    yield "the weights of levels", weights, Range(0.0, 1.0, closed_high=True)
    yield "the rows of levels", rows, Range(0.0, MAX_COUNT, closed_low=True)


class ConformalSets:
    """What was learned of the scores of classes.

    Parameters
    ----------
    state : array
    """

    def __init__(self, state: np.ndarray) -> None:
        self._state = state

    @property
    def classes(self) -> int:
        """How many classes, or labels, have scores."""
        return (self._state.size - CLASSES) // COUNTS

    @property
    def rows(self) -> float:
        """The rows that count: those before, of which old ones count less."""
        gain, total = self._state[SCORES : SCORES + 2]
        return float(total / gain)

    @property
    def shares(self) -> np.ndarray:
        """The share of each class in all rows, of any age, shape (classes,); all alike before the first row."""
        rows = self._state[CLASSES:].reshape(-1, COUNTS)[:, 2]
        found: np.ndarray = rows / rows.sum() if rows.any() else np.full(len(rows), 1.0 / len(rows))
        return found

    @property
    def alarms(self) -> int:
        """How often the order of rows was doubtful: at level .01, an alarm begins anew."""
        return int(self._state[MARTINGALE + ALARMS])

    @property
    def rows_since_alarm(self) -> int:
        """Rows since the last alarm, or since the first row."""
        return int(self._state[MARTINGALE + QUIET])

    @property
    def last_alarm(self) -> int | None:
        """The row of the last alarm, from 1 and of those learned; None: there was none."""
        return int(self._state[SCORES + 2]) - self.rows_since_alarm if self.alarms else None

    def shortage(self, coverage: float) -> str | None:
        """Return why sets have every class, as text; None if there are rows enough to leave some out.

        The p-value of a class is at least 1/(rows + 1).
        """
        needed = 1.0 / (1.0 - coverage) - 1.0
        if self.rows >= needed * (1.0 - ROUNDING):
            return None
        return (
            f"sets have every class: coverage {coverage:g} needs {needed:,.0f} rows, and those learned count as "
            f"{self.rows:,.0f}, since old ones count less"
        )

    def warning(self, coverage: float) -> str | None:
        """Return why sets may not be what is asked for, as text."""
        return self.shortage(coverage)

    def error(self, coverage: float, by_class: bool) -> float:
        """Return the p-value that classes of a set must exceed: 1 - coverage, as misses have changed it."""
        start = OWN_LEVELS if by_class else 0
        return followed(self._state[start : start + LEVELS], 1.0 - coverage)

    def p_values(self, probabilities: np.ndarray, by_class: bool) -> np.ndarray:
        """Return the p-value of every class, shape (n, classes): the part of the rows before whose class had less.

        With ``by_class``, of the rows of that class.
        """
        found = np.zeros(probabilities.shape)
        _core.conformal_p_values(self._state, np.ascontiguousarray(probabilities, np.float64), by_class, found)
        return found

    def conformity(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the part of the rows before whose most probable class had less than a row's, shape (n,)."""
        found, best = np.empty(len(probabilities)), np.ascontiguousarray(probabilities.max(axis=1), np.float64)
        _core.conformal_conformity(self._state, self.classes, best, found)
        return found

    def sets(
        self, probabilities: np.ndarray, coverage: float, by_class: bool, values: Sequence[str] | None = None
    ) -> np.ndarray:
        """Return which classes are in the set of each row, booleans of shape (n, classes).

        ``values`` are those of the rows in the column by which coverage holds, if there is one.
        """
        if self.shortage(coverage):
            return np.ones(probabilities.shape, np.bool_)
        found: np.ndarray = self.p_values(probabilities, by_class) > self.error(coverage, by_class)
        return found

    def least_probability(self, risk: float) -> float:
        """Return the probability from which on answers are wrong at most so often, above 1 if none is known to be.

        Of the thresholds from the strictest on, each is tested: whether so few mistakes among the answers above it had
        a probability of at most .01, were the error larger than ``risk``. The last before one that fails is it.
        """
        from scipy.special import betaincinv  # imported here since importing SciPy takes long

        answers, mistakes = (
            np.cumsum((counts[FIRST_BIN:] / counts[0])[::-1])
            for counts in (self._state[start : start + COUNTS] for start in (ANSWERS, MISTAKES))
        )
        # few answers show nothing without a mistake, and one mistake among not many more would end the tests
        least = math.log(1.0 - CERTAINTY) / math.log1p(-risk)
        enough = answers >= max(least, min(FIRST_TEST / risk, answers[-1] / 2.0))
        if not enough.any():
            return math.inf
        n, wrong = answers[enough], mistakes[enough]
        holds = betaincinv(wrong + 1.0, np.maximum(n - wrong, 1e-9), CERTAINTY) <= risk
        last = len(holds) if holds.all() else int(holds.argmin())
        if last == 0:
            return math.inf
        lowest = BINS - 1 - (int(enough.argmax()) + last - 1)
        return 1.0 / (1.0 + math.exp(-lowest * _core.conformal_answer_width))
