"""Entities row by row and weight by weight, in plain Python: the reference of core/entities/entities.hpp."""

from __future__ import annotations

from math import exp, log, pi, sqrt
from typing import Any

from confidently import make_rule

C = pi / 8  # MacKay: the expectation of sigmoid(s), s ~ N(m, v), is about sigmoid(m / sqrt(1 + C v))
DECAY = 1 - 1 / 2000


def sigmoid(t: float) -> float:
    return 1 / (1 + exp(-t)) if t > -700 else 0.0


class Entities:
    """Deviations of entities, for each prior variance and output apart."""

    def __init__(self, priors: list[float], outputs: int, regression: bool = False) -> None:
        self.priors, self.outputs, self.regression = priors, outputs, regression
        self.weights: dict[Any, dict[int, list[list[float]]]] = {}  # key -> feature -> mean and variance of each cell
        self.evidence = [0.0] * (len(priors) + 1)
        self.noise = [[0.0, 0.0] for _ in self.evidence]
        self.rule = make_rule("logistic")

    def cells(self) -> list[tuple[int, int]]:
        return [(k, g) for k in range(self.outputs) for g in range(len(self.priors))]

    def score(self, key: Any, x: dict[int, float]) -> dict[tuple[int, int], tuple[float, float]]:
        own, found = self.weights.get(key, {}), {}
        for c, (k, g) in enumerate(self.cells()):
            cells = {j: own[j][c] if j in own else [0.0, self.priors[g]] for j in x}
            found[k, g] = sum(x[j] * cells[j][0] for j in x), sum(x[j] ** 2 * cells[j][1] for j in x)
        return found

    def sharpened(self, offset: float, g: int, x: dict[int, float]) -> float:
        return offset * sqrt(1 + C * self.priors[g] * sum(value**2 for value in x.values()))

    def probabilities(self, key: Any, x: dict[int, float], offsets: list[float]) -> list[list[float]]:
        """Of every level: the shared model alone first, then each prior variance."""
        score, found = self.score(key, x), [[sigmoid(o) for o in offsets]]
        for g in range(len(self.priors)):
            of_level = []
            for k, offset in enumerate(offsets):
                m, v = score[k, g]
                of_level.append(sigmoid((self.sharpened(offset, g, x) + m) / sqrt(1 + C * v)))
            found.append(of_level)
        return [[p / sum(own) for p in own] if self.outputs > 1 else own for own in found]

    def shares(self) -> list[float]:
        top = max(self.evidence)
        own = [exp(e - top) for e in self.evidence]
        return [one / sum(own) for one in own]

    def probability(self, key: Any, x: dict[int, float], offsets: list[float]) -> list[float]:
        levels, shares = self.probabilities(key, x, offsets), self.shares()
        return [sum(w * own[k] for w, own in zip(shares, levels, strict=True)) for k in range(self.outputs)]

    def number(self, key: Any, x: dict[int, float], offset: float) -> tuple[float, float]:
        """Mean and variance of the target."""
        score = self.score(key, x)
        means = [offset, *(offset + score[0, g][0] for g in range(len(self.priors)))]
        units = [1.0, *(1 + score[0, g][1] for g in range(len(self.priors)))]
        noise = [squares / weight if weight else 0.0 for squares, weight in self.noise]
        shares = self.shares()
        mean = sum(w * m for w, m in zip(shares, means, strict=True))
        return mean, sum(w * (s * u + (m - mean) ** 2) for w, s, u, m in zip(shares, noise, units, means, strict=True))

    def learn(self, key: Any, x: dict[int, float], offsets: list[float], y: float, w: float = 1.0) -> None:
        score, steps = self.score(key, x), {}
        if self.regression:
            self._count_number(score, y - offsets[0], w)
            for k, g in self.cells():
                m, v = score[k, g]
                steps[k, g] = w * (y - offsets[0] - m) / (1 + w * v), w
        else:
            for g, own in enumerate(self.probabilities(key, x, offsets)):
                p = own[int(y)] if self.outputs > 1 else own[0] if y == 1 else 1 - own[0]
                self.evidence[g] = DECAY**w * self.evidence[g] + w * log(p)
            for k, g in self.cells():
                m, v = score[k, g]
                sign = 1 if y == (k if self.outputs > 1 else 1) else -1
                alpha, zeta, *_ = self.rule.compiled.step(sign * (self.sharpened(offsets[k], g, x) + m), v, w)
                steps[k, g] = sign * alpha, zeta
        own = self.weights.setdefault(key, {})
        for j, value in x.items():
            cells = own.setdefault(j, [[0.0, self.priors[g]] for _, g in self.cells()])
            for cell, at in zip(cells, self.cells(), strict=True):
                alpha, zeta = steps[at]
                cell[0] += alpha * cell[1] * value
                cell[1] /= 1 + zeta * value**2 * cell[1]

    def _count_number(self, score: dict[tuple[int, int], tuple[float, float]], left: float, w: float) -> None:
        for g in range(len(self.evidence)):
            m, v = (0.0, 0.0) if g == 0 else score[0, g - 1]
            error, unit, (squares, weight) = left - m, 1 + v, self.noise[g]
            if squares:
                expected = squares / weight * unit
                self.evidence[g] = DECAY**w * self.evidence[g] - w * (log(expected) + error**2 / expected) / 2
            self.noise[g] = [DECAY**w * squares + w * error**2 / unit, DECAY**w * weight + w]
