"""Every system call of a command fails in turn: each file is then the old one or the new one, with a message."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence

from tests.torture.runs import CALLS
from tests.torture.scenarios import Folder

ERRORS = {"write": errno.ENOSPC, "fsync": errno.EIO, "rename": errno.EIO, "open": errno.EACCES, "thread": errno.EAGAIN}
OF_FILES = ("write", "fsync", "rename", "open")


def chosen(n: int, limit: int) -> Sequence[int]:
    """Return up to ``limit`` of the numbers 1 to n, evenly spread."""
    return range(1, n + 1) if n <= limit else [1 + k * (n - 1) // max(limit - 1, 1) for k in range(limit)]


def failures(folder: Folder, limit: int) -> Iterator[tuple[str, int]]:
    """Let up to ``limit`` calls of each kind fail, one per run; yield each call that was tried."""
    for call in CALLS:
        for nth in chosen(folder.counts[call], limit):
            folder.restore()
            what = f"{folder.scenario.name}: {call} {nth} of {folder.counts[call]}"
            outcome = folder.runs.run(
                folder.scenario.command, folder.folder, call=call, nth=nth, error=ERRORS.get(call, errno.ENOMEM)
            )
            try:
                folder.check_failure(outcome, call in OF_FILES)
                folder.check()
                folder.complete()
            except AssertionError as error:
                raise AssertionError(f"{what}: {error}") from error
            yield call, nth
