"""The data sets of the experiments, whole, by the project's own readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...data import open_stream
from ...data.features import Strings


@dataclass
class Examples:
    """All rows of one or more files.

    Attributes
    ----------
    X : csr_array
    names : array
        Names of the labels, by their numbers.
    labels : int array
        Numbers of the rows' labels, one row's after the other's.
    label_start : int array of shape (n + 1,)
        Where each row's begin.
    features : Strings
        Names of the columns; empty where columns have none.
    kept : dict of Strings
        What was to be kept of every row.
    """

    X: csr_array
    names: np.ndarray
    labels: np.ndarray
    label_start: np.ndarray
    features: Strings
    kept: dict[str, Strings]

    @property
    def y(self) -> np.ndarray:
        """The name of each row's one label."""
        y: np.ndarray = self.names[self.labels]
        return y


def read_examples(files: Path | Sequence[Path], keep: Sequence[str] = (), **how: Any) -> Examples:
    """Read files; ``how`` is for :func:`confidently.data.open_stream`."""
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
    """Where rows begin, counted through all batches."""
    sizes = np.concatenate([np.diff(start) for start in starts])
    return np.concatenate([[0], np.cumsum(sizes)])
