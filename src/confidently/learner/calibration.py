"""Probabilities from margins: calibrated by the stream itself, or the vote of the posterior's classifiers.

The calibration is learned in the core, one example at a time, before its label is used; here it is applied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Where the quadrature of the vote looks at each class's Gaussian, in standard deviations.
VOTE_NODES = np.array(
    [-8, -6, -4.5, -3.5, -2.75, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.75, 3.5, 4.5, 6, 8], dtype=float
)
# No probability is exactly 0 or 1, so that its logarithm stays finite: half a unit in the last place below 1.
MIN_PROBABILITY = 2.0**-53
VOTE_NUMBERS = 2**22  # numbers held at a time while voting
MIN_CURVATURE = 1e-9  # what a calibration counts for that has seen nothing


def moderated(scores: np.ndarray, variance: np.ndarray, prior_variance: float) -> np.ndarray:
    """Scores shrunk where their margin's variance is large beside the prior's: m / sqrt(1 + v/prior)."""
    shrink = 1.0 / np.sqrt(1.0 + variance / prior_variance)
    return scores * (shrink if scores.ndim == 1 else shrink[:, None])


def sigmoid(scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-(a f + b))); one sigmoid, or one a column of scores."""
    a, b = calibration.reshape(-1, 5)[:, :2].T
    return inside(logistic(a * scores + b))


def softmax(scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """exp(a f_k) / sum of them."""
    t = calibration[0] * scores
    t -= t.max(axis=1, keepdims=True)
    np.exp(t, out=t)
    p: np.ndarray = t / t.sum(axis=1, keepdims=True)
    return p


def vote(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """P(margin > 0) = Phi(m/sqrt(v)), element by element."""
    from scipy.special import ndtr  # here: importing SciPy takes longer than most of the command line's work

    deviation = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > 0, mean / deviation, np.sign(mean) * np.inf)
    return inside(ndtr(np.nan_to_num(z, nan=0.0)))


def vote_multiclass(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """P(class k has the largest of independent Gaussian scores), by quadrature on one grid a row; shape (n, K)."""
    rows, classes = mean.shape
    step = max(1, VOTE_NUMBERS // (len(VOTE_NODES) * classes**2))
    return np.concatenate(
        [_vote_block(mean[i : i + step], variance[i : i + step]) for i in range(0, rows, step)]
        or [np.empty((0, classes))]
    )


def _vote_block(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    from scipy.special import log_ndtr, ndtr

    deviation = np.sqrt(np.maximum(variance, 1e-300))
    grid = np.sort((mean[:, :, None] + deviation[:, :, None] * VOTE_NODES).reshape(len(mean), -1), axis=1)
    edges = (grid[:, None, :] - mean[:, :, None]) / deviation[:, :, None]
    middles = 0.5 * (edges[..., 1:] + edges[..., :-1])
    mass = np.diff(ndtr(edges), axis=2)
    log_below = log_ndtr(middles)
    others = np.exp(log_below.sum(axis=1, keepdims=True) - log_below)
    p: np.ndarray = (mass * others).sum(axis=2)
    p /= p.sum(axis=1, keepdims=True)
    return p


def merged(states: Sequence[np.ndarray], task: str) -> np.ndarray:
    """One calibration of several: the mean of (log a, b), weighted by the curvature of each one's log-loss.

    As old evidence fades, the whole counts for as much as the part with most of it.
    """
    if task == "multilabel":
        by_label = np.array(states).reshape(len(states), -1, 5)
        return np.concatenate(
            [merged(list(by_label[:, k]), "binary") for k in range(by_label.shape[1])] or [np.empty(0)]
        )
    slopes = np.array([state[0] for state in states])
    n = 2 if task == "binary" else 1
    where, curvature = np.zeros((len(states), n)), np.zeros((len(states), n, n))
    where[:, 0] = np.log(slopes)
    if task == "binary":
        where[:, 1] = [state[1] for state in states]
        haa, hab, hbb = np.array([state[2:] for state in states]).T
        curvature[:, 0, 0], curvature[:, 1, 1] = slopes**2 * haa, hbb
        curvature[:, 0, 1] = curvature[:, 1, 0] = slopes * hab
    else:
        curvature[:, 0, 0] = slopes**2 * [state[1] for state in states]
    weight = curvature + MIN_CURVATURE * np.eye(n)
    found = np.linalg.solve(weight.sum(axis=0), np.einsum("sij,sj->i", weight, where))
    amount = np.trace(curvature, axis1=1, axis2=2)
    whole = curvature.sum(axis=0) * (amount.max() / max(amount.sum(), MIN_CURVATURE))
    a = np.exp(found[0])
    if task == "binary":
        return np.array([a, found[1], whole[0, 0] / a**2, whole[0, 1] / a, whole[1, 1]])
    return np.array([a, whole[0, 0] / a**2])


def logistic(t: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-t)), without overflow."""
    e = np.exp(-np.abs(t))
    p: np.ndarray = np.where(t >= 0, 1.0, e) / (1.0 + e)
    return p


def inside(p: np.ndarray) -> np.ndarray:
    """Probabilities that are neither 0 nor 1."""
    clipped: np.ndarray = np.clip(p, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    return clipped
