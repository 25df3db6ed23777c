"""The shared covariance: one matrix over the features, for all classes."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..tasks.task import Task
from .dense import Dense
from .dense_matrices import quadratic_forms
from .host_arrays import NumpyArrays
from .settings import Settings
from .state import Size, State


class Shared(Dense):
    """One covariance matrix of the features, shared by all classes; weights of different classes are independent."""

    name = "shared"
    compiled_name = "shared"
    couples_classes = True

    @classmethod
    def matrix_size(cls, settings: Settings, rows: int, columns: int) -> int:
        return rows

    @classmethod
    def check_task(cls, task: Task) -> None:
        if task.separate:
            raise ValueError(
                'covariance="shared" couples the classes, so one-vs-rest cannot use it; use multiclass="joint"'
            )

    @property
    def sharing(self) -> _core.Sharing:
        return _core.Sharing.shared

    def _block_variances(
        self, state: State, A: np.ndarray, threshold: bool, into: np.ndarray, arrays: NumpyArrays
    ) -> None:
        into[:] = quadratic_forms(arrays, state, 0, A, 0)[:, None] * (2.0 if threshold else 1.0)

    def _pair_variances(
        self, state: State, A: np.ndarray, first: np.ndarray, second: np.ndarray, into: np.ndarray,
        arrays: NumpyArrays,
    ) -> None:  # fmt: skip
        into[:] = 2.0 * quadratic_forms(arrays, state, 0, A, 0)

    def stored_variances(self, state: State, size: Size) -> np.ndarray:
        return np.broadcast_to(super().stored_variances(state, size), self._shape(size))

    def marginal(self, state: State, size: Size, column: int) -> np.ndarray:
        return (2.0 if self.settings.task.has_threshold else 1.0) * self.matrix(state, size)[0]

    def _one_matrix_suffices(self) -> bool:
        return not self.settings.task.multilabel

    def contributions(
        self, state: State, rows: np.ndarray, x: np.ndarray, plus: int | None, minus: int | None
    ) -> np.ndarray:
        sides = sum(column is not None for column in (plus, minus))
        return sides * x * (self._entries(state, 0, rows, rows) @ x)

    def of_two_classes(self, sigma: np.ndarray) -> np.ndarray:
        return sigma[None]
