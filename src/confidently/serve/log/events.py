"""What the log keeps: its tables, and the kinds of events and records."""

from __future__ import annotations

import enum
from typing import NamedTuple

import msgspec

SCHEMA_VERSION = 1


class Event(enum.IntEnum):
    """Kinds of events. Only the first two have an id of their own; the others are about one of them, their example."""

    PREDICTION = 1  # a row without a label: features; note: the answer
    LEARN = 2  # a row with its label: features, label, weight
    LABEL = 3  # the label of a prediction, or of an answer that can no longer be undone; note: who, if that is known
    CORRECTION = 4  # another label of an example that has one; note: as of a label
    ERASURE = 5  # the example is hidden; a note is there until its features and labels are overwritten
    ANSWER = 6  # of a labeller, which can still be undone: label; note: who, and whether the row was drawn at random
    UNDO = 7  # of the answer before
    PARKED = 8  # a label that came before its prediction: id, label
    REBUILD = 9  # the model was rebuilt from the rows before, without those that were erased
    SKIP = 10  # a labeller does not want to label the example; note: who, and why
    SET_ASIDE = 11  # the model could not learn an event, which counts as not there; example: that event; note: why
    OPINION = 16  # of a labeller on an example that has an answer: label; never learned; note: who, and of what


RARE = f"kind >= {Event.ERASURE}"  # an index has these kinds; a statement that says so uses it
LABELS = f"({Event.LABEL}, {Event.CORRECTION})"  # that an example got after it came
AFTER_ANSWER = f"({Event.LABEL}, {Event.ERASURE}, {Event.ANSWER}, {Event.UNDO})"  # an answer waits until one of these
NOT_SET_ASIDE = f"NOT EXISTS (SELECT 1 FROM events s WHERE s.example = e.seq AND s.kind = {Event.SET_ASIDE})"
SCHEMA = f"""
CREATE TABLE models(
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, settings BLOB NOT NULL, has_file INTEGER NOT NULL,
    created INTEGER NOT NULL, deleted INTEGER);
CREATE UNIQUE INDEX living ON models(name) WHERE deleted IS NULL;
CREATE TABLE events(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, kind INTEGER NOT NULL, id TEXT, example INTEGER,
    features BLOB, label BLOB, weight REAL, note BLOB, time INTEGER NOT NULL);
CREATE TABLE positions(
    model INTEGER NOT NULL, source TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (model, source)) WITHOUT ROWID;
CREATE UNIQUE INDEX ids ON events(model, id) WHERE id IS NOT NULL;
CREATE INDEX of_examples ON events(example, kind) WHERE example IS NOT NULL;
CREATE INDEX predictions ON events(model, time) WHERE kind = {Event.PREDICTION} AND features IS NOT NULL;
CREATE INDEX rare ON events(model, kind) WHERE {RARE};
CREATE INDEX erasing ON events(model) WHERE kind = {Event.ERASURE} AND note IS NOT NULL;
"""


class StoredModel(NamedTuple):
    """A model of the log."""

    number: int
    name: str
    settings: bytes
    has_file: bool
    created: int


class Row(NamedTuple):
    """An event, with the features and the id of its example."""

    seq: int
    kind: Event
    id: str | None
    features: bytes | None
    label: bytes | None
    weight: float
    time: int
    example: int
    note: bytes | None


class Stored(NamedTuple):
    """An example by its id."""

    id: str
    seq: int
    kind: Event
    features: bytes | None
    label: bytes | None
    weight: float
    note: bytes | None
    time: int


def note_of(labeller: str | None) -> bytes | None:
    """Return the note of a label: who gave it, if that is known."""
    return msgspec.json.encode({"by": labeller}) if labeller else None


def labeller_in(note: bytes | None) -> str | None:
    """Return who gave a label, according to its note."""
    found = None if note is None else msgspec.json.decode(note)
    return str(found["by"]) if isinstance(found, dict) and "by" in found else None
