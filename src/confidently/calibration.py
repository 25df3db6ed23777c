"""Probabilities from margins: calibrated by the stream itself, or the vote of the posterior's classifiers.

The calibration is learned in the core, one example at a time, before its label is used; here it is applied.
"""

from __future__ import annotations

import numpy as np

# Where the quadrature of the vote looks at each class's Gaussian, in standard deviations.
VOTE_NODES = np.array(
    [-8, -6, -4.5, -3.5, -2.75, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.75, 3.5, 4.5, 6, 8], dtype=float
)
# No probability is exactly 0 or 1, so that its logarithm stays finite: half a unit in the last place below 1.
LEAST_PROBABILITY = 2.0**-53
VOTE_NUMBERS = 2**22  # numbers held at a time while voting


def moderated(scores: np.ndarray, variance: np.ndarray, prior_variance: float) -> np.ndarray:
    """Scores shrunk where their margin's variance is large beside the prior's: m / sqrt(1 + v/prior)."""
    shrink = 1.0 / np.sqrt(1.0 + variance / prior_variance)
    return scores * (shrink if scores.ndim == 1 else shrink[:, None])


def sigmoid(scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-(a f + b))); one sigmoid, or one a column of scores."""
    a, b = calibration.reshape(-1, 5)[:, :2].T
    t = a * scores + b
    e = np.exp(-np.abs(t))
    return _inside(np.where(t >= 0, 1.0, e) / (1.0 + e))


def softmax(scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
    """exp(a f_k) / sum of them."""
    t = calibration[0] * scores
    t -= t.max(axis=1, keepdims=True)
    np.exp(t, out=t)
    return t / t.sum(axis=1, keepdims=True)


def vote(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """P(margin > 0) = Phi(m/sqrt(v)), element by element."""
    from scipy.special import ndtr  # here: importing SciPy takes longer than most of the command line's work

    deviation = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > 0, mean / deviation, np.sign(mean) * np.inf)
    return _inside(ndtr(np.nan_to_num(z, nan=0.0)))


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
    p = (mass * others).sum(axis=2)
    return p / p.sum(axis=1, keepdims=True)


def _inside(p: np.ndarray) -> np.ndarray:
    return np.clip(p, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
