"""The loop of every training: passes over data that signals end in order and checkpoints resume."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...data import ReaderOptions
from ..inputs import Kind, load_model
from ..output.counts import Counts
from ..output.progress import Quiet
from .data import TrainingData
from .interrupts import Interrupted, Interruptions
from .position import Position

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel
    from .checkpoint import Checkpoints


class TrainingLoop:
    """One run of a command that trains.

    A kind of training supplies :meth:`new`, :meth:`resume`, :meth:`open_pass`, :meth:`model` and :meth:`has_model`, and
    calls :meth:`open_data` when it knows how to read.

    Parameters
    ----------
    paths : sequence of str
        The data.
    options : dict
        Of the command.
    checkpoints : Checkpoints, optional
    report : Quiet

    Attributes
    ----------
    position : Position
    reading : ReaderOptions
    closed : bool
        Whether all classes were named with ``--classes``.
    best : Model, optional
        The best model so far, if a validation chooses it.
    stopped : bool
        Whether to omit the remaining passes.
    """

    kind: Kind
    rows_noun: ClassVar[str] = "rows"
    reading: ReaderOptions
    closed: bool
    data: TrainingData
    best: Model | TopicModel | None

    def __init__(
        self, paths: Sequence[str], options: dict[str, Any], checkpoints: Checkpoints | None, report: Quiet
    ) -> None:
        self.paths, self.options, self.checkpoints, self.report = paths, options, checkpoints, report
        self.position, self.best, self.stopped, self.resumed = Position(), None, False, False
        self.began = time.monotonic()
        model: Any = load_model(options["init_model"], self.kind) if options["init_model"] else None
        found = checkpoints.load(self.kind) if checkpoints and options["resume"] else None
        if found is not None:
            model, self.best, self.position = found
            self.resumed = True
        self.spent = self.position.seconds
        multilabel = options["multilabel"] or None  # None: inferred from the first rows
        if model is None:
            self.new()
        else:
            self.reading, self.closed = ReaderOptions.from_dict(model.source), model.source.get("closed", False)
            self.resume(model)
            multilabel = model.learner.task.multilabel
        self.data = self.open_data(multilabel)

    # --- what a kind of training supplies ----------------------------------------------------------------------------

    def new(self) -> None:
        """Begin from scratch: set ``reading`` and ``closed``."""
        raise NotImplementedError

    def resume(self, model: Any) -> None:
        """Continue the training of a model."""
        raise NotImplementedError

    def open_data(self, multilabel: bool | None) -> TrainingData:
        """Open the data."""
        raise NotImplementedError

    def open_pass(self) -> AbstractContextManager[Iterator[Counts]]:
        """Open the rest of the current pass; each step trains on some rows and returns the counts of the pass."""
        raise NotImplementedError

    def end_pass(self) -> None:
        """Complete a pass."""
        self.position.end_pass()
        self.position.now = Counts()

    @property
    def has_model(self) -> bool:
        """Whether there is a model to save."""
        raise NotImplementedError

    def model(self) -> Model | TopicModel:
        """Return the current model."""
        raise NotImplementedError

    # --- the loop ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Train, as many passes as the options ask for.

        Raises
        ------
        Interrupted
            After a signal; the checkpoint is saved if there is a model.
        """
        if self.resumed:
            rows, number = self.position.now.rows, self.position.passes + 1
            text = f"resuming after {rows:,} {self.rows_noun} of pass {number}"
            self.report.note("resume", text, **{"pass": number, self.rows_noun: rows})
        with self.data, Interruptions() as self.interruptions:
            try:
                while self.position.passes < self.options["passes"] and not self.stopped:
                    self._train_pass()
                    self.end_pass()
                    if self.every and self.position.passes < self.options["passes"]:
                        self._save_checkpoint()
            except Interrupted:
                if self.checkpoints is not None and self.has_model:
                    self.data.keep = True
                    self._save_checkpoint()
                raise
            finally:
                self.report.close()
                self.position.seconds = self._seconds()

    def begin_report(self, total: int | None) -> None:
        """Report the pass from here on; ``total`` is its size in units of ``Counts.done``."""
        self.report.begin(self.position.passes + 1, self.options["passes"], self.position.now, total)

    @property
    def every(self) -> int | None:
        """Rows between two checkpoints."""
        return None if self.checkpoints is None else self.checkpoints.every

    def source(self) -> dict[str, Any]:
        """Return how the model reads rows, for prediction."""
        return {**self.reading.as_dict(), "closed": self.closed}

    def _train_pass(self) -> None:
        with self.open_pass() as steps:
            position, before, began = self.position, self.position.now.seconds, time.monotonic()
            for counts in steps:
                rows_before = position.now.rows
                position.now = replace(counts, seconds=before + time.monotonic() - began)
                self.report.update(position.now)
                if self.every and position.now.rows // self.every > rows_before // self.every:
                    self._save_checkpoint()
                self.interruptions.check()
            self.report.end(position.now)

    def _save_checkpoint(self) -> None:
        assert self.checkpoints is not None
        self.position.seconds = self._seconds()
        self.checkpoints.save(self.model(), self.best, self.position)

    def _seconds(self) -> float:
        return self.spent + time.monotonic() - self.began
