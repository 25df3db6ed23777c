"""Work on the directory of a server that does not run: check it, copy it, bring a copy back, export its rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..models.file import ModelFileError
from ..models.model import Model
from ..wording import counted
from .engine import MODELS
from .hosted import BASE
from .log import FILE, EventLog, LogError
from .settings import ModelSettings
from .snapshots import snapshots

ROWS = 4096
WEIGHT = "sample_weight"  # the key of weights in exported rows


def check(folder: str | os.PathLike[str]) -> Iterator[tuple[bool, str]]:
    """Yield for every part of a directory whether it is sound, and what it is.

    Raises
    ------
    LogError
        If the log cannot be opened.
    """
    log = _open(folder)
    try:
        faults = log.faults()
        for fault in faults:
            yield False, f"{log.path}: {fault}"
        if not faults:
            yield True, f"{log.path}: {counted(log.last(), 'event')}"
        for stored in log.models():
            events = log.counts(stored.number)
            told = ", ".join(f"{n:,} {kind}" for kind, n in sorted(events.items())) or "no events"
            yield True, f"model {stored.name}: {told}"
            yield from _check_files(Path(folder) / MODELS / str(stored.number), stored.has_file, log.last())
    finally:
        log.close()


def _check_files(folder: Path, has_base: bool, last: int) -> Iterator[tuple[bool, str]]:
    for path in [*([folder / BASE] if has_base else []), *snapshots(folder)]:
        try:
            seq = Model.load(path).training.get("seq", 0)
        except (ModelFileError, OSError) as error:
            yield False, str(error)
            continue
        ahead = f"is of event {seq:,}, but the log ends at {last:,}"
        yield (True, f"{path}: sound") if seq <= last else (False, f"{path} {ahead}")


def backup(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy the directory of a server that does not run.

    Raises
    ------
    LogError
        If there is no log, or the target exists.
    """
    log = _open(folder)
    try:
        if Path(target).exists():
            raise LogError(f"{target} exists; choose a new folder")
        shutil.copytree(Path(folder) / MODELS, Path(target) / MODELS, ignore=shutil.ignore_patterns(".*"))
        for _ in log.copy_to(Path(target) / FILE):
            pass
    finally:
        log.close()


def restore(source: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Copy a backup into a new directory, of which a server can start.

    Raises
    ------
    LogError
        If the source is not a backup, or the directory is not empty.
    """
    if Path(folder).exists() and any(Path(folder).iterdir()):
        raise LogError(f"{folder} is not empty; restore into a new folder")
    Path(folder).parent.mkdir(parents=True, exist_ok=True)
    if Path(folder).exists():
        Path(folder).rmdir()
    backup(source, folder)


def export(folder: str | os.PathLike[str], name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows that a model has learned, in the order of learning, as ``confidently train`` reads them.

    A weight other than 1 is under the key ``sample_weight``.

    Raises
    ------
    LogError
        If there is no such model, or a row with a weight has a feature of the name of that key.
    """
    log = _open(folder)
    try:
        stored = log.model(name)
        if stored is None:
            known = ", ".join(one.name for one in log.models()) or "none"
            raise LogError(f"{folder} has no model {name!r}; there are: {known}")
        settings = msgspec.json.decode(stored.settings, type=ModelSettings)
        key, after = settings.reading.label or "label", 0
        while rows := log.taught(stored.number, after, ROWS):
            after = rows[-1].seq
            for row in rows:
                if row.features is not None and row.label is not None:
                    features = msgspec.json.decode(row.features)
                    if row.weight != 1.0 and WEIGHT in features:
                        raise LogError(f"event {row.seq} has a weight and a feature {WEIGHT!r}, the key of weights")
                    weight = {} if row.weight == 1.0 else {WEIGHT: row.weight}
                    yield {key: msgspec.json.decode(row.label)} | features | weight
    finally:
        log.close()


def _open(folder: str | os.PathLike[str]) -> EventLog:
    if not (Path(folder) / FILE).is_file():
        raise LogError(f"{folder} is not the directory of a server: it has no {FILE}")
    return EventLog(folder)
