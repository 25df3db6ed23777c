"""Rows of a stream one by one, with labels and features by name, for every writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..batch import Batch

LABEL, WEIGHT, TAG = "label", "weight", "tag"


class Row(NamedTuple):
    """One row.

    ``labels`` is its label, a list of labels if rows are multilabel, or ``None``. ``features`` are pairs of a name
    (a number, if features are numbered) and a value.
    """

    labels: Any
    weight: float
    tag: str
    features: Sequence[tuple[Any, float]]


class Rows:
    """The rows of a stream one by one, with labels and features by name.

    Parameters
    ----------
    first_index : int
        The number of column 0 if features are numbered.
    named : bool
        Whether features have names.
    """

    def __init__(self, batches: Iterable[Batch], named: bool, first_index: int = 1) -> None:
        self.batches, self.named, self.first = batches, named, first_index
        self.labels: list[Any] = []
        self.names: list[Any] = []

    def __iter__(self) -> Iterator[Row]:
        for batch in self.batches:
            self.learn_names(batch)
            yield from self._rows(batch)

    def learn_names(self, batch: Batch) -> None:
        """Add the new labels and features of a batch."""
        self.labels += [new.name for new in batch.new_labels]
        if self.named:
            self.names += list(batch.new_features.names) if batch.new_features is not None else []
        else:
            self.names += range(self.first + len(self.names), self.first + batch.n_columns)

    def _rows(self, batch: Batch) -> Iterator[Row]:
        names = self.names
        values, columns, label = batch.values.tolist(), batch.columns.tolist(), batch.labels.tolist()
        weights = np.ones(len(batch)) if batch.weights is None else batch.weights
        tags = list(batch.kept[TAG]) if TAG in batch.kept else [""] * len(batch)
        bounds = pairwise(batch.start.tolist())
        for i, ((first, last), weight, tag) in enumerate(zip(bounds, weights.tolist(), tags, strict=True)):
            own = self._labels_of(batch, label, i)
            features = [(names[c], v) for c, v in zip(columns[first:last], values[first:last], strict=True)]
            yield Row(own, weight, tag, features)

    def _labels_of(self, batch: Batch, label: list[int], i: int) -> Any:
        if batch.label_start is None:
            return self.labels[label[i]] if len(label) else None
        return [self.labels[k] for k in label[batch.label_start[i] : batch.label_start[i + 1]]]


def number(x: float) -> str:
    """Return the shortest text that is read as the same number."""
    return str(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)
