"""Predictions of numbers: their mean, and intervals calibrated by the errors of the predictions before.

The score of a row, s = mean.x, has the variance v = x' Sigma x under the Gaussian over weights. With the offset o, the
mean of the targets, and the variance r of the noise that the rule assumes, the prediction is o + s with the spread
r + v (+ r/W, the uncertainty of the offset, where rows are centered). Its variance is the spread times the noise
factor, the mean of error^2/spread over the predictions made in training (core/tasks/targets.hpp), or, where only the
rule's assumption is asked for, times the square of the unit that r and v are in. With a log link, the prediction is
exp(o + s + v/2), and the spread that of a Poisson distribution with this uncertain rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..rules.ranges import Range
from ..rules.rule import Rule

# Of one number to predict, as in core/tasks/targets.hpp: weight of the rows, mean of the targets, sum of their
# squared deviations; rows with a prediction, sum of their error^2/spread, what a row adds to its bin, sums of squared
# and absolute errors; the bounds that were said, rows below 0, rows that are no integers; then the bins of standardized
# errors, after the sums of groups of these.
TARGET_BINS, TARGET_GROUPS = 512, 32
OF_ERRORS, GAIN, BOUNDS, NEGATIVE, AT_GROUPS = 3, 5, 8, 10, 12
TARGET_STATISTICS = AT_GROUPS + TARGET_GROUPS
OF_KINDS = slice(BOUNDS, AT_GROUPS)
MAX_TARGET, MAX_GAIN = 1e50, 1e110
TARGETS = Range(-MAX_TARGET, MAX_TARGET, closed_low=True, closed_high=True)
ERRORS = Range(0.0, 1e250, closed_low=True)
BINS_PER_UNIT = 40.0  # of asinh(z), as in core/tasks/targets.hpp
EDGES = np.sinh((np.arange(TARGET_BINS + 1) - TARGET_BINS // 2) / BINS_PER_UNIT)
MIN_SPREAD = 1e-300
ROUNDING = 1e-9  # relative, of sums of rows
Bounds = tuple[float | None, float | None]  # of targets; None: unknown on this side
UNBOUNDED: Bounds = (None, None)


def check_bounds(bounds: Any) -> Bounds | None:
    """Return bounds of targets as two numbers or None; ``ValueError`` or ``TypeError`` unless the first one is less."""
    if bounds is None:
        return None
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise TypeError(f"bounds: expected two numbers or None, such as (0, None), got {bounds!r}")
    for bound in bounds:
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, Real) or math.isnan(bound)):
            raise TypeError(f"bounds: expected a number or None, got {bound!r}")
    found = tuple(None if bound is None or math.isinf(bound) else float(bound) for bound in bounds)
    low, high = -math.inf if found[0] is None else found[0], math.inf if found[1] is None else found[1]
    if not low < high or max(map(abs, filter(None, found)), default=0.0) > MAX_TARGET:
        raise ValueError(f"bounds: the first one must be less, and none beyond {MAX_TARGET:g}, got {bounds!r}")
    return found[0], found[1]


def initial(bounds: Bounds | None) -> tuple[float, ...]:
    """Return the statistics of a number before the first row; ``None``: the targets tell whether they can be < 0."""
    said = 0.0, 0.0
    if bounds is not None:
        low, high = bounds
        said = -MAX_TARGET if low is None else low, MAX_TARGET if high is None else high
    return *(float(i == GAIN) for i in range(BOUNDS)), *said, *([0.0] * (TARGET_STATISTICS - NEGATIVE + TARGET_BINS))


INITIAL_TARGET = initial(UNBOUNDED)


class Targets(NamedTuple):
    """Statistics of the targets of a learner, one entry per number that it predicts.

    Attributes
    ----------
    weight, mean, squares : float64 arrays of shape (K,)
        Weight of the rows, mean of the targets, sum of their squared deviations from it.
    predicted, noise : float64 arrays of shape (K,)
        Number of rows with a prediction before training on them, and sum of error^2/spread over these.
    squared_errors, absolute_errors : float64 arrays of shape (K,)
        Sums over these rows.
    bins : float64 array of shape (K, bins)
        Weights of the standardized errors, old ones less.
    kinds : float64 array of shape (K, 4)
        The bounds that were said, equal if none were, the number of rows below 0, and that of rows that are no
        integers.
    """

    weight: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    predicted: np.ndarray
    noise: np.ndarray
    squared_errors: np.ndarray
    absolute_errors: np.ndarray
    bins: np.ndarray
    kinds: np.ndarray

    @classmethod
    def of(cls, calibration: np.ndarray) -> Targets:
        """Return the statistics of the entry ``calibration`` of a state."""
        of_column = calibration.reshape(-1, len(INITIAL_TARGET))
        weight, mean, squares, predicted, noise, gain, squared, absolute = of_column[:, :BOUNDS].T
        bins = of_column[:, TARGET_STATISTICS:] / gain[:, None]
        return cls(weight, mean, squares, predicted, noise, squared, absolute, bins, of_column[:, OF_KINDS])

    def packed(self) -> np.ndarray:
        """Return the entry of a state."""
        of_column = np.tile(INITIAL_TARGET, (len(self.weight), 1))
        numbers = (
            self.weight, self.mean, self.squares, self.predicted, self.noise, np.ones(len(self.weight)),
            self.squared_errors, self.absolute_errors,
        )  # fmt: skip
        of_column[:, :BOUNDS] = np.stack(numbers, axis=1)
        of_column[:, OF_KINDS] = self.kinds
        of_column[:, AT_GROUPS:TARGET_STATISTICS] = _group_sums(self.bins)
        of_column[:, TARGET_STATISTICS:] = self.bins
        return of_column.ravel()

    def noise_factor(self) -> np.ndarray:
        """Return the mean of error^2/spread, 1 before the first prediction."""
        return np.where(self.predicted > 0, self.noise / np.maximum(self.predicted, 1.0), 1.0)

    def unit(self) -> np.ndarray:
        """Return the unit in which rules have their parameters: the standard deviation, or 1 while all are equal."""
        variance = np.divide(self.squares, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0)
        return np.sqrt(np.where(variance > 0, variance, 1.0))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest number that can be predicted, each of shape (K,).

        They are those that were said or, if none were, 0 unless a target was below.
        """
        low, high, negative, _ = self.kinds.T
        said = np.where(low <= -MAX_TARGET, -math.inf, low), np.where(high >= MAX_TARGET, math.inf, high)
        inferred = np.where(negative > 0, -math.inf, 0.0), math.inf
        return np.where(low < high, said[0], inferred[0]), np.where(low < high, said[1], inferred[1])

    @property
    def said(self) -> Bounds | None:
        """The bounds that were said; None: the targets tell whether they can be negative."""
        low, high = self.kinds[0, :2].tolist()
        return (None if low <= -MAX_TARGET else low, None if high >= MAX_TARGET else high) if low < high else None

    def check(self, y: np.ndarray) -> None:
        """Raise ``ValueError`` unless targets, shape (n, K), are within the bounds that were said."""
        low, high = self.kinds[:, 0], self.kinds[:, 1]
        outside = (low < high) & ((y < low) | (y > high))
        if outside.any():
            row, k = np.argwhere(outside)[0]
            bounds = f"{low[k]:g} to {high[k]:g}"
            raise ValueError(f"targets must be in {bounds}, their bounds, got {y[row, k]:g} in row {row}")

    def clipped(self, means: np.ndarray) -> np.ndarray:
        """Return predictions of shape (n, K) within the bounds."""
        return np.clip(means, *self.bounds)

    @property
    def are_integers(self) -> np.ndarray:
        """Whether all targets so far were, shape (K,)."""
        return (self.weight > 0) & (self.kinds[:, -1] == 0)

    @property
    def errors(self) -> np.ndarray:
        """The standardized errors that count, shape (K,): old ones less; predictions, if all were exact."""
        return np.where(self.noise > 0, self.bins.sum(axis=1), self.predicted)


