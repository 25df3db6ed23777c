"""Rows written as files.

What each format can carry:

* svmlight: labels, weights, values; features by number only. Named ones are numbered from 1 as they first appear.
* VW text: tags too, and names of features and labels that have no spaces, colons and bars.
* JSON lines: all. A row's label, weight and tag stand beside its features, so none of these may be called like them.
* CSV, TSV, Parquet, Feather: the same, a column a feature, empty where a row has not got it; the data are read twice,
  first for their features, of which there may be 10,000.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..batch import DataError
from ..reading import SUFFIXES
from ..stream import Stream
from .lines import LINES
from .rows import Rows
from .tables import Table, table_writer

WRITABLE = ("svmlight", "vw", "jsonl", "csv", "tsv", "parquet", "feather")


def write_rows(path: str, kind: str, open_again: Callable[[], Stream]) -> int:
    """Write all rows of a stream to a file.

    Parameters
    ----------
    path : str
        The file.
    kind : str
        One of :data:`WRITABLE`.
    open_again : callable
        Opens the stream; called twice for tables. Its features should be read exactly and unscaled
        (``vocabulary=True, normalize="none"``).

    Returns
    -------
    int
        How many rows were written.

    Raises
    ------
    DataError
        As the stream does; or if the format cannot hold a row.

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
        raise ValueError(f"kind must be one of {', '.join(WRITABLE)}; got {kind!r}")
    count = 0
    if kind in LINES:
        with open_again() as stream, open(path, "w", encoding="utf-8", newline="\n") as file:
            for row in _rows(stream, kind):
                file.write(LINES[kind](row))
                count += 1
        return count
    with open_again() as stream:
        table = Table(_rows(stream, kind))
    with open_again() as stream, table_writer(path, table, kind, stream.multilabel) as writer:
        for row in _rows(stream, kind):
            writer.write(table.cells(row))
            count += 1
    return count


def _rows(stream: Stream, kind: str) -> Rows:
    reading = stream.reading
    if kind == "svmlight":
        return Rows(stream, named=False, first_index=0 if reading.zero_based else 1)
    return Rows(stream, named=reading.named, first_index=0 if reading.zero_based else 1)


def format_for(path: str) -> str:
    """The format a file's suffix tells."""
    found = SUFFIXES.get(Path(path).suffix.lower())
    if found not in WRITABLE:
        raise DataError(f"{path}: the suffix tells no format that can be written; name one with --to")
    return found
