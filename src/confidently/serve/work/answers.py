"""Requests of people who label: the next rows, answers, undo, skip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from ..engine.requests import Request
from ..log.event_log import EventLog
from ..log.events import Event
from ..model.hosted import Hosted
from ..model.labelling import UNDO_SECONDS, Candidate
from ..model.rows import same_label
from ..problems import Problem


def next_rows(hosted: Hosted, n: int, labeller: str, hold: Sequence[str] = ()) -> Request:
    """Return a request for rows to label, which the labeller then has; answered with ``Candidate`` objects."""

    def work(log: EventLog, request: Request) -> list[Candidate]:
        hosted.check_living()
        return hosted.labelling.next_rows(n, labeller, hold)

    return Request(work)


def answer(hosted: Hosted, id: str, label: Any, labeller: str) -> Request:
    """Return a request to store an answer, answered with its event. It is learned when it can no longer be undone."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_working()
        stored = log.get(hosted.number, id, "/id")
        if stored.features is None:
            raise Problem("expired", f"the row {id!r} is no longer stored", "/id")
        encoded = msgspec.json.encode(label)
        hosted.check.labelled(stored.features, encoded)
        hosted.model.check_class(encoded)
        given = log.waiting_answer(stored.seq)
        before = log.label_of(stored.seq) if given is None else given
        if before is not None and same_label(before[1], encoded):
            return before[0]
        if before is not None:
            told = before[1].decode()
            raise Problem("other-label", f"the row {id!r} has the label {told}; undo that answer first", "/label")
        holder = hosted.labelling.holder(id)
        if holder not in (None, labeller):
            raise Problem("leased", f"another labeller has the row {id!r}; take the next one", "/id")
        row = hosted.labelling.row(id)
        note = {
            "by": labeller, "random": row.random if row else False, "guess": row.guess if row else None,
            "likeness": row.likeness if row else None,
        }  # fmt: skip
        seq = log.add(hosted.number, Event.ANSWER, example=stored.seq, label=encoded, note=msgspec.json.encode(note))
        request.committed.append(partial(hosted.labelling.answered, seq, stored.seq, id, encoded, row, UNDO_SECONDS))
        return seq

    return Request(work)


def undo(hosted: Hosted, id: str) -> Request:
    """Return a request to undo an answer that was not learned yet, answered with the event of the undo."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_living()
        stored = log.get(hosted.number, id)
        given = log.waiting_answer(stored.seq)
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
            labeller = msgspec.json.decode(note)["by"]
            put_back = partial(hosted.labelling.put_back, id, stored.seq, stored.features, stored.note, labeller)
            request.committed.append(put_back)
        return event

    return Request(work)


def skip(hosted: Hosted, id: str, labeller: str) -> Request:
    """Return a request not to be asked about a row again, answered with its event; 0 if it was skipped before."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_living()
        stored = log.get(hosted.number, id, "/id")
        if hosted.labelling.has_skipped(id, labeller):
            return 0
        request.committed.append(partial(hosted.labelling.skip, id, labeller))
        return log.add(hosted.number, Event.SKIP, example=stored.seq, note=msgspec.json.encode({"by": labeller}))

    return Request(work)
