"""Dense and sparse arrays as matrices of the core, checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _core
from ...arrays import row_starts

# Larger values are errors: their squares, times variances, must fit the type of the state.
MAX_VALUE = {"float64": 1e100, "float32": 1e10}
MAX_WEIGHT = 1e9  # of an example
MIN_WEIGHT = 1e-100  # of an example, unless it is 0: a noise divided by it stays finite
MAX_COLUMNS = 2**31 - 2  # the core has 32-bit columns, and the intercept takes one


class UnsortedColumns(ValueError):
    """A sparse row has columns that are out of order or repeated."""


def as_matrix(X: Any, dtype: np.dtype | str = "float64", check: bool = True) -> _core.Matrix:
    """Return the core's view of ``X``, which is copied only if its layout or type requires it.

    Parameters
    ----------
    X : array of shape (n, d), SciPy sparse matrix or array
        Real numbers; duplicate entries of a sparse row are summed.
    dtype : {"float64", "float32"}
        Type of the state that the matrix is for, which bounds the absolute values.
    check : bool
        With False, :meth:`Learner.learn` checks the rows while learning, which saves a pass over them, and raises
        :class:`UnsortedColumns` if sparse rows are not in order.

    Raises
    ------
    ValueError
        If a value is not finite or too large, a column is out of range, or the shape is not two-dimensional; the
        message gives row, column and value.
    """
    sparse = hasattr(X, "tocsr")
    X = X.tocsr() if sparse else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional (rows, features), got an array of shape {X.shape}")
    if X.shape[1] > MAX_COLUMNS:
        raise ValueError(
            f"X has {X.shape[1]} columns, at most {MAX_COLUMNS} are possible; hash the features into fewer columns"
        )
    matrix = _csr(X) if sparse else _core.dense(np.ascontiguousarray(X, dtype=_value_type(X.dtype)))
    if not check:
        return matrix
    try:
        check_rows(matrix, dtype)
    except UnsortedColumns:
        X = X.copy()
        X.sum_duplicates()
        matrix = _csr(X)
        check_rows(matrix, dtype)
    return matrix


def check_weight(weight: float) -> None:
    """Raise ``ValueError`` unless an example may have this weight."""
    if not 0.0 <= weight <= MAX_WEIGHT:
        raise ValueError(f"weight must be in 0 to {MAX_WEIGHT:g}, got {weight!r}")
    if 0.0 < weight < MIN_WEIGHT:
        raise ValueError(f"weight must be 0 or at least {MIN_WEIGHT:g}, got {weight!r}; use 0 to leave the row out")


def check_rows(matrix: _core.Matrix, dtype: np.dtype | str) -> None:
    """Raise ``ValueError`` for the first entry that a state of this type must not learn from."""
    refuse(matrix.fault(largest_value(dtype)), matrix.shape[1], dtype)
    matrix.checked = largest_value(dtype)


def is_checked(matrix: _core.Matrix, dtype: np.dtype | str) -> bool:
    """Return whether a state of this type may learn from the matrix without checking it."""
    return 0 < matrix.checked <= largest_value(dtype)


def largest_value(dtype: np.dtype | str) -> float:
    """Return the largest absolute value for a state of this type."""
    return MAX_VALUE[str(dtype)]


def refuse(fault: tuple[str, int, int, float] | None, n_columns: int, dtype: np.dtype | str) -> None:
    """Raise the error of a fault found by the core; ``None``: there is none."""
    if fault is None:
        return
    reason, row, column, value = fault
    if reason == "order":
        raise UnsortedColumns(f"row {row} of X has columns that are out of order or repeated; sort and sum them first")
    if reason == "column":
        _refuse_column(row, column, n_columns)
    what = "NaN" if math.isnan(value) else "infinity" if math.isinf(value) else f"{value:g}"
    raise ValueError(
        f"X contains {what} in row {row}, column {column}; values must be finite and at most {largest_value(dtype):g} "
        f"in size for a {dtype} model (no NaN, no inf); impute, drop or rescale them"
    )


def _csr(X: Any) -> _core.Matrix:
    wide = X.indices.dtype != np.int32 and ((X.indices < 0) | (X.indices >= X.shape[1]))
    if np.any(wide):
        entry = int(np.argmax(wide))
        _refuse_column(int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry]), X.shape[1])
    return csr_matrix(X.data, X.indices, X.indptr, X.shape[1])


def _refuse_column(row: int, column: int, n_columns: int) -> None:
    raise ValueError(f"row {row} of X has column {column}, expected 0 to {n_columns - 1}")


def csr_matrix(
    values: np.ndarray, columns: np.ndarray, start: np.ndarray, n_columns: int, checked: float = 0.0
) -> _core.Matrix:
    """Return the core's view of CSR arrays; ``checked`` guarantees that columns ascend and that no value is larger."""
    values = np.ascontiguousarray(values, dtype=_value_type(values.dtype))
    columns, start = np.ascontiguousarray(columns, dtype=np.int32), np.ascontiguousarray(start, dtype=np.int64)
    matrix = _core.csr(values, columns, start, n_columns)
    matrix.checked = checked
    return matrix


def _value_type(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "c":
        raise ValueError("Complex data not supported: features must be real numbers")
    return dtype if str(dtype) in MAX_VALUE else np.dtype("float64")


def without_missing(X: Any) -> Any:
    """Return an array of a frame, in which NaN is a missing value, as a CSR matrix without these entries."""
    missing = np.isnan(X) if isinstance(X, np.ndarray) else np.zeros(0, dtype=bool)
    if not missing.any():
        return X
    from scipy.sparse import csr_matrix as matrix_of_scipy

    start = row_starts((~missing).sum(axis=1))
    return matrix_of_scipy((X[~missing], np.nonzero(~missing)[1], start), shape=X.shape)
