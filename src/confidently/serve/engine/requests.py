"""Requests to the engine: what waits in its queues, and how answers reach those who wait for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..problems import Problem
from ..waiting import Waiting, stopping

if TYPE_CHECKING:
    from ..log.event_log import EventLog
    from ..model.hosted import Hosted
    from ..model.learning import Example

Work = Callable[["EventLog", "Request"], Any]


class Request:
    """One request, answered by a thread of the engine.

    Parameters
    ----------
    work : callable
        Called by that thread; its result is the answer, or the exception that it raises. In the log thread it gets the
        log and the request; an exception must leave the log as it was. In the learner thread, a request as the result
        is one that the log thread is to answer.
    rows, size : int
        Rows and bytes that it keeps waiting.
    wait : bool
        Whether to answer only when :attr:`examples` are learned.

    Attributes
    ----------
    examples : list
        What the models will learn of it, once it is durable.
    batch : int, optional
        To which its rows belong.
    committed, reverted : list of callables
        Called in the log thread: once it is durable, or once it is certain not to become so.
    """

    __slots__ = (
        "_answered", "_future", "_loop", "batch", "committed", "examples", "result", "reverted", "rows", "since",
        "size",
        "wait", "work",
    )  # fmt: skip

    def __init__(self, work: Work, rows: int = 1, size: int = 0, wait: bool = False) -> None:
        self.work, self.rows, self.size, self.wait = work, rows, size, wait
        self.examples: list[tuple[Hosted, Example]] = []
        self.committed: list[Callable[[], None]] = []
        self.reverted: list[Callable[[], None]] = []
        self.result: Any = None
        self.batch: int | None = None
        self.since = 0.0  # on the monotonic clock: when it was queued
        self._loop: asyncio.AbstractEventLoop | None = None
        self._future: asyncio.Future[Any] | None = None
        self._answered: threading.Event | None = None

    def future(self) -> asyncio.Future[Any]:
        """Return the answer as a future of the running event loop; called before the request is queued."""
        self._loop = asyncio.get_running_loop()
        self._future = self._loop.create_future()
        return self._future

    def blocking(self) -> Request:
        """Prepare :meth:`answer`; called before the request is queued."""
        self._answered = threading.Event()
        return self

    def answering(self, question: Request) -> Request:
        """Answer those who wait for a question with the answer to this request."""
        self._loop, self._future, self._answered = question._loop, question._future, question._answered
        return self

    def answer(self) -> Any:
        """Wait for the answer; return or raise it."""
        assert self._answered is not None
        self._answered.wait()
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    def refuse(self, seq: int, problem: Problem) -> None:
        """Answer with a problem for the rows whose receipts name an event."""
        if isinstance(self.result, list):
            self.result = [problem if getattr(one, "seq", None) == seq else one for one in self.result]

    def _resolve(self) -> None:
        future = self._future
        if future is None or future.done():  # the client has gone
            return
        if isinstance(self.result, BaseException):
            future.set_exception(self.result)
        else:
            future.set_result(self.result)


class RowsQuestion(Request):
    """A question about rows of a model without labels, answered together with others of its kind.

    Parameters
    ----------
    hosted : Hosted
    lines : list of bytes
        The features of the rows.
    """

    __slots__ = ("hosted", "lines")

    def __init__(self, hosted: Hosted, lines: list[bytes]) -> None:
        super().__init__(lambda log, request: None, len(lines))
        self.hosted, self.lines = hosted, lines


class LearnedQuestion(Request):
    """A question about a model, answered when it has learned the rows that wait for that now.

    Parameters
    ----------
    hosted : Hosted
    work : callable

    Attributes
    ----------
    seq : int or None
        The last event of these rows; None before the learner thread has seen the question.
    """

    __slots__ = ("hosted", "seq")

    def __init__(self, hosted: Hosted, work: Work) -> None:
        super().__init__(work)
        self.hosted = hosted
        self.seq: int | None = None

    def is_early(self) -> bool:
        """Return whether some of these rows still wait; called by the learner thread, which takes them."""
        waiting = self.hosted.waiting
        if self.seq is None:
            self.seq = waiting[-1][0].seq if waiting else 0
        return bool(waiting) and waiting[0][0].seq <= self.seq


class RequestQueue:
    """The requests that wait for a thread.

    Parameters
    ----------
    waiting : Waiting
        Counts them.
    what : str
        What waits, for messages.

    Attributes
    ----------
    requests : deque of Request
    changed : Condition
        Held while the queue is used; notified when the thread has something to do.
    closing : bool
        Whether new requests are rejected.
    """

    def __init__(self, waiting: Waiting, what: str) -> None:
        self.waiting, self.what = waiting, what
        self.requests: deque[Request] = deque()
        self.changed, self.closing = threading.Condition(), False

    def put(self, request: Request) -> None:
        """Queue a request.

        Raises
        ------
        Problem
            If too many wait already, or the thread ends.
        """
        with self.changed:
            if self.closing:
                raise stopping()
            self.waiting.enter(request.rows, request.size, self.what)
            request.since = time.monotonic()
            self.requests.append(request)
            self.changed.notify()

    @property
    def age(self) -> float:
        """Seconds for which the oldest request has waited; of any thread."""
        try:
            return time.monotonic() - self.requests[0].since
        except IndexError:
            return 0.0

    def close(self) -> None:
        """Reject new requests."""
        with self.changed:
            self.closing = True
            self.changed.notify()


def deliver(requests: Iterable[Request]) -> None:
    """Tell those who wait that their requests are answered; each event loop is woken once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Request]] = {}
    for request in requests:
        if request._answered is not None:
            request._answered.set()
        if request._loop is not None:
            by_loop.setdefault(request._loop, []).append(request)
    for loop, answered in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_resolve_all, answered)


def _resolve_all(requests: list[Request]) -> None:
    for request in requests:
        request._resolve()
