"""The directory of the server: what changes, snapshots, backups."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from itertools import islice
from typing import Annotated

from msgspec import Meta, Struct

from ...engine.alarming import alarms_of, changed_alarms
from ...problems import Problem, tried
from ...work import models
from ..calls import Call
from ..lines import ROWS_PER_CHUNK
from ..replies import NDJSON, Flow, Sendable, answered, encoder
from .models import facts_of

SSE_SECONDS = 1.0


class Saved(Struct):
    """The event up to which the snapshot of every model goes."""

    snapshots: dict[str, int]


class BackupBody(Struct, forbid_unknown_fields=True):
    """The name of the backup, a new folder beside those made before."""

    name: Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})]


class BackupMade(Struct):
    """Where a backup is: a folder below the server's directory."""

    path: str


async def events(call: Call) -> Sendable:
    """Send what changes, as server-sent events."""
    call.engine.check_open()

    async def told() -> AsyncGenerator[bytes, None]:
        """Yield events until the server stops, the client goes, or its token ends: it then asks again, in vain."""
        last = call.headers.get("last-event-id", "")
        number, before = int(last) if re.fullmatch("[0-9]{1,18}", last) else 0, b""
        alarms = alarms_of(call.engine)
        yield b"retry: 2000\n\n"
        while not call.engine.stopping and not await call.is_disconnected():
            if isinstance(tried(call.check_allowed), Problem):
                return
            summary = [facts_of(hosted) for hosted in call.all_hosted]
            data = encoder.encode({"models": summary})
            if data != before:
                number, before = number + 1, data
                yield b"id: %d\nevent: models\ndata: %s\n\n" % (number, data)
            else:
                yield b": nothing new\n\n"
            for alarm in changed_alarms(alarms, alarms := alarms_of(call.engine)):
                number += 1
                yield b"id: %d\nevent: alarm\ndata: %s\n\n" % (number, encoder.encode(alarm))
            await asyncio.sleep(SSE_SECONDS)

    return Flow(told(), "text/event-stream", {"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


async def get_audit(call: Call) -> Sendable:
    """Export who has taught, changed or deleted what, a line of JSON for each; rows are told of after a second."""
    after, limit = call.number("after", 0, 0, 2**53), call.number("limit", 2**53, 1, 2**53)
    seen = (one for one in call.engine.audit.lines(after) if not call.token.models or call.token.sees(one.model or ""))

    async def lines() -> AsyncGenerator[bytes, None]:
        left = islice(seen, limit)
        while some := await asyncio.to_thread(lambda: list(islice(left, ROWS_PER_CHUNK))):
            call.check_allowed()
            yield encoder.encode_lines(some)

    return Flow(lines(), NDJSON)


async def snapshot(call: Call) -> Sendable:
    """Write a snapshot of every model now."""
    found = {}
    for name, hosted in list(call.engine.hosted.items()):
        found[name] = await call.ask(models.save(hosted))
    return answered({"snapshots": found})


async def backup(call: Call) -> Sendable:
    """Copy the log and the snapshots into a new folder, while the server runs."""
    body = await call.message(BackupBody)
    models.check_name(body.name, "the name of a backup", "invalid-body", "/name")
    target = call.engine.folder / "backups" / body.name
    if target.exists():
        raise Problem("other-content", f"there is a backup {body.name!r} already; take another name", "/name")
    await call.log(models.backup(call.engine, target))
    return answered({"path": str(target.relative_to(call.engine.folder))}, 201)
