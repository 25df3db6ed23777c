"""svmlight text: ``label index:value ... # comment``, a line a row; the parser is compiled (core/readers.hpp)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .. import _core
from ..matrix import MOST_COLUMNS
from .batch import Batch, DataError, Listed, NewLabel
from .source import display_name, in_background, read_chunks

CHUNKS_AHEAD = 4  # how far reading and inflating may run ahead of parsing


def read_svmlight(
    paths: list[str | os.PathLike[str]],
    *,
    zero_based: bool,
    ignore_labels: bool,
    largest: float,
    chunk_bytes: int,
) -> Iterator[Batch]:
    """Batches of the rows of one file after the other, their labels as lists; parameters as in :func:`open_stream`."""
    reader = _core.SvmlightReader(
        zero_based=zero_based, ignore_labels=ignore_labels, largest=largest, most_columns=MOST_COLUMNS
    )
    before = 0
    for path in paths:
        name, rows, done = display_name(path), 0, 0
        for parsed, done in _parsed(name, reader, path, chunk_bytes):
            if len(parsed["start"]) > 1:
                rows += len(parsed["start"]) - 1
                yield _batch(name, parsed, before + done)
        if rows == 0:
            raise DataError(f"{name} has no rows")
        before += done


def _parsed(
    name: str, reader: _core.SvmlightReader, path: str | os.PathLike[str], chunk_bytes: int
) -> Iterator[tuple[dict[str, Any], int]]:
    done = 0
    try:
        for data, done in in_background(read_chunks(path, chunk_bytes), CHUNKS_AHEAD):
            yield reader.feed(data), done
        yield reader.finish(), done
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{name}, {error}") from None


def _batch(name: str, parsed: dict[str, Any], bytes_read: int) -> Batch:
    listed = None
    if parsed["list_row"] >= 0:
        listed = Listed(parsed["list_row"], f"{name}, line {parsed['list_line']}")
    return Batch(
        values=parsed["values"],
        columns=parsed["columns"],
        start=parsed["start"],
        n_columns=parsed["n_columns"],
        labels=parsed["labels"],
        label_start=parsed["label_start"],
        new_labels=[_new_label(name, *label) for label in parsed["new_labels"]],
        listed=listed,
        place=f"{name}, line {parsed['first_line']}",
        bytes_read=bytes_read,
    )


def _new_label(name: str, text: bytes, number: bool, row: int, line: int) -> NewLabel:
    place = f"{name}, line {line}"
    try:
        return NewLabel(int(text) if number else text.decode(), row, place)
    except UnicodeDecodeError:
        raise DataError(f"{place}: the label {text!r} is not UTF-8 text") from None
