"""Requests about rows: predict, learn, label, find, export."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import apsw
import msgspec

from ...data.memory.matrix import MIN_WEIGHT
from ..engine.engine import Engine
from ..engine.requests import Request, RowsQuestion
from ..log.event_log import EventLog, refuse_other_content, same_json
from ..log.events import Event, Stored, note_of, now
from ..model.candidates import candidate
from ..model.hosted import Hosted
from ..model.learning import Example
from ..model.predicted import Answer, AnyAnswer, Promises
from ..model.rows import labelled_line, one_line, same_label
from ..problems import Problem, tried

DURABLE, LEARNED, PARKED = "durable", "learned", "parked"


class Taught(NamedTuple):
    """A row with its label, as JSON, and the line of both, checked; ``id`` is None if the server chooses one.

    ``by`` is who labelled it, if that is known.
    """

    id: str | None
    features: bytes
    label: bytes
    weight: float
    line: bytes
    by: str | None = None


class Question(NamedTuple):
    """A row without a label, checked; without an ``id`` it is not stored."""

    id: str | None
    features: bytes


class LabelOf(NamedTuple):
    """The label of a prediction, by its id, and who gave it, if that is known."""

    id: str
    label: Any
    by: str | None = None


class Receipt(NamedTuple):
    """The answer to a row or a label: its event, and what is certain."""

    id: str
    seq: int
    status: str


def taught(hosted: Hosted, id: str | None, features: bytes, label: Any, weight: float) -> Taught:
    """Check a row with its label.

    Raises
    ------
    Problem
        If it cannot be read, or its label is unknown.
    """
    features, label = one_line(features), msgspec.json.encode(label)
    if not 0.0 <= weight <= 1e9:
        raise Problem("invalid-row", f"weight: expected a number from 0 to 1e9, got {weight!r}", "/weight")
    if 0.0 < weight < MIN_WEIGHT:
        raise Problem("invalid-row", f"weight: expected 0 or at least {MIN_WEIGHT:g}, got {weight!r}", "/weight")
    return Taught(id, features, label, weight, hosted.check.labelled(features, label))


def taught_line(hosted: Hosted, line: bytes) -> Taught:
    """Check a line as ``confidently train`` reads it, which has its label among its keys; values keep their text.

    Raises
    ------
    Problem
        If it cannot be read, or its label is unknown.
    """
    line = one_line(line)
    hosted.check.line(line)
    try:
        parts = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        label = bytes(parts.pop(hosted.label_key))
    except KeyError:
        raise Problem("invalid-row", f"the row has no {hosted.label_key!r}") from None
    except ValueError as error:  # half of a surrogate pair, which no text has
        raise Problem("invalid-row", str(error)) from None
    return Taught(None, msgspec.json.encode(parts), label, 1.0, line)


def all_taught(hosted: Hosted, rows: Sequence[tuple[str | None, bytes, Any, float]]) -> list[Taught | Problem]:
    """Check rows as :func:`taught` does, all at once unless something is wrong with one."""
    found = list[Taught]()
    for id, features, label, weight in rows:
        features, label = one_line(features), msgspec.json.encode(label)
        found.append(Taught(id, features, label, weight, labelled_line(hosted.label_key, label, features)))
    are_objects = all(row.features.startswith(b"{") for row in found)
    if are_objects and hosted.check.are_labelled([row.line for row in found]):
        return list(found)
    return [tried(taught, hosted, *row) for row in rows]


def question(hosted: Hosted, id: str | None, features: bytes) -> Question:
    """Check a row without a label.

    Raises
    ------
    Problem
        If it cannot be read.
    """
    features = one_line(features)
    hosted.check.features(features)
    return Question(id, features)


def all_questions(hosted: Hosted, rows: Sequence[tuple[str | None, bytes]]) -> list[Question | Problem]:
    """Check rows as :func:`question` does, all at once unless something is wrong with one."""
    found = [Question(id, one_line(features)) for id, features in rows]
    if hosted.check.are_features([row.features for row in found]):
        return list(found)
    return [tried(question, hosted, *row) for row in rows]


# --- guards ----------------------------------------------------------------------------------------------------------


def refusals(hosted: Hosted, rows: Sequence[Taught | Question]) -> Request:
    """Return a question about checked rows, answered with each of them, or the problem for which it is refused."""

    def work(log: EventLog, request: Request) -> list[Taught | Question | Problem]:
        hosted.check_working()
        found = hosted.refusals([(row.features, row.label if isinstance(row, Taught) else None) for row in rows])
        return [row if problem is None else problem for row, problem in zip(rows, found, strict=True)]

    return Request(work, len(rows))


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
    if stored is not None and _is_expired(engine, log, stored):
        log.unpark(stored.seq)
        stored = None
    if stored is None:
        return _add(hosted, log, request, row, id)
    if stored.kind == Event.PARKED:
        return _learn_parked(hosted, log, request, row, stored)
    if stored.features is None or not same_json(stored.features, row.features):
        raise refuse_other_content(id)
    before = _given(log, stored.seq)
    if before is not None:
        if stored.kind == Event.LEARN and stored.weight != row.weight:
            raise refuse_other_content(id)
        if not same_label(before[1], label):
            raise refuse_other_content(id) if stored.kind == Event.LEARN else _other_label(id, before[1])
        if before[2]:
            return _receipt(hosted, log, request, id, before[0])
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


def _given(log: EventLog, example: int) -> tuple[int, bytes, bool] | None:
    """Return event and label of the last label of an example, and whether it is one that models learn already."""
    answer = log.waiting_answer(example)
    if answer is not None:
        return answer[0], answer[1], False
    found = log.label_of(example)
    return None if found is None else (*found, True)


def _receipt(hosted: Hosted, log: EventLog, request: Request, id: str, seq: int) -> Receipt:
    """Return what is certain about a label that an earlier request has brought."""
    if not request.wait:
        return Receipt(id, seq, DURABLE)
    if (reason := hosted.live.why_aside(log, seq)) is not None:
        raise Problem("set-aside", f"the model could not learn the row {id!r}: {reason}")
    return Receipt(id, seq, LEARNED if seq <= hosted.cursor else DURABLE)


def _is_expired(engine: Engine, log: EventLog, stored: Stored) -> bool:
    """Return whether a prediction has waited too long for its label."""
    if stored.kind != Event.PREDICTION or stored.time >= now() - int(engine.limits.keep_predictions * 1000):
        return False
    return _given(log, stored.seq) is None and log.erasure_of(stored.seq) is None


def _learn_parked(hosted: Hosted, log: EventLog, request: Request, row: Taught, stored: Stored) -> Receipt:
    """Learn a row whose label came first, if it is the same."""
    assert row.id is not None
    if stored.label is None or not same_label(stored.label, row.label):
        raise _other_label(row.id, stored.label or b"null")
    log.unpark(stored.seq)
    return _add(hosted, log, request, row, row.id)


def _example(hosted: Hosted, features: bytes, label: bytes, weight: float, seq: int) -> Example:
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
    status, label = LEARNED if request.wait else DURABLE, msgspec.json.encode(given.label)
    stored = log.find(hosted.number, given.id)
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
    if stored.features is None or _is_expired(engine, log, stored):
        told = "is no longer stored; learn it with its features" if log.erasure_of(stored.seq) is None else "was erased"
        raise Problem("expired", f"the row {given.id!r} {told}", "/id")
    hosted.check.labelled(stored.features, label)
    hosted.model.check_class(label)
    before = _given(log, stored.seq)
    same = before is not None and same_label(before[1], label)
    if before is not None and same and before[2]:
        return _receipt(hosted, log, request, given.id, before[0])
    if before is not None and not same and not correct:
        raise _other_label(given.id, before[1])
    kind = Event.CORRECTION if before is not None and before[2] else Event.LABEL
    return Receipt(given.id, _add_label(hosted, log, request, stored, label, kind, given.by), status)


def _add_label(
    hosted: Hosted, log: EventLog, request: Request, stored: Stored, label: bytes, kind: Event = Event.LABEL,
    by: str | None = None,
) -> int:  # fmt: skip
    assert stored.features is not None
    seq = log.add(hosted.number, kind, example=stored.seq, label=label, note=note_of(by), batch=request.batch)
    request.examples.append(
        (hosted, _example(hosted, stored.features, label, 1.0 if stored.weight is None else stored.weight, seq))
    )
    request.committed.append(partial(hosted.labelling.remove, stored.id))
    return seq


# --- predict ---------------------------------------------------------------------------------------------------------


def predict(hosted: Hosted, rows: Sequence[Question]) -> Request:
    """Return a question about rows, answered with an ``Answer`` for each."""

    return RowsQuestion(hosted, [row.features for row in rows])


def promises(hosted: Hosted, answers: Sequence[AnyAnswer], asked: Promises) -> Request:
    """Return a question about answers, answered with what is promised of each."""

    def work(log: EventLog, request: Request) -> list[dict[str, Any]]:
        hosted.check_working()
        return hosted.model.promises(answers, asked)

    return Request(work)


def novelty(hosted: Hosted, rows: Sequence[Question]) -> Request:
    """Return a question about rows, answered with the p-value of each as one of those learned."""

    def work(log: EventLog, request: Request) -> list[float]:
        hosted.check_working()
        return hosted.model.novelty([row.features for row in rows])

    return Request(work)


def store_predictions(
    engine: Engine, hosted: Hosted, rows: Sequence[Question], answers: Sequence[AnyAnswer]
) -> Request:
    """Return a request to store predictions with ids, answered with an ``Answer`` or a ``Problem`` for each.

    An id that was used before with the same features gets its first answer.
    """

    def work(log: EventLog, request: Request) -> list[AnyAnswer | Problem]:
        hosted.check_working()
        return [
            answer if row.id is None else tried(_store, engine, hosted, log, request, row, answer)
            for row, answer in zip(rows, answers, strict=True)
        ]

    return Request(work, len(rows), sum(len(row.features) for row in rows))


def _store(
    engine: Engine, hosted: Hosted, log: EventLog, request: Request, row: Question, answer: AnyAnswer
) -> AnyAnswer:
    assert row.id is not None
    stored = log.find(hosted.number, row.id)
    if stored is not None and _is_expired(engine, log, stored):
        log.unpark(stored.seq)
        stored = None
    if stored is not None and stored.kind != Event.PARKED:
        if stored.features is None or not same_json(stored.features, row.features):
            raise refuse_other_content(row.id)
        return Answer.of(stored.note) if stored.kind == Event.PREDICTION and stored.note is not None else answer
    if stored is not None:
        log.unpark(stored.seq)
    note = msgspec.json.encode(answer._asdict())
    seq = log.add(hosted.number, Event.PREDICTION, row.id, None, row.features, note=note)
    request.committed.append(partial(hosted.count_prediction, seq, answer.ask))
    if stored is not None and stored.label is not None:
        event = log.add(hosted.number, Event.LABEL, example=seq, label=stored.label)
        request.examples.append((hosted, _example(hosted, row.features, stored.label, 1.0, event)))
    else:
        request.committed.append(partial(hosted.labelling.add, candidate(row.id, seq, row.features, answer)))
    return answer


# --- find, export ----------------------------------------------------------------------------------------------------


def find(hosted: Hosted, id: str) -> Request:
    """Return a request for a stored row, answered with it, its last label as JSON, or None, and its history."""

    def work(log: EventLog, request: Request) -> tuple[Stored, bytes | None, list[Any]]:
        hosted.check_living()
        stored = log.find(hosted.number, id)
        if stored is None or stored.kind == Event.PARKED:
            raise Problem("unknown-id", f"no row has the id {id!r}")
        if stored.features is None:
            raise Problem("expired", f"the row {id!r} is no longer stored")
        last = log.label_of(stored.seq)
        return stored, None if last is None else last[1], log.history(stored.seq)

    return Request(work)
