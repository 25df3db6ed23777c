"""What the columns of tables hold, inferred from the first rows of the first file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ... import _core
from ...printable import printable
from ...wording import listed_columns, typed
from ..batch import DataError
from ..reading import ReaderOptions, date_features
from ..sources.in_memory import InMemory
from ..sources.source import display_name
from ..warning import warn
from .decimals import is_no_set, with_decimal
from .delimiters import with_delimiter
from .files import Path
from .first_cells import ROWS_TO_INFER, Column, FirstRows, first_rows_of, holds_lists
from .first_names import check_chosen_names
from .header import check_header, with_label, without_nameless
from .number_forms import COMMA_IS_POINT

MIN_MARKS, MIN_MARK, MIN_NUMBERS = 3, 200.0, 20  # cells with a mark of missing values, its size, and other numbers
MAX_MARK = 20  # characters of a cell that may be one
MIN_GAP, MIN_GAP_ELSEWHERE = 5.0, 0.1  # between a mark and the other numbers, in ranges of these; in other columns


def infer_columns(paths: Sequence[Path], reading: ReaderOptions, training: bool = True) -> ReaderOptions:
    """Return the options with what the first file shows about its columns, unless it was examined before.

    Each column is judged by its cells in the first 1,000 rows, of which empty ones and NaN do not count. In all
    formats:

    * If all are dates of one form, or times of day, it holds dates.
    * If most are texts of three words and more that differ from each other, it holds text.
    * A number that lies far outside the others of its column, such as -999, again and again, is a missing value.
    * Labels with commas are one class each, unless they combine few labels in many ways.

    Text does not declare types. There:

    * Some hexadecimal codes look like numbers, such as 85751e34 or 12345678. So a column holds codes, and every cell of
      it is a category, if at least half of its cells are not numbers and these have at least three values. It holds
      codes as well if integers have leading zeros, or most numbers an exponent as in 48E0160.
    * If more than half are numbers, ``?``, ``NA`` and the like are missing values in it.

    In other columns the type is inferred cell by cell, and in all columns if ``codes`` is given. In training, a column
    named ``target``, ``class`` or ``y`` may have the labels, and columns without a name are left out.

    Raises
    ------
    DataError
        If the header has not as many cells as the rows; if a column that ``dates`` names has no date in the first rows;
        in formats without a header, if the first rows do not have a name that an option has.
    """
    file_format, path = reading.file_format, paths[0]
    if reading.header is not None or not (file_format.columns or file_format.namespaces or file_format.text):
        return reading
    if reading.encoder is not None:
        found = infer_columns(paths, reading.of_texts(), training)
        names = ("format", "delimiter", "label", "header", "missing", "whole_labels")
        return replace(reading, **{name: getattr(found, name) for name in names})
    with suppress(OSError, ValueError):  # raised again when the rows are read
        reading = with_delimiter(path, reading)
    if training and file_format.columns:
        check_header(path, reading)
        reading = without_nameless(path, with_label(path, reading))
    rows = FirstRows([], [], [])
    with suppress(OSError, ValueError):  # raised again when the rows are read
        rows = first_rows_of(path, reading)
        reading, rows = with_decimal(path, reading, rows)
    for column in rows.columns:
        _check_dates(display_name(path), column)
    if reading.units:
        texts = {column.name: column.cells.first.decode(errors="replace") for column in rows.columns}
        reading = replace(reading, unit_names=_units(reading, texts))
    if file_format.lines and training:  # what was dropped in training need not be there
        check_chosen_names(path, reading)
    header = () if file_format.lines else tuple(column.name for column in rows.columns)
    in_text = file_format.text or not file_format.lines  # in JSON, several labels are a list
    reading = replace(reading, header=header, whole_labels=in_text and not holds_lists(rows.texts))
    if reading.codes is not None and not file_format.binary:  # inferred before
        return replace(reading, missing=reading.missing or ())
    return _with_kinds(path, reading, rows)


def _with_kinds(path: Path, reading: ReaderOptions, rows: FirstRows) -> ReaderOptions:
    """Return the options with the kinds of columns, and the marks of missing values."""
    columns = [column for column in rows.columns if column.is_open]
    dates = [column for column in columns if column.holds_dates]
    others = [column for column in columns if column not in dates]
    of_form = {column.name: column.date_formats() for column in others}
    form = "" if reading.date_format is not None else _form_of_all([c for c in others if of_form[c.name]], of_form)
    if form:
        dates += [column for column in others if of_form[column.name]]
        others = [column for column in others if not of_form[column.name]]
    is_text = reading.file_format.delimiter is not None
    if is_text and reading.date_format is not None and rows.columns and not (dates or reading.dates):
        raise DataError(
            f"{display_name(path)}: no column has dates of the form {reading.date_format!r} (--date-format) in the "
            f"first {ROWS_TO_INFER:,} rows; name columns with --dates"
        )
    declared = [column.name for column in rows.columns if column.use == _core.Use.date]
    of_dicts = _dates_of_dicts(path, reading)
    said = [column for column in dates if column.name not in of_dicts]
    texts = [column for column in others if column.holds_text]
    others = [column for column in others if column not in texts]
    codes = [column for column in others if column.holds_codes]
    numbers = [column for column in others if column.holds_numbers]
    formatted = [column for column in others if column.holds_formatted_numbers]
    _say(said, form, numbers, codes)
    _say_of_texts(texts)
    _say_of_forms(formatted, rows.label, reading)
    _say_of_written_numbers([column for column in others if column.holds_written_numbers])
    doubtful = [column for column in others if column.may_hold_dates]
    _say_of_date_formats([column for column in others if column not in (*formatted, *doubtful)])
    _say_of_doubtful_dates(doubtful)
    if is_text:
        warn_of_mixed(
            {
                column.name: column.samples[0]
                for column in others
                if column.is_mixed and column not in (*formatted, *doubtful)
            }
        )
    named = dict.fromkeys([*reading.dates, *declared, *(column.name for column in dates), *of_dicts])
    kinds: dict[str, Any] = {"dates": tuple(named), "date_format": form or reading.date_format}
    kinds["text"] = reading.text + _names(texts)
    if is_text:
        kinds["codes"] = _names(codes)
        kinds["numbers"] = reading.numbers + _names(numbers)
        kinds["mixed"] = reading.mixed + _names([column for column in numbers if column.formatted])
    if reading.file_format.binary:
        kinds["numbers"] = _names([column for column in rows.columns if column.use == _core.Use.number])
    if reading.missing is None:
        kinds["missing"] = tuple(_marks([column for column in rows.columns if column not in codes]))
    return replace(reading, **kinds)


def _form_of_all(columns: list[Column], of_form: Mapping[str, list[str]]) -> str:
    """Return the forms of columns of dates, with a bar between them; empty if one is unclear or reads another's."""
    forms = list(dict.fromkeys(of_form[column.name][0] for column in columns))
    for column in columns:
        before = "|".join(forms[: forms.index(of_form[column.name][0])])
        if len(of_form[column.name]) > 1 or (before and any(_core.is_date(text, before) for text in column.samples)):
            return ""
    return "|".join(forms)


