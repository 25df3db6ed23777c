"""Probabilities from margins: calibrated online, or the uncalibrated posterior probability.

The core fits the calibration, one example at a time, before it uses the example's label. This module applies it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from .. import _core
from ..rules.ranges import Range

# Of the correction w: its knots for two classes and for more, a unit apart; how far it may fall between neighbors.
SIGMOID_KNOTS, TEMPERATURE_KNOTS, MAX_FALL = 14, 11, 0.95
FIRST_SIGMOID_KNOT, FIRST_TEMPERATURE_KNOT = -6.5, -9.5
INITIAL_LINE = (1.0, 0.0, 0.0, 0.0, 0.0)  # a, b, Hessian
INITIAL_SLOPE = (1.0, 0.0)  # a, second derivative
SCORE_SIZE = (0.0, 0.0, 0.0)  # mean of |score|, half the size that the slope is made for, weight of the rows
# Then w and the curvature at the knots; of a label too, predictions that were right, and labels predicted or relevant.
INITIAL_SIGMOID = (*INITIAL_LINE, *SCORE_SIZE, *(0.0,) * (2 * SIGMOID_KNOTS))
INITIAL_TEMPERATURE = (*INITIAL_SLOPE, *SCORE_SIZE, *(0.0,) * (2 * TEMPERATURE_KNOTS))
INITIAL_LABEL = (*INITIAL_SIGMOID, 0.0, 0.0)
PRIOR_CURVATURE = 8.0  # of the correction at a knot, as in the core
ROUNDING = 1e-9
MAX_CALIBRATION = 1e80
NOT_NEGATIVE = Range(0.0, math.inf, closed_low=True)
WITHIN = Range(-MAX_CALIBRATION, MAX_CALIBRATION, closed_low=True, closed_high=True)
# Nodes of the quadrature over each class's Gaussian, in standard deviations.
NODES = (-8.0, -6.0, -4.5, -3.5, -2.75, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.75, 3.5, 4.5, 6.0, 8.0)
# No probability is exactly 0 or 1, so that its logarithm stays finite. This is half a unit in the last place below 1.
MIN_PROBABILITY = 2.0**-53
MAX_QUADRATURE_NUMBERS = 2**22  # held in memory at a time
LARGEST = 1e30  # bounds scores, and in the core slopes, so that no product overflows
NO_NOISE = ((1.0, 0.0),)
MIN_DEVIATION = 1e-14  # of a score, relative to the largest of its row
MIN_CURVATURE = 1e-9  # weight of a calibration that has not seen an example


def moderated(scores: np.ndarray, variance: np.ndarray, prior_variance: float) -> np.ndarray:
    """Return scores shrunk where the variance of their margin is large relative to the prior's.

    m / sqrt(1 + v/prior), with one variance per score or one per row of scores.
    """
    shrink = 1.0 / np.sqrt(1.0 + variance / prior_variance)
    return scores * (shrink if scores.ndim == shrink.ndim else shrink[:, None])


def lines(scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """Return scores on the scale of log-odds, before the correction: of one column a f + b, of more a (f_k - max f)."""
    t: np.ndarray = np.minimum(np.maximum(scores, -LARGEST), LARGEST)  # which is faster for one row than np.clip
    if scores.shape[1] > 1:
        t -= t.max(axis=1, keepdims=True)
    t *= calibration[0]
    if scores.shape[1] == 1:
        t += calibration[1]
    return t


def sigmoid(scores: np.ndarray, calibration: np.ndarray | None = None) -> np.ndarray:
    """Return the probabilities of both classes, (n, 2): of the second 1/(1 + exp(-t - w(t))), t = a f + b.

    Without a calibration t is the score and w is 0.
    """
    p = np.zeros((len(scores), 2))
    state = np.array(INITIAL_SIGMOID) if calibration is None else calibration
    _core.binary_probabilities(np.ascontiguousarray(scores, "float64"), state, p)
    return p


def sigmoids(scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """Return 1/(1 + exp(-t - w_k(t))), t = a_k f_k + b_k, of every label k by itself, (n, labels)."""
    p = np.zeros(scores.shape)
    _core.label_probabilities(np.ascontiguousarray(scores, "float64"), calibration, p)
    return p


def softmax(scores: np.ndarray, calibration: np.ndarray | None = None) -> np.ndarray:
    """Return exp(t_k + w(t_k)), t_k = a (f_k - max f), over their sum, (n, classes).

    Without a calibration a is 1 and w is 0.
    """
    p = np.zeros(scores.shape)
    state = np.array(INITIAL_TEMPERATURE) if calibration is None else calibration
    _core.class_probabilities(np.ascontiguousarray(scores, "float64"), state, p)
    return p


def label_threshold(calibration: np.ndarray) -> float | None:
    """Return the probability above which labels are predicted: half of the F1 so far; None before the first row.

    Decisions by a threshold have the largest F1 at half of that F1 (Busa-Fekete, Szörényi, Dembczyński & Hüllermeier,
    NIPS 2015).
    """
    return half_of_f1(calibration.reshape(-1, len(INITIAL_LABEL))[:, -2:])


def half_of_f1(counts: np.ndarray) -> float | None:
    """Return half of the F1 of the counts of labels, (labels, 2): predictions that were right, and labels predicted or
    relevant; None without any.
    """
    hits, chances = counts.sum(axis=0).tolist()
    return (hits + 0.5) / (chances + 1.0) if chances > 0.0 else None


def correction(calibration: np.ndarray, several: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the knots of the corrections w and their values there, (..., knots), of calibrations (..., size).

    w(t) = w_0 + sum_j (w_(j+1) - w_j) min(max(t - knot_j, 0), 1).
    """
    n, first = (TEMPERATURE_KNOTS, FIRST_TEMPERATURE_KNOT) if several else (SIGMOID_KNOTS, FIRST_SIGMOID_KNOT)
    start = _start(several)
    return first + np.arange(float(n)), calibration[..., start : start + n]


