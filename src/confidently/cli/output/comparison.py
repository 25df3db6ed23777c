"""Progress of a comparison: the learner with the fewest mistakes so far, once training takes a while."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ...wording import counted
from .counts import Counts
from .progress import Kind
from .reporter import reporter
from .text import parameters_text

if TYPE_CHECKING:
    from ...data import Batch
    from ...evaluation.comparison import Contender

SILENT_SECONDS = 2.0  # shorter comparisons need no report


class ComparisonProgress:
    """Reports a comparison to standard error; a context that ends the report.

    Parameters
    ----------
    total_bytes : int, optional
        Bytes to read.
    """

    def __init__(self, total_bytes: int | None) -> None:
        self.total_bytes, self.best = total_bytes, ""
        header = f"{'rows':>13} {'error':>9} {'rows/s':>12}  best so far"
        self.report = reporter(Kind("comparing", header, self._line, lambda now, since: {}, self._status))
        self.began, self.now = time.monotonic(), Counts()
        self.reporting = False

    def __enter__(self) -> ComparisonProgress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.reporting and error[0] is None:
            self.report.end(self.now)
        self.report.close()

    def learned(self, batch: Batch, best: Contender) -> None:
        """All learners have trained on a batch."""
        learner, seconds = best.learner, time.monotonic() - self.began
        counts = learner.n_seen, learner.mistakes, learner.updates
        self.now = Counts(best.rows, *counts, best.log_loss, batch.bytes_read, seconds)
        if not self.reporting and seconds >= SILENT_SECONDS:
            self.report.begin(1, 1, self.now, self.total_bytes)
            self.reporting = True
        if self.reporting:
            parameters = parameters_text(best.parameters).replace(", ", " ")
            self.best = f"{best.name} {parameters}".rstrip()
            self.report.update(self.now)

    def _line(self, now: Counts, since: Counts) -> str:
        return f"{now.rows:13,} {now.error:9.4f} {now.rows_per_second:12,.0f}  {self.best}"

    def _status(self, now: Counts) -> list[str]:
        best = f"best so far {self.best} {now.error:.4f}"
        return [counted(now.rows, "row"), best, f"{now.rows_per_second:,.0f} rows/s"]
