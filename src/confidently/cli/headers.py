"""What the header of a model file says, before anything is imported that reads the file."""

from __future__ import annotations

import json
import os
from typing import Any

DAMAGED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)  # reported when the model is loaded
MODEL = b'{"__metadata__":{'  # how a model file begins, after a size in eight bytes


def kind_of_model(path: str) -> str | None:
    """Return the kind of a model file, without reading its arrays; ``None`` if it has none."""
    try:
        kind: str | None = _header(path).get("kind")
    except DAMAGED:
        return None
    return kind


def _header(path: str) -> dict[str, Any]:
    if not os.path.isfile(path):  # a pipe can be read only once
        raise ValueError(path)
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not file.peek(len(MODEL)).startswith(MODEL):
            raise ValueError(path)
        header: dict[str, Any] = json.loads(json.loads(file.read(size))["__metadata__"]["confidently"])
        return header
