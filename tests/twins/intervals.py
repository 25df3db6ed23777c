"""Intervals around numbers in plain Python, from the definitions; nothing is shared with core/tasks/intervals.hpp."""

import math

import numpy as np

from tests.twins.conformal import Followed, Martingale

COLUMNS, KNOTS = 64, 9


class Input:
    """A number that the noise may depend on: its standardized value, a slope on both sides, and knots."""

    def __init__(self):
        self.center = self.variance = 0.0
        self.slopes, self.slopes_known = np.zeros(2), np.zeros(2)
        self.knots, self.knots_known = np.zeros(KNOTS), np.zeros(KNOTS)

    def standardized(self, x):
        return min(max((x - self.center) / math.sqrt(self.variance), -2.5), 2.5) if self.variance > 0 else 0.0

    def slope_features(self, x):
        t = self.standardized(x)
        return np.array([t, abs(t) - 0.8])

    def knot_features(self, x):
        """The hat functions around -2, -1.5, ..., 2 at the standardized value, kept between the first and the last."""
        t = min(max(self.standardized(x), -2.0), 2.0)
        return np.maximum(1.0 - np.abs(t - np.linspace(-2.0, 2.0, KNOTS)) / 0.5, 0.0)

    def follow(self, x, rate):
        d = x - self.center
        self.center += rate * d
        self.variance = (1.0 - rate) * (self.variance + rate * d * d)


class Noise:
    """The logarithm of the size of the noise, learned from how much larger errors are than expected."""

    def __init__(self):
        self.inputs = {}  # those that were not 0 so far, by number; that of the prediction is -1
        self.whole = self.mean = 0.0
        self.rows, self.shares, self.precision = 0, np.ones(2), np.eye(2)

    @staticmethod
    def values(prediction, row):
        return {-1: prediction} | {j: x for j, x in enumerate(row) if j < COLUMNS}

    def sums(self, prediction, row):
        values = self.values(prediction, row)
        known = {j: one for j, one in self.inputs.items() if j in values}
        linear = sum(one.slopes @ one.slope_features(values[j]) for j, one in known.items())
        curved = sum(one.knots @ one.knot_features(values[j]) for j, one in known.items())
        return np.array([linear, curved])

    def log_size(self, prediction, row):
        return float(np.clip(self.shares @ self.sums(prediction, row), -5.0, 5.0))

    def learn(self, prediction, row, error):
        self.rows += 1
        if self.rows > 2048 and self.rows % 4:
            return
        sums, values, size = self.sums(prediction, row), self.values(prediction, row), abs(error)
        left = size / math.exp(self.log_size(prediction, row))
        whole = size / math.exp(np.clip(sums.sum(), -5.0, 5.0))
        step = min(left / self.mean, 4.0) - 1.0 if self.mean > 0 else 0.0
        self.precision = 0.9999 * (self.precision - np.eye(2)) + np.outer(sums, sums) + np.eye(2)
        self.shares = self.shares + np.linalg.solve(self.precision, sums) * step
        step = min(whole / self.whole, 4.0) - 1.0 if self.whole > 0 else 0.0
        variance, moves = 1.0, []
        for j, one in self.inputs.items():
            for weights, known, features in (
                (one.slopes, one.slopes_known, one.slope_features(values[j])),
                (one.knots, one.knots_known, one.knot_features(values[j])),
            ):
                move = features / (known + 10.0)
                variance += features @ move
                moves.append((weights, move))
                touched = self.touched(one.standardized(values[j])) if len(known) == KNOTS else slice(None)
                known[touched] = 0.9999 * known[touched] + features[touched] ** 2
        for weights, move in moves:
            weights += step / variance * move
        rate = min(1.0, max(2.0 / self.rows, 1.0 / 2000.0))
        self.mean += rate * (min(left, 4.0 * self.mean if self.mean > 0 else left) - self.mean)
        self.whole += rate * (min(whole, 4.0 * self.whole if self.whole > 0 else whole) - self.whole)
        last = max(j for j, x in values.items() if j < 0 or x != 0)
        for j in range(-1, last + 1):  # before, all of them were 0
            self.inputs.setdefault(j, Input())
        for j in self.inputs:
            self.inputs[j].follow(values[j], max(1.0 / self.rows, 1.0 / 5000.0))

    @staticmethod
    def touched(t):
        """The knots on both sides."""
        k = math.floor(min(max(t * 2.0 + 4.0, 0.0), KNOTS - 1 - 1e-9))
        return slice(k, k + 2)


