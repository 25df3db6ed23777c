"""Stacks that train on dicts and data frames, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..data.classes import ClassTable
from ..data.memory.matrix import MAX_COLUMNS, csr_matrix, largest_value
from ..data.request import EXACT
from ..learner.dict_frames import FrameRows
from ..views.columns import Columns
from .choice import new_stack
from .stack import Stack

CHOICES = (1, 10, 100)  # numbers of rows after which the members are chosen, the last time for good

Kept = tuple[np.ndarray, np.ndarray, int, float]  # values, columns, class number, weight


class StackRows(FrameRows):
    """A stack that trains on dicts.

    One row does not show what the columns are. So the first rows are kept, and the members are chosen after 1, 10 and
    100 of them; if others are chosen than before, these train on all rows so far. From then on they stay.
    """

    def __init__(self, dtype: str = "float64") -> None:
        self.multiclass, self.calibration, self.bits, self.zeros = "joint", "progressive", EXACT, True
        self.table = ClassTable(multilabel=False)
        self.learner: Stack = new_stack(len(self.table), dtype=dtype)
        self._order = []
        self.only_matrices = self.as_matrices = True
        self.fewer_than_two, self.largest = True, largest_value(dtype)
        self.kept: list[Kept] | None = []
        self.core = _core.DictLearner(self.bits, MAX_COLUMNS, self.zeros)

    def _learn_matrix(
        self, x: Any, labels: np.ndarray, start: np.ndarray | None, weight: float, **targets: np.ndarray
    ) -> None:
        if self.kept is None:
            super()._learn_matrix(x, labels, start, weight, **targets)
            return
        with self._alone(), self._undone_on_error():
            values, columns = self.core.row(x, True, self.largest)
            self.grow_features()
            self._learn_kept((np.array(values), np.array(columns), int(labels[0]), float(weight)))

    def _learn_rows(self, rows: Any, names: list[Any]) -> None:
        first = 0
        while self.kept is not None and first < len(names):
            row, number = rows[[first]], self._class(names[first])
            self.grow_features()
            self._learn_kept((row.data.astype(np.float64), row.indices.astype(np.int32), number, 1.0))
            first += 1
        if first < len(names):
            super()._learn_rows(rows[first:], names[first:])

    def _learn_kept(self, row: Kept) -> None:
        """Train on one of the first rows, or on all of them so far if they have other members than before."""
        kept = [*(self.kept or []), row]
        stack = self.learner
        if len(kept) in CHOICES:
            names = list(self.features().names)
            columns = Columns.named(names)
            stack = new_stack(len(self.table), self.core.size, columns, self.learner.dtype)
            stack.prepare(_matrix(kept, self.core.size)[0])
        same = stack.names == self.learner.names
        stack = self.learner if same else stack
        matrix, labels, weights = _matrix(kept[-1:] if same else kept, self.core.size)
        stack.learn(matrix, labels, weight=weights)
        self.learner, self.kept = stack, None if len(kept) == CHOICES[-1] else kept


def _matrix(rows: list[Kept], width: int) -> tuple[_core.Matrix, np.ndarray, np.ndarray]:
    """Return rows as a matrix, their class numbers and weights."""
    values, columns = (np.concatenate([row[k] for row in rows]) for k in (0, 1))
    start = np.cumsum([0, *(len(row[0]) for row in rows)])
    labels, weights = np.array([row[2] for row in rows], dtype=np.int32), np.array([row[3] for row in rows])
    return csr_matrix(values, columns, start, width), labels, weights