def _marks(columns: list[Column]) -> Iterator[str]:
    """Yield numbers that stand for missing values, and say so: far outside the others in one column, outside in all."""
    found = dict[float, list[Column]]()
    for column in columns:
        for mark in column.cells.marks:
            found.setdefault(mark, []).append(column)
    for mark, having in found.items():
        clear = [column for column in having if _gap(column, mark) > MIN_GAP and column.cells.marks[mark] >= MIN_MARKS]
        if abs(mark) < MIN_MARK or not clear:
            continue
        text = f"{mark:.15g}"
        if near := [column for column in having if _gap(column, mark) <= MIN_GAP_ELSEWHERE]:
            warn(
                f"{_shown(clear)}: {text} is far outside the other numbers, and in {_shown(near)} it is not; use "
                f"--missing {text} if it means a missing value"
            )
            continue
        warn(
            f"{_shown(having)}: {text}, far outside the other numbers, is read as a missing value; use --missing with "
            "other marks, or --missing none, to change this"
        )
        yield text


def _shown(columns: list[Column]) -> str:
    return listed_columns([repr(column.name) for column in columns])


def _gap(column: Column, mark: float) -> float:
    """Return how far a number lies outside the others of a column, in ranges of these."""
    cells = column.cells
    extent = cells.high - cells.low
    if cells.measured < MIN_NUMBERS or extent <= 0.0:
        return 0.0
    near = [x for x in cells.marks if x != mark and max(cells.low - x, x - cells.high) <= MIN_GAP * extent]
    low, high = min([cells.low, *near]), max([cells.high, *near])
    return max(low - mark, mark - high) / (high - low)


