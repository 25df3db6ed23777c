"""Symmetric matrices in model files: the lower triangle, row by row, which is half as large."""

from __future__ import annotations

import numpy as np

from .state import State

SUFFIX = ".triangle"
MATRICES = ("covariance", "precision")
LEAST = 64  # rows from which on a matrix is halved


def packed(arrays: State) -> State:
    """Return the arrays with the triangles of large matrices in their place.

    Those of earlier versions may differ from their transposes in the last bit; they stay as they are.
    """
    found: State = {}
    for name, array in arrays.items():
        is_large = name in MATRICES and array.shape[-1] >= LEAST
        if is_large and np.array_equal(array, array.swapaxes(-1, -2)):
            found[name + SUFFIX] = np.concatenate([array[..., i, : i + 1] for i in range(array.shape[-1])], axis=-1)
        else:
            found[name] = array
    return found


def unpacked(arrays: State, size: int) -> State:
    """Return the arrays with whole matrices of so many rows."""
    found: State = {}
    for name, array in arrays.items():
        whole = name.removesuffix(SUFFIX)
        if name == whole or whole not in MATRICES:
            found[name] = array
            continue
        if array.shape[-1:] != (size * (size + 1) // 2,):
            raise ValueError(f"{name} has the shape {list(array.shape)}, not that of {size} rows")
        matrix = found[whole] = np.empty((*array.shape[:-1], size, size), array.dtype)
        for i in range(size):
            first = i * (i + 1) // 2
            matrix[..., i, : i + 1] = matrix[..., : i + 1, i] = array[..., first : first + i + 1]
    return found
