"""A version of a served model: what it has learned of the log so far, with its metrics and its snapshots."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from ...models.file import ModelFileError
from ...models.merged_learner import MergeError
from ..log.contributions import Source
from ..log.edits import NO_EDITS, Edits
from ..log.event_log import EventLog
from ..log.events import Event, Row, State, StoredVersion
from ..problems import Problem
from ..waiting import Limits
from .base import HostedModel, Judged
from .contributions import Contribution
from .learning import Example, raise_of_machine
from .making import made, read_snapshot
from .merged import MergedModel, require_room, with_contribution
from .metrics import Metrics
from .rows import labelled_line
from .served import ServedModel
from .settings import ModelSettings, what_is_learned
from .snapshots import Content, Snapshots

BASE = "base.cw"  # a model file from which the model continues
FEWEST, PARTS = 16, 16  # rows that are learned together; as many as 1/PARTS of those before, for the curve
MOST, MOST_STORED = 512, 4096  # and of the log, where nobody waits
SAMPLED, TOGETHER = 16, 64  # of so many runs of so many events one is predicted, to compare that with the labels
ENOUGH, SAMPLED_LATER = 2**14, 64  # rows after which a version that does not answer has fewer of its rows predicted


class Version:
    """A version of a model; of the thread that teaches it.

    Parameters
    ----------
    name : str
        Of the model, for messages.
    stored : StoredVersion
        As the log has it.
    folder : path
        Of the model; the version has a folder in it.
    edits : Edits
        Those that are of consequence for it.
    broken : exception, optional
        Why it could not be restored; it can then only be listed.

    Attributes
    ----------
    waiting : deque of Example
        What is durable and not learned yet, with the requests that wait for that; of the version that answers.
    cursor : int
        The last event learned.
    failed : str or None
        Why it has stopped answering and learning.
    """

    def __init__(
        self, name: str, stored: StoredVersion, folder: Path, edits: Edits = NO_EDITS, broken: Exception | None = None
    ) -> None:  # fmt: skip
        self.name, self.stored, self.number = name, stored, stored.number
        self.folder = folder / str(stored.number)
        self.settings = ModelSettings() if broken is not None else _edited(settings_of(stored), edits)
        self.waiting: deque[tuple[Example, Any]] = deque()
        self.waiting_since = 0.0  # on the monotonic clock
        self.cursor = 0
        self.snapshots = Snapshots(self.folder, name)
        self.row_seconds = 20e-6  # of learning, as measured
        self.aside: dict[int, str] = {}  # events that were set aside and of which the log does not know yet, and why
        self.told_aside: dict[int, str] = {}  # those that the log was asked to record last
        self.failed: str | None = None
        self.resumed = False  # from its newest snapshot
        self.base_classes: set[str] = set()  # of the file that it began with
        self.model = made(self.settings) if not stored.has_file or broken else self._of_base()
        self.metrics = Metrics(measures=self.model.measures)
        if broken is not None:
            self.fail(broken)

    def _of_base(self) -> HostedModel:
        base = read_snapshot(self.folder / BASE).base(self.settings)
        self.base_classes = {str(name) for name in base.classes}
        return base

    @property
    def state(self) -> State:
        """How far it has come in life."""
        return self.stored.state

    @property
    def label_key(self) -> str:
        """The key of labels in rows."""
        return self.model.reading.label or "label"

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, examples: list[Example], live: bool = True) -> None:
        """Learn rows, after some of them were predicted to compare the predictions with the labels."""
        sampled = self._sampled(examples)
        if sampled.covered:
            self.metrics.alarms.sampled(sampled.covered)
        found = self.model.learn(examples)
        if found.anew:
            self.metrics.began_again()
        self.metrics.learned(found.rows, *found.sums, live=live)
        self.metrics.alarms.ordered(*self.model.order)
        for one in self.model.take_aside():
            self.aside[one.seq] = one.reason
            self.metrics.refused += 1
        for probability, hit in sampled.stated:
            self.metrics.judged(probability, hit)

    def learn_events(self, examples: list[Example], live: bool = True) -> None:
        """Learn events in order: rows, contributions of other servers, and erasures, at which the model settles."""
        first = 0
        while first < len(examples):
            most = min(max(self.metrics.rows // PARTS, FEWEST), MOST if live else MOST_STORED)
            most = max(most, self.model.least_rows)
            rows = list(takewhile(_is_row, examples[first : first + most]))
            if rows:
                self.learn(rows, live)
                first += len(rows)
            else:
                self._pass(examples[first])
                first += 1
            self.cursor = examples[first - 1].seq

    def learn_stored(self, events: list[Row]) -> None:
        """Learn events of the log, of which it has everything before."""
        self.learn_events(self.examples(events), live=False)
        self.cursor = events[-1].seq

    def examples(self, events: list[Row]) -> list[Example]:
        """Return what is learned of events of the log; erasures and contributions have no line."""
        found, key = list[Example](), self.label_key
        for row in events:
            if row.kind == Event.ERASURE:
                if row.seq > self.stored.begun:
                    found.append(Example(b"", 1.0, row.seq))
            elif row.kind == Event.MERGE:
                assert row.features is not None and row.note is not None
                found.append(Example(b"", 1.0, row.seq, merged=(row.features, row.note)))
            elif row.features is not None and row.label is not None:
                line = labelled_line(key, row.label, row.features)
                found.append(Example(line, row.weight, row.seq, row.label))
        return found

    def _pass(self, example: Example) -> None:
        """Take in an event that is no row."""
        if example.merged is None:
            self.model.settle()
            return
        content, source = example.merged
        try:
            found = msgspec.json.decode(source, type=Source)
            self.model = merged = self._merged(Contribution.of(content), found, example.seq)
            reason = merged.missing.get(found.origin)
        except (MergeError, ModelFileError) as error:
            reason = str(error)
        if reason is not None:
            self.aside[example.seq] = reason
            self.metrics.refused += 1

    def check_merge(self, contribution: Contribution, source: Source) -> None:
        """Raise ``MergeError`` if a contribution cannot be merged now."""
        if isinstance(self.model, ServedModel):
            require_room(self.model, contribution)
        if (reason := self._merged(contribution, source, 0).missing.get(source.origin)) is not None:
            raise MergeError(reason)

    def _merged(self, contribution: Contribution, source: Source, seq: int) -> MergedModel:
        if self.model.merge_refusal is not None or not isinstance(self.model, ServedModel):
            raise MergeError(str(self.model.merge_refusal))
        base = read_snapshot(self.folder / BASE).content if self.stored.has_file else None
        return with_contribution(self.model, contribution, source, self.settings_stated, base, seq)

    @property
    def settings_stated(self) -> str:
        """The settings, as contributions state theirs."""
        return what_is_learned(self.stored.settings).decode()

    def _sampled(self, examples: list[Example]) -> Judged:
        every = SAMPLED if self.state == State.LIVE or self.metrics.rows < ENOUGH else SAMPLED_LATER
        sample = [example for example in examples if example.seq // TOGETHER % every == 1]
        try:
            return self.model.judged(sample) if sample else Judged([], [])
        except Exception as error:  # a row among them cannot be read, as learning it will find out
            raise_of_machine(error)
            return Judged([], [])

    def take_settings(self, stored: StoredVersion) -> None:
        """Change settings that do not matter for what is learned; of any thread."""
        self.stored = stored
        self.settings = msgspec.structs.replace(settings_of(stored), classes=self.settings.classes)  # as edited
        self.model.take_settings(self.settings)

    # --- set aside ---------------------------------------------------------------------------------------------------

    def record_aside(self, log: EventLog) -> list[int]:
        """Write into the log which events were set aside; return them. Called within a transaction."""
        found = list(self.aside.items())
        for seq, reason in found:
            log.set_aside(self.stored.model, self.number, seq, reason)
        return [seq for seq, _ in found]

    def recorded(self, events: list[int]) -> None:
        """Drop events that the log has recorded durably."""
        for seq in events:
            self.aside.pop(seq, None)

    def why_aside(self, log: EventLog, seq: int) -> str | None:
        """Return why an event was set aside, or None if it was not; called in the log thread."""
        return self.aside.get(seq) or log.why_aside(self.number, seq)

    # --- failure -----------------------------------------------------------------------------------------------------

    def fail(self, error: BaseException) -> Problem:
        """Stop answering and learning, while other models continue; return the problem for whoever asks."""
        self.failed = self.failed or f"the model {self.name!r} has stopped ({told_of(error)})"
        return self.failure()

    def failure(self) -> Problem:
        """Return the problem of a request to a model that has stopped."""
        remedy = "restart the server, or train the model again with POST .../rebuild"
        return Problem("model-failed", f"{self.failed}; its rows are in the log: {remedy}")

    def release(self) -> None:
        """Drop what was learned, since nobody asks it any more."""
        self.model = made(ModelSettings())

    # --- snapshots ---------------------------------------------------------------------------------------------------

    def load_newest(self, say: Callable[[str], None]) -> None:
        """Continue from the newest snapshot that is sound."""
        found, self.resumed = self.snapshots.newest(self.settings, self.stored.begun, say), True
        if found is not None:
            self.model, self.metrics, self.aside, _ = found
            self.cursor = self.model.seq

    def begin_snapshot(self, limits: Limits, say: Callable[[str], None]) -> None:
        """Begin to write a snapshot if one is due."""
        if self.failed is None and self.state != State.RETIRED:
            self.snapshots.begin_if_due(self._content(), limits, say)

    def _content(self) -> Content:
        return Content(self.model, self.metrics, self.aside, self.stored.begun)

    def save(self) -> int:
        """Write a snapshot of what is new; return the event up to which the last one goes.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        if self.failed is None and self.state != State.RETIRED:
            self.snapshots.save(self._content())
        return self.snapshots.seq


def _is_row(example: Example) -> bool:
    return bool(example.line)


def settings_of(stored: StoredVersion) -> ModelSettings:
    """Return the settings of a version."""
    return msgspec.json.decode(stored.settings, type=ModelSettings)


def _edited(settings: ModelSettings, edits: Edits) -> ModelSettings:
    return msgspec.structs.replace(settings, classes=edits.classes(settings.classes))


def told_of(error: BaseException) -> str:
    """Return the message of an error, or its type if it has none."""
    if isinstance(error, MemoryError):
        return f"the memory is full: {error}" if str(error) else "the memory is full"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