def shortage(errors: np.ndarray, coverage: float) -> str | None:
    """Return why limits are infinite if so many errors count of each number, as text; None if they are not.

    A target conforms with a probability of at least 1/(errors + 1), wherever it is.
    """
    needed, known = 1.0 / (1.0 - coverage) - 1.0, float(errors.min())
    if known >= needed * (1.0 - ROUNDING):
        return None
    return (
        f"intervals are infinite: coverage {coverage:g} needs {needed:,.0f} errors of predictions, and those "
        f"learned count as {known:,.0f}, since old ones count less"
    )


def error_limits(bins: np.ndarray, errors: np.ndarray, coverage: float, tails: np.ndarray) -> np.ndarray:
    """Return limits of the standardized errors, shape (K, 2), linear within the bins of those that were counted.

    With n errors, a new one is below z with a probability of at most (c + 1)/(n + 1), where c of them are, whatever
    their distribution. If neither tail of the ``coverage`` can be as small as 1/(n + 1), errors on both sides count
    together; if that is not enough either, limits are infinite.

    Parameters
    ----------
    bins : array of shape (K, bins)
        Weights of the standardized errors.
    errors : array of shape (K,)
        How many errors count.
    coverage : float
    tails : array of shape (K, 2)
        The probabilities below and above, as changed by misses.
    """
    found = np.empty((len(bins), 2))
    for k, (own, n) in enumerate(zip(bins, errors, strict=True)):
        whole = (n + 1.0) * (1.0 + ROUNDING)
        below, above = np.maximum(tails[k] * whole - 1.0, 0.0)
        found[k] = -_limit(own[::-1], below), _limit(own, above)
        if 0.5 * (1.0 - coverage) * whole < 1.0:
            beyond = max(tails[k].sum() * whole - 1.0, 0.0)
            size = _limit(own + own[::-1], beyond) if (1.0 - coverage) * whole >= 1.0 else math.inf
            found[k] = min(found[k, 0], -size), max(found[k, 1], size)
    return found


