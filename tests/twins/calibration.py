"""The online calibrations in plain Python: what core/learner/calibration.hpp computes, as docs/mathematics.md has it.

Nothing is shared with the core.
"""

from __future__ import annotations

from math import exp

DECAY = 1 - 1 / 2000
MIN_SLOPE, MAX_STEP = 1e-3, 0.5


def _slope(a, u):
    return max(a * (2 - u) / (2 + u), MIN_SLOPE)


class Sigmoid:
    """P(positive) = 1/(1 + exp(-(a f + b)))."""

    def __init__(self):
        self.a, self.b, self.H = 1.0, 0.0, [[0.0, 0.0], [0.0, 0.0]]

    def probability(self, f):
        t = self.a * f + self.b
        return 1 / (1 + exp(-t)) if t >= 0 else exp(t) / (1 + exp(t))

    def learn(self, f, positive, w):
        p = self.probability(f)
        kept, curvature = DECAY**w, w * p * (1 - p)
        x = (f, 1.0)
        for i in range(2):
            for j in range(2):
                self.H[i][j] = kept * self.H[i][j] + curvature * x[i] * x[j]
        # (D H D + I) (u, delta) = D (f, 1) w (p - y), D = diag(a, 1), by Cramer's rule
        d = (self.a, 1.0)
        M = [[d[i] * self.H[i][j] * d[j] + (i == j) for j in range(2)] for i in range(2)]
        g = [d[i] * x[i] * w * (p - positive) for i in range(2)]
        determinant = M[0][0] * M[1][1] - M[0][1] * M[1][0]
        u = (g[0] * M[1][1] - g[1] * M[0][1]) / determinant
        delta = (g[1] * M[0][0] - g[0] * M[1][0]) / determinant
        longest = max(abs(u), abs(delta))
        if longest > MAX_STEP:
            u, delta = u * MAX_STEP / longest, delta * MAX_STEP / longest
        self.a, self.b = _slope(self.a, u), self.b - delta

    def state(self):
        return [self.a, self.b, self.H[0][0], self.H[0][1], self.H[1][1]]


class Temperature:
    """P(k) proportional to exp(a f_k)."""

    def __init__(self):
        self.a, self.h = 1.0, 0.0

    def probabilities(self, f):
        top = max(f)
        p = [exp(self.a * (score - top)) for score in f]
        return [each / sum(p) for each in p]

    def learn(self, f, truth, w):
        p = self.probabilities(f)
        c = [score - f[truth] for score in f]
        mean = sum(each * apart for each, apart in zip(p, c, strict=True))
        variance = sum(each * (apart - mean) ** 2 for each, apart in zip(p, c, strict=True))
        self.h = DECAY**w * self.h + w * variance
        u = self.a * w * mean / (self.a**2 * self.h + 1)
        self.a = _slope(self.a, max(-MAX_STEP, min(MAX_STEP, u)))

    def state(self):
        return [self.a, self.h]


def moderated(score, variance, prior):
    return score / (1 + variance / prior) ** 0.5
