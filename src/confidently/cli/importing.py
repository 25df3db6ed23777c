"""Imports of many modules, which take less time without the search for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Import modules without looking for garbage, of which they make none."""
    frozen = gc.get_freeze_count() > 0  # this process is the command's own: __main__
    gc.disable()
    try:
        yield
    finally:
        if frozen:
            gc.freeze()
        gc.enable()