def mirrored(calibration: np.ndarray) -> np.ndarray:
    """Return the calibrations (..., size) of sigmoids for scores of the opposite sign and the other class."""
    found, start, n = calibration.copy(), _start(several=False), SIGMOID_KNOTS
    found[..., [1, 3]] *= -1.0
    values, curvature = slice(start, start + n), slice(start + n, start + 2 * n)
    found[..., values] = -calibration[..., values][..., ::-1]
    found[..., curvature] = calibration[..., curvature][..., ::-1]
    return found


def _start(several: bool) -> int:
    """Return where in a calibration its correction begins."""
    return len(INITIAL_SLOPE if several else INITIAL_LINE) + len(SCORE_SIZE)


def both_classes(p: np.ndarray) -> np.ndarray:
    """Return the probabilities of both classes, (n, 2), from those of the second."""
    return np.column_stack([1.0 - p, p])


def posterior_probability(
    mean: np.ndarray, variance: np.ndarray, noise: Sequence[tuple[float, float]] = NO_NOISE
) -> np.ndarray:
    """Return P(margin + noise > 0) = sum_i weight_i Phi(m/sqrt(v + noise_i)), elementwise.

    ``noise`` has the weights and variances of :meth:`confidently.Rule.score_noise`.
    """
    from scipy.special import ndtr  # imported here since importing SciPy takes longer than most of the command line

    p = np.zeros_like(mean)
    for weight, added in noise:
        deviation = np.sqrt(variance + added)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(deviation > 0, mean / deviation, np.sign(mean) * np.inf)
        p += weight * ndtr(np.nan_to_num(z, nan=0.0))
    return inside(p)


