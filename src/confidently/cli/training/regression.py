"""Training of regressions, with validations between passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...covariances.names import AUTO
from ...data.features import Features
from ...data.selection import columns_of_first
from ...learner.recipe import ROWS_TO_CHOOSE, one_output
from ...learner.streams import StreamLearner
from ...tasks.targets import Targets
from ..inputs import BadInput
from ..options.learner import chosen_calibration, chosen_recipe, new_stream_learner
from ..options.reading import chosen_raw_reading
from ..options.rules import chosen_rule
from ..options.view import chosen_view_and_reading
from ..output.counts import Counts
from ..output.summaries import learner_facts, target_facts
from .classifier import ClassifierTraining

if TYPE_CHECKING:
    from ...data import Batch
    from ...distributed.sources import Survey
    from ...models.model import Model


class RegressionTraining(ClassifierTraining):
    """One run of ``confidently train --regression``."""

    kind: ClassVar[Literal["linear", "regression", "topics"]] = "regression"
    measure: ClassVar[Literal["log_loss", "rmse"]] = "rmse"
    targets: ClassVar[bool] = True

    def new(self) -> None:
        options, self.closed = self.options, False
        if options["auto"]:
            self.view, self.reading = None, chosen_raw_reading(options, self.paths)
            self.estimator: dict[str, Any] = {"members": "auto", "passes": 1, "shuffle": "auto", "random_state": 0}
        else:
            self.view, self.reading, _ = chosen_view_and_reading(options, self.paths, standardize=False)
            self.rule = chosen_rule(options)
            self.estimator = {
                "covariance": options["covariance"], "calibration": chosen_calibration(options),
                "one_dimensional": True, "passes": 1, "shuffle": False, "random_state": None,
            }  # fmt: skip
        self.undecided = not options["auto"] and options["covariance"] == AUTO
        self.start_regression(0)

    def start_regression(self, n_columns: int) -> None:
        """Begin with an untrained learner for rows with so many columns."""
        features = Features(bounded=not self.reading.vocabulary) if self.reading.named else None
        if self.options["auto"]:
            from ...stack.number_choice import new_number_stack

            stack = new_number_stack(dtype=self.options["dtype"])
            self.learner = StreamLearner(stack, one_output(), None, features, self.reading)
        else:
            recipe = chosen_recipe(self.options, self.rule, self.view, targets=True)
            self.learner = new_stream_learner(recipe, one_output(), features, self.reading, n_columns)

    def resume(self, model: Model) -> None:
        super().resume(model)
        self.undecided = False

    def continued(self, model: Model) -> StreamLearner:
        if (n := model.learner.n_classes) > 1:
            raise BadInput(f"the model predicts {n} numbers per row; continue its training in Python")
        return super().continued(model)

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

    def model(self) -> Model:
        from ...models.model import Model

        learner = self.learner
        return Model(learner.learner, learner.classes.names, learner.features, self.estimator, self.source())

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
