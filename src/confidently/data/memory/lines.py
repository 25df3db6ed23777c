"""Lists of dicts and of texts as the lines of a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from math import isfinite, isinf, isnan
from typing import Any

import numpy as np

from ..batch import DataError
from ..formats.table import OBJECTS, TEXTS
from ..sources.in_memory import InMemory

MISSING = ("NAType", "NaTType")  # of pandas


def are_dicts(X: Any) -> bool:
    """Return whether ``X`` is a list of dicts, by its first entry."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping)


def are_texts(X: Any) -> bool:
    """Return whether ``X`` is a list, an array or a column of strings, by its first entry."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and isinstance(X[0], str)
    if len(getattr(X, "shape", ())) != 1 or X.shape[0] == 0 or not hasattr(X, "__iter__"):
        return False
    return isinstance(next(iter(X)), str)


def of_dicts(rows: Sequence[Mapping[Any, Any]]) -> InMemory:
    """Return dicts as JSON lines; NaN is a missing value, and dates and times are in ISO 8601.

    Raises
    ------
    DataError
        If a row is no dict, or a value has no counterpart in JSON.
    """
    dates: dict[str, None] = {}
    lines = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise DataError(f"X, row {number}: expected a dict, got {row!r}")
        try:
            lines.append(json.dumps(json_value(row, "", dates)))
        except (TypeError, ValueError) as error:
            raise DataError(f"X, row {number}: {error}") from None
    return InMemory(OBJECTS, _joined(lines), len(lines), tuple(dates))


def of_texts(texts: Iterable[Any]) -> InMemory:
    """Return texts as the lines of a file without labels; a missing one is empty.

    Raises
    ------
    DataError
        If one is no text.
    """
    lines = ["\t" + text.replace("\n", " ").replace("\r", " ") for text in checked_texts(texts)]
    return InMemory(TEXTS, _joined(lines), len(lines))


def checked_texts(texts: Iterable[Any]) -> Iterator[str]:
    """Yield texts, in place of a missing one an empty one.

    Raises
    ------
    DataError
        If one is no text.
    """
    for number, text in enumerate(texts, 1):
        if not (isinstance(text, str) or _is_missing(text)):
            raise DataError(f"X, row {number}: expected a text, got {text!r}")
        yield text if isinstance(text, str) else ""


def _joined(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode(errors="replace")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value)) or type(value).__name__ in MISSING


def json_value(value: Any, path: str, dates: dict[str, None]) -> Any:
    """Return a value as JSON has it; note the paths at which there are dates.

    Raises
    ------
    TypeError, ValueError
        If it has no counterpart in JSON.
    """
    kind = type(value)
    if kind is str or kind is int or (kind is float and isfinite(value)):  # the usual case
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if _is_missing(value):
        return None
    if isinstance(value, float) and isinf(value):
        raise ValueError(f"{path!r} is {value}; leave it out, or impute it")
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (date, time)):  # of which datetime is one
        dates[path] = None
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {
            str(key): json_value(inner, f"{path}.{key}" if path else str(key), dates) for key, inner in value.items()
        }
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [json_value(inner, path, dates) for inner in value]
    raise TypeError(f"{path!r} holds a {type(value).__name__}, which is no number, string, date, dict or list")
