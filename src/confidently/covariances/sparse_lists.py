"""Lists of stored weights, one per feature, in arrays that they share (core/covariances/sparse_weights.hpp)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _core
from ..memory import require_memory
from ..wording import counted
from .state import COUNT


class Entries(NamedTuple):
    """The stored weights, feature by feature and in the order of each list: their rows, columns and numbers."""

    rows: np.ndarray
    columns: np.ndarray
    numbers: dict[str, np.ndarray]


def places(lists: np.ndarray) -> np.ndarray:
    """Return the places of the entries of lists, which start and size give, one list after the other."""
    start, size = lists.T
    found: np.ndarray = np.repeat(start - (np.cumsum(size) - size), size)
    found += np.arange(len(found))
    return found


def capacity(size: np.ndarray) -> np.ndarray:
    """Return the numbers of places of lists of these sizes, as the core gives them."""
    exponent = np.frexp(np.maximum(size - 1, 0).astype(np.float64))[1]
    return np.where(size > 1, 1 << exponent.astype(np.int64), 2 * size)


def laid_out(
    arrays: dict[str, np.ndarray], start: np.ndarray, size: np.ndarray, spare: int = 0
) -> tuple[dict[str, np.ndarray], np.ndarray, int]:
    """Return arrays of the same lists without gaps, their starts and sizes, and the number of places that they take.

    If ``spare`` places are wanted beyond, there are at least as many as the lists take, so that they are wanted seldom.

    Raises
    ------
    MemoryError
        If they do not fit the memory.
    """
    end = np.cumsum(room := capacity(size))
    used = int(end[-1]) if len(end) else 0
    n = used + (max(used, spare) if spare else 0)
    require_memory(
        n * sum(array.itemsize for array in arrays.values()),
        f"room for {counted(n, 'weight')}",
        "hash the features into fewer columns, merge rare classes or use float32",
    )
    found = {name: np.zeros(n, array.dtype) for name, array in arrays.items()}
    for name, array in arrays.items():
        _core.copy_lists(np.ascontiguousarray(array), start, end - room, size, found[name])
    return found, np.column_stack([end - room, size]).astype(COUNT, copy=False), used
