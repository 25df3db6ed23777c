"""What the columns of tables hold, inferred from the first rows of the first file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import NamedTuple

from ... import _core
from ...wording import typed
from ..batch import DataError
from ..reading import DEFAULT_LABEL, ReaderOptions, date_features
from ..request import ReadRequest
from ..sources.in_memory import InMemory
from ..sources.source import display_name, is_stored, is_uri, peek_chunks
from ..warning import warn
from .columns import column_uses, is_feature
from .csv_text import new_reader, rows_below_header
from .delimiters import with_delimiter
from .files import Path
from .first_names import check_chosen_names, texts_of
from .header import check_header, with_label, without_nameless
from .number_forms import COMMA_IS_POINT, NumberForm, date_formats, number_form

ROWS_TO_INFER = 1000
MIN_CODES = 3  # different values that are not numbers
MAX_SHOWN = 3  # columns, in a message


class _Column(NamedTuple):
    """A column of features, its use, and what its first cells are."""

    name: str
    use: _core.Use
    cells: _core.CellCounts
    form: NumberForm | None  # of the cells that are not numbers as they should be

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
    def formatted(self) -> float:
        """Number of cells that are numbers in another form, estimated."""
        if self.form is None:
            return self.cells.formatted
        found = self.form.n / len(self.cells.samples) * (self.cells.formatted + self.cells.others)
        if self.form.is_surely_a_number or found >= self.cells.numbers:
            return max(found, self.cells.formatted)
        return self.cells.formatted

    @property
    def holds_formatted_numbers(self) -> bool:
        return self.formatted > 0 and self.cells.numbers + 2 * self.formatted > self.others

    def date_formats(self) -> list[str]:
        """Return the formats in which the cells are dates; none if there are numbers or dates of ISO 8601."""
        others_only = self.cells.others and not self.cells.numbers and not self.cells.dates
        return date_formats([text.decode(errors="replace") for text in self.cells.samples]) if others_only else []


def infer_columns(paths: Sequence[Path], reading: ReaderOptions, training: bool = True) -> ReaderOptions:
    """Return the options with what the first file shows about its columns, unless it was examined before.

    Text does not declare types. So each column is judged by its cells in the first 1,000 rows, of which empty
    ones and NaN do not count:

    * If all are dates, it holds dates.
    * Some hexadecimal codes look like numbers, such as 85751e34 or 12345678. So a column holds codes, and every cell of
      it is a category, if at least half of its cells are not numbers and these have at least three values.
    * If more than half are numbers, ``?``, ``NA`` and the like are missing values in it.

    In other columns the type is inferred cell by cell, and in all columns if ``codes`` is given. In training, a column
    named ``target``, ``class`` or ``y`` may have the labels, and columns without a name are left out.

    Raises
    ------
    DataError
        If the header has not as many cells as the rows; if a column that ``dates`` names has no date in the first rows;
        in formats without a header, if the first rows do not have a name that an option has.
    """
    if reading.header is not None or not (reading.file_format.columns or reading.file_format.namespaces):
        return reading
    if reading.encoder is not None:
        found = infer_columns(paths, reading.of_texts(), training)
        return replace(reading, **{name: getattr(found, name) for name in ("format", "delimiter", "label", "header")})
    with suppress(OSError, ValueError):  # raised again when the rows are read
        reading = with_delimiter(paths[0], reading)
    if training:
        check_header(paths[0], reading)
        reading = without_nameless(paths[0], with_label(paths[0], reading))
    if reading.file_format.lines:
        if reading.units:
            reading = replace(reading, unit_names=_units(reading, texts_of(paths[0], reading, reading.units)))
        if training:  # what was dropped in training need not be there
            check_chosen_names(paths[0], reading)
        return replace(reading, header=(), dates=reading.dates + _dates_of_dicts(paths[0], reading))
    columns: list[_Column] = []
    label: list[_Column] = []
    with suppress(OSError, ValueError):  # raised again when the rows are read
        if reading.file_format.binary:
            return _of_schema(paths[0], reading)
        columns, label = _of_first_rows(paths[0], reading)
    for column in columns:
        _check_dates(display_name(paths[0]), column)
    header = tuple(column.name for column in columns)
    if reading.units:
        texts = {column.name: column.cells.first.decode(errors="replace") for column in columns}
        reading = replace(reading, unit_names=_units(reading, texts))
    if reading.codes is not None:
        return replace(reading, header=header)
    open_columns = [column for column in columns if column.use == _core.Use.value]
    dates = [column for column in open_columns if column.holds_dates]
    codes = [column for column in open_columns if column.holds_codes and column not in dates]
    numbers = [column for column in open_columns if column.holds_numbers]
    if reading.date_format is not None and columns and not (dates or reading.dates):
        raise DataError(
            f"{display_name(paths[0])}: no column has dates of the form {reading.date_format!r} (--date-format) in the "
            f"first {ROWS_TO_INFER:,} rows; name columns with --dates"
        )
    formatted = [column for column in open_columns if column.holds_formatted_numbers and column not in dates]
    _say(dates, numbers)
    _say_of_forms(formatted, label, reading)
    _say_of_date_formats([column for column in open_columns if column not in formatted])
    return replace(
        reading,
        header=header,
        codes=_names(codes),
        dates=reading.dates + _names(dates),
        numbers=reading.numbers + _names(numbers),
        mixed=reading.mixed + _names([column for column in numbers if column.formatted]),
    )


def _names(columns: list[_Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _units(reading: ReaderOptions, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units of the columns that have some, by the text of one cell each."""
    form = reading.number_format(units=True)
    found = (form.read(texts.get(column, "")) for column in reading.units)
    return tuple("" if number is None else number[1].decode(errors="replace") for number in found)


