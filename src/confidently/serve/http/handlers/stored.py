"""Stored rows: export, find, erase."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import msgspec

from ...engine.requests import Request
from ...model.hosted import Hosted
from ...work import examples, listing
from ...work.erasing import erase
from .. import messages as m
from ..calls import Call
from ..lines import ROWS_PER_CHUNK
from ..replies import NDJSON, Flow, Sendable, answered, encoder


async def get_examples(call: Call) -> Sendable:
    """Export learned rows in the order of learning, a line of JSON each."""
    return _pages(call, listing.export)


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
    stored, label, events = await call.log(examples.find(hosted, id))
    return answered({
        "id": id, "seq": stored.seq, "features": listing.shown(stored.features),
        "label": None if label is None else msgspec.Raw(label),
        "prediction": None if stored.note is None else msgspec.Raw(stored.note),
        "history": listing.history(events),
    })  # fmt: skip


async def delete_example(call: Call) -> Sendable:
    """Overwrite the features and labels of a row."""
    hosted, id = call.hosted, call.names["id"]
    seq = await asyncio.to_thread(erase, call.engine, hosted, id)
    return answered(
        m.Erased(id, seq, "the model keeps what it learned of the row until POST .../rebuild trains it again")
    )