def _names(columns: list[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def _units(reading: ReaderOptions, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units of the columns that have some, by the text of one cell each."""
    form = reading.number_format(units=True)
    found = (form.read(texts.get(column, "")) for column in reading.units)
    return tuple("" if number is None else number[1].decode(errors="replace") for number in found)


def _dates_of_dicts(path: Path, reading: ReaderOptions) -> tuple[str, ...]:
    """Return the keys of dicts in memory whose values are dates, unless these have another use."""
    if not isinstance(path, InMemory):
        return ()
    chosen = {*reading.dates, *reading.category, *reading.text, *reading.drop, *reading.units}
    return tuple(name for name in path.dates if name not in chosen)


def _check_dates(name: str, column: Column) -> None:
    if column.use == _core.Use.date and column.cells.first and not column.cells.moments:
        first = column.cells.first.decode(errors="replace")
        raise DataError(
            f"{name}: column {column.name!r} has no dates in its first rows, got {first!r}; expected ISO 8601, such as "
            "2024-01-31 or 2024-01-31T10:30; use --date-format for another form"
        )


def _say(dates: list[Column], form: str, numbers: list[Column], codes: list[Column]) -> None:
    if digits := [column for column in codes if column.cells.numbers > column.others]:
        shown = [f"{column.name!r} ({column.cells.first.decode()})" for column in digits]
        warn(
            f"{listed_columns(shown)}: codes, read as categories; use --numbers {typed(digits[0].name)} to read the "
            "values as numbers"
        )
    if dates:
        (time, hour, weekday), name = date_features(dates[0].name), dates[0].name
        shown, more = [repr(column.name) for column in dates], " and so on" * (len(dates) > 1)
        warn(
            f"{listed_columns(shown)}: dates and times{form and f' ({form})'}, read as the features {time}, {hour} and "
            f"{weekday}{more}; use --category {typed(name)} to read every value as a category"
        )
    if missing := [column for column in numbers if column.cells.missing]:
        shown = [f"{column.name!r} ({column.cells.first_missing.decode()})" for column in missing]
        warn(
            f"{listed_columns(shown)}: among numbers, ?, NA, N/A, NULL, \\N, None and NaN in any case are missing "
            f"values, as empty cells are; use --category {typed(missing[0].name)} to read every value as a category"
        )


def _say_of_texts(texts: list[Column]) -> None:
    if texts:
        own = typed(texts[0].name)
        warn(
            f"{_shown(texts)}: text, read as its words; use --category {own} to read every value as a category, or "
            f"--drop {own} to leave the column out"
        )


def _say_of_forms(formatted: list[Column], label: list[Column], reading: ReaderOptions) -> None:
    """Warn of columns of numbers that are read as categories, with the options that read them as numbers."""
    unknown = [column for column in formatted if column.form is None]
    if unknown:
        shown = [f"{column.name!r} ({column.cells.first_formatted.decode()})" for column in unknown]
        warn(
            f"{listed_columns(shown)}: numbers with separators and hexadecimal ones are read as categories; write them "
            "with digits and a decimal point only"
        )
    of_label = [column for column in label if is_no_set(column)]
    forms = [(column, column.form) for column in [*formatted, *of_label] if column.form is not None]
    together = Counter(marks for _, form in forms for marks in form.marks)
    together[reading.decimal, reading.thousands] += len(forms) if reading.decimal != "." else 0  # as other columns
    found = dict[str, list[Column]]()
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
            f"{listed_columns(shown)}: numbers in a form that is not recognized, read as categories; use "
            f"{options.replace('UNITS', names)} to read them as numbers{hint}"
            + ("" if leave is None else f"; use --category {typed(leave)} to leave them")
        )


def warn_of_mixed(found: Mapping[str, str]) -> None:
    """Warn of columns of numbers or dates that have categories, such as these cells."""
    if not found:
        return
    column, cell = next(iter(found.items()))
    is_word = len(cell) <= MAX_MARK and cell.isprintable()
    missing = f", or --missing {typed(cell)} for a missing value" if is_word else ""
    shown = listed_columns([f"{name!r} ({printable(text[:MAX_MARK])})" for name, text in found.items()])
    warn(f"{shown}: categories among numbers or dates; use --category {typed(column)} for all cells{missing}")


def _say_of_doubtful_dates(columns: list[Column]) -> None:
    """Warn of columns of categories, most of which are dates, or all of which may be times of day."""
    if columns:
        first = columns[0]
        shown = [f"{column.name!r} ({column.cells.first.decode(errors='replace')})" for column in columns]
        what = "dates and other cells" if first.cells.dates else "times of day or durations"
        warn(f"{listed_columns(shown)}: {what}, read as categories; use --dates {typed(first.name)} to read dates")


def _say_of_written_numbers(columns: list[Column]) -> None:
    """Warn of columns of strings that are numbers, where numbers are known from strings."""
    if columns:
        shown = [f"{column.name!r} ({column.cells.first.decode(errors='replace')!r})" for column in columns]
        warn(
            f"{listed_columns(shown)}: strings that are numbers, read as categories; convert them to numbers, or use "
            f"--category {typed(columns[0].name)} to leave them"
        )


def _say_of_date_formats(columns: list[Column]) -> None:
    """Warn of columns of dates that are read as categories, with the options that read them as dates."""
    found = dict[str, list[Column]]()
    for column in columns:
        if formats := column.date_formats():
            found.setdefault(" or ".join(f"--date-format '{text}'" for text in formats[:2]), []).append(column)
    for options, of_form in found.items():
        shown = [f"{column.name!r} ({column.cells.first.decode(errors='replace')})" for column in of_form]
        warn(
            f"{listed_columns(shown)}: dates in a form that is not recognized, read as categories; use {options} to "
            f"read them as dates; use --category {typed(of_form[0].name)} to leave them"
        )
