"""The mistake bounds of two papers on separable points, compared with the mistakes of runs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from confidently.estimators.classifier import OnlineClassifier
from confidently.rules import CELLIP, IELLIP, CWStdev
from confidently.rules.theory import (
    cellip_mistake_bound,
    confidence_loss,
    cw_mistake_bound,
    iellip_mistake_bound,
    least_multiple,
)

from .synthetic import SEPARATOR, Axes, points

BOUND_STRIDE = 25  # rows between two points of the curves
HARD_MARGIN_C = 1e5  # of the support vector machine that approximates the widest margin


@dataclass
class Bounded:
    """Mistakes of a run, the sum of its losses, and the bound, after given numbers of rows."""

    rows: np.ndarray
    mistakes: np.ndarray
    losses: np.ndarray
    bound: np.ndarray


def separable(seed: int, n: int, margin: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with norm at most 1 and a margin, their labels, and the separator of unit norm."""
    rng = np.random.default_rng(seed)
    X, y = points(rng, 4 * n, Axes(2.0))
    u = np.zeros(X.shape[1])
    u[:2] = SEPARATOR
    norm = np.linalg.norm(X, axis=1)
    kept = np.flatnonzero(np.abs(X @ u) >= margin * norm.max())[:n]
    return X[kept] / norm.max(), y[kept], u


def theorem_4(seed: int, n: int, phi: float, margin: float) -> Bounded:
    """Run CW-Stdev with a full covariance. mu* is the better of two separators, the true one and the widest."""
    X, y, u = separable(seed, n, margin)
    rows = np.arange(BOUND_STRIDE, len(y) + 1, BOUND_STRIDE)
    model = OnlineClassifier(CWStdev(phi=phi), "full", fit_intercept=False, calibration=None, view=None)
    separators = (u, _widest(X, y))
    losses, sums, mistakes, bounds = 0.0, [], [], []
    for i in range(len(y)):
        if i:
            mean, variance = model.margin_distribution(X[i : i + 1])
            losses += float(confidence_loss(y[i] * mean / np.sqrt(variance), phi)[0])
        else:
            losses += 1.0
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
        if i + 1 in rows:
            sums.append(losses)
            mistakes.append(model.mistakes_)
            bounds.append(_least_bound(model, X[: i + 1], y[: i + 1], separators, phi))
    return Bounded(rows, np.array(mistakes), np.array(sums), np.array(bounds))


def _least_bound(
    model: OnlineClassifier, X: np.ndarray, y: np.ndarray, separators: tuple[np.ndarray, ...], phi: float
) -> float:
    last = model.covariance_
    variances = np.einsum("ij,jk,ik->i", X, last, X)
    found = []
    for w in separators:
        if (y * (X @ w) > 0).all():
            mean = least_multiple(y * (X @ w), variances, phi) * w
            found.append(cw_mistake_bound(mean, last, last, phi))
    return min(found)


def _widest(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a separator of nearly the widest margin."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # any separator will do
        w = LinearSVC(C=HARD_MARGIN_C, fit_intercept=False, random_state=0).fit(X, y).coef_[0]
    unit: np.ndarray = w / np.linalg.norm(w)
    return unit


@dataclass
class EllipsoidBounds:
    """Mistakes of many passes over separable points, and the bounds of Theorem 3 and 4."""

    margins: list[float]
    cellip: list[tuple[int, float]]
    iellip: list[tuple[int, float]]


def ellipsoid_bounds(seed: int, n: int, margins: tuple[float, ...], a: float, b: float, c: float) -> EllipsoidBounds:
    """Run both methods until there are no more mistakes, at most 50 passes."""
    found = EllipsoidBounds([], [], [])
    for margin in margins:
        X, y, u = separable(seed, n, margin)
        rho = float((y * (X @ u)).min())
        prior = (1 + (1 - a) * rho) ** 2
        options: dict[str, Any] = {"fit_intercept": False, "passes": 50}
        classical = OnlineClassifier(
            CELLIP(gamma=rho, a=a), "full", prior_variance=prior, **options, calibration=None, view=None
        ).fit(X, y)
        improved = OnlineClassifier(
            IELLIP(b=b, c=c), "full", prior_variance=0.1, **options, calibration=None, view=None
        ).fit(X, y)
        found.margins.append(rho)
        found.cellip.append((classical.mistakes_, cellip_mistake_bound(rho, a, X.shape[1])))
        found.iellip.append((improved.mistakes_, iellip_mistake_bound(rho, b, c)))
    return found
