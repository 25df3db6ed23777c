"""Probabilities from margins: calibrated online, or the uncalibrated posterior probability.

The core fits the calibration, one example at a time, before it uses the example's label. This module applies it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ..arrays import contiguous, zeros
from ..covariances.settings import MULTILABEL
from ..late import numpy as np

# Nodes of the quadrature over each class's Gaussian, in standard deviations.
NODES = (-8.0, -6.0, -4.5, -3.5, -2.75, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.75, 3.5, 4.5, 6.0, 8.0)
# No probability is exactly 0 or 1, so that its logarithm stays finite. This is half a unit in the last place below 1.
MIN_PROBABILITY = 2.0**-53
MAX_QUADRATURE_NUMBERS = 2**22  # held in memory at a time
UNCALIBRATED = (1.0,)  # the slope
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


def logits(scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """Return calibrated scores: of one column a f + b, of more a (f_k - max f)."""
    t: np.ndarray = np.clip(scores, -LARGEST, LARGEST)
    if scores.shape[1] > 1:
        t -= t.max(axis=1, keepdims=True)
    t *= calibration[0]
    if scores.shape[1] == 1:
        t += calibration[1]
    return t


def sigmoid(scores: np.ndarray, slope: float = 1.0, offset: float = 0.0) -> np.ndarray:
    """Return the probabilities of both classes, (n, 2): of the second 1/(1 + exp(-(slope f + offset)))."""
    p = zeros((len(scores), 2))
    _core.binary_probabilities(contiguous(scores, "float64"), slope, offset, p)
    return p


def sigmoids(scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """Return 1/(1 + exp(-(a_k f_k + b_k))) of every label k by itself, (n, labels)."""
    p = zeros(scores.shape)
    _core.label_probabilities(contiguous(scores, "float64"), calibration, p)
    return p


def softmax(scores: np.ndarray, calibration: Sequence[float] | np.ndarray = UNCALIBRATED) -> np.ndarray:
    """Return exp(a f_k) / sum_j exp(a f_j), (n, classes); by default a = 1."""
    p = zeros(scores.shape)
    _core.class_probabilities(contiguous(scores, "float64"), calibration[0], p)
    return p


def both_classes(p: np.ndarray) -> np.ndarray:
    """Return the probabilities of both classes, (n, 2), from those of the second."""
    return np.column_stack([1.0 - p, p])


def posterior_probability(
    mean: np.ndarray, variance: np.ndarray, noise: Sequence[tuple[float, float]] = NO_NOISE
) -> np.ndarray:
    """Return P(margin + noise > 0) = sum_i weight_i Phi(m/sqrt(v + noise_i)), elementwise.

    ``noise`` has the weights and variances of :meth:`confidently.rules.rule.Rule.score_noise`.
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


def merged(states: Sequence[np.ndarray], task: str) -> np.ndarray:
    """Return the mean of several calibrations (log a, b), weighted by the curvature of each one's log-loss.

    Old evidence decays, so the result has the curvature of the calibration with the most evidence, not the sum.
    """
    if task in MULTILABEL:
        by_label = np.array(states).reshape(len(states), -1, 5)
        return np.concatenate(
            [merged(list(by_label[:, k]), "binary") for k in range(by_label.shape[1])] or [np.empty(0)]
        )
    slopes = np.array([state[0] for state in states])
    n = 2 if task == "binary" else 1
    parameters, curvature = np.zeros((len(states), n)), np.zeros((len(states), n, n))
    parameters[:, 0] = np.log(slopes)
    if task == "binary":
        parameters[:, 1] = [state[1] for state in states]
        haa, hab, hbb = np.array([state[2:] for state in states]).T
        curvature[:, 0, 0], curvature[:, 1, 1] = slopes**2 * haa, hbb
        curvature[:, 0, 1] = curvature[:, 1, 0] = slopes * hab
    else:
        curvature[:, 0, 0] = slopes**2 * [state[1] for state in states]
    weight = curvature + MIN_CURVATURE * np.eye(n)
    found = np.linalg.solve(weight.sum(axis=0), np.einsum("sij,sj->i", weight, parameters))
    evidence = np.trace(curvature, axis1=1, axis2=2)
    whole = curvature.sum(axis=0) * (evidence.max() / max(evidence.sum(), MIN_CURVATURE))
    a = np.exp(found[0])
    if task == "binary":
        return np.array([a, found[1], whole[0, 0] / a**2, whole[0, 1] / a, whole[1, 1]])
    return np.array([a, whole[0, 0] / a**2])


def inside(p: np.ndarray) -> np.ndarray:
    """Return probabilities clipped so that none is 0 or 1."""
    clipped: np.ndarray = np.clip(p, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    return clipped
