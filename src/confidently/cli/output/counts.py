"""Counts of one pass over the data, which progress reports and checkpoints share."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ...data.sources.json_schema import Count


@dataclass(frozen=True)
class Counts:
    """Counts since the beginning of a pass.

    ``learned`` excludes rows of weight 0, held-out rows, and rows without a label before the first label. ``log_loss``
    is a sum; ``None`` if no calibration is learned. ``words`` counts the words of documents. Topic models count
    ``rows`` (documents) and ``words`` only. A regression has no mistakes, but the weight of the rows ``predicted``
    before training on them, and sums of their errors.
    """

    rows: Count = 0
    learned: Count = 0
    mistakes: Count = 0
    updates: Count = 0
    log_loss: float | None = None
    bytes_read: Count = 0
    seconds: float = 0.0
    words: Count = 0
    predicted: float | None = None
    squared_errors: float | None = None
    absolute_errors: float | None = None

    @property
    def done(self) -> int:
        """How much of the pass is done: bytes of data that are read in the pass, rows of data in memory."""
        return self.bytes_read or self.rows

    @property
    def error(self) -> float:
        """Progressive validation error: mistakes per row, each made before training on the row."""
        return self.mistakes / self.learned if self.learned else 0.0

    @property
    def mean_log_loss(self) -> float | None:
        """Mean of -log P(true label) before training on the row."""
        return self.log_loss / self.learned if self.log_loss is not None and self.learned else None

    @property
    def rmse(self) -> float | None:
        """Root mean squared error of the predictions, each made before training on the row."""
        found = self._per_prediction(self.squared_errors)
        return None if found is None else max(found, 0.0) ** 0.5

    @property
    def mae(self) -> float | None:
        """Mean absolute error of these predictions."""
        return self._per_prediction(self.absolute_errors)

    def _per_prediction(self, total: float | None) -> float | None:
        return total / self.predicted if total is not None and self.predicted else None

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def words_per_second(self) -> float:
        return self.words / self.seconds if self.seconds else 0.0

    def since(self, last: Counts) -> Counts:
        """Return the counts after ``last``."""
        differences = {
            field.name: getattr(self, field.name) - (getattr(last, field.name) or 0)
            for field in fields(self)
            if getattr(self, field.name) is not None
        }
        return Counts(**differences)
