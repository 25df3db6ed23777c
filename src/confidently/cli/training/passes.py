"""Trainings of every kind: passes over data, that a signal ends in order and a checkpoint lets go on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..common import load_model
from ..output.progress import Quiet
from .interrupts import Interrupted, Interruptions
from .position import Position

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel
    from .checkpoint import Checkpoints
    from .data import TrainingData


class Passes:
    """One run of a command that trains.

    Who trains gives :meth:`learn_pass` and :meth:`model`, and sets ``data``.

    Parameters
    ----------
    options : dict
        Of the command.
    checkpoints : Checkpoints, optional
    report : Quiet

    Attributes
    ----------
    given : Model, optional
        The model to go on with: that of ``--start``, or a checkpoint's.
    position : Position
    best : Model, optional
        The best model so far, where there is a validation and it decides.
    stopped : bool
        Whether there is no need for the passes that are left.
    """

    kind: ClassVar[Literal["linear", "topics"]] = "linear"
    rows_called: ClassVar[str] = "rows"
    position_type: ClassVar[type[Position]] = Position
    data: TrainingData
    given: Model | TopicModel | None
    best: Model | TopicModel | None
    position: Position

    def __init__(self, options: dict[str, Any], checkpoints: Checkpoints | None, report: Quiet) -> None:
        self.options, self.checkpoints, self.report = options, checkpoints, report
        self.position, self.best, self.stopped, self.resumed = self.position_type(), None, False, False
        self.began = time.monotonic()
        self.given = load_model(options["start"], self.kind) if options["start"] else None
        found = checkpoints.load(self.kind, self.position_type) if checkpoints and options["resume"] else None
        if found is not None:
            self.given, self.best, self.position = found
            self.resumed = True
        self.spent = self.position.seconds

    def run(self) -> None:
        """Learn the data, as often as asked.

        Raises
        ------
        Interrupted
            If a signal came; the checkpoint is written, if there was anything to keep.
        """
        if self.resumed:
            self._say_where_it_goes_on()
        with self.data, Interruptions() as self.interruptions:
            try:
                while self.position.passes < self.options["passes"] and not self.stopped:
                    self.learn_pass()
                    self.end_pass()
                    if self.every and self.position.passes < self.options["passes"]:
                        self.save_checkpoint()
            except Interrupted:
                if self.checkpoints is not None and self.has_learned:
                    self.data.keep = True
                    self.save_checkpoint()
                raise
            finally:
                self.report.close()
                self.position.seconds = self._seconds()

    def learn_pass(self) -> None:
        """Learn what is left of the present pass."""
        raise NotImplementedError

    def end_pass(self) -> None:
        """The pass is over."""
        raise NotImplementedError

    def model(self) -> Model | TopicModel:
        """What has been learned by now."""
        raise NotImplementedError

    def final_model(self) -> Model | TopicModel:
        """What is to be saved."""
        return self.model()

    @property
    def has_learned(self) -> bool:
        """Whether there is a model yet."""
        return True

    @property
    def every(self) -> int | None:
        """Rows between two checkpoints."""
        return None if self.checkpoints is None else self.checkpoints.every

    def checkpoint_if_due(self, rows_before: int) -> None:
        """Save a checkpoint if one became due since so many rows of the pass had been learned."""
        if self.every and self.position.now.rows // self.every > rows_before // self.every:
            self.save_checkpoint()

    def save_checkpoint(self) -> None:
        """Save what going on needs."""
        assert self.checkpoints is not None
        self.position.seconds = self._seconds()
        self.checkpoints.save(self.model(), self.best, self.position)

    def _seconds(self) -> float:
        return self.spent + time.monotonic() - self.began

    def _say_where_it_goes_on(self) -> None:
        number, rows = self.position.passes + 1, self.position.now.rows
        text = f"going on after {rows:,} {self.rows_called} of pass {number}"
        self.report.note("resume", text, **{"pass": number, self.rows_called: rows})
