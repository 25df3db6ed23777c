"""CSV and TSV; the parser is compiled (core/csv.hpp)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core
from .background import in_background
from .batch import Batch, DataError, batch_of
from .columns import column_uses
from .demands import Demands
from .reading import Reading
from .source import display_name, read_chunks

CHUNKS_AHEAD = 4  # how far reading and inflating may run ahead of parsing
DELIMITERS = {"csv": ",", "tsv": "\t"}


def read_csv(paths: Sequence[str | os.PathLike[str]], reading: Reading, demands: Demands) -> Iterator[Batch]:
    """Batches of the rows of one file after the other, their labels as lists.

    Cells of CSV may be quoted; those of TSV are what stands between the tabs.
    """
    reader = _core.CsvReader(
        demands.options(reading),
        reading.ngram_options(),
        delimiter=DELIMITERS[reading.format],
        quotes=reading.format == "csv",
    )
    if (known := demands.features) is not None:
        reader.restore(known.key, known.names.text, known.names.start, demands.freeze)
    before = 0
    for path in paths:
        name, rows, done = display_name(path), 0, 0
        try:
            for parsed, done in _parsed(name, reader, path, reading, demands):
                rows += len(parsed["start"]) - 1 + parsed["n_skipped"]
                if len(parsed["start"]) > 1 or parsed["n_skipped"]:
                    yield batch_of(name, "line", parsed, demands.keep, before + done)
        except DataError:
            raise
        except ValueError as error:
            raise DataError(f"{name}, {error}") from None
        if rows == 0:
            raise DataError(f"{name} has no rows, only a header")
        before += done


def _parsed(
    name: str, reader: Any, path: str | os.PathLike[str], reading: Reading, demands: Demands
) -> Iterator[tuple[dict[str, Any], int]]:
    described, done = bool(reading.columns), 0
    if described:
        reader.describe(column_uses(name, reading.columns, reading, demands))
    for data, done in in_background(read_chunks(path, demands.chunk_bytes), CHUNKS_AHEAD):
        if described:
            yield reader.feed(data), done
        elif (header := reader.header(data)) is not None:
            reader.describe(column_uses(name, _names(name, header), reading, demands))
            described = True
            yield reader.feed(b""), done
    if not described:
        reader.describe(column_uses(name, _names(name, reader.header(b"\n") or []), reading, demands))
    yield reader.finish(), done


def _names(name: str, header: list[bytes]) -> list[str]:
    if any(b"\r" in column for column in header):
        raise DataError(f"{name} has line ends of carriage returns only; make them line feeds")
    try:
        return [column.decode() for column in header]
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: the header is not UTF-8 text ({error})") from None
