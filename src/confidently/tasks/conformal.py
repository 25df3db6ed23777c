"""Conformal prediction: sets of classes that have the true one as often as is asked for, and answers that are withheld.

The core learns the scores of the true classes, each before it uses the label (core/tasks/conformal.hpp). This module
reads what it has learned.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from .. import _core
from ..rules.ranges import Range
from .steps import ROUNDING, enough_rows, rows_needed, steps

CONFORMAL = "conformal"  # the entry of a state
# Of all rows the levels and scores, the alarms, ...; of rare classes together and of each class the levels and scores.
MARTINGALE, TRANSFORMS, ANSWERS, MISTAKES, BEST, RARE, CLASSES = _core.conformal_places()
# Counts: what a row adds, the sum, the rows so far, sums of groups of bins, and the bins.
COUNTS, OF_ANSWERS = _core.conformal_counts, _core.conformal_counts_of_answers
ERRORS = np.array(_core.conformal_errors())  # levels that are followed, descending
EXPERTS = _core.conformal_experts
WEIGHTS = EXPERTS * len(ERRORS)  # where the weights begin in levels
LEVELS = 2 * WEIGHTS + 1  # where the scores begin, of all rows and of each class
SIZE = LEVELS + COUNTS  # of a class
ENOUGH = _core.conformal_enough  # rows of a class that count, from which on it has scores of its own, ...
MARGIN = 1.5  # ... or so many times those that a level needs: of just so many, chance decides whether any class is out
CERTAINTY = 0.99  # that the error of answers is not larger than asked for: about .95 for that of as many to come
FIRST_TEST = 10.0  # mistakes that answers have of which the first threshold is tested, were the error as allowed
ENOUGH_ALONE, ENOUGH_PER_CLASS = 300, 30  # rows of which sets are made alone, without those of a model that was worse
MAX_CHANGE, MAX_COUNT = 2.0, 1e104
ALARMS, QUIET = 1, 2  # in the martingale
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


def none_of(state: np.ndarray) -> np.ndarray:
    """Return what is learned of as many classes, before the first row."""
    return untrained((state.size - CLASSES) // SIZE)


def size(classes: int) -> int:
    """Return how many numbers are learned of so many classes."""
    return CLASSES + classes * SIZE


def of_classes(state: np.ndarray) -> np.ndarray:
    """Return the levels and scores of each class, a view of shape (classes, SIZE)."""
    return state[CLASSES:].reshape(-1, SIZE)


def placed(own: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the scores of classes that have these numbers among more, of which the others have none yet."""
    found = untrained(n_classes)
    found[:CLASSES] = own[:CLASSES]
    known = min(len(classes), len(of_classes(own)))
    of_classes(found)[classes[:known]] = of_classes(own)[:known]
    return found


