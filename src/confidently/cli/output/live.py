"""A live progress bar on a terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ...printable import printable
from .counts import Counts
from .progress import Kind, Quiet, is_listed, validation_text

REFRESH_SECONDS = 0.1
SEPARATOR = "  "  # of the counts beside the bar
BAR_WIDTH, NARROW_BAR_WIDTH = 16, 8
WIDE = 100  # columns of a terminal


class Live(Quiet):
    """One bar per pass, with its percentage if the size of the input is known, and one for reading data into memory.

    Of many passes, few bars stay on the terminal when the pass is complete.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.console = Console(stderr=True, highlight=False)
        self.progress: Progress | None = None
        self.shown, self.listed = 0.0, True

    def begin(self, number: int, passes: int, now: Counts, total: int | None) -> None:
        self.listed = is_listed(number, passes)
        self._open(f"pass {number}/{passes}" if passes > 1 else self.kind.title, total)
        self.now = now

    def reading(self, read: Counts, total: int | None) -> None:
        if self.progress is None:
            self._open("reading", total)
        self.update(read)

    def update(self, now: Counts) -> None:
        self.now = now
        if time.monotonic() - self.shown >= REFRESH_SECONDS:
            self._show(now)
            self.shown = time.monotonic()

    def end(self, now: Counts) -> None:
        assert self.progress is not None
        self.now = now
        self.progress.update(self.task, total=now.done)
        self.progress.live.transient = not self.listed
        self.close()

    def validated(self, number: int, result: Mapping[str, Any]) -> None:
        if self.listed:
            self._print(validation_text(result))

    def _print(self, text: str) -> None:
        self.console.print(printable(text, keep="\n"), soft_wrap=True, markup=False)

    def note(self, event: str, text: str, **numbers: Any) -> None:
        self._print(text)

    def close(self) -> None:
        if self.progress is not None:
            self._show(self.now)  # the last counts, also of a pass that is interrupted
            self.progress.stop()
            self.progress = None

    def _open(self, title: str, total: int | None) -> None:
        self.close()
        self.now = Counts()
        bar = BAR_WIDTH if self.console.width >= WIDE else NARROW_BAR_WIDTH
        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(bar_width=bar)]
        self.room = self.console.width - len(title) - bar - 2  # for the counts, with a space around each column
        if total is not None:
            columns += [TextColumn("{task.percentage:>3.0f} %")]
            self.room -= len("100 % ")
        columns += [TextColumn("{task.fields[status]}")]
        if total is not None:
            columns += [TextColumn("eta"), TimeRemainingColumn(compact=True)]
            self.room -= len(" eta 0:00:00")
        self.progress = Progress(*columns, console=self.console)
        self.task = self.progress.add_task(title, total=total, status="")
        self.progress.start()

    def _show(self, now: Counts) -> None:
        assert self.progress is not None
        parts = self.kind.status(now)
        while len(parts) > 1 and len(SEPARATOR.join(parts)) > self.room:
            parts.pop()
        self.progress.update(self.task, completed=now.done, status=SEPARATOR.join(parts))
