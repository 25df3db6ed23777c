"""Stored rows: export, find, erase."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...engine.requests import Request
from ...log.events import Event
from ...model.hosted import Hosted
from ...work import listing
from ...work.erasing import erase
from .. import messages as m
from ..calls import Call
from ..lines import ROWS_PER_CHUNK
from ..replies import NDJSON, Flow, Sendable, answered, encoder


class ExampleOut(Struct):
    """A learned row; ``time`` in seconds since 1970, ``by`` who labelled it, if that is known."""

    seq: int
    id: str | None
    features: dict[str, Any]
    label: m.Guess
    weight: float
    time: float
    by: str | UnsetType = UNSET


class SetAsideOut(Struct):
    """A row that the model could not learn: ``event`` is that of the row, ``seq`` that of setting it aside."""

    seq: int
    event: int
    id: str | None
    features: dict[str, Any] | None
    label: m.Guess | None
    weight: float
    time: float
    reason: str


class StoredRow(Struct):
    """A stored row: its features, its last label if it has one, and what the model said of it if it was predicted.

    ``history`` has everything that happened to it: what and when, the label, who gave it, and why it was skipped.
    """

    id: str
    seq: int
    features: dict[str, Any]
    label: m.Guess | None
    prediction: dict[str, Any] | None
    history: list[dict[str, Any]]


class Erased(Struct):
    """The event of an erasure. The model keeps what it had learned of the row until it is trained again without it."""

    id: str
    seq: int
    influence: str


async def get_examples(call: Call) -> Sendable:
    """Export learned rows in the order of learning, a line of JSON each."""
    vectors = call.choice("vectors", ("false", "true")) == "true"
    return _pages(call, partial(listing.export, vectors=vectors))


async def get_set_aside(call: Call) -> Sendable:
    """Export the rows that the model could not learn, with the reason, a line of JSON each."""
    return _pages(call, listing.set_aside)


def _pages(call: Call, some: Callable[[Hosted, int, int], Request]) -> Flow:
    """Send all rows that requests find, some at a time."""
    hosted = call.hosted
    after = call.number("after", 0, 0, 2**53)
    limit = call.number("limit", 2**53, 1, 2**53)

    async def lines() -> AsyncGenerator[bytes, None]:
        last, left = after, limit
        while left > 0:
            call.check_allowed()
            found, last = await call.log(some(hosted, last, min(left, ROWS_PER_CHUNK)))
            left -= len(found)
            if found:
                yield b"".join(encoder.encode(row) + b"\n" for row in found)
            if last is None:
                return

    return Flow(lines(), NDJSON)


async def get_example(call: Call) -> Sendable:
    """Return a stored row."""
    hosted, id = call.hosted, call.names["id"]
    stored, label, events = await call.log(listing.find(hosted, id))
    return answered({
        "id": id, "seq": stored.seq, "features": listing.shown(stored.features),
        "label": None if label is None else msgspec.Raw(label),
        "prediction": msgspec.Raw(stored.note) if stored.kind == Event.PREDICTION and stored.note else None,
        "history": listing.history(events),
    })  # fmt: skip


async def delete_example(call: Call) -> Sendable:
    """Overwrite the features and labels of a row."""
    hosted, id = call.hosted, call.names["id"]
    seq = await asyncio.to_thread(erase, call.engine, hosted, id)
    return answered(
        Erased(id, seq, "the model keeps what it learned of the row until POST .../rebuild trains it again")
    )
