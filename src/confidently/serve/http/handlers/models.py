"""Models: make, list, delete, upload, download, train again, measure."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import FileResponse, Response
from starlette.types import Message, Receive, Scope, Send

from ...engine.engine import PASSING
from ...model.hosted import Hosted
from ...model.settings import ModelSettings
from ...problems import Problem
from ...work import models
from .. import messages as m
from ..calls import Call, decoded
from ..replies import Sendable, answered

STATUSES = {models.Made.NEW: 201, models.Made.THERE: 200, models.Made.SHADOW: 202}
MAX_FILE = 8 << 30  # bytes, of a model file


class AlarmOut(Struct):
    """A sign that the rows of a model have changed: "error", "log-loss", "coverage" or "order", and since when."""

    kind: str
    since: float
    detail: str


class ContributionOut(Struct):
    """What another server has contributed: whose it is, up to which event and of how many rows; ``missing``: why it
    could not be merged, if it could not."""

    origin: str
    seq: int
    rows: int
    missing: str | None


class DecisionFacts(Struct):
    """Decisions of a model and their rewards, of which some were given by default.

    ``recent_mean_reward`` is that of the last 1,000 rewards, and ``shares`` are those of the actions that were chosen
    most often. ``match_rate``: how often an apprentice would have chosen the baseline.
    """

    decisions: int
    rewards: int
    default_rewards: int
    mean_reward: float | None
    recent_mean_reward: float | None
    shares: dict[str, float]
    match_rate: float | None


class ModelFacts(m.ProgressiveMeans):
    """A model.

    ``recent``: metrics of about the last 1,000 rows; ``version``: the one that answers; ``others``: versions that are
    trained meanwhile; ``merged``: what other servers have contributed; ``refused``: events that were set aside;
    ``entities``: how many keys have a model of their own; ``alarms``: signs that the rows have changed; ``guards``:
    by kind, how many odd rows were learned, and how many were predicted or refused; ``failed``: why it has stopped, if
    it has.

    Of classes it has ``error`` and ``log_loss``, of numbers ``mae`` and ``rmse``: means over all rows, of which each
    was predicted before it was learned.
    """

    name: str
    settings: ModelSettings
    encoder: str | None
    created: float
    task: str
    classes: list[str]
    open: bool
    multilabel: bool
    features: int
    rows: int
    updates: int
    waiting: int
    seq: int
    snapshot: int
    version: int
    others: int
    merged: list[ContributionOut]
    refused: int
    alarms: list[AlarmOut]
    guards: dict[str, dict[str, int]]
    failed: str | None
    recent: dict[str, float | None]
    to_label: int
    behind: int
    decisions: DecisionFacts | UnsetType = UNSET
    entities: int | UnsetType = UNSET


class Models(Struct):
    """All models."""

    models: list[ModelFacts]


class Download(FileResponse):
    """A file that is sent as long as that is allowed, and then removed.

    Parameters
    ----------
    path, filename : str
    check : callable
        Raises a ``Problem`` when it is no longer allowed.
    """

    def __init__(self, path: str, filename: str, check: Callable[[], None]) -> None:
        super().__init__(path, media_type="application/octet-stream", filename=filename)
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def checked(message: Message) -> None:
            self._check()
            await send(message)

        try:
            await super().__call__(scope, receive, checked)
        except Problem:
            return  # without an end, as Flow
        finally:
            Path(self.path).unlink(missing_ok=True)


def facts_of(hosted: Hosted) -> dict[str, Any]:
    shown = hosted.metrics.shown()
    decided = {"decisions": hosted.metrics.decisions.shown()} if hosted.model.setup.decides else {}
    means = {name: shown[name] for name in hosted.metrics.measures.names}
    more = {"recent": shown["recent"], "to_label": len(hosted.labelling), "behind": hosted.behind}
    return models.facts(hosted) | means | more | decided


async def list_models(call: Call) -> Sendable:
    """List the models."""
    call.engine.check_open()
    return answered({"models": [facts_of(hosted) for hosted in call.all_hosted]})


async def get_model(call: Call) -> Sendable:
    """Return what is known about a model."""
    return answered(facts_of(call.hosted))


async def put_model(call: Call) -> Sendable:
    """Make a model; one that is there with other settings gets a version with these, which is trained as a shadow."""
    name, body = call.names["m"], await call.body()
    settings = decoded(body or b"{}", ModelSettings)
    made = await call.log(await asyncio.to_thread(models.create, call.engine, name, settings))
    return answered(facts_of(call.engine.find(name)), STATUSES[made])


async def delete_model(call: Call) -> Sendable:
    """Delete a model with all its rows."""
    await call.log(models.delete(call.engine, call.hosted))
    return Response(status_code=204)


async def get_file(call: Call) -> Sendable:
    """Download the model file of all rows acknowledged so far, once they are learned."""
    hosted = call.hosted
    descriptor, path = tempfile.mkstemp(".cw", PASSING, call.engine.folder)
    os.close(descriptor)
    try:
        await call.ask(models.download(hosted, path))
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    return Download(path, f"{hosted.name}.{hosted.model.suffix}", call.check_allowed)


async def put_file(call: Call) -> Sendable:
    """Make a model of a model file; its training continues."""
    name, digest = call.names["m"], hashlib.sha256()
    descriptor, path = tempfile.mkstemp(".cw", PASSING, call.engine.folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            async for piece in call.pieces():
                digest.update(piece)
                file.write(piece)
                if file.tell() > MAX_FILE:
                    raise Problem("too-large", f"the file has more than {MAX_FILE} bytes, the most allowed")
        request = await asyncio.to_thread(models.upload, call.engine, name, path, digest.hexdigest())
        made = await call.log(request)
    finally:
        Path(path).unlink(missing_ok=True)
    return answered(facts_of(call.engine.find(name)), STATUSES[made])


async def metrics(call: Call) -> Sendable:
    """Return progressive errors, their course, calibration, alarms, rates of the last hour, labelling."""
    hosted = call.hosted
    order = dict(zip(("alarms", "rows_since_alarm"), hosted.model.order, strict=True))
    more = {"order": order, "guards": hosted.model.guards.shown(), "labelling": labelling_of(hosted)}
    if hosted.model.setup.decides:
        more["decisions"] = hosted.metrics.decisions.shown()
    return answered(hosted.metrics.shown() | more)


def labelling_of(hosted: Hosted) -> dict[str, Any]:
    """Return how far labelling is; random rows show the accuracy of classes, or the mean absolute error of numbers."""
    shown = hosted.labelling.shown()
    left_out = ("accuracy", "interval") if hosted.model.task.regression else ("mae",)
    random = {name: value for name, value in shown["random"].items() if name not in left_out}
    return shown | {"random": random, "gain": hosted.metrics.gain()}
