"""The choice of a progress report, and the reports of commands that do not train one model."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...wording import counted
from .counts import Counts
from .progress import JsonLines, Kind, Lines, Quiet
from .text import parameters_text

if TYPE_CHECKING:
    from ...data import Batch, Stream
    from ...evaluation.comparison import Contender

SILENT_SECONDS = 2.0  # shorter work needs no report


def reporter(kind: Kind, quiet: bool = False, as_json: bool = False) -> Quiet:
    """Return the report that the options choose, or that suits standard error."""
    if quiet:
        return Quiet()
    if as_json:
        return JsonLines(kind)
    if sys.stderr.isatty():
        from .live import Live  # rich takes long to import

        return Live(kind)
    return Lines(kind)


class DelayedReport:
    """Reports to standard error what takes longer than two seconds; a context that ends the report.

    Parameters
    ----------
    kind : Kind
        What the report shows.
    total_bytes : int, optional
        Bytes to read.
    """

    def __init__(self, kind: Kind, total_bytes: int | None) -> None:
        self.report, self.total_bytes = reporter(kind), total_bytes
        self.began, self.now, self.reporting = time.monotonic(), Counts(), False

    def __enter__(self) -> DelayedReport:
        return self

    def __exit__(self, *error: object) -> None:
        if self.reporting and error[0] is None:
            self.report.end(self.now)
        self.report.close()

    @property
    def seconds(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self.began

    def update(self, now: Counts) -> None:
        """A batch is done."""
        self.now = now
        if not self.reporting and now.seconds >= SILENT_SECONDS:
            self.report.begin(1, 1, now, self.total_bytes)
            self.reporting = True
        if self.reporting:
            self.report.update(now)


def _line(now: Counts, since: Counts) -> str:
    return f"{now.rows:13,} {now.rows_per_second:12,.0f}"


def _status(now: Counts) -> list[str]:
    return [counted(now.rows, "row"), f"{now.rows_per_second:,.0f} rows/s"]


READING = Kind("reading", f"{'rows':>13} {'rows/s':>12}", _line, lambda now, since: {}, _status)


def reported_batches(stream: Stream, quiet: bool) -> Iterator[Batch]:
    """Yield the batches of a stream; unless ``quiet``, report how much is done, once that takes a while."""
    if quiet:
        yield from stream
        return
    rows = 0
    with DelayedReport(READING, stream.total_bytes) as report:
        for batch in stream:
            yield batch
            rows += len(batch)
            report.update(Counts(rows=rows, bytes_read=batch.bytes_read, seconds=report.seconds))


class ComparisonProgress(DelayedReport):
    """Reports a comparison to standard error; a context that ends the report.

    Parameters
    ----------
    total_bytes : int, optional
        Bytes to read.
    """

    def __init__(self, total_bytes: int | None) -> None:
        self.best = ""
        header = f"{'rows':>13} {'error':>9} {'rows/s':>12}  best so far"
        super().__init__(Kind("comparing", header, self._line, lambda now, since: {}, self._status), total_bytes)

    def learned(self, batch: Batch, best: Contender) -> None:
        """All learners have trained on a batch."""
        parameters = parameters_text(best.parameters).replace(", ", " ")
        self.best = f"{best.name} {parameters}".rstrip()
        counts = best.learner.n_seen, best.learner.mistakes, best.learner.updates
        self.update(Counts(best.rows, *counts, best.log_loss, batch.bytes_read, self.seconds))

    def _line(self, now: Counts, since: Counts) -> str:
        return f"{now.rows:13,} {now.error:9.4f} {now.rows_per_second:12,.0f}  {self.best}"

    def _status(self, now: Counts) -> list[str]:
        best = f"best so far {self.best} {now.error:.4f}"
        return [counted(now.rows, "row"), best, f"{now.rows_per_second:,.0f} rows/s"]
