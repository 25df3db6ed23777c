"""Tables with numeric columns, recognized by their first rows, and the view that sees rows if no other is named."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ..data.batch import Batch
from ..data.formats.files import Path
from ..data.reading import ReaderOptions
from ..data.sources.source import is_stored, peeked
from ..data.stream import Stream, cached_reading, open_stream
from ..data.warning import DataWarning
from ..views.columns import MARKS
from ..views.room import appended, joined
from ..views.view import MAX_FILLED, View

ROWS_TO_INFER = 1000
SCALED = (
    "numeric columns are not standardized, since their rows were read with unit L2 norm or without zeros; open the "
    "stream with normalize='none', zeros=True, or pass view=None to learn the rows as they are read"
)
MIN_PRESENT = 0.5  # of the numbers that rows would have if every row had every numeric column


def default_view(has_numbers: bool) -> View | None:
    """Return the view that is used if none is named: it standardizes the numeric columns of tables."""
    if not has_numbers:
        return None
    from ..views.standard import Standard  # imported here to save start-up time

    return Standard()


def view_of_files(paths: Sequence[Path], reading: ReaderOptions) -> tuple[View | None, ReaderOptions]:
    """Return the :func:`default_view` of files and the options to read them for it."""
    view = default_view(has_numeric_columns(paths, reading))
    return view, reading if view is None else unscaled(reading)


def unscaled(reading: ReaderOptions) -> ReaderOptions:
    """Return the options to read rows as they are, those of tables with their zeros."""
    return replace(reading, normalize="none", zeros=reading.file_format.columns)


def view_of_stream(stream: Stream) -> View | None:
    """Return the :func:`default_view` of a stream from which nothing has been read.

    Warns
    -----
    confidently.data.DataWarning
        If there is none because the rows of a table were scaled or lack their zeros.
    """
    reading = stream.reading
    if not reading.file_format.columns or (first := stream.first()) is None:
        return None
    found = has_numbers(first.rows(0, min(len(first), ROWS_TO_INFER)))
    if found and (reading.normalize != "none" or not reading.zeros):
        warnings.warn(SCALED, DataWarning, stacklevel=3)
        return None
    return default_view(found)


def view_of_rows(n_columns: int, is_sparse: bool) -> View | None:
    """Return the :func:`default_view` of an array, every column of which is a number, or of sparse rows: no table."""
    return default_view(not is_sparse and n_columns <= MAX_FILLED)


def has_numeric_columns(paths: Sequence[Path], reading: ReaderOptions) -> bool:
    """Return whether rows are those of a table with numeric columns, by the first 1,000 rows of the first file.

    Rows have named columns, some of them numbers, and at least half of these in a row: JSON objects whose keys are
    words are no table. A cache is one if it was built of a table without scaling its rows, and with its zeros.
    """
    if not reading.file_format.columns or reading.encoder is not None:
        return False
    if cached_reading(paths, None) is None:
        reading = unscaled(reading)
    elif reading.normalize != "none" or not reading.zeros:
        return False
    if reading.file_format.binary and not is_stored(paths[0]):
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
    found = NumbersThere()
    found.add(batch)
    return found.are_most


class NumbersThere:
    """How many numbers the rows of a stream have, read as they are with their zeros."""

    def __init__(self) -> None:
        self._numeric, self._met = np.zeros(0, bool), np.zeros(0, bool)  # by column
        self._named, self._rows, self._entries, self._columns = False, 0, 0, 0

    def add(self, batch: Batch) -> None:
        """Count more rows."""
        if batch.new_features is not None:
            self._named = True
            numeric = np.ones(len(batch.new_features.names), bool)
            numeric[batch.new_features.names.having(MARKS)] = False
            self._numeric, self._met = joined(self._numeric, numeric), appended(self._met, len(numeric))
        columns = batch.columns[batch.columns < len(self._numeric)]  # others have no names
        columns = columns[self._numeric[columns]]
        self._rows, self._entries = self._rows + len(batch), self._entries + len(columns)
        new = columns[~self._met[columns]]
        self._columns += len(set(new.tolist()))  # numpy.unique imports numpy.ma
        self._met[new] = True

    @property
    def are_most(self) -> bool:
        """Whether the rows are those of a table with numeric columns: they have at least half of them."""
        return bool(self._named and self._entries >= MIN_PRESENT * max(self._columns, 1) * self._rows)
