"""Listing the rows of a model: those that it has learned, and those that were set aside."""

from __future__ import annotations

from typing import Any

import msgspec

from .events import Row
from .hosted import Hosted
from .log import EventLog, reason_in
from .requests import Request


def export(hosted: Hosted, after: int, limit: int) -> Request:
    """Return a request for learned rows in the order of learning.

    It is answered with a dict for each, and the number of the last event looked at; None if that was the last of all.
    """

    def work(log: EventLog, request: Request) -> tuple[list[dict[str, Any]], int | None]:
        hosted.check_living()
        rows = log.taught(hosted.number, after, limit)
        found = [
            {"seq": row.seq} | _shown_row(row) for row in rows if row.features is not None and row.label is not None
        ]
        return found, rows[-1].seq if len(rows) == limit else None

    return Request(work)


def set_aside(hosted: Hosted, after: int, limit: int) -> Request:
    """Return a request for the rows that the model could not learn, in the order of setting them aside.

    It is answered with a dict for each, and the number of the last event looked at; None if that was the last of all.
    """

    def work(log: EventLog, request: Request) -> tuple[list[dict[str, Any]], int | None]:
        hosted.check_living()
        rows = log.aside(hosted.number, after, limit)
        found = [
            {"seq": row.example, "event": row.seq} | _shown_row(row) | {"reason": reason_in(row.note)} for row in rows
        ]
        return found, rows[-1].example if len(rows) == limit else None

    return Request(work)


def _shown_row(row: Row) -> dict[str, Any]:
    return {
        "id": row.id, "features": shown(row.features), "label": shown(row.label), "weight": row.weight,
        "time": row.time / 1000.0,
    }  # fmt: skip


def shown(text: bytes | None) -> msgspec.Raw | None:
    """Return stored JSON as answers have it: text that is not UTF-8, which older versions took, is replaced."""
    if text is None:
        return None
    return msgspec.Raw(text if text.isascii() else text.decode(errors="replace").encode())
