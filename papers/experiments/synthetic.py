"""Crammer et al. 2008, Fig. 2a, 2b and 3: points in twenty dimensions, two of which are relevant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from confidently.estimators.classifier import OnlineClassifier
from confidently.evaluation.progressive import progressive_validation
from confidently.rules import make_rule

POINTS, TEST_POINTS, FEATURES = 1000, 10_000, 20
STRIDE = 50  # rows between two points of the curves
SEPARATOR = np.array([1.0, -1.0]) / np.sqrt(2)  # across the long axis
COARSE = 3  # every third setting is tried on a third of the tuning seeds, then the neighbors of the best on all
# Seeds of the runs that choose parameters start above those of the reported runs.
TUNING_SEEDS = 1_000_000


@dataclass(frozen=True)
class Axes:
    """Standard deviations: of the two relevant features, along and across 45 degrees, and of the others."""

    long: float
    short: float = 1.0
    noise: float = 2.0

    def __str__(self) -> str:
        noise = "" if self.noise == Axes.noise else f", noise {self.noise:g}"
        return f"{self.long:g} : {self.short:g}{noise}"


def points(rng: np.random.Generator, n: int, axes: Axes) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels: the sign of the position across the long axis, in the first two features."""
    along, across = axes.long * rng.standard_normal(n), axes.short * rng.standard_normal(n)
    X = np.empty((n, FEATURES))
    X[:, 0], X[:, 1] = (along + across) / np.sqrt(2), (along - across) / np.sqrt(2)
    X[:, 2:] = axes.noise * rng.standard_normal((n, FEATURES - 2))
    return X, np.where(across > 0, 1, -1)


@dataclass(frozen=True)
class Contender:
    """A learner of the figure and the settings from which one is chosen."""

    name: str
    rule: str
    covariance: str = "diag"
    grid: tuple[dict[str, float], ...] = ({},)
    second_order: bool = True

    def make(self, setting: dict[str, float], average: bool = False) -> OnlineClassifier:
        """Create the learner with a setting: parameters of the rule, and optionally ``prior_variance``."""
        parameters = {key: value for key, value in setting.items() if key != "prior_variance"}
        return OnlineClassifier(
            make_rule(self.rule, **parameters), self.covariance, fit_intercept=False, average=average,
            prior_variance=setting.get("prior_variance", 1.0), calibration=None, view=None
        )  # fmt: skip


PHIS = tuple(round(float(phi), 3) for phi in np.geomspace(0.1, 3.0, 31))
# One parameter each: CW-Stdev's prior variance p only sets the scale of the weights (Lemma 3), and CW-Var depends on
# phi sqrt(p) alone; the second-order perceptron has no parameter but p.
CONFIDENCES = tuple({"phi": phi} for phi in PHIS)
PRIORS = tuple({"prior_variance": float(p)} for p in np.geomspace(1e-2, 1e4, 13))
COSTS = tuple({"C": float(C)} for C in np.geomspace(1e-3, 1e3, 13))
CONTENDERS = (
    Contender("Perceptron", "perceptron", second_order=False),
    Contender("PA", "pa1", grid=COSTS, second_order=False),
    Contender("SOP", "sop", "full", PRIORS),
    Contender("CW-Stdev diag", "cw_stdev", "diag", CONFIDENCES),
    Contender("CW-Stdev full", "cw_stdev", "full", CONFIDENCES),
    Contender("CW-Var diag", "cw_var", "diag", CONFIDENCES),
    Contender("CW-Var full", "cw_var", "full", CONFIDENCES),
)


def mistakes(contender: Contender, positions: Sequence[int], axes: Axes, seeds: Sequence[int]) -> np.ndarray:
    """Return the mistakes in one pass, (settings, seeds), of the settings at some positions of the grid."""
    found = np.empty((len(positions), len(seeds)))
    for column, seed in enumerate(seeds):
        X, y = points(np.random.default_rng(seed), POINTS, axes)
        for row, position in enumerate(positions):
            found[row, column] = contender.make(contender.grid[position]).fit(X, y).mistakes_
    return found


