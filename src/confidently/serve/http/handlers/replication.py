"""What replicas follow: the models, their snapshots, what they learn."""

from __future__ import annotations

from msgspec import Struct

from ...replica import source
from ...replica.source import Followed
from ..calls import Call
from ..replies import NDJSON, Flow, Sendable, answered
from .models import Download


class Followers(Struct):
    """The models of a primary, as replicas follow them."""

    models: list[Followed]


async def get_followed(call: Call) -> Sendable:
    """List the models as replicas follow them."""
    call.engine.check_open()
    return answered(Followers(source.followed(call.engine)))


async def get_snapshot(call: Call) -> Sendable:
    """Download the newest snapshot of a model, or the file that it began with."""
    path, name = source.linked(call.engine, call.hosted, call.choice("of", ("snapshot", "base")))
    return Download(str(path), name, call.check_allowed)


async def get_learned(call: Call) -> Sendable:
    """Send what a model learns, a line of JSON each, until it is promoted, trained again or deleted."""
    hosted = call.hosted
    wanted = source.Training(hosted.number, call.number("version", 0, 0, 2**53), call.number("begun", 0, 0, 2**53))
    after = call.number("after", 0, 0, 2**53)
    return Flow(source.stream(call, hosted, wanted, after), NDJSON)
