"""The engine: what the server does, without HTTP.

Two threads do the work. The *log thread* has the only connection to the log: it takes all requests that wait, writes
their events in one transaction, and answers them when that is durable. The *learner thread* owns the models: it answers
questions first, then learns what the log holds, in the order of the log, in short slices. A third thread writes
snapshots. State = snapshot + events after it: a restart replays these.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec

from ..wording import counted
from .hosted import Hosted, examples_of
from .log import Event, EventLog, now
from .problems import Problem, problem_of
from .requests import Request, RowsQuestion, deliver
from .rows import labelled_line
from .served import Example

ROWS_PER_COMMIT = 512
ROWS_PER_REPLAY = 4096
SLICE_SECONDS = 2e-3  # of learning between two looks at the questions
MODELS = "models"  # the folder of snapshots
PASSING = ".passing-"  # begins the names of files that are there while a request is answered
FULL_SECONDS = 1.0  # between two tries to write answers on a full disk
EXPIRE_SECONDS = 60.0
DISK_ERRORS = (
    apsw.IOError, apsw.CorruptError, apsw.NotADBError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.BusyError
)  # fmt: skip


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much waits at most, and how long things are kept.

    Attributes
    ----------
    waiting_rows, waiting_bytes : int
        Rows that wait for the log or the learner; beyond, requests are refused.
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


class Engine:
    """The models of one directory, their log and the threads that serve them.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    limits : Limits, optional
    vfs : str, optional
        The name of a virtual file system of SQLite, for the log.
    say : callable, optional
        Told one line when something is worth knowing: progress of the replay, damaged snapshots.

    Raises
    ------
    LogError
        If another server uses the directory, or the log is damaged.
    OSError
        If the directory cannot be written.
    """

    def __init__(
        self, folder: str | os.PathLike[str], limits: Limits | None = None, *, vfs: str | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:  # fmt: skip
        self.folder, self.limits, self.say = Path(folder), limits or Limits(), say
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = EventLog(self.folder, vfs)
        self.hosted: dict[str, Hosted] = {}
        self.deleted: deque[Hosted] = deque()  # models whose rows and files the learner thread has still to forget
        self.failed: str | None = None  # why nothing can be acknowledged any more
        self.ready = self.stopping = False
        self.on_failure: Callable[[], None] = lambda: None
        self._run = secrets.token_hex(4)
        self._ids = 0
        self._requests: deque[Request] = deque()
        self._questions: deque[Request] = deque()
        self._long: deque[tuple[Request, Iterator[Any]]] = deque()  # work that is done in steps, between commits
        self._waiting_rows = self._waiting_bytes = 0
        self._log_has_work, self._learner_has_work = threading.Condition(), threading.Condition()
        self._log_thread = threading.Thread(target=self._guarded, args=(self._write_log,), name="log", daemon=True)
        self._learner_thread = threading.Thread(
            target=self._guarded, args=(self._serve_models,), name="learner", daemon=True
        )
        self._closing_log = self._closing_learner = False
        self._not_before = self._expire_next = 0.0  # on the monotonic clock: for answers on a full disk, for old rows

    # --- start and stop ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the newest snapshots, replay what follows them, and begin to serve."""
        try:
            self._clean()
            for stored in self.log.models():
                self.hosted[stored.name] = self._load(Hosted(stored, self.folder_of(stored.number)))
        except (apsw.NotADBError, apsw.CorruptError) as error:
            self.log.close()
            raise self.log.damaged(error) from None
        except BaseException:
            self.log.close()
            raise
        self._log_thread.start()
        self._learner_thread.start()
        self.ready = True

    def stop(self) -> None:
        """Finish what was accepted, write snapshots and close the log."""
        self.stopping, self.ready = True, False
        if self._log_thread.ident is None:
            self.log.close()
            return
        with self._log_has_work:
            self._closing_log = True
            self._log_has_work.notify()
        self._log_thread.join()
        with self._learner_has_work:
            self._closing_learner = True
            self._learner_has_work.notify()
        self._learner_thread.join()
        self.log.close()

    def _guarded(self, work: Callable[[], None]) -> None:
        """Run the work of a thread. A fault that ends it ends the server; the log has all that was acknowledged."""
        try:
            work()
        except BaseException as error:
            self.failed = f"a fault of the server ended its work ({type(error).__name__}: {error})"
            waiting = [*self._requests, *self._questions]
            for request in waiting:
                request.result = Problem("log-failed", self.failed)
            deliver(waiting)
            self.on_failure()

    def _load(self, hosted: Hosted) -> Hosted:
        """Return a model with its newest good snapshot loaded and the events after that replayed."""
        since = self.log.last_rebuild(hosted.number)
        hosted.load_newest(self.say, since)
        began, told, rows = time.monotonic(), time.monotonic(), 0
        while events := self.log.taught(hosted.number, hosted.cursor, ROWS_PER_REPLAY):
            examples = [one for one in examples_of(hosted, events) if one.line or one.seq > since]
            self._learn_rows(hosted, examples, live=False)
            hosted.cursor, rows = events[-1].seq, rows + len(events)
            if time.monotonic() - told > 1.0:
                told = time.monotonic()
                self.say(f"{hosted.name}: {counted(rows, 'event')} replayed")
        hosted.restore_labelling(self.log)
        if rows:
            self.say(f"{hosted.name}: {counted(rows, 'event')} replayed in {time.monotonic() - began:.1f} s")
        return hosted

    def _clean(self) -> None:
        """Remove what an earlier run had no time for: files of requests, and folders of models that are not there."""
        living = {str(stored.number) for stored in self.log.models()}
        for folder in (self.folder / MODELS).glob("*"):
            if folder.name not in living:
                shutil.rmtree(folder, ignore_errors=True)
        for path in self.folder.glob(f"{PASSING}*"):
            path.unlink(missing_ok=True)

    def folder_of(self, number: int) -> Path:
        """Return the folder of a model's snapshots."""
        return self.folder / MODELS / str(number)

    # --- requests ----------------------------------------------------------------------------------------------------

    def submit(self, request: Request) -> Request:
        """Queue a request that needs the log.

        Raises
        ------
        Problem
            If too much waits already, or the server cannot take requests.
        """
        self.check_open()
        with self._log_has_work:
            if self._waiting_rows > 0 and (
                self._waiting_rows + request.rows > self.limits.waiting_rows
                or self._waiting_bytes + request.size > self.limits.waiting_bytes
            ):
                raise Problem("overloaded", "more rows wait than the server keeps; send this request again in a second")
            self._waiting_rows += request.rows
            self._waiting_bytes += request.size
            self._requests.append(request)
            self._log_has_work.notify()
        return request

    def ask(self, request: Request) -> Request:
        """Queue a question, which the learner thread answers before it learns.

        Raises
        ------
        Problem
            As :meth:`submit`.
        """
        self.check_open()
        with self._learner_has_work:
            if len(self._questions) > self.limits.waiting_rows:
                raise Problem("overloaded", "more questions wait than the server keeps; ask again in a second")
            self._questions.append(request)
            self._learner_has_work.notify()
        return request

    def check_open(self) -> None:
        """Raise a ``Problem`` unless requests can be taken."""
        if self.failed is not None:
            raise Problem("log-failed", f"{self.failed}; the server has stopped to take rows")
        if self.stopping:
            raise Problem("stopping", "the server is being stopped; send the request again to the next one")
        if not self.ready:
            raise Problem("not-ready", "the server replays its log; ask again in a second")

    def find(self, name: str) -> Hosted:
        """Return a model.

        Raises
        ------
        Problem
            If there is none of this name, or the log that may have it is not replayed yet.
        """
        found = self.hosted.get(name)
        if found is None:
            self.check_open()
            known = ", ".join(sorted(self.hosted)[:20]) or "none so far"
            raise Problem("unknown-model", f"there is no model {name!r} (there are: {known}); make it with PUT first")
        return found

    def new_id(self) -> str:
        """Return an id that no row has."""
        self._ids += 1
        return f"row-{self._run}-{self._ids}"

    # --- the log thread ----------------------------------------------------------------------------------------------

    def _write_log(self) -> None:
        """Take what waits, write it in one transaction, and answer it; again and again."""
        while True:
            with self._log_has_work:
                while not (self._requests or self._long or self._closing_log):
                    due = self._next_due()
                    wait = None if due is None else max(due - time.monotonic(), 0.0)
                    if wait == 0.0 or not self._log_has_work.wait(wait):
                        break
                group = list[Request]()
                rows = 0
                while self._requests and rows < ROWS_PER_COMMIT:
                    group.append(self._requests.popleft())
                    rows += group[-1].rows
                if not (group or self._long) and self._closing_log:
                    return
            if group or self._next_due() is not None:
                self._commit(group)
            if self._long:
                self._step_of_long_work()

    def _step_of_long_work(self) -> None:
        """Do one step of work that takes long, outside of transactions."""
        request, steps = self._long.popleft()
        try:
            request.result = next(steps)
        except StopIteration:
            deliver([request])
        except Exception as error:
            request.result = problem_of(error) if isinstance(error, OSError) else error
            deliver([request])
        else:
            self._long.append((request, steps))

    def _commit(self, group: list[Request]) -> None:
        """Write the events of a group of requests in one transaction, then answer them."""
        if self.failed is not None:  # whatever a disk says after an error of it, nothing is sure
            self._refuse(group, Problem("log-failed", self.failed))
            return
        log, learned = self.log, Request(lambda log, request: None, rows=0)
        try:
            log.begin()
            for request in group:
                self._work(request)
            self._learn_answers(log, learned)
            self._expire(log, learned)
            log.commit()
        except apsw.FullError:
            self._roll_back(group)
            self._not_before = time.monotonic() + FULL_SECONDS
            self._refuse(group, Problem("disk-full", "the disk is full; nothing was stored"))
            return
        except DISK_ERRORS as error:
            self._roll_back(group)
            self.failed = f"the log cannot be written ({error})"
            self._refuse(group, Problem("log-failed", self.failed))
            self.on_failure()
            return
        except BaseException as error:
            self._roll_back(group)
            self._commit_alone(group, error)
            return
        for request in [*group, learned]:
            for committed in request.committed:
                committed()
        self._pass_on(group, learned)

    def _work(self, request: Request) -> None:
        """Do the work of a request; what is wrong with it alone is its answer."""
        try:
            request.result = request.work(self.log, request)
        except Problem as problem:
            request.result = problem
        except OSError as error:  # not of the log: of a model file or a backup
            request.result = problem_of(error)

    def _commit_alone(self, group: list[Request], error: BaseException) -> None:
        """Write requests one by one, after one of them, which is not known, had a fault."""
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
            if isinstance(request.result, Iterator):
                self._long.append((request, request.result))
            elif not (request.wait and request.examples):
                answered.append(request)
        with self._learner_has_work:
            for request in [*group, learned]:
                for k, (hosted, example) in enumerate(request.examples):
                    last = request.wait and k == len(request.examples) - 1
                    hosted.waiting.append((example, request if last else None))
            examples = [example for request in [*group, learned] for _, example in request.examples]
            if examples:
                self._learner_has_work.notify()
        self._count(len(examples), sum(len(example.line) for example in examples))
        self._forget_waiting(group)
        deliver(answered)

    def _count(self, rows: int, size: int) -> None:
        """Count rows that begin to wait, or no longer do."""
        with self._log_has_work:
            self._waiting_rows += rows
            self._waiting_bytes += size

    def _forget_waiting(self, group: list[Request]) -> None:
        self._count(-sum(request.rows for request in group), -sum(request.size for request in group))

    def _roll_back(self, group: list[Request]) -> None:
        with suppress(apsw.Error):
            self.log.rollback()
        for request in group:
            for reverted in request.reverted:
                reverted()
            request.reverted.clear()

    def _refuse(self, group: list[Request], reason: BaseException) -> None:
        """Answer that nothing was written."""
        for request in group:
            request.result, request.examples = reason, []
        self._forget_waiting(group)
        deliver(group)

    def _next_due(self) -> float | None:
        dues = [hosted.labelling.next_due() for hosted in list(self.hosted.values())]
        due = min((due for due in dues if due is not None), default=None)
        return due if due is None else max(due, self._not_before)

    def _expire(self, log: EventLog, request: Request) -> None:
        """Now and then forget predictions whose label has not come in time."""
        if time.monotonic() < self._expire_next:
            return
        self._expire_next = time.monotonic() + min(EXPIRE_SECONDS, self.limits.keep_predictions)
        for hosted in list(self.hosted.values()):
            for id in log.expire(hosted.number, now() - int(self.limits.keep_predictions * 1000)):
                request.committed.append(partial(hosted.labelling.remove, id))

    def _learn_answers(self, log: EventLog, learned: Request) -> None:
        """Append the labels of answers that can no longer be undone."""
        for hosted in list(self.hosted.values()):
            for answer in hosted.labelling.due():
                learned.committed.append(partial(hosted.labelling.learned, answer))
                given = log.waiting_answer(answer.example)
                if given is None or given[0] != answer.seq or given[1] is None:
                    continue  # undone, erased, or labelled otherwise
                seq = log.add(hosted.number, Event.LABEL, example=answer.example, label=answer.label)
                stored = log.find(hosted.number, answer.id)
                if stored is not None and stored.features is not None:
                    line = labelled_line(hosted.label_key, msgspec.json.decode(answer.label), stored.features)
                    learned.examples.append((hosted, Example(line, 1.0, seq)))

    # --- the learner thread ------------------------------------------------------------------------------------------

    def _serve_models(self) -> None:
        """Answer questions and learn rows, until nothing is left of either and the engine stops."""
        while True:
            with self._learner_has_work:
                while not (self._questions or self._closing_learner or self._has_rows()):
                    self._learner_has_work.wait(self.limits.snapshot_seconds)
                    break
                questions = list(self._questions)
                self._questions.clear()
            if questions:
                self._answer(questions)
            worked = self._learn_some()
            self._save_due()
            if self._closing_learner and not worked and not questions:
                break
        for hosted in list(self.hosted.values()):
            self.finish_saving(hosted)
            if hosted.snapshot_due(1, 0.0):
                self._write(hosted, *hosted.packed())

    def _has_rows(self) -> bool:
        return bool(self.deleted) or any(hosted.waiting for hosted in list(self.hosted.values()))

    def _answer(self, questions: list[Request]) -> None:
        about_rows: dict[Hosted, list[RowsQuestion]] = {}
        for question in questions:
            if isinstance(question, RowsQuestion):
                about_rows.setdefault(question.hosted, []).append(question)
                continue
            try:
                question.result = question.work(self.log, question)
            except Exception as error:
                question.result = problem_of(error) if isinstance(error, OSError) else error
        for hosted, same in about_rows.items():
            self._answer_together(hosted, same)
        deliver(questions)

    def _answer_together(self, hosted: Hosted, questions: list[RowsQuestion]) -> None:
        """Answer all questions about rows of a model at once, which costs little more than to answer one."""
        try:
            hosted.check_living()
            answers = hosted.model.answers([line for question in questions for line in question.lines])
        except Exception as error:
            for question in questions:
                question.result = error
            return
        hosted.metrics.answered(len(answers), sum(answer.ask for answer in answers))
        first = 0
        for question in questions:
            question.result = answers[first : first + len(question.lines)]
            first += len(question.lines)

    def _learn_some(self) -> bool:
        """Learn a slice of the rows of every model; return whether there were any."""
        worked = False
        while self.deleted:
            self._forget(self.deleted.popleft())
        for hosted in list(self.hosted.values()):
            n = min(len(hosted.waiting), max(int(SLICE_SECONDS / hosted.row_seconds), hosted.model.least_rows))
            if n == 0:
                continue
            worked, began = True, time.perf_counter()
            taken = [hosted.waiting.popleft() for _ in range(n)]
            self._learn_rows(hosted, [example for example, _ in taken])
            hosted.cursor = taken[-1][0].seq
            spent = (time.perf_counter() - began) / n
            hosted.row_seconds = max(0.9 * hosted.row_seconds + 0.1 * spent, 1e-6)
            self._count(-n, -sum(len(example.line) for example, _ in taken))
            deliver([request for _, request in taken if request is not None])
        return worked

    def _forget(self, hosted: Hosted) -> None:
        """Drop the rows that wait for a deleted model, and its files."""
        self.finish_saving(hosted)
        rows, hosted.waiting = list(hosted.waiting), deque()
        self._count(-len(rows), -sum(len(example.line) for example, _ in rows))
        waited = [request for _, request in rows if request is not None]
        for request in waited:
            request.result = Problem("unknown-model", f"the model {hosted.name!r} was deleted")
        deliver(waited)
        shutil.rmtree(hosted.folder, ignore_errors=True)

    def _learn_rows(self, hosted: Hosted, examples: Sequence[Example], live: bool = True) -> None:
        """Learn rows; at an erasure, which is a row without a line, the model keeps what it is."""
        rows: list[Example] = []
        for example in examples:
            if example.line:
                rows.append(example)
                continue
            hosted.learn(rows, live)
            hosted.model.settle()
            rows = []
        if rows:
            hosted.learn(rows, live)

    def replace(self, hosted: Hosted, other: Hosted) -> None:
        """Let a model be what another training of the same rows has made; rows that it knows are not learned again."""

        def work(log: EventLog, request: Request) -> None:
            self.finish_saving(hosted)
            known = [waiting for waiting in hosted.waiting if waiting[0].seq <= other.cursor]
            for _ in known:
                hosted.waiting.popleft()
            self._count(-len(known), -sum(len(example.line) for example, _ in known))
            hosted.become(other)
            hosted.cursor = max(hosted.cursor, other.cursor)
            deliver([waiting for _, waiting in known if waiting is not None])

        self.ask(Request(work).blocking()).answer()

    # --- snapshots ---------------------------------------------------------------------------------------------------

    def _save_due(self) -> None:
        for hosted in list(self.hosted.values()):
            if hosted.snapshot_due(self.limits.snapshot_events, self.limits.snapshot_seconds):
                hosted.saving = True
                packed = hosted.packed()
                hosted.writer = threading.Thread(target=self._write, args=(hosted, *packed), name="snapshot")
                hosted.writer.start()

    def finish_saving(self, hosted: Hosted) -> None:
        """Wait until a snapshot that is being written is complete."""
        if hosted.writer is not None:
            hosted.writer.join()

    def _write(self, hosted: Hosted, seq: int, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        try:
            hosted.write(seq, header, arrays)
        except OSError as error:
            hosted.not_before = time.monotonic() + self.limits.snapshot_seconds
            self.say(f"{hosted.name}: the snapshot was not written ({error}); the log has everything")
        finally:
            hosted.saving = False
