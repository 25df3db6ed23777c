"""NumPy, imported without threads of the BLAS by commands that multiply no matrices, as headers of models show."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..covariances.names import DIAGONAL

# Any of these is a choice of the user's.
SETTINGS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")

DAMAGED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)  # reported when the model is loaded
MODEL = b'{"__metadata__":{'  # how a model file begins, after a size in eight bytes


def import_numpy_alone() -> None:
    """Import NumPy without threads of OpenBLAS, whose start takes longer than that of the other modules together.

    The environment is as before afterwards: SciPy's BLAS and other processes have as many threads as ever.
    """
    if any(name in os.environ for name in SETTINGS):
        import numpy

        return
    os.environ[SETTINGS[0]] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[SETTINGS[0]]


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