def posterior_probabilities(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return P(class k has the largest of independent Gaussian scores), shape (n, K), by quadrature."""
    rows, classes = mean.shape
    step = max(1, MAX_QUADRATURE_NUMBERS // (len(NODES) * classes**2))
    return np.concatenate(
        [_quadrature(mean[i : i + step], variance[i : i + step]) for i in range(0, rows, step)]
        or [np.empty((0, classes))]
    )


def _quadrature(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    from scipy.special import log_ndtr, ndtr

    # an uncertainty below the rounding errors of the scores counts as those, so that everything below is finite
    least = MIN_DEVIATION * np.abs(mean).max(axis=1, keepdims=True)
    deviation = np.maximum(np.sqrt(np.maximum(variance, 1e-300)), least)
    grid = np.sort((mean[:, :, None] + deviation[:, :, None] * np.array(NODES)).reshape(len(mean), -1), axis=1)
    edges = (grid[:, None, :] - mean[:, :, None]) / deviation[:, :, None]
    middles = 0.5 * (edges[..., 1:] + edges[..., :-1])
    mass = np.diff(ndtr(edges), axis=2)
    log_below = log_ndtr(middles)
    others = np.exp(log_below.sum(axis=1, keepdims=True) - log_below)
    p: np.ndarray = (mass * others).sum(axis=2)
    p /= p.sum(axis=1, keepdims=True)
    return p


def merged(states: Sequence[np.ndarray], several: bool) -> np.ndarray:
    """Return the mean of several calibrations (log a, b, w), weighted by the curvature of each one's log-loss.

    Old evidence decays, so the result has the curvature of the calibration with the most evidence, not the sum.
    """
    start = _start(several)
    line, sizes, maps = np.split(np.array(states), [start - len(SCORE_SIZE), start], axis=1)
    corrections = _merged_corrections(maps.reshape(len(states), 2, -1))
    return np.concatenate([merged_lines(line, several), _merged_sizes(sizes), corrections.ravel()])


def merged_labels(states: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of the calibrations of several labels, each by itself, and their counts."""
    by_label = np.array(states).reshape(len(states), -1, len(INITIAL_LABEL))
    return np.concatenate([_merged_label(by_label[:, k]) for k in range(by_label.shape[1])] or [np.empty(0)])


def renewed(calibration: np.ndarray, part: float, several: bool) -> np.ndarray:
    """Return a calibration of which the evidence counts by so much of what it did.

    The correction shrinks to what it would be with as much evidence: w is proportional to h/(h + 8).
    """
    found, start = calibration.copy(), _start(several)
    found[1 if several else slice(2, 5)] *= part
    w, h = found[start:].reshape(2, -1)
    w *= part * (h + PRIOR_CURVATURE) / (part * h + PRIOR_CURVATURE)
    h *= part
    return found


def with_slope(calibration: np.ndarray, other: np.ndarray, several: bool) -> np.ndarray:
    """Return a calibration with the line of another one, and the size of the scores that it is of."""
    found, start = calibration.copy(), _start(several)
    line = slice(0, 1 if several else 2)
    found[line], found[start - len(SCORE_SIZE) : start] = other[line], other[start - len(SCORE_SIZE) : start]
    return found


def renewed_labels(calibration: np.ndarray, part: float) -> np.ndarray:
    """Return the calibrations of labels of which the evidence counts by so much of what it did, and their counts."""
    found = calibration.reshape(-1, len(INITIAL_LABEL)).copy()
    for own in found:
        own[:-2] = renewed(own[:-2], part, several=False)
        own[-2:] *= part
    return found.ravel()


def merged_lines(states: np.ndarray, several: bool) -> np.ndarray:
    """Return the mean of several lines, or with ``several`` slopes, without corrections."""
    return _merged_slope(states) if several else _merged_line(states)


def _merged_label(states: np.ndarray) -> np.ndarray:
    counts = states[:, -2:]
    most = counts[:, 1].max() / max(counts[:, 1].sum(), MIN_CURVATURE)
    return np.concatenate([merged(list(states[:, :-2]), several=False), counts.sum(axis=0) * most])


def _merged_line(states: np.ndarray) -> np.ndarray:
    slopes, offsets, haa, hab, hbb = states[:, : len(INITIAL_LINE)].T
    curvature = np.array([[slopes**2 * haa, slopes * hab], [slopes * hab, hbb]]).transpose(2, 0, 1)
    (log_a, b), whole = _weighted(np.column_stack([np.log(slopes), offsets]), curvature)
    a = np.exp(log_a)
    return np.array([a, b, whole[0, 0] / a**2, whole[0, 1] / a, whole[1, 1]])


def _merged_slope(states: np.ndarray) -> np.ndarray:
    slopes, haa = states[:, : len(INITIAL_SLOPE)].T
    (log_a,), whole = _weighted(np.log(slopes)[:, None], (slopes**2 * haa)[:, None, None])
    a = np.exp(log_a)
    return np.array([a, whole[0, 0] / a**2])


def _weighted(parameters: np.ndarray, curvature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of parameters (states, n) weighted by their curvature (states, n, n), and its curvature."""
    weight = curvature + MIN_CURVATURE * np.eye(parameters.shape[1])
    found: np.ndarray = np.linalg.solve(weight.sum(axis=0), np.einsum("sij,sj->i", weight, parameters))
    evidence = np.trace(curvature, axis1=1, axis2=2)
    return found, curvature.sum(axis=0) * (evidence.max() / max(evidence.sum(), MIN_CURVATURE))


def _merged_sizes(sizes: np.ndarray) -> np.ndarray:
    """Return the mean size of scores, weighted by rows."""
    rows = sizes[:, 2]
    return np.array([*(rows @ sizes[:, :2] / max(rows.sum(), MIN_CURVATURE)), rows.max()])


def _merged_corrections(maps: np.ndarray) -> np.ndarray:
    """Return values and curvature at the knots, (2, knots), of those of all states; t + w(t) increases."""
    values, curvature = maps.transpose(1, 0, 2)
    weight = curvature + MIN_CURVATURE
    found = (weight * values).sum(axis=0) / weight.sum(axis=0)
    falls = MAX_FALL * np.arange(len(found))
    return np.array([np.maximum.accumulate(found + falls) - falls, curvature.max(axis=0)])


def inside(p: np.ndarray) -> np.ndarray:
    """Return probabilities clipped so that none is 0 or 1."""
    return np.clip(p, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)


def values(calibration: np.ndarray, size: int, several: bool) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and range of the parts of calibrations of ``size`` numbers, one after the other."""
    found = calibration.reshape(-1, size)
    line, knots = (len(INITIAL_SLOPE), TEMPERATURE_KNOTS) if several else (len(INITIAL_LINE), SIGMOID_KNOTS)
    first = _start(several)
    yield "the slope of the calibration", found[:, 0], Range(0.0, MAX_CALIBRATION)
    if not several:
        yield "the offset of the calibration", found[:, 1], WITHIN
    yield "the curvature of the calibration", found[:, line - 1], NOT_NEGATIVE
    yield "the size of the scores", found[:, line:first], NOT_NEGATIVE
    correction = found[:, first : first + knots]
    yield "the correction of the calibration", correction, WITHIN
    yield "the fall of the correction", -np.diff(correction), Range(-math.inf, MAX_FALL + ROUNDING, closed_high=True)
    yield "the curvature of the correction", found[:, first + knots : first + 2 * knots], NOT_NEGATIVE
    yield "the predictions of labels", found[:, first + 2 * knots :], NOT_NEGATIVE


def upgraded(
    calibration: np.ndarray, now: tuple[float, ...], before: tuple[float, ...], outputs: int = 1
) -> np.ndarray:
    """Return a calibration of a model file of format 5 or before with a correction of 0; others as they are."""
    if calibration.shape != (outputs * len(before),):
        return calibration
    found = np.tile(now, (outputs, 1))
    found[:, : len(before)] = calibration.reshape(outputs, len(before))
    return found.ravel()
