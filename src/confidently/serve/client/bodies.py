"""The bodies of requests: rows and labels of dicts, data frames and NumPy's scalars, as JSON has them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from ...data.memory.frames import arrow_table, is_frame
from ...data.memory.lines import json_value


def new_id() -> str:
    """Return an id that no other row has."""
    return secrets.token_hex(12)


def plain(features: Any) -> Any:
    """Return features as JSON has them, read as confidently reads dicts."""
    if not isinstance(features, Mapping):
        raise TypeError(f"features: expected a dict, got {features!r:.80}")
    return json_value(features, "", {})


def plain_label(label: Any) -> Any:
    """Return a label as JSON has it; columns of whole numbers with missing ones are floats."""
    found = json_value(label, "label", {})
    return int(found) if isinstance(found, float) and found.is_integer() else found


def plain_row(row: Mapping[str, Any], id: str | None = None) -> dict[str, Any]:
    """Return a row, whatever it has, as JSON has it."""
    found = dict(row) if id is None else {"id": id, **row}
    if "features" in found:
        found["features"] = plain(found["features"])
    if "label" in found:
        found["label"] = plain_label(found["label"])
    return found


def plain_rows(rows: Any, columns: Mapping[str, str | None] | None) -> Iterator[dict[str, Any]]:
    """Yield the bodies of rows: with ``columns``, of tables, whose labels, ids and weights are columns.

    Raises
    ------
    TypeError, ValueError
        If a row is no dict, a column is missing, or a value has no counterpart in JSON; with the number of the row.
    """
    if is_frame(rows):
        rows = arrow_table(rows).to_pylist()
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {number}: expected a dict, got {row!r:.80}")
        try:
            yield plain_row(row if columns is None else _parted(row, columns))
        except (TypeError, ValueError) as error:
            raise type(error)(f"row {number}: {error}") from None


def labelled_rows(rows: Any, label: str | None, id: str | None, weight: str | None) -> Iterator[dict[str, Any]]:
    """Return the bodies of rows with labels: with ``label``, of tables."""
    if label is None and is_frame(rows):
        raise ValueError("rows is a data frame; name its column of labels: label=...")
    return plain_rows(rows, None if label is None else {"label": label, "id": id, "weight": weight})


def _parted(row: Mapping[str, Any], columns: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the row of a table with its label, its id and its weight beside its features."""
    features, found = dict(row), dict[str, Any]()
    for name, column in columns.items():
        if column is None:
            continue
        if column not in features:
            raise ValueError(f"there is no column {column!r}; the columns are {', '.join(map(str, row))}"[:200])
        found[name] = features.pop(column)
    if "id" in found:
        found["id"] = str(found["id"])
    return {"features": features} | found
