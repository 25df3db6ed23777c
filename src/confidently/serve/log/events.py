"""What the log keeps: its tables, and the kinds of events and records."""

from __future__ import annotations

import enum
import time
from typing import NamedTuple

import msgspec

SCHEMA_VERSION = 4


class State(enum.StrEnum):
    """States of a version of a model."""

    LIVE = "live"  # it answers
    SHADOW = "shadow"  # it learns all rows too, so that it can be compared and promoted
    PROMOTING = "promoting"  # it answers as soon as it has learned all rows; the one before is then a shadow
    NEXT = "next"  # as soon as it has learned all rows, it replaces the one before
    RETIRED = "retired"  # nothing but its settings is kept


class Event(enum.IntEnum):
    """Kinds of events. Only the first two have an id of their own; the others are about one of them, their example."""

    PREDICTION = 1  # a row without a label: features; note: the answer
    LEARN = 2  # a row with its label: features, label, weight; note: who labelled it, if that is known
    LABEL = 3  # the label of a prediction, or of an answer that can no longer be undone; note: who, if that is known
    CORRECTION = 4  # another label of an example that has one; note: as of a label
    ERASURE = 5  # the example is hidden; a note is there until its features and labels are overwritten
    ANSWER = 6  # of a labeller, which can still be undone: label; note: who, and whether the row was drawn at random
    UNDO = 7  # of the answer before
    PARKED = 8  # a label that came before its prediction: id, label
    REBUILD = 9  # of logs of version 1: the model was rebuilt without the rows that were erased
    SKIP = 10  # a labeller does not want to label the example; note: who, and why
    SET_ASIDE = 11  # the model could not learn an event, which counts as not there; example: that event; note: why
    PROMOTED = 12  # from now on a version answers; note: which one did before, and why
    EDIT = 13  # of the rows before, for versions that begin to train later; note: what (log/edits.py)
    REVERT = 14  # of an edit, its example
    ACTIVATED = 15  # a deferred decision counts from now on
    OPINION = 16  # of a labeller on an example that has an answer: label; never learned; note: who, and of what
    ORIGIN = 17  # note: by what name other servers know what the model has learned of its own rows
    MERGE = 18  # features: the contribution of another server; note: whose (log/contributions.py)


KINDS = {int(kind): kind for kind in Event}  # which is faster than Event(kind), for many rows
RARE = f"kind >= {Event.ERASURE}"  # an index has these kinds; a statement that says so uses it
LABELS = f"({Event.LABEL}, {Event.CORRECTION})"  # that an example got after it came
AFTER_ANSWER = f"({Event.LABEL}, {Event.ERASURE}, {Event.ANSWER}, {Event.UNDO})"  # an answer waits until one of these
NOT_SET_ASIDE = (
    f"NOT EXISTS (SELECT 1 FROM events s WHERE s.example = e.seq AND s.kind = {Event.SET_ASIDE} AND s.version = ?)"
)
FIRST_SCHEMA = f"""
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
SECOND_SCHEMA = f"""
ALTER TABLE events ADD COLUMN batch INTEGER;
ALTER TABLE events ADD COLUMN version INTEGER;
CREATE TABLE versions(
    model INTEGER NOT NULL, number INTEGER NOT NULL, settings BLOB NOT NULL, has_file INTEGER NOT NULL,
    begun INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, created INTEGER NOT NULL,
    PRIMARY KEY (model, number)) WITHOUT ROWID;
CREATE TABLE batches(
    number INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, name TEXT NOT NULL, created INTEGER NOT NULL);
CREATE UNIQUE INDEX batch_names ON batches(model, name);
CREATE INDEX of_batches ON events(batch) WHERE batch IS NOT NULL;
INSERT INTO versions SELECT number, 1, settings, has_file, coalesce((SELECT max(seq) FROM events
    WHERE events.model = models.number AND {RARE} AND kind = {Event.REBUILD}), 0), '{State.LIVE}', 'made', created
    FROM models WHERE deleted IS NULL;
UPDATE events SET version = 1 WHERE {RARE} AND kind = {Event.SET_ASIDE};
ALTER TABLE models DROP COLUMN settings;
ALTER TABLE models DROP COLUMN has_file;
"""
THIRD_SCHEMA = "CREATE INDEX of_models ON events(model);"
FOURTH_SCHEMA = """
CREATE TABLE lists(number INTEGER PRIMARY KEY, model INTEGER NOT NULL, digest BLOB NOT NULL, content BLOB NOT NULL);
CREATE UNIQUE INDEX of_digests ON lists(model, digest);
CREATE TABLE choices(event INTEGER PRIMARY KEY, list INTEGER NOT NULL, numbers BLOB NOT NULL);
CREATE INDEX of_lists ON choices(list);
"""
SCHEMAS = (FIRST_SCHEMA, SECOND_SCHEMA, THIRD_SCHEMA, FOURTH_SCHEMA)  # each makes the next version of the one before


class StoredModel(NamedTuple):
    """A model of the log."""

    number: int
    name: str
    created: int


class StoredVersion(NamedTuple):
    """A version of a model: settings, and what it learns of the log.

    Attributes
    ----------
    begun : int
        The last event before its training began; edits and erasures up to it are of consequence.
    reason : str
        Why it was made.
    """

    model: int
    number: int
    settings: bytes
    has_file: bool
    begun: int
    state: State
    reason: str
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


DEADLINE = "deadline"  # who gives a default reward


def note_of(labeller: str | None) -> bytes | None:
    """Return the note of a label: who gave it, if that is known."""
    return msgspec.json.encode({"by": labeller}) if labeller else None


def labeller_in(note: bytes | None) -> str | None:
    """Return who gave a label, according to its note."""
    found = None if note is None else msgspec.json.decode(note)
    return str(found["by"]) if isinstance(found, dict) and "by" in found else None


def now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
