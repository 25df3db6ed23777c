"""Arrays: new ones that need no NumPy, rows of different lengths, and the classes of rows of scores.

Rows of different lengths are flat arrays, as in CSR: row ``i`` holds entries ``start[i]`` to ``start[i + 1] - 1``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import _core
from .late import numpy as np

TYPES = {  # names, by format
    "d": "float64", "f": "float32", "l": "int64", "q": "int64", "i": "int32", "I": "uint32", "b": "int8", "B": "uint8",
}  # fmt: skip
BYTES = {  # of a number
    "float64": 8, "float32": 4, "int64": 8, "int32": 4, "uint32": 4, "int8": 1, "uint8": 1,
}  # fmt: skip


def zeros(shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
    """Return an array of zeros: NumPy's if that is imported, otherwise one of the core that needs no NumPy."""
    return _core.zeros(shape, dtype) if _core.makes_plain_arrays() else np.zeros(shape, dtype)


def numbered(first: int, last: int, wide: bool = False) -> np.ndarray:
    """Return the numbers ``first`` to ``last - 1``, as int32 or, if ``wide``, as int64."""
    if _core.makes_plain_arrays():
        return _core.numbered(first, last, wide)
    return np.arange(first, last, dtype=np.int64 if wide else np.int32)


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rows of one or more arrays of a type as one array."""
    if all(isinstance(part, _core.PlainArray) for part in parts):
        return _core.joined(parts)
    return np.concatenate(parts)


def contiguous(array: np.ndarray, dtype: str | None = None) -> np.ndarray:
    """Return an array in C order, and of a type, copied only if it is in another or of another."""
    if isinstance(array, _core.PlainArray) and dtype in (None, type_of(array)):
        return array if array.data.c_contiguous else array.copy()
    return np.ascontiguousarray(array, dtype)


def zeros_like(array: np.ndarray, n: int) -> np.ndarray:
    """Return zeros of the same type, in n rows of the same shape."""
    if isinstance(array, _core.PlainArray):
        return array.zeros_like(n)
    return np.zeros((n, *array.shape[1:]), array.dtype)


def array_of(numbers: Sequence[float], dtype: str = "float64") -> np.ndarray:
    """Return an array of some numbers, which needs no NumPy either."""
    if not _core.makes_plain_arrays():
        return np.array(numbers, dtype=dtype)
    array = _core.zeros((len(numbers),), dtype)
    for at, number in enumerate(numbers):
        array[at] = number
    return array


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


def type_of(array: np.ndarray) -> str:
    """Return the name of the type of an array's numbers."""
    return TYPES[array.data.format] if isinstance(array, _core.PlainArray) else str(array.dtype)


def is_finite(array: np.ndarray) -> bool:
    """Return whether no number of an array is infinite or NaN."""
    if isinstance(array, _core.PlainArray):
        return not array.size or (math.isfinite(array.min()) and math.isfinite(array.max()))
    return bool(np.isfinite(array).all())


def lies_within(array: np.ndarray, low: float, high: float) -> bool:
    """Return whether all numbers of an array lie between two, which may be among them."""
    return not array.size or bool(low <= array.min() and array.max() <= high)


def predicted_numbers(scores: np.ndarray) -> np.ndarray:
    """Return the class number of every row: that of its largest score; of two classes, 1 where the score is positive.

    >>> predicted_numbers(np.array([-0.5, 0.5])), predicted_numbers(np.array([[0.1, 0.3, 0.2]]))
    (array([0, 1]), array([1]))
    """
    if isinstance(scores, _core.PlainArray):
        scores = contiguous(scores, "float64")
        return _core.positive_numbers(scores) if scores.ndim == 1 else _core.largest_numbers(scores)
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