def uniform(k):
    """SplitMix64 (Steele, Lea & Flood, OOPSLA 2014), from the reference code."""
    z = k * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return ((z ^ (z >> 31)) >> 11) / 2.0**53


class Errors:
    """Errors relative to the size of the noise, and the levels below and above, of all rows or of a group."""

    BINS = 512

    def __init__(self):
        self.errors, self.gain = [], 1.0
        self.low, self.high = Followed(), Followed()

    def place(self, error):
        return float(np.clip(np.arcsinh(error) * 40.0 + 256.0, 0.0, self.BINS - 1e-9))

    def p_values(self, error):
        """Return the parts of the errors not above and not below one; of those in its bin in proportion."""
        at = self.place(error)
        own = math.floor(at)
        low = sum(weight for place, weight in self.errors if place < own)
        high = sum(weight for place, weight in self.errors if place > own)
        same = sum(weight for place, weight in self.errors if place == own)
        whole = low + same + high + self.gain
        return (low + (at - own) * same + self.gain) / whole, (high + (1.0 - at + own) * same + self.gain) / whole

    def count(self, error):
        below, above = self.p_values(error)
        self.low.learn(below)
        self.high.learn(above)
        self.errors.append((math.floor(self.place(error)), self.gain))
        self.gain /= 1.0 - 1.0 / 2000.0

    def weights(self):
        """Return the weight of each bin, of which the last error has one."""
        found = np.zeros(self.BINS)
        for place, weight in self.errors:
            found[place] += weight / self.gain
        return found


class Intervals(Errors):
    """Errors of all rows, the noise, and the martingale."""

    def __init__(self, before=2):
        super().__init__()
        self.before = before  # the predictions before the first standardized error
        self.noise, self.martingale = Noise(), Martingale()

    def random_p_value(self, error, u):
        """Return the two-sided p-value whose errors within four bins are divided at random, unless they are many."""
        own = math.floor(self.place(error))
        low = sum(weight for place, weight in self.errors if place < own - 4)
        near = sum(weight for place, weight in self.errors if abs(place - own) <= 4) + self.gain
        whole = sum(weight for _, weight in self.errors) + self.gain
        below = (low + u * near) / whole
        if near > whole / 8:  # many are alike: the value nearest to the middle
            below = float(np.clip(0.5, low / whole, (low + near) / whole))
        return 2.0 * min(below, 1.0 - below)

    def learn(self, prediction, row, error):
        own = error / math.exp(self.noise.log_size(prediction, row))
        self.martingale.learn(self.random_p_value(own, uniform(self.before + len(self.errors))))
        self.noise.learn(prediction, row, error)
        self.count(own)


def limits(weights, coverage):
    """Return the limits of an error among others in bins, by search: the errors nearest to 0 that do not conform.

    ``weights`` are those of bins of [-e_k, -e_(k-1)) ... of asinh(error), 40 per unit. An error z does not conform if
    too small a part of the others and itself is not above, or not below, or, where one error is already more than
    such a part, if too small a part of the sizes is not below its own.
    """
    n, half = weights.sum(), len(weights) // 2
    tail = 0.5 * (1.0 - coverage)

    at = np.arange(0.0, 2 * half + 1e-9, 1 / 64)
    grid, k = np.sinh((at - half) / 40.0), np.minimum(at.astype(int), 2 * half - 1)

    def limit(counted, allowed):
        above = counted.sum() - np.cumsum(counted)[k] + (1.0 - (at - k)) * counted[k]
        return grid[above + 1.0 > allowed * (n + 1.0) + 1e-9].max(initial=grid[0])

    if tail * (n + 1.0) >= 1.0 - 1e-9:
        return -limit(weights[::-1], tail), limit(weights, tail)
    if 2.0 * tail * (n + 1.0) < 1.0 - 1e-9:
        return -math.inf, math.inf
    size = limit(weights + weights[::-1], 2.0 * tail)
    low, high = -limit(weights[::-1], 1.0 / (n + 1.0)), limit(weights, 1.0 / (n + 1.0))
    return min(low, -size), max(high, size)
