"""The online calibrations in plain Python: what core/tasks/calibration.hpp computes, as docs/mathematics.md has it.

Nothing is shared with the core.
"""

from __future__ import annotations

from math import exp, floor

DECAY = 1 - 1 / 2000
MIN_SLOPE, MAX_STEP = 1e-3, 0.5
KNOT_CURVATURE, FALL = 8, 0.95


def _slope(a, u):
    return max(a * (2 - u) / (2 + u), MIN_SLOPE)


def _sigmoid(t):
    return 1 / (1 + exp(-t)) if t >= 0 else exp(t) / (1 + exp(t))


def _softmax(t):
    p = [exp(each) for each in t]
    return [each / sum(p) for each in p]


class Line:
    """P(positive) = 1/(1 + exp(-(a f + b)))."""

    def __init__(self):
        self.a, self.b, self.H = 1.0, 0.0, [[0.0, 0.0], [0.0, 0.0]]

    def at(self, f):
        return self.a * f + self.b

    def learn(self, f, positive, w, p=None):
        p = _sigmoid(self.at(f)) if p is None else p
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

    def steepen(self):
        (haa, hab), (_, hbb) = self.H
        self.a, self.H = 2 * self.a, [[haa / 4, hab / 2], [hab / 2, hbb]]

    def state(self):
        return [self.a, self.b, self.H[0][0], self.H[0][1], self.H[1][1]]


class Slope:
    """P(k) proportional to exp(a f_k)."""

    def __init__(self):
        self.a, self.h = 1.0, 0.0

    def at(self, f):
        return [self.a * (score - max(f)) for score in f]

    def learn(self, f, truth, w, p=None):
        p = _softmax(self.at(f)) if p is None else p
        c = [score - f[truth] for score in f]
        mean = sum(each * apart for each, apart in zip(p, c, strict=True))
        variance = sum(each * (apart - mean) ** 2 for each, apart in zip(p, c, strict=True))
        self.h = DECAY**w * self.h + w * variance
        u = self.a * w * mean / (self.a**2 * self.h + 1)
        self.a = _slope(self.a, max(-MAX_STEP, min(MAX_STEP, u)))

    def steepen(self):
        self.a, self.h = 2 * self.a, self.h / 4

    def state(self):
        return [self.a, self.h]


class ScoreSize:
    """Mean of |f| over about 200 rows; says when it has halved."""

    def __init__(self):
        self.mean = self.least = self.rows = 0.0

    def halved(self, f, w):
        settled = self.rows >= 200
        counted = min(abs(f), 4 * self.mean) if settled and self.mean > 0 else abs(f)
        self.rows = min(self.rows + w, 200.0)
        self.mean += (counted - self.mean) * min(w / self.rows, 1.0)
        if not settled:
            self.least = self.mean / 2
            return False
        if self.mean < self.least:
            self.least /= 2
            return True
        self.least = max(self.least, self.mean / 2)
        return False

    def state(self):
        return [self.mean, self.least, self.rows]


class Correction:
    """w(t), with straight lines between the knots first, first + 1, ..."""

    def __init__(self, first, knots):
        self.first, self.w, self.h = first, [0.0] * knots, [0.0] * knots

    def hats(self, t):
        """Return how much every knot counts at t."""
        at = min(max(t - self.first, 0.0), len(self.w) - 1.0)
        left = min(floor(at), len(self.w) - 2)
        return {left: left + 1 - at, left + 1: at - left}

    def at(self, t):
        return sum(self.w[knot] * hat for knot, hat in self.hats(t).items())

    def step(self, knot, gradient, curvature, weight):
        self.h[knot] = DECAY**weight * self.h[knot] + curvature
        self.w[knot] -= max(-MAX_STEP, min(MAX_STEP, gradient / (self.h[knot] + KNOT_CURVATURE)))

    def state(self):
        return [*self.w, *self.h]


class Sigmoid:
    """P(positive) = 1/(1 + exp(-(t + w(t)))), t = a f + b."""

    def __init__(self):
        self.line, self.size, self.map = Line(), ScoreSize(), Correction(-6.5, 14)

    def logit(self, f):
        t = self.line.at(f)
        return t + self.map.at(t)

    def probability(self, f):
        return _sigmoid(self.logit(f))

    def learn(self, f, positive, w):
        p, hats, found = self.probability(f), self.map.hats(self.line.at(f)), self.map.w
        for knot, hat in hats.items():
            self.map.step(knot, w * (p - positive) * hat, w * p * (1 - p) * hat**2, w)
        left = min(hats)  # the two values: within the neighbors' bounds, then not falling too far between them
        low = found[left - 1] - FALL if left > 0 else -1e300
        high = found[left + 2] + FALL if left + 2 < len(found) else 1e300
        found[left], found[left + 1] = max(found[left], low), min(found[left + 1], high)
        if found[left] - found[left + 1] > FALL:
            middle = (found[left] + found[left + 1]) / 2
            found[left] = max(min(middle + FALL / 2, high + FALL), low)
            found[left + 1] = found[left] - FALL
        self.line.learn(f, positive, w, p)
        if self.size.halved(f, w):
            self.line.steepen()

    def state(self):
        return [*self.line.state(), *self.size.state(), *self.map.state()]


class Temperature:
    """P(k) proportional to exp(t_k + w(t_k)), t_k = a (f_k - max f)."""

    def __init__(self):
        self.slope, self.size, self.map = Slope(), ScoreSize(), Correction(-9.5, 11)

    def probabilities(self, f):
        return _softmax([t + self.map.at(t) - self.map.at(0.0) for t in self.slope.at(f)])

    def learn(self, f, truth, w):
        p, t, knots = self.probabilities(f), self.slope.at(f), range(len(self.map.w))
        hats = [self.map.hats(each) for each in t]
        for knot in knots:
            touched = [(k, hat[knot]) for k, hat in enumerate(hats) if knot in hat]
            gradient = sum(w * (p[k] - (k == truth)) * hat for k, hat in touched)
            curvature = sum(w * p[k] * (1 - p[k]) * hat**2 for k, hat in touched)
            if curvature > 0:
                self.map.step(knot, gradient, curvature, w)
        for knot in knots[1:]:
            self.map.w[knot] = max(self.map.w[knot], self.map.w[knot - 1] - FALL)
        self.slope.learn(f, truth, w, p)
        if self.size.halved(sum(max(f) - score for score in f) / len(f), w):
            self.slope.steepen()

    def state(self):
        return [*self.slope.state(), *self.size.state(), *self.map.state()]


class Labels:
    """A sigmoid for every label, and the F1 of the labels predicted so far."""

    def __init__(self, labels):
        self.sigmoids, self.hits, self.chances = [Sigmoid() for _ in range(labels)], [0.0] * labels, [0.0] * labels

    def threshold(self):
        return (sum(self.hits) + 0.5) / (sum(self.chances) + 1)

    def learn(self, scores, relevant, w):
        threshold = self.threshold()
        for k, (sigmoid, f) in enumerate(zip(self.sigmoids, scores, strict=True)):
            predicted = sigmoid.probability(f) > threshold
            self.hits[k] = DECAY**w * self.hits[k] + w * (predicted and k in relevant)
            self.chances[k] = DECAY**w * self.chances[k] + w * (int(predicted) + int(k in relevant))
            sigmoid.learn(f, k in relevant, w)

    def state(self):
        counts = zip(self.sigmoids, self.hits, self.chances, strict=True)
        return [number for sigmoid, hit, chance in counts for number in (*sigmoid.state(), hit, chance)]


def moderated(score, variance, prior):
    return score / (1 + variance / prior) ** 0.5
