"""Probabilities from scores of topics, calibrated by documents that were scored before they were learned.

With u = score/epsilon, two classes have p = 1/(1 + exp(-a u)), several classes p_k ~ exp(a u_k), and each label
p = 1/(1 + exp(-(a u + b))). a and b maximize the likelihood of the labels of those documents, each to the power of its
weight, times the prior exp(-(a - 1)^2/2 - b^2/200). a stays positive, so that a higher score is never less likely.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..tasks.calibration import inside, softmax

# Scoring a document takes longer than learning it, so only the first 32 documents of every period are scored: a period
# is 128 documents, and 512 after the first 1,024.
SCORED_PER_PERIOD, FIRST_PERIOD, LATER_PERIOD, LATER_FROM = 32, 128, 512, 1024
MAX_SCORED = 512  # documents whose scores are kept, the last ones
PRIOR_PRECISION = np.array([1.0, 0.01])  # of the priors N(1, 1) and N(0, 100) of a and b
MIN_SLOPE = 1e-3
MAX_STEPS, MIN_STEP = 50, 1e-10


def scored_documents(first: int, n: int) -> np.ndarray:
    """Return which of the documents numbered ``first`` to ``first + n - 1`` are scored before they are learned."""
    number = np.arange(first, first + n)
    period = np.where(number < LATER_FROM, FIRST_PERIOD, LATER_PERIOD)
    return np.flatnonzero((number >= FIRST_PERIOD) & (number % period < SCORED_PER_PERIOD))


def fitted_sigmoid(u: np.ndarray, sign: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return a and b of one label, from the scores, signs and weights of documents."""

    def cost(ab: np.ndarray) -> float:
        prior = 0.5 * PRIOR_PRECISION @ (ab - (1.0, 0.0)) ** 2
        return float(weight @ np.logaddexp(0.0, -sign * (ab[0] * u + ab[1])) + prior)

    def step(ab: np.ndarray) -> np.ndarray:
        p = logistic(ab[0] * u + ab[1])
        residual, curvature = weight * (p - (sign > 0)), weight * p * (1.0 - p)
        gradient = np.array([residual @ u, residual.sum()]) + PRIOR_PRECISION * (ab - (1.0, 0.0))
        mixed = curvature @ u
        hessian = np.array([[curvature @ u**2, mixed], [mixed, curvature.sum()]]) + np.diag(PRIOR_PRECISION)
        return np.linalg.solve(hessian, gradient)

    a, b = _newton(cost, step, np.array([1.0, 0.0]))
    return np.array([max(a, MIN_SLOPE), b])


def fitted_softmax(u: np.ndarray, true: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return a of two classes or more, from scores (n, classes), the numbers of the true classes, and weights."""
    if not len(u):
        return np.ones(1)
    own = u[np.arange(len(u)), true]
    margins = u - own[:, None]

    def cost(a: np.ndarray) -> float:
        prior = 0.5 * PRIOR_PRECISION[0] * (a[0] - 1.0) ** 2
        return float(weight @ np.logaddexp.reduce(a[0] * margins, axis=1) + prior)

    def step(a: np.ndarray) -> np.ndarray:
        p = softmax(a * u)
        mean = (p * u).sum(axis=1)
        variance = (p * u**2).sum(axis=1) - mean**2
        gradient = weight @ (mean - own) + PRIOR_PRECISION[0] * (a[0] - 1.0)
        return np.array([gradient / (weight @ np.maximum(variance, 0.0) + PRIOR_PRECISION[0])])

    return np.maximum(_newton(cost, step, np.ones(1)), MIN_SLOPE)


def logistic(t: np.ndarray) -> np.ndarray:
    """Return 1/(1 + exp(-t)), without overflow."""
    e = np.exp(-np.abs(t))
    return np.where(t >= 0, 1.0, e) / (1.0 + e)


def probability(u: np.ndarray, ab: np.ndarray) -> np.ndarray:
    """Return 1/(1 + exp(-(a u + b))), which is neither 0 nor 1."""
    return inside(logistic(ab[0] * u + ab[1]))


def _newton(cost: Callable[..., float], step: Callable[..., np.ndarray], x: np.ndarray) -> np.ndarray:
    """Minimize a strictly convex function by Newton steps, halved until they lower it."""
    now = cost(x)
    for _ in range(MAX_STEPS):
        d = step(x)
        size = 1.0
        while (new := cost(x - size * d)) > now and size > MIN_STEP:
            size /= 2.0
        if size <= MIN_STEP or np.abs(size * d).max() < MIN_STEP:
            break
        x, now = x - size * d, new
    return x
