"""What the names of columns show before rows are read: which one has the labels, and which are no names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import pairwise

from ... import _core
from ...printable import printable
from ...wording import counted
from ..batch import DataError
from ..reading import DEFAULT_LABEL, ReaderOptions
from ..request import ReadRequest
from ..sources.source import display_name, is_stored, is_uri, peek_chunks
from ..warning import warn
from .columns import if_separated_otherwise
from .csv_text import new_reader, rows_below_header
from .delimiters import COMMENT, MARKS, first_rows, usual_cells
from .files import Path
from .first_names import keys_of
from .number_forms import is_number

MIN_ROWS = 5  # fewer do not show how many cells rows have
MAX_SHOWN = 40  # characters of a comment or a cell
NAMES_OF_ONE = (0, 1, *range(1800, 2200))  # a column whose name is a number may be the first, or of a year
MIN_FRACTION = 0.9  # of the cells of a column of numbers are some
OBJECT_OF_LABELS = "cats"  # as spaCy writes them
LABELS = (DEFAULT_LABEL, "target", "class", "y")  # what columns of labels are called, in any case


def with_label(path: Path, reading: ReaderOptions) -> ReaderOptions:
    """Return the options with the column of labels, unless they name it or it has the default name.

    It is the only column with one of the usual names, if it is the first or the last one.
    """
    if reading.label is not None or not reading.file_format.columns:
        return reading
    names = column_names(path, reading)
    if reading.file_format.lines and OBJECT_OF_LABELS in names and DEFAULT_LABEL not in names:
        return replace(reading, label=OBJECT_OF_LABELS)
    used = {*reading.drop, *reading.category, *reading.text, *reading.dates, *reading.units, reading.weight}
    found = [name for name in names if name.casefold() in LABELS and name not in used]
    if DEFAULT_LABEL in names or len(found) != 1 or found[0] not in (names[0], names[-1]):
        return reading
    warn(f"no column is called {DEFAULT_LABEL!r}: labels are read from column {found[0]!r}; use --label for another")
    return replace(reading, label=found[0])


def without_nameless(path: Path, reading: ReaderOptions) -> ReaderOptions:
    """Return the options to leave out columns of CSV and TSV without a name, such as the row names of pandas and R."""
    used = {*reading.drop, *reading.only, *reading.category, *reading.text, *reading.dates, *reading.units}
    if reading.file_format.delimiter is None or "" in used or "" not in column_names(path, reading):
        return reading
    warn("a column without a name, as pandas and R write row names, is left out; name it in the header to read it")
    return replace(reading, drop=(*reading.drop, ""))


def column_names(path: Path, reading: ReaderOptions) -> Sequence[str]:
    """Return the names of the columns of a file, or the keys of its first rows; none if they cannot be read."""
    with suppress(OSError, ValueError):  # raised again when the rows are read
        if reading.file_format.lines:
            return keys_of(path, reading)
        if not reading.file_format.binary:
            return reading.columns or _names_in_header(path, reading)
        if is_uri(path) or is_stored(path):  # a pipe cannot be read twice
            from .arrow_tables import names_in_schema

            return names_in_schema(path, reading)
    return ()


def _names_in_header(path: Path, reading: ReaderOptions) -> Sequence[str]:
    names: Sequence[str] = ()

    def describe(columns: Sequence[str]) -> None:
        nonlocal names
        names = columns

    with closing(peek_chunks(path, reading.encoding)) as chunks:
        reader = new_reader(reading, ReadRequest(ignore_labels=True))
        next(rows_below_header(display_name(path), reader, chunks, (), describe), None)
    return names


def check_header(path: Path, reading: ReaderOptions) -> None:
    """Check that the header of CSV or TSV has as many cells as most of the first rows.

    Raises
    ------
    DataError
        If it has another number: it is a title or a comment, or lacks a name.
    """
    if reading.file_format.delimiter is None:
        return
    with suppress(OSError, ValueError, StopIteration), closing(peek_chunks(path, reading.encoding)) as chunks:
        if (line := next(chunks).data.split(b"\n")[0]).startswith(COMMENT):
            shown = printable(line.decode(errors="replace").strip()[:MAX_SHOWN])
            warn(f"the lines above the header that begin with #, such as {shown!r}, are left out as comments")
    tables = list[list[list[str]]]()
    with suppress(OSError, ValueError):  # raised again when the rows are read
        mark = reading.delimiter or reading.file_format.delimiter
        tables = [first_rows(path, reading, one) for one in (mark, *MARKS)]
    if tables and tables[0]:
        _warn_of_cells(path, reading, tables[0])
    rows = next((table for table in tables if len(table) > MIN_ROWS and usual_cells(table[1:]) > 1), [])
    if reading.columns or not rows or (n := usual_cells(rows[1:])) == (given := len(rows[0])):
        return
    remedy = "delete what is above the header"
    if n == given + 1:
        remedy += ", or name the first column, if it has row names as R writes them"
    raise DataError(
        f"{display_name(path)}: the first line has {counted(given, 'cell')}, and the rows have {counted(n, 'cell')}; "
        f"{remedy}"
    )


def _warn_of_cells(path: Path, reading: ReaderOptions, rows: Sequence[Sequence[str]]) -> None:
    """Warn of first rows that are probably not meant as they are cut into cells."""
    name, columns = display_name(path), [[row[k] for row in rows if k < len(row)] for k in range(len(rows[0]))]
    if any("\0" in cell for row in rows for cell in row):
        warn(f"{name} has null bytes, which belong to its cells; use --encoding utf-16-le or utf-16-be if it is UTF-16")
    usual = "".join(mark for mark in MARKS if 2 * sum(mark in row[0] for row in rows) > len(rows))
    is_json = rows[0][0].lstrip().startswith("{")
    if hint := "" if is_json else if_separated_otherwise(reading, [rows[0][0] + usual, *rows[0][1:]]):
        warn(f"{name} has one column{hint}")
    if single := next((cells for cells in columns if _are_in_single_quotes(cells)), None):
        shown = next(filter(_is_in_single_quotes, single))[:MAX_SHOWN]
        warn(f"{name}: single quotes, as in {shown}, belong to the cells; put cells into double quotes")
    if not reading.columns and len(columns) > 1 and usual_cells(rows[1:]) == len(columns) and _is_row(columns):
        warn(f"the first line of {name} looks like a row and not like a header; name the columns with --columns")


def _is_in_single_quotes(cell: str) -> bool:
    text = cell.strip()
    return len(text) > 1 and text[0] == text[-1] == "'"


def _are_in_single_quotes(cells: Sequence[str]) -> bool:
    """Return whether the name of a column is, or most of its cells are."""
    name, *filled = cells[0], *(cell for cell in cells[1:] if cell.strip())
    return _is_in_single_quotes(name) or 2 * sum(map(_is_in_single_quotes, filled)) >= len(filled) > 0


def _is_row(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the first cells of columns are like the others.

    Numbers above numbers are, unless they count up as names do, from 0 if all names are numbers, or one is a year or
    beside a word above numbers; so are dates above dates. Without such a word, so are words most of which come again.
    """
    numbers, alike = list[str](), 0
    is_other = False
    for name, *cells in columns:
        if _are_numbers(cells):
            numbers += [name.strip()] if is_number(name) else []
            is_other |= not is_number(name) and bool(name.strip())
        elif _core.is_date(name.strip(), "") and all(_core.is_date(cell.strip(), "") for cell in cells if cell.strip()):
            return True
        else:
            alike += bool(name.strip()) and name in cells
    count_up = all(map(str.isdigit, numbers)) and all(int(a) < int(b) for a, b in pairwise(numbers))
    are_names = count_up and numbers and (len(numbers) > 1 or is_other or int(numbers[0]) in NAMES_OF_ONE)
    if numbers and (not are_names or (len(numbers) == len(columns) and int(numbers[0]) > 0)):
        return True
    return not is_other and alike > 0 and 2 * (alike + len(numbers)) > len(columns)


def _are_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and sum(map(is_number, filled)) >= MIN_FRACTION * len(filled)
