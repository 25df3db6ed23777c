"""One variance per weight, in plane 1 of the weights; it supports forgetting.

=====  ================  =====================================================================================
kept   (L,) float64      only with forgetting: the fraction that is left of the stored precision in excess of an
                         unseen feature's (core/covariances/forgetting.hpp)
=====  ================  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..rules.ranges import POSITIVE, Range
from .covariance import Covariance, NaturalParameters, Placement
from .identity import Identity
from .names import DIAGONAL
from .settings import Settings
from .state import MAX_VARIANCE, REAL, Shapes, Size, State
from .weights import UncorrelatedWeights


class Diagonal(UncorrelatedWeights):
    """One variance per weight.

    ``projection="precision"`` keeps the precisions of an updated Gaussian, s_j <- scale s_j / (1 + zeta z_j^2 s_j);
    ``"moments"`` keeps its variances, s_j <- scale (s_j - zeta/(1 + zeta v) (z_j s_j)^2).
    """

    name = DIAGONAL
    compiled_name = DIAGONAL
    is_diagonal = True
    has_variances = True

    @classmethod
    def of(cls, settings: Settings) -> Covariance:
        return cls(settings) if settings.rule.learns_precision else Identity(settings, cls)

    @property
    def planes(self) -> int:
        return 2 + self.settings.average

    # --- the state ----------------------------------------------------------------------------------------------------

    def own_shapes(self, size: Size, arrays: State | None) -> Shapes:
        kept = {"kept": ((self.settings.learners(size.n_classes),), REAL)} if self.settings.forget else {}
        return kept | super().own_shapes(size, arrays)

    def add_entries(self, state: State, size: Size) -> None:
        if self.settings.forget:
            state["kept"] = np.ones(self.settings.learners(size.n_classes))
        super().add_entries(state, size)

    def prior_weights(self, state: State, rows: int, columns: int) -> np.ndarray:
        weights = super().prior_weights(state, rows, columns)
        folded, prior, least = state["folded"], self.settings.prior_variance, self.settings.min_variance
        weights[:, 1] = prior * np.maximum(folded, least)
        return weights

    def own_values(self, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield from super().own_values(state)
        largest = MAX_VARIANCE["float64"] / max(max(state["scale"].tolist(), default=0.0), 1.0)
        yield "the variances of weights", state["weights"][:, 1], Range(0.0, largest, closed_low=True, closed_high=True)
        if self.settings.forget:
            yield "kept", state["kept"], Range(0.0, 1.0, closed_high=True)
            yield "folded", np.maximum(state["folded"], self.settings.min_variance), POSITIVE

    def grow_classes(self, state: State, n_classes: int) -> None:
        super().grow_classes(state, n_classes)
        if self.settings.forget:
            state["kept"] = np.append(state["kept"], np.ones(len(state["scale"]) - len(state["kept"])))

    def variances_of(self, state: State, stored: np.ndarray, learner: int | slice) -> np.ndarray:
        """Return the variances that stored ones represent, for the learner or learners of their columns (last axis)."""
        settings, found = self.settings, stored.astype(np.float64)
        if settings.forget:
            found = found / self._forgetting_divisor(state, found, learner)
        least = settings.floor
        return np.maximum(found * state["scale"][learner], least)

    def _forgetting_divisor(self, state: State, stored: np.ndarray, learner: int | slice) -> np.ndarray:
        """Return the divisor of stored variances that forgetting implies; 1 for unseen features."""
        settings, kept = self.settings, state["kept"][learner]
        folded = np.maximum(state["folded"][learner], settings.min_variance)
        return kept + (1.0 - kept) / (settings.prior_variance * folded) * stored

    @property
    def forget_per_row(self) -> float:
        return self.settings.forget

    # --- marginals and explanations -----------------------------------------------------------------------------------

    def stored_variances(self, state: State, size: Size) -> np.ndarray:
        return self.variances_of(state, self.weights(state, size.n_features)[:, 1], slice(None))

    def unseen_variances(self, state: State) -> np.ndarray:
        stored = self.prior_weights(state, 1, state["weights"].shape[2])[0, 1].astype(np.float64)
        return self.scaled(state, stored)

    def contributions(
        self, state: State, rows: np.ndarray, x: np.ndarray, plus: int | None, minus: int | None
    ) -> np.ndarray:
        sides = [column for column in (plus, minus) if column is not None]
        variances = [
            self.variances_of(state, state["weights"][rows, 1, column], self.learner_of(column)) for column in sides
        ]
        return sum(variances) * x**2

    # --- merging ------------------------------------------------------------------------------------------------------

    def flushed(self, state: State, n_features: int) -> State:
        flushed = super().flushed(state, n_features)
        self._apply_forgetting(flushed)
        return flushed

    def _apply_forgetting(self, state: State) -> None:
        """Apply the forgetting to a copy of the stored variances, so that variances are the scale times those."""
        if self.settings.forget:
            weights = state["weights"].copy()
            weights[:, 1] /= self._forgetting_divisor(state, weights[:, 1].astype(np.float64), slice(None))
            state["weights"], state["kept"] = weights, np.ones_like(state["kept"])

    def split(self, state: State, multiclass: Covariance) -> None:
        self._apply_forgetting(state)
        super().split(state, multiclass)

    def _split_own(self, state: State, fraction: float, multiclass: Covariance) -> None:
        super()._split_own(state, fraction, multiclass)
        if self.settings.forget:
            state["kept"] = np.ones(multiclass.settings.learners(2))

    def placed(self, state: State, placement: Placement) -> np.ndarray:
        prior, floor = self.settings.prior_variance, self.settings.floor
        found = np.full((placement.columns, placement.rows), prior)
        variances = np.maximum(state["weights"][:, 1], floor / state["scale"]) / state["folded"]
        for own, column in enumerate(placement.at_columns):
            found[column, placement.at_rows] = variances[:, own]
        return found

    def put(self, state: State, merged: NaturalParameters) -> None:
        prior = self.settings.prior_variance
        untouched = merged.precision == 1.0 / prior  # bit for bit, so that files can omit them
        state["weights"][:, 1] = np.where(untouched, prior, merged.covariance).T
