"""Validation: how good a model that is still being trained is about rows it does not learn."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.metrics import MIN_SCORED_PROBABILITY, ClassMetrics
from ..commands.evaluate import numbered, relevant_labels
from .answers import probabilities

if TYPE_CHECKING:
    from ...models.model import Model


class Holdout:
    """Which rows are held out: of every 1/share rows the last, by their number in the data."""

    def __init__(self, share: str) -> None:
        self.share = Fraction(share)

    def mask(self, first: int, n: int) -> np.ndarray:
        """Booleans of rows ``first`` to ``first + n - 1``."""
        rows = np.arange(first, first + n + 1, dtype=object if first + n > 2**40 else np.int64)
        return (np.diff(rows * self.share.numerator // self.share.denominator) > 0).astype(bool)


def measure(model: Model, paths: Sequence[str]) -> dict[str, Any]:
    """Rows, error and mean log-loss (over labels too, where rows have sets of them); the model is left as it is."""
    from ...learner.streams import Answering

    learner = copy.copy(model.learner)
    learner.state = dict(learner.state)  # answering may add a feature; arrays are replaced, never written to
    asked = copy.copy(model)
    asked.learner = learner
    answering = Answering(learner)
    if learner.settings.task == "multilabel":
        return _sets(asked, answering, paths)
    metrics = ClassMetrics(max(2, len(model.classes)))
    for batch, truth in numbered(asked, paths, multilabel=False):
        matrix = answering.matrix(batch)
        metrics.add(truth, learner.predict(matrix), probabilities(asked, matrix))
    result = metrics.result()
    return {name: result[name] for name in ("rows", "error", "log_loss")}


def _sets(model: Model, answering: Any, paths: Sequence[str]) -> dict[str, Any]:
    rows, wrong, loss = 0, 0, 0.0
    for batch, label in numbered(model, paths, multilabel=True):
        matrix = answering.matrix(batch)
        relevant, unknown = relevant_labels(batch, label, len(model.classes))
        p = probabilities(model, matrix)
        given = np.maximum(np.where(relevant, p, 1.0 - p), MIN_SCORED_PROBABILITY)
        loss -= float(np.log(given).mean(axis=1).sum()) if relevant.shape[1] else 0.0
        wrong += int((((p > 0.5) != relevant).any(axis=1) | (unknown > 0)).sum())
        rows += len(batch)
    return {"rows": rows, "error": wrong / rows, "log_loss": loss / rows}
