"""CSV and TSV; the parser is compiled (core/data/csv.hpp)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ... import _core
from ..batch import Batch, DataError
from ..demands import Demands
from ..reading import ReaderOptions
from ..sources.background import in_background
from ..sources.compression import Chunk
from ..sources.source import read_chunks
from .columns import column_uses
from .files import Path, batches_of_files

CHUNKS_AHEAD = 4  # how far reading and inflating may run ahead of parsing


def read_csv(paths: Sequence[Path], reading: ReaderOptions, demands: Demands) -> Iterator[Batch]:
    """Batches of the rows of one file after the other, their labels as lists.

    Cells of CSV may be quoted; those of TSV are what stands between the tabs.
    """
    reader = new_reader(reading, demands)
    if (known := demands.features) is not None:
        reader.restore(known.key, known.names.text, known.names.start, demands.freeze)
    return batches_of_files(
        paths, lambda name, path: _parsed(name, reader, path, reading, demands), demands.keep,
        empty="has no rows, only a header",
    )  # fmt: skip


def new_reader(reading: ReaderOptions, demands: Demands) -> _core.CsvReader:
    """The compiled reader, which has not been told of columns yet."""
    file_format = reading.file_format
    assert file_format.delimiter is not None
    return _core.CsvReader(
        demands.options(reading),
        reading.ngram_options(),
        delimiter=file_format.delimiter,
        quotes=file_format.quoted,
    )


def rows_behind_header(
    name: str, reader: _core.CsvReader, chunks: Iterable[Chunk], reading: ReaderOptions, demands: Demands
) -> Iterator[Chunk]:
    """The chunks that have rows, for a reader that is told of the columns first; it holds the first rows already."""
    described, done = bool(reading.columns), 0
    if described:
        reader.describe(column_uses(name, reading.columns, reading, demands))
    for data, done in chunks:
        if described:
            yield Chunk(data, done)
        elif (header := reader.header(data)) is not None:
            reader.describe(column_uses(name, _names(name, header), reading, demands))
            described = True
            yield Chunk(b"", done)
    if not described:
        reader.describe(column_uses(name, _names(name, reader.header(b"\n") or []), reading, demands))
        yield Chunk(b"", done)


def _parsed(
    name: str, reader: _core.CsvReader, path: Path, reading: ReaderOptions, demands: Demands
) -> Iterator[tuple[dict[str, Any], int]]:
    done, chunks = 0, in_background(read_chunks(path, demands.chunk_bytes), demands.ahead(CHUNKS_AHEAD))
    for data, done in rows_behind_header(name, reader, chunks, reading, demands):
        yield reader.feed(data), done
    yield reader.finish(), done


def _names(name: str, header: list[bytes]) -> list[str]:
    if any(b"\r" in column for column in header):
        raise DataError(f"{name} has line ends of carriage returns only; make them line feeds")
    try:
        return [column.decode() for column in header]
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: the header is not UTF-8 text ({error})") from None
