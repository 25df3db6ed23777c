"""What the threads of the engine share: how much may wait, how much does, and what has failed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from .problems import Problem


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much waits at most, and how long things are kept.

    Attributes
    ----------
    waiting_rows, waiting_bytes : int
        Rows that wait for the log or the learner, and questions that wait for the learner; beyond, requests are
        refused.
    snapshot_events : int
    snapshot_seconds : float
        A snapshot is due after so many events, or so much time if there was any event.
    keep_predictions : float
        Seconds for which predictions wait for their label.
    """

    waiting_rows: int = 20_000
    waiting_bytes: int = 256 << 20
    snapshot_events: int = 50_000
    snapshot_seconds: float = 60.0
    keep_predictions: float = 30 * 86_400.0


class Waiting:
    """Rows and bytes that wait, from when a request is taken until its rows are learned.

    Parameters
    ----------
    limits : Limits

    Attributes
    ----------
    rows, size : int
    """

    def __init__(self, limits: Limits) -> None:
        self.limits, self.rows, self.size = limits, 0, 0
        self._lock = threading.Lock()

    def enter(self, rows: int, size: int, what: str) -> None:
        """Count what begins to wait.

        Raises
        ------
        Problem
            If too much waits already. An empty queue takes anything, whatever its size.
        """
        with self._lock:
            if self.rows > 0 and (
                self.rows + rows > self.limits.waiting_rows or self.size + size > self.limits.waiting_bytes
            ):
                raise Problem("overloaded", f"more {what} wait than the server keeps; send this again in a second")
            self.rows += rows
            self.size += size

    def add(self, rows: int, size: int) -> None:
        """Count what waits in any case; negative numbers: what no longer does."""
        with self._lock:
            self.rows += rows
            self.size += size


class Failure:
    """Why nothing can be acknowledged any more.

    Attributes
    ----------
    reason : str or None
        None while all is well.
    notify : callable
        Called when there is a reason.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.notify: Callable[[], None] = lambda: None

    def set(self, reason: str) -> None:
        """Fail. The first reason counts."""
        self.reason = self.reason or reason
        self.notify()

    def of_fault(self, error: BaseException) -> Problem:
        """Fail by a fault of the server; return the problem for those who wait. The log has what was acknowledged."""
        self.set(f"a fault of the server ended its work ({type(error).__name__}: {error})")
        return self.problem()

    def problem(self) -> Problem:
        """Return the problem of a request that cannot be taken."""
        return Problem("log-failed", f"{self.reason}; the server takes no more rows")


def stopping() -> Problem:
    """Return the problem of a request that comes too late."""
    return Problem("stopping", "the server is being stopped; send the request again to the next one")
