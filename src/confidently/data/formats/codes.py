"""Columns of codes in CSV and TSV, inferred from the first rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace

from ..reading import ReaderOptions
from ..request import ReadRequest
from ..sources.source import display_name, peek_chunks
from .csv_text import new_reader, rows_below_header
from .files import Path

ROWS_TO_INFER = 1000


def infer_codes(paths: Sequence[Path], reading: ReaderOptions) -> ReaderOptions:
    """Return the options with the columns of codes inferred, unless they are given.

    Some hexadecimal codes look like numbers, such as 85751e34 or 12345678. So a column holds codes, and every cell of
    it is a category, if at least half of its cells in the first 1,000 rows of the first file are not numbers and these
    have at least three values. In other columns the type is inferred cell by cell. Empty cells and NaN do not count.
    """
    if reading.file_format.delimiter is None or reading.codes is not None:
        return reading
    codes: list[str] = []
    with suppress(OSError, ValueError):  # raised again when the rows are read
        codes = _of_first_rows(paths[0], reading)
    return replace(reading, codes=tuple(codes))


def _of_first_rows(path: Path, reading: ReaderOptions) -> list[str]:
    request = ReadRequest(ignore_labels=True)
    reader = new_reader(reading, request)
    with closing(peek_chunks(path, reading.encoding)) as chunks:
        for data, _ in rows_below_header(display_name(path), reader, chunks, reading, request):
            if (codes := reader.codes(data, last=False, rows=ROWS_TO_INFER)) is not None:
                return codes
    return reader.codes(b"", last=True, rows=ROWS_TO_INFER) or []
