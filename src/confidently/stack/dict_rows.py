"""Stacks that train on dicts and data frames, row by row, of classes and of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..data.classes import ClassTable
from ..data.memory.matrix import MAX_COLUMNS, as_matrix, check_weight, csr_matrix, largest_value
from ..data.request import EXACT
from ..learner.dict_frames import FrameRows
from ..learner.dict_numbers import checked_target
from ..learner.dicts import Row
from ..learner.recipe import one_output
from ..views.columns import Columns
from ..wording import counted
from .choice import new_stack
from .members import Members
from .number_choice import new_number_stack
from .number_stack import NumberStack
from .stack import Stack

if TYPE_CHECKING:
    import pandas as pd

CHOICES = (1, 10, 100)  # numbers of rows after which the members are chosen, the last time for good

Kept = tuple[np.ndarray, np.ndarray, float, float]  # values, columns, class number or target, weight


class StackRows(FrameRows):
    """A stack of classifiers that trains on dicts.

    One row does not show what the columns are. So the first rows are kept, and the members are chosen after 1, 10 and
    100 of them; if others are chosen than before, these train on all rows so far. From then on they stay.
    """

    def __init__(self, dtype: str = "float64") -> None:
        self.multiclass, self.calibration, self.bits, self.zeros = "joint", "progressive", EXACT, True
        self.table = self._new_table()
        self.learner: Stack | NumberStack = self._new_stack(dtype)
        self._order = []
        self.only_matrices = self.as_matrices = True
        self.fewer_than_two, self.largest = True, largest_value(dtype)
        self.kept: list[Kept] | None = []
        self.core = _core.DictLearner(self.bits, MAX_COLUMNS, self.zeros)

    def _new_table(self) -> ClassTable:
        return ClassTable(multilabel=False)

    def _new_stack(self, dtype: str, n_features: int = 0, columns: Columns | None = None) -> Stack | NumberStack:
        """Return a stack whose members the first rows will choose."""
        return new_stack(len(self.table), n_features, columns, dtype)

    def _examples(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return labels and targets of rows, by the numbers that are kept of them."""
        return numbers.astype(np.int32), None

    def _learn_matrix(
        self, x: Any, labels: np.ndarray, start: np.ndarray | None, weight: float, **targets: np.ndarray
    ) -> None:
        if self.kept is None:
            super()._learn_matrix(x, labels, start, weight, **targets)
            return
        with self._alone(), self._undone_on_error():
            values, columns = self.core.row(x, True, self.largest)
            self.grow_features()
            number = targets["targets"][0, 0] if targets else labels[0]
            self._learn_kept((np.array(values), np.array(columns), float(number), float(weight)))

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
            stack = self._new_stack(self.learner.dtype, self.core.size, columns)
            stack.prepare(_matrix(kept, self.core.size)[0])
        same = _members(stack) == _members(self.learner)
        stack = self.learner if same else stack
        matrix, numbers, weights = _matrix(kept[-1:] if same else kept, self.core.size)
        labels, targets = self._examples(numbers)
        stack.learn(matrix, labels, weight=weights, targets=targets)
        self.learner, self.kept = stack, None if len(kept) == CHOICES[-1] else kept


class NumberStackRows(StackRows):
    """A stack of regressions that trains on dicts."""

    def _new_table(self) -> ClassTable:
        return one_output()

    def _new_stack(self, dtype: str, n_features: int = 0, columns: Columns | None = None) -> NumberStack:
        return new_number_stack(n_features=n_features, columns=columns, dtype=dtype)

    def _examples(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return np.zeros(len(numbers), np.int32), numbers[:, None]

    def learn(self, x: Row, y: Any, weight: float = 1.0) -> None:
        """Train on a row and its number."""
        check_weight(weight)
        target = checked_target(y)
        self._learn_matrix(x, np.zeros(1, np.int32), None, weight, targets=np.array([[target]]))

    def learn_frame(self, X: pd.DataFrame, y: Sequence[Any]) -> None:
        """Train on the rows of a data frame, one after the other."""
        targets = list(map(checked_target, y))
        if len(targets) != len(X):
            raise ValueError(f"X has {counted(len(X), 'row')} and y {counted(len(targets), 'target')}")
        with self._alone(), self._undone_on_error(in_pieces=True):
            rows, first = self._frame(X, training=True), 0
            self.grow_features()
            while self.kept is not None and first < len(targets):
                row = rows[[first]]
                self._learn_kept((row.data.astype(np.float64), row.indices.astype(np.int32), targets[first], 1.0))
                first += 1
            if first < len(targets):
                labels, numbers = self._examples(np.array(targets[first:]))
                self.learner.learn(as_matrix(rows[first:], self.learner.dtype), labels, targets=numbers)

    def predict(self, x: Row) -> float:
        """Return the expected number of a row; 0 before the first row."""
        return float(self._predict_row(x, "numbers")[0, 0]) if self.learner.names else 0.0

    def distribution(self, x: Row) -> tuple[float, float]:
        """Return mean and variance of the number of a row; 0 and 1 before the first row."""
        if not self.learner.names:
            return 0.0, 1.0
        assert isinstance(self.learner, NumberStack)
        found = self._predict_row(x, "number_distribution")
        return float(found.mean[0, 0]), float(self.learner.number_deviations(found)[0, 0] ** 2)

    def predict_frame(self, X: pd.DataFrame) -> pd.Series:
        """Return the expected number of each row."""
        import pandas as pd

        found = np.zeros(len(X))
        if self.learner.names:
            found = self._predict_rows(self._frame(X, training=False), "numbers")[:, 0]
        return pd.Series(found, index=X.index)


def _members(stack: Members) -> list[tuple[str, Any]]:
    """Return names and views of the members, of which some depend on the number of columns."""
    return [(name, getattr(member, "view", None)) for name, member in zip(stack.names, stack.members, strict=True)]


def _matrix(rows: list[Kept], width: int) -> tuple[_core.Matrix, np.ndarray, np.ndarray]:
    """Return rows as a matrix, their numbers and weights."""
    values, columns = (np.concatenate([row[k] for row in rows]) for k in (0, 1))
    start = np.cumsum([0, *(len(row[0]) for row in rows)])
    numbers, weights = (np.array([row[k] for row in rows]) for k in (2, 3))
    return csr_matrix(values, columns, start, width), numbers, weights
