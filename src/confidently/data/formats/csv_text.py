"""CSV and TSV; the parser is compiled (core/data/csv.hpp)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ... import _core
from ..batch import Batch, DataError
from ..reading import ReaderOptions
from ..request import ReadRequest
from ..sources.background import in_background
from ..sources.compression import Chunk
from ..sources.source import read_chunks
from .columns import column_uses
from .delimiters import without_comments
from .files import Path, batches_of_files

DELIMITER_HINTS = (b"sep=", b"sep=,", b"sep=;", b"sep=|")  # the first cell, which may end at the delimiter itself
CHUNKS_AHEAD = 4  # how far reading and inflating may run ahead of parsing


def read_csv(paths: Sequence[Path], reading: ReaderOptions, request: ReadRequest) -> Iterator[Batch]:
    """Yield the rows of one file after the other, their labels as lists.

    Cells of CSV may be quoted; those of TSV are the text between the tabs.
    """
    reader = new_reader(reading, request)
    if (known := request.features) is not None:
        reader.restore(known.key, known.names.text, known.names.start, request.freeze)
    return batches_of_files(
        paths, lambda name, path: _parsed(name, reader, path, reading, request), request.keep,
        empty="has no rows, only a header",
    )  # fmt: skip


def new_reader(reading: ReaderOptions, request: ReadRequest) -> _core.CsvReader:
    """Return a compiled reader, whose columns are not described yet."""
    file_format = reading.file_format
    assert file_format.delimiter is not None
    return _core.CsvReader(
        request.options(reading),
        reading.ngram_options(),
        delimiter=reading.delimiter or file_format.delimiter,
        quotes=file_format.quoted,
    )


def rows_below_header(
    name: str, reader: _core.CsvReader, chunks: Iterable[Chunk], columns: Sequence[str],
    describe: Callable[[Sequence[str]], None],
) -> Iterator[Chunk]:  # fmt: skip
    """Describe the columns to a reader, then yield the chunks of rows; the reader holds the first rows already."""
    described, done, chunks = bool(columns), 0, without_comments(chunks)
    if described:
        describe(columns)
    for data, done in chunks:
        if described:
            yield Chunk(data, done)
        elif (header := _header(reader, data)) is not None:
            describe(_names(name, header))
            described = True
            yield Chunk(b"", done)
    if not described:
        if (header := _header(reader, b"\n")) is None:
            raise DataError(f"{name} has only blank lines")
        describe(_names(name, header))
        yield Chunk(b"", done)


def _header(reader: _core.CsvReader, data: bytes) -> list[bytes] | None:
    """Return the cells of the header once its end is read; a line before it may name the delimiter for Excel."""
    header = reader.header(data)
    if header is not None and header[0] in DELIMITER_HINTS and not any(header[1:]):
        return reader.header(b"")
    return header


def _parsed(
    name: str, reader: _core.CsvReader, path: Path, reading: ReaderOptions, request: ReadRequest
) -> Iterator[tuple[dict[str, Any], int]]:
    text = read_chunks(path, request.chunk_bytes, reading.encoding)
    done, chunks = 0, in_background(text, request.ahead(CHUNKS_AHEAD))

    def describe(columns: Sequence[str]) -> None:
        reader.describe(column_uses(name, columns, reading, request))

    for data, done in rows_below_header(name, reader, chunks, reading.columns, describe):
        yield reader.feed(data), done
    yield reader.finish(), done


def _names(name: str, header: list[bytes]) -> list[str]:
    if any(b"\r" in column for column in header):
        raise DataError(f"{name} has line ends of carriage returns only; convert them to line feeds")
    try:
        return [column.decode() for column in header]
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(
            f"{name}, header: byte 0x{byte:02x} is not UTF-8 text; name the file's encoding (--encoding, "
            "often cp1252), or convert it"
        ) from None
