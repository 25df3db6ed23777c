"""Rows as scikit-learn validates them, with errors that name what is wrong in them."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ...wording import counted
from ..formats.number_forms import is_number
from .frames import is_frame

ROWS = "an array of shape (n, d), a sparse matrix, a data frame, or a list of rows"
MAX_SHOWN = 40  # characters of a value, in a message


def validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Return what ``validate_data`` of scikit-learn makes of X (and y).

    Raises
    ------
    TypeError, ValueError
        As scikit-learn raises them; where these say what NumPy could not do, what is wrong in X instead.
    """
    try:
        return validate_data(estimator, X, *y, **options)
    except (TypeError, ValueError) as error:
        ragged = [_ragged("y", labels) for labels in y if isinstance(labels, list | tuple)]
        if (wrong := next(filter(None, [_wrong(X), *ragged]), None)) is None:
            raise
        raise type(error)(wrong) from error


def _wrong(X: Any) -> str | None:
    """Return what is wrong in rows that NumPy makes no numbers of; None: scikit-learn says it."""
    if X is None or isinstance(X, str | bytes | dict) or not (isinstance(X, Sized) or hasattr(X, "__array__")):
        return f"X must be {ROWS}, got {'None' if X is None else f'a {type(X).__name__}'}"
    if is_frame(X) or hasattr(X, "tocsr") or not len(X):
        return None
    if isinstance(X, list | tuple) and (ragged := _ragged("X", X)) is not None:
        return ragged
    array = np.asarray(X, dtype=object)
    for place, value in np.ndenumerate(array) if array.ndim == 2 else ():
        if isinstance(value, str) and not is_number(value):
            at = "row {}, column {}".format(*place)
            return f"X has {value[:MAX_SHOWN]!r} in {at}, which is not a number; pass strings in a data frame"
    return None


def _ragged(name: str, rows: Sequence[Any]) -> str | None:
    """Return which row of a list has other values than the first one, if there is one."""
    sizes = [len(row) if isinstance(row, Sized) and not isinstance(row, str) else None for row in rows]
    if (other := next((i for i, size in enumerate(sizes) if size != sizes[0]), None)) is None:
        return None
    first, second = ("no list" if size is None else counted(size, "value") for size in (sizes[0], sizes[other]))
    return f"the rows of {name} must have as many values each, got {first} in row 0 and {second} in row {other}"
