"""Measures of the predictions of a model of entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logit

from ...entities import EntityModels
from ...entities.scores import intervals, numbers
from ...evaluation.measures import Wanted, evaluated, kept
from ...tasks.targets import Prediction
from ..inputs import open_for, reported
from ..output.reporter import reported_batches


def evaluate_entities(
    path: str, data: Sequence[str], wanted: Wanted, quiet: bool, opening: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Return all measures, and the errors by coverage if they are wanted."""
    with reported():
        answering: Any = _Answering(EntityModels.load(path))
        keep = tuple(dict.fromkeys((*kept(answering, wanted), answering.key)))
        with open_for(answering.model, data, keep=keep, **answering.task.reading, **opening) as stream:
            return evaluated(answering, reported_batches(stream, quiet), wanted)


class _Answering:
    """A model of entities in the place of a model, its learner and what predicts: as measures ask them."""

    groups = calibration = None

    def __init__(self, entities: EntityModels) -> None:
        self.entities, self.learner, self.key = entities, self, str(entities.key)
        self.model = entities.shared_.as_model()
        self.task = self.model.learner.task
        self.classes = [] if self.task.regression else entities.classes_.tolist()

    def predictor(self) -> _Answering:
        return self

    def matrix(self, batch: Any) -> Any:
        keys = list(batch.kept[self.key])
        return self.entities._scores_of(self.entities.shared_._known(batch), keys)

    def decides_by_probability(self, calibration: str | None) -> bool:
        return True

    def decision_and_probabilities(self, scores: Any, calibration: str | None) -> tuple[np.ndarray, np.ndarray]:
        p = self.entities._probabilities(scores)
        return (logit(p[:, 1]) if self.task.binary else logit(p)), p

    def decided(self, scores: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        return probabilities.argmax(axis=1)

    def number_distribution(self, scores: Any) -> Prediction:
        mean, variance = numbers(self.entities._table, scores)
        return Prediction(mean[:, None], variance[:, None])

    def intervals(self, found: Prediction, coverage: float, calibrated: bool, values: None) -> np.ndarray:
        return intervals(self.entities._table, found.mean[:, 0], found.spread[:, 0], coverage)[:, None, :]
