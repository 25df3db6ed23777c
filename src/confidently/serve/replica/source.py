"""What a primary tells its replicas: its models, their newest snapshots, and what they learn, in order."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..engine.engine import PASSING, Engine
from ..engine.requests import Request
from ..log.event_log import EventLog
from ..log.events import Event, Row
from ..model.hosted import Hosted
from ..model.settings import ModelSettings
from ..model.snapshots import snapshots
from ..model.version import BASE
from ..problems import Problem
from ..work.listing import shown

ROWS = 512  # read from the log at once
BEAT_SECONDS, PAUSE_SECONDS = 0.5, 0.01  # at most between two lines, and between two looks at the model


class Training(NamedTuple):
    """What a model is made of: another training, of a new version or without some rows, is another model."""

    number: int
    version: int
    begun: int


class Followed(msgspec.Struct):
    """A model that replicas follow. ``number``, ``version`` and ``begun`` change where it is not a continuation."""

    name: str
    number: int
    version: int
    begun: int
    created: int
    settings: ModelSettings
    has_file: bool
    seq: int


class Line(msgspec.Struct, omit_defaults=True):
    """A line of what a model learns: a row; an erasure; a contribution of another server, as a file, and its source;
    or how far the lines so far go.

    ``level``: the last event that the model of the primary has learned. ``reload``: a row is erased, so that only
    snapshots have what was learned of it.
    """

    seq: int
    features: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    label: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    weight: float = 1.0
    erasure: bool = False
    contribution: bytes | msgspec.UnsetType = msgspec.UNSET
    source: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    level: int | None = None
    reload: bool = False


encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(Line)


def training_of(hosted: Hosted) -> Training:
    """Return what the version that answers is made of."""
    stored = hosted.live.stored
    return Training(hosted.number, stored.number, stored.begun)


def followed(engine: Engine) -> list[Followed]:
    """Return the models; without those that have stopped."""
    models = [hosted for hosted in list(engine.hosted.values()) if hosted.failed is None]
    return [
        Followed(one.name, *training_of(one), one.created, one.live.settings, one.live.stored.has_file, one.live.cursor)
        for one in models
    ]


def linked(engine: Engine, hosted: Hosted, what: str) -> tuple[Path, str]:
    """Return another name of the newest snapshot, or of the file that the model began with, and its own name.

    Raises
    ------
    Problem
        If there is none.
    """
    folder = hosted.live.folder
    for path in [folder / BASE] if what == "base" else snapshots(folder):
        link = engine.folder / f"{PASSING}{secrets.token_hex(8)}"
        with suppress(FileNotFoundError):  # replaced by a newer one meanwhile
            os.link(path, link)
            return link, path.name
    raise Problem("not-found", f"the model {hosted.name!r} has no {what}")


def lines(hosted: Hosted, after: int) -> Request:
    """Return a request for the next lines, up to what the model has learned, and the last event among them."""
    live, until = hosted.live, hosted.live.cursor

    def work(log: EventLog, request: Request) -> tuple[list[Line], int]:
        hosted.check_living()
        basis = log.edits.basis(live.stored)
        rows = log.taught(basis, after, ROWS)
        last = until if len(rows) < ROWS else rows[-1].seq
        found = [line for row in rows if row.seq <= until and (line := _line(log, row, live.stored.begun)) is not None]
        return found, min(last, until)

    return Request(work, rows=0)


def _line(log: EventLog, row: Row, begun: int) -> Line | None:
    if row.kind == Event.ERASURE:
        return Line(row.seq, erasure=True) if row.seq > begun else None
    if row.kind == Event.MERGE:
        assert row.features is not None and row.note is not None
        return Line(row.seq, contribution=row.features, source=msgspec.Raw(row.note))
    features, label = shown(row.features), shown(row.label)
    if features is not None and label is not None:
        return Line(row.seq, features, label, row.weight)
    erased = log.erasure_of(row.example)
    return Line(row.seq, reload=True) if erased is not None and erased > begun else None


async def stream(call: Any, hosted: Hosted, wanted: Training, after: int) -> AsyncGenerator[bytes, None]:
    """Yield what a model learns after an event, until it is made of something else or the client goes."""
    engine, last, told = call.engine, after, 0.0
    loop = asyncio.get_running_loop()
    while not engine.stopping and not hosted.deleted and not await call.is_disconnected():
        call.check_allowed()
        if training_of(hosted) != wanted or hosted.failed is not None:
            return
        found, parts = list[Line](), b""
        if hosted.cursor > last:
            found, last = await call.log(lines(hosted, last))
            parts = b"".join(encoder.encode(line) + b"\n" for line in found)
        if training_of(hosted) != wanted:
            return
        if parts or loop.time() - told > BEAT_SECONDS:
            told = loop.time()
            yield parts + encoder.encode(Line(last, level=hosted.cursor)) + b"\n"
        if len(found) < ROWS // 2:
            await asyncio.sleep(PAUSE_SECONDS)
