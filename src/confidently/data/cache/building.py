"""Building the binary cache of a stream, which holds rows as the core reads them; docs/cache-file.md."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from ...arrays import row_starts
from ..batch import Batch
from ..features import Features, NewFeatures, Strings
from ..reading import ReaderOptions
from ..selection import joined, joined_features
from .file import Arrays, CacheWriter
from .origin import Origin

# A block ends with the row that fills it, so that the same rows make the same file, however they arrive.
BLOCK_ENTRIES, BLOCK_ROWS = 1 << 18, 1 << 15


class CacheBuilder:
    """Builds a cache from the batches of one stream; a context manager that removes an unfinished cache.

    Parameters
    ----------
    path : path
        The file, which appears when :meth:`finish` is called.
    reading : ReaderOptions
        How the rows were read.
    origin : Origin
        What the rows were read from.
    multilabel : bool
        Whether rows have any number of labels.
    keep : sequence of str
        What was kept of every row.
    features : Features, optional
        Features that the stream was given as known, which have the first columns.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        reading: ReaderOptions,
        origin: Origin,
        multilabel: bool,
        keep: Sequence[str] = (),
        features: Features | None = None,
    ) -> None:
        header = {"reading": reading.as_dict(), "origin": asdict(origin), "multilabel": multilabel, "keep": list(keep)}
        self.known = _all_as_new(features) if features is not None and len(features) else None
        self.writer = CacheWriter(path, header)
        self.pending: list[Batch] = []
        self.rows = self.entries = 0  # pending
        self.done = self.skipped = 0
        self.skipped_examples: list[str] = []

    def __enter__(self) -> CacheBuilder:
        return self

    def __exit__(self, *error: object) -> None:
        self.writer.discard()

    def add(self, batch: Batch) -> None:
        """Append rows."""
        self.skipped += batch.skipped
        self.skipped_examples += batch.skipped_examples
        first = 0
        while first < len(batch):
            full = batch.start[first] + BLOCK_ENTRIES - self.entries
            last = min(int(np.searchsorted(batch.start, full)), first + BLOCK_ROWS - self.rows, len(batch))
            self.pending.append(batch.rows(first, last))
            self.rows += last - first
            self.entries += int(batch.start[last] - batch.start[first])
            first = last
            if self.rows == BLOCK_ROWS or self.entries >= BLOCK_ENTRIES:
                self._write_block()

    def finish(self) -> None:
        """Write the last rows and rename the file."""
        if self.rows:
            self._write_block()
        self.writer.finish({"rows": self.done, "skipped": self.skipped, "skipped_examples": self.skipped_examples})

    def _write_block(self) -> None:
        batch = joined(self.pending)
        new_features = [new for new in (self.known, batch.new_features) if new is not None]
        if (announced := joined_features(new_features)) is not None:
            names = _strings("names", announced.names)
            self.writer.add({"row": announced.row, "key": announced.key} | names, {})
        arrays = _rows(batch)
        for name, strings in batch.kept.items():
            arrays |= _strings(f"kept.{name}", strings)
        details = {
            "first_row": self.done,
            "rows": len(batch),
            "n_columns": int(batch.columns.max(initial=-1)) + 1,
            "largest": float(np.abs(batch.values).max(initial=0.0)),
            "new_labels": [list(new) for new in batch.new_labels],
        }
        self.writer.add(arrays, details)
        self.done += len(batch)
        self.pending, self.rows, self.entries, self.known = [], 0, 0, None


def _rows(batch: Batch) -> Arrays:
    with np.errstate(over="ignore"):
        narrow = batch.values.astype(np.float32)
    arrays = {
        "values": narrow if (narrow == batch.values).all() else batch.values.astype(np.float64, copy=False),
        "columns": batch.columns,
        "start": batch.start,
        "labels": batch.labels if batch.targets is None else None,
        "label_start": batch.label_start,
        "targets": batch.targets,
        "weights": batch.weights,
    }
    return {name: np.ascontiguousarray(array) for name, array in arrays.items() if array is not None}


def _strings(name: str, strings: Strings) -> Arrays:
    return {f"{name}.text": np.ascontiguousarray(strings.text), f"{name}.start": strings.start}


def _all_as_new(features: Features) -> NewFeatures:
    """Return all features as new ones of one row; a name that was pruned is empty."""
    size = np.zeros(len(features), dtype=np.int64)
    size[features.column] = np.diff(features.names.start)
    names = Strings(features.names.text, row_starts(size))
    return NewFeatures(np.zeros(len(features), dtype=np.int64), features.key, names)
