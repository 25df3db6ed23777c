"""Training of regressions, with validations between passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...covariances.names import AUTO
from ...data.features import Features
from ...data.selection import columns_of_first
from ...learner.regression_settings import ROWS_TO_CHOOSE, automatic_covariance
from ...tasks.targets import Targets
from ..inputs import BadInput
from ..options.learner import chosen_calibration
from ..options.reading import chosen_raw_reading
from ..options.regression import continued_regression, new_number_stack, new_regression
from ..options.rules import chosen_rule
from ..options.view import chosen_view_and_reading
from ..output.counts import Counts
from ..output.summaries import learner_facts, target_facts
from .classifier import ClassifierTraining

if TYPE_CHECKING:
    from ...data import Batch
    from ...distributed.sources import Survey
    from ...learner.streams import StreamLearner
    from ...models.model import Model
    from ...models.regression import RegressionModel


class RegressionTraining(ClassifierTraining):
    """One run of ``confidently train --regression``."""

    kind: ClassVar[Literal["linear", "regression", "topics"]] = "regression"
    measure: ClassVar[Literal["log_loss", "rmse"]] = "rmse"
    targets: ClassVar[bool] = True

    def new(self) -> None:
        options = self.options
        if options["auto"]:
            self._begin_stack()
            return
        self.view, self.reading, _ = chosen_view_and_reading(options, self.paths, standardize=False)
        self.rule, self.closed = chosen_rule(options), False
        self.undecided = options["covariance"] == AUTO
        self.start_regression(0)
        self.estimator: dict[str, Any] = {
            "covariance": options["covariance"], "calibration": chosen_calibration(options), "one_dimensional": True,
            "passes": 1, "shuffle": False, "random_state": None,
        }  # fmt: skip

    def _begin_stack(self) -> None:
        """Begin with a stack, whose members have views of their own."""
        self.view, self.reading = None, chosen_raw_reading(self.options, self.paths)
        self.closed = self.undecided = False
        features = Features(bounded=not self.reading.vocabulary) if self.reading.named else None
        self.learner = new_number_stack(self.options, features, self.reading)
        self.estimator = {"members": "auto", "passes": 1, "shuffle": "auto", "random_state": 0}

    def start_regression(self, n_columns: int) -> None:
        """Begin with an untrained learner for rows with so many columns."""
        features = Features(bounded=not self.reading.vocabulary) if self.reading.named else None
        covariance = automatic_covariance(n_columns) if self.undecided else self.options["covariance"]
        options = self.options | {"covariance": covariance}
        self.learner = new_regression(options, self.rule, features, self.reading, self.view)

    def resume(self, model: Model) -> None:
        super().resume(model)
        self.undecided = False

    def continued(self, model: Model) -> StreamLearner:
        if (n := model.learner.n_classes) > 1:
            raise BadInput(f"the model predicts {n} numbers per row; continue its training in Python")
        return continued_regression(model)

    def prepared(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        if not self.undecided:
            return batches
        n_columns, batches = columns_of_first(batches, ROWS_TO_CHOOSE)
        self.start_regression(n_columns)
        self.undecided = False
        self.position.begin_pass(self.learner.learner)
        return batches

    def counts(self, rows: int, bytes_read: int, calibrate: bool) -> Counts:
        learner, (seen, _, updates) = self.learner.learner, self.position.began
        counts = Counts(rows, learner.n_seen - seen, 0, learner.updates - updates, None, bytes_read)
        return self.with_errors(counts, self.model()) if calibrate else counts

    def with_errors(self, counts: Counts, model: Model) -> Counts:
        found = Targets.of(model.learner.state["calibration"])
        predicted, squared, absolute = found.predicted[0], found.squared_errors[0], found.absolute_errors[0]
        return replace(
            counts, predicted=float(predicted), squared_errors=float(squared), absolute_errors=float(absolute)
        )

    def start_on_cluster(self, found: Survey) -> None:
        if self.undecided:
            self.start_regression(found.n_columns)
            self.undecided = False

    def check_classes(self) -> None:
        """Reject data without a row to learn."""
        if not self.learner.learner.n_seen:
            raise BadInput("no row was learned: the data have none with a weight above 0")

    def validate(self, paths: Sequence[str]) -> dict[str, Any]:
        from ..output.regression import validate_regression

        return validate_regression(self.model(), paths)

    @property
    def has_model(self) -> bool:
        return not self.undecided

    def model(self) -> RegressionModel:
        from ...models.regression import RegressionModel

        learner = self.learner
        return RegressionModel(learner.learner, learner.classes.names, learner.features, self.estimator, self.source())

    def result(self) -> dict[str, Any]:
        """Return the summary of the run as plain data."""
        model, position = self.final_model(), self.position
        learner, first = model.learner, position.first or Counts()
        return {
            "rows": first.rows,
            "rows_learned": first.learned,
            "passes": position.passes,
            **target_facts(learner),
            "rmse": first.rmse,
            "mae": first.mae,
            "updates": learner.updates,
            "task": learner.task.name,
            "features": learner.n_features,
            **learner_facts(learner),
            "rows_seen": learner.n_seen,
            "seconds": round(position.seconds, 6),
            **self.further_results(),
        }
