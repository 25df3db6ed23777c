"""The first rows of a stack's stream, which choose its members: after 1, 10, 100 and 1,000 rows.

One row does not show what the columns are, nor do ten show which quantiles they have. So a stack keeps its first rows.
When 1, 10, 100 and 1,000 of them are known, they choose the members; where these differ from those before, the new ones
train on all rows kept. They choose as well when the first row comes that is longer than a narrow table is wide, since
members of narrow tables would cost more than in proportion to its columns. So members and state depend on the rows, and
not on how they were divided into calls, and after 1,000 rows they are those of a single call with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from .. import _core
from ..covariances.examples import Examples
from ..covariances.state import COUNT, REAL, State, check_within, within
from ..data.features import Strings
from ..data.memory.matrix import MAX_COLUMNS, check_rows, csr_matrix
from ..learner.recipe import ROWS_TO_CHOOSE
from ..rules.ranges import Range
from ..tasks.targets import MAX_TARGET
from ..views.columns import ZERO, Columns
from ..views.view import COUNTED, KIND, NUMBER

CHOICES = (1, 10, 100, ROWS_TO_CHOOSE)  # numbers of rows after which the members are chosen, the last time for good
LONG = 128  # values of a row that is longer: narrow tables have fewer columns
MAX_VALUES = 2**22  # that are kept: the row that reaches this number is the last of the first rows
EARLY = "early."  # what the names of the arrays in a model file begin with
OF_ROWS = VALUES, COLUMNS, START, LABELS, LABEL_START, WEIGHT, TARGETS, CLASSES = tuple(
    EARLY + name
    for name in ("values", "columns", "start", "labels", "label_start", "weight", "targets", "classes")
)  # fmt: skip
KINDS, TEXT, NAMES = (EARLY + name for name in ("kind", "text", "names"))


class Rows(NamedTuple):
    """Consecutive rows in the order of training.

    Attributes
    ----------
    values, columns, start : arrays
        The rows, in compressed sparse row form.
    labels : int32 array
    label_start : int64 array, optional
        Where the labels of each row start, if it has a set of them.
    weight : float64 array
        With the factors of classes.
    targets : float64 array of shape (n, numbers), optional
    classes : int32 array
        How many classes there were when each row was learned.
    groups : tuple of str, optional
        Values of the column by which sets cover.
    """

    values: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    labels: np.ndarray
    label_start: np.ndarray | None
    weight: np.ndarray
    targets: np.ndarray | None
    classes: np.ndarray
    groups: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.weight)

    @classmethod
    def of(cls, examples: Examples, n: int, n_classes: int, groups: Sequence[str] | None = None) -> Rows:
        """Return the first n of these examples, which are to be learned when there are so many classes."""
        block = examples.block(0, n)
        csr = _core.take_rows(examples.X, block.order, 0, n)
        if groups is not None:
            groups = [groups[row] for row in (range(n) if block.order is None else block.order.tolist())]
        weight = np.array(block.weights(), REAL)
        classes = np.full(n, n_classes, NUMBER)
        label_start, targets = _copied(block.label_start), _copied(block.targets)
        return cls(*csr, block.labels.copy(), label_start, weight, targets, classes, _tuple(groups))

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of several parts, of which there is one at least."""
        if len(parts) == 1:
            return parts[0]
        first, columns = parts[0], list(zip(*parts, strict=True))
        values, used, start, labels, label_start, weight, targets, classes, groups = columns
        return cls(
            np.concatenate(values), np.concatenate(used), _joined_starts(start), np.concatenate(labels),
            None if first.label_start is None else _joined_starts(label_start), np.concatenate(weight),
            None if first.targets is None else np.concatenate(targets), np.concatenate(classes),
            None if None in groups else tuple(value for part in groups for value in part),
        )  # fmt: skip

    def part(self, first: int, last: int) -> Rows:
        """Return rows ``first`` to ``last - 1``."""
        begin, end = self.start[first], self.start[last]
        labels, label_start = self.labels[first:last], None
        if self.label_start is not None:
            label_start = self.label_start[first : last + 1] - self.label_start[first]
            labels = self.labels[self.label_start[first] : self.label_start[last]]
        return Rows(
            self.values[begin:end], self.columns[begin:end], self.start[first : last + 1] - begin, labels, label_start,
            self.weight[first:last], None if self.targets is None else self.targets[first:last],
            self.classes[first:last], None if self.groups is None else self.groups[first:last],
        )  # fmt: skip

    def until_full(self, values: int) -> Rows:
        """Return these rows up to the one with which there are more than ``values`` values."""
        full = int(np.searchsorted(self.start[1:], values))
        return self if full >= self.n - 1 else self.part(0, full + 1)

    def by_classes(self) -> Iterator[Rows]:
        """Yield these rows in parts during which no class began."""
        cuts = [0, *(np.flatnonzero(np.diff(self.classes)) + 1).tolist(), self.n]
        for first, last in pairwise(cuts):
            if first < last:
                yield self.part(first, last)

    def matrix(self, n_columns: int, dtype: str) -> _core.Matrix:
        """Return the rows as a matrix."""
        matrix = csr_matrix(self.values, self.columns, self.start, n_columns)
        check_rows(matrix, dtype)
        return matrix

    def examples(self, n_columns: int, dtype: str) -> Examples:
        """Return the rows to train on."""
        X = self.matrix(n_columns, dtype)
        return Examples(X, self.labels, self.label_start, self.weight, targets=self.targets)


