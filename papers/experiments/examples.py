"""Reading whole data sets for the experiments, with the package's own readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from confidently.data import open_stream
from confidently.data.features import Strings


@dataclass
class Examples:
    """All rows of one or more files.

    Attributes
    ----------
    X : csr_array
    names : array
        Names of the labels, by their numbers.
    labels : int array
        Label numbers of all rows, one row after the other.
    label_start : int array of shape (n + 1,)
        Where the labels of each row begin.
    features : Strings
        Names of the columns; empty if columns have none.
    kept : dict of Strings
        The values of the kept keys, row by row.
    """

    X: csr_array
    names: np.ndarray
    labels: np.ndarray
    label_start: np.ndarray
    features: Strings
    kept: dict[str, Strings]

    @property
    def y(self) -> np.ndarray:
        """Name of the one label of each row."""
        y: np.ndarray = self.names[self.labels]
        return y


def read_examples(files: Path | Sequence[Path], keep: Sequence[str] = (), **how: Any) -> Examples:
    """Read files; ``how`` are options of :func:`confidently.data.open_stream`."""
    with open_stream(files, keep=keep, **how) as stream:
        batches = list(stream)
    start = _joined([batch.start for batch in batches])
    one_each = [np.arange(len(batch) + 1) if batch.label_start is None else batch.label_start for batch in batches]
    values, columns, labels = (
        np.concatenate([getattr(b, w) for b in batches]) for w in ("values", "columns", "labels")
    )
    width = max(batch.n_columns for batch in batches)
    return Examples(
        csr_array((values, columns, start.astype(columns.dtype)), shape=(len(start) - 1, width)),
        np.array([new.name for batch in batches for new in batch.new_labels]),
        labels,
        _joined(one_each),
        Strings.joined([batch.new_features.names for batch in batches if batch.new_features is not None]),
        {name: Strings.joined([batch.kept[name] for batch in batches]) for name in keep},
    )


def _joined(starts: list[np.ndarray]) -> np.ndarray:
    """Return where rows begin, counted over all batches."""
    sizes = np.concatenate([np.diff(start) for start in starts])
    return np.concatenate([[0], np.cumsum(sizes)])
