"""How a start restores a version of a model: its newest sound snapshot, then the events of the log after it."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...wording import counted
from ..log.event_log import EventLog
from ..model.version import Version

ROWS_PER_REPLAY = 4096


def replay(log: EventLog, version: Version, say: Callable[[str], None] = lambda line: None) -> None:
    """Load the newest sound snapshot of a version and learn the events after it.

    Nothing is written: ``version.aside`` has the events that could not be learned and are not in the log as such.

    Parameters
    ----------
    log : EventLog
    version : Version
        As it was made.
    say : callable
        Called with a line about progress or a damaged snapshot.
    """
    resume(log, version, say)
    basis = log.edits.basis(version.stored)
    began, told, rows = time.monotonic(), time.monotonic(), 0
    while events := log.taught(basis, version.cursor, ROWS_PER_REPLAY):
        version.learn_stored(events)
        rows += len(events)
        if time.monotonic() - told > 1.0:
            told = time.monotonic()
            say(f"{version.name}: {counted(rows, 'event')} replayed")
    count_aside(log, version)
    if rows:
        say(f"{version.name}: {counted(rows, 'event')} replayed in {time.monotonic() - began:.1f} s")


def resume(log: EventLog, version: Version, say: Callable[[str], None] = lambda line: None) -> None:
    """Load the newest sound snapshot of a version."""
    version.load_newest(say)
    count_aside(log, version)


def count_aside(log: EventLog, version: Version) -> None:
    """Drop the events set aside that the log has, and count all."""
    number = version.number
    version.aside = {seq: reason for seq, reason in version.aside.items() if log.why_aside(number, seq) is None}
    version.metrics.refused = log.n_aside(version.stored.model, number) + len(version.aside)