def _limit(bins: np.ndarray, beyond: float) -> float:
    """Return the least number with so much weight of bins above."""
    above = np.append(0.0, np.cumsum(bins[::-1]))  # ... each of the edges, from the last one
    at = min(int(np.searchsorted(above, beyond, side="right")), len(bins)) - 1
    part = (beyond - above[at]) / (above[at + 1] - above[at]) if above[at + 1] > beyond else 0.0
    edge, below = EDGES[len(bins) - at], EDGES[len(bins) - at - 1]
    return float(edge - part * (edge - below))


class Prediction(NamedTuple):
    """Predictive distributions of rows.

    Attributes
    ----------
    mean : float64 array of shape (n, K)
        Within the bounds of the targets.
    spread : float64 array of shape (n, K)
        The variance up to the noise factor.
    center : float64 array of shape (n, K), optional
        The mean before it was clipped to the bounds, by default the mean: what errors are relative to.
    size : float64 array of shape (n, K), optional
        Of the noise, relative to other rows; by default 1.
    """

    mean: np.ndarray
    spread: np.ndarray
    center: np.ndarray | None = None
    size: np.ndarray | None = None

    @property
    def centers(self) -> np.ndarray:
        """What errors are relative to, shape (n, K)."""
        return self.mean if self.center is None else self.center

    @property
    def sizes(self) -> np.ndarray:
        """The sizes of the noise, shape (n, K)."""
        return np.ones_like(self.mean) if self.size is None else self.size


def deviation(found: Prediction, targets: Targets) -> np.ndarray:
    """Return the standard deviation of targets around their predictions in training, shape (n, K)."""
    return np.sqrt(found.spread * targets.noise_factor())


def variance_factor(rule: Rule, targets: Targets, calibrated: bool) -> np.ndarray:
    """Return the factor from spreads to variances of targets, shape (K,): by the errors in training, or the model's.

    Where the model does not know its noise, the factor is that of a Student t distribution with ``predicted`` degrees
    of freedom, whose variance is infinite for 2 or fewer.
    """
    factor = targets.noise_factor()
    if calibrated:
        return factor
    if _knows_noise(rule):
        return np.ones_like(factor) if rule.counts else targets.unit() ** 2
    degrees = targets.predicted
    return np.where(degrees > 2.0, factor * degrees / np.maximum(degrees - 2.0, MIN_SPREAD), np.inf)


def standard_deviation(rule: Rule, targets: Targets, found: Prediction, calibrated: bool) -> np.ndarray:
    """Return the standard deviation of targets, shape (n, K): of the errors in training, or of the model's noise."""
    return np.sqrt(found.spread * variance_factor(rule, targets, calibrated))


def _knows_noise(rule: Rule) -> bool:
    return rule.get_params().get("r", 1.0) is not None


def interval(rule: Rule, targets: Targets, found: Prediction, coverage: float, errors: np.ndarray | None) -> np.ndarray:
    """Return the limits of central intervals, shape (n, K, 2).

    With limits of the standardized ``errors``, as :func:`calibrated_interval` takes them, they contain the targets in
    training that often. Without, they are those of the model: normal with the rule's noise, or Student's t with
    ``2a = predicted`` degrees of freedom where ``Ridge(r=None)`` does not know it.
    """
    if errors is not None:
        limits = calibrated_interval(targets, found, coverage, errors)
    else:
        z, sd = _of_the_model(rule, targets, found, np.array([0.5 * (1.0 - coverage), 0.5 * (1.0 + coverage)]))
        limits = found.centers[:, :, None] + sd[:, :, None] * z
        limits = _within_bounds(targets, found, limits, coverage)
    if rule.counts:
        np.maximum(limits, 0.0, out=limits)
    return limits


