"""Threads in which the members of a stack learn and predict side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..data.sources.background import processors

MAX_THREADS = 8
ROWS_PER_THREAD = 256  # rows of a call from which on threads are worth it

_one_thread = ContextVar("one_thread", default=False)


class InTurn(Executor):
    """Runs what is submitted at once, in the thread that submits it."""

    def submit(self, run: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Return what was run."""
        done: Future[Any] = Future()
        try:
            done.set_result(run(*args, **options))
        except BaseException as error:
            done.set_exception(error)
        return done


@contextmanager
def members_in_turn() -> Iterator[None]:
    """Train members in the calling thread only, within this context: other learners use the other processors."""
    token = _one_thread.set(True)
    try:
        yield
    finally:
        _one_thread.reset(token)


def threads_for(groups: int, rows: int) -> Executor:
    """Return what runs groups of members side by side, or in turn where there are too few rows."""
    n = 1 if _one_thread.get() else min(groups, processors(), MAX_THREADS)
    return ThreadPoolExecutor(n) if n > 1 and rows >= ROWS_PER_THREAD else InTurn()
