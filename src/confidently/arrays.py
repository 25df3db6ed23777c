"""Rows of different lengths in flat arrays, as in CSR: row ``i`` holds entries ``start[i]`` to ``start[i + 1] - 1``."""

from __future__ import annotations

import numpy as np


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
