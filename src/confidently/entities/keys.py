"""Keys of entities: taken out of rows, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..data import DataError
from ..data.memory.frames import arrow_table, is_frame
from ..data.memory.lines import are_dicts
from ..similar import hint
from ..wording import counted, listed

Key = str | int
KINDS = {str: "strings", int: "integers"}
MAX_INTEGER = 2**63  # in files they have 64 bits


def without_key(X: Any, column: str | None, key: Any, y: Any = None) -> tuple[Any, list[Key]]:
    """Return rows without the column of keys, and the keys.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d); list of n dicts or of n texts
    column : str, optional
        The name of the column.
    key : sequence of n keys, optional
        The keys, if no column has them.
    y : object
        Labels, or the name of the column that has them.

    Raises
    ------
    DataError, ValueError, TypeError
        If there are no keys, or invalid ones; the message names the first row that has one.
    """
    if key is not None:
        return X, checked_keys(key, _n_rows(X))
    if column is None:
        raise ValueError("there are no keys; name their column, as in EntityModels(key='user'), or pass key=")
    if isinstance(y, str) and column == y:
        raise ValueError(f"key={column!r} is the column of labels; name another one")
    if is_frame(X):
        table = arrow_table(X)
        if column not in table.column_names:
            raise DataError(_missing(column, table.column_names))
        return table.drop_columns([column]), checked_keys(table[column].to_pylist(), table.num_rows)
    if are_dicts(X):
        return _of_dicts(X, column)
    raise ValueError(f"key={column!r} is the name of a column, and X has no names; pass the keys of its rows as key=")


def checked_keys(keys: Any, n_rows: int | None = None) -> list[Key]:
    """Return keys as Python's own strings or integers, all of one type.

    Raises
    ------
    TypeError, ValueError
        For another type, a missing key, or another number of keys than of rows.
    """
    if isinstance(keys, str | bytes | Mapping) or not hasattr(keys, "__iter__"):
        raise TypeError(f"key: expected a key per row, got {keys!r}")
    found: list[Any] = keys.tolist() if hasattr(keys, "tolist") else list(keys)
    if n_rows is not None and len(found) != n_rows:
        raise ValueError(f"X has {counted(n_rows, 'row')}, key has {len(found):,}; they must have as many")
    kinds = set(map(type, found))
    if kinds <= {str} or (kinds <= {int} and -MAX_INTEGER <= min(found, default=0) <= max(found) < MAX_INTEGER):
        return found
    return [_checked(key, number, found) for number, key in enumerate(found, 1)]


def kind_of_keys(keys: Sequence[Key]) -> type | None:
    """Return the type of keys; ``None`` if there are none."""
    return type(keys[0]) if keys else None


def _checked(key: Any, number: int, all_keys: list[Any]) -> Key:
    if key is None or type(key).__name__ in ("NAType", "NaTType") or (isinstance(key, float) and np.isnan(key)):
        raise ValueError(f"key, row {number}: the key is missing; drop such rows, or give them a key of their own")
    if isinstance(key, str):
        found: Key = str(key)
    elif isinstance(key, Integral) and not isinstance(key, bool | np.bool_):
        found = int(key)
        if not -MAX_INTEGER <= found < MAX_INTEGER:
            raise ValueError(f"key, row {number}: {found} has more than 64 bits; use a string")
    else:
        raise TypeError(f"key, row {number}: expected a string or an integer, got {key!r} ({type(key).__name__})")
    first = str if isinstance(all_keys[0], str) else int
    if type(found) is not first:
        raise TypeError(
            f"key, row {number}: expected {KINDS[first]} as in row 1, got {key!r}; keys are all strings or all integers"
        )
    return found


def _of_dicts(rows: Sequence[Mapping[Any, Any]], column: str) -> tuple[list[dict[Any, Any]], list[Key]]:
    others, keys = [], []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise DataError(f"X, row {number}: expected a dict, got {row!r}")
        if column not in row:
            raise DataError(f"X, row {number}: {_missing(column, list(map(str, row)))}")
        rest = dict(row)
        keys.append(rest.pop(column))
        others.append(rest)
    return others, checked_keys(keys)


def _missing(column: str, columns: Sequence[str]) -> str:
    return f"there is no column {column!r} of keys{hint(column, columns)}; there are {listed(list(columns))}"


def _n_rows(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)
