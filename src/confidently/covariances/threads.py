"""Threads of the BLAS, of which small products need one only."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

# Floating-point operations of a product from which several threads are worthwhile. Threads wait by spinning, so
# products of 150 columns take up to eighty times as long where other processes use the processors too.
WORTHWHILE = 2e7


def suitable_threads(operations: float) -> AbstractContextManager[Any]:
    """Return a context in which the BLAS uses one thread if its products have so few operations."""
    return nullcontext() if operations >= WORTHWHILE else _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> Any:
    """Return the control of the loaded libraries, of which SciPy brings one of its own."""
    import scipy.linalg.blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
