"""Stacks that train on dicts and data frames, row by row, of classes and of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..data.classes import ClassTable
from ..data.memory.matrix import MAX_COLUMNS, as_matrix, check_weight, csr_matrix, largest_value
from ..data.request import EXACT
from ..learner.dict_frames import FrameRows
from ..learner.dict_numbers import checked_target
from ..learner.dicts import Row
from ..learner.recipe import ROWS_TO_CHOOSE, one_output
from ..views.columns import Columns
from ..wording import counted
from .choice import new_stack
from .members import Members
from .number_choice import new_number_stack
from .number_stack import NumberStack
from .stack import Stack

if TYPE_CHECKING:
    import pandas as pd

CHOICES = (1, 10, 100, ROWS_TO_CHOOSE)  # numbers of rows after which the members are chosen, the last time for good
ONE_OUTPUT = np.zeros(1, np.int32)


class Kept(NamedTuple):
    """One of the first rows: values, columns, class or labels, weight, and the target of a regression."""

    values: np.ndarray
    columns: np.ndarray
    labels: np.ndarray
    weight: float
    target: float | None


class StackRows(FrameRows):
    """A stack of classifiers that trains on dicts.

    One row does not show what the columns are. So the first rows are kept, and the members are chosen after 1, 10, 100
    and 1000 of them; if others are chosen than before, these train on all rows so far. From then on they stay.
    """

    def __init__(self, dtype: str = "float64", **settings: Any) -> None:
        self._settings = settings  # of the stack
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
        return new_stack(len(self.table), n_features, columns, dtype, **self._settings)

    def _learn_values(
        self, values: np.ndarray, columns: np.ndarray, labels: np.ndarray, start: np.ndarray | None, weight: float,
        **targets: np.ndarray,
    ) -> None:  # fmt: skip
        if self.kept is None:
            super()._learn_values(values, columns, labels, start, weight, **targets)
        else:
            target = float(targets["targets"][0, 0]) if targets else None
            self._learn_kept(Kept(np.array(values), np.array(columns), labels, float(weight), target))

    def _learn_rows(self, rows: Any, names: list[Any]) -> None:
        answers = ((np.array([self._class(name)], np.int32), None) for name in names)
        first = self._learn_first(rows, answers)
        if first < len(names):
            super()._learn_rows(rows[first:], names[first:])

    def _learn_first(self, rows: Any, answers: Iterator[tuple[np.ndarray, float | None]]) -> int:
        """Train on rows of a frame, with their classes or targets, as long as they are kept; return how many."""
        first = 0
        while self.kept is not None and (answer := next(answers, None)) is not None:
            row, (labels, target) = rows[[first]], answer
            self.grow_features()
            self._learn_kept(Kept(row.data.astype(np.float64), row.indices.astype(np.int32), labels, 1.0, target))
            first += 1
        return first

    def _learn_kept(self, row: Kept) -> None:
        """Train on one of the first rows, or on all of them so far if they have other members than before."""
        kept = [*(self.kept or []), row]
        stack = self.learner
        if len(kept) in CHOICES:
            names = list(self.features().names)
            columns = Columns.named(names)
            stack = self._new_stack(self.learner.dtype, self.core.size, columns)
            stack.prepare(_matrix(kept, self.core.size), targets=_targets(kept))
        same = _members(stack) == _members(self.learner)
        stack = self.learner if same else stack
        self._train(stack, kept[-1:] if same else kept)
        self.learner, self.kept = stack, None if len(kept) == CHOICES[-1] else kept

    def _train(self, stack: Stack | NumberStack, rows: list[Kept]) -> None:
        """Train a stack on rows."""
        labels, weight = np.concatenate([row.labels for row in rows]), np.array([row.weight for row in rows])
        start = _starts([row.labels for row in rows]) if stack.task.multilabel else None
        stack.learn(_matrix(rows, self.core.size), labels, start, weight=weight, targets=_targets(rows))


class LabelStackRows(StackRows):
    """A stack of learners of label sets that trains on dicts."""

    def _new_table(self) -> ClassTable:
        return ClassTable(multilabel=True)

    def _new_stack(self, dtype: str, n_features: int = 0, columns: Columns | None = None) -> Stack:
        return new_stack(len(self.table), n_features, columns, dtype, multilabel=True)


class NumberStackRows(StackRows):
    """A stack of regressions that trains on dicts."""

    def _new_table(self) -> ClassTable:
        return one_output()

    def _new_stack(self, dtype: str, n_features: int = 0, columns: Columns | None = None) -> NumberStack:
        return new_number_stack(n_features=n_features, columns=columns, dtype=dtype, **self._settings)

    def learn(self, x: Row, y: Any, weight: float = 1.0) -> None:
        """Train on a row and its number."""
        check_weight(weight)
        self._learn_matrix(x, ONE_OUTPUT, None, weight, targets=np.array([[checked_target(y)]]))

    def learn_frame(self, X: pd.DataFrame, y: Sequence[Any]) -> None:
        """Train on the rows of a data frame, one after the other."""
        targets = list(map(checked_target, y))
        if len(targets) != len(X):
            raise ValueError(f"X has {counted(len(X), 'row')} and y {counted(len(targets), 'target')}")
        with self._alone(), self._undone_on_error(in_pieces=True):
            rows = self._frame(X, training=True)
            self.grow_features()
            first = self._learn_first(rows, ((ONE_OUTPUT, target) for target in targets))
            if left := targets[first:]:
                labels, numbers = np.zeros(len(left), np.int32), np.array(left)[:, None]
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


def _matrix(rows: list[Kept], width: int) -> _core.Matrix:
    """Return rows as a matrix."""
    values, columns = (np.concatenate([row[k] for row in rows]) for k in (0, 1))
    return csr_matrix(values, columns, _starts([row.values for row in rows]), width)


def _targets(rows: list[Kept]) -> np.ndarray | None:
    """Return the targets of rows of a regression, shape (n, 1)."""
    targets = [[row.target] for row in rows if row.target is not None]
    return np.array(targets) if targets else None


def _starts(parts: list[np.ndarray]) -> np.ndarray:
    """Return where each of these arrays begins among the numbers of all, and where the last one ends."""
    return np.cumsum([0, *map(len, parts)])