def _within_bounds(targets: Targets, found: Prediction, limits: np.ndarray, coverage: float) -> np.ndarray:
    """Return limits, shape (n, K, 2), that have the prediction between them, of integers too, and keep the bounds.

    After n targets of which none was negative, the next one is with a probability of at most 1/(n + 1). So limits are
    not negative either once that is no more than the tail below them.
    """
    low, high = np.minimum(limits[..., 0], found.mean), np.maximum(limits[..., 1], found.mean)
    if (whole := targets.are_integers).any():
        low, high = np.where(whole, np.floor(low), low), np.where(whole, np.ceil(high), high)
    least, largest = targets.bounds
    enough = 0.5 * (1.0 - coverage) * (1.0 + ROUNDING) * (targets.predicted + 2.0) >= 1.0
    inferred = targets.kinds[:, 0] >= targets.kinds[:, 1]
    least = np.where(inferred & ~enough, -math.inf, least)
    return np.stack([np.clip(low, least, largest), np.clip(high, least, largest)], axis=-1)


def calibrated_interval(targets: Targets, found: Prediction, coverage: float, errors: np.ndarray) -> np.ndarray:
    """Return limits that contain the targets in training that often, shape (n, K, 2).

    ``errors`` are limits of the standardized errors, of all rows, shape (K, 2), or of each, (n, K, 2).
    """
    sd = deviation(found, targets) * found.sizes
    reach = np.where(np.isinf(errors), errors, sd[:, :, None] * np.where(np.isinf(errors), 0.0, errors))
    return _within_bounds(targets, found, found.centers[:, :, None] + reach, coverage)


def _of_the_model(rule: Rule, targets: Targets, found: Prediction, tails: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import ndtri, stdtrit  # imported here since SciPy is slow to import

    if _knows_noise(rule):
        z = np.tile(ndtri(tails), (len(targets.mean), 1))
        return z, standard_deviation(rule, targets, found, calibrated=False)
    degrees = np.maximum(targets.predicted, 1.0)
    return stdtrit(degrees[:, None], tails), deviation(found, targets)


def merged(parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    """Return the statistics of a base and of what each part has seen since."""
    start, known = Targets.of(base), [Targets.of(part) for part in parts]
    weight = start.weight + sum(own.weight - start.weight for own in known)
    total = start.weight * start.mean + sum(own.weight * own.mean - start.weight * start.mean for own in known)
    mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    around = start.squares + start.weight * (start.mean - mean) ** 2
    squares = around + sum(own.squares + own.weight * (own.mean - mean) ** 2 - around for own in known)

    def added(name: str) -> np.ndarray:
        before: np.ndarray = getattr(start, name)
        return before + sum(getattr(own, name) - before for own in known)

    bins = start.bins + sum(np.maximum(own.bins - start.bins, 0.0) for own in known)
    before = start.kinds[:, 2:] * (start.weight > 0)[:, None]
    rows = before + sum(own.kinds[:, 2:] - before for own in known)
    low, high = np.min([own.kinds[:, 0] for own in known], axis=0), np.max([own.kinds[:, 1] for own in known], axis=0)
    return Targets(
        weight, mean, np.maximum(squares, 0.0), added("predicted"), added("noise"), added("squared_errors"),
        added("absolute_errors"), bins, np.column_stack([low, high, rows]),
    ).packed()  # fmt: skip


def upgraded(calibration: np.ndarray, n_outputs: int) -> np.ndarray:
    """Return statistics of a model file of format 12 or before, which knew no bounds; others as they are."""
    if calibration.size != n_outputs * (BOUNDS + TARGET_BINS):
        return calibration
    numbers, bins = np.split(calibration.reshape(n_outputs, -1), [BOUNDS], axis=1)
    unknown = np.tile([0.0, 0.0, 1.0, 1.0], (n_outputs, 1))
    return np.hstack([numbers, unknown, _group_sums(bins), bins]).ravel()


def _group_sums(bins: np.ndarray) -> np.ndarray:
    """Return the sums of groups of the bins of each number."""
    return bins.reshape(len(bins), TARGET_GROUPS, -1).sum(axis=2)


def values(calibration: np.ndarray) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and range of what a regression knows about its targets."""
    targets = calibration.reshape(-1, len(INITIAL_TARGET))
    yield "the mean of the targets", targets[:, 1], TARGETS
    yield "the statistics of the targets", np.delete(targets, (1, GAIN, BOUNDS, BOUNDS + 1), axis=1), ERRORS
    yield "the weight of an error", targets[:, GAIN], Range(0.0, MAX_GAIN)
    yield "the bounds of the targets", targets[:, BOUNDS:NEGATIVE], TARGETS