class Early(NamedTuple):
    """The first rows, as long as they may choose other members.

    Attributes
    ----------
    parts : tuple of Rows
    chosen : int
        By how many of the first rows the members were chosen, of which some may be still to come.
    n, values : int
        The number of rows, and that of values that are kept.
    long : int
        The number of rows with the first that is long; 0 if none is.
    """

    parts: tuple[Rows, ...] = ()
    chosen: int = 0
    n: int = 0
    values: int = 0
    long: int = 0

    def __deepcopy__(self, memo: object) -> Self:
        return self  # no array of it is written to

    @property
    def is_full(self) -> bool:
        """Whether these are all of the first rows."""
        return self.n >= ROWS_TO_CHOOSE or self.values >= MAX_VALUES

    @property
    def due(self) -> int:
        """By how many rows the members are to be chosen."""
        n = self.n
        return n if self.is_full else max((choice for choice in (*CHOICES, self.long) if choice <= n), default=0)

    def after(self, examples: Examples, n_classes: int, groups: Sequence[str] | None = None) -> Early:
        """Return the first rows with those of examples that still belong to them."""
        n = min(len(examples), ROWS_TO_CHOOSE - self.n)
        rows = Rows.of(examples, n, n_classes, groups).until_full(MAX_VALUES - self.values)
        return self._with(rows) if n else self

    def _with(self, rows: Rows) -> Early:
        long = np.flatnonzero(np.diff(rows.start) > LONG)
        first_long = self.long or (self.n + int(long[0]) + 1 if len(long) else 0)
        return Early((*self.parts, rows), self.chosen, self.n + rows.n, self.values + len(rows.values), first_long)

    @property
    def rows(self) -> Rows | None:
        """The rows together; ``None`` before the first."""
        return Rows.joined(self.parts) if self.parts else None

    # --- in a model file ------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return what is not an array, as plain data."""
        rows = self.rows
        groups = {} if rows is None or rows.groups is None else {"groups": list(rows.groups)}
        return {"chosen": self.chosen, **groups}

    def arrays(self, columns: Columns) -> State:
        """Return the arrays of a model file; ``columns`` is what is known about the features."""
        rows = self.rows
        if rows is None:
            return {}
        found = {name: array for name, array in zip(OF_ROWS, rows[:-1], strict=True) if array is not None}
        found[KINDS] = columns.kind
        if columns.names is not None:
            names = Strings.of([*columns.given_names(0)])
            found |= {TEXT: names.text, NAMES: names.start}
        return found

    @classmethod
    def of(cls, saved: Mapping[str, Any], arrays: State, n_features: int, n_classes: int) -> tuple[Early, Columns]:
        """Return the first rows of a header's entry and arrays, and the columns; ``ValueError`` if they do not fit."""
        rows = Rows._make([*map(arrays.get, OF_ROWS), _tuple(saved.get("groups"))])
        _check(rows, n_features, n_classes)
        kind, names = arrays[KINDS], None
        if kind.shape != (n_features,) or str(kind.dtype) != KIND:
            raise ValueError("the kinds of columns do not fit")
        check_within(KINDS, kind, Range(0, ZERO, closed_low=True, closed_high=True))
        if NAMES in arrays:
            names = [*Strings(arrays[TEXT], _starts(NAMES, arrays[NAMES], len(arrays[TEXT]), n_features))]
        return cls(chosen=saved["chosen"])._with(rows), Columns(kind, names)


def _check(rows: Rows, n_features: int, n_classes: int) -> None:
    """Raise ``ValueError`` unless these may be the first rows."""
    n = rows.n
    types = {"values": REAL, "columns": NUMBER, "start": COUNT, "labels": NUMBER, "weight": REAL, "classes": NUMBER}
    if rows.label_start is not None:
        types["label_start"] = COUNT
    for name, dtype in types.items():
        array = getattr(rows, name)
        if array.ndim != 1 or str(array.dtype) != dtype:
            raise ValueError(f"{EARLY}{name} has another type")
    _starts(START, rows.start, len(rows.values), n)
    if rows.label_start is not None:
        _starts(LABEL_START, rows.label_start, len(rows.labels), n)
    lengths = [len(rows.columns) == len(rows.values), len(rows.classes) == n, n < ROWS_TO_CHOOSE]
    lengths += [rows.label_start is not None or len(rows.labels) == n, rows.groups is None or len(rows.groups) == n]
    if rows.targets is not None:
        lengths.append(rows.targets.shape == (n, n_classes))
        check_within(TARGETS, rows.targets, within(MAX_TARGET))
    if not all(lengths):
        raise ValueError("the first rows do not fit together")
    check_within(COLUMNS, rows.columns, Range(0, min(n_features, MAX_COLUMNS), closed_low=True))
    check_within(LABELS, rows.labels, Range(0, max(n_classes, 1), closed_low=True))
    check_within(CLASSES, rows.classes, Range(0, n_classes, closed_low=True, closed_high=True))
    check_within(WEIGHT, rows.weight, COUNTED)
    if (np.diff(rows.classes) < 0).any() or not np.isfinite(rows.values).all():
        raise ValueError("the first rows have other classes or values")


def _starts(name: str, start: np.ndarray, entries: int, n: int) -> np.ndarray:
    """Return where n parts of so many entries start, checked."""
    if str(start.dtype) != COUNT or start.shape != (n + 1,) or start[0] != 0 or start[-1] != entries:
        raise ValueError(f"{name} does not fit")
    if (np.diff(start) < 0).any():
        raise ValueError(f"{name} does not ascend")
    return start


def _joined_starts(starts: Sequence[np.ndarray]) -> np.ndarray:
    """Return where the parts of several arrays start, one after the other."""
    lengths = np.concatenate([np.diff(start) for start in starts])
    return np.concatenate([[0], np.cumsum(lengths)]).astype(COUNT)


def _copied(array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else array.copy()


def _tuple(groups: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if groups is None else tuple(groups)
