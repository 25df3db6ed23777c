"""What the columns of tables hold, inferred from the first rows of the first file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import NamedTuple

from ... import _core
from ..batch import DataError
from ..reading import ReaderOptions, date_features
from ..request import ReadRequest
from ..sources.source import display_name, is_uri, peek_chunks
from ..warning import warn
from .columns import column_uses, is_feature
from .csv_text import new_reader, rows_below_header
from .files import Path
from .first_names import check_chosen_names

ROWS_TO_INFER = 1000
MIN_CODES = 3  # different values that are not numbers
MAX_SHOWN = 3  # columns, in a message


class _Column(NamedTuple):
    """A column of features, its use, and what its first cells are."""

    name: str
    use: _core.Use
    cells: _core.CellCounts

    @property
    def others(self) -> int:
        """Number of cells that are neither numbers nor missing."""
        return self.cells.dates + self.cells.formatted + self.cells.others

    @property
    def holds_dates(self) -> bool:
        """Whether all cells are dates, or missing."""
        return self.cells.dates > 0 and self.others + self.cells.numbers == self.cells.dates

    @property
    def holds_codes(self) -> bool:
        return self.others >= self.cells.numbers and self.cells.different >= MIN_CODES

    @property
    def holds_numbers(self) -> bool:
        return self.cells.numbers > self.others

    @property
    def holds_formatted_numbers(self) -> bool:
        rest = self.cells.dates + self.cells.others
        return self.cells.formatted > 0 and self.cells.numbers + self.cells.formatted > rest


def infer_columns(paths: Sequence[Path], reading: ReaderOptions, training: bool = True) -> ReaderOptions:
    """Return the options with what the first file says about its columns, unless it was looked at before.

    Text does not say what its cells are. So each column is judged by its cells in the first 1,000 rows, of which empty
    ones and NaN do not count:

    * If all are dates, it holds dates.
    * Some hexadecimal codes look like numbers, such as 85751e34 or 12345678. So a column holds codes, and every cell of
      it is a category, if at least half of its cells are not numbers and these have at least three values.
    * If more than half are numbers, ``?``, ``NA`` and the like are missing values in it.

    In other columns the type is inferred cell by cell, and in all columns if ``codes`` is given.

    Raises
    ------
    DataError
        If a column that ``dates`` names has no date in the first rows; in formats without a header, if the first rows
        do not have a name that an option has.
    """
    if reading.header is not None or not (reading.file_format.columns or reading.file_format.namespaces):
        return reading
    if reading.file_format.lines:
        if training:  # what was dropped in training need not be there
            check_chosen_names(paths[0], reading)
        return replace(reading, header=())
    columns: list[_Column] = []
    with suppress(OSError, ValueError):  # raised again when the rows are read
        if reading.file_format.binary:
            return _of_schema(paths[0], reading)
        columns = _of_first_rows(paths[0], reading)
    for column in columns:
        _check_dates(display_name(paths[0]), column)
    header = tuple(column.name for column in columns)
    if reading.codes is not None:
        return replace(reading, header=header)
    open_columns = [column for column in columns if column.use == _core.Use.value]
    dates = [column for column in open_columns if column.holds_dates]
    codes = [column for column in open_columns if column.holds_codes and column not in dates]
    numbers = [column for column in open_columns if column.holds_numbers]
    _say(dates, numbers, [column for column in open_columns if column.holds_formatted_numbers])
    return replace(
        reading,
        header=header,
        codes=_names(codes),
        dates=reading.dates + _names(dates),
        numbers=reading.numbers + _names(numbers),
    )


def _names(columns: list[_Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _of_first_rows(path: Path, reading: ReaderOptions) -> list[_Column]:
    name, request, uses = display_name(path), ReadRequest(ignore_labels=True), list[_core.ColumnUse]()
    reader = new_reader(reading, request)

    def describe(columns: Sequence[str]) -> None:
        uses.extend(column_uses(name, columns, reading, request))
        reader.describe(uses)

    def counted() -> list[_core.CellCounts]:
        with closing(peek_chunks(path, reading.encoding)) as chunks:
            for data, _ in rows_below_header(name, reader, chunks, reading.columns, describe):
                if (counts := reader.counts(data, last=False, rows=ROWS_TO_INFER)) is not None:
                    return counts
        return reader.counts(b"", last=True, rows=ROWS_TO_INFER) or []

    found = counted()
    return [_Column(use.name, use.use, cells) for use, cells in zip(uses, found, strict=True) if is_feature(use)]


def _of_schema(path: Path, reading: ReaderOptions) -> ReaderOptions:
    """Return the options with the columns of a file that declares their types; a pipe cannot be read twice."""
    if not (is_uri(path) or os.path.isfile(path)):
        return replace(reading, header=())
    from .arrow_tables import declared_columns

    found = list(declared_columns(path, reading, ReadRequest(ignore_labels=True)))
    dates = tuple(column for column, kind in found if kind == _core.Use.date and column not in reading.dates)
    numbers = tuple(column for column, kind in found if kind == _core.Use.number)
    return replace(reading, header=tuple(column for column, _ in found), dates=reading.dates + dates, numbers=numbers)


def _check_dates(name: str, column: _Column) -> None:
    if column.use == _core.Use.date and column.cells.first and not column.cells.moments:
        first = column.cells.first.decode(errors="replace")
        raise DataError(
            f"{name}: column {column.name!r} has no dates in its first rows, got {first!r}; expected ISO 8601, such as "
            "2024-01-31 or 2024-01-31T10:30"
        )


def _say(dates: list[_Column], numbers: list[_Column], formatted: list[_Column]) -> None:
    if dates:
        (time, hour, weekday), name = date_features(dates[0].name), dates[0].name
        warn(
            f"{_listed([repr(column.name) for column in dates])}: dates and times, read as the features {time}, {hour} "
            f"and {weekday}{' and so on' * (len(dates) > 1)}; use --category {name} to read every value as a category"
        )
    if missing := [column for column in numbers if column.cells.missing]:
        shown = [f"{column.name!r} ({column.cells.first_missing.decode()})" for column in missing]
        warn(
            f"{_listed(shown)}: among numbers, ?, NA, N/A, NULL, None and NaN in any case are missing values, as empty "
            f"cells are; use --category {missing[0].name} to read every value as a category"
        )
    if formatted:
        shown = [f"{column.name!r} ({column.cells.first_formatted.decode()})" for column in formatted]
        warn(
            f"{_listed(shown)}: numbers with separators and hexadecimal ones are read as categories; write them with "
            "digits and a decimal point only"
        )


def _listed(shown: list[str]) -> str:
    more = f" and {len(shown) - MAX_SHOWN} more" if len(shown) > MAX_SHOWN else ""
    return f"column{'s' * (len(shown) > 1)} {', '.join(shown[:MAX_SHOWN])}{more}"
