"""Threads in which the members of a stack learn and predict side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TypeVar

from ..data.sources.background import processors

MAX_THREADS = 8
ROWS_PER_THREAD = 256  # rows of a call from which on threads are worth it

Group = TypeVar("Group")

_one_thread = ContextVar("one_thread", default=False)


@contextmanager
def members_in_turn() -> Iterator[None]:
    """Train members in the calling thread only, within this context: other learners use the other processors."""
    token = _one_thread.set(True)
    try:
        yield
    finally:
        _one_thread.reset(token)


def threads_for(groups: int, rows: int) -> AbstractContextManager[Executor | None]:
    """Return a context with threads for groups of members, or with none where there are too few rows."""
    n = 1 if _one_thread.get() else min(groups, processors(), MAX_THREADS)
    return ThreadPoolExecutor(n) if n > 1 and rows >= ROWS_PER_THREAD else nullcontext()


def run(task: Callable[[Group], None], groups: Iterable[Group], threads: Executor | None) -> None:
    """Run a task for every group of members: side by side, or without threads in turn."""
    if threads is None:
        for group in groups:
            task(group)
        return
    begun = [threads.submit(task, group) for group in groups]
    wait(begun)  # for all of them, before one that failed is undone
    for one in begun:
        one.result()
