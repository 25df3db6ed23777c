"""Parquet and Feather (Arrow's IPC format, files and streams), read with pyarrow in parts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import pyarrow as pa

from ... import _core
from ..batch import Batch, DataError
from ..reading import ReaderOptions
from ..request import ReadRequest
from ..sources.background import in_background
from ..sources.source import opened
from .arrow_columns import arrow_column, check_kind, leaf_arrays, leaves
from .columns import column_uses
from .files import Path, batches_of_files

BATCHES_AHEAD = 2  # how far decoding may run ahead of the reader
MAX_ROWS = 1 << 16  # of a batch
IPC_MAGIC, FEATHER_1_MAGIC = b"ARROW1", b"FEA1"
PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # a column of row labels that pandas adds


class Part(NamedTuple):
    """Consecutive rows of a file, and the number of stored bytes read by then."""

    rows: pa.RecordBatch
    bytes_read: int


class Table(NamedTuple):
    """An open file: its schema, and a function that reads columns by name."""

    schema: pa.Schema
    parts: Callable[[list[str]], Iterator[Part]]


Opener = Callable[[str, IO[bytes], ReadRequest], Table]


def read_parquet(paths: Sequence[Path], reading: ReaderOptions, request: ReadRequest) -> Iterator[Batch]:
    """Yield the rows of one Parquet file after the other, their labels as lists."""
    return _read_tables(paths, reading, request, _parquet)


def read_feather(paths: Sequence[Path], reading: ReaderOptions, request: ReadRequest) -> Iterator[Batch]:
    """Yield the rows of one Feather file after the other, their labels as lists."""
    return _read_tables(paths, reading, request, _ipc)


def _read_tables(
    paths: Sequence[Path], reading: ReaderOptions, request: ReadRequest, table_of: Opener
) -> Iterator[Batch]:
    reader = _core.ArrowReader(request.options(reading), reading.ngram_options())
    if (known := request.features) is not None:
        reader.restore(known.key, known.names.text, known.names.start, request.freeze)

    def parsed(name: str, path: Path) -> Iterator[tuple[dict[str, Any], int]]:
        with opened(path) as file:
            try:
                yield from _parsed(name, reader, table_of(name, file, request), reading, request)
            except (pa.ArrowException, OSError) as error:
                raise DataError(f"{name} is damaged, or not a {reading.format} file: {error}") from None

    return batches_of_files(paths, parsed, request.keep, unit="row")


def _parsed(
    name: str, reader: Any, table: Table, reading: ReaderOptions, request: ReadRequest
) -> Iterator[tuple[dict[str, Any], int]]:
    columns = [(field.name, leaf) for field in table.schema for leaf in leaves(field.name, field.type)]
    columns = [(top, leaf) for top, leaf in columns if not PANDAS_INDEX.fullmatch(top)]
    uses = column_uses(name, [leaf for _, (leaf, _) in columns], reading, request)
    wanted = []
    for (top, (leaf, kind)), use in zip(columns, uses, strict=True):
        check_kind(name, leaf, kind, use.use)
        if (use.use != _core.Use.none or use.kept) and top not in wanted:
            wanted.append(top)
    described = [_core.ColumnUse(use.name, use.use, []) for use in uses if use.use != _core.Use.none]
    described += [_core.ColumnUse(use.name, _core.Use.none, use.kept) for use in uses if use.kept]
    reader.describe(described)
    for part in in_background(table.parts(wanted), request.ahead(BATCHES_AHEAD)):
        if part.rows.num_rows:
            yield reader.feed(part.rows.num_rows, _converted(name, part.rows, described)), part.bytes_read


def _converted(name: str, rows: pa.RecordBatch, described: list[_core.ColumnUse]) -> list[_core.ArrowColumn]:
    arrays: dict[str, pa.Array] = {}
    for field, array in zip(rows.schema, rows.columns, strict=True):
        names = (leaf for leaf, _ in leaves(field.name, field.type))
        arrays |= dict(zip(names, leaf_arrays(array), strict=True))
    columns = []
    for which, column in enumerate(described):
        try:
            columns.append(arrow_column(which, arrays[column.name], column.use))
        except pa.ArrowException as error:
            raise DataError(f"{name}: column {column.name!r} cannot be read: {error}") from None
    return columns


def _parquet(name: str, file: IO[bytes], request: ReadRequest) -> Table:
    from pyarrow import parquet

    if not file.seekable():
        raise DataError(f"{name}: Parquet is read from its end, so it cannot be a pipe; use a file")
    table = parquet.ParquetFile(file, pre_buffer=False)
    n_rows, n_bytes = table.metadata.num_rows, file.seek(0, os.SEEK_END)
    uncompressed = sum(table.metadata.row_group(k).total_byte_size for k in range(table.num_row_groups))
    size = _rows_of(request.chunk_bytes, n_rows, uncompressed)

    def parts(columns: list[str]) -> Iterator[Part]:
        done = 0
        for rows in table.iter_batches(batch_size=size, columns=columns):
            done += rows.num_rows
            yield Part(rows, n_bytes * done // n_rows)

    return Table(table.schema_arrow, parts)


def _ipc(name: str, file: IO[bytes], request: ReadRequest) -> Table:
    source = pa.PythonFile(file, mode="r")
    if not file.seekable():
        return _record_batches(pa.ipc.open_stream(source), None, request)
    magic = file.read(len(IPC_MAGIC))
    n_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    if magic.startswith(FEATHER_1_MAGIC):
        raise DataError(f"{name} is Feather version 1, which is not supported; rewrite it in version 2")
    if magic == IPC_MAGIC:
        table = pa.ipc.open_file(source)
        batches = (table.get_batch(k) for k in range(table.num_record_batches))
        return _record_batches(table, batches, request, n_bytes)
    return _record_batches(pa.ipc.open_stream(source), None, request, n_bytes)


def _record_batches(
    table: Any, batches: Iterator[pa.RecordBatch] | None, request: ReadRequest, n_bytes: int = 0
) -> Table:
    def parts(columns: list[str]) -> Iterator[Part]:
        done = 0
        for rows in table if batches is None else batches:
            rows.validate(full=True)  # pyarrow has not checked it
            done = min(done + rows.nbytes, n_bytes) if n_bytes else done + rows.nbytes  # an estimate
            rows = rows.select(columns)
            size = _rows_of(request.chunk_bytes, rows.num_rows, rows.nbytes)
            for first in range(0, rows.num_rows, size):
                yield Part(rows.slice(first, size), done)

    return Table(table.schema, parts)


def _rows_of(chunk_bytes: int, n_rows: int, n_bytes: int) -> int:
    """Return the number of rows that take about ``chunk_bytes``."""
    return min(max(chunk_bytes * n_rows // max(n_bytes, 1), 1), MAX_ROWS)
