"""Regression in plain NumPy, from the definitions: every statistic is computed anew from all rows before.

Nothing is shared with core/tasks/numbers.hpp; tests/rules/test_regression_rules.py verifies the steps themselves
against optimizers.
"""

from dataclasses import dataclass, field
from math import exp, expm1, log, sqrt

import numpy as np


@dataclass
class Twin:
    """A regression with one number per row.

    ``step(s, v, y, w)`` returns alpha and zeta or None; ``noise`` is the variance that the rule assumes; ``fixed``:
    whether Sigma stays at its prior.
    """

    step: object
    noise: float
    prior: float = 1.0
    diagonal: bool = False
    intercept: bool = True
    centered: bool = False
    counts: bool = False
    fixed: bool = False
    rows: list = field(default_factory=list)
    targets: list = field(default_factory=list)
    weights: list = field(default_factory=list)
    errors: list = field(default_factory=list)  # (error, spread), of the rows with a prediction
    predictions: list = field(default_factory=list)

    def features(self, x):
        x = np.asarray(x, dtype=float)
        if self.centered:
            return x - self.row_mean() if self.rows else np.zeros_like(x)
        return np.append(x, 1.0) if self.intercept else x

    def row_mean(self):
        return np.average(self.rows, axis=0, weights=self.weights)

    def offset(self, y=None):
        """The mean of the targets so far; of the first row its own."""
        if not self.intercept:
            return 0.0
        W, n = sum(self.weights), self.first_rows()
        mean = np.average(self.targets[:n], weights=self.weights[:n]) if W else 0.0
        if self.counts:
            return log((W * mean + 0.5) / (W + 0.5))
        return mean if W else y

    def first_rows(self):
        """The rows whose mean is the offset: those before which the weight is below 128, or all of centered ones."""
        before = np.append(0.0, np.cumsum(self.weights))[:-1]
        return len(self.weights) if self.centered else int(np.sum(before < 128.0))

    def unit(self, y, w):
        if self.counts:
            return 1.0
        targets, weights = [*self.targets, y], [*self.weights, w]
        n = len(targets) if self.centered or sum(self.weights) < 128.0 else self.first_rows()
        center = np.average(targets[:n], weights=weights[:n]) if self.intercept else 0.0
        variance = np.average((np.array(targets) - center) ** 2, weights=weights)
        return sqrt(variance) if variance > 0 else 1.0

    def learn(self, x, y, w=1.0):
        z = self.features(x)
        if not hasattr(self, "mean"):
            self.mean, self.sigma = np.zeros(len(z)), self.prior * np.eye(len(z))
        W, offset, unit = sum(self.weights), self.offset(y), self.unit(y, w)
        s, v = float(self.mean @ z), float(z @ self.sigma @ z)
        prediction, spread = self.predicted(s, v, offset, w, W)
        own = w * W / (w + W) if self.centered else w
        if v > 0 and own > 0:
            if self.counts:
                answer = self.step(s + offset, v, y, own)
            else:
                answer = self.step(s / unit, v, (y - offset) / unit, own)
            if answer:
                self.move(z, answer[0] * unit, answer[1])
        self.predictions.append(prediction)
        if W or not self.intercept:
            self.errors.append((y - prediction, spread))
        self.rows.append(np.asarray(x, dtype=float))
        self.targets.append(y)
        self.weights.append(w)

    def move(self, z, alpha, zeta):
        self.mean = self.mean + alpha * self.sigma @ z
        if self.diagonal:
            variances, v = np.diag(self.sigma), float(z @ self.sigma @ z)  # those of the new Gaussian
            self.sigma = np.diag(variances - zeta / (1.0 + zeta * v) * (variances * z) ** 2)
        elif zeta:
            g = self.sigma @ z
            self.sigma = self.sigma - zeta / (1.0 + zeta * float(z @ g)) * np.outer(g, g)

    def predicted(self, s, v, offset, w, W):
        if self.counts:
            rate = exp(s + offset + v / 2.0)
            return rate, rate / w + rate**2 * expm1(v)
        spread = self.noise / w + (0.0 if self.fixed else v)
        return offset + s, spread + (self.noise / W if self.centered and W else 0.0)

    def predict(self, x):
        """Mean and spread of the next row, of weight 1."""
        z = self.features(x)
        return self.predicted(float(self.mean @ z), float(z @ self.sigma @ z), self.offset(), 1.0, sum(self.weights))

    @property
    def noise_factor(self):
        return float(np.mean([e * e / spread for e, spread in self.errors]))

    def standardized(self):
        """The standardized errors that are counted: from the third prediction on, by the noise until then."""
        found = []
        for k in range(2, len(self.errors)):
            factor = np.mean([e * e / spread for e, spread in self.errors[:k]])
            error, spread = self.errors[k]
            if factor > 0:
                found.append(error / sqrt(factor * spread))
        return np.array(found)
