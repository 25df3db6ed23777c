"""How a comparison is going: where the learner with the fewest mistakes stands, once it takes a while."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from ..training.position import Standing
from .progress import Plain

if TYPE_CHECKING:
    from ...data import Batch
    from ...evaluation.comparison import Contender

SILENT_SECONDS = 2.0  # who waits no longer need not be told


class Lines(Plain):
    """A line each time the rows have doubled."""

    best = ""

    def _line(self, now: Standing) -> None:
        if not self.headed:
            self._say(f"comparing\n{'rows':>13} {'error':>9} {'rows/s':>12}  best so far")
            self.headed = True
        self._say(f"{now.rows:13,} {now.error:9.4f} {now.rows_per_second:12,.0f}  {self.best}")
        self.last = now


class ComparisonProgress:
    """Reports a comparison to standard error; a context that ends the report.

    Parameters
    ----------
    total_bytes : int, optional
        Bytes to read.
    """

    def __init__(self, total_bytes: int | None) -> None:
        self.report, self.total_bytes = _report(), total_bytes
        self.began, self.now = time.monotonic(), Standing()
        self.reporting = False

    def __enter__(self) -> ComparisonProgress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.reporting and error[0] is None:
            self.report.end(self.now)
        self.report.close()

    def learned(self, batch: Batch, best: Contender) -> None:
        """All have learned a batch."""
        learner, seconds = best.learner, time.monotonic() - self.began
        counts = learner.n_seen, learner.mistakes, learner.updates
        self.now = Standing(best.rows, *counts, best.log_loss, batch.bytes_read, seconds)
        if not self.reporting and seconds >= SILENT_SECONDS:
            self.report.begin(1, 1, self.now, self.total_bytes)
            self.reporting = True
        if self.reporting:
            given = {name: value for name, value in best.rule.get_params().items() if value is not None}
            self.report.best = " ".join([best.rule.name, *(f"{name}={value:g}" for name, value in given.items())])
            self.report.update(self.now)


def _report() -> Any:
    if sys.stderr.isatty():
        from .live import LiveComparison

        return LiveComparison()
    return Lines()
