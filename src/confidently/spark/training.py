"""Training on a data frame in rounds, from scratch or from a model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from ..data import DataWarning, ReaderOptions
from ..data.formats.inference import infer_columns
from ..data.formats.table import TYPED
from ..data.reading import DEFAULT_LABEL
from ..estimators.streams import OF_SCALING, check_values_kept
from ..models.model import Model
from ..rounds.first_values import rows_to_begin
from ..rounds.preparation import AnyEstimator, check_estimator, initial_model, seed_of, shuffling_of, skipping
from ..rounds.rounds import Round, Rounds
from ..rounds.survey import first_rows
from ..rounds.tasks import Failure, Job, choose_by_files
from .engine import SparkEngine
from .reading import check_columns, columns_of
from .units import units_of, warn_if_one

HEAD_ROWS = 1000  # from which is inferred how rows are read


@dataclass(frozen=True)
class Training:
    """How an estimator trains on data frames.

    Attributes
    ----------
    estimator : OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor
    label : str
        The column of labels or targets.
    weight : str, optional
        The column of weights.
    how : dict
        Options of reading.
    rounds : int
    classes : list, optional
    multilabel : bool, optional
    on_error : str or int
    """

    estimator: AnyEstimator
    label: str = DEFAULT_LABEL
    weight: str | None = None
    how: dict[str, Any] = field(default_factory=dict)
    rounds: int = 1
    classes: list[Any] | None = None
    multilabel: bool | None = None
    on_error: str | int = "stop"

    def run(self, frame: DataFrame, base: Model | None = None) -> tuple[Model, list[Round]]:
        """Return a model that trained on a data frame, and the summary of each round.

        Parameters
        ----------
        frame : DataFrame
            Its partitions are those of the training.
        base : Model, optional
            The model to continue, by one pass; by default an untrained one is made for these rows.

        Raises
        ------
        confidently.data.DataError, ValueError, TypeError
            For invalid data or parameters.
        """
        estimator = self.estimator
        check_estimator(estimator, rounds=self.rounds)
        regression, seed = estimator.predicts_numbers, seed_of(estimator)
        if regression and (self.multilabel or self.classes is not None):
            raise ValueError("targets are numbers, not labels; leave out multilabel and classes")
        needed = [self.label] if self.weight is None else [self.label, self.weight]
        check_columns(frame, needed)
        if base is None:
            columns = [name for name in frame.columns if name not in self.how.get("drop", ())]
        else:
            columns = list(dict.fromkeys([*columns_of(base, frame), *needed]))
        with units_of(frame, columns) as units:
            multilabel = False if regression else self.multilabel
            if base is None:
                warn_if_one(units)
                head = units.head(HEAD_ROWS)
                dropped = {"drop": [name for name in self.how.get("drop", ()) if name not in frame.columns]}
                reading = ReaderOptions(format=TYPED, label=self.label, weight=self.weight, **self.how | dropped)
                reading = infer_columns([head], reading)
                if OF_SCALING.isdisjoint(self.how):
                    reading = estimator._scaled([head], reading)
                how = {"targets": True} if regression else {}
                seen = estimator._is_seen_by_default
                found = first_rows(head, reading, how, multilabel, skipping(self.on_error), seen)
                for text in found.warnings:
                    warnings.warn(text, DataWarning, stacklevel=2)
                model, multilabel, reading = (
                    initial_model(estimator, found, self.classes),
                    found.multilabel,
                    found.reading,
                )
            else:
                model, multilabel = base, base.learner.task.multilabel
                reading = ReaderOptions.from_dict(base.source)
            check_values_kept(model.learner.view, reading)
            shuffle = shuffling_of(estimator, None)
            job = Job(reading, multilabel, skipping(self.on_error), estimator.class_weight, shuffle is not None)
            if base is None and rows_to_begin(model.learner):
                chosen: Model | Failure = choose_by_files(model, [head], job)
                if isinstance(chosen, Failure):
                    raise chosen.error
                model = chosen
            rounds = Rounds(
                SparkEngine(units), model, units.grid(self.rounds), job, seed=seed,
                passes=1 if base is not None else estimator._passes(), calibrate=estimator._calibrates,
                max_skipped=self.on_error if isinstance(self.on_error, int) else float("inf"),
            )  # fmt: skip
            summaries = list(rounds)
            return rounds.model, summaries
