"""Requests about whole models: make, delete, upload, download, rebuild; and about the directory: snapshot, backup."""

from __future__ import annotations

import enum
import os
import re
import shutil
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ...data.formats.table import BY_NAME
from ...data.reading import ReaderOptions
from ...data.sources.whole_files import sync_directory
from ...models.file import DECISIONS as DECISIONS_FILE
from ...models.file import ENTITIES, LINEAR, REGRESSION, ModelFileError, kind_of
from ...models.model import Model
from ..engine.engine import Engine
from ..engine.requests import LearnedQuestion, Request
from ..log.event_log import EventLog
from ..log.events import State, StoredModel, StoredVersion, now
from ..log.log_file import FILE
from ..model.encoding import info_of
from ..model.hosted import Hosted
from ..model.settings import DECISIONS, Deciding, ModelSettings, Setup, as_given, canonical, what_is_learned
from ..model.snapshots import snapshots
from ..model.version import BASE, Version, settings_of
from ..problems import Problem
from ..waiting import stopping

MAX_OTHERS = 4  # versions of a model beside the one that answers
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
NAME_RULE = "1 to 64 letters, digits, '.', '_' and '-', the first a letter or a digit"


class Made(enum.Enum):
    """What a request to make a model has done."""

    NEW, THERE, SHADOW = "new", "there", "shadow"


def check_name(
    name: str, what: str = "the name of a model", kind: str = "invalid-parameter", pointer: str | None = None
) -> None:
    """Raise a ``Problem`` unless a model, or a backup, may have the name."""
    if NAME.fullmatch(name) is None:
        raise Problem(kind, f"{what}: expected {NAME_RULE}, got {name[:80]!r}", pointer)


def create(engine: Engine, name: str, settings: ModelSettings) -> Request:
    """Return a request to make a model, answered with what was done.

    A model that is there with other settings gets a version with them, which is trained from the log as a shadow.
    """
    return _make(engine, name, _checked(settings))


def unmade(name: str, settings: ModelSettings) -> Hosted:
    """Return a model as :func:`create` would make it, which nobody else knows."""
    version = StoredVersion(0, 1, _checked(settings), False, 0, State.LIVE, "tried", now())
    nowhere = Path(os.devnull)
    return Hosted(StoredModel(0, name, now()), nowhere, Version(name, version, nowhere))


def _checked(settings: ModelSettings) -> bytes:
    """Return settings as the log has them.

    Raises
    ------
    Problem
        If they do not fit together.
    """
    if settings.file is not None:
        raise Problem("invalid-settings", "file: upload a model with PUT .../file", "/file")
    if settings.encoder_info is not None:
        raise Problem("invalid-settings", "encoder_info: the server fills it in; leave it out", "/encoder_info")
    if settings.encoder is not None:
        settings = msgspec.structs.replace(settings, encoder_info=info_of(settings.encoder))
    Setup(settings)
    return canonical(settings)


def upload(engine: Engine, name: str, path: str | os.PathLike[str], digest: str) -> Request:
    """Return a request to make a model of a model file, answered with what was done.

    Raises
    ------
    Problem
        If it is not the file of a classifier, or of a regression with one number per row, whose rows are named columns,
        or of a model of decisions.
    """
    if (of_parts := {ENTITIES: _of_entities, DECISIONS_FILE: _of_decisions}.get(kind_of(path) or "")) is not None:
        return _make(engine, name, canonical(of_parts(path, digest)), path)
    try:
        model = Model.load(path, LINEAR, REGRESSION)
    except ModelFileError as error:
        raise Problem("invalid-body", str(error).replace(f"{path}: ", "")) from None
    _check_source(model)
    if model.learner.task.regression and (n := model.learner.n_classes) > 1:
        raise Problem("invalid-body", f"the model predicts {n} numbers per row; rows of the server have one label")
    if model.learner.groups is not None:
        raise Problem("invalid-body", "what the model promises holds by a column; train it without --coverage-by")
    return _make(engine, name, canonical(ModelSettings(file=digest)), path)


def _check_source(model: Model) -> None:
    """Raise a ``Problem`` unless a model reads rows that are objects of named columns."""
    if not model.source:
        raise Problem("invalid-body", "the model does not say how its rows were read; make it with confidently train")
    reading = ReaderOptions.from_dict(model.source).format
    if not (BY_NAME[reading].columns or "encoder" in model.source):
        raise Problem("invalid-body", f"the model reads {reading}; rows of the server are objects of named columns")


