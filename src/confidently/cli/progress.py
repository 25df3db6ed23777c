"""How training is going, on standard error: a live bar on a terminal, plain lines at doubling counts elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..data import Batch

FIRST_LINE = 1000  # rows; then twice as many, and so on
REFRESH_SECONDS = 0.1


@dataclass(frozen=True)
class Standing:
    """Where a pass stands: counts since its beginning."""

    rows: int = 0
    mistakes: int = 0
    updates: int = 0
    bytes_read: int = 0
    seconds: float = 0.0

    @property
    def error(self) -> float:
        """Progressive error: mistakes, each made before its row was learned, a row."""
        return self.mistakes / self.rows if self.rows else 0.0

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0


def at_doublings(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The same rows, with a cut where plain progress has a line to write."""
    rows, due = 0, FIRST_LINE
    for batch in batches:
        first = 0
        while rows + len(batch) - first > due:
            yield batch.rows(first, first + due - rows)
            first, rows, due = first + due - rows, due, 2 * due
        yield batch.rows(first, len(batch)) if first else batch
        rows += len(batch) - first


class Quiet:
    """Says nothing."""

    def begin(self, title: str) -> None:
        """A pass begins."""

    def update(self, standing: Standing) -> None:
        """A batch has been learned."""

    def end(self, standing: Standing) -> None:
        """The pass is over."""

    def close(self) -> None:
        """No pass follows, or an error ended it."""


class Plain(Quiet):
    """A line each time the rows have doubled, and one at the end of a pass."""

    def begin(self, title: str) -> None:
        self.title, self.due, self.last = title, FIRST_LINE, Standing()

    def update(self, standing: Standing) -> None:
        if standing.rows >= self.due:
            self._line(standing)
            self.due *= 2

    def end(self, standing: Standing) -> None:
        if standing.rows > self.last.rows:
            self._line(standing)

    def _line(self, now: Standing) -> None:
        if not self.last.rows:
            click.echo(
                f"{self.title}\n{'rows':>13} {'error':>9} {'since last':>11} {'updates':>13} {'rows/s':>12}", err=True
            )
        since = (now.mistakes - self.last.mistakes) / (now.rows - self.last.rows)
        click.echo(
            f"{now.rows:13,} {now.error:9.4f} {since:11.4f} {now.updates:13,} {now.rows_per_second:12,.0f}", err=True
        )
        self.last = now


class Live(Quiet):
    """A bar that moves; how far, where the size of the input is known."""

    def __init__(self, total_bytes: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns: list[Any] = [TextColumn("{task.description}"), BarColumn(bar_width=24)]
        if total_bytes is not None:
            columns += [TextColumn("{task.percentage:>3.0f} %")]
        columns += [TextColumn("{task.fields[status]}")]
        if total_bytes is not None:
            columns += [TextColumn("eta"), TimeRemainingColumn(compact=True)]
        self.total = total_bytes
        self.progress = Progress(*columns, console=Console(stderr=True))
        self.task: Any = None
        self.shown = 0.0

    def begin(self, title: str) -> None:
        self.task = self.progress.add_task(title, total=self.total, status="")
        self.progress.start()

    def update(self, standing: Standing) -> None:
        if time.monotonic() - self.shown >= REFRESH_SECONDS:
            self._show(standing)
            self.shown = time.monotonic()

    def end(self, standing: Standing) -> None:
        self._show(standing)
        if self.total is None:
            self.progress.update(self.task, total=standing.bytes_read)
        self.progress.stop_task(self.task)

    def close(self) -> None:
        self.progress.stop()

    def _show(self, now: Standing) -> None:
        speed = now.bytes_read / 1e6 / now.seconds if now.seconds else 0.0
        status = f"{now.rows:,} rows  error {now.error:.4f}  {now.rows_per_second:,.0f} rows/s  {speed:.0f} MB/s"
        self.progress.update(self.task, completed=now.bytes_read, status=status)


def reporter(quiet: bool, total_bytes: int | None) -> Quiet:
    """The way to report progress that suits standard error."""
    if quiet:
        return Quiet()
    return Live(total_bytes) if sys.stderr.isatty() else Plain()
