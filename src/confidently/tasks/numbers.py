"""Numbers: a column of weights each, as they are, less their mean before, or of rows that are centered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from ..rules.rule import Rule
from . import intervals
from . import targets as of_targets
from .grouped import GroupedIntervals
from .groups import Groups
from .intervals import ConformalIntervals
from .targets import INITIAL_TARGET, MIN_SPREAD, OF_ERRORS, Prediction, Targets
from .task import Task, Values

MAX_LOG = 200.0  # of a rate, so that no square of it overflows


class Numbers(Task):
    """Numbers as they are, without an intercept."""

    name = "regression"
    noun, nouns = "number", "numbers"
    regression = True
    reading: ClassVar = {"targets": True}
    least_outputs = 1
    measures = ("rmse", "mae")
    decisive = "rmse"

    def check_outputs(self, n: int) -> None:
        if n < self.least_outputs:
            raise ValueError(f"{self.name} predicts at least {self.least_outputs} number per row, got {n}")

    def initial_calibration(self, n_outputs: int) -> tuple[float, ...]:
        return INITIAL_TARGET * n_outputs

    def calibration_values(self, calibration: np.ndarray) -> Values:
        return of_targets.values(calibration)

    def upgraded_calibration(self, calibration: np.ndarray, n_outputs: int) -> np.ndarray:
        return of_targets.upgraded(calibration, n_outputs)

    def merged_calibration(self, parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
        return of_targets.merged(parts, base)

    def restored_calibration(self, own: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return the errors of before; the offset and the unit are those of all passes."""
        found = own.reshape(-1, len(INITIAL_TARGET)).copy()
        found[:, OF_ERRORS:] = before.reshape(found.shape)[:, OF_ERRORS:]
        return found.ravel()

    def initial_conformal(self, n_outputs: int) -> np.ndarray:
        return intervals.untrained(n_outputs)

    def conformal_values(self, scores: np.ndarray) -> Values:
        return intervals.values(scores)

    def conformal(
        self, scores: np.ndarray, groups: Groups | None = None, repeated: bool = False, centered: float = 0.0
    ) -> ConformalIntervals:
        return ConformalIntervals(scores) if groups is None else GroupedIntervals(scores, groups)

    def settled(self, scores: np.ndarray) -> np.ndarray:
        return intervals.settled(scores)

    def placed_conformal(self, own: np.ndarray, outputs: np.ndarray, n_outputs: int) -> np.ndarray:
        return own

    def merged_conformal(self, parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
        return intervals.merged(parts, base)

    def progressive_errors(self, state: Mapping[str, np.ndarray]) -> dict[str, float]:
        found = Targets.of(state["calibration"])
        return {name: float(getattr(found, name)[0]) for name in ("predicted", "squared_errors", "absolute_errors")}

    def offset(self, rule: Rule, targets: Targets) -> np.ndarray:
        return np.zeros(len(targets.mean))

    def prediction(self, rule: Rule, targets: Targets, scores: np.ndarray, variances: np.ndarray) -> Prediction:
        center = scores + self.offset(rule, targets)
        if rule.counts:
            rate = np.exp(np.minimum(center + 0.5 * variances, MAX_LOG))
            spread = rate + rate**2 * np.expm1(np.minimum(variances, MAX_LOG))
            return Prediction(targets.clipped(rate), np.maximum(spread, MIN_SPREAD), rate)
        noise = rule.noise_variance()
        spread = noise + variances if rule.learns_precision else np.full_like(variances, noise)
        return Prediction(targets.clipped(center), spread, center)


class OffsetNumbers(Numbers):
    """Numbers less the mean of those before, whose logarithm a rule of counts takes."""

    name = "offset-regression"
    has_offset = True

    def offset(self, rule: Rule, targets: Targets) -> np.ndarray:
        if rule.counts:
            return np.log((targets.weight * targets.mean + 0.5) / (targets.weight + 0.5))
        return targets.mean


class CenteredNumbers(OffsetNumbers):
    """Numbers less their mean, of rows less theirs: with squared loss that is the intercept, whose variance counts."""

    name = "centered-regression"
    centered = True

    def prediction(self, rule: Rule, targets: Targets, scores: np.ndarray, variances: np.ndarray) -> Prediction:
        found, weight = super().prediction(rule, targets, scores, variances), targets.weight
        of_mean = np.divide(rule.noise_variance(), weight, out=np.zeros_like(weight), where=weight > 0)
        return found._replace(spread=found.spread + of_mean)
