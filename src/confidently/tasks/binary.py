"""Two classes: one column of weights, whose score is positive for class 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import calibration as progressive
from .calibration import INITIAL_LINE, INITIAL_SIGMOID
from .task import Noise, Task, Values


class Binary(Task):
    """One of two classes; a third makes another task of it."""

    name = "binary"
    binary = True
    classes_before_change = 2

    def columns(self, n_outputs: int) -> int:
        return 1

    def changed_columns(self, columns: int) -> int:
        return 1

    def by_output(self, columns: np.ndarray) -> np.ndarray:
        return columns[..., 0]

    def variances_by_output(self, columns: np.ndarray) -> np.ndarray:
        return self.by_output(columns)

    def initial_calibration(self, n_outputs: int) -> tuple[float, ...]:
        return INITIAL_SIGMOID

    def calibration_values(self, calibration: np.ndarray) -> Values:
        return progressive.values(calibration, len(INITIAL_SIGMOID), several=False)

    def upgraded_calibration(self, calibration: np.ndarray, n_outputs: int) -> np.ndarray:
        return progressive.upgraded(calibration, INITIAL_SIGMOID, INITIAL_LINE)

    def placed_calibration(self, own: np.ndarray, outputs: np.ndarray, n_outputs: int) -> np.ndarray:
        return progressive.mirrored(own) if outputs[0] == 1 else own

    def merged_calibration(self, parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
        return progressive.merged(parts, several=False)

    def names(self, classes: Sequence[Any]) -> list[Any]:
        return [*classes, None, None][: max(2, len(classes))]

    def ranked(self, scores: np.ndarray, decided: np.ndarray) -> np.ndarray:
        return np.column_stack([decided, 1 - decided])

    def decides_by_probability(self, calibration: np.ndarray) -> bool:
        return True

    def probabilities(self, scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
        return progressive.sigmoid(scores, calibration)

    def likely(self, mean: np.ndarray, variance: Callable[[], np.ndarray], noise: Noise) -> np.ndarray:
        return progressive.both_classes(progressive.posterior_probability(mean, variance(), noise))
