"""The mixture of regressions in plain Python, row by row, as documented. Nothing is shared."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np

WINDOWS = (50, 300, 5000)


class Mixture:
    """Weights with the least discounted squared error, from the errors of all rows before, in three windows.

    ``learn`` takes the members' predictions and their standard deviations, the target and the row's weight. The weights
    of all members but the last ones, the rests, add up to 1.
    """

    def __init__(self, members, rests=0, windows=WINDOWS):
        self.n, self.bases, self.rows, self.before = members, members - rests, 0.0, 0.0
        self.sums = {window: (np.zeros((members, members)), 0.0) for window in windows}
        self.share = [1 / len(windows)] * len(windows)
        self.errors = []  # (error, standard deviation) of the mixture

    def discounted(self, window):
        """Return the sums of products of errors, and the weight of the rows in them."""
        return self.sums[window]

    def squared_error(self):
        """Return the mean squared error of the mixture over the longest window."""
        products, total = self.discounted(WINDOWS[-1])
        return self.weights() @ products @ self.weights() / total if total else 0.0

    def factor(self):
        """Return the squared error of the mixture over the square of the mean of the members' errors."""
        products, total = self.discounted(WINDOWS[-1])
        sizes = np.abs(self.weights()) * np.sqrt(products.diagonal())
        mean = sum(sizes[: self.bases])
        return self.squared_error() * total / mean**2 if mean > 0 else 1.0

    def of_window(self, window):
        products, total = self.discounted(window)
        best = products.diagonal()[: self.bases].min()
        beginning = np.where(np.arange(self.n) < self.bases, 1 / self.bases, 0.5)
        if best <= 0:
            return beginning
        # the stationary point of the Lagrangian
        system = np.zeros((self.n + 1, self.n + 1))
        system[: self.n, : self.n] = products * total / best + np.eye(self.n) / 0.09
        system[-1, : self.bases] = system[: self.bases, -1] = 1.0
        return np.linalg.solve(system, np.append(beginning / 0.09, 1.0))[: self.n]

    def weights(self):
        return sum(share * self.of_window(window) for share, window in zip(self.share, self.sums, strict=True))

    def predict(self, means, deviations):
        weights = self.weights()
        spread = np.abs(weights[: self.bases]) @ deviations[: self.bases]
        return weights @ means, spread * sqrt(self.factor())

    def learn(self, means, deviations, y, w):
        if self.before:
            mean, deviation = self.predict(means, deviations)
            known = self.rows >= 16
            self.errors.append((y - mean, deviation if known else abs(y - mean)))
            self.follow(means, y, w)
            error = np.where(np.arange(self.n) < self.bases, y, 0.0) - means
            for window, (products, total) in self.sums.items():
                keep = (1 - 1 / min(self.rows + 2, window)) ** w
                self.sums[window] = keep * products + w * np.outer(error, error), keep * total + w
            self.rows += w
        self.before += w

    def follow(self, means, y, w):
        """Move the shares to the windows that have predicted best, by the normal likelihood."""
        spread = self.squared_error()
        if not spread > 0:
            return
        squares = [(y - self.of_window(window) @ means) ** 2 / spread for window in self.sums]
        likely = [max(exp((min(squares) - square) / 2), 1e-9) ** w for square in squares]
        followed = [share * one for share, one in zip(self.share, likely, strict=True)]
        self.share = [0.998 * one / sum(followed) + 0.002 / len(followed) for one in followed]

    def rmse(self):
        return sqrt(np.mean([error**2 for error, _ in self.errors]))

    def noise_factor(self):
        """Return the mean squared ratio of an error to its bound."""
        return np.mean([(error / bound) ** 2 for error, bound in self.errors])
