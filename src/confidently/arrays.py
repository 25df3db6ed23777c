"""Arrays: rows of different lengths, and the classes of rows of scores.

Rows of different lengths are flat arrays, as in CSR: row ``i`` holds entries ``start[i]`` to ``start[i + 1] - 1``.
"""

from __future__ import annotations

import numpy as np

ROUNDING, TINY = 1e-8, 1e-300  # of eigenvalues, beside the largest diagonal entry


def row_starts(sizes: np.ndarray) -> np.ndarray:
    """Return where rows of these sizes start, and where the last one ends."""
    return np.append(0, np.cumsum(sizes))


def row_entries(start: np.ndarray, rows: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the entries of some rows, row by row, and where each row starts among them.

    >>> row_entries(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    size = (start[1:] - start[:-1])[rows]
    new_start = row_starts(size)
    return np.repeat(start[:-1][rows] - new_start[:-1], size) + np.arange(new_start[-1]), new_start


def row_numbers(start: np.ndarray) -> np.ndarray:
    """Return the row of every entry."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def is_finite(array: np.ndarray) -> bool:
    """Return whether no number of an array is infinite or NaN."""
    return bool(np.isfinite(array).all())


def lies_within(array: np.ndarray, low: float, high: float) -> bool:
    """Return whether all numbers of an array lie between two, which may be among them."""
    return not array.size or bool(low <= array.min() and array.max() <= high)


def is_definite(matrices: np.ndarray) -> bool:
    """Return whether matrices, shape (n, d, d), are symmetric and have no negative eigenvalue, up to rounding."""
    for matrix in matrices:
        rounding = ROUNDING * np.diagonal(matrix).max(initial=0.0) + TINY
        if not np.abs(matrix - matrix.T).max(initial=0.0) <= rounding:
            return False
        try:
            np.linalg.cholesky(matrix + rounding * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            return False
    return True


def predicted_numbers(scores: np.ndarray) -> np.ndarray:
    """Return the class number of every row: that of its largest score; of two classes, 1 where the score is positive.

    >>> predicted_numbers(np.array([-0.5, 0.5])), predicted_numbers(np.array([[0.1, 0.3, 0.2]]))
    (array([0, 1]), array([1]))
    """
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
