"""What every reader gives: a few thousand rows at a time, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .features import NewFeatures, Strings
from .memory.matrix import csr_matrix, largest_value


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
        The rows as CSR: float64 (of a cache float32, where that is exact), int32 and int64; columns ascend within a
        row, values are finite.
    n_columns : int
        One more than the largest column.
    labels : int32 array
        Numbers of labels, by first appearance in the stream; one a row unless ``label_start`` is there.
    label_start : int64 array of shape (n + 1,), optional
        Multilabel: where each row's labels begin.
    weights : float64 array of shape (n,), optional
        Weights of the examples; ``None``: all are 1.
    new_labels : list of NewLabel
        Labels that appear here for the first time; they take the next numbers.
    new_features : NewFeatures, optional
        Named features that appear here for the first time; they take the next columns.
    kept : dict of Strings
        What was to be kept of every row, by name.
    listed : Listed, optional
        The first row that has no label or more than one.
    place : str
        File and line of the first row.
    bytes_read : int
        Bytes of the input, as it is stored, read up to the end of the batch.
    skipped : int
        Rows passed over because they are not as they should be.
    skipped_examples : list of str
        What was wrong with the first of them, and where.
    """

    values: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    n_columns: int
    labels: np.ndarray
    label_start: np.ndarray | None = None
    weights: np.ndarray | None = None
    new_labels: list[NewLabel] = field(default_factory=list)
    new_features: NewFeatures | None = None
    kept: dict[str, Strings] = field(default_factory=dict)
    listed: Listed | None = None
    place: str = ""
    bytes_read: int = 0
    skipped: int = 0
    skipped_examples: list[str] = field(default_factory=list)

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
            weights=None if self.weights is None else self.weights[first:last],
            new_features=None if self.new_features is None else self.new_features.part(first, last),
            kept={name: strings.part(first, last) for name, strings in self.kept.items()},
            new_labels=[
                label._replace(row=label.row - first) for label in self.new_labels if first <= label.row < last
            ],
        )


def batch_of(name: str, unit: str, parsed: dict[str, Any], keep: Sequence[str], bytes_read: int) -> Batch:
    """A batch of what a compiled reader found in the file called ``name``, whose rows are counted by ``unit``."""
    listed = None
    if parsed["list_row"] >= 0:
        listed = Listed(parsed["list_row"], f"{name}, {unit} {parsed['list_line']}")
    row, key, names = parsed["new_features"]
    return Batch(
        values=parsed["values"],
        columns=parsed["columns"],
        start=parsed["start"],
        n_columns=parsed["n_columns"],
        labels=parsed["labels"],
        label_start=parsed["label_start"],
        weights=parsed["weights"],
        new_labels=[_new_label(f"{name}, {unit} {line}", *label) for *label, line in parsed["new_labels"]],
        new_features=NewFeatures(row, key, Strings(*names)) if len(key) else None,
        kept={what: Strings(*strings) for what, strings in zip(keep, parsed["kept"], strict=True)},
        listed=listed,
        place=f"{name}, {unit} {parsed['first_line']}",
        bytes_read=bytes_read,
        skipped=parsed["n_skipped"],
        skipped_examples=[f"{name}, {what}" for what in parsed["skipped"]],
    )


def _new_label(place: str, text: bytes, number: bool, row: int) -> NewLabel:
    try:
        return NewLabel(int(text) if number else text.decode(), row, place)
    except UnicodeDecodeError:
        raise DataError(f"{place}: the label {text!r} is not UTF-8 text") from None
