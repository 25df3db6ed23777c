"""The identity: Sigma stays at its prior, under rules that learn no precision. It is not stored."""

from __future__ import annotations

import numpy as np

from .covariance import Covariance, NaturalParameters, Placement
from .settings import Settings
from .state import Size, State
from .weights import UncorrelatedWeights, WeightCovariance


class Identity(UncorrelatedWeights):
    """Replaces any covariance over weights if the rule leaves it at the prior."""

    name = "identity"
    compiled_name = "identity"

    def __init__(self, settings: Settings, kind: type[WeightCovariance]) -> None:
        super().__init__(settings)
        self._kind = kind

    @property
    def kind(self) -> type[Covariance]:
        return self._kind

    def stored_variances(self, state: State, size: Size) -> np.ndarray:
        return np.full(self._shape(size), self.settings.prior_variance)

    def matrix(self, state: State, size: Size) -> np.ndarray:
        d = self._kind.matrix_size(self.settings, *self._shape(size))
        learners = self.settings.learners(size.n_classes)
        return np.broadcast_to(self.settings.prior_variance * np.eye(d), (learners, d, d))

    def contributions(
        self, state: State, rows: np.ndarray, x: np.ndarray, plus: int | None, minus: int | None
    ) -> np.ndarray:
        sides = [column for column in (plus, minus) if column is not None]
        return sum(self.settings.prior_variance for _ in sides) * x**2

    def placed(self, state: State, placement: Placement) -> np.ndarray:
        return np.full((1, 1), self.settings.prior_variance)

    def put(self, state: State, merged: NaturalParameters) -> None:
        """Do nothing, since nothing is stored."""
