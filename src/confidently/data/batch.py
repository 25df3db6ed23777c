"""Batches of rows, which every reader returns: a few thousand rows at a time, checked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..printable import PrintableError
from .features import NewFeatures, Strings
from .memory.matrix import csr_matrix, largest_value
from .sources.json_schema import Count, FileText


class DataError(PrintableError):
    """Input that cannot be read; the message begins with the file and, where there is one, the line."""


class NewLabel(NamedTuple):
    """A label at its first appearance: its name, its row in the batch and its location in the input."""

    name: int | str
    row: Count
    location: FileText


class RowLocation(NamedTuple):
    """A row: its number in the batch and its location in the input."""

    row: int
    location: str


@dataclass(eq=False)  # it holds arrays, of which == is no truth value
class Batch:
    """Consecutive rows of a stream.

    Attributes
    ----------
    values, columns, start : arrays
        The rows as CSR: float64 (from a cache float32, if that is exact), int32 and int64. Columns ascend within a
        row; values are finite.
    n_columns : int
        One more than the largest column.
    labels : int32 array
        Label numbers, by first appearance in the stream; one per row unless there is a ``label_start``. With targets,
        all are 0.
    label_start : int64 array of shape (n + 1,), optional
        Multilabel: where each row's labels begin.
    targets : float64 array of shape (n,), optional
        For regression: the number of each row, instead of a label.
    weights : float64 array of shape (n,), optional
        Example weights; ``None``: all are 1.
    new_labels : list of NewLabel
        Labels that appear for the first time; they take the next numbers.
    new_features : NewFeatures, optional
        Named features that appear for the first time; they take the next columns.
    kept : dict of Strings
        What was kept of every row, by name.
    multilabel_row : RowLocation, optional
        The first row that does not have exactly one label.
    location : str
        File and line of the first row.
    bytes_read : int
        Stored bytes of the input read by the end of the batch.
    skipped : int
        Number of invalid rows that were skipped.
    skipped_examples : list of str
        Location and error of the first of them.
    odd : list of (str, str)
        Columns of numbers and dates that have cells of another kind, and the first such cell of each.
    """

    values: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    n_columns: int
    labels: np.ndarray
    label_start: np.ndarray | None = None
    targets: np.ndarray | None = None
    weights: np.ndarray | None = None
    new_labels: list[NewLabel] = field(default_factory=list)
    new_features: NewFeatures | None = None
    kept: dict[str, Strings] = field(default_factory=dict)
    multilabel_row: RowLocation | None = None
    location: str = ""
    bytes_read: int = 0
    skipped: int = 0
    skipped_examples: list[str] = field(default_factory=list)
    odd: list[tuple[str, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def matrix(self) -> _core.Matrix:
        """The rows as a matrix of the core."""
        return csr_matrix(self.values, self.columns, self.start, self.n_columns, checked=largest_value("float64"))

    def rows(self, first: int, last: int) -> Batch:
        """Return rows ``first`` to ``last - 1``, which share the arrays; labels keep their numbers."""
        begin, end = self.start[first], self.start[last]
        new = (bisect_left(self.new_labels, row, key=lambda label: label.row) for row in (first, last))
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
            targets=None if self.targets is None else self.targets[first:last],
            weights=None if self.weights is None else self.weights[first:last],
            new_features=None if self.new_features is None else self.new_features.part(first, last),
            kept={name: strings.part(first, last) for name, strings in self.kept.items()},
            new_labels=[label._replace(row=label.row - first) for label in self.new_labels[slice(*new)]],
        )


def batch_of(name: str, unit: str, parsed: dict[str, Any], keep: Sequence[str], bytes_read: int) -> Batch:
    """Return the rows that a compiled reader parsed in the file called ``name``; messages count them by ``unit``."""
    multilabel_row = None
    if parsed["multilabel_row"] >= 0:
        multilabel_row = RowLocation(parsed["multilabel_row"], f"{name}, {unit} {parsed['multilabel_line']}")
    row, key, names = parsed["new_features"]
    return Batch(
        values=parsed["values"],
        columns=parsed["columns"],
        start=parsed["start"],
        n_columns=parsed["n_columns"],
        labels=parsed["labels"],
        label_start=None if parsed["targets"] is not None else parsed["label_start"],
        targets=parsed["targets"],
        weights=parsed["weights"],
        new_labels=[_new_label(f"{name}, {unit} {line}", *label) for *label, line in parsed["new_labels"]],
        new_features=NewFeatures(row, key, Strings(*names)) if len(key) else None,
        kept={what: Strings(*strings) for what, strings in zip(keep, parsed["kept"], strict=True)},
        multilabel_row=multilabel_row,
        location=f"{name}, {unit} {parsed['first_line']}",
        bytes_read=bytes_read,
        skipped=parsed["n_skipped"],
        skipped_examples=[f"{name}, {error}" for error in parsed["skipped"]],
        odd=[(column.decode(errors="replace"), text.decode(errors="replace")) for column, text in parsed["odd"]],
    )


def _new_label(location: str, text: bytes, number: bool, row: int) -> NewLabel:
    return NewLabel(int(text) if number else text.decode(), row, location)
