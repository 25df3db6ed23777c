"""What a cache holds: header, index, the arrays of its blocks, and what must be true of them; docs/cache-file.md.

Checksums show accidents. A file with correct checksums may still be made by hand, and everything that is computed from
it relies on what is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any

import numpy as np

from ... import _core
from ...arrays import is_finite, lies_within
from ..batch import NewLabel
from ..memory.matrix import MAX_WEIGHT, MIN_WEIGHT, csr_matrix
from ..reading import ReaderOptions
from ..sources.json_schema import Count, FileText, Interval, conform
from .file import Arrays, Kind
from .origin import Origin

Kinds = Mapping[str, tuple[Kind, ...]]

ROWS: Kinds = {
    "values": ("<f4", "<f8"), "columns": ("<i4",), "start": ("<i8",), "labels": ("<i4",), "label_start": ("<i8",),
    "targets": ("<f8",), "weights": ("<f8",),
}  # fmt: skip
OPTIONAL = ("weights",)
STRINGS: Kinds = {"text": ("|u1",), "start": ("<i8",)}
FEATURES: Kinds = {"row": ("<i8",), "key": ("<u4",), **{f"names.{part}": kinds for part, kinds in STRINGS.items()}}


@dataclass(frozen=True)
class Header:
    """What is known before the first block.

    Attributes
    ----------
    reading : ReaderOptions
        How the rows were read.
    origin : Origin
        What they were read from.
    multilabel : bool
        Whether rows have any number of labels.
    keep : list of str
        What was kept of every row.
    """

    reading: ReaderOptions
    origin: Origin
    multilabel: bool
    keep: list[str]


@dataclass(frozen=True)
class Summary:
    """What is known after the last block: numbers of rows and of skipped rows, and the first errors of these."""

    rows: Count
    skipped: Count
    skipped_examples: list[FileText]


@dataclass(frozen=True)
class RowDetails:
    """The details of a block of rows."""

    first_row: Count
    rows: Annotated[int, Interval(1, 2**31)]
    n_columns: Count
    largest: Annotated[float, Interval(0, float("inf"))]
    new_labels: list[NewLabel]


def row_details(given: Mapping[str, Any]) -> RowDetails:
    """Return the details of a block of rows; a ``ValueError`` if they are not of that form.

    There are many blocks. The usual one, without new labels, is not checked value by value against types.
    """
    if given.get("new_labels") == [] and given.keys() == RowDetails.__dataclass_fields__.keys():
        first_row, rows, n_columns, largest = (given[name] for name in ("first_row", "rows", "n_columns", "largest"))
        counts = all(type(number) is int and 0 <= number < 2**63 for number in (first_row, rows, n_columns))
        if counts and 1 <= rows <= 2**31 and type(largest) is float and 0.0 <= largest < inf:
            return RowDetails(first_row, rows, n_columns, largest, [])
    return conform(given, RowDetails, "details")


def kinds_of_rows(header: Header) -> Kinds:
    """Return the arrays of every block of rows, and their types."""
    absent = {"labels", "label_start"} if header.origin.targets else {"targets"}
    absent |= set() if header.multilabel else {"label_start"}
    kept = {f"kept.{name}.{part}": kinds for name in header.keep for part, kinds in STRINGS.items()}
    return {name: kinds for name, kinds in ROWS.items() if name not in absent} | kept


def check_kinds(found: Mapping[str, tuple[Kind, int]], expected: Kinds) -> None:
    """Raise ``ValueError`` unless a block has exactly the expected arrays, of the expected types."""
    wrong = [name for name, (kind, _) in found.items() if kind not in expected.get(name, ())]
    wrong += [name for name in expected if name not in found and name not in OPTIONAL]
    if wrong:
        raise ValueError(f"its array {wrong[0]!r} is missing, unknown or of another type")


def check_rows(header: Header, details: RowDetails, arrays: Arrays, n_labels: int, n_columns: int) -> None:
    """Raise ``ValueError`` unless the arrays of a block of rows fit together and all their numbers are in range.

    ``n_labels`` and ``n_columns`` are the numbers of labels and of columns that are known with this block.
    """
    n, columns = details.rows, arrays["columns"]
    check_starts("start", arrays["start"], n, len(columns))
    if details.n_columns != largest_of(columns) + 1 or details.n_columns > n_columns:
        raise ValueError("its columns are not those it declares")
    if csr_matrix(arrays["values"], columns, arrays["start"], details.n_columns).fault(details.largest):
        raise ValueError("its columns do not ascend, or a value is not finite or larger than the largest it declares")
    if header.origin.targets:
        if len(arrays["targets"]) != n or not is_finite(arrays["targets"]) or details.new_labels:
            raise ValueError("its targets are not one finite number per row")
    else:
        _check_labels(details, arrays, n_labels)
    if (weights := arrays.get("weights")) is not None:
        if not lies_within(weights, 0.0, MAX_WEIGHT) or _core.least_positive(weights) < MIN_WEIGHT:
            raise ValueError(f"its weights are not 0 or numbers from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}")
        if len(weights) != n:
            raise ValueError("its weights do not match its rows")
    for name in header.keep:
        check_strings(f"kept.{name}", arrays, n)


def _check_labels(details: RowDetails, arrays: Arrays, n_labels: int) -> None:
    n, labels = details.rows, arrays["labels"]
    start = arrays["label_start"] if "label_start" in arrays else np.arange(0, n + 1, dtype=np.int64)
    check_starts("label_start", start, n, len(labels))
    if not lies_within(labels, 0, n_labels - 1):
        raise ValueError("its labels are not those it declares")
    _check_announced(details, labels, start, n_labels)


def _check_announced(details: RowDetails, labels: np.ndarray, start: np.ndarray, n_labels: int) -> None:
    """Check that no row has a label that is announced with a later row."""
    if not details.new_labels:
        return
    rows = [label.row for label in details.new_labels]
    if rows[-1] >= details.rows or rows != sorted(rows):
        raise ValueError("its new labels are not in the order of its rows")
    if not _core.come_announced(labels, start, rows, n_labels):
        raise ValueError("a label comes before it is announced")


def check_features(arrays: Arrays, reading: ReaderOptions, rows: int) -> None:
    """Raise ``ValueError`` unless a block of features that come with so many rows is sound."""
    row, key = arrays["row"], arrays["key"]
    if len(row) != len(key) or not reading.named:
        raise ValueError("its features do not fit together")
    if not (lies_within(row, 0, rows - 1) and _core.ascend(row)):
        raise ValueError("its features are not in the order of the rows that follow")
    if not reading.vocabulary and len(key) and int(key.max()) >> reading.bits:
        raise ValueError(f"its features have more than {reading.bits} bits")
    check_strings("names", arrays, len(key))


def check_strings(name: str, arrays: Arrays, n: int) -> None:
    """Raise ``ValueError`` unless two arrays are n strings."""
    check_starts(f"{name}.start", arrays[f"{name}.start"], n, len(arrays[f"{name}.text"]))


def check_starts(name: str, start: np.ndarray, n: int, size: int) -> None:
    """Raise ``ValueError`` unless an array says where each of n parts of another begins, and where the last ends."""
    if not (len(start) == n + 1 and start[0] == 0 and start[-1] == size and _core.ascend(start)):
        raise ValueError(f"{name} does not say where {n:,} parts of {size:,} begin")


def largest_of(columns: np.ndarray) -> int:
    """Return the largest column of rows; -1 of rows without any."""
    return int(columns.max()) if len(columns) else -1
