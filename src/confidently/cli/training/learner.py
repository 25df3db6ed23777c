"""Training of learners of classes, labels or numbers, with validations between passes."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...covariances.names import AUTO
from ...data.classes import ClassTable
from ...data.expected_columns import ExpectedColumns
from ...data.formats.other_formats import in_format_of
from ...data.selection import columns_of_first, cut_at, select_rows
from ...data.sources.paths import expand_paths
from ...learner.centering import center
from ...learner.recipe import ROWS_TO_CHOOSE, default_passes, one_output
from ...models.model import calibration_of
from ...models.moved_columns import moved_columns
from ...tasks.groups import Groups
from ...tasks.task import Task
from ..inputs import BadInput, check_one_number, open_for
from ..options.learner import chosen_classes, estimator_entries, new_stream_learner
from ..options.reading import chosen_raw_reading
from ..options.rules import chosen_rule
from ..options.view import chosen_view_and_reading
from ..output.counts import Counts
from ..output.learner_summaries import alarm_facts, alarm_text, drift_facts, last_move_text
from ..output.progress import next_line
from ..output.training_summaries import training_facts
from .data import TrainingData
from .loop import TrainingLoop

if TYPE_CHECKING:
    from ...data import Batch
    from ...learner.streams import StreamLearner
    from ...models.model import Model
    from ...views.view import View
    from ..output.progress import Quiet
    from .checkpoint import Checkpoints
    from .position import Validation


ORDER = "rows are shuffled (--seed {}); use --no-shuffle if they are in the order of time"


class LearnerTraining(TrainingLoop):
    """One run of ``confidently train``.

    Attributes
    ----------
    targets : bool
        Whether rows have numbers to predict instead of classes or labels.
    undecided : bool
        Whether the columns of the first rows will decide about the covariance.
    chooses_passes : bool
        Whether rows that are shuffled in memory are learned as often as by ``AutoClassifier.fit``.
    """

    best: Model | None
    learner: StreamLearner
    expected: ExpectedColumns | None = None
    undecided = chooses_passes = False

    def __init__(
        self, paths: Sequence[str], options: dict[str, Any], checkpoints: Checkpoints | None, report: Quiet
    ) -> None:
        self.targets = bool(options["regression"])
        self.kind = "regression" if self.targets else "linear"
        super().__init__(paths, options, checkpoints, report)
        report.learned = self._mixture
        self.stopped = self._out_of_patience()

    def new(self) -> None:
        options = self.options
        if options["auto"]:
            self.view: View | None = None  # the members have their own
            self.reading = chosen_raw_reading(options, self.paths)
        else:
            self.view, self.reading, seen = chosen_view_and_reading(options, self.paths, standardize=not self.targets)
            if seen:
                self.report.note("view", seen, view=self.view.header() if self.view else [])
            self.undecided = options["covariance"] == AUTO
        self.rule, self.classes = chosen_rule(options), chosen_classes(options["classes"])
        self.closed = bool(self.classes)
        self.start_learner(options["multilabel"])
        self.estimator: dict[str, Any] = estimator_entries(options)

    def start_learner(self, multilabel: bool = False, n_columns: int = 0) -> None:
        """Begin with an untrained learner."""
        table = one_output() if self.targets else ClassTable(self.classes, multilabel, closed=self.closed)
        self.learner = new_stream_learner(self.options, self.rule, self.view, table, self.reading, n_columns)
        if (column := self.options["coverage_by"]) is not None:
            self.learner.learner.groups = Groups(column, of_numbers=self.targets)

    @property
    def task(self) -> Task:
        """The task: what is predicted."""
        return self.learner.learner.task

    def resume(self, model: Model) -> None:
        self.learner = self.continued(model)
        if not self.resumed and model.features is not None:
            self.expected = ExpectedColumns(self.reading, model.features, predicting=False)
        self.estimator = model.estimator
        self.learner.log_loss[0] = self.position.now.log_loss or 0.0

    def continued(self, model: Model) -> StreamLearner:
        """Return the learner of a model, to continue its training."""
        if self.targets and (n := model.learner.n_classes) > 1:
            raise BadInput(f"the model predicts {n} numbers per row; continue its training in Python")
        return model.stream_learner()

    def open_data(self, multilabel: bool | None) -> TrainingData:
        learner, classes = self.learner.learner, self.learner.classes.names if self.closed else []
        keep = () if learner.groups is None else (str(learner.groups.column),)
        reading = self.reading
        if self.options["init_model"]:  # trained on data that may have had another format
            reading = in_format_of(expand_paths(self.paths), reading, self.learner.features)
        return TrainingData(
            self.paths, reading, learner.dtype, multilabel, self.options, classes, expected=self.expected,
            targets=self.targets, keep=keep,
        )  # fmt: skip

    @contextmanager
    def open_pass(self) -> Iterator[Iterator[Counts]]:
        position = self.position
        rows = position.now.rows
        with self.data.one_pass(rows, self.learner.features, position.passes) as (stream, batches):
            self.suit(stream.multilabel)
            if not rows:
                position.begin_pass(self.learner.learner)
                self.learner.log_loss[0] = 0.0
            if self.undecided:
                n_columns, batches = columns_of_first(batches, ROWS_TO_CHOOSE)
                self.decide(n_columns)
                position.begin_pass(self.learner.learner)
            self._leave_no_way_back()
            self.learner.learner.shuffled = self.data.is_shuffled and not self.options["init_model"]
            if self.data.sample is not None:
                self.learner.learner.pass_rows, self.learner.learner.passes = self.data.sample.n, self.passes
            if self.data.is_shuffled and self.options["shuffle"] is None and not position.passes and not rows:
                seed = self.options["seed"]
                self.report.note("order", ORDER.format(seed), seed=seed)
            self.begin_report(self.data.total_bytes)
            batches = cut_at(batches, rows, self._next_cut)
            if self.learner.learner.by_products and not position.passes and not rows:
                batches = self._with_cost(batches)
            yield self._steps(self.interruptions.watch(batches))

    def _leave_no_way_back(self) -> None:
        """Train without undoing what was learned before an error: it ends the command, and nothing more is saved."""
        from ...learner.learner import Learner

        if isinstance(self.learner.learner, Learner):
            self.learner.learner.undoes = False

    def suit(self, multilabel: bool) -> None:
        """Begin again if rows turn out to be multilabel."""
        if multilabel and not self.task.multilabel:
            self.start_learner(multilabel=True)

    def decide(self, n_columns: int) -> None:
        """Begin again with the covariance for rows with so many columns."""
        self.start_learner(n_columns=n_columns)
        self.undecided = False

    def _with_cost(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the same batches; report the cost of the covariance before training on the first."""
        from ..output.costs import cost_of

        for number, batch in enumerate(batches):
            if number == 0 and (found := cost_of(self.learner, batch, self.options["covariance"])) is not None:
                self.report.note("covariance", found[0], **found[1])
            yield batch

    def _steps(self, batches: Iterator[Batch]) -> Iterator[Counts]:
        position = self.position
        calibrate = position.passes == 0 and self.calibrated
        known, noted, told = len(drift_facts(self.learner.learner)), self._alarms(), self._moves()
        for batch in self.learner.learn(batches, calibrate):
            for span in (drift := drift_facts(self.learner.learner))[known:]:
                row = span["first_row"]
                self.report.note("drift", f"the mixture moved to shorter memories at row {row:,}", first_row=row)
            known = len(drift)
            if (alarms := self._alarms()) >= max(1, 2 * noted):  # where there are many, few are reported
                facts = alarm_facts(self.model())
                self.report.note("alarm", alarm_text(facts), **facts)
                noted = alarms
            if (moves := self._moves()) >= max(1, 2 * told):
                columns = moved_columns(self.model())
                self.report.note("moved", last_move_text(columns or {}), moved_columns=columns)
                told = moves
            yield self.counts(position.now.rows + len(batch), batch.bytes_read, calibrate)

    def _alarms(self) -> int:
        """Return the number of drift alarms."""
        learner = self.learner.learner
        return learner.conformal.alarms if learner.n_seen else 0

    def _moves(self) -> int:
        """Return how often columns have moved."""
        moved = self.learner.learner.moved
        return 0 if moved is None else moved.times

    def _mixture(self) -> dict[str, Any]:
        """Return the mixture of a stack as it is."""
        from ...stack.history import mixture_of

        mixture = mixture_of(self.learner.learner)
        return {} if mixture is None else mixture.as_dict()

    def counts(self, rows: int, bytes_read: int, calibrate: bool) -> Counts:
        """Return the counts of the pass after so many rows and bytes."""
        learner, (seen, mistakes, updates) = self.learner.learner, self.position.began
        log_loss = self.first_log_loss(calibrate, float(self.learner.log_loss[0]))
        errors: dict[str, Any] = self.task.progressive_errors(learner.state) if calibrate else {}
        return Counts(
            rows, learner.n_seen - seen, learner.mistakes - mistakes, learner.updates - updates, log_loss, bytes_read,
            **errors,
        )  # fmt: skip

    def first_log_loss(self, calibrate: bool, so_far: float = 0.0) -> float | None:
        """Return the sum of the log-loss of a pass, if it is the first one, of a task that has a log-loss."""
        return so_far if calibrate and "log_loss" in self.task.measures else None

    def _next_cut(self, rows: int) -> int:
        line = next_line(rows)
        return min(line, (rows // self.every + 1) * self.every) if self.every else line

    def end_pass(self) -> None:
        """Complete a pass: check that there are classes to discriminate, and validate the model."""
        self.check_learned()
        position, learner = self.position, self.learner.learner
        if learner.shuffled and not position.passes:
            learner.settle_view()  # what is validated is what will be saved
        validation = self._validation()
        position.end_pass()
        if validation is not None:
            self._judge(validation)
            assert position.last is not None
            self.report.validated(position.passes, position.last)
        position.begin_pass(self.learner.learner)

    @property
    def calibrated(self) -> bool:
        """Whether the first pass calibrates probabilities."""
        return calibration_of(self.estimator) is not None

    def check_learned(self) -> None:
        """Reject data without a number to learn or of one class, once they are read."""
        if self.targets and not self.learner.learner.n_seen:
            raise BadInput("no row was learned: the data have none with a weight above 0")
        self.learner.classes.check()

    def _validation(self) -> Validation | None:
        paths = [str(self.data.held)] if self.data.holdout else self.options["validation"]
        if not paths:
            return None
        from ...evaluation.measures import snapshot_of, validated

        model = snapshot_of(self.model())
        check_one_number(model)
        with open_for(model, paths, **model.learner.task.reading) as stream:
            found = validated(model, stream)
        if found[self.task.decisive] is None:
            raise BadInput("no validation row has a class that training has seen; validate on rows of these classes")
        return cast("Validation", {"pass": self.position.passes + 1, **found})

    def _judge(self, found: Validation) -> None:
        """Compare with the best validation so far; keep the model if it is better."""
        position = self.position
        if not self.options["early_stop"]:
            position.last = found
            return
        best: dict[str, Any] | None = position.best and dict(position.best)
        better = best is None or dict(found)[self.task.decisive] < best[self.task.decisive]
        position.last = cast("Validation", {**found, "best": better})
        position.waited = 0 if better else position.waited + 1
        if better:
            position.best, self.best = found, _copied(self.model())
        self.stopped = self._out_of_patience()

    def _out_of_patience(self) -> bool:
        return bool(self.options["early_stop"] and self.position.waited >= self.options["patience"])

    @property
    def has_model(self) -> bool:
        """Whether there is a class, without which no model can be loaded, and the kind of learner is decided."""
        return len(self.learner.classes.names) > 0 and not self.undecided

    def model(self) -> Model:
        from ...models.model import Model

        learner = self.learner
        return Model(learner.learner, learner.classes.names, learner.features, self.estimator, self.source())

    def run(self) -> None:
        super().run()
        if self.chooses_passes:
            self._learn_again()
        if self.learner.learner.shuffled:
            self._finish(self.final_model())

    @property
    def passes(self) -> int:
        """Passes over rows: as many as ``fit`` makes by default, if they are chosen and the rows are in memory."""
        sample = self.data.sample
        if self.chooses_passes and sample is not None:
            return default_passes(sample.n, sample.n_columns)
        return int(self.options["passes"])

    def _learn_again(self) -> None:
        """Make the passes that were not asked for, over rows in memory."""
        sample, generator = self.data.sample, np.random.default_rng(self.options["seed"])
        while sample is not None and self.position.passes < self.passes:
            order = generator.permutation(sample.n)
            self.learner.learn_again(select_rows(sample.rows, order), sample.names)
            self.position.passes += 1
            self.position.seconds = self._seconds()

    def _finish(self, model: Model) -> None:
        """Let sets and probabilities be those of rows in random order, as ``fit`` does."""
        learner, sample = model.learner, self.data.sample
        learner.settle(shuffled=True)
        if sample is None or not (self.calibrated and learner.task.binary and learner.n_classes == 2):
            return
        weights = np.ones(len(sample.rows)) if sample.rows.weights is None else sample.rows.weights
        if model.classes[1] in sample.names and weights.any():
            second = sample.names.index(model.classes[1])
            share = float(sample.weights[second] / sample.weights.sum())
            center(learner, sample.rows.matrix, sample.rows.labels == second, weights, share)

    def final_model(self) -> Model:
        """Return the model to save: the best one if the validation chooses, otherwise the last."""
        return self.best if self.options["early_stop"] and self.best is not None else self.model()

    def result(self) -> dict[str, Any]:
        """Return the summary of the run as plain data."""
        position = self.position
        result = training_facts(self.final_model(), position.first or Counts(), position.passes, position.seconds)
        if position.last is not None:
            result["validation"] = position.best if self.options["early_stop"] else position.last
            result["stopped_early"] = self.stopped
        if self.options["on_error"] != "stop" or self.data.skipped:
            result["skipped"] = self.data.skipped
            result["skipped_examples"] = self.data.skipped_examples
        return result


def _copied(model: Model) -> Model:
    """Return a copy that does not change with the learner."""
    learner = model.learner.apart()
    return replace(model, learner=learner, classes=list(model.classes), features=copy.deepcopy(model.features))
