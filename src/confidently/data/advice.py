"""What can be read but may not be meant as it is read: a warning each, in one sentence."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np

from .batch import Batch
from .demands import Demands
from .reading import MAX_LISTED, ReaderOptions
from .sources.compression import Chunk

LONG = 24  # bytes from which a cell looks like text
MIN_ROWS = 100  # fewer do not show that a column is text
MANY = 0.5  # share of the rows
MIN_IN_ORDER, MIN_CHANGES, SORTED = 1000, 100, 0.02  # rows, changes in random order, share of these
MIN_LOOKED_AT, MAX_LOOKED_AT = 10, 1000  # rows one of which should have a column that features are made of


class DataWarning(UserWarning):
    """Data that can be read, but are perhaps not meant as they are read."""


def warn_of_texts(batch: Batch) -> None:
    """Warn of the columns of a stream's first batch that are taken as categories and look like text."""
    if len(batch) < MIN_ROWS or batch.new_features is None:
        return
    names, enough = batch.new_features.names, MANY * len(batch)
    long = np.flatnonzero(np.diff(names.start) > LONG)
    if len(long) < enough:
        return
    cells = [name.partition("=") for name in names.chosen(long)]
    for column, found in Counter(column for column, _, cell in cells if len(cell) >= LONG).items():
        if found >= enough:
            _warn(
                f"column {column!r} has {found:,} different long values in the first {len(batch):,} rows, each taken "
                f"as a category: --text {column} would take their words, --drop {column} leave them out"
            )


def warn_of_unknown(batch: Batch, known: int) -> None:
    """Warn if no feature of a stream's first batch is one of the ``known`` ones of the model that is asked."""
    if len(batch) >= MIN_LOOKED_AT and len(batch.columns) and batch.columns.min() >= known:
        _warn(
            f"the model has met none of the features of the first {len(batch):,} rows, and can say nothing about them: "
            "are these rows of the kind that it was trained on?"
        )


def in_any_order(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The same batches; warns at the end if rows of one class each came sorted by it."""
    rows = changes = 0
    counts, last = np.zeros(0, dtype=np.int64), None
    for batch in batches:
        if batch.label_start is None and len(batch):
            labels = batch.labels
            changes += int(np.count_nonzero(labels[1:] != labels[:-1])) + (last is not None and labels[0] != last)
            here = np.bincount(labels, minlength=len(counts))
            here[: len(counts)] += counts
            rows, counts, last = rows + len(batch), here, labels[-1]
        yield batch
    if rows >= MIN_IN_ORDER:
        _warn_if_sorted(rows, changes, rows * (1.0 - float(np.sum((counts / rows) ** 2))))


def _warn_if_sorted(rows: int, changes: int, expected: float) -> None:
    if expected >= MIN_CHANGES and changes < SORTED * expected:
        times = "once" if changes == 1 else f"{changes:,} times"
        _warn(
            f"rows come sorted by label, which changes {times} in {rows:,} rows and would about {expected:,.0f} times "
            "in random order: what is learned last counts most, so shuffle the rows first"
        )


def looked_through(name: str, chunks: Iterable[Chunk], reading: ReaderOptions, demands: Demands) -> Iterator[Chunk]:
    """The same text of JSON lines; warns of columns asked for that its first rows do not have."""
    missing = _asked_for(reading, demands)
    for number, chunk in enumerate(chunks):
        if number == 0 and missing:
            _look_through(name, chunk.data, missing)
        yield chunk


def _asked_for(reading: ReaderOptions, demands: Demands) -> dict[str, str]:
    """Columns that must be there, and what for."""
    asked = dict.fromkeys(reading.text, "text") | dict.fromkeys(reading.category, "category")
    if not demands.freeze:  # to predict, what was dropped in training need not be there
        asked |= dict.fromkeys(reading.drop, "drop")
    if reading.weight is not None and not demands.ignore_labels:
        asked[reading.weight] = "weight"
    if reading.label is not None and demands.multilabel and not demands.ignore_labels:  # else its absence is an error
        asked[reading.label] = "label"
    return asked | dict.fromkeys(demands.keep, "keep")


def _look_through(name: str, text: bytes, missing: dict[str, str]) -> None:
    seen, rows = dict[str, None](), 0
    for row in text.split(b"\n", MAX_LOOKED_AT)[:MAX_LOOKED_AT]:
        with suppress(ValueError, RecursionError):  # the reader will say so, or the row is cut off here
            seen |= dict.fromkeys(_columns(json.loads(row)))
            rows += 1
        if missing.keys() <= seen.keys():
            return
    listed = ", ".join(list(seen)[:MAX_LISTED]) + (", ..." if len(seen) > MAX_LISTED else "")
    for column, use in missing.items():
        if column not in seen and rows >= (1 if use == "keep" else MIN_LOOKED_AT):
            _warn(f"{name}: no column {column!r} (--{use}) in the first {rows:,} rows; there are {listed}")


def _columns(row: object, prefix: str = "") -> Iterator[str]:
    """Keys of an object, and of those in it: ``a``, ``a.b``."""
    if isinstance(row, dict):
        for key, value in row.items():
            yield prefix + key
            yield from _columns(value, f"{prefix}{key}.")


def _warn(text: str) -> None:
    warnings.warn(text, DataWarning, stacklevel=2)
