"""Rows in memory that are read as the rows of files are: frames and lists of dicts."""

from __future__ import annotations

from typing import Any

from ..sources.in_memory import InMemory
from .frames import is_frame, of_frame
from .lines import are_dicts, of_dicts


def in_memory(data: Any) -> InMemory | None:
    """Return a data frame or a list of dicts as what readers take in place of a file; ``None`` for other data."""
    if isinstance(data, InMemory):
        return data
    if is_frame(data):
        return of_frame(data)
    return of_dicts(data) if are_dicts(data) else None
