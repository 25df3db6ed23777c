"""How a served model learns rows: together where it can, and so that an error leaves no trace."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from copy import copy
from typing import NamedTuple

from ...data.batch import Batch
from ...data.features import NewFeatures
from ...learner.streams import StreamLearner
from .guards import Guards
from .rows import RowReader

WHERE = re.compile(r"^(rows, row [0-9]+(, or soon after it)?|line [0-9]+(, column [0-9]+)?): ")  # in what is learned


class Example(NamedTuple):
    """What a model learns of an event.

    Attributes
    ----------
    line : bytes
        A row with its label, as a line of JSON; empty if the event is none.
    weight : float
    seq : int
        The number of the event in the log.
    label : bytes
        The label alone.
    merged : (bytes, bytes), optional
        A contribution of another server that is merged, and its source as JSON.
    """

    line: bytes
    weight: float = 1.0
    seq: int = 0
    label: bytes = b"null"
    merged: tuple[bytes, bytes] | None = None


class Taken(NamedTuple):
    """What became of rows that were to be learned together.

    Attributes
    ----------
    rows : int
        How many were learned.
    new_features : NewFeatures or None
        The features that they brought.
    error : exception or None
        Of the rows after those, which has left no trace.
    """

    rows: int
    new_features: NewFeatures | None = None
    error: Exception | None = None


class RowLearner:
    """Teaches rows to a learner, in their order.

    Parameters
    ----------
    stream : StreamLearner
    guards : Guards
        What counts the odd ones of rows learned.
    calibrate : bool
        Whether the learner calibrates its probabilities.
    """

    def __init__(self, stream: StreamLearner, guards: Guards, calibrate: bool) -> None:
        self._stream, self._guards, self._calibrate = stream, guards, calibrate
        self._restart()

    def _restart(self) -> None:
        """Number rows and features from scratch, after those that the learner has."""
        stream = self._stream
        assert stream.reading is not None
        self._reader = RowReader(stream.reading, stream.learner.dtype, stream.learner.task, features=stream.features)
        self._batches: list[Batch] = []
        self._steps = stream.learn(
            self._popped(), calibrate=self._calibrate, advise=False, divide=self._divide, gather=False
        )

    def _popped(self) -> Iterator[Batch]:
        while True:  # asked only when there is one
            yield self._batches.pop()

    def _divide(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches, each when there is room for its features and before it is learned."""
        yield from batches

    def learn(self, examples: Sequence[Example]) -> Taken:
        """Learn rows together, up to the first error.

        Raises
        ------
        MemoryError, OSError
            If the machine is to blame.
        """
        done = 0
        try:
            batch = self._reader.batch([example.line for example in examples], [example.weight for example in examples])
            for part in self._stream.parts(batch):
                classes = self._stream.classes
                new = [label.row for label in part.new_labels if classes.get(label.name) is None]
                self._learn_part(_own_columns(part, batch, done))
                lines = [example.line for example in examples[done : done + len(part)]]
                self._guards.count_learned(lines, part, new)
                done += len(part)
        except Exception as error:
            raise_of_machine(error)
            self._restart()
            return Taken(done, error=error)
        return Taken(done, batch.new_features)

    def _learn_part(self, part: Batch) -> None:
        """Learn rows that the learner learns at once; an error leaves the model as it was."""
        learner, classes = self._stream.learner, self._stream.classes
        before = copy(learner)
        before.state = dict(before.state)
        names, numbers = (list(classes.names), dict(classes.numbers)) if part.new_labels else (None, None)
        try:
            self._step(part)
        except BaseException:
            vars(learner).clear()
            vars(learner).update(vars(before))
            if names is not None and numbers is not None:
                classes.names, classes.numbers = names, numbers
            raise

    def _step(self, batch: Batch) -> None:
        self._batches.append(batch)
        next(self._steps)


def _own_columns(part: Batch, batch: Batch, first: int) -> Batch:
    """Return a part of a batch, from its row ``first`` on, without the columns that are new in the rows after it."""
    if batch.new_features is not None and part is not batch:
        later = len(batch.new_features.row) - bisect_left(batch.new_features.row, first + len(part))
        part.n_columns = batch.n_columns - later
    return part


def raise_of_machine(error: Exception) -> None:
    """Raise an error again that is not due to a row: the machine has no memory left, or a disk fails."""
    if isinstance(error, MemoryError | OSError):
        raise error
    if isinstance(error.__cause__, MemoryError):
        raise MemoryError(str(error)) from error


def reason_of(error: Exception) -> str:
    """Return why a row was set aside; a fault of the program is named by its type."""
    told = WHERE.sub("", str(error), count=1) or "no reason given"
    return told if isinstance(error, ValueError) else f"{type(error).__name__}: {told}"