def _of_first_rows(path: Path, reading: ReaderOptions) -> tuple[list[_Column], list[_Column]]:
    """Return the columns of features, and that of labels if it is not left out."""
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

    def form_of(cells: _core.CellCounts) -> NumberForm | None:
        return number_form([text.decode(errors="replace") for text in cells.samples])

    columns = [_Column(use.name, use.use, cells, form_of(cells)) for use, cells in zip(uses, counted(), strict=True)]
    label = reading.label or DEFAULT_LABEL
    return [column for column, use in zip(columns, uses, strict=True) if is_feature(use)], [
        column for column in columns if column.name == label and label not in (*reading.units, *reading.category)
    ]


def _of_schema(path: Path, reading: ReaderOptions) -> ReaderOptions:
    """Return the options with the columns of a file that declares their types; a pipe cannot be read twice."""
    if not (is_uri(path) or is_stored(path)):
        return replace(reading, header=())
    from .arrow_tables import declared_columns, first_texts

    found = list(declared_columns(path, reading, ReadRequest(ignore_labels=True)))
    dates = tuple(column for column, kind in found if kind == _core.Use.date and column not in reading.dates)
    numbers = tuple(column for column, kind in found if kind == _core.Use.number)
    if reading.units:
        reading = replace(reading, unit_names=_units(reading, first_texts(path, reading)))
    return replace(reading, header=tuple(column for column, _ in found), dates=reading.dates + dates, numbers=numbers)


def _dates_of_dicts(path: Path, reading: ReaderOptions) -> tuple[str, ...]:
    """Return the keys of dicts in memory whose values are dates, unless these have another use."""
    if not isinstance(path, InMemory):
        return ()
    chosen = {*reading.dates, *reading.category, *reading.text, *reading.drop, *reading.units}
    return tuple(name for name in path.dates if name not in chosen)


def _check_dates(name: str, column: _Column) -> None:
    if column.use == _core.Use.date and column.cells.first and not column.cells.moments:
        first = column.cells.first.decode(errors="replace")
        raise DataError(
            f"{name}: column {column.name!r} has no dates in its first rows, got {first!r}; expected ISO 8601, such as "
            "2024-01-31 or 2024-01-31T10:30; use --date-format for another form"
        )