@dataclass
class Outcome:
    """Results of the repetitions of one contender."""

    setting: dict[str, float]
    curves: np.ndarray  # (repetitions, points): mistakes so far
    test: np.ndarray  # (repetitions,): error on unseen points
    averaged: np.ndarray = field(default_factory=lambda: np.empty(0))  # the same for the averaged variant

    @property
    def total(self) -> np.ndarray:
        """Mistakes of each repetition."""
        return self.curves[:, -1]


def repetitions(chosen: dict[str, dict[str, float]], axes: Axes, seeds: Sequence[int]) -> dict[str, Outcome]:
    """Run every contender on the same points, for each seed."""
    outcomes: dict[str, list[tuple[np.ndarray, float, float]]] = {c.name: [] for c in CONTENDERS}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y = points(rng, POINTS, axes)
        X_test, y_test = points(rng, TEST_POINTS, axes)
        for c in CONTENDERS:
            curve = progressive_validation(c.make(chosen[c.name]), X, y, at=STRIDE)
            averaged = np.nan
            if not c.second_order:
                model = c.make(chosen[c.name], average=True).fit(X, y)
                averaged = _error(model, X_test, y_test)
            outcomes[c.name].append((curve.mistakes[0], _error(curve.models[0], X_test, y_test), averaged))
    return {
        name: Outcome(chosen[name], *(np.array(column) for column in zip(*found, strict=True)))
        for name, found in outcomes.items()
    }


def _error(model: OnlineClassifier, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(y * (X @ model.coef_[0]) <= 0))


def joined(parts: list[dict[str, Outcome]]) -> dict[str, Outcome]:
    """Join the repetitions of several calls."""
    return {
        name: Outcome(
            parts[0][name].setting,
            *(np.concatenate([getattr(p[name], array) for p in parts]) for array in ("curves", "test", "averaged")),
        )
        for name in parts[0]
    }


def experiment(run: Any, axes: Axes, repeat: int, tuning: int, block: int = 20) -> dict[str, Outcome]:
    """Choose every contender's setting on separate seeds, then repeat the runs with it."""
    title = f"axes {axes}"
    base = run.seed * 2 * TUNING_SEEDS
    seeds = range(base + TUNING_SEEDS, base + TUNING_SEEDS + tuning)
    coarse = {c.name: list(range(0, len(c.grid), COARSE)) for c in CONTENDERS}
    best = _best(run, f"{title}, coarse tuning", axes, coarse, seeds[: -(-tuning // COARSE)])
    near = {c.name: [k for k in range(len(c.grid)) if abs(k - best[c.name]) < COARSE] for c in CONTENDERS}
    best = _best(run, f"{title}, fine tuning", axes, near, seeds)
    chosen = {c.name: c.grid[best[c.name]] for c in CONTENDERS}
    seeds = range(base, base + repeat)
    blocks = [seeds[i : i + block] for i in range(0, repeat, block)]
    return joined(run.each(f"{title}, runs", repetitions, [(chosen, axes, b) for b in blocks]))


def _best(run: Any, stage: str, axes: Axes, positions: dict[str, list[int]], seeds: Sequence[int]) -> dict[str, int]:
    """Return by contender which of these positions of its grid gives the fewest mistakes on average."""
    cut = [seeds[i : i + 10] for i in range(0, len(seeds), 10)]
    found = run.each(stage, mistakes, [(c, positions[c.name], axes, some) for c in CONTENDERS for some in cut])
    best = {}
    for k, c in enumerate(CONTENDERS):
        mean = np.hstack(found[k * len(cut) : (k + 1) * len(cut)]).mean(axis=1)
        best[c.name] = positions[c.name][int(mean.argmin())]
    return best
