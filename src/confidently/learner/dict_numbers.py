"""Regressions that train on dicts and data frames, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..covariances import normal_equations
from ..covariances.dense import Dense
from ..covariances.settings import Settings
from ..covariances.state import out_of_range
from ..data.memory.matrix import as_matrix, check_weight
from ..rules.ranges import UNIT, check_number
from ..tasks.targets import MAX_TARGET, Prediction, Targets, variance_factor
from ..views.center import Center
from ..views.columns import ZERO, Columns
from ..wording import counted
from .dict_frames import FrameRows
from .dicts import Row
from .recipe import Recipe

if TYPE_CHECKING:
    import pandas as pd


class NumberRows(FrameRows):
    """A regression that trains on dicts.

    Centered rows of a small matrix are made by the compiled loop; other views train on matrices of one row.

    Parameters
    ----------
    recipe : Recipe
    calibrated : bool
        Whether deviations are those of the errors made in training, or of the noise that the rule assumes.
    bits : int, optional
        Hash the names of features to this many bits.
    """

    until_due = 0  # rows that the compiled loop learns before the covariance is recomputed
    _due = 0

    def __init__(self, recipe: Recipe, calibrated: bool, bits: int | None) -> None:
        super().__init__(recipe, "progressive", bits)  # offset and unit are learned with the errors in any case
        self.calibrated = calibrated
        low, high = recipe.bounds or (None, None)
        self._bounds = -MAX_TARGET if low is None else low, MAX_TARGET if high is None else high

    # --- training ----------------------------------------------------------------------------------------------------

    def learn(self, x: Row, y: Any, weight: float = 1.0) -> None:
        """Train on a row and its number."""
        if weight != 1.0:
            check_weight(weight)
        checked_target(y, self.learner.settings.rule.counts, self._bounds)
        try:
            if not self.growing and self.core.learn_number(x, y, weight):  # the usual case
                if self.until_due:
                    self._count_row()
                return
        except OverflowError:  # which leaves everything as it was
            raise out_of_range(self.learner.dtype) from None
        if self.as_matrices:
            zero, target = np.zeros(1, dtype=np.int32), np.array([[float(y)]])
            self._learn_matrix(x, zero, None, weight, targets=target)
        else:
            self._learn_dict(self.core.learn_number, x, y, weight)
            if self.until_due:
                self._count_row()

    def _count_row(self) -> None:
        """Recompute the covariance from the normal equations once enough rows have been learned."""
        self.until_due -= 1
        if self.until_due:
            return
        state = self.learner.state
        self.until_due = self._due - int(state["counters"][0])  # rows of weight 0 do not count
        if not self.until_due:
            with self._alone():
                covariance = self.learner.covariance
                assert isinstance(covariance, Dense)  # no other keeps normal equations
                covariance.solve(state)
                self._make_room()

    def _make_room(self) -> None:
        super()._make_room()
        self.until_due, state = 0, self.learner.state
        if not self.as_matrices and "precision" in state:
            self.until_due = normal_equations.rows_until_due(state)
            self._due = int(state["counters"][0]) + self.until_due

    def learn_frame(self, X: pd.DataFrame, y: Sequence[Any]) -> None:
        targets = np.asarray(y, dtype=np.float64).reshape(-1, 1)
        if len(targets) != len(X):
            raise ValueError(f"X has {counted(len(X), 'row')} and y {counted(len(targets), 'target')}")
        with self._alone(), self._undone_on_error():
            try:
                rows = self._frame(X, training=True)
                self.grow_features()
                matrix = as_matrix(rows, self.learner.dtype)
                self.learner.learn(matrix, np.zeros(len(targets), dtype=np.int32), targets=targets)
            finally:
                self._make_room()  # also after an interruption, which may leave new arrays

    def grow_features(self) -> None:
        known = self.learner.n_features
        if isinstance(self.learner.view, Center) and self.core.size > known:
            self.learner.grow(n_features=self.core.size, columns=Columns.alike(self.core.size - known, ZERO))
        else:
            super().grow_features()

    # --- predicting --------------------------------------------------------------------------------------------------

    def predict(self, x: Row) -> float:
        """Return the expected number of a row."""
        if self.learner.settings.rule.counts:
            return float(self._predicted(x).mean[0, 0])
        if self.as_matrices:
            return float(self._predict_row(x, "numbers")[0, 0])
        return self.core.number(x)

    def distribution(self, x: Row) -> tuple[float, float]:
        """Return mean and variance of the number of a row."""
        found = self._predicted(x)
        variance = found.spread * variance_factor(self.learner.settings.rule, self.targets(), self.calibrated)
        return float(found.mean[0, 0]), float(variance[0, 0])

    def interval(self, x: Row, coverage: float) -> tuple[float, float]:
        """Return the limits of the central interval of a row's number; infinite ones while errors are too few."""
        check_number("predict_interval_one", "coverage", coverage, UNIT)
        found = self._predict_row(x, "number_distribution")
        low, high = self.learner.intervals(found, coverage, self.calibrated)[0, 0].tolist()
        return low, high

    def _predicted(self, x: Row) -> Prediction:
        if self.as_matrices:
            return self._predict_row(x, "number_distribution")
        mean, variance = (np.array([[number]]) for number in self.core.distribution(x))
        settings: Settings = self.learner.settings
        return settings.task.prediction(settings.rule, self.targets(), mean, variance)

    def predict_frame(self, X: pd.DataFrame) -> pd.Series:
        import pandas as pd

        found = self._predict_rows(self._frame(X, training=False), "number_distribution").mean
        return pd.Series(found[:, 0], index=X.index)

    # --- what was learned --------------------------------------------------------------------------------------------

    def targets(self) -> Targets:
        """Return the statistics of the targets so far."""
        return Targets.of(self.learner.state["calibration"])

    def weights(self, quantity: str) -> dict[Any, Any]:
        names = list(self.features().names)
        self.grow_features()
        found = getattr(self.learner, quantity)()[0]
        return dict(zip(names, found[: len(names)].tolist(), strict=True))


def checked_target(y: Any, counts: bool = False, bounds: tuple[float, float] = (-MAX_TARGET, MAX_TARGET)) -> float:
    """Return a target as a number within bounds; ``counts``: whether it must not be negative."""
    if not -MAX_TARGET <= y <= MAX_TARGET or (y < 0 and counts):
        raise ValueError(f"targets must be {'in 0 to' if counts else 'finite and at most'} {MAX_TARGET:g}, got {y!r}")
    if not bounds[0] <= y <= bounds[1]:
        raise ValueError(f"targets must be in {bounds[0]:g} to {bounds[1]:g}, their bounds, got {y!r}")
    return float(y)
