"""Which columns of a table moved: whether the values of each could have come in any other order.

An alarm tells that classes or numbers come as they were not expected; this tells which columns have other values than
before. Columns are compared with themselves (core/tasks/moved_columns.hpp), without labels and without the learner.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Self

import numpy as np

from .. import _core
from ..arrays import is_finite

MOVED = "moved."  # the arrays of a model file begin with it
MAX_COLUMNS = 256  # of tables that are watched: beyond are words, pixels and the like
NEAR = 250  # rows that were looked at, within which of an alarm columns are said to have moved with it
SIZE, PER_COLUMN, FIRST_ROWS, AT_COUNTS, AT_ROW, REPEATED = _core.moved_columns_sizes()
WIDTH, TIMES, FILLED, COMPARED = 3, 4, 5, 6  # in the state
OFTEN = 0.1  # of the rows that were looked at, from which on rows are said to repeat
MAX_ROWS = 2.0**52


class MovedColumns(NamedTuple):
    """What is known of the columns of rows. It is replaced, and never written to.

    Attributes
    ----------
    state : array of shape (SIZE,)
        Counters, and hashes of the first rows.
    by_column : array of shape (PER_COLUMN, 1 + columns)
        Edges, counts and bets by column. The first column is none of the table's, and always zero.
    first : array of shape (n, 1 + columns)
        The first rows, of which there are ``FIRST_ROWS`` or none but while they are gathered.
    """

    state: np.ndarray
    by_column: np.ndarray
    first: np.ndarray

    def __deepcopy__(self, memo: object) -> Self:
        return self  # no array of it is written to

    @classmethod
    def begun(cls) -> Self:
        """Return what is known before the first row."""
        state = np.zeros(SIZE)
        _core.moved_columns_begin(state)
        return cls(state, np.zeros((PER_COLUMN, 1)), np.zeros((0, 1)))

    def after(self, X: _core.Matrix, rows: np.ndarray | None, n_columns: int) -> Self:
        """Return what is known after rows of a matrix of so many columns at most, in this order or as they come."""
        gathered = len(self.first)
        state, by_column = self.state.copy(), _wider(self.by_column, n_columns)
        first = np.zeros((FIRST_ROWS, by_column.shape[1]))
        first[:gathered] = _wider(self.first, n_columns)
        _core.moved_columns_learn(state, by_column, first, X, rows)
        return type(self)(state, by_column, first[: int(state[FILLED]) % FIRST_ROWS])

    @property
    def last_rows(self) -> dict[int, int]:
        """The row at which each column moved last, of those that did, by number."""
        rows = self.by_column[AT_ROW, 1:]
        return {int(column): int(rows[column]) for column in np.flatnonzero(rows)}

    @property
    def times(self) -> int:
        """How often columns have moved; those that do so together count once."""
        return int(self.state[TIMES])

    @property
    def repeats(self) -> bool:
        """Whether rows are often equal to one of the first ones, as those of few kinds are."""
        return bool(self.state[REPEATED] > OFTEN * self.state[COMPARED])

    @property
    def near(self) -> float:
        """The number of rows from an alarm within which columns are said to have moved with it."""
        return NEAR * _core.moved_columns_rows_per_look(self.state[WIDTH])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays, by their names in a model file, without columns that have been zero so far."""
        width = 1 + int(self.state[WIDTH])
        return {MOVED + name: array[..., : width if array.ndim > 1 else None] for name, array in self._asdict().items()}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return what :meth:`arrays` has, checked; ``KeyError`` or ``ValueError`` unless it is that."""
        found = cls(*(arrays[MOVED + name] for name in cls._fields))
        if found.state.shape == (REPEATED,):  # of a file that does not know whether rows repeat
            found = found._replace(state=np.append(found.state, np.zeros(SIZE - REPEATED)))
        found._check()
        return found

    def _check(self) -> None:
        """Raise ``ValueError`` unless the arrays fit together, and the numbers are those that a file may hold."""
        width = self.by_column.shape[-1]
        filled = float(self.state[FILLED]) if self.state.shape == (SIZE,) else math.nan
        shapes = [(SIZE,), (PER_COLUMN, width), (filled % FIRST_ROWS, width)]
        arrays = [np.asarray(array) for array in self]
        if [array.shape for array in arrays] != shapes or not 1 <= width <= 1 + MAX_COLUMNS:
            raise ValueError("what is known of moved columns does not fit together")
        if any(str(array.dtype) != "float64" or not is_finite(array) for array in arrays):
            raise ValueError("what is known of moved columns has values that are not finite numbers")
        rows, following, group_end, *_ = self.state
        counts = np.concatenate([self.state, self.by_column[AT_COUNTS:].ravel()])
        if (
            (counts < 0.0).any()
            or not rows <= following < group_end <= MAX_ROWS
            or filled > FIRST_ROWS
            or (self.state > MAX_ROWS).any()
        ):
            raise ValueError("what is known of moved columns has counts that are out of range")


def moved_after(
    known: MovedColumns | None, X: _core.Matrix, order: np.ndarray | None, weight: np.ndarray | None, n_columns: int
) -> MovedColumns | None:
    """Return what is known after rows of training, of so many columns; None if these are too many.

    ``order`` and ``weight`` are those of :meth:`confidently.learner.learner.Learner.learn`.
    """
    if n_columns > MAX_COLUMNS:
        return None
    if weight is not None and not (weight > 0.0).all():
        rows = np.arange(len(weight)) if order is None else order
        order = rows[weight[rows] > 0.0]
    return (MovedColumns.begun() if known is None else known).after(X, order, n_columns)


def moved_near(known: MovedColumns | None, rows_since_alarm: int) -> list[int] | None:
    """Return the numbers of the columns that moved near an alarm so many rows ago; None if that is not known (yet).

    Columns that move are found later than alarms where there are many of them.
    """
    if known is None:
        return None
    alarm = known.state[0] - rows_since_alarm
    found = [column for column, row in known.last_rows.items() if abs(row - alarm) <= known.near]
    return found if found or rows_since_alarm > known.near else None


def _wider(array: np.ndarray, n_columns: int) -> np.ndarray:
    """Return a copy with room for so many columns, which have been zero so far."""
    more = 1 + n_columns - array.shape[1]
    if more <= 0:
        return array.copy()
    return np.concatenate([array, np.repeat(array[:, :1], more, axis=1)], axis=1)
