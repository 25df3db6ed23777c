"""The exact posterior of entities around shared weights, in plain NumPy: the reference of core/entities/hierarchy.hpp.

A row of entity e is y = (w + d_e).x + noise, with d_e ~ N(0, s G) and noise of variance s; x begins with 1, and columns
and targets are around their means. Nothing is computed row by row: each posterior is that of all rows so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GROWTH = 4  # variances are learned again when there are a quarter more rows
PRIOR_ENTITIES = 0.1  # that deviate by as much as the noise
SHARED_SCALE = 100.0  # variance that a shared weight may explain, in that of the targets
LEAST_NOISE = 1e-12  # in units of the variance of the targets
MAX_FACTOR = 5.0  # of a change of G
BOUNDS = 1e-6, 1e8  # of G, in units of 1/variance of the column


def exact(X: Any, y: Any, entity: Any, T: Any, noise: float, prior: Any) -> tuple[Any, Any, Any]:
    """Return mean and covariance of w, and those of each w + d_e, with these variances: one joint Gaussian, dense."""
    names, d = sorted(set(entity)), X.shape[1]
    joint = np.zeros((len(X), d * (1 + len(names))))
    joint[:, :d] = X
    for i, name in enumerate(entity):
        at = d * (1 + names.index(name))
        joint[i, at : at + d] = X[i]
    start = np.concatenate([1 / np.asarray(prior), *[1 / np.asarray(T)] * len(names)])
    covariance = np.linalg.inv(joint.T @ joint / noise + np.diag(start))
    mean = covariance @ (joint.T @ y) / noise
    own = {}
    for k, name in enumerate(names):
        both = np.zeros((d, len(mean)))
        both[:, :d] = np.eye(d)
        both[:, d * (k + 1) : d * (k + 2)] = np.eye(d)
        own[name] = both @ mean, both @ covariance @ both.T
    return mean[:d], covariance[:d, :d], own


class Hierarchy:
    """Rows, and the variances that were learned of them."""

    def __init__(self, n_columns: int) -> None:
        self.rows: list[tuple[Any, Any, float, float]] = []  # key, x with intercept, y, weight
        self.d, self.next = n_columns + 1, 2
        self.center, self.G, self.start = np.zeros(self.d + 1), np.ones(self.d), np.ones(self.d)
        self.noise = 0.0

    def sums(self) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, x, y, w in self.rows:
            row = np.append(x, y) - self.center
            found[key] = found.get(key, 0.0) + w * np.outer(row, row)
        return found

    def posterior(self) -> tuple[Any, Any, Any, float]:
        """Mean and covariance of w in units of the noise, C and h of each entity, and the sum of squares left."""
        A, b, left, own = np.diag(self.start), np.zeros(self.d), 0.0, {}
        for key, S in self.sums().items():
            P, h, q = S[:-1, :-1], S[:-1, -1], S[-1, -1]
            C = np.linalg.inv(P + np.diag(1 / self.G))
            A, b, left = A + P - P @ C @ P, b + h - P @ C @ h, left + q - h @ C @ h
            own[key] = C, P, h
        covariance = np.linalg.inv(A)
        return covariance @ b, covariance, own, left - b @ covariance @ b

    def number(self, key: Any, x: Any) -> tuple[float, float]:
        """Mean of the target, and variance of its expectation in units of the noise."""
        mean, covariance, own, _ = self.posterior()
        x = np.append(1.0, x) - self.center[:-1]
        C, P, h = own.get(key, (np.diag(self.G), np.zeros((self.d, self.d)), np.zeros(self.d)))
        z = x - P @ C @ x
        return self.center[-1] + x @ C @ h + z @ mean, x @ C @ x + z @ covariance @ z

    def learn(self, key: Any, x: Any, y: float, w: float = 1.0) -> None:
        if not self.rows:
            self.center = np.concatenate([[0.0], x, [y]])
        self.rows.append((key, np.append(1.0, x), y, w))
        if len(self.rows) == self.next:
            self.next += max(self.next // GROWTH, 1)
            self.refit()
        self.noise = self._noise()

    def _noise(self) -> float:
        _, covariance, _, left = self.posterior()
        weight, y = np.array([[w, y] for _, _, y, w in self.rows]).T
        middle = np.average(y, weights=weight)
        spread = np.average((y - middle) ** 2, weights=weight) or middle**2 or 1.0
        free = weight.sum() - np.sum(1 - self.start * np.diag(covariance))
        return float(max(left / free if free >= 1 else spread, LEAST_NOISE * spread))

    def refit(self) -> None:
        mean, covariance, own, _ = self.posterior()
        self.noise = self._noise()
        weight = np.array([w for *_, w in self.rows])
        values = np.array([np.append(x, y) for _, x, y, _ in self.rows])
        self.center = weight @ values / weight.sum()
        variance = weight @ (values - self.center) ** 2 / weight.sum()
        self.center[0], variance[0] = 0.0, 1.0
        usual = 1 / np.where(variance[:-1] > 0, variance[:-1], 1.0)
        lag = 1 / self.G
        score, information = PRIOR_ENTITIES * lag * (usual * lag - 1), np.diag(PRIOR_ENTITIES * lag**2)
        total = np.zeros(self.d)
        for C, P, h in own.values():
            S = P - P @ C @ P
            score += (h - P @ C @ h - S @ mean) ** 2 / self.noise - np.diag(S) + np.diag(S @ covariance @ S)
            information += S**2
            total += np.diag(S)
        information -= np.outer(total, total) / weight.sum()
        G = self.G + np.linalg.solve(information, score)
        G = np.clip(G, self.G / MAX_FACTOR, self.G * MAX_FACTOR)
        self.G = np.clip(G, BOUNDS[0] * usual, BOUNDS[1] * usual)
        spread = variance[-1] or values[-1, -1] ** 2 or 1.0
        self.start = np.clip(self.noise / (SHARED_SCALE * spread * usual), 1e-12 / usual, 1 / usual)
