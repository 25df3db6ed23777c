"""Work on the directory of a server that is not running: check it, copy it, restore and verify a copy, export rows."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import msgspec

from ..data.reading import DEFAULT_LABEL
from ..models.file import ModelFileError
from ..wording import counted
from .engine.engine import MODELS
from .engine.replay import replay
from .log.event_log import EventLog
from .log.events import Event, State, StoredModel
from .log.log_file import FILE, LogError
from .log.vectors import without_vector
from .model.hosted import Hosted, restored
from .model.making import read_snapshot
from .model.rows import labelled_line
from .model.snapshots import move_old, number_of, snapshots
from .model.version import BASE, Version, settings_of, told_of
from .work.listing import exported

ROWS = 4096
WEIGHT = "sample_weight"  # the key of weights in exported rows
NOT_ASCII = re.compile(r"[^\x00-\x7e]")  # in JSON only within strings


def check(folder: str | os.PathLike[str]) -> Iterator[tuple[bool, str]]:
    """Yield for every part of a directory whether it is sound, and what it is.

    Raises
    ------
    LogError
        If the log cannot be opened.
    """
    with closing(_open(folder)) as log:
        faults = log.faults()
        for fault in faults:
            yield False, f"{log.path}: {fault}"
        if not faults:
            yield True, f"{log.path}: {counted(log.last(), 'event')}"
        for stored in log.models():
            of_model = Path(folder) / MODELS / str(stored.number)
            yield _check_model(log, stored, of_model)
            for version in log.versions.of(stored.number):
                yield from _check_files(of_model / str(version.number), version.has_file, log.last())


def _replayed(log: EventLog, stored: StoredModel, folder: Path) -> Hosted:
    """Return a model as a start makes it, with the rows that it cannot learn; nothing is written."""
    hosted = restored(log, stored, folder)
    replay(log, hosted.live)
    return hosted


def _check_model(log: EventLog, stored: StoredModel, folder: Path) -> tuple[bool, str]:
    """Return whether a server can start with a model, as a start does it; nothing is written."""
    try:
        events = log.counts(stored.number)
        hosted = _replayed(log, stored, folder)
    except apsw.Error:
        raise
    except Exception as error:
        return False, f"model {stored.name}: it cannot be served ({told_of(error)})"
    told = ", ".join(f"{n:,} {kind}" for kind, n in sorted(events.items())) or "no events"
    aside = "".join(f"; event {seq:,} will be set aside: {reason}" for seq, reason in sorted(hosted.live.aside.items()))
    return True, f"model {stored.name}: {told}{aside}"


def _check_files(folder: Path, has_base: bool, last: int) -> Iterator[tuple[bool, str]]:
    for path in [*([folder / BASE] if has_base else []), *snapshots(folder)]:
        try:
            seq = read_snapshot(path).training.get("seq", 0)
        except (ModelFileError, OSError) as error:
            yield False, str(error)
            continue
        ahead = f"is of event {seq:,}, but the log ends at {last:,}"
        yield (True, f"{path}: sound") if seq <= last else (False, f"{path} {ahead}")


def backup(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy the directory of a server that is not running.

    Raises
    ------
    LogError
        If there is no log, or the target exists.
    """
    with closing(_open(folder)) as log:
        if Path(target).exists():
            raise LogError(f"{target} exists; choose a new folder")
        _copy(log, Path(folder), Path(target))


def _copy(log: EventLog, folder: Path, target: Path) -> None:
    """Copy what belongs to a server: the log, and of each model its model file and its snapshots."""
    (target / MODELS).mkdir(parents=True)
    for stored in log.models():
        for version in log.versions.of(stored.number):
            own = Path(MODELS) / str(stored.number) / str(version.number)
            files = [*([folder / own / BASE] if version.has_file else []), *snapshots(folder / own)]
            if files:
                (target / own).mkdir(parents=True)
            for path in files:
                inside = [folder / MODELS, *list((folder / own).parents)[:1], folder / own, path]
                if any(one.is_symlink() for one in inside) or not path.is_file():
                    raise LogError(f"{path} is not a regular file; nothing else is copied")
                shutil.copyfile(path, target / own / path.name, follow_symlinks=False)
    for _ in log.copy_to(target / FILE):
        pass


