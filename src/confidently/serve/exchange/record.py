"""What the forms of other tools become: rows with a label, and who gave it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

MAX_ID, MAX_NAME = 256, 64  # characters, of the id of a row and the name of a labeller


class Labelled(NamedTuple):
    """A row with its label; ``features`` is a JSON object."""

    id: str
    features: bytes
    label: str | list[str]
    by: str | None


def content_id(tool: str, features: bytes) -> str:
    """Return the id of a row that has none: equal rows have the same."""
    return f"{tool}-{hashlib.sha256(features).hexdigest()[:24]}"


def own_id(value: Any) -> str | None:
    """Return the id that an export has written, if it is one."""
    return value if isinstance(value, str) and 0 < len(value) <= MAX_ID else None


def own_name(value: Any) -> str | None:
    """Return the name of a labeller, if there is one."""
    return value[:MAX_NAME] if isinstance(value, str) and value else None


def columns_of(data: bytes, columns: Collection[str] = ()) -> bytes:
    """Return some columns of a JSON object, or all, as they are written.

    Raises
    ------
    ValueError
        If it is no object.
    """
    try:
        parts = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        raise ValueError("expected an object with the columns of the row") from None
    return msgspec.json.encode({name: part for name, part in parts.items() if not columns or name in columns})


def one_of(choices: list[str], multilabel: bool) -> str | list[str] | None:
    """Return choices as the label of a row; None if there is none.

    Raises
    ------
    ValueError
        If there are several where rows have one label.
    """
    if multilabel:
        return choices
    if len(choices) > 1:
        raise ValueError(f"{len(choices)} choices, and the model has one label per row; make it with multilabel")
    return choices[0] if choices else None
