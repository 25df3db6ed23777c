"""The engine: what the server does, without HTTP.

Two threads do the work: the *log thread* writes what comes in, the *learner thread* owns the models. The state is a
snapshot and the events after it: a start loads the snapshot and replays the events.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from ...wording import counted
from ..log.audit import Audit
from ..log.event_log import EventLog
from ..log.events import StoredModel
from ..log.log_file import damaged
from ..model.hosted import Hosted, restored
from ..model.snapshots import move_old
from ..problems import Problem
from ..waiting import Failure, Limits, Waiting, stopping
from .learner_thread import LearnerThread
from .log_thread import DISK_ERRORS, LogThread
from .replay import replay
from .requests import Request
from .trainer import Trainer

MODELS = "models"  # the folder of snapshots
PASSING = ".passing-"  # prefix of files that exist while a request is answered
MAX_EVALUATIONS = 2  # at once, each of which reads the whole log


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
        Called with a line about events such as progress of the replay or a damaged snapshot.

    Attributes
    ----------
    hosted : dict
        The models by their names.
    waiting : Waiting
        Rows that wait for the log or the learner.
    failure : Failure
        Why nothing can be acknowledged any more.
    audit : Audit
        Of the thread of the event loop.

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
        self.log, self.audit = EventLog(self.folder, vfs), Audit(self.folder, say)
        self.hosted: dict[str, Hosted] = {}
        self.waiting, self.failure = Waiting(self.limits), Failure()
        self.learner = LearnerThread(
            self.log, self.hosted, self.waiting, self.limits, self.failure, say, self._submit_aside, self.submit
        )
        self.writer = LogThread(self.log, self.hosted, self.waiting, self.failure, self.learner.take)
        self.trainer = Trainer(self.writer, self.learner, self.hosted, self.limits, say)
        self.backups: Any = None  # those on a schedule, if there are any
        self.replica: Any = None  # what follows another server, if this one does
        self.evaluations = threading.BoundedSemaphore(MAX_EVALUATIONS)
        self.ready = self.stopping = False
        self._begun = False
        self._run = secrets.token_hex(4)
        self._ids = 0

    # --- start and stop ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the newest snapshots, replay what follows them, and begin to serve."""
        try:
            self._clean()
            for stored in self.log.models():
                self.hosted[stored.name] = self._load(stored)
        except (apsw.NotADBError, apsw.CorruptError) as error:
            self.log.close()
            raise damaged(self.log.path, error) from None
        except BaseException:
            self.log.close()
            raise
        self._begun = True
        self.writer.start()
        self.learner.start()
        self.trainer.start()
        self.ready = True

    def stop(self) -> None:
        """Finish what was accepted, write snapshots and close the log."""
        self.stopping, self.ready = True, False
        if self._begun:
            self.trainer.stop()
            self.writer.stop()
            self.learner.stop()
            for hosted in self.hosted.values():
                self._record_aside(hosted)
        self.audit.flush()
        self.log.close()

    def _load(self, stored: StoredModel) -> Hosted:
        """Return a model as it was when the server ended; one that cannot be restored does not affect the others."""
        folder = self.folder_of(stored.number)
        try:
            hosted = restored(self.log, stored, folder)
            replay(self.log, hosted.live, self.say)
            hosted.restore_labelling(self.log)
            hosted.restore_asking(self.log)
            hosted.restore_decisions(self.log)
        except apsw.Error:
            raise
        except Exception as error:
            hosted = restored(self.log, stored, folder, broken=error)
            self.say(f"{hosted.failed}; the other models are served")
        self._record_aside(hosted)
        if hosted.failed is None:
            self._complete_erasures(hosted)
        return hosted

    def _record_aside(self, hosted: Hosted) -> None:
        """Write into the log which events a model could not learn; called while no thread runs."""
        live = hosted.live
        if not live.aside:
            return
        try:
            self.log.begin()
            events = live.record_aside(self.log)
            self.log.commit()
            live.recorded(events)
        except (apsw.FullError, *DISK_ERRORS) as error:  # the next start finds the same
            self.log.rollback()
            self.say(f"{hosted.name}: {counted(len(live.aside), 'row')} set aside could not be recorded ({error})")

    def _complete_erasures(self, hosted: Hosted) -> None:
        """Overwrite rows whose erasure a kill has interrupted, once a snapshot has what was learned of them."""
        erased = self.log.to_overwrite(hosted.number)
        if not erased:
            return
        try:
            hosted.live.save()
            self.log.begin()
            for example, _ in erased:
                self.log.overwrite(example)
            self.log.commit()
            self.log.truncate()
        except (OSError, apsw.FullError) as error:  # the next start tries again
            self.log.rollback()
            self.say(f"{hosted.name}: {counted(len(erased), 'erased row')} could not be overwritten ({error})")

    def _clean(self) -> None:
        """Remove what an earlier run could not: files of requests, and what models that no longer exist have left."""
        living = {str(stored.number) for stored in self.log.models()}
        for number in living:
            move_old(self.folder / MODELS / number)
        for folder in (self.folder / MODELS).glob("*"):
            if folder.name not in living:
                shutil.rmtree(folder, ignore_errors=True)
        for path in self.folder.glob(f"{PASSING}*"):
            path.unlink(missing_ok=True)
        for _ in self.log.shrink():
            pass

    def folder_of(self, number: int) -> Path:
        """Return the folder of a model's snapshots."""
        return self.folder / MODELS / str(number)

    def _submit_aside(self, hosted: Hosted) -> None:
        """Have the log told which events a model could not learn; called by the learner thread.

        If the log cannot be told now, it is told with the next ones, or at the end.
        """

        def work(log: EventLog, request: Request) -> None:
            hosted.check_living()
            live = hosted.live
            request.committed.append(partial(live.recorded, live.record_aside(log)))

        with suppress(Problem):
            self.writer.submit(Request(work, rows=0))

    # --- requests ----------------------------------------------------------------------------------------------------

    def submit(self, request: Request) -> Request:
        """Queue a request that needs the log.

        Raises
        ------
        Problem
            If too much waits already, or the server cannot take requests.
        """
        self.check_open()
        self.writer.submit(request)
        return request

    def ask(self, question: Request) -> Request:
        """Queue a question, which the learner thread answers before it learns.

        Raises
        ------
        Problem
            As :meth:`submit`.
        """
        self.check_open()
        self.learner.ask(question)
        return question

    def check_open(self) -> None:
        """Raise a ``Problem`` unless requests can be taken."""
        if self.failure.reason is not None:
            raise self.failure.problem()
        if self.stopping:
            raise stopping()
        if not self.ready:
            raise Problem("not-ready", "the server replays its log; ask again in a second")

    def find(self, name: str, sees: Callable[[str], bool] = lambda name: True) -> Hosted:
        """Return a model. Who asks for one that is missing is told which of those there are that they see.

        Raises
        ------
        Problem
            If there is none of this name, or the log that may have it is not replayed yet.
        """
        found = self.hosted.get(name)
        if found is None:
            self.check_open()
            known = ", ".join(sorted(filter(sees, list(self.hosted)))[:20]) or "none so far"
            raise Problem("unknown-model", f"there is no model {name!r} (there are: {known}); make it with PUT first")
        return found

    def new_id(self) -> str:
        """Return an id that no row has."""
        self._ids += 1
        return f"row-{self._run}-{self._ids}"
