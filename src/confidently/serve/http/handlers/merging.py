"""Servers that exchange what they have learned: what a model contributes, and merging what others do."""

from __future__ import annotations

import asyncio

from msgspec import Struct
from starlette.responses import Response

from ...problems import Problem
from ...work import merging
from ..calls import Call
from ..replies import Sendable, answered

MAX_CONTRIBUTION = 256 << 20  # bytes


class Merged(Struct):
    """What was merged: ``origin`` is the server's name of the model, ``rows`` those that it has learned of."""

    origin: str
    rows: int
    seq: int
    status: str


async def get_contribution(call: Call) -> Sendable:
    """Download what the model has learned of the rows of this server, without what it merged from others."""
    hosted = call.hosted
    origin = await call.log(merging.origin(hosted))
    content = await call.ask(merging.contribution(hosted, origin))
    headers = {"Content-Disposition": f'attachment; filename="{hosted.name}.contribution.cw"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


async def merge(call: Call) -> Sendable:
    """Merge what another server has learned of its rows; a later contribution of it takes the place of this one."""
    hosted, wait = call.hosted, call.choice("wait", ("durable", "learned")) == "learned"
    given = await asyncio.to_thread(merging.read, await call.body(MAX_CONTRIBUTION))
    found = await call.log(merging.known(hosted, given, wait))
    if isinstance(found, merging.MergeReceipt):
        return answered(Merged(*found))
    await call.ask(merging.check(hosted, given, found))
    [receipt] = await call.log(merging.merge(hosted, given, wait))
    if isinstance(receipt, Problem):
        raise Problem("cannot-merge", receipt.detail)
    return answered(Merged(*receipt))
