"""Predictions of numbers, and their measures."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ...evaluation.metrics import RegressionMetrics
from ..inputs import BadInput, open_for
from ..options.predictions import Requested
from .predictions import Column
from .reading import reported_batches

if TYPE_CHECKING:
    from ... import _core
    from ...data import Batch
    from ...models.model import Model
    from ...tasks.targets import Prediction

COVERAGE = 0.9  # of the intervals that evaluate measures


class Numbers:
    """What a regression model says about rows.

    Parameters
    ----------
    model : Model
        Of one number per row.
    """

    def __init__(self, model: Model) -> None:
        learner = model.learner
        if learner.n_classes > 1:
            raise BadInput(f"the model predicts {learner.n_classes} numbers per row, expected one; use it in Python")
        self.learner, self.answering = learner, model.predictor()
        self.calibrated = model.estimator.get("calibration", "progressive") is not None

    def matrix(self, batch: Batch) -> _core.Matrix:
        """Return rows as the learner takes them."""
        return self.answering.matrix(batch)

    def distribution(self, matrix: _core.Matrix) -> Prediction:
        """Return the predictive distributions of rows."""
        found: Prediction = self.learner.number_distribution(matrix)
        return found

    def deviations(self, found: Prediction) -> np.ndarray:
        """Return the standard deviation of each target around its prediction."""
        deviations: np.ndarray = self.learner.number_deviations(found, self.calibrated)[:, 0]
        return deviations

    def limits(self, found: Prediction, coverage: float) -> np.ndarray:
        """Return the lower and upper limits of intervals, shape (n, 2)."""
        limits: np.ndarray = self.learner.intervals(found, coverage, self.calibrated)[:, 0]
        return limits


class RegressionPredictions:
    """Predictions of a regression model, as columns.

    Parameters
    ----------
    model : Model
    requested : Requested
    """

    names: Sequence[Any] = ()  # of classes

    def __init__(self, model: Model, requested: Requested) -> None:
        self.model, self.requested, self.numbers = model, requested, Numbers(model)
        names = ["prediction", *(["std"] if "std" in requested.numbers else [])]
        names += ["lower", "upper"] if requested.interval is not None else []
        if twice := [name for name in requested.keep if name in names]:
            raise click.UsageError(f"--keep: {twice[0]!r} is also a column of predictions")
        self.columns = [Column(name, None, "string") for name in requested.keep]
        self.columns += [Column(name, None, "number") for name in names]

    def of(self, batch: Batch) -> list[Sequence[Any]]:
        """Return the values of all columns for a batch of rows, numbers as arrays."""
        requested, matrix = self.requested, self.numbers.matrix(batch)
        columns: list[Any] = [list(batch.kept[name]) for name in requested.keep]
        if len(self.columns) == len(columns) + 1:
            return [*columns, self.numbers.learner.numbers(matrix)[:, 0]]
        found = self.numbers.distribution(matrix)
        columns.append(found.mean[:, 0])
        if "std" in requested.numbers:
            columns.append(self.numbers.deviations(found))
        if requested.interval is not None:
            columns += list(self.numbers.limits(found, requested.interval).T)
        return columns


def evaluate_regression(model: Model, paths: Sequence[str], quiet: bool = True, **opening: Any) -> dict[str, Any]:
    """Return all measures of a regression model's predictions.

    With ``quiet=False`` progress is reported; ``opening`` goes to :func:`open_for`.
    """
    numbers, metrics = Numbers(model), RegressionMetrics(COVERAGE)
    with open_for(model, paths, targets=True, **opening) as stream:
        for batch in reported_batches(stream, quiet):
            assert batch.targets is not None
            found = numbers.distribution(numbers.matrix(batch))
            metrics.add(batch.targets, found.mean[:, 0], numbers.limits(found, COVERAGE))
    return metrics.result()


def validate_regression(model: Model, paths: Sequence[str]) -> dict[str, Any]:
    """Return rows, RMSE and MAE of a model that is still being trained, and leave the model as it is."""
    snapshot = copy.copy(model)
    snapshot.learner = copy.copy(model.learner)
    snapshot.learner.state = dict(model.learner.state)  # answering may add a feature; arrays are never written to
    result = evaluate_regression(snapshot, paths)
    return {name: result[name] for name in ("rows", "rmse", "mae")}
