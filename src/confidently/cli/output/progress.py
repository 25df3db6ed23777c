"""How training is going: a live bar on a terminal, plain lines at doubling counts elsewhere, or JSON lines."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from ..training.position import Standing

FIRST_LINE = 1000  # rows; then twice as many, and so on


def next_line(rows: int) -> int:
    """The number of rows, above ``rows``, at which a line is due."""
    due = FIRST_LINE
    while due <= rows:
        due *= 2
    return due


class Quiet:
    """Says nothing, except what must not be missed."""

    def begin(self, number: int, passes: int, now: Standing, total: int | None) -> None:
        """A pass begins, or goes on: its number from 1, of how many, where it stands, the whole of what is to do."""

    def reading(self, read: Standing, total: int | None) -> None:
        """Data are read that are learned later."""

    def update(self, now: Standing) -> None:
        """A batch has been learned."""

    def end(self, now: Standing) -> None:
        """The pass is over."""

    def validated(self, number: int, result: dict[str, Any]) -> None:
        """A model has been validated after a pass."""

    def note(self, event: str, text: str, **numbers: Any) -> None:
        """Something happened, in words and as plain data."""

    def close(self) -> None:
        """No pass follows, or an error ended it."""


class Plain(Quiet):
    """A line each time the rows have doubled, and one at the end of a pass."""

    heading = f"{'rows':>13} {'error':>9} {'since last':>11} {'log-loss':>9} {'updates':>13} {'rows/s':>12}"

    def begin(self, number: int, passes: int, now: Standing, total: int | None) -> None:
        self.title = f"pass {number}" if passes > 1 else "learning"
        self.due, self.last, self.headed = next_line(now.rows), now, False

    def update(self, now: Standing) -> None:
        if now.rows >= self.due:
            self._line(now)
            self.due = next_line(now.rows)

    def end(self, now: Standing) -> None:
        if now.rows > self.last.rows or not self.headed:
            self._line(now)

    def validated(self, number: int, result: dict[str, Any]) -> None:
        self._say(validation_text(result))

    def note(self, event: str, text: str, **numbers: Any) -> None:
        self._say(text)

    def _say(self, text: str) -> None:
        click.echo(text, err=True)

    def _line(self, now: Standing) -> None:
        if not self.headed:
            self._say(f"{self.title}\n{self.heading}")
            self.headed = True
        self._say(self._columns(now, now.since(self.last)))
        self.last = now

    def _columns(self, now: Standing, since: Standing) -> str:
        """The line: of the whole pass, and of what came since the last line."""
        log_loss = "-" if now.mean_log_loss is None else f"{now.mean_log_loss:.4f}"
        return (
            f"{now.rows:13,} {now.error:9.4f} {since.error:11.4f} {log_loss:>9} {now.updates:13,} "
            f"{now.rows_per_second:12,.0f}"
        )


class JsonLines(Plain):
    """The same as JSON objects on standard output, a line each, with a key "event"."""

    def begin(self, number: int, passes: int, now: Standing, total: int | None) -> None:
        super().begin(number, passes, now, total)
        self.number = number

    def validated(self, number: int, result: dict[str, Any]) -> None:
        self._event("validation", {"pass": number, **result})

    def note(self, event: str, text: str, **numbers: Any) -> None:
        self._event(event, numbers)

    def _line(self, now: Standing) -> None:
        self.headed = True
        self._event("progress", {"pass": self.number, **self._numbers(now, now.since(self.last))})
        self.last = now

    def _numbers(self, now: Standing, since: Standing) -> dict[str, Any]:
        """What the line says."""
        return {
            "rows": now.rows,
            "error": now.error,
            "error_since_last": since.error,
            "log_loss": now.mean_log_loss,
            "log_loss_since_last": since.mean_log_loss,
            "updates": now.updates,
            "seconds": round(now.seconds, 6),
            "rows_per_second": round(now.rows_per_second, 1),
            "bytes_read": now.bytes_read,
        }

    def _event(self, event: str, numbers: dict[str, Any]) -> None:
        click.echo(json.dumps({"event": event, **numbers}))
        sys.stdout.flush()


def validation_text(result: dict[str, Any]) -> str:
    """A validation as people read it."""
    best = "" if result.get("best") is None else ", the best so far" if result["best"] else ", no better"
    return (
        f"validation after pass {result['pass']}: error {result['error']:.4f}, log-loss {result['log_loss']:.5f} of "
        f"{result['rows']:,} rows{best}"
    )


def reporter(quiet: bool, as_json: bool) -> Quiet:
    """The way to report progress that was asked for, or suits standard error."""
    if quiet:
        return Quiet()
    if as_json:
        return JsonLines()
    if sys.stderr.isatty():
        from .live import Live

        return Live()
    return Plain()
