"""Rows that were read as they are, for learners that see them as other options read them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import row_numbers, row_starts
from ..data.batch import Batch
from ..data.reading import ReaderOptions


def as_read(batch: Batch, reading: ReaderOptions) -> Batch:
    """Return what ``reading`` makes of rows that were neither scaled nor had their zeros dropped.

    Columns of numbers that were only 0 so far have a number, so others may have larger ones than by ``reading``.

    Parameters
    ----------
    batch : Batch
        Read with ``normalize="none"`` and, if columns have names, ``zeros=True``.
    reading : ReaderOptions
    """
    values, columns, start = batch.values, batch.columns, batch.start
    if reading.file_format.columns and not reading.zeros and not values.all():
        kept = values != 0.0
        values, columns, start = values[kept], columns[kept], row_starts(kept)[start]
    if reading.normalize == "l2":
        row = row_numbers(start)
        length = np.sqrt(np.bincount(row, values.astype(np.float64) ** 2, minlength=len(batch)))  # summed in order
        length[length == 0.0] = 1.0
        values = values / length[row]
    return replace(batch, values=values, columns=columns, start=start)
