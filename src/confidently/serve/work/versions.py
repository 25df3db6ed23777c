"""Requests about the versions of a model: list, promote, roll back, delete, and train the model again."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

import msgspec

from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.edits import Edits
from ..log.event_log import MAX_SEQ, EventLog
from ..log.events import Event, State, StoredVersion
from ..model.hosted import Hosted
from ..model.measures import measures_of
from ..model.metrics import Metrics
from ..model.settings import Setup, as_given
from ..model.version import BASE, Version, settings_of
from ..problems import Problem

FOLLOWING = (State.SHADOW, State.PROMOTING, State.NEXT)
MAX_LISTED = 20  # retired versions


def listed(hosted: Hosted) -> Request:
    """Return a request for the versions of a model, newest first, and the number of that before the last promotion."""

    def work(log: EventLog, request: Request) -> dict[str, Any]:
        hosted.check_living()
        stored = log.versions.of(hosted.number)[::-1]
        retired = [one for one in stored if one.state == State.RETIRED][:MAX_LISTED]
        shown = [_shown(hosted, one) for one in stored if one.state != State.RETIRED or one in retired]
        return {"versions": shown, "before": _before(log, hosted)}

    return Request(work)


def _shown(hosted: Hosted, stored: StoredVersion) -> dict[str, Any]:
    version = hosted.live if stored.number == hosted.live.number else hosted.others.get(stored.number)
    metrics = version.metrics if version else Metrics(measures=measures_of(Setup(settings_of(stored)).task))
    shown = metrics.shown()
    return {
        "version": stored.number, "state": stored.state, "reason": stored.reason, "created": stored.created / 1000.0,
        "settings": as_given(settings_of(stored)), "seq": version.cursor if version else 0,
        "progress": min(version.cursor / max(hosted.cursor, 1), 1.0) if version else 0.0,
        "failed": version.failed if version else None,
        **{name: shown[name] for name in ("rows", *metrics.measures.names, "recent", "refused", "curve")},
    }  # fmt: skip


def promote(engine: Engine, hosted: Hosted, number: int) -> Request:
    """Return a request to let a version answer as soon as it has learned all rows, answered with its number.

    The version that answers now is a shadow from then on. One that was retired is trained from the log first.
    """

    def work(log: EventLog, request: Request) -> int:
        hosted.check_living()
        stored = _found(log, hosted, number)
        if stored.state == State.RETIRED:
            check_classes([stored], log.edits.until(hosted.number, MAX_SEQ))
            engine.trainer.begin(log, hosted, stored, State.PROMOTING, request)
        elif stored.state == State.SHADOW:
            _set_state(engine, log, hosted, stored, State.PROMOTING, request)
        return number

    return Request(work)


def roll_back(engine: Engine, hosted: Hosted) -> Request:
    """Return a request to promote the version that answered before, answered with its number."""

    def work(log: EventLog, request: Request) -> Any:
        hosted.check_living()
        number = _before(log, hosted)
        if number is None:
            raise Problem("unknown-version", f"no other version of {hosted.name!r} has answered before")
        return promote(engine, hosted, number).work(log, request)

    return Request(work)


def _before(log: EventLog, hosted: Hosted) -> int | None:
    """Return the number of the version that answered before the last promotion, if there was one."""
    note = log.last_note(hosted.number, Event.PROMOTED)
    return None if note is None else int(msgspec.json.decode(note)["from"])


def retire(engine: Engine, hosted: Hosted, number: int) -> Request:
    """Return a request to keep nothing of a version but its settings."""

    def work(log: EventLog, request: Request) -> None:
        hosted.check_living()
        stored = _found(log, hosted, number)
        if stored.state == State.LIVE:
            raise Problem("live-version", f"version {number} of {hosted.name!r} answers; promote another one first")
        if stored.state != State.RETIRED:
            engine.trainer.retire(log, hosted, hosted.others[number], request)

    return Request(work)


def train_again(engine: Engine, hosted: Hosted, reason: str) -> Request:
    """Return a request to train the model from its log, answered with the number of the version that will answer."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_living()
        return replace(engine, log, hosted, reason, request)

    return Request(work)


def replace(engine: Engine, log: EventLog, hosted: Hosted, reason: str, request: Request) -> int:
    """Begin to train a version that replaces the one that answers, with its settings and all edits.

    One that is being trained to replace it begins again; so do the shadows. Called in the log thread, within a
    transaction; returns the number of the version.
    """
    stored, number = log.versions.of(hosted.number), None
    for one in stored:
        if one.state in FOLLOWING:
            engine.trainer.begin(log, hosted, one, one.state, request)
            number = one.number if one.state == State.NEXT else number
    live = next(one for one in stored if one.state == State.LIVE)
    if number is None:
        number = engine.trainer.add(log, hosted, live.settings, live.has_file, State.NEXT, reason, request)
    if live.has_file:
        _copy_base(hosted.live, hosted.folder / str(number))
    return number


def check_classes(versions: Sequence[StoredVersion], edits: Edits) -> None:
    """Raise a ``Problem`` if edits leave less than two of the classes that the settings of a version name."""
    for one in versions:
        given = settings_of(one).classes
        if given and len(left := edits.classes(given)) < 2:
            raise Problem(
                "invalid-settings", f"version {one.number} needs two classes, and the edits would leave {left} of "
                "those of its settings; revert another edit first"
            )  # fmt: skip


def _copy_base(live: Version, folder: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / BASE).exists():
        shutil.copyfile(live.folder / BASE, folder / BASE)


def _found(log: EventLog, hosted: Hosted, number: int) -> StoredVersion:
    stored = log.versions.of(hosted.number)
    for one in stored:
        if one.number == number:
            return one
    known = ", ".join(str(one.number) for one in stored)
    raise Problem("unknown-version", f"{hosted.name!r} has no version {number}; there are: {known}")


def _set_state(
    engine: Engine, log: EventLog, hosted: Hosted, stored: StoredVersion, state: State, request: Request
) -> None:  # fmt: skip
    changed = log.versions.set_state(stored, state)

    def committed() -> None:
        hosted.others[stored.number].stored = changed
        engine.trainer.notify()

    request.committed.append(committed)
