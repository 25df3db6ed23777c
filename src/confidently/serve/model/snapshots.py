"""Snapshots of a model: model files, each with the event up to which it has learned, and the metrics so far."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...models.file import ModelFileError
from ..waiting import Limits
from .base import HostedModel
from .making import read_snapshot
from .metrics import Metrics
from .settings import ModelSettings

SNAPSHOT = re.compile(r"m-([0-9]+)\.cw")
KEPT = 2  # snapshots


class Content(NamedTuple):
    """What a snapshot has: the model, its metrics, the events set aside, and the event before its training."""

    model: HostedModel
    metrics: Metrics
    aside: dict[int, str]
    begun: int


class Packed(NamedTuple):
    """Event of a snapshot, and what writes it to a path, which does not change with the model."""

    seq: int
    write: Callable[[Path], None]


class Snapshots:
    """The snapshots of one model; of the learner thread.

    Parameters
    ----------
    folder : path
    name : str
        Of the model, for messages.

    Attributes
    ----------
    seq : int
        The last event in a snapshot.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name, self.seq = folder, name, 0
        self._at = time.monotonic()
        self._not_before = -math.inf  # on the monotonic clock: the next after one that failed
        self._writer: threading.Thread | None = None

    def newest(self, settings: ModelSettings, begun: int, say: Callable[[str], None]) -> Content | None:
        """Return the newest snapshot that is sound; those of an earlier training are removed."""
        for path in snapshots(self.folder):
            try:
                read = read_snapshot(path)
                saved = read.training
                if int(saved.get("begun", begun if number_of(path) >= begun else -1)) != begun:
                    path.unlink()
                    continue
                seq = int(saved["seq"])
                aside = {int(event): str(reason) for event, reason in saved.get("aside", ())}
                model = read.model(settings, seq)
                metrics = Metrics(saved["metrics"], model.measures)
            except (ModelFileError, OSError, KeyError, TypeError, ValueError) as error:
                say(f"{self.name}: {path.name} cannot be used ({error}); the one before is loaded")
                continue
            self.seq = seq
            return Content(model, metrics, aside, begun)
        return None

    def begin_if_due(self, content: Content, limits: Limits, say: Callable[[str], None]) -> None:
        """Begin to write a snapshot in a thread of its own, if one is due and none is being written.

        It has the events that were set aside and of which the log may not know yet, since it is not replayed for them.
        """
        model, waited = content.model, time.monotonic() - self._at >= limits.snapshot_seconds
        if not (self._has_news(model) and (waited or model.seq - self.seq >= limits.snapshot_events)):
            return
        if (self._writer is not None and self._writer.is_alive()) or time.monotonic() < self._not_before:
            return

        def failed(error: Exception) -> None:
            self._not_before = time.monotonic() + limits.snapshot_seconds
            say(not_written(self.name, error))

        try:
            packed = _packed(content)
        except (MemoryError, ValueError) as error:  # no room for a copy, or values that a file may not hold
            failed(error)
            return

        def write() -> None:
            try:
                self._write(packed)
            except (OSError, MemoryError) as error:
                failed(error)

        self._writer = threading.Thread(target=write, name="snapshot")
        self._writer.start()

    def save(self, content: Content) -> None:
        """Write a snapshot now, unless the last one has everything that is settled.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        self.finish()
        if self._has_news(content.model):
            self._write(_packed(content))

    def finish(self) -> None:
        """Wait until a snapshot that is being written is complete."""
        if self._writer is not None:
            self._writer.join()

    def remove(self) -> None:
        """Remove all."""
        self.finish()
        for path in snapshots(self.folder):
            path.unlink(missing_ok=True)

    def _has_news(self, model: HostedModel) -> bool:
        return model.is_settled and model.has_begun and model.seq > self.seq

    def _write(self, packed: Packed) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        packed.write(self.folder / f"m-{packed.seq:012d}.cw")
        for old in snapshots(self.folder)[KEPT:]:
            old.unlink(missing_ok=True)
        self.seq, self._at = packed.seq, time.monotonic()


def _packed(content: Content) -> Packed:
    model = content.model
    training = {
        "seq": model.seq, "metrics": content.metrics.as_dict(), "aside": list(content.aside.items()),
        "begun": content.begun, **model.saved(),
    }  # fmt: skip
    return Packed(model.seq, model.writer(training))


def move_old(folder: Path) -> None:
    """Move files of earlier versions of confidently, whose models had no versions, to where those of the first are."""
    old = [path for path in folder.glob("*.cw") if path.is_file() and not path.is_symlink()]
    if old:
        (folder / "1").mkdir(exist_ok=True)
    for path in old:
        path.rename(folder / "1" / path.name)


def not_written(name: str, error: Exception) -> str:
    """Return the message about a snapshot that could not be written."""
    told = str(error) or type(error).__name__
    return f"{name}: the snapshot was not written ({told}); the log has everything"


def snapshots(folder: Path) -> list[Path]:
    """Return the snapshots of a folder, the newest first."""
    found = [path for path in folder.glob("m-*.cw") if SNAPSHOT.fullmatch(path.name)]
    return sorted(found, key=number_of, reverse=True)


def number_of(snapshot: Path) -> int:
    """Return the event up to which a snapshot goes."""
    return int(snapshot.name[2:-3])
