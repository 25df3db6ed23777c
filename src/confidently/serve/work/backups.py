"""Backups of a running server on a schedule: whole and sound ones only, of which the newest are kept."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import apsw

from ...data.sources.whole_files import sync_directory
from ..background import BackgroundThread
from ..engine.engine import Engine
from ..log.log_file import LogError
from ..offline import sound_log
from ..problems import Problem
from .models import backup

STAMP = "%Y%m%dT%H%M%S.%fZ"
UNFINISHED = ".unfinished-"  # prefix of the folder of a backup until it is whole
RETRY_SECONDS = 60.0  # after a backup that failed, or earlier if the next is due


class Backups(BackgroundThread):
    """A thread that writes a backup from time to time.

    A backup is written under another name, read back, and only then gets its own; then those that are too many are
    removed, the oldest first. So a kill, a full disk or a damaged copy leaves all earlier ones. The names have the
    directory's and the time, by which a later run knows when the next one is due.

    Parameters
    ----------
    engine : Engine
    folder : path
        Made if it is missing.
    seconds : float
        Between two backups.
    keep : int
        So many are kept.
    say : callable
        Called with a line about a backup that failed.

    Attributes
    ----------
    failed : int
        Backups that failed.

    Raises
    ------
    OSError
        If the folder cannot be made.
    """

    def __init__(self, engine: Engine, folder: Path, seconds: float, keep: int, say: Callable[[str], None]) -> None:
        super().__init__("backups")
        self.engine, self.folder, self.seconds, self.keep, self.say = engine, folder, seconds, keep, say
        self.failed = 0
        self._name = engine.folder.resolve().name
        folder.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Begin, without what an earlier run has left unfinished."""
        for path in self.folder.glob(f"{UNFINISHED}{self._name}-*"):
            shutil.rmtree(path, ignore_errors=True)
        self.engine.backups = self
        super().start()

    def stop(self) -> None:
        """End; a backup that is being written is given up."""
        super().stop()

    def whole(self) -> list[Path]:
        """Return the backups of this directory, the newest first."""
        found = [path for path in self.folder.iterdir() if _time_of(path, self._name) is not None]
        return sorted(found, key=lambda path: path.name, reverse=True)

    @property
    def last(self) -> float | None:
        """The time of the newest backup, in seconds since 1970; None if there is none."""
        with suppress(OSError):
            for path in self.whole():
                return _time_of(path, self._name)
        return None

    def _run(self) -> None:
        while not self._stopping.wait(self._seconds_until_due()):
            try:
                self._write()
            except (Problem, OSError, LogError, apsw.Error) as error:
                if self._stopping.is_set() or self.engine.stopping:
                    return
                self.failed += 1
                self.say(f"no backup was written to {self.folder} ({error}); the earlier ones are as they were")
                if self._stopping.wait(min(RETRY_SECONDS, self.seconds)):
                    return

    def _seconds_until_due(self) -> float:
        last = self.last
        return 0.0 if last is None else min(max(last + self.seconds - time.time(), 0.0), self.seconds)

    def _write(self) -> None:
        name = f"{self._name}-{datetime.now(UTC).strftime(STAMP)}"
        unfinished = self.folder / f"{UNFINISHED}{name}"
        try:
            self.engine.submit(backup(self.engine, unfinished).blocking()).answer()
            sound_log(unfinished)
            os.rename(unfinished, self.folder / name)
            sync_directory(self.folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        others = [path for path in self.whole() if path.name != name]  # some later than this if the clock was wrong
        for path in others[self.keep - 1 :]:
            doomed = self.folder / f"{UNFINISHED}{path.name}"  # what a kill leaves of it is no backup
            os.rename(path, doomed)
            shutil.rmtree(doomed)


def _time_of(path: Path, name: str) -> float | None:
    """Return when a backup of the directory of a name was begun; None if a path is none."""
    match = re.fullmatch(re.escape(name) + "-([0-9]{8}T[0-9]{6}[.][0-9]{6}Z)", path.name)
    if match is None:
        return None
    with suppress(ValueError):
        return datetime.strptime(match[1], STAMP).replace(tzinfo=UTC).timestamp()
    return None
