"""One of several classes, learned jointly: the margin of a row is that of its class over the best other class."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import calibration as progressive
from .calibration import INITIAL_SLOPE, INITIAL_TEMPERATURE
from .task import Noise, Task, Values


class OneOfSeveral(Task):
    """Base of the tasks that choose one of several classes by the largest score: a column of weights per class."""

    several = True
    least_outputs = 2

    def initial_calibration(self, n_outputs: int) -> tuple[float, ...]:
        return INITIAL_TEMPERATURE

    def calibration_values(self, calibration: np.ndarray) -> Values:
        return progressive.values(calibration, len(INITIAL_TEMPERATURE), several=True)

    def upgraded_calibration(self, calibration: np.ndarray, n_outputs: int) -> np.ndarray:
        return progressive.upgraded(calibration, INITIAL_TEMPERATURE, INITIAL_SLOPE)

    def split_calibration(self, binary: np.ndarray) -> np.ndarray:
        slope, _, curvature = binary[:3].tolist()
        factor = 2 * self.share_of_two  # by which the difference of the two scores is the binary one
        return np.array([slope / factor, curvature * factor**2, *INITIAL_TEMPERATURE[len(INITIAL_SLOPE) :]])

    def merged_calibration(self, parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
        return progressive.merged(parts, several=True)

    def probabilities(self, scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
        return progressive.softmax(scores, calibration)

    def likely(self, mean: np.ndarray, variance: Callable[[], np.ndarray], noise: Noise) -> np.ndarray:
        return progressive.posterior_probabilities(mean, variance())


class Joint(OneOfSeveral):
    """One of several classes; a row moves two of them."""

    name = multiclass = "joint"

    def changed_columns(self, columns: int) -> int:
        return 2
