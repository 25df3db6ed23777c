"""Stored rows of a model: those that it has learned, those that were set aside, one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from ..engine.requests import Request
from ..log.edits import Basis
from ..log.event_log import MAX_SEQ, EventLog, reason_in
from ..log.events import Event, Row, Stored, StoredVersion, labeller_in
from ..log.vectors import with_numbers, without_vector
from ..model.hosted import Hosted
from ..model.logged_decisions import whole_note
from ..problems import Problem

# Events whose notes say who and why.
NOTED = (Event.LEARN, Event.LABEL, Event.CORRECTION, Event.ANSWER, Event.SKIP, Event.OPINION)


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
        stored = stored._replace(note=whole_note(stored.note, log.decisions.choice_of(stored.seq)))
        return stored, None if last is None else last[1], log.history(stored.seq)

    return Request(work)


def export(hosted: Hosted, after: int, limit: int, vectors: bool = False) -> Request:
    """Return a request for learned rows in the order of learning, perhaps with the vectors of their texts.

    It is answered with a dict for each, and the number of the last event looked at; None if that was the last of all.
    """

    def shown_rows(log: EventLog) -> Iterator[tuple[int, dict[str, Any] | None]]:
        for row in log.taught(exported(log, hosted.live.stored), after, limit):
            is_there = row.features is not None and row.label is not None
            if vectors and row.features is not None and row.label is not None:
                row = row._replace(features=with_numbers(row.features))
            yield row.seq, {"seq": row.seq} | _shown_row(row) | _labeller(row) if is_there else None

    return _page(hosted, limit, shown_rows)


def set_aside(hosted: Hosted, after: int, limit: int) -> Request:
    """Return a request for the rows that the model could not learn, in the order of setting them aside.

    It is answered as :func:`export` is.
    """

    def shown_rows(log: EventLog) -> Iterator[tuple[int, dict[str, Any] | None]]:
        for row in log.aside(hosted.number, hosted.live.number, after, limit):
            own = {"seq": row.example, "event": row.seq}
            yield row.example, own | _shown_row(row) | {"reason": reason_in(row.note)}

    return _page(hosted, limit, shown_rows)


def exported(log: EventLog, version: StoredVersion) -> Basis:
    """Return what an export has: the rows that a version learns, but for those that were erased since."""
    return log.edits.basis(version)._replace(until=MAX_SEQ)


def _page(
    hosted: Hosted, limit: int, shown_rows: Callable[[EventLog], Iterable[tuple[int, dict[str, Any] | None]]]
) -> Request:
    """Return a request for some rows: the number of each event, and what is shown of it, None if it is erased."""

    def work(log: EventLog, request: Request) -> tuple[list[dict[str, Any]], int | None]:
        hosted.check_living()
        rows = list(shown_rows(log))
        return [row for _, row in rows if row is not None], rows[-1][0] if len(rows) == limit else None

    return Request(work)


def _shown_row(row: Row) -> dict[str, Any]:
    return {
        "id": row.id, "features": shown(row.features), "label": shown(row.label), "weight": row.weight,
        "time": row.time / 1000.0,
    }  # fmt: skip


def _labeller(row: Row) -> dict[str, Any]:
    """Return who gave the label of a row, if that is known."""
    by = labeller_in(row.note)
    return {} if by is None else {"by": by}


def history(events: Iterable[tuple[int, Event, bytes | None, bytes | None, int]]) -> list[dict[str, Any]]:
    """Return what happened to a row, in order: what, when, and where they are known, the label, who and why."""
    found = []
    for seq, kind, label, note, time in events:
        one = {"seq": seq, "event": kind.name.lower().replace("_", "-"), "time": time / 1000.0}
        if label is not None:
            one["label"] = shown(label)
        told = msgspec.json.decode(note) if note is not None and kind in NOTED else {}
        found.append(one | {key: told[key] for key in ("by", "reason") if key in told})
    return found


def shown(text: bytes | None) -> msgspec.Raw | None:
    """Return stored JSON as in answers: text that is not UTF-8, which older versions accepted, is replaced."""
    if text is None:
        return None
    text = without_vector(text)
    return msgspec.Raw(text if text.isascii() else text.decode(errors="replace").encode())
