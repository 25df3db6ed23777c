"""The log thread: takes all requests that wait, writes their events in one transaction, and answers them when that is
durable. It has the only connection to the log."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any

import apsw
import msgspec

from ..log.event_log import EventLog
from ..log.events import DEADLINE, Event, note_of, now
from ..model.hosted import Hosted
from ..model.learning import Example
from ..model.rows import labelled_line
from ..problems import Problem, problem_of
from ..waiting import Failure, Waiting, stopping
from .queue_thread import QueueThread
from .requests import Request, RequestQueue, Work, deliver

ROWS_PER_COMMIT = 512
FULL_SECONDS = 1.0  # between two tries to write answers on a full disk
EXPIRE_SECONDS, OVERDUE_SECONDS = 60.0, 1.0
DISK_ERRORS = (
    apsw.IOError, apsw.CorruptError, apsw.NotADBError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.BusyError
)  # fmt: skip


class LogThread(QueueThread):
    """The thread that writes the log.

    Parameters
    ----------
    log : EventLog
    hosted : dict
        The models by their names.
    waiting : Waiting
    failure : Failure
    pass_on : callable
        Given the requests whose examples are durable and not learned yet.

    Attributes
    ----------
    committed_in : callable
        Called with the seconds that each commit took.
    """

    def __init__(
        self, log: EventLog, hosted: dict[str, Hosted], waiting: Waiting, failure: Failure,
        pass_on: Callable[[list[Request]], None],
    ) -> None:  # fmt: skip
        super().__init__("log", RequestQueue(waiting, "rows"))
        self.log, self.hosted, self.waiting, self.failure, self.pass_on = log, hosted, waiting, failure, pass_on
        self.committed_in: Callable[[float], None] = lambda seconds: None
        self._long: deque[tuple[Request, Generator[Any]]] = deque()  # work that is done in steps, between commits
        self._not_before = self._expire_next = 0.0  # on the monotonic clock: for answers on a full disk, for old rows
        self._overdue_next = 0.0  # for decisions without a reward

    def submit(self, request: Request) -> None:
        """Queue a request; raise a ``Problem`` if too much waits already, or the thread ends."""
        self._queue.put(request)

    def stop(self) -> None:
        """Write what was taken, and end."""
        self._queue.close()
        self._thread.join()

    def write(self, work: Work) -> Any:
        """Do work at once, in a transaction of its own, and return its result; called in this thread."""
        request = Request(work, rows=0)
        self._commit([request])
        if isinstance(request.result, BaseException):
            raise request.result
        return request.result

    def _run(self) -> None:
        group = list[Request]()
        try:
            while not (self._queue.closing and not self._queue.requests):
                group = self._taken()
                if group or self._is_due():
                    self._commit(group)
                if self._long and not self._queue.closing:
                    self._step_of_long_work()
        except BaseException as error:
            problem = self.failure.of_fault(error)
            self._queue.close()
            _refuse_all([*group, *self._queue.requests, *(request for request, _ in self._long)], problem)
        else:
            _refuse_all([request for request, _ in self._long], stopping())
        for _, steps in self._long:
            steps.close()

    def _taken(self) -> list[Request]:
        """Return the next requests, or none if there is something else to do."""
        with self._queue.changed:
            while not (self._queue.requests or self._long or self._queue.closing):
                due = self._next_due()
                wait = None if due is None else max(due - time.monotonic(), 0.0)
                if wait == 0.0 or not self._queue.changed.wait(wait):
                    break
            group, rows = list[Request](), 0
            while self._queue.requests and rows < ROWS_PER_COMMIT:
                group.append(self._queue.requests.popleft())
                rows += group[-1].rows
            return group

    def _step_of_long_work(self) -> None:
        """Do one step of work that takes long, outside of transactions."""
        request, steps = self._long.popleft()
        try:
            request.result = next(steps)
        except StopIteration:
            deliver([request])
        except Exception as error:
            request.result = _told(error)
            deliver([request])
        else:
            self._long.append((request, steps))

    # --- one transaction ---------------------------------------------------------------------------------------------

    def _commit(self, group: list[Request]) -> None:
        """Write the events of a group of requests in one transaction, then answer them."""
        if self.failure.reason is not None:  # after an error of the disk nothing that it reports is reliable
            self._refuse(group, self.failure.problem())
            return
        log, learned = self.log, Request(lambda log, request: None, rows=0)
        try:
            log.begin()
            for request in group:
                self._work(request)
            self._learn_answers(log, learned)
            self._reward_overdue(log, learned)
            self._expire(log, learned)
            began = time.perf_counter()
            log.commit()
            self.committed_in(time.perf_counter() - began)
        except apsw.FullError:
            self._roll_back(group)
            self._not_before = time.monotonic() + FULL_SECONDS
            self._refuse(group, Problem("disk-full", "the disk is full; nothing was stored"))
        except DISK_ERRORS as error:
            self._roll_back(group)
            self._fail(group, error)
        except BaseException as error:
            self._roll_back(group)
            self._commit_alone(group, error)
        else:
            try:
                for request in [*group, learned]:
                    for committed in request.committed:
                        committed()
            except DISK_ERRORS as error:
                self._fail(group, error)
            else:
                self._pass_on(group, learned)

    def _fail(self, group: list[Request], error: apsw.Error) -> None:
        """Acknowledge nothing more."""
        self.failure.set(f"the log cannot be written ({error})")
        self._refuse(group, self.failure.problem())

    def _work(self, request: Request) -> None:
        """Do the work of a request; an error that concerns it alone is its answer."""
        try:
            request.result = request.work(self.log, request)
        except Problem as problem:
            request.result = problem
        except OSError as error:  # not of the log: of a model file or a backup
            request.result = problem_of(error)

    def _commit_alone(self, group: list[Request], error: BaseException) -> None:
        """Write requests one by one, after an unknown one of them had a fault."""
        for request in group:
            request.examples, request.committed = [], []
            if len(group) > 1:
                self._commit([request])
        if len(group) == 1:
            self._refuse(group, error)

    def _pass_on(self, group: list[Request], learned: Request) -> None:
        """Give the learner what is durable, and answer."""
        answered = []
        for request in group:
            if isinstance(request.result, Generator):
                self._long.append((request, request.result))
            elif not (request.wait and request.examples):
                answered.append(request)
        taught = [request for request in [*group, learned] if request.examples]
        if taught:
            self.pass_on(taught)
        self._forget_waiting(group)
        deliver(answered)

    def _forget_waiting(self, group: list[Request]) -> None:
        self.waiting.add(-sum(request.rows for request in group), -sum(request.size for request in group))

    def _roll_back(self, group: list[Request]) -> None:
        with suppress(apsw.Error):
            self.log.rollback()
        for request in group:
            for reverted in request.reverted:
                reverted()
            request.reverted.clear()

    def _refuse(self, group: list[Request], reason: BaseException) -> None:
        """Answer that nothing was written."""
        self._forget_waiting(group)
        _refuse_all(group, reason)

    # --- what is due without a request -------------------------------------------------------------------------------

    def _next_due(self) -> float | None:
        models = list(self.hosted.values())
        dues = [due for hosted in models if (due := hosted.labelling.next_due()) is not None]
        if any(hosted.settings.policy.deadline for hosted in models):
            dues.append(self._overdue_next)
        due = min(dues, default=None)
        return due if due is None else max(due, self._not_before)

    def _is_due(self) -> bool:
        due = self._next_due()
        return due is not None and due <= time.monotonic()

    def _expire(self, log: EventLog, request: Request) -> None:
        """From time to time, drop predictions whose label has not come in time."""
        if time.monotonic() < self._expire_next:
            return
        keep = self.waiting.limits.keep_predictions
        self._expire_next = time.monotonic() + min(EXPIRE_SECONDS, keep)
        for hosted in list(self.hosted.values()):
            for id in log.expire(hosted.number, now() - int(keep * 1000)):
                request.committed.append(partial(hosted.labelling.remove, id))

    def _learn_answers(self, log: EventLog, learned: Request) -> None:
        """Append the labels of answers that can no longer be undone."""
        for hosted in list(self.hosted.values()):
            for answer in hosted.labelling.due():
                learned.committed.append(partial(hosted.labelling.learned, answer))
                given = log.answers.waiting_of(answer.example)
                if given is None or given[0] != answer.seq or given[1] is None:
                    continue  # undone, erased, or labelled otherwise
                note = note_of(answer.by)
                seq = log.add(hosted.number, Event.LABEL, example=answer.example, label=answer.label, note=note)
                stored = log.find(hosted.number, answer.id)
                if stored is not None and stored.features is not None:
                    line = labelled_line(hosted.label_key, answer.label, stored.features)
                    learned.examples.append((hosted, Example(line, 1.0, seq, answer.label)))

    def _reward_overdue(self, log: EventLog, learned: Request) -> None:
        """Append the default rewards of decisions whose deadline is over."""
        if time.monotonic() < self._overdue_next:
            return
        self._overdue_next = time.monotonic() + OVERDUE_SECONDS
        for hosted in list(self.hosted.values()):
            policy, since = hosted.settings.policy, hosted.rewarded_until
            if policy.deadline is None or hosted.failed is not None:
                continue
            until, label = now() - int(policy.deadline * 1000), msgspec.json.encode(policy.default_reward)
            for example, features in log.decisions.overdue(hosted.number, since, until):
                seq = log.add(hosted.number, Event.LABEL, example=example, label=label, note=note_of(DEADLINE))
                line = labelled_line(hosted.label_key, label, features)
                learned.examples.append((hosted, Example(line, 1.0, seq, label)))
                counted = partial(hosted.metrics.decisions.rewarded, seq, policy.default_reward, by_default=True)
                learned.committed.append(counted)
            learned.committed.append(partial(hosted.rewarded, until))


def _refuse_all(requests: list[Request], reason: BaseException) -> None:
    for request in requests:
        request.result, request.examples = reason, []
    deliver(requests)


def _told(error: Exception) -> Exception:
    """Return the answer to a request for long work that failed."""
    if isinstance(error, apsw.FullError):
        return Problem("disk-full", "the disk is full; nothing was stored")
    return problem_of(error) if isinstance(error, OSError) else error
