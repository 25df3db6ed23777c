"""What every reader gives: a few thousand rows at a time, checked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .. import _core
from ..matrix import csr_matrix, largest_value


class DataError(ValueError):
    """Input that cannot be read; the message begins with the file and, where there is one, the line."""


class NewLabel(NamedTuple):
    """A label at its first appearance: its name, its row in the batch, and where it stands."""

    name: int | str
    row: int
    place: str


class Listed(NamedTuple):
    """A row that has no label or more than one: its row in the batch, and where it stands."""

    row: int
    place: str


@dataclass
class Batch:
    """Consecutive rows of a stream.

    Attributes
    ----------
    values, columns, start : arrays
        The rows as CSR: float64, int32 and int64; columns ascend within a row, values are finite.
    n_columns : int
        One more than the largest column.
    labels : int32 array
        Numbers of labels, by first appearance in the stream; one a row unless ``label_start`` is there.
    label_start : int64 array of shape (n + 1,), optional
        Multilabel: where each row's labels begin.
    new_labels : list of NewLabel
        Labels that appear here for the first time; they take the next numbers.
    listed : Listed, optional
        The first row that has no label or more than one.
    place : str
        File and line of the first row.
    bytes_read : int
        Bytes of the input, as it is stored, read up to the end of the batch.
    """

    values: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    n_columns: int
    labels: np.ndarray
    label_start: np.ndarray | None = None
    new_labels: list[NewLabel] = field(default_factory=list)
    listed: Listed | None = None
    place: str = ""
    bytes_read: int = 0

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def matrix(self) -> _core.Matrix:
        """The rows as the core sees them."""
        return csr_matrix(self.values, self.columns, self.start, self.n_columns, checked=largest_value("float64"))

    def rows(self, first: int, last: int) -> Batch:
        """Rows ``first`` to ``last - 1``, their labels numbered as before; the arrays are shared."""
        begin, end = self.start[first], self.start[last]
        labels, label_start = self.labels[first:last], None
        if self.label_start is not None:
            offset = self.label_start[first]
            labels = self.labels[offset : self.label_start[last]]
            label_start = self.label_start[first : last + 1] - offset
        return replace(
            self,
            values=self.values[begin:end],
            columns=self.columns[begin:end],
            start=self.start[first : last + 1] - begin,
            labels=labels,
            label_start=label_start,
            new_labels=[
                label._replace(row=label.row - first) for label in self.new_labels if first <= label.row < last
            ],
        )
