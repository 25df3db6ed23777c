"""A live progress bar on a terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ...printable import printable
from .counts import Counts
from .progress import Kind, Quiet, validation_text

REFRESH_SECONDS = 0.1


class Live(Quiet):
    """One bar per pass, with its percentage if the size of the input is known, and one for reading data into memory."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.console = Console(stderr=True, highlight=False)
        self.progress: Progress | None = None
        self.shown = 0.0

    def begin(self, number: int, passes: int, now: Counts, total: int | None) -> None:
        self._open(f"pass {number}/{passes}" if passes > 1 else self.kind.title, total)

    def reading(self, read: Counts, total: int | None) -> None:
        if self.progress is None:
            self._open("reading", total)
        self.update(read)

    def update(self, now: Counts) -> None:
        if time.monotonic() - self.shown >= REFRESH_SECONDS:
            self._show(now)
            self.shown = time.monotonic()

    def end(self, now: Counts) -> None:
        self._show(now)
        assert self.progress is not None
        self.progress.update(self.task, total=now.done, completed=now.done)
        self.close()

    def validated(self, number: int, result: Mapping[str, Any]) -> None:
        self._print(validation_text(result))

    def _print(self, text: str) -> None:
        self.console.print(printable(text, keep="\n"), soft_wrap=True, markup=False)

    def note(self, event: str, text: str, **numbers: Any) -> None:
        self._print(text)

    def close(self) -> None:
        if self.progress is not None:
            self.progress.stop()
            self.progress = None

    def _open(self, title: str, total: int | None) -> None:
        self.close()
        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(bar_width=16)]
        if total is not None:
            columns += [TextColumn("{task.percentage:>3.0f} %")]
        columns += [TextColumn("{task.fields[status]}")]
        if total is not None:
            columns += [TextColumn("eta"), TimeRemainingColumn(compact=True)]
        self.progress = Progress(*columns, console=self.console)
        self.task = self.progress.add_task(title, total=total, status="")
        self.progress.start()

    def _show(self, now: Counts) -> None:
        assert self.progress is not None
        self.progress.update(self.task, completed=now.done, status=self.kind.status(now))
