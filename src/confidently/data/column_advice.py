"""Warnings about columns of numbers that may not be features: ids, timestamps, and one that swamps the others.

Only the first rows are examined, and mostly the very first of them, so that the advice costs little.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import floor
from typing import Any, Protocol

import numpy as np

from .. import _core
from ..wording import typed
from .batch import Batch
from .features import Strings
from .memory.matrix import MAX_COLUMNS, csr_matrix
from .reading import ReaderOptions, date_features
from .warning import DataWarning, warn

MIN_ROWS = 200  # fewer do not show what a column is
FIRST_ROWS = 16  # in which every column is looked at, for those that may be meant
SOME_ROWS = 256  # whose squared length is compared
MANY_ROWS = 4096  # of a column that may be an id or a timestamp
DOMINANT_FRACTION, FIRST_FRACTION = 0.99, 0.5  # of the squared length, and of that of the very first rows
# n integers drawn independently from R are all different with probability exp(-n^2/2R): below 5e-5 for R = n^2/20.
ROWS_SQUARED_PER_INTEGER = 20
DATES = (19_000_101, 21_001_231)  # written as the integer yyyymmdd
# Seconds since 1970, from 1990 to 2100. So that no sum of money is taken for one, times must lie within 30 years.
SECONDS, SECONDS_SPAN = (631_152_000, 4_102_444_800), 30 * 366 * 86_400
PARTS_OF_DATES = "replace it by features such as the hour"
CODES = (-999, -99, -9, -1, 9, 99, 999, 9999)  # which surveys write for missing answers
MIN_NUMBERS, MIN_GAP = 4, 2  # different numbers; distance of a positive code, in ranges of the others
UNITS = (1, 10**3, 10**6, 10**9)  # of timestamps, per second


class _Rows(Protocol):
    """Rows whose columns can be examined one by one."""

    def first(self) -> tuple[int, _core.Matrix]:
        """Return how many columns there are, or 0 if only the rows show it, and the very first rows."""

    def squared_length(self, rows: int) -> float:
        """Return the sum of the squares of all values in the first rows."""

    def values(self, column: int, rows: int) -> np.ndarray:
        """Return the values of a column in the first rows."""


class _DenseRows:
    def __init__(self, X: np.ndarray) -> None:
        self.X = X

    def first(self) -> tuple[int, _core.Matrix]:
        return self.X.shape[1], _core.dense(np.ascontiguousarray(self.X[:FIRST_ROWS], dtype=np.float64))

    def squared_length(self, rows: int) -> float:
        some = self.X[:rows].astype(np.float64, copy=False)
        return float(np.einsum("ij,ij->", some, some))

    def values(self, column: int, rows: int) -> np.ndarray:
        return self.X[:rows, column].astype(np.float64)


class _SparseRows:
    def __init__(self, entries: np.ndarray, columns: np.ndarray, start: np.ndarray) -> None:
        self.entries, self.columns, self.start = entries, columns, start

    def first(self) -> tuple[int, _core.Matrix]:
        start = self.start[: FIRST_ROWS + 1]
        return 0, csr_matrix(self.entries[: start[-1]], self.columns[: start[-1]], start, MAX_COLUMNS)

    def squared_length(self, rows: int) -> float:
        some = self.entries[: self.start[min(rows, len(self.start) - 1)]].astype(np.float64, copy=False)
        return float(some @ some)

    def values(self, column: int, rows: int) -> np.ndarray:
        rows = min(rows, len(self.start) - 1)
        at = np.flatnonzero(self.columns[: self.start[rows]] == column)
        found = np.zeros(rows)
        found[np.searchsorted(self.start, at, side="right") - 1] = self.entries[at]
        return found


def warn_of_array_columns(X: Any, names: Sequence[str] | None, viewed: bool) -> None:
    """Warn of columns of a matrix of rows that may not be features.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    names : sequence of str, optional
        Names of the columns; by default their numbers, from 0.
    viewed : bool
        Whether a view makes the rows that the learner sees, so that no column of ``X`` can swamp the others.
    """
    if X.shape[0] >= MIN_ROWS:
        rows = _SparseRows(X.data, X.indices, X.indptr) if hasattr(X, "tocsr") else _DenseRows(X)
        _warn_of(rows, viewed, partial(_name_of, names), "view='standard'", "leave it out", PARTS_OF_DATES)


def _name_of(names: Sequence[str] | None, column: int) -> str:
    """Return the name of a column of a matrix in messages."""
    return str(column) if names is None else repr(names[column])


def warn_of_batch_columns(batches: Iterable[Batch], reading: ReaderOptions | None, viewed: bool) -> Iterator[Batch]:
    """Yield the same batches; warn of columns of the first one that may not be features."""
    for number, batch in enumerate(batches):
        if number == 0 and len(batch) >= MIN_ROWS:
            tabular = reading is not None and reading.file_format.columns
            leave_out = "leave it out with --drop" if tabular else "leave it out"
            read_dates = "read it as dates with --dates" if tabular else PARTS_OF_DATES
            rows = _SparseRows(batch.values, batch.columns, batch.start)
            name_of, dates = partial(_name_in, batch, reading), _features_of_dates(batch, reading)
            _warn_of(rows, viewed, name_of, "--view standard", leave_out, read_dates, dates)
            if tabular and batch.new_features is not None:
                _warn_of_codes(batch, batch.new_features.names)
        yield batch


def _features_of_dates(batch: Batch, reading: ReaderOptions | None) -> list[int]:
    """Return the columns of the first batch that dates became, which are no ids even if they ascend."""
    if reading is None or not reading.dates or batch.new_features is None:
        return []
    wanted = {name for column in reading.dates for name in date_features(column)}
    return [column for column, name in enumerate(batch.new_features.names) if name in wanted]


def _name_in(batch: Batch, reading: ReaderOptions | None, column: int) -> str:
    """Return the name of a column of the first batch in the data."""
    if batch.new_features is None:
        return str(column + (0 if reading is None else reading.first_index))
    (name,) = batch.new_features.names.take(np.array([column]))
    return repr(name)


def _warn_of(
    rows: _Rows, viewed: bool, name_of: Callable[[int], str], view: str, leave_out: str, read_dates: str,
    dates: Sequence[int] = (),
) -> None:  # fmt: skip
    n_columns, first = rows.first()
    n_filled, ids, times, dominant = _core.suspects(first, DATES[0], FIRST_FRACTION)
    if viewed:
        dominant = -1
    suspects = sorted({*ids}.difference(dates) | {*times})
    if (n_columns or n_filled) < 2 or not (suspects or dominant >= 0):
        return
    with np.errstate(all="ignore"):  # invalid values are reported by training
        for column, text in _found(rows, suspects, dominant, view, leave_out, read_dates):
            warnings.warn(f"column {name_of(column)} {text}", DataWarning, stacklevel=4)


def _found(
    rows: _Rows, suspects: Iterable[int], dominant: int, view: str, leave_out: str, read_dates: str
) -> Iterator[tuple[int, str]]:
    """Yield suspicious columns, with what they are and what to do; ``dominant`` is -1 if none may be."""
    found = set()
    for column in suspects:
        values = rows.values(column, MANY_ROWS)
        if _is_time(values):
            found.add(column)
            like = f"looks like a timestamp ({values[0]:.0f} in the first row)"
            yield column, f"{like}; {leave_out}, or {read_dates}"
        elif _is_id(values):
            found.add(column)
            like = f"has a different integer in each of the first {len(values):,} rows"
            yield column, f"{like}; if it is an id, {leave_out}"
    if dominant >= 0 and dominant not in found:
        column, values = dominant, rows.values(dominant, SOME_ROWS)
        part = float(values @ values) / rows.squared_length(SOME_ROWS)
        if part >= DOMINANT_FRACTION:
            like = f"makes up {floor(1000 * part) / 10:.1f} % of the squared length of the rows"
            yield column, f"{like}, so that the others hardly count; use {view}, or {leave_out}"


def _is_id(values: np.ndarray) -> bool:
    """Return whether integers all differ, as they would not by chance: one after the other, or in a small range."""
    if not (values == np.rint(values)).all():
        return False
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return True
    n, extent = len(values), float(np.ptp(values))
    return extent * ROWS_SQUARED_PER_INTEGER <= n * n and len(np.unique(values)) == n


def _warn_of_codes(batch: Batch, names: Strings) -> None:
    """Warn of columns of integers in the first batch with one far from the others, such as 99 for a missing answer."""
    rows = _SparseRows(batch.values, batch.columns, batch.start)
    some = slice(0, batch.start[min(len(batch), SOME_ROWS)])
    is_code = np.logical_or.reduce([batch.values[some] == code for code in CODES])
    for column in sorted({*batch.columns[some][is_code].tolist()}):
        values = rows.values(column, MANY_ROWS)
        if (code := _code_among(values)) is not None:
            [name] = names.take(np.array([column]))
            warn(
                f"column {name!r} is {code} in {100 * np.mean(values == code):.0f} % of the first rows, far from its "
                f"other numbers; if it means missing, leave these cells empty, or use --category {typed(name)}"
            )


def _code_among(values: np.ndarray) -> int | None:
    """Return a number that seems to stand for a missing value among integers; ``None`` if there is none."""
    counts = Counter(values.tolist())
    numbers = sorted(counts)
    if len(numbers) < MIN_NUMBERS or not all(map(float.is_integer, numbers)):
        return None
    low, high, next_high = numbers[0], numbers[-1], numbers[-2]
    if high in CODES and counts[high] > 1 and high - next_high > MIN_GAP * (next_high - low):
        return int(high)
    return int(low) if low in CODES and low < 0 <= numbers[1] and counts[low] > 1 else None


def _is_time(values: np.ndarray) -> bool:
    """Return whether all values are dates, or seconds, milliseconds, ... since 1970, and not all the same."""
    low, high = float(values.min()), float(values.max())
    if not low < high:
        return False
    for unit in UNITS:
        if unit * SECONDS[0] <= low and high <= unit * SECONDS[1]:
            return high - low <= unit * SECONDS_SPAN
    if not (DATES[0] <= low and high <= DATES[1] and (values == np.rint(values)).all()):
        return False
    month, day = values // 100 % 100, values % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())
