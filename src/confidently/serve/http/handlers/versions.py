"""The life of a model: versions, promotion, training again; batches, and edits of what it has learned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from ...engine.requests import Request
from ...model.hosted import Hosted
from ...model.settings import ModelSettings
from ...problems import Problem
from ...work import edits as editing
from ...work import versions
from .. import messages as m
from ..calls import Call
from ..replies import Reply, Sendable, answered

LOOK_SECONDS = 0.02  # between two looks at whether a version answers


class Version(m.ProgressiveMeans):
    """A version of a model: settings, and the log as it has learned it.

    ``state``: live (it answers), shadow, promoting or next (it will answer), retired. ``progress``: of the rows that
    the model has learned. ``error``, ``mae`` and the other metrics are progressive, of all rows that it has learned.
    """

    version: int
    state: str
    reason: str
    created: float
    settings: ModelSettings
    seq: int
    progress: float
    failed: str | None
    rows: int
    recent: dict[str, Any]
    refused: int
    curve: list[dict[str, Any]]


class Versions(Struct):
    """Versions of a model; ``before`` answered before the last promotion, and does so again after a rollback."""

    versions: list[Version]
    before: int | None


class VersionState(Struct):
    """The version that answers, or will do so once it is trained; ``edit`` is the event of an edit."""

    version: int
    state: str
    edit: int | None


class Batch(Struct):
    """A batch of rows: those of an import, of a source or of a client. ``edit``: what has taken it out, if anything."""

    batch: str
    created: float
    rows: int
    edit: int | None


class Batches(Struct):
    """Batches of a model."""

    batches: list[Batch]


class EditBody(Struct, forbid_unknown_fields=True):
    """A class, and its new name: that of another class merges both; none removes the class with its rows."""

    source: Annotated[str, Meta(min_length=1, max_length=1000)] = msgspec.field(name="from")
    to: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None


class Edit(Struct):
    """An edit of a batch or a class; ``answers``: whether the version that answers has learned the rows as edited."""

    edit: int
    time: float
    batch: str | None
    source: str | None = msgspec.field(name="from")
    to: str | None
    answers: bool


class Edits(Struct):
    """Edits of a model."""

    edits: list[Edit]


async def get_versions(call: Call) -> Sendable:
    """List the versions of a model with the progressive error of each on the same rows, the newest first."""
    return answered(await call.log(versions.listed(call.hosted)))


async def promote_version(call: Call) -> Sendable:
    """Let a version answer as soon as it has learned all rows; the one before is a shadow from then on."""
    return await _begun(call, versions.promote(call.engine, call.hosted, _number(call, "versions")))


async def delete_version(call: Call) -> Sendable:
    """Stop training a version, and keep nothing of it but its settings."""
    number = _number(call, "versions")
    await call.log(versions.retire(call.engine, call.hosted, number))
    return answered(VersionState(number, "retired", None))


async def rollback(call: Call) -> Sendable:
    """Let the version answer again that did so before the last promotion."""
    return await _begun(call, versions.roll_back(call.engine, call.hosted))


async def rebuild(call: Call) -> Sendable:
    """Train the model again from its log, without the rows that were erased; the old version answers meanwhile."""
    return await _begun(call, versions.train_again(call.engine, call.hosted, "trained again"))


async def get_batches(call: Call) -> Sendable:
    """List the batches of a model, the newest first; ``edit`` is what has taken one out."""
    return answered({"batches": await call.log(editing.batches(call.hosted))})


async def delete_batch(call: Call) -> Sendable:
    """Take a batch out: a version that has not learned it is trained, and replaces the one that answers."""
    return await _begun(call, editing.take_out(call.engine, call.hosted, call.names["id"]))


async def get_edits(call: Call) -> Sendable:
    """List the edits that count, and whether the version that answers has learned the rows as edited."""
    return answered({"edits": await call.log(editing.listed(call.hosted))})


async def post_edit(call: Call) -> Sendable:
    """Rename a class, merge it into another one, or, without ``to``, remove it with its rows."""
    body = await call.message(EditBody)
    return await _begun(call, editing.change_class(call.engine, call.hosted, body.source, body.to))


async def delete_edit(call: Call) -> Sendable:
    """Revert an edit: a version is trained that has learned the rows without it."""
    return await _begun(call, editing.revert(call.engine, call.hosted, _number(call, "edits")))


def _number(call: Call, what: str) -> int:
    text = call.names["id"]
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Problem("invalid-parameter", f"expected a number from GET .../{what}, got {text[:40]!r}")
    return int(text)


async def _begun(call: Call, request: Request) -> Reply:
    """Answer with the version that answers, or will do so; with ``?wait=live`` once it does."""
    hosted, wait = call.hosted, call.choice("wait", ("begun", "live")) == "live"
    found = await call.log(request)
    seq, number = found if isinstance(found, Sequence) else (None, found)
    trainer = call.engine.trainer
    while wait and (_is_on_its_way(hosted, number) or trainer.is_removing) and not call.engine.stopping:
        await asyncio.sleep(LOOK_SECONDS)
    if number == hosted.live.number:
        return answered(VersionState(number, "live", seq))
    version = hosted.others.get(number)
    if wait and version is not None and version.failed is not None:
        raise Problem("model-failed", f"version {number}: {version.failed}; version {hosted.live.number} answers")
    return answered(VersionState(number, "retired" if version is None else version.state, seq))


def _is_on_its_way(hosted: Hosted, number: int) -> bool:
    version = hosted.others.get(number)
    return not hosted.deleted and hosted.live.number != number and version is not None and version.failed is None
