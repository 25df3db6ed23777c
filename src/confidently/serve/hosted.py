"""A model of the server with everything that belongs to it: its snapshots, its metrics, its rows to label."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..models import file
from ..models.file import ModelFileError
from ..models.model import Model
from .labelling import POOL, Labelling, candidate
from .log import Event, EventLog, Row, StoredModel
from .metrics import Metrics
from .problems import Problem
from .rows import RowCheck, labelled_line
from .served import Answer, Example, ServedModel
from .settings import ModelSettings

SNAPSHOT = re.compile(r"m-([0-9]+)\.cw")
BASE = "base.cw"  # a model file from which the model continues
KEPT = 2  # snapshots
SAMPLED = 16  # of so many rows one, by the number of its event, is predicted to compare that with its label


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
        self.cursor = self.saved_seq = 0  # the last event learned, and the last one in a snapshot
        self.saved_at = time.monotonic()
        self.saving = False
        self.not_before = 0.0  # on the monotonic clock: when the next snapshot is tried after one that failed
        self.writer: threading.Thread | None = None
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

    def check_row(self, features: bytes, label: Any) -> None:
        """Raise a ``Problem`` unless a row can be read with its label."""
        with self._check_lock:
            self._check.labelled(features, label)

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

    def _sampled(self, examples: list[Example]) -> list[tuple[Example, Answer]]:
        if self.model.waiting_rows:  # whose block would have to be learned for that
            return []
        sample = [example for example in examples if example.seq % SAMPLED == 0]
        if not sample:
            return []
        return list(zip(sample, self.model.answers([example.line for example in sample]), strict=True))

    # --- snapshots ---------------------------------------------------------------------------------------------------

    def untrained(self) -> Hosted:
        """Return the model as it was before its first row."""
        return Hosted(self.stored, self.folder)

    def become(self, other: Hosted) -> None:
        """Be what another training of the same model has made; snapshots of the one before are removed."""
        self.model, self.metrics = other.model, other.metrics
        self.saved_seq, self.saved_at = 0, -math.inf
        for path in snapshots(self.folder):
            path.unlink(missing_ok=True)

    def load_newest(self, say: Callable[[str], None], since: int = 0) -> None:
        """Continue from the newest snapshot that is sound and not older than an event."""
        for path in snapshots(self.folder):
            if number_of(path) < since:
                return
            try:
                model = Model.load(path)
                saved = dict(model.training)
                seq, metrics = int(saved["seq"]), Metrics(saved["metrics"])
                model.training = {}
                served = ServedModel(self.settings, model, seq)
                served.refused = metrics.refused
                served.stream.log_loss[0] = metrics.log_loss
            except (ModelFileError, OSError, KeyError, TypeError, ValueError) as error:
                say(f"{self.name}: {path.name} cannot be used ({error}); the one before is loaded")
                continue
            self.model, self.metrics = served, metrics
            self.cursor = self.saved_seq = seq
            return

    def snapshot_due(self, events: int, seconds: float) -> bool:
        """Return whether a snapshot is due."""
        new = self.model.seq - self.saved_seq
        return (
            not self.saving and not self.deleted and self.model.early is None and new > 0 and self.model.has_classes
            and (new >= events or time.monotonic() - self.saved_at >= seconds)
            and (seconds == 0.0 or time.monotonic() >= self.not_before)
        )  # fmt: skip

    def packed(self) -> tuple[int, dict[str, Any], dict[str, np.ndarray]]:
        """Return event, header and arrays of a snapshot, which do not change with the learner."""
        model = self.model.learned()
        model.check_values()
        model.training = {"seq": self.model.seq, "metrics": self.metrics.as_dict()}
        arrays = {name: np.array(array) for name, array in model.arrays().items()}
        return self.model.seq, model.header(), arrays

    def write(self, seq: int, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Write a snapshot, and remove those before the last one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file.write(self.folder / f"m-{seq:012d}.cw", header, arrays)
        for old in snapshots(self.folder)[KEPT:]:
            old.unlink(missing_ok=True)
        self.saved_seq, self.saved_at = seq, time.monotonic()

    # --- rows to label -----------------------------------------------------------------------------------------------

    def restore_labelling(self, log: EventLog) -> None:
        """Find the rows without labels, and the answers, of earlier runs."""
        for row in reversed(log.unlabelled(self.number, POOL)):
            if row.note is not None and row.features is not None:
                self.labelling.add(candidate(str(row.id), row.seq, row.features, stored_answer(row.note)))
        for label, note in log.answer_notes(self.number):
            self.labelling.counted(label, note)
        for seq, example, id, label in log.waiting_answers(self.number):
            self.labelling.restore(seq, example, id, label)


def snapshots(folder: Path) -> list[Path]:
    """Return the snapshots of a folder, the newest first."""
    found = [path for path in folder.glob("m-*.cw") if SNAPSHOT.fullmatch(path.name)]
    return sorted(found, key=number_of, reverse=True)


def number_of(snapshot: Path) -> int:
    """Return the event up to which a snapshot goes."""
    return int(snapshot.name[2:-3])


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
            label = msgspec.json.decode(row.label)
            found.append(Example(labelled_line(hosted.label_key, label, row.features), row.weight, row.seq))
    return found
