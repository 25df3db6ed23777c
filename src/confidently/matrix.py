"""Matrices at the door: any dense or sparse array becomes the core's matrix, or one clear error."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core

# Larger values are refused: their squares, times variances, must stay inside the state's type.
LARGEST_VALUE = {np.dtype("float64"): 1e100, np.dtype("float32"): 1e15}
MOST_COLUMNS = 2**31 - 2  # columns are 32-bit numbers in the core, and the intercept takes one


def as_matrix(X: Any, dtype: np.dtype | str = "float64") -> _core.Matrix:
    """The core's view of ``X``; copied only where layout or type demand it.

    Parameters
    ----------
    X : array of shape (n, d), SciPy sparse matrix or array
        Real numbers; duplicate entries of a sparse row are summed.
    dtype : {"float64", "float32"}
        Type of the state the matrix is for; it bounds the values' size.

    Raises
    ------
    ValueError
        If a value is not finite or too large, a column is out of range, or the shape is not two-dimensional; the
        message gives row, column and value.
    """
    if hasattr(X, "tocsr"):
        return _sparse(X.tocsr(), np.dtype(dtype))
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional (rows, features), got an array of shape {X.shape}")
    _check_columns(X.shape[1])
    matrix = _core.dense(np.ascontiguousarray(X, dtype=_value_type(X.dtype)))
    _refuse(matrix, np.dtype(dtype))
    return matrix


def _sparse(X: Any, dtype: np.dtype) -> _core.Matrix:
    _check_columns(X.shape[1])
    matrix = _csr(X)
    if _refuse(matrix, dtype):
        X = X.copy()
        X.sum_duplicates()
        matrix = _csr(X)
        _refuse(matrix, dtype)
    return matrix


def _csr(X: Any) -> _core.Matrix:
    wide = X.indices.dtype != np.int32 and ((X.indices < 0) | (X.indices >= X.shape[1]))
    if np.any(wide):
        entry = int(np.argmax(wide))
        _refuse_column(int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry]), X.shape[1])
    return csr_matrix(X.data, X.indices, X.indptr, X.shape[1])


def _refuse_column(row: int, column: int, n_columns: int) -> None:
    raise ValueError(f"row {row} of X has column {column}, allowed are 0 to {n_columns - 1}")


def csr_matrix(values: np.ndarray, columns: np.ndarray, start: np.ndarray, n_columns: int) -> _core.Matrix:
    """The core's view of the three arrays of a CSR matrix, unchecked."""
    values = np.ascontiguousarray(values, dtype=_value_type(values.dtype))
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    return _core.csr(values, columns, np.ascontiguousarray(start, dtype=np.int64), n_columns)


def _value_type(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "c":
        raise ValueError("Complex data not supported: features must be real numbers")
    return dtype if dtype in LARGEST_VALUE else np.dtype("float64")


def _check_columns(n: int) -> None:
    if n > MOST_COLUMNS:
        raise ValueError(f"X has {n} columns, at most {MOST_COLUMNS} are possible; hash the features into fewer")


def _refuse(matrix: _core.Matrix, dtype: np.dtype) -> bool:
    """Raise on the first bad entry; True if a sparse row has duplicate or unsorted columns."""
    fault = matrix.fault(LARGEST_VALUE[dtype])
    if fault is None:
        return False
    reason, row, column, value = fault
    if reason == "order":
        return True
    if reason == "column":
        _refuse_column(row, column, matrix.shape[1])
    what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
    raise ValueError(
        f"X contains {what} in row {row}, column {column}; values must be finite and at most {LARGEST_VALUE[dtype]:g} "
        f"in size for a {dtype} model (no NaN, no inf): impute, drop or rescale them"
    )
