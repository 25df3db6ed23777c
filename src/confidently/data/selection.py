"""Parts of streams: rows skipped at the beginning, selected rows, blocks of rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from ..arrays import row_entries, row_starts
from ..wording import counted
from .batch import Batch, DataError
from .features import NewFeatures, Strings


def joined_features(found: list[NewFeatures]) -> NewFeatures | None:
    """Concatenate new features; ``None``: there are none."""
    found = [new for new in found if len(new.key)]
    if not found:
        return None
    row, key = (np.concatenate([getattr(new, name) for new in found]) for name in ("row", "key"))
    return NewFeatures(row, key, Strings.joined([new.names for new in found]))


def without_first(batch: Batch, rows: int) -> Batch:
    """Return a batch without its first rows, whose labels and features it announces."""
    rest = batch.rows(rows, len(batch))
    rest.new_labels = [new._replace(row=max(new.row - rows, 0)) for new in batch.new_labels]
    if batch.new_features is not None:
        rest.new_features = batch.new_features._replace(row=np.maximum(batch.new_features.row - rows, 0))
    return rest


def in_parts(batches: Iterable[Batch], rows: int) -> Iterator[Batch]:
    """Yield the batches in parts of at most so many rows."""
    for batch in batches:
        if len(batch) <= rows:
            yield batch
            continue
        for first in range(0, len(batch), rows):
            yield batch.rows(first, min(first + rows, len(batch)))


def skip_rows(batches: Iterable[Batch], rows: int) -> Iterator[Batch]:
    """Skip the first ``rows`` rows; the first batch announces their labels and features.

    Raises
    ------
    DataError
        If there are fewer.
    """
    before: Batch | None = None  # without rows: what the skipped rows announced
    for batch in batches:
        if before is not None:
            batch = _announcing(batch, before)
        if rows >= len(batch):
            before, rows = without_first(batch, len(batch)), rows - len(batch)
            continue
        yield without_first(batch, rows) if rows else batch
        before, rows = None, 0
    if rows:
        raise DataError(f"the data end {counted(rows, 'row')} before the first row to read")
    if before is not None:
        yield before


def _announcing(batch: Batch, before: Batch) -> Batch:
    """Return a batch that also announces what an empty one before it did."""
    features = [new for new in (before.new_features, batch.new_features) if new is not None]
    return replace(
        batch,
        new_labels=before.new_labels + batch.new_labels,
        new_features=joined_features(features),
        skipped=before.skipped + batch.skipped,
        skipped_examples=before.skipped_examples + batch.skipped_examples,
    )


def cut_at(batches: Iterable[Batch], done: int, next_cut: Callable[[int], int]) -> Iterator[Batch]:
    """Yield the same rows in batches that end after every number of rows in the sequence ``n = next_cut(n)``.

    ``done`` rows came before these. A part of a batch counts its share of the bytes read, so that progress does not run
    ahead of training.
    """
    read = None if done else 0  # by the end of the last batch, if known
    for batch in batches:
        first = 0
        while (last := first + next_cut(done) - done) < len(batch):
            part = _exact(batch, first, last)
            if read is not None:
                part.bytes_read = read + (batch.bytes_read - read) * last // len(batch)
            yield part
            done, first = done + last - first, last
        yield _exact(batch, first, len(batch)) if first else batch
        done, read = done + len(batch) - first, batch.bytes_read


def in_blocks(batches: Iterable[Batch], size: int) -> Iterator[Batch]:
    """Yield the same rows in blocks of ``size``."""
    parts: list[Batch] = []
    rows = 0
    for batch in cut_at(batches, 0, lambda done: (done // size + 1) * size):
        parts, rows = [*parts, batch], rows + len(batch)
        if rows == size:
            yield joined(parts)
            parts, rows = [], 0
    if parts:
        yield joined(parts)


def first_together(batches: Iterable[Batch], rows: int) -> Iterator[Batch]:
    """Yield the same rows, at least so many of them in the first batch, unless there are fewer."""
    parts: list[Batch] = []
    n = 0
    for batch in batches:
        if n >= rows:
            yield batch
            continue
        parts, n = [*parts, batch], n + len(batch)
        if n >= rows:
            yield joined(parts)
    if parts and n < rows:
        yield joined(parts)


def columns_of_first(batches: Iterable[Batch], rows: int) -> tuple[int, Iterator[Batch]]:
    """Return the number of columns that the first rows have entries in, and an iterator over all batches."""
    together = first_together(batches, rows)
    first = next(together, None)
    if first is None:
        return 0, together
    end = first.start[min(rows, len(first))]
    return int(first.columns[:end].max(initial=-1)) + 1, chain([first], together)


def joined(parts: list[Batch]) -> Batch:
    """Concatenate consecutive batches."""
    if len(parts) == 1:
        return parts[0]
    first, last, offset = parts[0], parts[-1], 0
    new_labels, new_features = [], []
    for part in parts:
        new_labels += [new._replace(row=new.row + offset) for new in part.new_labels]
        if part.new_features is not None:
            new_features.append(part.new_features._replace(row=part.new_features.row + offset))
        offset += len(part)
    targets = None
    if first.targets is not None:
        targets = np.concatenate([part.targets for part in parts if part.targets is not None])
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate([np.ones(len(part)) if part.weights is None else part.weights for part in parts])
    return Batch(
        values=np.concatenate([part.values for part in parts]),
        columns=np.concatenate([part.columns for part in parts]),
        start=_joined_starts([part.start for part in parts]),
        n_columns=max(part.n_columns for part in parts),
        labels=np.concatenate([part.labels for part in parts]),
        label_start=None if first.label_start is None else _joined_starts([_lists(part) for part in parts]),
        targets=targets,
        weights=weights,
        new_labels=new_labels,
        new_features=joined_features(new_features),
        kept={name: Strings.joined([part.kept[name] for part in parts]) for name in first.kept},
        location=first.location,
        bytes_read=last.bytes_read,
        skipped=sum(part.skipped for part in parts),
        skipped_examples=[example for part in parts for example in part.skipped_examples],
    )


def _lists(part: Batch) -> np.ndarray:
    assert part.label_start is not None  # all batches of a stream have lists of labels, or none has
    return part.label_start


def _joined_starts(starts: list[np.ndarray]) -> np.ndarray:
    return row_starts(np.concatenate([np.diff(start) for start in starts]))


def _exact(batch: Batch, first: int, last: int) -> Batch:
    """Return rows with their own number of columns: columns of later rows are not known yet, unless announced."""
    part = batch.rows(first, last)
    n_columns = int(part.columns.max()) + 1 if len(part.columns) else 0
    if batch.new_features is not None and part.new_features is not None and len(part.new_features.key):
        rows = batch.new_features.row
        n_columns = max(n_columns, batch.n_columns - (len(rows) - bisect_left(rows, last)))
    return replace(part, n_columns=n_columns)


def chosen_rows(batches: Sequence[Batch], rows: np.ndarray) -> Batch:
    """Return rows by their numbers among those of all batches. The result announces no labels and features."""
    found, first = [], 0
    for batch in batches:
        own = rows[(rows >= first) & (rows < first + len(batch))]
        found += [select_rows(batch, own - first)] if len(own) else []
        first += len(batch)
    return joined(found)


def select_rows(batch: Batch, rows: np.ndarray) -> Batch:
    """Return some rows of a batch, by number. The result announces no labels and features."""
    entries, start = row_entries(batch.start, rows)
    if batch.label_start is None:
        labels, label_start = batch.labels[rows], None
    else:
        label_entries, label_start = row_entries(batch.label_start, rows)
        labels = batch.labels[label_entries]
    return replace(
        batch,
        values=batch.values[entries],
        columns=batch.columns[entries],
        start=start,
        labels=labels,
        label_start=label_start,
        targets=None if batch.targets is None else batch.targets[rows],
        weights=None if batch.weights is None else batch.weights[rows],
        new_labels=[],
        new_features=None,
        kept={name: strings.take(rows) for name, strings in batch.kept.items()},
        skipped=0,
        skipped_examples=[],
    )
