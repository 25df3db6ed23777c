"""Stacks that train on dicts and data frames, row by row, of classes and of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..data.classes import ClassTable
from ..data.memory.matrix import MAX_COLUMNS, as_matrix, check_weight, largest_value
from ..data.request import EXACT
from ..learner.dict_frames import FrameRows
from ..learner.dict_numbers import checked_target
from ..learner.dicts import Row
from ..learner.recipe import one_output
from ..rules.ranges import UNIT, check_number
from ..wording import counted
from .choice import new_stack
from .number_choice import new_number_stack
from .number_stack import NumberStack
from .stack import Stack

if TYPE_CHECKING:
    import pandas as pd

ONE_OUTPUT = np.zeros(1, np.int32)


class StackRows(FrameRows):
    """A stack of classifiers that trains on dicts."""

    def __init__(self, dtype: str = "float64", **settings: Any) -> None:
        self.multiclass, self.calibration, self.bits, self.zeros = "joint", "progressive", EXACT, True
        self.table = self._new_table()
        self.learner: Stack | NumberStack = self._new_stack(dtype, **settings)
        self._order = []
        self.only_matrices = self.as_matrices = True
        self.fewer_than_two, self.largest = True, largest_value(dtype)
        self.core = _core.DictLearner(self.bits, MAX_COLUMNS, self.zeros)

    def _new_table(self) -> ClassTable:
        return ClassTable(multilabel=False)

    def _new_stack(self, dtype: str, **settings: Any) -> Stack | NumberStack:
        """Return a stack whose members the first rows will choose."""
        return new_stack(len(self.table), dtype=dtype, **settings)


class LabelStackRows(StackRows):
    """A stack of learners of label sets that trains on dicts."""

    def _new_table(self) -> ClassTable:
        return ClassTable(multilabel=True)

    def _new_stack(self, dtype: str, **settings: Any) -> Stack:
        return new_stack(len(self.table), dtype=dtype, multilabel=True, **settings)


class NumberStackRows(StackRows):
    """A stack of regressions that trains on dicts."""

    def _new_table(self) -> ClassTable:
        return one_output()

    def _new_stack(self, dtype: str, **settings: Any) -> NumberStack:
        return new_number_stack(dtype=dtype, **settings)

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
            if targets:
                labels, numbers = np.zeros(len(targets), np.int32), np.array(targets)[:, None]
                self.learner.learn(as_matrix(rows, self.learner.dtype), labels, targets=numbers)

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

    def interval(self, x: Row, coverage: float) -> tuple[float, float]:
        """Return the limits of the central interval of a row's number; infinite ones while errors are too few."""
        check_number("predict_interval_one", "coverage", coverage, UNIT)
        if not self.learner.names:
            return -np.inf, np.inf
        assert isinstance(self.learner, NumberStack)
        found = self._predict_row(x, "number_distribution")
        low, high = self.learner.intervals(found, coverage)[0, 0].tolist()
        return low, high

    def predict_frame(self, X: pd.DataFrame) -> pd.Series:
        """Return the expected number of each row."""
        import pandas as pd

        found = np.zeros(len(X))
        if self.learner.names:
            found = self._predict_rows(self._frame(X, training=False), "numbers")[:, 0]
        return pd.Series(found, index=X.index)
