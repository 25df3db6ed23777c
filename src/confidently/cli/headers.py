"""What the header of a model file says, before anything is imported that reads the file."""

from __future__ import annotations

import json
import os
from typing import Any

from ..covariances.names import DIAGONAL

DAMAGED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)  # reported when the model is loaded
MODEL = b'{"__metadata__":{'  # how a model file begins, after a size in eight bytes


def is_diagonal(path: str) -> bool:
    """Return whether a file is a model whose covariances are all diagonal, without reading its arrays."""
    try:
        header = _header(path)
        learners = header.get("members") or [header]
        return all(one["settings"]["covariance"] == DIAGONAL for one in learners if "settings" in one)
    except DAMAGED:
        return False


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
