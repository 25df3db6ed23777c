"""Probabilities from scores of topics: fitted to documents that were scored before they were learned.

With u = score/epsilon, two classes have p = 1/(1 + exp(-a u)), several classes p_k ~ exp(a u_k), each label of sets
p = 1/(1 + exp(-(a u + b))). a and b maximise the likelihood of the labels of those documents, each as often as its
weight says, times exp(-(a - 1)^2/2 - b^2/200), which is all there is before the first; but a stays positive, so that a
higher score is never less likely.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..learner.calibration import MIN_PROBABILITY

# Scoring a document takes longer than learning it: 32 of every 128, later of every 512, are.
LOOK, OFTEN, SELDOM, MANY = 32, 128, 512, 1024
KEPT = 512  # documents whose scores are kept, the last ones
PRECISION = np.array([1.0, 0.01])  # of the priors N(1, 1) and N(0, 100) of a and b
MIN_SLOPE = 1e-3
MAX_STEPS, SMALL_STEP = 50, 1e-10


def looked_at(first: int, n: int) -> np.ndarray:
    """Which of the documents with the numbers ``first`` to ``first + n - 1`` are scored before they are learned."""
    number = np.arange(first, first + n)
    return np.flatnonzero((number >= OFTEN) & (number % np.where(number < MANY, OFTEN, SELDOM) < LOOK))


def fitted_sigmoid(u: np.ndarray, sign: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """a and b of one label, from scores, signs and weights of documents."""

    def cost(ab: np.ndarray) -> float:
        prior = 0.5 * PRECISION @ (ab - (1.0, 0.0)) ** 2
        return float(weight @ np.logaddexp(0.0, -sign * (ab[0] * u + ab[1])) + prior)

    def step(ab: np.ndarray) -> np.ndarray:
        p = _sigmoid(ab[0] * u + ab[1])
        rest, bend = weight * (p - (sign > 0)), weight * p * (1.0 - p)
        gradient = np.array([rest @ u, rest.sum()]) + PRECISION * (ab - (1.0, 0.0))
        mixed = bend @ u
        hessian = np.array([[bend @ u**2, mixed], [mixed, bend.sum()]]) + np.diag(PRECISION)
        return np.linalg.solve(hessian, gradient)

    a, b = _newton(cost, step, np.array([1.0, 0.0]))
    return np.array([max(a, MIN_SLOPE), b])


def fitted_softmax(u: np.ndarray, true: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """a of two classes or more, from scores (n, classes), the numbers of the true classes, and weights."""
    if not len(u):
        return np.ones(1)
    own = u[np.arange(len(u)), true]
    apart = u - own[:, None]

    def cost(a: np.ndarray) -> float:
        return float(weight @ np.logaddexp.reduce(a[0] * apart, axis=1) + 0.5 * PRECISION[0] * (a[0] - 1.0) ** 2)

    def step(a: np.ndarray) -> np.ndarray:
        p = probabilities_of(u, a)
        mean = (p * u).sum(axis=1)
        variance = (p * u**2).sum(axis=1) - mean**2
        gradient = weight @ (mean - own) + PRECISION[0] * (a[0] - 1.0)
        return np.array([gradient / (weight @ np.maximum(variance, 0.0) + PRECISION[0])])

    slope: np.ndarray = np.maximum(_newton(cost, step, np.ones(1)), MIN_SLOPE)
    return slope


def probabilities_of(u: np.ndarray, a: np.ndarray) -> np.ndarray:
    """exp(a u_k) / sum of them."""
    t = a[0] * u
    e = np.exp(t - t.max(axis=1, keepdims=True))
    p: np.ndarray = e / e.sum(axis=1, keepdims=True)
    return p


def probability_of(u: np.ndarray, ab: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-(a u + b))), neither 0 nor 1."""
    p: np.ndarray = np.clip(_sigmoid(ab[0] * u + ab[1]), MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    return p


def _sigmoid(t: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(t))
    p: np.ndarray = np.where(t >= 0, 1.0, e) / (1.0 + e)
    return p


def _newton(cost: Callable[..., float], step: Callable[..., np.ndarray], x: np.ndarray) -> np.ndarray:
    """The least of a strictly convex function, by Newton's steps, halved until they lower it."""
    now = cost(x)
    for _ in range(MAX_STEPS):
        d = step(x)
        size = 1.0
        while (new := cost(x - size * d)) > now and size > SMALL_STEP:
            size /= 2.0
        if size <= SMALL_STEP or np.abs(size * d).max() < SMALL_STEP:
            break
        x, now = x - size * d, new
    return x
