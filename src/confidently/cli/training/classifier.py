"""What ``confidently train`` does: learns passes over data, with validations between them."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...data.features import Features
from ...data.selection import cut_at, in_blocks
from ..options.learner import announced, continued, new_stream_learner
from ..options.reading import chosen_reading
from ..options.rules import chosen_rule
from ..output.progress import Quiet, next_line
from .data import TrainingData
from .passes import Passes
from .position import Standing

if TYPE_CHECKING:
    from ...data import Batch
    from ...models.model import Model
    from ..output.measures import Holdout
    from .checkpoint import Checkpoints

# A dense covariance learns by products of matrices, whose last digits depend on how many rows they take: so it always
# gets as many, whatever file they come from and wherever a checkpoint is due.
DENSE_ROWS = 256


class Training(Passes):
    """One run of the command: its data, and the learner that grows with them."""

    given: Model | None
    best: Model | None

    def __init__(
        self, paths: tuple[str, ...], options: dict[str, Any], checkpoints: Checkpoints | None, report: Quiet
    ) -> None:
        super().__init__(options, checkpoints, report)
        self.stopped = self._out_of_patience()
        multilabel = options["multilabel"] or None  # None: the first rows decide
        if self.given is not None:
            self._go_on(self.given)
            multilabel = self.given.learner.settings.task == "multilabel"
        else:
            self._begin(paths)
        self.data = self._data(paths, multilabel)

    def _begin(self, paths: tuple[str, ...]) -> None:
        options = self.options
        self.reading = chosen_reading(options, paths)
        self.rule, self.announced = chosen_rule(options), announced(options["classes"])
        self.closed = bool(self.announced)
        calibration = None if options["calibration"] == "none" else "progressive"
        self.estimator = {"multiclass": options["multiclass"], "calibration": calibration}
        self.learner = self._new(options["multilabel"])

    def start_anew(self, multilabel: bool) -> None:
        """Rows turned out to have sets of labels."""
        self.learner = self._new(multilabel)

    def _new(self, multilabel: bool) -> Any:
        features = Features(bounded=not self.reading.vocabulary) if self.reading.named else None
        return new_stream_learner(self.options, self.rule, self.announced, multilabel, features)

    def _go_on(self, model: Model) -> None:
        from ...data import ReaderOptions

        self.reading, self.learner = ReaderOptions.from_dict(model.source), continued(model)
        self.closed = model.source.get("closed", False)
        self.estimator = {"multiclass": "joint", "calibration": "progressive"} | model.estimator
        self.learner.log_loss[0] = self.position.now.log_loss or 0.0

    def _data(self, paths: tuple[str, ...], multilabel: bool | None) -> TrainingData:
        options = self.options
        skipping = options["on_error"] != "stop"
        classes = [str(name) for name in self.learner.classes.names] if self.closed and skipping else []
        return TrainingData(
            paths, self.reading, self.learner.learner.settings.dtype, multilabel, on_error=options["on_error"],
            classes=classes, cache=options["cache"], beside=options["output_path"], caching=options["passes"] > 1,
            holdout=self._holdout(),
        )  # fmt: skip

    def _holdout(self) -> Holdout | None:
        if not self.options["holdout"]:
            return None
        from ..output.measures import Holdout

        return Holdout(self.options["holdout"])

    def learn_pass(self) -> None:
        """Learn what is left of the present pass, row after row."""
        position = self.position
        rows = position.now.rows
        with self.data.one_pass(rows, self.learner.features) as (stream, batches):
            if stream.multilabel and self.learner.learner.settings.task != "multilabel":
                self.start_anew(multilabel=True)
            if not rows:
                position.begin_pass(self.learner.learner)
                self.learner.log_loss[0] = 0.0
            self.report.begin(position.passes + 1, self.options["passes"], position.now, self.data.total_bytes)
            if self.learner.learner.covariance.by_products:
                batches = in_blocks(batches, DENSE_ROWS)
            else:
                batches = cut_at(batches, rows, self._next_cut)
            self._learn(self.interruptions.watch(batches))
            self.report.end(position.now)

    def _learn(self, batches: Iterator[Batch]) -> None:
        position, before, began = self.position, self.position.now.seconds, time.monotonic()
        calibrate = position.passes == 0 and self.estimator["calibration"] is not None
        for batch in self.learner.learn(batches, calibrate):
            learner, (seen, mistakes, updates) = self.learner.learner, position.began
            before_batch = position.now.rows
            position.now = Standing(
                before_batch + len(batch), learner.n_seen - seen, learner.mistakes - mistakes,
                learner.updates - updates, float(self.learner.log_loss[0]) if calibrate else None, batch.bytes_read,
                before + time.monotonic() - began,
            )  # fmt: skip
            self.report.update(position.now)
            self.checkpoint_if_due(before_batch)
            self.interruptions.check()

    def _next_cut(self, rows: int) -> int:
        line = next_line(rows)
        return min(line, (rows // self.every + 1) * self.every) if self.every else line

    def end_pass(self) -> None:
        """The pass is over: validate."""
        position, validation = self.position, self._validation()
        position.end_pass()
        if validation is not None:
            self._judge(validation)
            assert position.last is not None
            self.report.validated(position.passes, position.last)
        position.begin_pass(self.learner.learner)

    def _validation(self) -> dict[str, Any] | None:
        paths = [str(self.data.held)] if self.data.holdout else self.options["validation"]
        if not paths:
            return None
        from ..output.measures import measure

        return {"pass": self.position.passes + 1, **measure(self.model(), paths)}

    def _judge(self, found: dict[str, Any]) -> None:
        """Compare with the best so far; keep the model if it is better."""
        position = self.position
        if not self.options["early_stop"]:
            position.last = found
            return
        better = position.best is None or found["log_loss"] < position.best["log_loss"]
        position.last = {**found, "best": better}
        position.waited = 0 if better else position.waited + 1
        if better:
            position.best, self.best = found, _copied(self.model())
        self.stopped = self._out_of_patience()

    def _out_of_patience(self) -> bool:
        return bool(self.options["early_stop"] and self.position.waited >= self.options["patience"])

    @property
    def has_learned(self) -> bool:
        """Whether a class is known: a model without any cannot be loaded."""
        return len(self.learner.classes.names) > 0

    def model(self) -> Model:
        """What has been learned by now."""
        from ...models.model import Model

        source = {**self.reading.as_dict(), "closed": self.closed}
        table = self.learner.classes
        return Model(self.learner.learner, table.names, self.learner.features, self.estimator, source)

    def final_model(self) -> Model:
        """What is to be saved: the best model if the validation decides, else the last."""
        return self.best if self.options["early_stop"] and self.best is not None else self.model()


def _copied(model: Model) -> Model:
    """A model that does not change with the learner."""
    learner = copy.copy(model.learner)
    learner.state = {name: array.copy() for name, array in learner.state.items()}
    return replace(model, learner=learner, classes=list(model.classes), features=copy.deepcopy(model.features))