def restore(source: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Copy a backup into a new directory, from which a server can start.

    Raises
    ------
    LogError
        If the source is not a backup, has anything that a server does not write, or the directory is not empty.
    """
    if Path(folder).exists() and any(Path(folder).iterdir()):
        raise LogError(f"{folder} is not empty; restore into a new folder")
    Path(folder).parent.mkdir(parents=True, exist_ok=True)
    if Path(folder).exists():
        Path(folder).rmdir()
    sound_log(source)
    with closing(_open(source)) as log:
        _copy(log, Path(source), Path(folder))


def sound_log(source: str | os.PathLike[str]) -> None:
    """Raise a ``LogError`` unless the log of a backup is what a server has written."""
    with closing(_open(source)) as log:
        if faults := log.faults():
            raise LogError(f"{log.path}: {faults[0]}; use another backup")


def verify_backup(source: str | os.PathLike[str]) -> Iterator[tuple[bool, str]]:
    """Restore a backup into a folder for the time of this, and yield as :func:`check` whether its parts are sound.

    Every model is made of each of its snapshots and the rows after it, and of all rows alone unless some of those that
    it has learned are erased; all must be the same, byte for byte.

    Raises
    ------
    LogError
        If the backup cannot be restored.
    """
    with TemporaryDirectory(prefix="confidently-") as temporary:
        folder = Path(temporary) / "restored"
        restore(source, folder)
        for ok, told in check(folder):
            yield ok, told.replace(str(folder), str(source))
        with closing(_open(folder)) as log:
            for stored in log.models():
                for version in log.versions.of(stored.number):
                    if version.state != State.RETIRED:
                        yield _compared(log, stored, version.number, folder / MODELS / str(stored.number))


def _compared(log: EventLog, stored: StoredModel, number: int, folder: Path) -> tuple[bool, str]:
    """Return whether a version of a model is the same whatever it is made of; its snapshots are removed."""
    found, told, name = set[bytes](), list[str](), f"model {stored.name}, version {number}"
    try:
        while True:
            newest = next(iter(snapshots(folder / str(number))), None)
            hosted = restored(log, stored, folder)
            version = hosted.others.get(number, hosted.live)
            erased = log.last_of(stored.number, Event.ERASURE) > version.stored.begun
            if newest is not None or not told or not erased:
                told.append("its rows" if newest is None else f"the snapshot of event {number_of(newest):,}")
                replay(log, version)
                found.add(_digest(version, folder.parents[1]))
            if newest is None:
                break
            newest.unlink()
    except apsw.Error:
        raise
    except Exception as error:
        return False, f"{name}: made of {', of '.join(told[-1:])}, it cannot be served ({told_of(error)})"
    same = "the same model" if len(found) == 1 else "DIFFERENT models"
    return len(found) == 1, f"{name}: {same} of {', of '.join(told)}"


def _digest(version: Version, folder: Path) -> bytes:
    """Return the SHA-256 of the file of a version, or nothing before its first row."""
    if not version.model.has_begun:
        return b""
    path = folder / "compared.cw"
    version.model.save(path)
    try:
        return hashlib.sha256(path.read_bytes()).digest()
    finally:
        path.unlink()


def export(folder: str | os.PathLike[str], name: str, say: Callable[[str], None] = lambda line: None) -> Iterator[str]:
    """Yield the rows that a model has learned, in the order of learning, as the lines that ``confidently train`` reads.

    Values are written as they came, numbers with all their digits; all but ASCII is escaped. A weight other than 1 is
    under the key ``sample_weight``. Rows that the model cannot learn are left out; for those that nothing has tried to
    learn so far, the model does so first, as a start does.

    Raises
    ------
    LogError
        If there is no such model, or rows have weights and a feature of the name of that key.
    """
    with closing(_open(folder)) as log:
        stored = log.model(name)
        if stored is None:
            known = ", ".join(one.name for one in log.models()) or "none"
            raise LogError(f"{folder} has no model {name!r}; there are: {known}")
        key = _set_aside(log, stored, Path(folder) / MODELS / str(stored.number), say)
        after, weighted, named = 0, False, False
        basis = exported(log, log.versions.live(stored.number))
        while rows := log.taught(basis, after, ROWS):
            after = rows[-1].seq
            for row in rows:
                if row.features is None or row.label is None:
                    continue
                weighted, named = weighted or row.weight != 1.0, named or _has_weight(row.features)
                if weighted and named:
                    raise LogError(
                        f"up to event {row.seq} there are a weight and a feature {WEIGHT!r}, the key of weights; "
                        "rename the feature"
                    )
                line = labelled_line(key, row.label, without_vector(row.features))
                if row.weight != 1.0:
                    line = labelled_line(WEIGHT, repr(row.weight).encode(), line)
                yield NOT_ASCII.sub(_escaped, line.decode(errors="replace"))


def _set_aside(log: EventLog, stored: StoredModel, folder: Path, say: Callable[[str], None]) -> str:
    """Find the rows that a model cannot learn, and record them in the log; return the key of labels."""
    try:
        hosted = _replayed(log, stored, folder)
    except apsw.Error:
        raise
    except Exception as error:
        say(
            f"model {stored.name}: it cannot be served ({told_of(error)}); rows that it cannot learn may be among these"
        )
        return settings_of(log.versions.live(stored.number)).reading.label or DEFAULT_LABEL
    if hosted.live.aside:
        log.begin()
        hosted.live.record_aside(log)
        log.commit()
    return hosted.label_key


def _has_weight(features: bytes) -> bool:
    """Return whether a row has a feature of the name of the key of weights."""
    if WEIGHT.encode() not in features and b"\\u" not in features:
        return False
    try:
        return WEIGHT in msgspec.json.decode(features, type=dict[str, msgspec.Raw])
    except ValueError:  # text that is not UTF-8, in a log of an older version
        return True


def _escaped(text: re.Match[str]) -> str:
    units = text[0].encode("utf-16-be")
    return "".join(f"\\u{units[k] << 8 | units[k + 1]:04x}" for k in range(0, len(units), 2))


def _open(folder: str | os.PathLike[str]) -> EventLog:
    if not (Path(folder) / FILE).is_file():
        raise LogError(f"{folder} is not the directory of a server: it has no {FILE}")
    log = EventLog(folder)
    for stored in log.models():
        move_old(Path(folder) / MODELS / str(stored.number))
    return log
