"""What a log means, in plain lists: which rows a version of a model learns, and what is told of each row."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Taught(NamedTuple):
    """A label of a row, as it was acknowledged."""

    seq: int
    id: str
    features: dict
    label: object
    weight: float = 1.0
    batch: str | None = None


class Edit(NamedTuple):
    seq: int
    batch: str | None = None
    source: str | None = None
    target: str | None = None


@dataclass
class Version:
    """A version is trained from the log as it is when it begins; what is erased later it has learned already."""

    settings: dict
    state: str = "live"
    begun: int = 0
    is_sure: bool = True  # whether it has certainly learned what was erased since it began


@dataclass
class LogModel:
    """The log of one model.

    Attributes
    ----------
    rows : dict
        Features of the rows by their ids, in the order of their coming; labels that came before are parked.
    """

    settings: dict
    refused: object = lambda settings, features: False
    rows: dict = field(default_factory=dict)
    parked: dict = field(default_factory=dict)
    taught: list = field(default_factory=list)
    edits: list = field(default_factory=list)
    erased: dict = field(default_factory=dict)
    batches: list = field(default_factory=list)
    last: int = 0

    def __post_init__(self):
        self.versions, self.live, self.before = {1: Version(self.settings)}, 1, None

    # --- what happens ------------------------------------------------------------------------------------------------

    def teach(self, seq, id, features, label, weight=1.0, batch=None):
        """A label is in the log under the next event."""
        assert seq > self.last, "events are numbered in their order"
        self.rows.setdefault(id, features)
        self.parked.pop(id, None)
        self.taught.append(Taught(seq, id, features, label, weight, batch))
        self.last = seq

    def erase(self, seq, id):
        self.erased[id] = self.last = seq
        for version in self.versions.values():
            version.is_sure &= version.state == "live"

    def replace(self, number, last):
        """Versions are trained again; a new one takes the place of the one that answers."""
        self.last = max(self.last, last)
        for version in self.versions.values():
            if version.state == "shadow":
                version.begun, version.is_sure = self.last, True
        self.versions[self.live].state = "retired"
        self.versions[number] = Version(self.versions[self.live].settings, "live", self.last)
        self.live = number

    def promote(self, number):
        if number != self.live:
            version = self.versions[number]
            if version.state == "retired":
                version.begun, version.is_sure = self.last, True
            version.state, self.versions[self.live].state = "live", "shadow"
            self.before, self.live = self.live, number

    # --- what is true ------------------------------------------------------------------------------------------------

    def is_out(self, row):
        return any(edit.batch is not None and edit.batch == row.batch and row.seq < edit.seq for edit in self.edits)

    def edited(self, row):
        """The label of a row after the edits; None if its class was removed, or its batch taken out."""
        return self.name(None if self.is_out(row) else row.label, row.seq)

    def name(self, label, seq):
        """The name that edits since an event have given to a class; None if it was removed."""
        for edit in self.edits:
            if edit.source is not None and edit.source == label and seq < edit.seq:
                label = edit.target
        return label

    def is_aside(self, row, number=None):
        return self.refused(self.versions[number or self.live].settings, row.features)

    def learned(self, number=None, with_erased=True):
        """The rows that a version has learned, in order; by default the one that answers."""
        version = self.versions[number or self.live]
        found = [row._replace(label=self.edited(row)) for row in self.taught if not self.is_aside(row, number)]
        gone = {id for id, seq in self.erased.items() if not with_erased or seq <= version.begun}
        return [row for row in found if row.label is not None and row.id not in gone]

    def last_label(self, id):
        """The label that a row was given last, whatever became of it."""
        return next((row.label for row in reversed(self.taught) if row.id == id), None)

    def classes(self, without=None):
        """The classes that are given in the settings, as edits leave them, or all but one of these."""
        found = self.versions[self.live].settings.get("classes", [])
        for edit in [edit for edit in self.edits if edit is not without]:
            if edit.source is not None:
                renamed = [edit.target if name == edit.source else name for name in found]
                found = [*dict.fromkeys(name for name in renamed if name is not None)]
        return found

    def shown(self, id):
        """State, label and logged label of a row, as people see them."""
        rows = [row for row in self.taught if row.id == id]
        kept = [row for row in rows if not self.is_out(row)]
        label, logged = self.edited(kept[-1]) if kept else None, rows[-1].label if rows else None
        if any(map(self.is_aside, kept)):
            return "set-aside", label, logged
        return "labelled" if label is not None else "taken-out" if rows else "unlabelled", label, logged

    def browsed(self):
        """All rows that are there, the newest first."""
        return [(id, *self.shown(id)) for id in reversed(self.rows) if id not in self.erased]

    def states(self):
        return Counter([state for _, state, _, _ in self.browsed()] + ["erased"] * len(self.erased))

    def batches_shown(self):
        """Each batch with its rows and the edit that has taken it out, unless rows came after that."""
        found = []
        for name in reversed(self.batches):
            seqs = [row.seq for row in self.taught if row.batch == name]
            edits = [edit.seq for edit in self.edits if edit.batch == name]
            out = edits[-1] if edits and edits[-1] > max(seqs, default=0) else None
            found.append((name, len(seqs), out))
        return found