def _of_entities(path: str | os.PathLike[str], digest: str) -> ModelSettings:
    from ...entities.models import EntityModels  # imported here since scikit-learn is slow to import

    try:
        model = EntityModels.load(path)
    except ModelFileError as error:
        raise Problem("invalid-body", str(error).replace(f"{path}: ", "")) from None
    if model.key is None:
        raise Problem("invalid-body", "the model names no column of keys; train it with EntityModels(key='user')")
    _check_source(model.shared_.as_model())
    task: Any = "numbers" if model.shared_.predicts_numbers else "classes"
    return ModelSettings(
        task=task, key=model.key, file=digest, max_entities=model.max_entities, max_age=model.max_age
    )  # fmt: skip


def _of_decisions(path: str | os.PathLike[str], digest: str) -> ModelSettings:
    """Return the settings with which the model of a file goes on."""
    from ...bandits.decision_model import DecisionModel  # imported here since scikit-learn is slow to import

    try:
        model = DecisionModel.load(path)
    except ModelFileError as error:
        raise Problem("invalid-body", str(error).replace(f"{path}: ", "")) from None
    settings = ModelSettings(
        task=DECISIONS, file=digest, reward_range=model.reward_range, drift=model.drift is not None,
        arms="shared" if model.actions.shared else "own",
        policy=Deciding(name=model.policy.name, parameters=model.policy.get_params()),
    )  # fmt: skip
    Setup(settings)
    return settings


def _make(engine: Engine, name: str, settings: bytes, base: str | os.PathLike[str] | None = None) -> Request:
    def work(log: EventLog, request: Request) -> Made:
        there = log.model(name)
        if there is not None:
            return _with_settings(engine, log, engine.find(name), settings, base is not None, request)
        number = log.add_model(name)
        version = log.versions.add(number, settings, base is not None, 0, State.LIVE, "made")
        folder = engine.folder_of(number)
        try:
            shutil.rmtree(folder, ignore_errors=True)  # of a model whose making was not completed
            (folder / str(version.number)).mkdir(parents=True)
            if base is not None:
                shutil.copyfile(base, folder / str(version.number) / BASE)
                _sync(folder / str(version.number) / BASE)
        except OSError:
            log.unmake_model(number)
            raise
        hosted = Hosted(StoredModel(number, name, now()), folder, Version(name, version, folder))
        request.committed.append(lambda: engine.hosted.__setitem__(name, hosted))
        return Made.NEW

    return Request(work)


def _with_settings(
    engine: Engine, log: EventLog, hosted: Hosted, settings: bytes, has_file: bool, request: Request
) -> Made:  # fmt: skip
    """Find or make the version of a model that has some settings."""
    hosted.check_living()
    versions = log.versions.of(hosted.number)
    alive = [version for version in versions if version.state != State.RETIRED]
    settings = _of_same_encoder(settings, alive)
    if any(version.settings == settings for version in alive):
        return Made.THERE
    live = hosted.live
    if not has_file and what_is_learned(settings) == what_is_learned(live.stored.settings):
        stored = log.versions.set_settings(live.stored, settings)
        request.committed.append(lambda: live.take_settings(stored))
        return Made.THERE
    _check_edited(log, hosted, settings)
    if has_file:
        raise Problem("other-model", f"{hosted.name!r} exists; delete it, or upload the file under another name")
    chosen, kind = msgspec.json.decode(settings, type=ModelSettings).task, hosted.model.kind
    if chosen != kind:
        raise Problem("other-model", f"the rows of {hosted.name!r} have {kind}, no {chosen}; take another name")
    if len(alive) > MAX_OTHERS:
        raise Problem(
            "too-many-versions", f"{hosted.name!r} has {MAX_OTHERS} versions beside the one that answers; delete one "
            "(DELETE .../versions/N) first"
        )  # fmt: skip
    engine.trainer.add(log, hosted, settings, False, State.SHADOW, "other settings", request)
    return Made.SHADOW


def _of_same_encoder(settings: bytes, versions: list[StoredVersion]) -> bytes:
    """Return settings with what a version knows of their encoder, if it is the same, perhaps of a later package."""
    given = msgspec.json.decode(settings, type=ModelSettings)
    if given.encoder_info is not None:
        for version in versions:
            known = settings_of(version)
            info = known.encoder_info if known.encoder == given.encoder else None
            if info is not None and info.agrees(given.encoder_info):
                return canonical(msgspec.structs.replace(given, encoder_info=info))
    return settings


