"""The character between the cells of CSV, by the header and the first rows."""

from __future__ import annotations

import csv
from contextlib import closing
from dataclasses import replace

from ..reading import DEFAULT_LABEL, ReaderOptions
from ..sources.source import peek_chunks
from .files import Path

MARKS = ",;\t|"  # in the order of preference
ROWS_TO_READ = 50
MAX_BYTES = 1 << 16
MIN_FRACTION = 0.9  # of the rows must have as many cells as the header


def with_delimiter(path: Path, reading: ReaderOptions) -> ReaderOptions:
    """Return the options with the mark between the cells of CSV, unless they name it."""
    if reading.format != "csv" or reading.delimiter is not None:
        return reading
    return replace(reading, delimiter=delimiter_of(path, reading))


def delimiter_of(path: Path, reading: ReaderOptions) -> str:
    """Return the mark between cells.

    It is one that gives the header several cells, one of them the label if possible, and most rows as many. Of several
    it is the comma, or otherwise the one with the most cells; if there is none, it is the comma.
    """
    begun = _beginning(path, reading.encoding)
    whole = begun[: begun.rfind(b"\n") + 1] or begun
    lines = whole.decode("utf-8-sig", errors="replace").split("\n")
    label, found, with_label = reading.label or DEFAULT_LABEL, dict[str, int](), dict[str, int]()
    for mark in MARKS:
        if rows := _rows(lines, mark, reading.columns):
            found[mark] = len(rows[0])
            if reading.columns or label in map(str.strip, rows[0]):
                with_label[mark] = len(rows[0])
        if "," in with_label:  # as in most files
            return ","
    among = with_label or found
    return "," if "," in among else max(among, key=lambda mark: among[mark], default=",")


def _beginning(path: Path, encoding: str) -> bytes:
    begun = b""
    with closing(peek_chunks(path, encoding)) as chunks:
        for data, _ in chunks:
            begun += data
            if len(begun) >= MAX_BYTES:
                break
    return begun[:MAX_BYTES]


def _rows(lines: list[str], mark: str, columns: tuple[str, ...]) -> list[list[str]]:
    """Return the first rows under a mark; none if it does not separate cells."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader((line + "\n" for line in lines), delimiter=mark, skipinitialspace=mark != "\t"):
            if any(map(str.strip, row)):
                rows.append(row)
            if len(rows) > ROWS_TO_READ:
                break
    except csv.Error:  # a cell that is too long
        return []
    n = len(columns or (rows[0] if rows else ()))
    fits = sum(len(row) == n for row in rows)
    return rows if n > 1 and fits >= MIN_FRACTION * len(rows) else []
