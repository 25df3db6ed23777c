"""A model of the server with everything that belongs to it: its snapshots, its metrics, its rows to label."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ...models.model import Model
from ..log.event_log import EventLog
from ..log.events import Event, Row, StoredModel
from ..problems import Problem
from ..waiting import Limits
from .candidates import candidate
from .labelling import POOL, Labeller, Labelling
from .metrics import Metrics
from .predicted import Answer
from .rows import RowCheck, label_names, labelled_line
from .served import Example, ServedModel, raise_of_machine
from .settings import ModelSettings
from .snapshots import Snapshots

BASE = "base.cw"  # a model file from which the model continues
SAMPLED, TOGETHER = 16, 64  # of so many runs of so many events one is predicted, to compare that with the labels


class Hosted:
    """A model of the server.

    Parameters
    ----------
    stored : StoredModel
        As the log has it.
    folder : path
        Of its snapshots.
    broken : exception, optional
        Why the model could not be restored; it can then only be listed and deleted.

    Attributes
    ----------
    check : RowCheck
        Of the rows that come in.
    waiting : deque of Example
        What is durable and not learned yet, with the requests that wait for that.
    failed : str or None
        Why the model has stopped answering and learning.
    """

    def __init__(self, stored: StoredModel, folder: Path, broken: BaseException | None = None) -> None:
        self.stored, self.folder = stored, folder
        self.number, self.name, self.created = stored.number, stored.name, stored.created
        self.settings = _settings_of(stored) if broken is None else ModelSettings()
        self.has_file, self.deleted = stored.has_file, False
        self.metrics, self.labelling = Metrics(), Labelling()
        self.waiting: deque[tuple[Example, Any]] = deque()
        self.waiting_since = 0.0  # on the monotonic clock
        self.cursor = 0  # the last event learned
        self.snapshots = Snapshots(folder, self.name)
        self.row_seconds = 20e-6  # of learning, as measured
        self.aside: dict[int, str] = {}  # events that were set aside and of which the log does not know yet, and why
        self.told_aside: dict[int, str] = {}  # those that the log was asked to record last
        self.failed: str | None = None
        self.model = ServedModel(self.settings) if not self.has_file or broken else self._of_base()
        self._take_check()
        if broken is not None:
            self.fail(broken)

    def _of_base(self) -> ServedModel:
        return ServedModel(self.settings, Model.load(self.folder / BASE))

    def _take_check(self) -> None:
        model = self.model
        self.label_key = model.reading.label or "label"
        table = model.stream.classes
        self.closed = [str(name) for name in table.names if name is not None] if table.closed else []
        self.multilabel = bool(table.multilabel)
        self.check = RowCheck(model.reading, self.label_key, model.stream.learner.dtype, self.multilabel, self.closed)

    def check_living(self) -> None:
        """Raise a ``Problem`` if the model was deleted while a request waited."""
        if self.deleted:
            raise Problem("unknown-model", f"the model {self.name!r} was deleted")

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, examples: list[Example], live: bool = True) -> None:
        """Learn rows, after some of them were predicted to compare the predictions with the labels."""
        sampled = self._sampled(examples)
        found = self.model.learn(examples)
        if found.anew:
            self.metrics.began_again()
        self.metrics.learned(found.rows, found.mistakes, found.log_loss, live)
        for one in self.model.take_aside():
            self.aside[one.seq] = one.reason
            self.metrics.refused += 1
        for example, answer in sampled:
            if answer.probability and not isinstance(answer.label, list):  # lists of labels are not compared
                name = str(answer.label)
                self.metrics.judged(answer.probability[name], [name] == label_names(example.label))

    def learn_events(self, examples: list[Example], live: bool = True) -> None:
        """Learn events in order; at an erasure, which is a row without a line, the model settles."""
        rows: list[Example] = []
        for example in examples:
            if example.line:
                rows.append(example)
                continue
            if rows:
                self.learn(rows, live)
            self.model.settle()
            rows = []
        if rows:
            self.learn(rows, live)
        if examples:
            self.cursor = examples[-1].seq

    def _sampled(self, examples: list[Example]) -> list[tuple[Example, Answer]]:
        sample = [example for example in examples if example.seq // TOGETHER % SAMPLED == 1]
        if not sample:
            return []
        try:
            return list(zip(sample, self.model.answers([example.line for example in sample]), strict=True))
        except Exception as error:  # a row among them cannot be read, as learning it will find out
            raise_of_machine(error)
            return []

    # --- set aside ---------------------------------------------------------------------------------------------------

    def record_aside(self, log: EventLog) -> list[int]:
        """Write into the log which events were set aside; return them. Called within a transaction."""
        found = list(self.aside.items())
        for seq, reason in found:
            log.set_aside(self.number, seq, reason)
        return [seq for seq, _ in found]

    def recorded(self, events: list[int]) -> None:
        """Drop events that the log has recorded durably."""
        for seq in events:
            self.aside.pop(seq, None)

    def why_aside(self, log: EventLog, seq: int) -> str | None:
        """Return why an event was set aside, or None if it was not; called in the log thread."""
        return self.aside.get(seq) or log.why_aside(seq)

    # --- failure -----------------------------------------------------------------------------------------------------

    def fail(self, error: BaseException) -> Problem:
        """Stop answering and learning, while other models continue; return the problem for whoever asks."""
        self.failed = self.failed or f"the model {self.name!r} has stopped ({told_of(error)})"
        return self.failure()

    def failure(self) -> Problem:
        """Return the problem of a request to a model that has stopped."""
        remedy = "restart the server, or train the model again with POST .../rebuild"
        return Problem("model-failed", f"{self.failed}; its rows are in the log: {remedy}")

    def check_working(self) -> None:
        """Raise a ``Problem`` if the model was deleted or has stopped."""
        self.check_living()
        if self.failed is not None:
            raise self.failure()

    # --- snapshots ---------------------------------------------------------------------------------------------------

    def load_newest(self, say: Callable[[str], None], since: int = 0) -> None:
        """Continue from the newest snapshot that is sound and not older than an event."""
        found = self.snapshots.newest(self.settings, say, since)
        if found is not None:
            self.model, self.metrics, self.aside = found
            self.cursor = self.model.seq

    def begin_snapshot(self, limits: Limits, say: Callable[[str], None]) -> None:
        """Begin to write a snapshot if one is due."""
        if not self.deleted and self.failed is None:
            self.snapshots.begin_if_due(self.model, self.metrics, self.aside, limits, say)

    def save(self) -> int:
        """Write a snapshot of what is new; return the event up to which the last one goes.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        if not self.deleted and self.failed is None:
            self.snapshots.save(self.model, self.metrics, self.aside)
        return self.snapshots.seq

    # --- training again ----------------------------------------------------------------------------------------------

    def untrained(self) -> Hosted:
        """Return the model as it was before its first row."""
        return Hosted(self.stored, self.folder)

    def become(self, other: Hosted) -> None:
        """Take over the result of a rebuild of this model; snapshots of the one before are removed."""
        self.snapshots.forget()
        self.model, self.metrics, self.failed = other.model, other.metrics, None
        self.aside = {seq: reason for seq, reason in self.aside.items() if seq > other.cursor}
        self.cursor = max(self.cursor, other.cursor)

    # --- rows to label -----------------------------------------------------------------------------------------------

    def restore_labelling(self, log: EventLog) -> None:
        """Find the rows without labels, and the answers, of earlier runs."""
        self.labelling.restore_answers(log, self.number)
        for row in reversed(log.unlabelled(self.number, POOL)):
            if row.note is not None and row.features is not None:
                self.labelling.add(candidate(str(row.id), row.seq, row.features, Answer.of(row.note)))
        for id, note in log.skips(self.number):
            told = msgspec.json.decode(note)
            self.labelling.skip(id, Labeller(told["by"]), told.get("reason"))
        for answer in log.waiting_answers(self.number):
            self.labelling.restore(*answer)


def _settings_of(stored: StoredModel) -> ModelSettings:
    return msgspec.json.decode(stored.settings, type=ModelSettings)


def told_of(error: BaseException) -> str:
    """Return the message of an error, or its type if it has none."""
    if isinstance(error, MemoryError):
        return f"the memory is full: {error}" if str(error) else "the memory is full"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def examples_of(hosted: Hosted, events: list[Row]) -> list[Example]:
    """Return what a model learns of events; of an erasure, a row without a line."""
    found: list[Example] = []
    for row in events:
        if row.kind == Event.ERASURE:
            found.append(Example(b"", 1.0, row.seq))
        elif row.features is not None and row.label is not None:
            line = labelled_line(hosted.label_key, row.label, row.features)
            found.append(Example(line, row.weight, row.seq, row.label))
    return found
