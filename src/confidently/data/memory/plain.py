"""Arrays that scikit-learn's validation returns as they are, recognized in a microsecond; validation takes hundreds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

REAL = (np.dtype(np.float64), np.dtype(np.float32))
KINDS = "biuU"  # of labels that need no look at their values


def is_plain_matrix(X: Any) -> bool:
    """Return whether ``X`` is an array or CSR matrix of real numbers with at least one row and one column."""
    kind = type(X)
    if kind is not np.ndarray and kind is not csr_matrix and kind is not csr_array:
        return False
    return X.dtype in REAL and X.ndim == 2 and X.shape[0] > 0 and X.shape[1] > 0


def is_plain_labels(y: Any, n: int) -> bool:
    """Return whether ``y`` is an array of ``n`` integers, booleans or strings."""
    return type(y) is np.ndarray and y.ndim == 1 and len(y) == n and y.dtype.kind in KINDS


def is_plain_targets(y: Any, n: int) -> bool:
    """Return whether ``y`` is an array of ``n`` finite numbers in double precision."""
    return type(y) is np.ndarray and y.shape == (n,) and y.dtype == np.float64 and bool(np.isfinite(y).all())
