"""A model of the server with everything that belongs to it: its snapshots, its metrics, its rows to label."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from ..models.model import Model
from .events import Event, Row, StoredModel
from .labelling import POOL, Labelling, candidate
from .log import EventLog
from .metrics import Metrics
from .problems import Problem
from .rows import RowCheck, labelled_line
from .served import Answer, Example, ServedModel
from .settings import ModelSettings
from .snapshots import Snapshots
from .waiting import Limits

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

    Attributes
    ----------
    waiting : deque of Example
        What is durable and not learned yet.
    """

    def __init__(self, stored: StoredModel, folder: Path) -> None:
        self.stored, self.folder = stored, folder
        self.number, self.name, self.created = stored.number, stored.name, stored.created
        self.settings = msgspec.json.decode(stored.settings, type=ModelSettings)
        self.has_file, self.deleted = stored.has_file, False
        self.metrics, self.labelling = Metrics(), Labelling()
        self.waiting: deque[tuple[Example, Any]] = deque()
        self.waiting_since = 0.0  # on the monotonic clock
        self.cursor = 0  # the last event learned
        self.snapshots = Snapshots(folder, self.name)
        self.row_seconds = 20e-6  # of learning, as measured
        self._check_lock = threading.Lock()
        self.model = ServedModel(self.settings) if not self.has_file else self._of_base()
        self._take_check()

    def _of_base(self) -> ServedModel:
        return ServedModel(self.settings, Model.load(self.folder / BASE))

    def _take_check(self) -> None:
        model = self.model
        self.label_key = model.reading.label or "label"
        table = model.stream.classes
        self.closed = [str(name) for name in table.names if name is not None] if table.closed else []
        self.multilabel = bool(table.multilabel)
        self._check = RowCheck(model.reading, self.label_key, model.stream.learner.dtype, self.multilabel, self.closed)

    def check_living(self) -> None:
        """Raise a ``Problem`` if the model was deleted while a request waited."""
        if self.deleted:
            raise Problem("unknown-model", f"the model {self.name!r} was deleted")

    def check_features(self, features: bytes) -> None:
        """Raise a ``Problem`` unless the features of a row can be read."""
        with self._check_lock:
            self._check.features(features)

    def check_row(self, features: bytes, label: bytes) -> bytes:
        """Return the line of a row with its label, as JSON; raise a ``Problem`` unless it can be read."""
        with self._check_lock:
            return self._check.labelled(features, label)

    def are_features(self, many: list[bytes]) -> bool:
        """Return whether all are features that can be read."""
        with self._check_lock:
            return self._check.are_features(many)

    def are_lines(self, many: list[bytes]) -> bool:
        """Return whether all are lines of rows that can be read with their labels."""
        with self._check_lock:
            return self._check.are_labelled(many)

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, examples: list[Example], live: bool = True) -> None:
        """Learn rows, after some of them were predicted to compare the predictions with the labels."""
        for example, answer in self._sampled(examples):
            label = msgspec.json.decode(example.line)[self.label_key]
            if answer.label is not None and answer.probability and not isinstance(label, list):
                self.metrics.judged(answer.probability[str(answer.label)], str(answer.label) == str(label))
        found = self.model.learn(examples)
        if found.anew:
            self.metrics.began_again()
        self.metrics.learned(found.rows, found.mistakes, found.log_loss, found.refused, live)

    def learn_events(self, examples: list[Example], live: bool = True) -> None:
        """Learn what events say, in order; at an erasure, which is a row without a line, the model settles."""
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
        if self.model.waiting_rows:  # whose block would have to be learned for that
            return []
        sample = [example for example in examples if example.seq // TOGETHER % SAMPLED == 1]
        if not sample:
            return []
        return list(zip(sample, self.model.answers([example.line for example in sample]), strict=True))

    # --- snapshots ---------------------------------------------------------------------------------------------------

    def load_newest(self, say: Callable[[str], None], since: int = 0) -> None:
        """Continue from the newest snapshot that is sound and not older than an event."""
        found = self.snapshots.newest(self.settings, say, since)
        if found is not None:
            self.model, self.metrics = found
            self.cursor = self.model.seq

    def begin_snapshot(self, limits: Limits, say: Callable[[str], None]) -> None:
        """Begin to write a snapshot if one is due."""
        if not self.deleted:
            self.snapshots.begin_if_due(self.model, self.metrics, limits, say)

    def save(self) -> int:
        """Write a snapshot of what is new; return the event up to which the last one goes.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        if not self.deleted:
            self.snapshots.save(self.model, self.metrics)
        return self.snapshots.seq

    # --- training again ----------------------------------------------------------------------------------------------

    def untrained(self) -> Hosted:
        """Return the model as it was before its first row."""
        return Hosted(self.stored, self.folder)

    def become(self, other: Hosted) -> None:
        """Be what another training of the same model has made; snapshots of the one before are removed."""
        self.snapshots.forget()
        self.model, self.metrics = other.model, other.metrics
        self.cursor = max(self.cursor, other.cursor)

    # --- rows to label -----------------------------------------------------------------------------------------------

    def restore_labelling(self, log: EventLog) -> None:
        """Find the rows without labels, and the answers, of earlier runs."""
        for label, note in log.answer_notes(self.number):
            self.labelling.counted(label, note)
        for row in reversed(log.unlabelled(self.number, POOL)):
            if row.note is not None and row.features is not None:
                self.labelling.add(candidate(str(row.id), row.seq, row.features, stored_answer(row.note)))
        for id, note in log.skips(self.number):
            self.labelling.skip(id, msgspec.json.decode(note)["by"])
        for seq, example, id, label in log.waiting_answers(self.number):
            self.labelling.restore(seq, example, id, label)


def stored_answer(note: bytes) -> Answer:
    """Return the answer that an event of a prediction keeps."""
    return Answer(**msgspec.json.decode(note))


def examples_of(hosted: Hosted, events: list[Row]) -> list[Example]:
    """Return what a model learns of events; of an erasure, a row without a line."""
    found: list[Example] = []
    for row in events:
        if row.kind == Event.ERASURE:
            found.append(Example(b"", 1.0, row.seq))
        elif row.features is not None and row.label is not None:
            found.append(Example(labelled_line(hosted.label_key, row.label, row.features), row.weight, row.seq))
    return found