def _say(dates: list[_Column], numbers: list[_Column]) -> None:
    if dates:
        (time, hour, weekday), name = date_features(dates[0].name), dates[0].name
        warn(
            f"{_listed([repr(column.name) for column in dates])}: dates and times, read as the features {time}, {hour} "
            f"and {weekday}{' and so on' * (len(dates) > 1)}; use --category {typed(name)} to read every value as a "
            "category"
        )
    if missing := [column for column in numbers if column.cells.missing]:
        shown = [f"{column.name!r} ({column.cells.first_missing.decode()})" for column in missing]
        warn(
            f"{_listed(shown)}: among numbers, ?, NA, N/A, NULL, \\N, None and NaN in any case are missing values, as "
            f"empty cells are; use --category {typed(missing[0].name)} to read every value as a category"
        )


def _say_of_forms(formatted: list[_Column], label: list[_Column], reading: ReaderOptions) -> None:
    """Warn of columns of numbers that are read as categories, with the options that read them as numbers."""
    unknown = [column for column in formatted if column.form is None]
    if unknown:
        shown = [f"{column.name!r} ({column.cells.first_formatted.decode()})" for column in unknown]
        warn(
            f"{_listed(shown)}: numbers with separators and hexadecimal ones are read as categories; write them with "
            "digits and a decimal point only"
        )
    of_label = [column for column in label if column.holds_formatted_numbers and _is_no_set(column)]
    forms = [(column, column.form) for column in [*formatted, *of_label] if column.form is not None]
    together = Counter(marks for _, form in forms for marks in form.marks)
    found = dict[str, list[_Column]]()
    for column, form in forms:
        marks = max(form.marks, key=lambda marks: together[marks])  # the first of those that read the most columns
        found.setdefault(form.options(marks, "UNITS"), []).append(column)
    for options, columns in found.items():
        shown = [f"{column.name!r} ({column.form.example})" for column in columns if column.form is not None]
        names = typed(*(column.name for column in columns))
        either = all(column.form is not None and COMMA_IS_POINT in column.form.marks for column in columns)
        hint = ", or --decimal , if the comma is the decimal mark" if options == "--thousands ," and either else ""
        leave = next((column.name for column in columns if column not in of_label), None)
        warn(
            f"{_listed(shown)}: numbers in a form that is not recognized, read as categories; use "
            f"{options.replace('UNITS', names)} to read them as numbers{hint}"
            + ("" if leave is None else f"; use --category {typed(leave)} to leave them")
        )


def _is_no_set(column: _Column) -> bool:
    """Return whether labels with commas are numbers rather than sets of labels, which are mostly of one digit."""
    cells = [text.decode(errors="replace") for text in column.cells.samples]
    return 2 * sum(re.search(r"[0-9][.,' ][0-9]{2,}", text) is not None for text in cells) >= len(cells)


def _say_of_date_formats(columns: list[_Column]) -> None:
    """Warn of columns of dates that are read as categories, with the options that read them as dates."""
    found = dict[str, list[_Column]]()
    for column in columns:
        if formats := column.date_formats():
            found.setdefault(" or ".join(f"--date-format '{text}'" for text in formats[:2]), []).append(column)
    for options, of_form in found.items():
        shown = [f"{column.name!r} ({column.cells.first.decode(errors='replace')})" for column in of_form]
        warn(
            f"{_listed(shown)}: dates in a form that is not recognized, read as categories; use {options} to read them "
            f"as dates; use --category {typed(of_form[0].name)} to leave them"
        )


def _listed(shown: list[str]) -> str:
    more = f" and {len(shown) - MAX_SHOWN} more" if len(shown) > MAX_SHOWN else ""
    return f"column{'s' * (len(shown) > 1)} {', '.join(shown[:MAX_SHOWN])}{more}"
