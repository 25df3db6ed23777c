"""Looking through stored rows: pages of them, counts, one row with its history."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ...log.browse import OUTCOMES, STATES, Filters
from ...problems import Problem
from ...work import browse
from .. import messages as m
from ..calls import Call
from ..replies import Sendable, answered

MAX_TEXT = 256  # characters of what is looked for
MAX_SECONDS = 2**40


class BrowsedRow(Struct):
    """A stored row. ``predicted``: what the model said before it had a label, with ``probability``; ``outcome``:
    whether that was right; ``by``: who gave the label, if that is known; ``reason``: why it was set aside.
    ``label`` and ``predicted`` have the names of classes after edits; ``logged`` is the label as it was given.
    """

    seq: int
    id: str
    time: float
    weight: float
    features: dict[str, Any] | None
    state: str
    label: m.Guess | None
    logged: m.Guess | None
    predicted: m.Guess | None
    probability: float | None
    outcome: str | None
    by: str | None
    reason: str | None


class BrowsedRows(Struct):
    """Stored rows, the newest first; ``before``: where the next page begins, null after the last one."""

    rows: list[BrowsedRow]
    before: int | None


class FacetCounts(Struct):
    """How many rows have each value; of those since an event only, if ``since`` is not null."""

    rows: int
    since: int | None
    state: dict[str, int]
    label: dict[str, int]
    predicted: dict[str, int]
    outcome: dict[str, int]
    by: dict[str, int]


class Moment(Struct):
    """An event of a row: its arrival, a label, an answer of a person, an undo, an erasure."""

    seq: int
    time: float
    kind: str
    label: m.Guess | None
    by: str | None
    reason: str | None


class BrowsedRowHistory(BrowsedRow):
    """A stored row with the whole prediction, and its events in order."""

    prediction: dict[str, Any] | None
    history: list[Moment]


async def get_rows(call: Call) -> Sendable:
    """List stored rows, the newest first, with their labels and what was predicted before."""
    hosted, filters = call.hosted, _filters(call)
    before, limit = call.number("before", 2**53, 1, 2**53), call.number("limit", 50, 1, 200)
    return answered(await call.log(browse.page(hosted, filters, before, limit)))


async def get_facets(call: Call) -> Sendable:
    """Count stored rows by state, label, prediction and who labelled them."""
    return answered(await call.log(browse.facets(call.hosted, _filters(call))))


async def get_row(call: Call) -> Sendable:
    """Return a stored row with the history of its labels."""
    return answered(await call.log(browse.row(call.hosted, call.names["id"])))


def _filters(call: Call) -> Filters:
    """Return which rows are looked for."""
    texts = {
        "text": call.query.get("text"), "label": call.query.get("label"), "predicted": call.query.get("predicted"),
        "by": call.query.get("by"), "batch": call.query.get("batch"),
    }  # fmt: skip
    for name, text in texts.items():
        if text is not None and not 1 <= len(text) <= MAX_TEXT:
            raise Problem("invalid-parameter", f"{name}: expected 1 to {MAX_TEXT} characters, got {len(text)}")
    outcome, state = call.choice("outcome", ("any", *OUTCOMES)), call.choice("state", ("stored", *STATES))
    since, until = call.number("since", 0, 0, MAX_SECONDS), call.number("until", MAX_SECONDS, 0, MAX_SECONDS)
    return Filters(
        **texts, outcome=None if outcome == "any" else outcome, state=None if state == "stored" else state,
        since=None if since == 0 else 1000 * since, until=None if until == MAX_SECONDS else 1000 * until,
    )  # fmt: skip
