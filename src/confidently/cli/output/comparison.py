"""Progress of a comparison: the learner with the fewest mistakes so far, once training takes a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...wording import counted
from .counts import Counts
from .delayed import DelayedReport
from .progress import Kind
from .text import parameters_text

if TYPE_CHECKING:
    from ...data import Batch
    from ...evaluation.comparison import Contender


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
