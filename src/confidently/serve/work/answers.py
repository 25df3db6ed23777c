"""Requests of people who label: the next rows, answers, second answers, undo, skip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import MAX_SEQ, EventLog
from ..log.events import Event, Stored
from ..model.candidates import Candidate
from ..model.hosted import Hosted
from ..model.labelling import UNDO_SECONDS, Labeller
from ..model.predicted import AnyAnswer
from ..model.rows import same_label
from ..problems import Problem
from .refresh import refresh


def next_rows(engine: Engine, hosted: Hosted, n: int, labeller: Labeller, hold: Sequence[str] = ()) -> Request:
    """Return a request for rows to label, which the labeller then has.

    It is answered with a ``Candidate`` for each, and whether it has an answer already.
    """

    def work(log: EventLog, request: Request) -> list[tuple[Candidate, bool]]:
        hosted.check_living()
        refresh(engine, hosted)
        return [(row, hosted.labelling.is_second(row.id)) for row in hosted.labelling.next_rows(n, labeller, hold)]

    return Request(work)


def answers_now(hosted: Hosted, rows: Sequence[Candidate]) -> Request:
    """Return a question about rows to label, answered with an ``Answer`` for each; none if the model has stopped."""

    def work(log: EventLog, request: Request) -> list[AnyAnswer]:
        if hosted.failed is not None or not rows:
            return []
        return hosted.model.answers([row.features for row in rows])

    return Request(work)


def answer(hosted: Hosted, id: str, label: Any, labeller: Labeller) -> Request:
    """Return a request to store an answer, answered with its event. It is learned when it can no longer be undone."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_working()
        stored, encoded = _checked(hosted, log, id, label)
        before = _label_so_far(log, stored)
        if before is not None and same_label(before[1], encoded):
            return before[0]
        if before is not None:
            told = before[1].decode()
            raise Problem("other-label", f"the row {id!r} has the label {told}; undo that answer first", "/label")
        return _store(hosted, log, request, stored, encoded, labeller)

    return Request(work)


def second_answer(hosted: Hosted, id: str, label: Any, labeller: Labeller) -> Request:
    """Return a request to store a second answer to a row, which is never learned, answered with its event.

    If the first answer was undone meanwhile, it is the first.
    """

    def work(log: EventLog, request: Request) -> int:
        hosted.check_working()
        stored, encoded = _checked(hosted, log, id, label)
        before = _label_so_far(log, stored)
        if before is None:
            return _store(hosted, log, request, stored, encoded, labeller)
        for seq, given, note in log.answers.opinions_of(stored.seq):
            if msgspec.json.decode(note)["by"] == labeller.name:
                if same_label(given, encoded):
                    return seq
                raise Problem("other-label", f"{labeller.name} has a second answer to {id!r}; undo it first", "/label")
        first = log.answers.labeller_of(stored.seq)
        of = log.edits.until(hosted.number, MAX_SEQ).label(*before) or before[1]  # under the class's name of now
        note = msgspec.json.encode({"by": labeller.name, "first": first, "of": msgspec.json.decode(of)})
        seq = log.add(hosted.number, Event.OPINION, example=stored.seq, label=encoded, note=note)
        request.committed.append(partial(hosted.labelling.second, id, encoded, note))
        return seq

    return Request(work)


def _checked(hosted: Hosted, log: EventLog, id: str, label: Any) -> tuple[Stored, bytes]:
    """Return a row that can have a label, and the label as JSON."""
    stored = log.get(hosted.number, id, "/id")
    if stored.features is None:
        raise Problem("expired", f"the row {id!r} is no longer stored", "/id")
    encoded = msgspec.json.encode(label)
    hosted.check.label(stored.features, encoded)
    hosted.model.check_class(encoded)
    return stored, encoded


def _label_so_far(log: EventLog, stored: Stored) -> tuple[int, bytes] | None:
    """Return event and label of the last answer or label of a row."""
    given = log.answers.waiting_of(stored.seq)
    return log.label_of(stored.seq) if given is None else given[:2]


def _store(
    hosted: Hosted, log: EventLog, request: Request, stored: Stored, label: bytes, labeller: Labeller
) -> int:  # fmt: skip
    id, labelling = stored.id, hosted.labelling
    if labelling.holder(id) not in (None, labeller):
        raise Problem("leased", f"another labeller has the row {id!r}; take the next one", "/id")
    row = labelling.row(id)
    note = {
        "by": labeller.name, "random": row.random if row else False, "guess": row.guess if row else None,
        "likeness": row.likeness if row else None,
    }  # fmt: skip
    seq = log.add(hosted.number, Event.ANSWER, example=stored.seq, label=label, note=msgspec.json.encode(note))
    answered = partial(labelling.answered, seq, stored.seq, id, label, row, UNDO_SECONDS, labeller.name)
    request.committed.append(answered)
    return seq


def undo(hosted: Hosted, id: str, labeller: Labeller) -> Request:
    """Return a request to undo an answer that was not learned yet, answered with the event of the undo."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_living()
        stored = log.get(hosted.number, id)
        given = log.answers.waiting_of(stored.seq)
        if given is None:
            if log.label_of(stored.seq) is None:
                raise Problem("unknown-id", f"the row {id!r} has no answer to undo")
            raise Problem(
                "other-label", f"the answer to {id!r} was learned already; send the right label with "
                '"correct": true to labels'
            )  # fmt: skip
        seq, _, note = given
        event = log.add(hosted.number, Event.UNDO, example=stored.seq)
        request.committed.append(partial(hosted.labelling.undone, seq, note))
        if stored.note is not None and stored.features is not None:
            by = labeller._replace(name=msgspec.json.decode(note)["by"])
            put_back = partial(hosted.labelling.put_back, id, stored.seq, stored.features, stored.note, by)
            request.committed.append(put_back)
        return event

    return Request(work)


def undo_second(hosted: Hosted, id: str, labeller: Labeller) -> Request:
    """Return a request to undo a second answer, answered with its event, which the log no longer has."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_living()
        stored = log.get(hosted.number, id)
        for seq, label, note in log.answers.opinions_of(stored.seq):
            if msgspec.json.decode(note)["by"] == labeller.name:
                log.unpark(seq)
                request.committed.append(partial(hosted.labelling.opinions.counted, label, note, -1))
                return seq
        raise Problem("unknown-id", f"{labeller.name} has no second answer to the row {id!r}")

    return Request(work)


def skip(hosted: Hosted, id: str, labeller: Labeller, reason: str | None) -> Request:
    """Return a request not to be asked about a row again, answered with its event; 0 if it was skipped before."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_living()
        stored = log.get(hosted.number, id, "/id")
        if hosted.labelling.has_skipped(id, labeller):
            return 0
        request.committed.append(partial(hosted.labelling.skip, id, labeller, reason))
        note = {"by": labeller.name} | ({} if reason is None else {"reason": reason})
        return log.add(hosted.number, Event.SKIP, example=stored.seq, note=msgspec.json.encode(note))

    return Request(work)