def _check_edited(log: EventLog, hosted: Hosted, settings: bytes) -> None:
    """Raise a ``Problem`` if settings name a class that an edit has removed or renamed."""
    given = {str(name) for name in msgspec.json.decode(settings, type=ModelSettings).classes}
    for edit in log.edits.until(hosted.number, log.last()).edits:
        if edit.source in given:
            raise Problem(
                "invalid-settings", f"classes: edit {edit.seq} has removed or renamed {edit.source!r}; revert it first "
                f"(DELETE .../edits/{edit.seq}), or leave the class out", "/classes"
            )  # fmt: skip


def _sync(path: Path) -> None:
    """Make a file, and its name in its folder, survive a power cut."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    sync_directory(path.parent)


def delete(engine: Engine, hosted: Hosted) -> Request:
    """Return a request to delete a model with all its rows."""

    def work(log: EventLog, request: Request) -> None:
        hosted.check_living()
        log.delete_model(hosted.number)
        hosted.deleted = True  # for the requests that follow in this transaction
        request.reverted.append(lambda: setattr(hosted, "deleted", False))
        request.committed.append(forget)

    def forget() -> None:
        engine.hosted.pop(hosted.name, None)
        engine.learner.forget(hosted)
        with suppress(Problem):  # the server is about to stop; the next start does it
            engine.writer.submit(Request(lambda log, request: log.shrink(), rows=0))

    return Request(work)


def download(hosted: Hosted, path: str | os.PathLike[str]) -> Request:
    """Return a question that writes the model file to a path, once the rows that wait now are learned."""

    def work(log: EventLog, request: Request) -> int:
        hosted.check_working()
        model = hosted.model
        if model.has_begun and model.task.one_class and len(model.classes) < 2:
            raise Problem("one-class", "the model has seen one class only; send rows of another one first")
        model.save(path)
        return os.path.getsize(path)

    return LearnedQuestion(hosted, work)


def facts(hosted: Hosted) -> dict[str, Any]:
    """Return what the server tells of a model; of any thread."""
    model = hosted.model
    return {
        "name": hosted.name,
        "settings": as_given(hosted.settings),
        "encoder": None if hosted.model.reading.encoder is None else str(hosted.model.reading.encoder),
        "created": hosted.created / 1000.0,
        "task": model.kind if model.task.regression else model.task.name,
        "classes": [str(name) for name in model.classes],
        "open": not hosted.closed,
        "multilabel": model.task.multilabel,
        "features": model.n_features,
        **({} if model.entities is None else {"entities": model.entities}),
        "rows": hosted.metrics.rows,
        "updates": model.updates,
        "waiting": len(hosted.waiting),
        "seq": hosted.cursor,
        "snapshot": hosted.live.snapshots.seq,
        "version": hosted.live.number,
        "others": len(hosted.others),
        "merged": [one._asdict() for one in model.merged],
        "refused": hosted.metrics.refused,
        "alarms": hosted.metrics.alarms.shown(),
        "guards": model.guards.shown(),
        "failed": hosted.failed,
    }


def save(hosted: Hosted) -> Request:
    """Return a question that writes a snapshot, answered with its event."""

    def work(log: EventLog, request: Request) -> int:
        return hosted.live.save()

    return Request(work)


def backup(engine: Engine, target: Path) -> Request:
    """Return a request to copy the log and the model files into a new folder, while new rows are still accepted."""

    def work(log: EventLog, request: Request) -> Generator[None]:
        target.mkdir(parents=True)
        return steps(log)

    def steps(log: EventLog) -> Generator[None]:
        try:
            for _ in copied(log):
                if engine.stopping:
                    raise stopping()
                yield None
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise

    def copied(log: EventLog) -> Generator[None]:
        for hosted in list(engine.hosted.values()):
            for version in [hosted.live, *hosted.others.values()]:
                folder = target / version.folder.relative_to(engine.folder)
                folder.mkdir(parents=True)
                for path in [version.folder / BASE, *snapshots(version.folder)]:
                    with suppress(FileNotFoundError):  # none, or replaced by a newer one meanwhile
                        shutil.copyfile(path, folder / path.name)
                        _sync(folder / path.name)
                    yield None
        yield from log.copy_to(target / FILE)
        _sync(target / FILE)

    return Request(work)
