"""Threads for products of matrices: the package's own, each with a BLAS that has one thread.

The threads of a BLAS wait for each other by spinning. NumPy and SciPy may each bring a BLAS with as many threads as
there are processors: they compete for the processors with each other and with all other processes, so that products of
500 columns took ten times as long as in one thread. While a :class:`Crew` is open, every BLAS has one thread. Products
that are large enough are divided among the threads of the crew, which sleep while they wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# Floating-point operations in a row from which on a second thread is worth waking: about a millisecond.
WORTHWHILE = 1e8
TILE = 64  # the fewest rows of a product; fewer make products slower, more make calls of one row slower

Task = Callable[[int], None]  # takes the number of the thread that runs it


class Crew:
    """Threads that share tasks; the calling one is number 0, and the others start when they are first needed."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._others: ThreadPoolExecutor | None = None

    def run(self, tasks: Sequence[Task], operations: float) -> None:
        """Run all tasks, which may run at the same time; ``operations``: of all tasks together."""
        if min(self.threads, len(tasks)) < 2 or operations < WORTHWHILE:
            for task in tasks:
                task(0)
            return
        waiting = deque(tasks)
        others = self._start(waiting, min(self.threads, len(tasks)) - 1)
        try:
            _work(waiting, 0)
        finally:
            waiting.clear()
            for other in others:
                if not other.cancel():  # a thread that has not begun yet has nothing left to do
                    other.result()

    def _start(self, waiting: deque[Task], n: int) -> list[Future[None]]:
        if self._others is None:
            from concurrent.futures import ThreadPoolExecutor  # imported here to save start-up time

            self._others = ThreadPoolExecutor(self.threads - 1, "confidently products", _limit_helper)
        return [self._others.submit(_work, waiting, number + 1) for number in range(n)]

    def close(self) -> None:
        """End the other threads."""
        if self._others is not None:
            self._others.shutdown()
            self._others = None


def _work(waiting: deque[Task], number: int) -> None:
    while True:
        try:
            task = waiting.popleft()
        except IndexError:
            return
        task(number)


@contextmanager
def crew() -> Iterator[Crew]:
    """Return a context with a crew of as many threads as the BLAS would use, while every BLAS uses one."""
    with one_blas_thread() as threads:
        found = Crew(threads)
        try:
            yield found
        finally:
            found.close()


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """Limit every BLAS to one thread, and return how many threads they have otherwise.

    Most libraries have one limit for the whole process. It ends with the last of the contexts that are open at the same
    time, so learners may train side by side in threads of the caller. Those that use OpenMP have a limit per thread.
    """
    of_this_thread = _with_threads(_libraries()[1])
    _set_threads(of_this_thread, 1)
    _process.open()
    try:
        yield max(1, min((n for _, n in (*of_this_thread, *_process.found)), default=1))
    finally:
        _process.close()
        _set_threads(of_this_thread)


class _ProcessLimit:
    """The libraries with one limit for the process, and the numbers of threads to return to."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.found: list[tuple[Any, int]] = []

    def open(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.found = _with_threads(_libraries()[0])
                _set_threads(self.found, 1)

    def close(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                _set_threads(self.found)


_process = _ProcessLimit()


def _with_threads(libraries: list[Any]) -> list[tuple[Any, int]]:
    return [(library, library.get_num_threads()) for library in libraries]


def _set_threads(libraries: list[tuple[Any, int]], all_to: int | None = None) -> None:
    """Set the numbers of threads that are given with the libraries, or one number for all."""
    done = None
    for library, threads in libraries:
        if threads > 1:
            library.set_num_threads(all_to or threads)
            done = getattr(library, "clear_controlling_thread", None)
    if done is not None:
        done()  # threadpoolctl lets only one thread set a limit of the process, until that thread has finished


def _limit_helper() -> None:
    """Limit the libraries whose limits are of one thread, in a thread of a crew."""
    for library in _libraries()[1]:
        library.set_num_threads(1)


@cache
def _libraries() -> tuple[list[Any], list[Any]]:
    """Return the loaded BLAS libraries, those with one limit for the process and those with one per thread.

    SciPy brings a library of its own.
    """
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    per_thread = [library for library in found if getattr(library, "threading_layer", None) == "openmp"]
    return [library for library in found if library not in per_thread], per_thread
