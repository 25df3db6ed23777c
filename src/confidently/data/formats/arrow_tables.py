"""Parquet, Feather (Arrow's IPC format, files and streams) and tables in memory, read with pyarrow in parts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import types

from ... import _core
from ...wording import counted
from ..batch import Batch, DataError
from ..reading import DATE_PARTS, DEFAULT_LABEL, ReaderOptions
from ..request import ReadRequest
from ..sources.background import in_background
from ..sources.in_memory import InMemory
from ..sources.source import display_name, opened
from .arrow_columns import (
    LISTS,
    NUMBER_TYPES,
    Leaf,
    arrow_column,
    check_kind,
    date_column,
    is_any,
    is_date,
    is_string,
    leaves,
)  # fmt: skip
from .columns import column_uses, is_feature
from .files import Path, batches_of_files

BATCHES_AHEAD = 2  # how far decoding may run ahead of the reader
MAX_ROWS = 1 << 16  # of a batch
IPC_MAGIC, FEATHER_1_MAGIC = b"ARROW1", b"FEA1"
PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # a column of row labels that pandas adds


class Part(NamedTuple):
    """Consecutive rows of a file: its columns, or parts of structs, by name, and the stored bytes read by then."""

    n_rows: int
    columns: dict[str, pa.Array]
    bytes_read: int


class Table(NamedTuple):
    """An open file: its schema, and a function that reads columns, given names and positions in the schema."""

    schema: pa.Schema
    parts: Callable[[dict[str, int]], Iterator[Part]]


Opener = Callable[[str, IO[bytes], ReadRequest], Table]


def read_tables(paths: Sequence[Path], reading: ReaderOptions, request: ReadRequest) -> Iterator[Batch]:
    """Yield the rows of one Parquet or Feather file after the other, their labels as lists."""
    reader = _core.ArrowReader(request.options(reading), reading.ngram_options())
    if (known := request.features) is not None:
        reader.restore(known.key, known.names.text, known.names.start, request.freeze)

    def parsed(name: str, path: Path) -> Iterator[tuple[dict[str, Any], int]]:
        with _opened_table(name, path, reading, request) as table:
            yield from _parsed(name, reader, table(), reading, request)

    return batches_of_files(paths, parsed, request.keep, unit="row")


@contextmanager
def _opened_table(name: str, path: Path, reading: ReaderOptions, request: ReadRequest) -> Iterator[Callable[[], Table]]:
    """Yield a function that returns the table of a path."""
    if isinstance(path, InMemory):
        content = path.content
        assert isinstance(content, pa.Table)
        with _damage_reported(name, reading):
            yield lambda: _record_batches(content, iter(content.to_batches()), request)
        return
    with opened(path) as file, _damage_reported(name, reading):
        yield lambda: OPENERS[reading.format](name, file, request)


@contextmanager
def _damage_reported(name: str, reading: ReaderOptions) -> Iterator[None]:
    """Turn the errors that a damaged file causes into a ``DataError``."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if "decrypt" in str(error).lower():
            raise DataError(f"{name} is encrypted; write it again without encryption") from None
        raise DataError(f"{name} is damaged, or not a {reading.format} file: {_in_one_line(error)}") from None


def _in_one_line(error: Exception) -> str:
    """Return the message of pyarrow's error, which may have several lines."""
    return " ".join(str(error).split())


class _Described(NamedTuple):
    """A column as the reader knows it, and where it comes from: a leaf, or a part of the dates in one."""

    use: _core.ColumnUse
    leaf: str
    part: str = ""


def first_values(
    path: Path, reading: ReaderOptions, rows: int
) -> Iterator[tuple[str, _core.Use, np.ndarray | list[str | None]]]:
    """Yield the columns of features and of labels of a file, with the first values of those of numbers and strings.

    The use of a column that is declared as dates or numbers says so.
    """
    name, request = display_name(path), ReadRequest(ignore_labels=True)
    label = reading.label or DEFAULT_LABEL
    with _opened_table(name, path, reading, request) as opened_table:
        table = opened_table()
        used = [
            (leaf, use)
            for leaf, use in _used(name, table.schema, reading, request)
            if is_feature(use) or leaf.name == label
        ]
        places = {leaf.name: k for k, leaf in _numbered_leaves(table.schema)}
        wanted = {leaf.name: places[leaf.name] for leaf, _ in used if _shows_values(leaf.kind)}
        part = next((part for part in table.parts(wanted) if part.n_rows), None) if wanted else None
        for leaf, use in used:
            is_number = is_any(_type_of_values(leaf.kind), NUMBER_TYPES)
            declared = _core.Use.number if use.use == _core.Use.value and is_number else use.use
            array = part.columns.get(leaf.name) if part is not None else None
            yield leaf.name, declared, [] if array is None else _values_of(array.slice(0, rows))


