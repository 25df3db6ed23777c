"""Columns of codes in CSV and TSV, as the first rows tell them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace

from ..demands import Demands
from ..reading import ReaderOptions
from ..sources.source import chunks_ahead, display_name
from .csv_text import new_reader, rows_behind_header
from .files import Path

ROWS = 1000


def infer_codes(paths: Sequence[Path], reading: ReaderOptions) -> ReaderOptions:
    """The reading with its columns of codes filled in, where they are left to the first rows.

    Among hexadecimal codes there are always some that read as numbers, such as 85751e34 or 12345678. So a column is of
    codes, every cell of it a category, if in the first 1,000 rows of the first file at least half of its cells are no
    numbers, and of these three are different. In any other column every cell decides for itself. Empty cells and NaN
    do not count.
    """
    if reading.file_format.delimiter is None or reading.codes is not None:
        return reading
    codes: list[str] = []
    with suppress(OSError, ValueError):  # will be met, and told of, when the rows are read
        codes = _of_first_rows(paths[0], reading)
    return replace(reading, codes=tuple(codes))


def _of_first_rows(path: Path, reading: ReaderOptions) -> list[str]:
    demands = Demands(ignore_labels=True)
    reader = new_reader(reading, demands)
    with closing(chunks_ahead(path)) as chunks:
        for data, _ in rows_behind_header(display_name(path), reader, chunks, reading, demands):
            if (codes := reader.codes(data, last=False, rows=ROWS)) is not None:
                return codes
    return reader.codes(b"", last=True, rows=ROWS) or []
