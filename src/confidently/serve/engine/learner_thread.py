"""The learner thread: the one owner of all models. It answers the questions that wait, then learns what the log holds,
in the order of the log, in short slices."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable

from ..log.event_log import EventLog
from ..model.hosted import Hosted
from ..model.learning import Example
from ..model.snapshots import not_written
from ..model.version import Version
from ..problems import Problem, problem_of
from ..waiting import Failure, Limits, Waiting
from .queue_thread import QueueThread
from .requests import LearnedQuestion, Request, RequestQueue, RowsQuestion, deliver

SLICE_SECONDS = 2e-3  # of learning between two looks at the questions
LINGER_SECONDS = 0.05  # for which rows wait for others, if a few cost as much as one


class LearnerThread(QueueThread):
    """The thread that learns and answers.

    Parameters
    ----------
    log : EventLog
        Given to the work of questions, which leave it alone.
    hosted : dict
        The models by their names.
    waiting : Waiting
        Of rows.
    limits : Limits
    failure : Failure
    say : callable
        Called with a line about notable events.
    record : callable
        Given a model with rows that it has set aside, of which the log is to be told.
    pass_on : callable
        Given a request that the log thread is to answer, after the first part of it was done here; may raise a
        ``Problem``.
    """

    def __init__(
        self, log: EventLog, hosted: dict[str, Hosted], waiting: Waiting, limits: Limits, failure: Failure,
        say: Callable[[str], None], record: Callable[[Hosted], None], pass_on: Callable[[Request], object],
    ) -> None:  # fmt: skip
        super().__init__("learner", RequestQueue(Waiting(limits), "questions"))
        self.log, self.hosted, self.waiting, self.limits, self.failure = log, hosted, waiting, limits, failure
        self.say, self.record, self.pass_on = say, record, pass_on
        self.deleted: deque[Hosted] = deque()  # models whose rows and files are still to be forgotten
        self._held: list[LearnedQuestion] = []  # questions whose rows are not learned yet

    def ask(self, question: Request) -> None:
        """Queue a question; raise a ``Problem`` if too many wait already, or the thread ends."""
        self._queue.put(question)

    def take(self, requests: list[Request]) -> None:
        """Take what is durable, to learn it. Requests that wait for that are answered after their last example."""
        rows, size, now = 0, 0, time.monotonic()
        with self._queue.changed:
            for request in requests:
                for hosted, example in request.examples:
                    live = hosted.live
                    if not live.waiting:
                        live.waiting_since = now
                    live.waiting.append((example, request if request.wait else None))
                    size += len(example.line)
                rows += len(request.examples)
            self.waiting.add(rows, size)
            self._queue.changed.notify()

    def forget(self, hosted: Hosted) -> None:
        """Have a deleted model forgotten: its rows that wait, its memory and its files."""
        with self._queue.changed:
            self.deleted.append(hosted)
            self._queue.changed.notify()

    def stop(self) -> None:
        """Answer and learn what was taken, write snapshots, and end."""
        self._queue.close()
        self._thread.join()

    def _run(self) -> None:
        questions = list[Request]()
        try:
            while True:
                questions = [*self._held, *self._taken()]
                self._answer(questions)
                worked = self._learn_some()
                for hosted in list(self.hosted.values()):
                    live = hosted.live
                    if not hosted.deleted:
                        live.begin_snapshot(self.limits, self.say)
                    if live.aside and live.aside != live.told_aside:
                        live.told_aside = dict(live.aside)
                        self.record(hosted)
                if self._queue.closing and not worked and not questions:
                    break
            for hosted in list(self.hosted.values()):
                try:
                    hosted.live.save()
                except (OSError, MemoryError, ValueError) as error:
                    self.say(not_written(hosted.name, error))
        except BaseException as error:
            problem = self.failure.of_fault(error)
            self._queue.close()
            left = [*questions, *self._queue.requests]
            for question in left:
                question.result = problem
            deliver(left)

    def _taken(self) -> list[Request]:
        """Return the questions that wait, after waiting for something to do."""
        queue = self._queue
        with queue.changed:
            idle = not (queue.requests or queue.closing or self.deleted or self._held)
            if idle and (wait := self._seconds_to_learn()) > 0.0:
                queue.changed.wait(wait)
            questions = list(queue.requests)
            queue.requests.clear()
        queue.waiting.add(-sum(one.rows for one in questions), -sum(one.size for one in questions))
        return questions

    def _seconds_to_learn(self) -> float:
        """Return the time until there is something to learn, or perhaps a snapshot to write."""
        waits = [self._seconds_to_linger(hosted) for hosted in list(self.hosted.values()) if hosted.waiting]
        return min(waits, default=self.limits.snapshot_seconds)

    def _seconds_to_linger(self, hosted: Hosted) -> float:
        """Return how long the rows that wait for a model should wait for others."""
        if self._queue.closing or len(hosted.waiting) >= hosted.model.least_rows:
            return 0.0
        if any(request is not None for _, request in list(hosted.waiting)):  # somebody waits for them
            return 0.0
        if any(question.hosted is hosted for question in self._held):
            return 0.0
        return max(hosted.live.waiting_since + LINGER_SECONDS - time.monotonic(), 0.0)

    # --- questions ---------------------------------------------------------------------------------------------------

    def _answer(self, questions: list[Request]) -> None:
        about_rows: dict[Hosted, list[RowsQuestion]] = {}
        self._held = [one for one in questions if isinstance(one, LearnedQuestion) and one.is_early()]
        answered = list[Request]()
        for question in questions:
            if question in self._held:
                continue
            if isinstance(question, RowsQuestion):
                about_rows.setdefault(question.hosted, []).append(question)
            elif self._is_passed_on(question):
                continue
            answered.append(question)
        for hosted, same in about_rows.items():
            _answer_together(hosted, same)
        deliver(answered)

    def _is_passed_on(self, question: Request) -> bool:
        """Do the work of a question; return whether the log thread answers it."""
        try:
            question.result = question.work(self.log, question)
            if isinstance(question.result, Request):
                self.pass_on(question.result.answering(question))
                return True
        except Exception as error:
            question.result = problem_of(error) if isinstance(error, OSError) else error
        return False

    # --- learning ----------------------------------------------------------------------------------------------------

    def _learn_some(self) -> bool:
        """Learn a slice of the rows of every model; return whether there were any."""
        worked = False
        while self.deleted:
            self._forget(self.deleted.popleft())
        for hosted in list(self.hosted.values()):
            live = hosted.live
            n = min(len(live.waiting), max(int(SLICE_SECONDS / live.row_seconds), live.model.least_rows))
            if n == 0 or self._seconds_to_linger(hosted) > 0.0:
                continue
            worked, began = True, time.perf_counter()
            taken = [live.waiting.popleft() for _ in range(n)]
            live.waiting_since = time.monotonic()
            try:
                if live.failed is not None:
                    raise live.failure()
                live.learn_events([example for example, _ in taken])
            except Exception as error:
                self._fail(live, taken, error)
                continue
            spent = (time.perf_counter() - began) / n
            live.row_seconds = max(0.9 * live.row_seconds + 0.1 * spent, 1e-6)
            self.waiting.add(-n, -sum(len(example.line) for example, _ in taken))
            self._answer_learned(live, taken)
        return worked

    def _answer_learned(self, version: Version, taken: list[tuple[Example, Request | None]]) -> None:
        """Answer the requests whose last row was just learned; a row that was set aside does not count as learned."""
        complete = []
        for example, request in taken:
            if request is None:
                continue
            if (reason := version.aside.get(example.seq)) is not None:
                request.refuse(example.seq, Problem("set-aside", f"the model could not learn the row: {reason}"))
            if request.examples[-1][1] is example:
                complete.append(request)
        deliver(complete)

    def _fail(self, live: Version, taken: list[tuple[Example, Request | None]], error: Exception) -> None:
        """Stop a model, since it is not known what it has learned; its rows are in the log."""
        if live.failed is None and not isinstance(error, Problem):
            problem = live.fail(error)
            self.say(f"{problem.detail}; the other models continue")
        rows, live.waiting = [*taken, *live.waiting], deque()
        self._drop(rows, error if isinstance(error, Problem) else live.failure())

    def _drop(self, rows: list[tuple[Example, Request | None]], problem: Problem) -> None:
        """Drop waiting rows; requests that wait for them are answered with the reason."""
        self.waiting.add(-len(rows), -sum(len(example.line) for example, _ in rows))
        waited = dict.fromkeys(request for _, request in rows if request is not None)
        for request in waited:
            request.result = problem
        deliver(waited)

    def _forget(self, hosted: Hosted) -> None:
        """Drop the rows that wait for a deleted model, and its files."""
        hosted.live.snapshots.finish()
        rows, hosted.live.waiting = list(hosted.waiting), deque()
        self._drop(rows, Problem("unknown-model", f"the model {hosted.name!r} was deleted"))
        shutil.rmtree(hosted.folder, ignore_errors=True)
        hosted.release()

    def replace(self, hosted: Hosted, version: Version, examples: list[Example]) -> None:
        """Let another version of a model answer, which has still to learn some rows; called in the log thread.

        Those who wait for a row to be learned wait until the new version has learned it.
        """

        def work(log: EventLog, request: Request) -> None:
            before = hosted.live
            waited = {waiting[0].seq: waiting for waiting in before.waiting}
            version.waiting = deque(waited.pop(example.seq, (example, None)) for example in examples)
            sizes = [[len(one.line) for one, _ in waiting] for waiting in (before.waiting, version.waiting)]
            self.waiting.add(len(sizes[1]) - len(sizes[0]), sum(sizes[1]) - sum(sizes[0]))
            before.waiting = deque()
            hosted.promoted(version)
            self._answer_learned(version, list(waited.values()))

        question = Request(work).blocking()
        self.ask(question)
        question.answer()


def _answer_together(hosted: Hosted, questions: list[RowsQuestion]) -> None:
    """Answer all questions about rows of a model at once, which costs little more than answering one."""
    try:
        hosted.check_working()
        answers = hosted.model.answers([line for question in questions for line in question.lines], counted=True)
    except Exception as error:
        for question in questions:
            question.result = error
        return
    hosted.metrics.answered(len(answers), sum(answer.ask for answer in answers))
    first = 0
    for question in questions:
        question.result = answers[first : first + len(question.lines)]
        first += len(question.lines)
