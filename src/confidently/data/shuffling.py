"""Rows of a stream in random order, by a buffer of a bounded number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from .batch import Batch, NewLabel
from .features import NewFeatures
from .selection import in_blocks, joined, joined_features, select_rows

DEFAULT_BUFFER = 100_000  # rows
MIN_BUFFER = 2
MAX_ROWS = 4096  # of a batch


def shuffled(batches: Iterable[Batch], buffer: int, seed: int | Sequence[int]) -> Iterator[Batch]:
    """Yield the same rows in random order, in memory for ``buffer`` rows.

    Half of the buffer is drawn from all of it, then filled with the next rows. So a row leaves the buffer with
    probability 1/2 each time, and rows that are more than a few buffers apart keep their order. The order depends on
    the seed only, not on how the stream is divided into batches.

    Labels are numbered and announced in the new order. Features keep their numbers, and those of the buffer are
    announced before its rows.

    Parameters
    ----------
    batches : iterable of Batch
    buffer : int
        Number of rows, at least 2.
    seed : int or sequence of int

    Raises
    ------
    ValueError
        If the buffer is too small.
    """
    if type(buffer) is not int or buffer < MIN_BUFFER:
        raise ValueError(f"the buffer must have {MIN_BUFFER} rows or more, got {buffer!r}")
    return _shuffled(batches, buffer // 2, np.random.default_rng(seed))


def _shuffled(batches: Iterable[Batch], half: int, generator: np.random.Generator) -> Iterator[Batch]:
    kept: Batch | None = None
    labels = _Labels()
    features: list[NewFeatures] = []
    n_columns = 0
    for block in in_blocks(batches, half):
        labels.add(block.new_labels)
        if block.new_features is not None:
            features.append(block.new_features._replace(row=np.zeros_like(block.new_features.row)))
        n_columns = max(n_columns, block.n_columns)
        if kept is None:
            kept = block
            continue
        both = joined([kept, block])
        order = generator.permutation(len(both))
        drawn, kept = select_rows(both, order[:half]), select_rows(both, order[half:])
        yield from labels.announced(_announcing(drawn, features, n_columns))
        features = []
    if kept is not None:
        drawn = select_rows(kept, generator.permutation(len(kept)))
        yield from labels.announced(_announcing(drawn, features, n_columns))


def _announcing(drawn: Batch, features: list[NewFeatures], n_columns: int) -> Batch:
    """Return the rows, with the columns and features of all rows read so far."""
    return replace(drawn, new_features=joined_features(features), n_columns=n_columns)


class _Labels:
    """The labels of a stream, numbered in the order in which their rows are drawn."""

    def __init__(self) -> None:
        self.found: list[NewLabel] = []  # by their number in the data
        self.number_of = np.empty(0, dtype=np.int32)  # in the new order; -1: not drawn yet
        self.n_drawn = 0

    def add(self, new: list[NewLabel]) -> None:
        """Add labels that appear in the data."""
        self.found += new
        self.number_of = np.append(self.number_of, np.full(len(new), -1, dtype=np.int32))

    def announced(self, drawn: Batch) -> Iterator[Batch]:
        """Yield the rows in small batches, with the new numbers of their labels."""
        if drawn.targets is not None:
            yield from _cut(drawn)
            return
        labels, first = np.unique(drawn.labels, return_index=True)
        fresh = first[self.number_of[labels] < 0]
        fresh.sort()
        rows = fresh
        if drawn.label_start is not None:
            rows = np.searchsorted(drawn.label_start, fresh, side="right") - 1
        new = drawn.labels[fresh]
        self.number_of[new] = np.arange(self.n_drawn, self.n_drawn + len(new))
        self.n_drawn += len(new)
        announced = [self.found[k]._replace(row=int(row)) for k, row in zip(new.tolist(), rows.tolist(), strict=True)]
        yield from _cut(replace(drawn, labels=self.number_of[drawn.labels], new_labels=announced))


def _cut(whole: Batch) -> Iterator[Batch]:
    """Yield rows in small batches."""
    for row in range(0, len(whole), MAX_ROWS):
        yield whole.rows(row, min(row + MAX_ROWS, len(whole)))
