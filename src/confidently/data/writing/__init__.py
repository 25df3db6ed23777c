"""Rows written as files.

What each format can hold:

* svmlight: labels, weights and values. Features are numbered; named ones are numbered from 1 as they first appear.
* VW text: tags too, and names of features and labels that have no spaces, colons and bars.
* JSON lines: everything. Label, weight and tag are keys of the row, so no feature may have their names.
* CSV, TSV, Parquet, Feather: the same, one column per feature, empty where a row does not have it. The data are read
  twice, first for the names of their features, of which there may be 10,000.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...spreadsheets import SPREADSHEETS
from ..batch import DataError
from ..formats.table import BY_NAME, BY_SUFFIX, WRITABLE, Format
from ..stream import Stream
from . import lines, tables
from .rows import Row, Rows


def write_rows(path: str, kind: str, open_again: Callable[[], Stream], safe: bool = False) -> int:
    """Write all rows of a stream to a file.

    Parameters
    ----------
    path : str
        The file.
    kind : str
        One of ``confidently.data.formats.table.WRITABLE``.
    open_again : callable
        Opens the stream; called twice for formats with a ``table_writer``. Its features should be read exactly and
        unscaled (``vocabulary=True, normalize="none"``).
    safe : bool, default False
        CSV and TSV: write an apostrophe before names and labels that a spreadsheet would compute.

    Returns
    -------
    int
        Number of rows written.

    Raises
    ------
    DataError
        If the format cannot hold a row, or the stream raises it.

    Examples
    --------
    >>> import tempfile
    >>> from confidently.data import open_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, target = Path(folder, "a.svm"), Path(folder, "a.vw")
    ...     _ = source.write_text("1 3:0.5 7:1\\n")
    ...     rows = write_rows(str(target), "vw", lambda: open_stream(source))
    ...     rows, target.read_text()
    (1, '1 | 3:0.5 7\\n')
    """
    if kind not in WRITABLE:
        raise ValueError(f"unknown kind {kind!r}; expected one of {', '.join(WRITABLE)}")
    if safe and kind not in SPREADSHEETS:
        raise ValueError(f"safe is for {' and '.join(SPREADSHEETS)}, got the kind {kind!r}")
    target = BY_NAME[kind]
    count = 0
    if target.line_writer is not None:
        line: Callable[[Row], str] = getattr(lines, target.line_writer)
        with open_again() as stream, open(path, "w", encoding="utf-8", newline="\n") as file:
            for row in _rows(stream, target):
                file.write(line(row))
                count += 1
        return count
    opened: tables.Opener = getattr(tables, str(target.table_writer))
    with open_again() as stream:
        table = tables.Table(_rows(stream, target), safe)
    with open_again() as stream, opened(path, table, stream.multilabel) as writer:
        for row in _rows(stream, target):
            writer.write(table.cells(row))
            count += 1
    return count


def _rows(stream: Stream, target: Format) -> Rows:
    return Rows(stream, named=target.named and stream.reading.named, first_index=stream.reading.first_index)


def format_for(path: str) -> str:
    """Return the format that a file's suffix names, among those that can be written."""
    found = BY_SUFFIX.get(Path(path).suffix.lower())
    if found is None or not found.writable:
        raise DataError(f"{path}: the suffix names no format that can be written; pass one with --to")
    return found.name
