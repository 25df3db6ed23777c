"""Names in options that the first rows lack, in formats without a header: keys of JSON lines, namespaces of VW text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import NamedTuple

from ...similar import hint
from ...wording import first_of
from ..batch import DataError
from ..reading import DEFAULT_LABEL, MAX_LISTED, ReaderOptions, date_features
from ..request import ReadRequest
from ..sources.file_range import FileRange
from ..sources.source import display_name, forget_peeked, peek_chunks
from ..warning import warn
from .files import Path

ROWS_TO_CHECK = 1000
MIN_ROWS = 10  # of data to predict, one of which should have a column that an option of the model names
NAMESPACE = re.compile(r"\|([^\s|:]*)")


def check_chosen_names(path: Path, reading: ReaderOptions) -> None:
    """Check the names in the options for reading, before training.

    Raises
    ------
    DataError
        If the first 1,000 rows do not have one of them.
    """
    uses = dict.fromkeys(reading.drop, "drop") | dict.fromkeys(reading.only, "only") | _kinds(reading)
    if reading.weight is not None:
        uses[reading.weight] = "weight"
    _refuse_missing(path, reading, uses)


def check_requested_names(path: Path, reading: ReaderOptions, request: ReadRequest) -> None:
    """Check the names that one call adds; to predict, warn of columns with reading options of their own.

    Raises
    ------
    DataError
        If the first 1,000 rows have no column to keep, or no labels of multilabel rows.
    """
    if not reading.file_format.columns:
        return
    uses = dict.fromkeys(request.keep, "keep")
    if request.multilabel and not request.ignore_labels:  # otherwise every row without a label is an error
        uses[reading.label or DEFAULT_LABEL] = "label"
    _refuse_missing(path, reading, uses)
    if not request.freeze:
        return
    found = _Found.of(path, reading, kinds) if (kinds := _kinds(reading)) else None
    if found is not None and found.rows >= MIN_ROWS:
        for text in found.missing(kinds):
            warn(text)


def _kinds(reading: ReaderOptions) -> dict[str, str]:
    """Return the columns with reading options of their own, and these options."""
    kinds = dict.fromkeys(reading.text, "text") | dict.fromkeys(reading.category, "category")
    kinds |= dict.fromkeys(reading.dates, "dates") | dict.fromkeys(reading.units, "units")
    return kinds


def _refuse_missing(path: Path, reading: ReaderOptions, uses: dict[str, str]) -> None:
    found = _Found.of(path, reading, uses) if uses else None
    if found is not None and found.rows and (texts := found.missing(uses)):
        forget_peeked(path)
        raise DataError(texts[0])


def columns_of(path: Path, reading: ReaderOptions) -> list[str]:
    """Return the paths of what is in the first rows of JSON lines, but not in lists."""
    found = dict[str, None]()
    with suppress(OSError, ValueError):  # raised again when the rows are read
        for line in first_lines(path, reading.encoding):
            with suppress(ValueError, RecursionError):
                found |= dict.fromkeys(_outside_lists(json.loads(line)))
    return list(found)


def keys_of(path: Path, reading: ReaderOptions) -> list[str]:
    """Return the outermost keys in the first rows of JSON lines, up to the row that has the default label."""
    found = dict[str, None]()
    for line in first_lines(path, reading.encoding):
        with suppress(ValueError, RecursionError):  # the reader reports it
            row = json.loads(line)
            found |= dict.fromkeys(row if isinstance(row, dict) else ())
        if DEFAULT_LABEL in found:
            break
    return list(found)


class _Found(NamedTuple):
    """The names in the first rows of a file; fewer rows if they have all names that were looked for."""

    file: str
    noun: str
    rows: int
    names: dict[str, None]
    dates: frozenset[str]

    @classmethod
    def of(cls, path: Path, reading: ReaderOptions, wanted: Iterable[str]) -> _Found | None:
        """Return the names in the first rows; ``None`` for a part of a file, which may begin anywhere."""
        if isinstance(path, FileRange):
            return None
        columns = reading.file_format.columns
        dates = frozenset(name for column in reading.dates for name in date_features(column))
        names, rows, sought = dict[str, None](), 0, set(wanted) - dates
        with suppress(OSError, ValueError):  # raised again when the rows are read
            for line in first_lines(path, reading.encoding):
                with suppress(ValueError, RecursionError):  # the reader reports it
                    names |= dict.fromkeys(_columns(json.loads(line)) if columns else _namespaces(line))
                    rows += 1
                if sought <= names.keys():
                    break
        return cls(display_name(path), "column" if columns else "namespace", rows, names, dates)

    def missing(self, uses: dict[str, str]) -> list[str]:
        """Return a message for each name that no row has; parts of dates are not in the rows."""
        there = list(self.names)
        listed = ", ".join(there[:MAX_LISTED]) + (", ..." if len(there) > MAX_LISTED else "")
        texts = []
        for name, use in uses.items():
            if name not in self.names and name not in self.dates:
                meant = hint(name, there)
                rows = first_of(self.rows, "row")
                texts.append(f"{self.file}: no {self.noun} {name!r} (--{use}) in the {rows}{meant}; there are {listed}")
        return texts


def first_lines(path: Path, encoding: str) -> Iterator[bytes]:
    """Yield the first lines of a file that are not blank."""
    begun, n = b"", 0
    with closing(peek_chunks(path, encoding)) as chunks:
        for data, _ in chunks:
            *lines, begun = (begun + data).split(b"\n")
            for line in lines:
                if line.strip():
                    yield line
                    if (n := n + 1) == ROWS_TO_CHECK:
                        return
    if begun.strip():
        yield begun


def _columns(row: object) -> Iterator[str]:
    """Yield the paths of what is in a row."""
    return (path for path, _ in values_of(row))


def values_of(row: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield what is in a row: at ``a``, at ``a.b`` in an object or objects in a list, at ``a.0`` in other lists."""
    if isinstance(row, dict):
        for key, value in row.items():
            inner = f"{path}.{key}" if path else key
            yield inner, value
            yield from values_of(value, inner)
    elif isinstance(row, list):
        for place, element in enumerate(row):
            inner = path if isinstance(element, dict) else f"{path}.{place}"
            yield inner, element
            yield from values_of(element, inner)


def _outside_lists(row: object, path: str = "") -> Iterator[str]:
    for key, value in row.items() if isinstance(row, dict) else ():
        inner = f"{path}.{key}" if path else key
        yield inner
        yield from _outside_lists(value, inner)


def _namespaces(line: bytes) -> Iterator[str]:
    """Yield the namespaces of a line of VW text."""
    return (found[1] for found in NAMESPACE.finditer(line.decode()))
