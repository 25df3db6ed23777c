"""Work in background threads, with results in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import Any

from .whole_files import WINDOWS

JOIN_SECONDS = 0.5  # parsing a chunk takes a hundredth of it; only a read that waits for input takes longer
SIGNAL_SECONDS = 0.1 if WINDOWS else None  # Windows notices no signal while waiting for a lock

Turn = AbstractContextManager[None]
Work = Callable[[Any, Turn], Any]


class _Workers:
    """Threads that take items one after the other and keep the results until they are requested."""

    def __init__(self, items: Iterable[Any], works: Sequence[Work], ahead: int) -> None:
        self.items, self.ahead = iter(items), ahead
        self.taking, self.changed = threading.Lock(), threading.Condition()
        self.taken = self.given = self.turn = 0
        self.over = self.stopped = False
        self.ready: dict[int, tuple[str, Any]] = {}
        # daemons: a read of standard input that never returns must not keep the program from ending
        self.threads = [
            threading.Thread(target=self._run, args=(work,), name="confidently-reader", daemon=True) for work in works
        ]
        try:
            for thread in self.threads:
                thread.start()
        except RuntimeError as error:  # the system has no room for another
            self.threads = [thread for thread in self.threads if thread.is_alive()]
            self.stop()
            raise MemoryError(str(error)) from None

    def _run(self, work: Work) -> None:
        while (taken := self._take()) is not None:
            index, item = taken
            try:
                self._put(index, "item", work(item, self._turn_of(index)))
            except BaseException as error:
                self._put(index, "error", error)
            del taken, item  # whose memory is reused while this thread waits

    def _take(self) -> tuple[int, Any] | None:
        with self.taking:
            with self.changed:
                self.changed.wait_for(lambda: self.stopped or self.taken - self.given < self.ahead)
                if self.stopped or self.over:
                    return None
                index, self.taken = self.taken, self.taken + 1
            try:
                return index, next(self.items)
            except StopIteration:
                self._put(index, "end", None)
            except BaseException as error:
                self._put(index, "error", error)
            self.over = True
            return None

    def _put(self, index: int, kind: str, item: Any) -> None:
        with self.changed:
            self.ready[index] = kind, item
            self.changed.notify_all()

    @contextmanager
    def _turn_of(self, index: int) -> Iterator[None]:
        """Enter in the order of items; after an error none enters."""
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or self.turn == index)
            if self.stopped:
                raise InterruptedError("reading was stopped")
        yield
        with self.changed:
            self.turn = index + 1
            self.changed.notify_all()

    def get(self, index: int) -> tuple[str, Any]:
        with self.changed:
            while not self.changed.wait_for(lambda: index in self.ready, SIGNAL_SECONDS):
                pass
            self.given = index + 1
            self.changed.notify_all()
            return self.ready.pop(index)

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        for thread in self.threads:
            if thread is not threading.current_thread():  # where the collector of garbage may find a generator
                thread.join(JOIN_SECONDS)  # compiled code must not run while the interpreter exits


def processors() -> int:
    """Return the number of processors for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(items: Iterable[Any], works: Sequence[Work], ahead: int) -> Generator[Any]:
    """Yield the results of items in their order, with each worker in a thread of its own.

    Parameters
    ----------
    items : iterable
        Taken by one thread at a time, at most ``ahead`` before their results are requested.
    works : sequence of callable
        Each takes an item and a context manager that is entered in the order of items, and returns a result. An
        exception is raised here instead of the result, and ends everything.
    ahead : int
        0: nothing is done ahead, and everything in the calling thread, by the first worker.
    """
    if not ahead:
        for item in items:
            yield works[0](item, nullcontext())
        return
    workers = _Workers(items, works, ahead)
    try:
        for index in count():
            kind, item = workers.get(index)
            if kind == "error":
                raise item
            if kind == "end":
                return
            yield item
    finally:
        workers.stop()


def in_background(items: Iterable[Any], ahead: int) -> Generator[Any]:
    """Yield the same items, made in a background thread at most ``ahead`` before they are requested."""
    return in_order(items, [lambda item, turn: item], ahead)
