"""A bar that moves, on a terminal."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..training.position import Standing
from .progress import Quiet, validation_text

REFRESH_SECONDS = 0.1


class Live(Quiet):
    """A bar for every pass; how far it is, where the size of the input is known."""

    title = "learning"

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False)
        self.progress: Progress | None = None
        self.shown = 0.0

    def begin(self, number: int, passes: int, now: Standing, total: int | None) -> None:
        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(bar_width=16)]
        if total is not None:
            columns += [TextColumn("{task.percentage:>3.0f} %")]
        columns += [TextColumn("{task.fields[status]}")]
        if total is not None:
            columns += [TextColumn("eta"), TimeRemainingColumn(compact=True)]
        self.total, self.last, self.number, self.passes = total, now, number, passes
        self.progress = Progress(*columns, console=self.console)
        title = f"pass {number}/{passes}" if passes > 1 else self.title
        self.task = self.progress.add_task(title, total=total, status="")
        self.progress.start()

    def update(self, now: Standing) -> None:
        if time.monotonic() - self.shown >= REFRESH_SECONDS:
            self._show(now)
            self.shown = time.monotonic()

    def end(self, now: Standing) -> None:
        self._show(now)
        assert self.progress is not None
        self.progress.update(self.task, total=now.done, completed=now.done)
        self.close()

    def validated(self, number: int, result: dict[str, Any]) -> None:
        self.console.print(validation_text(result), soft_wrap=True)

    def note(self, event: str, text: str, **numbers: Any) -> None:
        self.console.print(text, soft_wrap=True)

    def close(self) -> None:
        if self.progress is not None:
            self.progress.stop()
            self.progress = None

    def _show(self, now: Standing) -> None:
        assert self.progress is not None
        self.progress.update(self.task, completed=now.done, status=self._status(now))

    def _status(self, now: Standing) -> str:
        log_loss = "" if now.mean_log_loss is None else f"  log-loss {now.mean_log_loss:.4f}"
        return f"{now.rows:,} rows  error {now.error:.4f}{log_loss}  {now.rows_per_second:,.0f} rows/s"


class LiveComparison(Live):
    """A bar for a comparison."""

    title, best = "comparing", ""

    def _status(self, now: Standing) -> str:
        return f"{now.rows:,} rows  {now.rows_per_second:,.0f} rows/s  best so far {self.best} {now.error:.4f}"
