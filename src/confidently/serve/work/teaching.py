"""Requests that teach: rows with labels, and labels of rows that were predicted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import apsw
import msgspec

from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import EventLog, refuse_other_content, same_json
from ..log.events import Event, Stored, note_of, now
from ..model.decision_counts import reward_in
from ..model.hosted import Hosted
from ..model.learning import Example
from ..model.rows import labelled_line, same_label
from ..problems import Problem, tried
from .checking import Taught

DURABLE, LEARNED, PARKED = "durable", "learned", "parked"


class LabelOf(NamedTuple):
    """The label of a prediction, by its id, and who gave it, if that is known."""

    id: str
    label: Any
    by: str | None = None


class Given(NamedTuple):
    """A label of the log: its event, and whether models learn it already."""

    seq: int
    label: bytes
    is_learned: bool


class Receipt(NamedTuple):
    """The answer to a row or a label: its event, and what is certain."""

    id: str
    seq: int
    status: str


# --- learn -----------------------------------------------------------------------------------------------------------


def learn(
    engine: Engine, hosted: Hosted, rows: Sequence[Taught], wait: bool = False, batch: str | None = None
) -> Request:
    """Return a request to learn rows of a batch, answered with a ``Receipt`` or a ``Problem`` for each."""

    def work(log: EventLog, request: Request) -> list[Receipt | Problem]:
        hosted.check_working()
        request.batch = None if batch is None else log.edits.batch_for(hosted.number, batch)
        return [tried(teach, engine, hosted, log, request, row) for row in rows]

    return Request(work, len(rows), sum(len(row.features) for row in rows), wait)


def teach(engine: Engine, hosted: Hosted, log: EventLog, request: Request, row: Taught) -> Receipt:
    """Write a row with its label into the log; it is learned when the request is durable.

    Raises
    ------
    Problem
        If its id was used with other content.
    """
    if row.id is None:
        return _teach_new(engine, hosted, log, request, row)
    id, label = row.id, row.label
    stored = log.find(hosted.number, id)
    if stored is not None and is_expired(engine, log, stored):
        log.unpark(stored.seq)
        stored = None
    if stored is None:
        return _add(hosted, log, request, row, id)
    if stored.kind == Event.PARKED:
        return _learn_parked(hosted, log, request, row, stored)
    if stored.features is None or not same_json(stored.features, row.features):
        raise refuse_other_content(id)
    before = given_label(log, stored.seq)
    if before is not None:
        if stored.kind == Event.LEARN and stored.weight != row.weight:
            raise refuse_other_content(id)
        if not same_label(before.label, label):
            raise refuse_other_content(id) if stored.kind == Event.LEARN else _other_label(id, before.label)
        if before.is_learned:
            return _receipt(hosted, log, request, id, before.seq)
    seq = _add_label(hosted, log, request, stored, label, by=row.by)
    return Receipt(id, seq, LEARNED if request.wait else DURABLE)


def _teach_new(engine: Engine, hosted: Hosted, log: EventLog, request: Request, row: Taught) -> Receipt:
    """Write a row into the log under an id that no row has, not even one whose sender has chosen such an id."""
    while True:
        id = engine.new_id()
        with suppress(apsw.ConstraintError):
            return _add(hosted, log, request, row, id)


def _add(hosted: Hosted, log: EventLog, request: Request, row: Taught, id: str) -> Receipt:
    seq = log.add(
        hosted.number, Event.LEARN, id, None, row.features, row.label, row.weight, note_of(row.by), request.batch
    )
    request.examples.append((hosted, Example(row.line, row.weight, seq, row.label)))
    return Receipt(id, seq, LEARNED if request.wait else DURABLE)


def given_label(log: EventLog, example: int) -> Given | None:
    """Return the last label of an example, if it has one."""
    answer = log.answers.waiting_of(example)
    if answer is not None:
        return Given(answer[0], answer[1], False)
    found = log.label_of(example)
    return None if found is None else Given(*found, True)


def _receipt(hosted: Hosted, log: EventLog, request: Request, id: str, seq: int) -> Receipt:
    """Return what is certain about a label that an earlier request has brought."""
    if not request.wait:
        return Receipt(id, seq, DURABLE)
    if (reason := hosted.live.why_aside(log, seq)) is not None:
        raise Problem("set-aside", f"the model could not learn the row {id!r}: {reason}")
    return Receipt(id, seq, LEARNED if seq <= hosted.cursor else DURABLE)


def is_expired(engine: Engine, log: EventLog, stored: Stored) -> bool:
    """Return whether a prediction has waited too long for its label."""
    if stored.kind != Event.PREDICTION or stored.time >= now() - int(engine.limits.keep_predictions * 1000):
        return False
    return given_label(log, stored.seq) is None and log.erasure_of(stored.seq) is None


def _learn_parked(hosted: Hosted, log: EventLog, request: Request, row: Taught, stored: Stored) -> Receipt:
    """Learn a row whose label came first, if it is the same."""
    assert row.id is not None
    if stored.label is None or not same_label(stored.label, row.label):
        raise _other_label(row.id, stored.label or b"null")
    log.unpark(stored.seq)
    return _add(hosted, log, request, row, row.id)


def example_of(hosted: Hosted, features: bytes, label: bytes, weight: float, seq: int) -> Example:
    """Return what models learn of a stored row with its label, whose event is given."""
    return Example(labelled_line(hosted.label_key, label, features), weight, seq, label)


def _other_label(id: str, label: bytes) -> Problem:
    told = label.decode()
    return Problem("other-label", f'the row {id!r} has the label {told}; use "correct": true to change it', "/label")


# --- label -----------------------------------------------------------------------------------------------------------


def label_rows(
    engine: Engine, hosted: Hosted, labels: Sequence[LabelOf], *, correct: Sequence[bool], park: bool = False,
    wait: bool = False, batch: str | None = None,
) -> Request:  # fmt: skip
    """Return a request to label stored predictions, answered with a ``Receipt`` or a ``Problem`` for each."""

    def work(log: EventLog, request: Request) -> list[Receipt | Problem]:
        hosted.check_working()
        request.batch = None if batch is None else log.edits.batch_for(hosted.number, batch)
        return [
            tried(label_row, engine, hosted, log, request, label, may, park)
            for label, may in zip(labels, correct, strict=True)
        ]

    return Request(work, len(labels), 0, wait)


def label_row(
    engine: Engine, hosted: Hosted, log: EventLog, request: Request, given: LabelOf, correct: bool, park: bool
) -> Receipt:
    """Write the label of a row into the log; it is learned when the request is durable.

    Raises
    ------
    Problem
        If there is no such row, or it has another label and this is no correction.
    """
    label, stored = msgspec.json.encode(given.label), log.find(hosted.number, given.id)
    if stored is None and park:
        hosted.check.labelled(b"{}", label)
        hosted.model.check_class(label)
        return Receipt(given.id, log.add(hosted.number, Event.PARKED, given.id, label=label), PARKED)
    if stored is None:
        raise Problem(
            "unknown-id", f"no row has the id {given.id!r}; predict it first, learn it with its features, or use "
            "?park=true to keep the label until the row comes", "/id",
        )  # fmt: skip
    if stored.kind == Event.PARKED:
        if stored.label is None or not same_label(stored.label, label):
            raise _other_label(given.id, stored.label or b"null")
        return Receipt(given.id, stored.seq, PARKED)
    return label_stored(engine, hosted, log, request, given, stored, given_label(log, stored.seq), correct)


def label_stored(
    engine: Engine, hosted: Hosted, log: EventLog, request: Request, given: LabelOf, stored: Stored,
    before: Given | None, correct: bool,
) -> Receipt:  # fmt: skip
    """Write the label of a row that the log has, with the label before, as :func:`label_row` does."""
    status, label = LEARNED if request.wait else DURABLE, msgspec.json.encode(given.label)
    if stored.features is None or is_expired(engine, log, stored):
        told = "is no longer stored; learn it with its features" if log.erasure_of(stored.seq) is None else "was erased"
        raise Problem("expired", f"the row {given.id!r} {told}", "/id")
    hosted.check.label(stored.features, label)
    hosted.model.check_class(label)
    same = before is not None and same_label(before.label, label)
    if before is not None and same and before.is_learned:
        return _receipt(hosted, log, request, given.id, before.seq)
    if before is not None and not same and not correct:
        raise _other_label(given.id, before.label)
    kind = Event.CORRECTION if before is not None and before.is_learned else Event.LABEL
    return Receipt(given.id, _add_label(hosted, log, request, stored, label, kind, given.by), status)


def _add_label(
    hosted: Hosted, log: EventLog, request: Request, stored: Stored, label: bytes, kind: Event = Event.LABEL,
    by: str | None = None,
) -> int:  # fmt: skip
    assert stored.features is not None
    seq = log.add(hosted.number, kind, example=stored.seq, label=label, note=note_of(by), batch=request.batch)
    request.examples.append(
        (hosted, example_of(hosted, stored.features, label, 1.0 if stored.weight is None else stored.weight, seq))
    )
    request.committed.append(partial(hosted.labelling.remove, stored.id))
    if hosted.model.setup.decides and kind == Event.LABEL:
        request.committed.append(partial(hosted.metrics.decisions.rewarded, seq, reward_in(label), by_default=False))
    return seq
