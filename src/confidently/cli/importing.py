"""Imports of many modules, which take less time without the search for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_own_process = False  # whether __main__ turned the collector off until a command runs


def begin_collecting() -> None:
    """Look for garbage from now on; in a process of the command's own, not among modules, which stay to its end."""
    global _own_process
    if not gc.isenabled():
        _own_process = True
        gc.freeze()
    gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Import modules without looking for garbage, of which they make none."""
    gc.disable()
    try:
        yield
    finally:
        if _own_process:
            gc.freeze()
        gc.enable()
