"""A progress report that begins once work takes a while."""

from __future__ import annotations

import time

from .counts import Counts
from .progress import Kind
from .reporter import reporter

SILENT_SECONDS = 2.0  # shorter work needs no report


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