def _shows_values(kind: pa.DataType) -> bool:
    of = kind.value_type if types.is_dictionary(kind) else kind
    return bool((is_string(of) and of != pa.string_view()) or types.is_integer(of) or types.is_floating(of))


def _values_of(array: pa.Array) -> np.ndarray | list[str | None]:
    """Return numbers, with NaN where one is missing, or strings."""
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_string(array.type):
        return array.to_pylist()
    return np.ascontiguousarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def names_in_schema(path: Path, reading: ReaderOptions) -> list[str]:
    """Return the names of the columns of a file."""
    name = display_name(path)
    with _opened_table(name, path, reading, ReadRequest(ignore_labels=True)) as table:
        names: list[str] = table().schema.names
        return [column for column in names if not PANDAS_INDEX.fullmatch(column)]


def _type_of_values(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, or of what is in its lists, of which there may be a dictionary."""
    of = kind.value_type if is_any(kind, LISTS) else kind
    return of.value_type if types.is_dictionary(of) else of


def _used(
    name: str, schema: pa.Schema, reading: ReaderOptions, request: ReadRequest
) -> list[tuple[Leaf, _core.ColumnUse]]:
    """Return the columns, or parts of structs, that a schema declares, and their uses."""
    found = [leaf for _, leaf in _numbered_leaves(schema)]
    dates = [leaf.name for leaf in found if is_date(leaf.kind)]
    return list(zip(found, column_uses(name, [leaf.name for leaf in found], reading, request, dates), strict=True))


def _numbered_leaves(schema: pa.Schema) -> Iterator[tuple[int, Leaf]]:
    """Yield the columns of a schema, or parts of structs, with the position of each column."""
    for k, field in enumerate(schema):
        if not PANDAS_INDEX.fullmatch(field.name):
            for leaf in leaves(field.name, field.type):
                yield k, leaf


def _parsed(
    name: str, reader: Any, table: Table, reading: ReaderOptions, request: ReadRequest
) -> Iterator[tuple[dict[str, Any], int]]:
    wanted, described, kept = {}, list[_Described](), list[_Described]()
    used = _used(name, table.schema, reading, request)
    for (k, leaf), (_, use) in zip(_numbered_leaves(table.schema), used, strict=True):
        check_kind(name, leaf.name, leaf.kind, use.use)
        if request.freeze and use.use == _core.Use.value:
            _check_kind_of_training(name, leaf, reading)
        if use.use != _core.Use.none or use.kept:
            wanted[leaf.name] = k
        described += _described(leaf, use)
        if use.kept:
            kept.append(_Described(_core.ColumnUse(leaf.name, _core.Use.none, use.kept), leaf.name))
    if not wanted:  # otherwise the number of rows would be taken from metadata alone
        raise DataError(f"{name} has no columns to read, apart from those that are dropped and the label")
    described += kept
    reader.describe([column.use for column in described])
    for part in in_background(table.parts(wanted), request.ahead(BATCHES_AHEAD)):
        if part.n_rows:
            yield reader.feed(part.n_rows, _converted(name, part.columns, described)), part.bytes_read


def _check_kind_of_training(name: str, leaf: Leaf, reading: ReaderOptions) -> None:
    """Raise ``DataError`` if a column of numbers has become one of strings, or the other way round."""
    if leaf.name not in (reading.header or ()) or leaf.name in reading.mixed:
        return
    of, known = _type_of_values(leaf.kind), leaf.name in reading.numbers
    if not types.is_null(of) and is_any(of, NUMBER_TYPES) != known:
        before = "numbers" if known else "no numbers"
        raise DataError(f"{name}: column {leaf.name!r} holds {leaf.kind}, and {before} in training; convert it")


def _described(leaf: Leaf, use: _core.ColumnUse) -> Iterator[_Described]:
    """Yield the columns that a leaf becomes: several if it holds dates and not their text, none if it is not used."""
    if use.use == _core.Use.date and is_date(leaf.kind):
        parts = DATE_PARTS if not types.is_time(leaf.kind) else ("hour",)
        for part, of_part in zip(DATE_PARTS, use.parts, strict=True):
            if part in parts and of_part != _core.PartUse.none:
                as_category = of_part == _core.PartUse.category
                its_use = _core.Use.category if as_category else _core.Use.value
                yield _Described(_core.ColumnUse(f"{leaf.name}.{part}", its_use, []), leaf.name, part)
    elif use.use != _core.Use.none:
        described = _core.ColumnUse(leaf.name, use.use, [], use.parts, use.date_format, use.numbers, use.unit)
        yield _Described(described, leaf.name)


def _converted(name: str, arrays: dict[str, pa.Array], described: list[_Described]) -> list[_core.ArrowColumn]:
    columns = []
    for which, (use, leaf, part) in enumerate(described):
        try:
            array = arrays[leaf]
            columns.append(date_column(which, array, part, use.use) if part else arrow_column(which, array, use.use))
        except pa.ArrowException as error:
            raise DataError(f"{name}: column {leaf!r} cannot be read: {_in_one_line(error)}") from None
    return columns


def _leaf_arrays(rows: pa.RecordBatch, wanted: Container[str]) -> dict[str, pa.Array]:
    return {
        leaf.name: leaf.of(array)
        for field, array in zip(rows.schema, rows.columns, strict=True)
        for leaf in leaves(field.name, field.type)
        if leaf.name in wanted
    }


def _parquet(name: str, file: IO[bytes], request: ReadRequest) -> Table:
    from pyarrow import parquet

    if not file.seekable():
        raise DataError(f"{name}: Parquet is read from its end, so it cannot be a pipe; use a file")
    table = parquet.ParquetFile(file, pre_buffer=False)
    n_rows, n_bytes = table.metadata.num_rows, file.seek(0, os.SEEK_END)
    groups = [table.metadata.row_group(k) for k in range(table.num_row_groups)]
    _check_counts(name, n_rows, [group.num_rows for group in groups])
    size = _rows_of(request.chunk_bytes, n_rows, sum(group.total_byte_size for group in groups))

    def parts(wanted: dict[str, int]) -> Iterator[Part]:
        done = 0
        columns = [table.schema_arrow.field(k).name for k in dict.fromkeys(wanted.values())]
        for rows in table.iter_batches(batch_size=size, columns=columns):
            done += rows.num_rows
            yield Part(rows.num_rows, _leaf_arrays(rows, wanted), n_bytes * done // n_rows)
        _check_counts(name, n_rows, [done])

    return Table(table.schema_arrow, parts)


def _check_counts(name: str, n_rows: int, found: list[int]) -> None:
    """Raise ``DataError`` unless numbers of rows are what a file says it has."""
    if sum(found) != n_rows or min(found, default=0) < 0:
        listed = " + ".join(map(str, found)) or "none"
        raise DataError(
            f"{name} is damaged: its metadata count {counted(n_rows, 'row')}, and its row groups have {listed}"
        )


def _ipc(name: str, file: IO[bytes], request: ReadRequest) -> Table:
    source = pa.PythonFile(file, mode="r")
    if not file.seekable():
        return _record_batches(pa.ipc.open_stream(source), None, request)
    magic = file.read(len(IPC_MAGIC))
    file.seek(0)
    if magic.startswith(FEATHER_1_MAGIC):
        raise DataError(f"{name} is Feather version 1, which is not supported; rewrite it in version 2")
    if magic == IPC_MAGIC:
        table = pa.ipc.open_file(source)
        batches = (table.get_batch(k) for k in range(table.num_record_batches))
        return _record_batches(table, batches, request, file)
    return _record_batches(pa.ipc.open_stream(source), None, request, file)


def _record_batches(
    table: Any, batches: Iterator[pa.RecordBatch] | None, request: ReadRequest, file: IO[bytes] | None = None
) -> Table:
    def parts(wanted: dict[str, int]) -> Iterator[Part]:
        done = 0
        for rows in table if batches is None else batches:
            rows = rows.select(list(dict.fromkeys(wanted.values())))
            rows.validate()  # pyarrow has not checked it; first what makes parts of structs safe to take
            arrays = _leaf_arrays(rows, wanted)
            for array in arrays.values():
                array.validate(full=True)
            n_bytes = sum(array.get_total_buffer_size() for array in arrays.values())
            done = done + n_bytes if file is None else file.tell()  # of a pipe, an estimate
            size = _rows_of(request.chunk_bytes, rows.num_rows, n_bytes)
            for first in range(0, rows.num_rows, size):
                yield Part(
                    min(size, rows.num_rows - first), {k: array.slice(first, size) for k, array in arrays.items()}, done
                )

    return Table(table.schema, parts)


def _rows_of(chunk_bytes: int, n_rows: int, n_bytes: int) -> int:
    """Return the number of rows that take about ``chunk_bytes``."""
    return min(max(chunk_bytes * n_rows // max(n_bytes, 1), 1), MAX_ROWS)


OPENERS: dict[str, Opener] = {"parquet": _parquet, "feather": _ipc}
