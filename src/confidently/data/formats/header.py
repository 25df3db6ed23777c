"""What the names of columns show before rows are read: which one has the labels, and which are no names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from itertools import pairwise

from ...printable import printable
from ...wording import counted
from ..batch import DataError
from ..reading import DEFAULT_LABEL, ReaderOptions
from ..request import ReadRequest
from ..sources.source import display_name, is_stored, is_uri, peek_chunks
from ..warning import warn
from .csv_text import new_reader, rows_below_header
from .delimiters import COMMENT, MARKS, first_rows, usual_cells
from .files import Path
from .first_names import keys_of

MIN_ROWS = 5  # fewer do not show how many cells rows have
MAX_SHOWN = 40  # characters of a comment
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
    with suppress(OSError, ValueError), closing(peek_chunks(path, reading.encoding)) as chunks:
        if (line := next(chunks).data.split(b"\n")[0]).startswith(COMMENT):
            shown = printable(line.decode(errors="replace").strip()[:MAX_SHOWN])
            warn(f"the lines above the header that begin with #, such as {shown!r}, are left out as comments")
    if reading.columns:
        return
    rows = list[list[str]]()
    with suppress(OSError, ValueError):  # raised again when the rows are read
        mark = reading.delimiter or reading.file_format.delimiter
        tables = [first_rows(path, reading, one) for one in (mark, *MARKS)]
        rows = next((table for table in tables if len(table) > MIN_ROWS and usual_cells(table[1:]) > 1), [])
    if not rows:
        return
    if (n := usual_cells(rows[1:])) == (given := len(rows[0])):
        if _is_row(rows):
            warn(
                f"the first line of {display_name(path)} looks like a row and not like a header; name the columns with "
                "--columns"
            )
        return
    remedy = "delete what is above the header"
    if n == given + 1:
        remedy += ", or name the first column, if it has row names as R writes them"
    raise DataError(
        f"{display_name(path)}: the first line has {counted(given, 'cell')}, and the rows have {counted(n, 'cell')}; "
        f"{remedy}"
    )


def _is_row(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row looks like the others: with numbers as they have, and not names that count up."""
    header, others = rows[0], rows[1:]
    columns = [
        k
        for k, cell in enumerate(header)
        if _is_number(cell) and _are_numbers([row[k] for row in others if k < len(row)])
    ]
    names = [header[k].strip() for k in columns]
    count_up = all(map(str.isdigit, names)) and all(int(a) < int(b) for a, b in pairwise(names))
    return bool(names) and not count_up


def _are_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and sum(map(_is_number, filled)) >= MIN_FRACTION * len(filled)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
