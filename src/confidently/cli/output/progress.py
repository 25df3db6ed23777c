"""Progress of a training: a live bar on a terminal, lines at doubling counts elsewhere, or JSON lines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...wording import counted
from .counts import Counts
from .text import digits, say

if TYPE_CHECKING:
    from ...tasks.task import Task

FIRST_LINE = 1000  # rows; then twice as many, and so on
MAX_PASSES_LISTED = 10  # of more passes, those with the numbers 1, 2, 4, 8 and so on, and the last
MAX_SILENT_SECONDS = 10  # without a line, even in a pass that is not listed


class Kind(NamedTuple):
    """What the progress of a kind of training shows.

    Attributes
    ----------
    title : str
        The title of a single pass.
    header : str
        The header of the lines.
    line : callable
        The line of the counts of the pass and of the counts since the last line.
    fields : callable
        The same as plain data.
    status : callable
        The counts of the pass beside a live bar, the most important first; the last ones are left out of narrow
        terminals.
    """

    title: str
    header: str
    line: Callable[[Counts, Counts], str]
    fields: Callable[[Counts, Counts], dict[str, Any]]
    status: Callable[[Counts], list[str]]


class Measure(NamedTuple):
    """How a measure is shown: its title, the attribute of counts that has it, the width of its column, and numbers."""

    title: str
    of: str
    width: int
    text: Callable[[float], str]
    exact: Callable[[float], str]

    def shown(self, counts: Counts) -> str:
        """Return the measure of counts in its column."""
        found = getattr(counts, self.of)
        return f"{'-' if found is None else self.text(found):>{self.width}}"


MEASURES = {
    "error": Measure("error", "error", 9, "{:.4f}".format, "{:.4f}".format),
    "log_loss": Measure("log-loss", "mean_log_loss", 9, "{:.4f}".format, "{:.5f}".format),
    "rmse": Measure("RMSE", "rmse", 11, digits, digits),
    "mae": Measure("MAE", "mae", 11, digits, digits),
}


def kind_of(task: Task) -> Kind:
    """Return what the progress of a training for a task shows: its measures, and on a live bar the decisive one too."""
    first, second = (MEASURES[name] for name in task.measures)

    def line(now: Counts, since: Counts) -> str:
        measured = f"{first.shown(now)} {first.shown(since):>11} {second.shown(now)}"
        return f"{now.rows:13,} {measured} {now.updates:13,} {now.rows_per_second:12,.0f}"

    def fields(now: Counts, since: Counts) -> dict[str, Any]:
        measured = {}
        for name in task.measures:
            measured[name] = getattr(now, MEASURES[name].of)
            measured[f"{name}_since_last"] = getattr(since, MEASURES[name].of)
        return {
            "rows": now.rows,
            **measured,
            "updates": now.updates,
            "seconds": round(now.seconds, 6),
            "rows_per_second": round(now.rows_per_second, 1),
            "bytes_read": now.bytes_read,
        }

    def status(now: Counts) -> list[str]:
        on_bar = [m for m in dict.fromkeys([first, MEASURES[task.decisive]]) if getattr(now, m.of) is not None]
        measured = [f"{m.title} {m.shown(now).strip()}" for m in on_bar]
        return [counted(now.rows, "row"), *measured[:1], f"{now.rows_per_second:,.0f} rows/s", *measured[1:]]

    header = f"{'rows':>13} {first.title:>{first.width}} {'since last':>11} {second.title:>{second.width}}"
    return Kind("training", f"{header} {'updates':>13} {'rows/s':>12}", line, fields, status)


def _documents_line(now: Counts, since: Counts) -> str:
    return f"{now.rows:13,} {now.words:15,} {now.words_per_second:13,.0f}"


def _documents_fields(now: Counts, since: Counts) -> dict[str, Any]:
    return {
        "documents": now.rows,
        "words": now.words,
        "seconds": round(now.seconds, 6),
        "words_per_second": round(now.words_per_second, 1),
    }


def _documents_status(now: Counts) -> list[str]:
    words = [counted(now.words, "word"), f"{now.words_per_second:,.0f} words/s"] if now.words else []
    return [counted(now.rows, "document"), *words]


TOPICS = Kind(
    "training",
    f"{'documents':>13} {'words':>15} {'words/s':>13}",
    _documents_line,
    _documents_fields,
    _documents_status,
)


def is_listed(number: int, passes: int) -> bool:
    """Return whether the progress of a pass stays on the terminal: of more than ten passes few do."""
    return passes <= MAX_PASSES_LISTED or number == passes or number & (number - 1) == 0


def next_line(rows: int) -> int:
    """Return the number of rows, above ``rows``, at which a line is due."""
    due = FIRST_LINE
    while due <= rows:
        due *= 2
    return due


class Quiet:
    """Reports nothing.

    Attributes
    ----------
    learned : callable
        What JSON lines say of the learner besides the counts, as plain data.
    """

    learned: Callable[[], dict[str, Any]] = dict

    def begin(self, number: int, passes: int, now: Counts, total: int | None) -> None:
        """A pass begins or resumes: its number from 1, of how many, its counts, its size in units of ``now.done``."""

    def reading(self, read: Counts, total: int | None) -> None:
        """Data are read into memory before training."""

    def update(self, now: Counts) -> None:
        """A batch has been used for training."""

    def end(self, now: Counts) -> None:
        """The pass is complete."""

    def validated(self, number: int, result: Mapping[str, Any]) -> None:
        """A model has been validated after a pass."""

    def note(self, event: str, text: str, **numbers: Any) -> None:
        """Something happened, as text and as plain data."""

    def close(self) -> None:
        """No pass follows, or an error ended it."""


class Lines(Quiet):
    """One line each time the rows have doubled, and one at the end of a pass, on standard error."""

    every_pass = False  # whether all passes are listed, however many

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.printed = time.monotonic()

    def begin(self, number: int, passes: int, now: Counts, total: int | None) -> None:
        self.title = f"pass {number}" if passes > 1 else self.kind.title
        self.due, self.last, self.has_header, self.number = next_line(now.rows), now, False, number
        self.listed = self.every_pass or is_listed(number, passes)

    def update(self, now: Counts) -> None:
        if now.rows >= self.due:
            self._line(now)
            self.due = next_line(now.rows)

    def end(self, now: Counts) -> None:
        if now.rows > self.last.rows or not self.has_header:
            self._line(now)

    def validated(self, number: int, result: Mapping[str, Any]) -> None:
        if self.listed:
            self._print(validation_text(result))

    def note(self, event: str, text: str, **numbers: Any) -> None:
        self._print(text)

    def _line(self, now: Counts) -> None:
        if not self.listed and time.monotonic() - self.printed < MAX_SILENT_SECONDS:
            return
        self._print_line(now, now.since(self.last))
        self.has_header, self.last, self.printed = True, now, time.monotonic()

    def _print_line(self, now: Counts, since: Counts) -> None:
        if not self.has_header:
            self._print(f"{self.title}\n{self.kind.header}")
        self._print(self.kind.line(now, since))

    def _print(self, text: str) -> None:
        say(text, err=True)


class JsonLines(Lines):
    """The same as JSON objects on standard output, one per line, with a key "event"; of all passes."""

    every_pass = True

    def validated(self, number: int, result: Mapping[str, Any]) -> None:
        self._event("validation", {"pass": number, **result})

    def note(self, event: str, text: str, **numbers: Any) -> None:
        self._event(event, numbers)

    def _print_line(self, now: Counts, since: Counts) -> None:
        self._event("progress", {"pass": self.number, **self.kind.fields(now, since), **self.learned()})

    def _event(self, event: str, numbers: dict[str, Any]) -> None:
        say(json.dumps({"event": event, **numbers}))
        sys.stdout.flush()


def validation_text(result: Mapping[str, Any]) -> str:
    """Return a validation as text."""
    best = "" if result.get("best") is None else ", the best so far" if result["best"] else ", no better"
    measured = ", ".join(f"{m.title} {m.exact(result[name])}" for name, m in MEASURES.items() if name in result)
    return f"validation after pass {result['pass']}: {measured} of {counted(result['rows'], 'row')}{best}"
