"""Predictions of numbers: their mean, and intervals calibrated by the errors of the predictions before.

The score of a row, s = mean.x, has the variance v = x' Sigma x under the Gaussian over weights. With the offset o, the
mean of the targets, and the variance r of the noise that the rule assumes, the prediction is o + s with the spread
r + v (+ r/W, the uncertainty of the offset, where rows are centered). Its variance is the spread times the noise
factor, the mean of error^2/spread over the predictions made in training (core/tasks/targets.hpp), or, where only the
rule's assumption is asked for, times the square of the unit that r and v are in. With a log link, the prediction is
exp(o + s + v/2), and the spread that of a Poisson distribution with this uncertain rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..rules.ranges import Range
from ..rules.rule import Rule
from .intervals import ConformalIntervals

# Of one number to predict, as in core/tasks/targets.hpp: weight of the rows, mean of the targets, sum of their
# squared deviations; rows with a prediction, sum of their error^2/spread, what a row adds to its bin, sums of squared
# and absolute errors; then the bins of standardized errors.
TARGET_STATISTICS, TARGET_BINS = 8, 512
OF_ERRORS, GAIN = 3, 5
INITIAL_TARGET = tuple(float(i == GAIN) for i in range(TARGET_STATISTICS + TARGET_BINS))
MAX_TARGET, MAX_GAIN = 1e50, 1e110
TARGETS = Range(-MAX_TARGET, MAX_TARGET, closed_low=True, closed_high=True)
ERRORS = Range(0.0, 1e250, closed_low=True)
BINS_PER_UNIT = 40.0  # of asinh(z), as in core/tasks/targets.hpp
PRIOR_ERRORS = 2.0  # normal errors that the distribution of errors begins with
MIN_SPREAD = 1e-300


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
    """

    weight: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    predicted: np.ndarray
    noise: np.ndarray
    squared_errors: np.ndarray
    absolute_errors: np.ndarray
    bins: np.ndarray

    @classmethod
    def of(cls, calibration: np.ndarray) -> Targets:
        """Return the statistics of the entry ``calibration`` of a state."""
        of_column = calibration.reshape(-1, len(INITIAL_TARGET))
        weight, mean, squares, predicted, noise, gain, squared, absolute = of_column[:, :TARGET_STATISTICS].T
        bins = of_column[:, TARGET_STATISTICS:] / gain[:, None]
        return cls(weight, mean, squares, predicted, noise, squared, absolute, bins)

    def packed(self) -> np.ndarray:
        """Return the entry of a state."""
        of_column = np.tile(INITIAL_TARGET, (len(self.weight), 1))
        numbers = (
            self.weight, self.mean, self.squares, self.predicted, self.noise, np.ones(len(self.weight)),
            self.squared_errors, self.absolute_errors,
        )  # fmt: skip
        of_column[:, :TARGET_STATISTICS] = np.stack(numbers, axis=1)
        of_column[:, TARGET_STATISTICS:] = self.bins
        return of_column.ravel()

    def noise_factor(self) -> np.ndarray:
        """Return the mean of error^2/spread, 1 before the first prediction."""
        factor: np.ndarray = np.where(self.predicted > 0, self.noise / np.maximum(self.predicted, 1.0), 1.0)
        return factor

    def unit(self) -> np.ndarray:
        """Return the unit in which rules have their parameters: the standard deviation, or 1 while all are equal."""
        variance = np.divide(self.squares, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0)
        deviation: np.ndarray = np.sqrt(np.where(variance > 0, variance, 1.0))
        return deviation

    def error_quantiles(self, p: np.ndarray) -> np.ndarray:
        """Return quantiles of the standardized errors, both of shape (K, m): linear within bins of the counted errors.

        A few normal errors stand in for those that have not been seen.
        """
        from scipy.special import ndtr  # imported here since SciPy is slow to import

        n = self.bins.shape[1]
        edges = np.sinh((np.arange(n + 1) - n // 2) / BINS_PER_UNIT)
        normal = PRIOR_ERRORS * np.diff(ndtr(edges))
        found = np.empty(p.shape)
        for k, counted in enumerate(self.bins):
            cumulative = np.append(0.0, np.cumsum(counted + normal))
            found[k] = np.interp(p[k] * cumulative[-1], cumulative, edges)
        return found


class Prediction(NamedTuple):
    """Predictive distributions of rows.

    Attributes
    ----------
    mean : float64 array of shape (n, K)
    spread : float64 array of shape (n, K)
        The variance up to the noise factor.
    """

    mean: np.ndarray
    spread: np.ndarray


def deviation(found: Prediction, targets: Targets) -> np.ndarray:
    """Return the standard deviation of targets around their predictions in training, shape (n, K)."""
    sd: np.ndarray = np.sqrt(found.spread * targets.noise_factor())
    return sd


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
    sd: np.ndarray = np.sqrt(found.spread * variance_factor(rule, targets, calibrated))
    return sd


def _knows_noise(rule: Rule) -> bool:
    return rule.get_params().get("r", 1.0) is not None


def interval(
    rule: Rule, targets: Targets, found: Prediction, coverage: float, calibrated: bool, conformal: ConformalIntervals
) -> np.ndarray:
    """Return the limits of central intervals, shape (n, K, 2).

    Calibrated ones contain the targets in training that often; the others are those of the model: normal with the
    rule's noise, or Student's t with ``2a = predicted`` degrees of freedom where ``Ridge(r=None)`` does not know it.
    """
    if calibrated:
        limits = calibrated_interval(targets, found, coverage, conformal)
    else:
        z, sd = _of_the_model(rule, targets, found, np.array([0.5 * (1.0 - coverage), 0.5 * (1.0 + coverage)]))
        limits = found.mean[:, :, None] + sd[:, :, None] * z
    if rule.counts:
        np.maximum(limits, 0.0, out=limits)
    return limits


def calibrated_interval(
    targets: Targets, found: Prediction, coverage: float, conformal: ConformalIntervals
) -> np.ndarray:
    """Return limits that contain the targets in training that often, shape (n, K, 2).

    ``conformal`` has the sizes of errors and the levels that follow misses.
    """
    tails = conformal.tails(coverage) * [1.0, -1.0] + [0.0, 1.0]
    sd = deviation(found, targets) * conformal.sizes(found.mean, targets.mean, targets.unit())
    limits: np.ndarray = found.mean[:, :, None] + sd[:, :, None] * targets.error_quantiles(tails)
    return limits


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
        total: np.ndarray = before + sum(getattr(own, name) - before for own in known)
        return total

    bins = start.bins + sum(np.maximum(own.bins - start.bins, 0.0) for own in known)
    return Targets(
        weight, mean, np.maximum(squares, 0.0), added("predicted"), added("noise"), added("squared_errors"),
        added("absolute_errors"), bins,
    ).packed()  # fmt: skip


def values(calibration: np.ndarray) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and range of what a regression knows about its targets."""
    targets = calibration.reshape(-1, len(INITIAL_TARGET))
    yield "the mean of the targets", targets[:, 1], TARGETS
    yield "the statistics of the targets", np.delete(targets, (1, GAIN), axis=1), ERRORS
    yield "the weight of an error", targets[:, GAIN], Range(0.0, MAX_GAIN)
