"""Requests about rows in the forms of other tools: teach what was labelled there, and what to label there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import msgspec

from ..engine.engine import Engine
from ..engine.requests import Request
from ..exchange.record import MAX_ID, Labelled
from ..log.event_log import EventLog, refuse_other_content, same_json
from ..log.events import Event, Stored
from ..log.vectors import without_vector
from ..model.hosted import Hosted
from ..model.labelling import POOL
from ..model.predicted import Answer
from ..problems import Problem, tried
from .checking import Taught, taught
from .teaching import LabelOf, Receipt, label_row, teach

MAX_STEM = MAX_ID - 12  # characters of an id before the number of a row that is learned anew


def labelled_row(hosted: Hosted, row: Labelled) -> Taught:
    """Check a row that was labelled elsewhere.

    Raises
    ------
    Problem
        If it cannot be read, or its label is unknown.
    """
    return taught(hosted, row.id, row.features, row.label, 1.0)._replace(by=row.by)


def learn_labelled(
    engine: Engine, hosted: Hosted, rows: Sequence[Taught], batch: str | None, anew: bool = False
) -> Request:
    """Return a request to learn rows whose labels may have changed, answered with a receipt or a problem for each.

    With ``anew``, a row that was erased, or has other features now, is learned under another id.
    """

    def work(log: EventLog, request: Request) -> list[Receipt | Problem]:
        hosted.check_working()
        request.batch = None if batch is None else log.edits.batch_for(hosted.number, batch)
        given = [_renamed(hosted, log, row) for row in rows] if anew else rows
        return [tried(_teach, engine, hosted, log, request, row) for row in given]

    return Request(work, len(rows), sum(len(row.features) for row in rows))


def _renamed(hosted: Hosted, log: EventLog, row: Taught) -> Taught:
    """Return a row under the first of its ids that was not used with other features."""
    for id, stored in _named(hosted, log, row.id or ""):
        if stored is None or stored.kind == Event.PARKED:
            return row._replace(id=id)
        if stored.features is not None and same_json(stored.features, row.features):
            return row._replace(id=id)
    raise AssertionError("the ids of a row do not end")


def _named(hosted: Hosted, log: EventLog, id: str) -> Iterator[tuple[str, Stored | None]]:
    """Yield the ids that a row has had, its own one first, with what is stored of each; then one that is free."""
    for number in count(1):
        name = id if number == 1 else f"{id[:MAX_STEM]}.{number}"
        stored = log.find(hosted.number, name)
        yield name, stored
        if stored is None:
            return


def _teach(engine: Engine, hosted: Hosted, log: EventLog, request: Request, row: Taught) -> Receipt:
    """Learn a row, or, if it is there with another label, the new one."""
    assert row.id is not None
    stored = log.find(hosted.number, row.id)
    if stored is None or stored.kind == Event.PARKED:
        return teach(engine, hosted, log, request, row)
    if stored.features is not None and not same_json(stored.features, row.features):
        raise refuse_other_content(row.id)
    given = LabelOf(row.id, msgspec.json.decode(row.label), row.by)
    return label_row(engine, hosted, log, request, given, correct=True, park=False)


def waiting(hosted: Hosted) -> Request:
    """Return a request for the newest rows without a label, answered with a dict for each; the oldest first."""

    def work(log: EventLog, request: Request) -> list[dict[str, Any]]:
        hosted.check_living()
        return [_guessed(row.id, row.features, row.note) for row in reversed(log.unlabelled(hosted.number, POOL))]

    return Request(work)


def _guessed(id: str | None, features: bytes | None, note: bytes | None) -> dict[str, Any]:
    assert features is not None and note is not None
    answer = Answer.of(note)
    assert isinstance(answer, Answer)  # models of numbers exchange nothing
    label = answer.label if isinstance(answer.label, list) else [answer.label]
    score = min((answer.probability.get(str(one), 0.0) for one in label), default=0.0)
    return {"id": id, "features": msgspec.json.decode(without_vector(features)), "guess": answer.label, "score": score}


def are_labelled(hosted: Hosted, ids: Sequence[str]) -> Request:
    """Return a request for the ids of those rows of some ids, or learned anew since, that have a label."""

    def work(log: EventLog, request: Request) -> list[str]:
        hosted.check_living()
        found = [stored for id in ids for _, stored in _named(hosted, log, id) if stored is not None]
        return [one.id for one in found if one.features is not None and log.label_of(one.seq) is not None]

    return Request(work)
