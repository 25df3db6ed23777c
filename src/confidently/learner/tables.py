"""Tables with numeric columns, recognized by their first rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from .. import _core
from ..data.batch import Batch
from ..data.formats.files import Path
from ..data.reading import ReaderOptions
from ..data.sources.source import peeked
from ..data.stream import cached_reading, open_stream
from ..data.warning import DataWarning
from ..views.columns import MARKS

ROWS_TO_INFER = 1000
MIN_PRESENT = 0.5  # of the numbers that rows would have if every row had every numeric column


def has_numeric_columns(paths: Sequence[Path], reading: ReaderOptions) -> bool:
    """Return whether rows are those of a table with numeric columns, by the first 1,000 rows of the first file.

    Rows have named columns, some of them numbers, and at least half of these in a row: JSON objects whose keys are
    words are no table. A cache is one if it was built of a table without scaling its rows, and with its zeros.
    """
    if not reading.file_format.columns:
        return False
    if cached_reading(paths, None) is None:
        reading = replace(reading, normalize="none", zeros=True)
    elif reading.normalize != "none" or not reading.zeros:
        return False
    if reading.file_format.binary and not os.path.isfile(paths[0]):
        return True  # a pipe, of which the format cannot read a part twice
    with (
        suppress(OSError, ValueError),  # raised again when the rows are read, as warnings are
        warnings.catch_warnings(action="ignore", category=DataWarning),
        peeked(paths[0]),
        open_stream(paths[0], reading, multilabel=False, ignore_labels=True, on_error="skip", parsers=0) as stream,
    ):
        for batch in stream:
            return has_numbers(batch.rows(0, min(len(batch), ROWS_TO_INFER)))
    return False


def has_numbers(batch: Batch) -> bool:
    """Return whether rows, read as they are with their zeros, are those of a table with numeric columns."""
    if batch.new_features is None:
        return False
    names = batch.new_features.names
    marked = set(names.having(MARKS).tolist())
    counts = _core.column_counts(batch.columns, len(names)).tolist()
    entries = [n for column, n in enumerate(counts) if n and column not in marked]  # of each numeric column
    return bool(sum(entries) >= MIN_PRESENT * max(len(entries), 1) * len(batch))
