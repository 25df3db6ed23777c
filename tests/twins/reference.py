"""The learners once more in plain NumPy: the specification, and the slow twin the compiled core is compared with.

Read it in one sitting: :func:`step` has the rules as their papers print them, :class:`ReferenceLearner` the one update.
Nothing here is fast, and nothing is shared with the core.
"""

from __future__ import annotations

from math import exp, inf, log, pi, sqrt
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import norm


def step(
    rule: str, m: float, v: float, w: float = 1.0, updates: int = 0, **p: float
) -> tuple[float, float, float] | None:
    """alpha, zeta and scale of a rule, from its formula; None where it passes. w: weight of the example."""
    phi = p.get("phi") or (norm.ppf(p["eta"]) if p.get("eta") else 0.0)
    psi, xi = 1 + phi**2 / 2, 1 + phi**2
    alpha, zeta, scale, hard = 0.0, 0.0, 1.0, False
    C, c, epsilon = w * p.get("C", 0.0), w * p.get("c", 0.0), p.get("epsilon", 1.0)

    def cw_zeta(alpha: float) -> float:
        sqrt_u = (-alpha * v * phi + sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
        return alpha * phi / sqrt_u

    def cw_alpha() -> float:
        return (-m * psi + sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi)

    if rule == "perceptron" and m <= 0:
        alpha, hard = 1.0, True
    elif rule == "pa" and m < 1:
        alpha, hard = (1 - m) / v, True
    elif rule == "pa1" and m < 1:
        alpha = min(C, (1 - m) / v)
    elif rule == "pa2" and m < 1:
        alpha = (1 - m) / (v + 1 / (2 * C))
    elif rule == "sop" and m <= 0:
        alpha, zeta, hard = (1 - m) / (1 + v), 1.0, True
    elif rule == "cw_stdev" and m < phi * sqrt(v):
        alpha, hard = cw_alpha(), True
        zeta = cw_zeta(alpha)
    elif rule == "cw_var" and m < phi * v:
        b = 1 + 2 * phi * m
        alpha, hard = (-b + sqrt(b**2 - 8 * phi * (m - phi * v))) / (4 * phi * v), True
        zeta = 2 * alpha * phi
    elif rule == "arow" and m < 1:
        alpha, zeta = (1 - m) / (v + p["r"] / w), w / p["r"]
    elif rule == "scw1" and m < phi * sqrt(v):
        alpha = min(C, cw_alpha())
        zeta = cw_zeta(alpha)
    elif rule == "scw2" and m < phi * sqrt(v):
        n = v + 1 / (2 * C)
        g = phi * sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        alpha = (-(2 * m * n + phi**2 * m * v) + g) / (2 * (n**2 + n * v * phi**2))
        zeta = cw_zeta(alpha)
    elif rule == "nherd" and m < 1:
        alpha, zeta = (1 - m) / (v + 1 / C), 2 * C + C**2 * v
    elif rule == "cellip" and m <= 0:
        t = (p["a"] * p["gamma"] - m) / sqrt(v)
        if t < 1:
            alpha, zeta, scale, hard = t / sqrt(v), 2 * t / ((1 - t) * v), 1 - t**2, True
    elif rule == "iellip" and m <= 0:
        ck = p["c"] * p["b"] ** updates
        alpha, zeta, scale, hard = (p["gamma"] - m) / v, ck / ((1 - ck) * v), 1 / (1 - ck), True
    elif rule == "bayespa" and m < epsilon:
        alpha = min(2 * c, (epsilon - m) / v)
    elif rule == "gibbs_pa":
        # zeta solves zeta^2 ((epsilon - m')^2 + v') = c^2 with m', v' after the step
        def gap(a: float) -> float:
            d = (epsilon - m - c * v) / (1 + a * v)
            return a**2 * (d**2 + v / (1 + a * v)) - c**2

        high = 1.0
        while gap(high) < 0:
            high *= 2
        zeta = brentq(gap, 0, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
        alpha = (c + zeta * (epsilon - m)) / (1 + zeta * v)
    elif rule == "gibbs_pa_exact":
        s = sqrt(v)
        log_a = log_ndtr((m - epsilon) / s)
        log_b = -2 * c * (epsilon - m) + 2 * c**2 * v + log_ndtr((epsilon - m - 2 * c * v) / s)
        log_z = np.logaddexp(log_a, log_b)
        density = exp(-((epsilon - m) ** 2) / (2 * v) - log(2 * pi * v) / 2 - log_z)
        r, rest = exp(log_b - log_z), exp(log_a - log_z)
        kappa = min(max(2 * c * density - 4 * c**2 * r * rest, 0.0), (1 - 1e-12) / v)
        alpha, zeta = 2 * c * r, kappa / (1 - kappa * v)
    elif rule == "probit":
        s = sqrt(p["noise"] ** 2 + v)
        t = m / s
        V = exp(-(t**2) / 2 - log(2 * pi) / 2 - log_ndtr(t))
        W = min(max(V * (V + t) / s**2, 0.0), (1 - 1e-12) / v)
        alpha, zeta, hard = V / s, W / (1 - W * v), True
    if hard:
        alpha, zeta, scale = w * alpha, w * zeta, scale**w
    return (alpha, zeta, scale) if alpha or zeta else None


class ReferenceLearner:
    """One Gaussian over weights, moved by every example; dense rows, one at a time.

    Parameters
    ----------
    rule : str
    parameters : dict
    covariance : {"identity", "diag", "full", "shared"}
    task : {"binary", "joint", "one-vs-rest", "multilabel"}
    n_classes, n_features : int
    prior_variance, min_variance, fit_intercept, average, forget
        As in :class:`confidently.learner.learner.Learner`.
    """

    def __init__(
        self, rule: str, parameters: dict[str, float], covariance: str, task: str, n_classes: int, n_features: int,
        prior_variance: float = 1.0, min_variance: float = 1e-12, fit_intercept: bool = True, average: bool = False,
        forget: float = 0.0,
    ) -> None:  # fmt: skip
        self.rule, self.parameters, self.covariance, self.task = rule, parameters, covariance, task
        self.prior, self.least, self.intercept = prior_variance, min_variance * prior_variance, fit_intercept
        self.average, self.forget = average, forget
        self.columns = {"binary": 1, "multilabel": n_classes + 1}.get(task, n_classes)
        self.d = n_features + fit_intercept
        self.mean = np.zeros((self.columns, self.d))
        self.total = np.zeros_like(self.mean)  # sum of the means after every row
        size = {"full": self.columns * self.d, "shared": self.d}.get(covariance, 0)
        flat = np.full((self.columns, self.d), prior_variance)
        self.sigma: Any = prior_variance * np.eye(size) if size else flat
        if covariance == "full" and task == "one-vs-rest":
            self.sigma = [prior_variance * np.eye(self.d) for _ in range(self.columns)]
        self.n_seen = self.mistakes = self.infeasible = 0
        self.updates = np.zeros(self.columns, dtype=int)  # one-vs-rest: one a class, else only the first counts

    def learn(self, X: np.ndarray, labels: list[Any], weights: np.ndarray | None = None) -> None:
        """Learn rows; labels are class numbers, or sets of them in the multilabel task."""
        for i, (x, label) in enumerate(zip(X, labels, strict=True)):
            w = 1.0 if weights is None else weights[i]
            if w > 0:
                self.n_seen += 1
                self.mistakes += self._row(np.append(x, 1.0) if self.intercept else x, label, w)
                self.total += self.mean
                if self.forget:
                    self._forget((1 - self.forget) ** w)

    def weights(self) -> np.ndarray:
        """The predicting weights, a row a column of the core's."""
        return self.total / self.n_seen if self.average and self.n_seen else self.mean

    def _forget(self, keep: float) -> None:
        """Sigma^-1 <- keep Sigma^-1 + (1 - keep) prior^-1, of a diagonal; the mean stays."""
        self.sigma = 1 / (keep / self.sigma + (1 - keep) / self.prior)

    def _row(self, x: np.ndarray, label: Any, w: float) -> bool:
        """Learn one row; True if it was predicted wrongly."""
        if self.task == "binary":
            plus, minus = (0, None) if label == 1 else (None, 0)
            return self._update(x, plus, minus, w) <= 0
        scores = self.mean @ x
        if self.task == "multilabel":
            return self._multilabel(x, scores, {k + 1 for k in label}, w)
        rival = max((k for k in range(self.columns) if k != label), key=lambda k: scores[k])
        if self.task == "joint":
            self._update(x, label, rival, w)
        else:
            for k in range(self.columns):
                plus, minus = (k, None) if k == label else (None, k)
                self._update(x, plus, minus, w)
        return bool(scores[label] <= scores[rival])

    def _multilabel(self, x: np.ndarray, scores: np.ndarray, relevant: set[int], w: float) -> bool:
        """Worst relevant against best irrelevant label; then the nearer of the two against the threshold, column 0."""
        worst = min(sorted(relevant), key=lambda k: scores[k], default=None)
        best = max((k for k in range(1, self.columns) if k not in relevant), key=lambda k: scores[k], default=None)
        if worst is not None and best is not None:
            self._update(x, worst, best, w)
        above = inf if worst is None else scores[worst] - scores[0]
        below = inf if best is None else scores[0] - scores[best]
        plus, minus = (worst, 0) if above <= below else (0, best)
        self._update(x, plus, minus, w)
        return worst is not None and best is not None and bool(scores[worst] <= scores[best])

    def _update(self, x: np.ndarray, plus: int | None, minus: int | None, w: float) -> float:
        """Look, ask the rule, move. z = x (x) (e_plus - e_minus); returns the margin before the move."""
        Z = np.zeros((self.columns, self.d))
        if plus is not None:
            Z[plus] = x
        if minus is not None:
            Z[minus] = -x
        own = minus if plus is None else plus
        assert own is not None
        learner = own if self.task == "one-vs-rest" else 0
        margin, (direction, v, spent) = float((Z * self.mean).sum()), self._look(Z, x, learner)
        if v <= 0:
            return margin
        answer = step(self.rule, margin, v, w, int(self.updates[learner]), **self.parameters)
        if answer is None:
            a_gamma = self.parameters.get("a", 0.0) * self.parameters.get("gamma", 0.0)
            self.infeasible += self.rule == "cellip" and margin <= 0 and a_gamma - margin >= sqrt(v)
            return margin
        alpha, zeta, scale = answer
        self.mean += alpha * direction
        self.updates[learner] += 1
        if not spent:
            self._learn_precision(Z, x, direction, v, zeta, scale, learner)
        return margin

    def _look(self, Z: np.ndarray, x: np.ndarray, learner: int) -> tuple[np.ndarray, float, bool]:
        """Sigma z in the shape of the mean, z' Sigma z, and whether nothing is left to learn along z."""
        if self.covariance in ("identity", "diag"):
            direction = self.sigma * Z
        elif self.covariance == "shared":
            direction = Z @ self.sigma
        elif self.task == "one-vs-rest":
            direction = np.zeros_like(Z)
            direction[learner] = self.sigma[learner] @ Z[learner]
        else:
            direction = (self.sigma @ Z.ravel()).reshape(Z.shape)
        v, floor = float((Z * direction).sum()), self.least * float((Z * Z).sum())
        spent = self.covariance in ("full", "shared") and v <= floor
        return direction, floor if spent else v, spent

    def _learn_precision(
        self, Z: np.ndarray, x: np.ndarray, direction: np.ndarray, v: float, zeta: float, scale: float, learner: int
    ) -> None:
        """Sigma^-1 <- (Sigma^-1 + zeta z z')/scale; a diagonal keeps the diagonal of the precision."""
        if self.covariance == "diag":
            rows = [learner] if self.task == "one-vs-rest" else slice(None)
            sigma, z = self.sigma[rows], Z[rows]
            self.sigma[rows] = np.maximum(scale * sigma / (1 + zeta * z**2 * sigma), self.least)
        elif self.covariance == "shared":
            q = self.sigma @ x
            self.sigma = scale * (self.sigma - zeta / (1 + zeta * (x @ q)) * np.outer(q, q))
        elif self.covariance == "full":
            q = direction[learner] if self.task == "one-vs-rest" else direction.ravel()
            sigma = self.sigma[learner] if self.task == "one-vs-rest" else self.sigma
            sigma = scale * (sigma - zeta / (1 + zeta * v) * np.outer(q, q))
            if self.task == "one-vs-rest":
                self.sigma[learner] = sigma
            else:
                self.sigma = sigma
