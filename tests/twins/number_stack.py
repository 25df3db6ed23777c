"""The mixture of regressions in plain Python, row by row, as documented. Nothing is shared."""

from __future__ import annotations

from math import sqrt

import numpy as np


class Mixture:
    """Weights with the least discounted squared error that add up to 1, from the errors of all rows before.

    ``learn`` takes the members' predictions and their standard deviations, the target and the row's weight.
    """

    def __init__(self, members):
        self.n, self.rows, self.before = members, [], 0.0
        self.errors = []  # (error, standard deviation) of the mixture

    def discounted(self):
        """Return the sums of products of errors, and the weight of the rows in them."""
        products, total, age = np.zeros((self.n, self.n)), 0.0, 0.0
        for error, w in self.rows:
            keep = (1 - 1 / min(age + 2, 5000)) ** w
            products, total, age = keep * products + w * np.outer(error, error), keep * total + w, age + w
        return products, total

    def factor(self):
        """Return the squared error of the mixture over the square of the mean of the members' errors."""
        products, _ = self.discounted()
        weights = self.weights()
        mean = sum(abs(weight) * sqrt(product) for weight, product in zip(weights, products.diagonal(), strict=True))
        return weights @ products @ weights / mean**2 if mean > 0 else 1.0

    def weights(self):
        products, total = self.discounted()
        best = products.diagonal().min()
        if best <= 0:
            return np.full(self.n, 1 / self.n)
        # the stationary point of the Lagrangian
        system = np.ones((self.n + 1, self.n + 1))
        system[: self.n, : self.n] = products * total / best + np.eye(self.n) / 0.09
        system[-1, -1] = 0.0
        return np.linalg.solve(system, np.append(np.full(self.n, 1 / 0.09 / self.n), 1.0))[: self.n]

    def predict(self, means, deviations):
        weights = self.weights()
        return weights @ means, np.abs(weights) @ deviations * sqrt(self.factor())

    def learn(self, means, deviations, y, w):
        if self.before:
            mean, deviation = self.predict(means, deviations)
            known = sum(w for _, w in self.rows) >= 16
            self.errors.append((y - mean, deviation if known else abs(y - mean)))
            self.rows.append((y - means, w))
        self.before += w

    def rmse(self):
        return sqrt(np.mean([error**2 for error, _ in self.errors]))

    def noise_factor(self):
        """Return the mean squared ratio of an error to its bound."""
        return np.mean([(error / bound) ** 2 for error, bound in self.errors])
