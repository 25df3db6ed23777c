"""Formats with a row a line; the parsers are compiled (core/line_reader.hpp and the formats beside it)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core
from .advice import looked_through
from .background import in_background
from .batch import Batch, DataError, batch_of
from .compression import Chunk
from .demands import Demands
from .reading import DEFAULT_LABEL, Reading
from .source import display_name, read_chunks

KEEPABLE = {"svmlight": (), "vw": ("tag",), "text": ()}  # what there is to hand on beside the row itself
CHUNKS_AHEAD = 4  # how far reading and inflating may run ahead of parsing


def read_lines(paths: Sequence[str | os.PathLike[str]], reading: Reading, demands: Demands) -> Iterator[Batch]:
    """Batches of the rows of one file after the other, their labels as lists."""
    reader = reader_of(reading, demands)
    if (known := demands.features) is not None and reading.named:
        reader.restore(known.key, known.names.text, known.names.start, demands.freeze)
    before = 0
    for path in paths:
        name, rows, done = display_name(path), 0, 0
        for parsed, done in _parsed(name, reader, _chunks(name, path, reading, demands)):
            rows += len(parsed["start"]) - 1 + parsed["n_skipped"]
            if len(parsed["start"]) > 1 or parsed["n_skipped"]:
                yield batch_of(name, "line", parsed, demands.keep, before + done)
        if rows == 0:
            raise DataError(f"{name} has no rows")
        before += done


def reader_of(reading: Reading, demands: Demands) -> Any:
    """The compiled reader of a format.

    Raises
    ------
    DataError
        If something is to be kept that the format does not have.
    """
    keepable = KEEPABLE.get(reading.format, demands.keep)
    if missing := [what for what in demands.keep if what not in keepable]:
        raise DataError(f"{reading.format} has no {missing[0]!r} to keep; {' and '.join(keepable) or 'nothing'} can be")
    options = demands.options(reading)
    if reading.format == "svmlight":
        return _core.SvmlightReader(options, zero_based=reading.zero_based)
    if reading.format == "vw":
        return _core.VwReader(options)
    if reading.format == "text":
        return _core.TextReader(options, reading.ngram_options())
    if reading.format == "jsonl":
        return _core.JsonLinesReader(
            options, ngrams=reading.ngram_options(), label=reading.label or DEFAULT_LABEL, weight=reading.weight or "",
            drop=list(reading.drop), category=list(reading.category), text=list(reading.text), keep=list(demands.keep),
        )  # fmt: skip
    raise ValueError(f"no reader for {reading.format}")


def _chunks(name: str, path: str | os.PathLike[str], reading: Reading, demands: Demands) -> Iterator[Chunk]:
    chunks = read_chunks(path, demands.chunk_bytes)
    return looked_through(name, chunks, reading, demands) if reading.format == "jsonl" else chunks


def _parsed(name: str, reader: Any, chunks: Iterator[Chunk]) -> Iterator[tuple[dict[str, Any], int]]:
    done = 0
    try:
        for data, done in in_background(chunks, CHUNKS_AHEAD):
            yield reader.feed(data), done
        yield reader.finish(), done
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{name}, {error}") from None