def grown(own: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the scores with room for more classes; fewer change nothing."""
    known = len(of_classes(own))
    return placed(own, np.arange(known), n_classes) if n_classes > known else own


def settled(own: np.ndarray) -> np.ndarray:
    """Return the scores with levels that no miss has changed: those of rows in random order change by chance."""
    found = own.copy()
    for levels in _levels(found):
        levels[:] = untrained_levels()
    return found


def resting(own: np.ndarray) -> np.ndarray:
    """Return the scores with levels that follow no misses until there is an alarm, or they are :func:`settled`."""
    found = own.copy()
    found[LEVELS - 1] = -1.0
    return found


def woken(own: np.ndarray) -> np.ndarray:
    """Return the scores with levels that follow misses."""
    found = own.copy()
    found[LEVELS - 1] = max(own[LEVELS - 1], 0.0)
    return found


def _levels(state: np.ndarray) -> list[np.ndarray]:
    """Return the levels, as views: of all rows, of rare classes, and of each class, (classes, LEVELS)."""
    return [state[:LEVELS], state[RARE : RARE + LEVELS], of_classes(state)[:, :LEVELS]]


def _scores(classes: int) -> list[slice]:
    """Return where the scores, answers and mistakes of rows are."""
    starts = [LEVELS, BEST, *(CLASSES + k * SIZE + LEVELS for k in range(classes))]
    answers = [slice(start, start + OF_ANSWERS) for start in (ANSWERS, MISTAKES)]
    return [*(slice(start, start + COUNTS) for start in starts), *answers]


def part_to_keep(own: np.ndarray, ratio: float) -> float:
    """Return by how much the rows so far count where so many per row come that are of a better model.

    They make up for what is missing of 300 rows, or of 30 per class.
    """
    gain, total, seen = own[LEVELS : LEVELS + 3].tolist()
    enough = max(ENOUGH_ALONE, ENOUGH_PER_CLASS * len(of_classes(own)))
    return min(max(enough - ratio * seen, 0.0) * gain / total, 1.0) if total > 0.0 else 1.0


def renewed(own: np.ndarray, part: float) -> np.ndarray:
    """Return the scores of which rows count by so much of what they did, since those to come are of a better model."""
    found = own.copy()
    for counts in _scores(len(of_classes(own))):
        found[counts] = renewed_counts(own[counts], part)
    _core.conformal_gather_rare(found, len(of_classes(own)))
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
    """Return the scores after rows whose labels came long after their predictions; levels stay as they were.

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
    found = none_of(base)
    for own, levels in zip(_levels(found), zip(*map(_levels, states), strict=True), strict=True):
        own[:] = np.mean(levels, axis=0)
    for counts in [slice(TRANSFORMS, ANSWERS), *_scores(len(of_classes(base)))]:
        found[counts] = merged_counts(states[:, counts], base[counts])
    _core.conformal_gather_rare(found, len(of_classes(base)))
    alarms = MARTINGALE + ALARMS
    found[alarms] = base[alarms] + (states[:, alarms] - base[alarms]).sum()
    found[MARTINGALE + QUIET] = states[:, MARTINGALE + QUIET].min()
    return found


def together(states: Sequence[np.ndarray], n_classes: int) -> np.ndarray:
    """Return the scores of rows of several kinds, each counting as it does there; levels are those of no misses."""
    found = untrained(n_classes)
    for state in states:
        own = grown(state, n_classes)
        for counts in _scores(n_classes):
            gain, _, seen, *_ = of_rows = own[counts]
            found[counts] += of_rows / gain
            found[counts.start], found[counts.start + 2] = 1.0, found[counts.start + 2] + seen - seen / gain
    _core.conformal_gather_rare(found, n_classes)
    return found


def rows_seen(state: np.ndarray) -> int:
    """Return how many rows, or labels, have had scores."""
    return int(state[LEVELS + 2])


def merged_counts(counts: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Return the counts of all, shape (bins,), of those of learners, shape (learners, bins), that began with a base."""
    rows = np.delete(counts, [0, 2], axis=1) / counts[:, :1]
    total = rows.sum(axis=0)
    part = rows[:, 0].max() / total[0] if total[0] > 0 else 0.0
    seen = base[2] + (counts[:, 2] - base[2]).sum()
    return np.array([1.0, part * total[0], seen, *(part * total[1:])])


def values(state: np.ndarray) -> Values:
    """Yield name, numbers and range of the parts of what was learned."""
    for levels in _levels(state):
        yield from level_values(levels)
    # what rare classes have together is a sum of differences
    yield "the scores of rare classes", state[RARE + LEVELS : CLASSES], Range(-ROUNDING, MAX_COUNT, closed_low=True)
    scores = of_classes(state)[:, LEVELS:]
    counts = [state[LEVELS:MARTINGALE], state[TRANSFORMS:ANSWERS], state[ANSWERS:MISTAKES], state[MISTAKES:BEST]]
    for own in [*counts, state[BEST:RARE], scores]:
        yield "the conformal scores", own, Range(0.0, MAX_COUNT, closed_low=True)
        yield "the weight of a conformal score", own[..., 0], Range(1.0, MAX_COUNT, closed_low=True)
    yield "the martingale", state[MARTINGALE:TRANSFORMS], Range(0.0, math.inf, closed_low=True)


def followed(levels: np.ndarray, error: float) -> np.ndarray:
    """Return a level of error as misses have changed it, linear between those that are followed.

    ``levels`` has shape (..., LEVELS), and the result (...).
    """
    experts = *levels.shape[:-1], EXPERTS, len(ERRORS)
    change, weight = levels[..., :WEIGHTS].reshape(experts), levels[..., WEIGHTS:-1].reshape(experts)
    said = ERRORS + (weight * change).sum(axis=-2) / weight.sum(axis=-2)
    said = np.maximum.accumulate(said[..., ::-1], axis=-1)
    ends = np.minimum(0.0, said[..., :1]), np.maximum(1.0, said[..., -1:])
    said, knots = np.concatenate([ends[0], said, ends[1]], axis=-1), np.array([0.0, *ERRORS[::-1], 1.0])
    at = int(np.searchsorted(knots[1:-1], error, side="right"))
    part = (error - knots[at]) / (knots[at + 1] - knots[at])
    return said[..., at] + part * (said[..., at + 1] - said[..., at])


def untrained_levels() -> np.ndarray:
    """Return levels that no miss has changed."""
    return untrained(0)[:LEVELS]


def level_values(own: np.ndarray) -> Values:
    """Yield name, numbers and range of the parts of levels."""
    within_change = Range(-MAX_CHANGE, MAX_CHANGE, closed_low=True, closed_high=True)
    changes, weights, rows = np.split(own, [WEIGHTS, 2 * WEIGHTS], axis=-1)
    yield "the changes of levels", changes, within_change
    yield "the weights of levels", weights, Range(0.0, 1.0, closed_high=True)
    yield "the rows of levels", rows, Range(0.0, MAX_COUNT, closed_low=True)


class ConformalSets:
    """What was learned of the scores of classes.

    Parameters
    ----------
    state : array
    repeated : bool
        Whether rows repeat, so that scores that are nearly equal may be those of equal rows.
    centered : float
        What has been added to the log-odds of the second of two classes since the scores were learned.
    """

    def __init__(self, state: np.ndarray, repeated: bool = False, centered: float = 0.0) -> None:
        self._state, self._repeated, self._centered = state, repeated, centered

    @property
    def classes(self) -> int:
        """How many classes, or labels, have scores."""
        return len(of_classes(self._state))

    @property
    def rows(self) -> float:
        """The rows that count: those before, of which old ones count less."""
        gain, total = self._state[LEVELS : LEVELS + 2]
        return float(total / gain)

    @property
    def shares(self) -> np.ndarray:
        """The share of each class in all rows, of any age, shape (classes,); all alike before the first row."""
        rows = of_classes(self._state)[:, LEVELS + 2]
        return rows / rows.sum() if rows.any() else np.full(len(rows), 1.0 / len(rows))

    @property
    def alarms(self) -> int:
        """Drift alarms so far, at level .01."""
        return int(self._state[MARTINGALE + ALARMS])

    @property
    def rows_since_alarm(self) -> int:
        """Rows since the last alarm, or since the first row."""
        return int(self._state[MARTINGALE + QUIET])

    @property
    def last_alarm(self) -> int | None:
        """The row of the last alarm, from 1 and of those learned; None: there was none."""
        return int(self._state[TRANSFORMS + 2]) - self.rows_since_alarm if self.alarms else None

    def _compared(self, by_class: bool, enough: float) -> tuple[np.ndarray, np.ndarray]:
        """Return how many rows count with which classes are compared, and whether these are those of rare classes.

        Both have shape (classes,).
        """
        if not by_class:
            return np.full(self.classes, self.rows), np.zeros(self.classes, np.bool_)
        gain, total = of_classes(self._state)[:, LEVELS : LEVELS + 2].T
        own, rare = total / gain, total < enough * gain
        return np.where(rare, own[rare].sum(), own), rare

    def _short(self, coverage: float, by_class: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return how many rows count with which classes are compared, and which of these numbers are too few."""
        needed = rows_needed(coverage)
        rows, _ = self._compared(by_class, enough_rows(coverage, ENOUGH, MARGIN))
        return rows, rows < needed * (1.0 - ROUNDING)

    def _levels(self, coverage: float, by_class: bool) -> list[float]:
        """Return the levels whose sets are in those of a coverage: its own, and the last before rare classes change.

        A class that is compared with itself at a lower level, and with all rare classes at a higher one, might be
        excluded by these only. Sets of a higher level have all of those of a lower one.
        """
        levels = [*(steps(coverage, ENOUGH, MARGIN) if by_class else []), coverage]
        rare = [self._compared(by_class, enough_rows(level, ENOUGH, MARGIN))[1] for level in levels]
        changes = [(before != after).any() for before, after in itertools.pairwise(rare)]
        return [level for level, last in zip(levels, [*changes, True], strict=True) if last]

    def warning(self, coverage: float, by_class: bool = True, values: Sequence[str] | None = None) -> str | None:
        """Return why classes are in every set, as text; None if there are rows enough to leave any out.

        The p-value of a class is at least 1/(rows + 1). ``values`` are those of the rows in the column by which
        coverage holds, if there is one.
        """
        levels = self._levels(coverage, by_class)
        short = np.any([self._short(level, by_class)[1] for level in levels], axis=0)
        coverage = max((level for level in levels if self._short(level, by_class)[1].any()), default=coverage)
        needed, rows = rows_needed(coverage), self._short(coverage, by_class)[0]
        if short.all():
            most = rows.max() if len(rows) else self.rows
            return (
                f"sets have every class: coverage {coverage:g} needs {needed:,.0f} rows{' of a class' * by_class}, and "
                f"those learned count as {most:,.0f}{' at most' * by_class}, since old ones count less"
            )
        if not short.any():
            return None
        verb = "is" if short.sum() == 1 else "are"
        return (
            f"{short.sum():,} of {self.classes:,} classes {verb} in every set: coverage {coverage:g} needs "
            f"{needed:,.0f} rows of a class, or of all rare classes together, and theirs count as "
            f"{rows[short].min():,.0f}"
        )

    def errors(self, coverage: float, by_class: bool) -> np.ndarray:
        """Return the p-value that classes of a set must exceed: 1 - coverage, as misses have changed it, (classes,)."""
        of_all, of_rare, own = (followed(levels, 1.0 - coverage) for levels in _levels(self._state))
        _, rare = self._compared(by_class, enough_rows(coverage, ENOUGH, MARGIN))
        return np.where(rare, of_rare, own) if by_class else np.full(self.classes, of_all)

    def p_values(self, probabilities: np.ndarray, by_class: bool, coverage: float = 0.9) -> np.ndarray:
        """Return the p-value of every class, shape (n, classes): the part of the rows before whose class had no more.

        With ``by_class``, of the rows of that class, or of all classes of which too few rows count for a coverage.
        """
        found = np.zeros(probabilities.shape)
        enough = enough_rows(coverage, ENOUGH, MARGIN)
        probabilities = self._as_learned(probabilities)
        _core.conformal_p_values(self._state, probabilities, by_class, enough, self._repeated, found)
        return found

    def conformity(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the part of the rows before whose most probable class had no more than a row's, shape (n,)."""
        found, best = np.empty(len(probabilities)), self._as_learned(probabilities).max(axis=1)
        _core.conformal_conformity(self._state, self.classes, best, found)
        return found

    def _as_learned(self, probabilities: np.ndarray) -> np.ndarray:
        """Return probabilities as they were before they were centered, whose scores are known."""
        probabilities = np.ascontiguousarray(probabilities, np.float64)
        if not self._centered or probabilities.shape[1] != 2:
            return probabilities
        found = probabilities * np.exp(np.array([0.5, -0.5]) * self._centered)
        return np.ascontiguousarray(found / found.sum(axis=1, keepdims=True))

    def sets(
        self, probabilities: np.ndarray, coverage: float, by_class: bool, values: Sequence[str] | None = None
    ) -> np.ndarray:
        """Return which classes are in the set of each row, booleans of shape (n, classes).

        ``values`` are those of the rows in the column by which coverage holds, if there is one.
        """
        found = np.zeros(probabilities.shape, np.bool_)
        for level in self._levels(coverage, by_class):
            _, short = self._short(level, by_class)
            found |= short | (self.p_values(probabilities, by_class, level) > self.errors(level, by_class))
        return found

    def least_probability(self, risk: float) -> float:
        """Return the probability from which on answers are wrong at most so often, above 1 if none is known to be.

        Of the thresholds from the strictest on, each is tested: whether so few mistakes among the answers above it had
        a probability of at most .01, were the error larger than ``risk``. The last before one that fails is it.
        """
        from scipy.special import betaincinv  # imported here since importing SciPy takes long

        answers, mistakes = (
            np.cumsum((counts[-_core.conformal_answer_bins :] / counts[0])[::-1])
            for counts in (self._state[start : start + OF_ANSWERS] for start in (ANSWERS, MISTAKES))
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
        lowest = len(answers) - 1 - (int(enough.argmax()) + last - 1)
        return 1.0 / (1.0 + math.exp(-lowest * _core.conformal_answer_width - abs(self._centered)))
