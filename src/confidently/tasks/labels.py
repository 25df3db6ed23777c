"""Any number of labels: each with a learner of its own, or ranked jointly against a threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from .. import _core
from . import calibration as progressive
from .calibration import INITIAL_LABEL, INITIAL_LINE
from .task import Noise, Task, Values


class Labels(Task):
    """Base of the tasks that choose any number of labels: a calibration per label."""

    noun, nouns = "label", "labels"
    multilabel = True
    reading: ClassVar = {"multilabel": True}
    classes_before_change = 0

    def initial_calibration(self, n_outputs: int) -> tuple[float, ...]:
        return INITIAL_LABEL * n_outputs

    def calibration_values(self, calibration: np.ndarray) -> Values:
        return progressive.values(calibration, len(INITIAL_LABEL), several=False)

    def upgraded_calibration(self, calibration: np.ndarray, n_outputs: int) -> np.ndarray:
        return progressive.upgraded(calibration, INITIAL_LABEL, INITIAL_LINE, n_outputs)

    def grown_calibration(self, calibration: np.ndarray, n_outputs: int) -> np.ndarray:
        return self.placed_calibration(calibration, np.arange(calibration.size // len(INITIAL_LABEL)), n_outputs)

    def placed_calibration(self, own: np.ndarray, outputs: np.ndarray, n_outputs: int) -> np.ndarray:
        size = len(INITIAL_LABEL)
        found = np.tile(INITIAL_LABEL, n_outputs)
        found.reshape(-1, size)[outputs] = own.reshape(-1, size)
        return found

    def merged_calibration(self, parts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
        return progressive.merged_labels(parts)

    def renewed_calibration(self, own: np.ndarray, part: float) -> np.ndarray:
        return progressive.renewed_labels(own, part)

    def calibrated_by(
        self, own: np.ndarray, scores: np.ndarray, labels: np.ndarray, start: np.ndarray | None,
        weight: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        found = own.reshape(-1, len(INITIAL_LABEL)).copy()
        assert start is not None  # of label sets
        relevant = np.zeros(scores.shape, np.int32)
        relevant[np.repeat(np.arange(len(scores)), np.diff(start)), labels] = 1
        for k, label in enumerate(found):
            one = label[:-2].copy()
            _core.calibration_learn(one, np.ascontiguousarray(scores[:, [k]]), relevant[:, k].copy(), weight)
            label[:-2] = one
        return found.ravel()

    def with_slopes(self, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        pairs = zip(*(found.reshape(-1, len(INITIAL_LABEL)) for found in (own, other)), strict=True)
        return np.concatenate([progressive.with_slope(a, b, several=False) for a, b in pairs])

    def decides_by_probability(self, calibration: np.ndarray) -> bool:
        return progressive.label_threshold(calibration) is not None

    def decided(
        self, scores: np.ndarray | None, probabilities: np.ndarray | None, calibration: np.ndarray | None
    ) -> np.ndarray:
        """Return booleans, (n, labels): probabilities above half of the progressive F1, or scores above 0."""
        if probabilities is None:
            assert scores is not None
            return scores > 0
        assert calibration is not None  # which probabilities are of
        return probabilities > self.least_probability(calibration)

    def least_probability(self, calibration: np.ndarray) -> float:
        threshold = progressive.label_threshold(calibration)
        assert threshold is not None  # as decides_by_probability says
        return threshold

    def probabilities(self, scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
        return progressive.sigmoids(scores, calibration)

    def logits(self, scores: np.ndarray, calibration: np.ndarray) -> np.ndarray:
        lines, within = calibration.reshape(-1, len(INITIAL_LABEL)), (-progressive.LARGEST, progressive.LARGEST)
        return np.clip(self.by_output(scores), *within) * lines[:, 0] + lines[:, 1]

    def slopes(self, calibration: np.ndarray) -> np.ndarray:
        return calibration.reshape(-1, len(INITIAL_LABEL))[:, 0]

    def likely(self, mean: np.ndarray, variance: Callable[[], np.ndarray], noise: Noise) -> np.ndarray:
        return progressive.posterior_probability(mean, variance(), noise)


class RankedLabels(Labels):
    """Labels ranked jointly: the first column of weights is a threshold, which relevant labels score above.

    Scores of labels are those of their columns less the threshold's; they are not moderated.
    """

    name = "multilabel"
    multiclass = "joint"
    has_threshold = True
    updates_per_row = 2
    moderates = False

    def columns(self, n_outputs: int) -> int:
        return n_outputs + 1

    def changed_columns(self, columns: int) -> int:
        return 4

    def less_threshold(self, columns: np.ndarray, axis: int = -1) -> np.ndarray:
        threshold, labels = np.split(columns, [1], axis)
        return labels - threshold

    def by_output(self, columns: np.ndarray) -> np.ndarray:
        return self.less_threshold(columns)

    def variances_by_output(self, columns: np.ndarray) -> np.ndarray:
        """Return those of the labels; covariances compute them less the threshold already."""
        return columns[..., 1:]


class SeparateLabels(Labels):
    """Labels of which each has a learner of two classes: rows that have it, and the rest."""

    name = "multilabel-one-vs-rest"
    multiclass = "one-vs-rest"
    own_gaussians = True
    separate = True
