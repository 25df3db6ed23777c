"""The engine: what the server does, without HTTP.

Two threads do the work: the *log thread* writes what comes in, the *learner thread* owns the models. State = snapshot +
events after it: a start loads the one and replays the others.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from ..wording import counted
from .hosted import Hosted, examples_of
from .learner_thread import LearnerThread
from .log import EventLog
from .log_thread import LogThread
from .problems import Problem
from .requests import Request
from .waiting import Failure, Limits, Waiting, stopping

ROWS_PER_REPLAY = 4096
MODELS = "models"  # the folder of snapshots
PASSING = ".passing-"  # begins the names of files that are there while a request is answered


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

    Attributes
    ----------
    hosted : dict
        The models by their names.
    waiting : Waiting
        Rows that wait for the log or the learner.
    failure : Failure
        Why nothing can be acknowledged any more.

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
        self.waiting, self.failure = Waiting(self.limits), Failure()
        self.learner = LearnerThread(self.log, self.hosted, self.waiting, self.limits, self.failure, say)
        self.writer = LogThread(self.log, self.hosted, self.waiting, self.failure, self.learner.take)
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
                self.hosted[stored.name] = self._load(Hosted(stored, self.folder_of(stored.number)))
        except (apsw.NotADBError, apsw.CorruptError) as error:
            self.log.close()
            raise self.log.damaged(error) from None
        except BaseException:
            self.log.close()
            raise
        self._begun = True
        self.writer.start()
        self.learner.start()
        self.ready = True

    def stop(self) -> None:
        """Finish what was accepted, write snapshots and close the log."""
        self.stopping, self.ready = True, False
        if self._begun:
            self.writer.stop()
            self.learner.stop()
        self.log.close()

    def _load(self, hosted: Hosted) -> Hosted:
        """Return a model with its newest good snapshot loaded and the events after that replayed."""
        since = self.log.last_rebuild(hosted.number)
        hosted.load_newest(self.say, since)
        began, told, rows = time.monotonic(), time.monotonic(), 0
        while events := self.log.taught(hosted.number, hosted.cursor, ROWS_PER_REPLAY, erased_until=since):
            examples = [one for one in examples_of(hosted, events) if one.line or one.seq > since]
            hosted.learn_events(examples, live=False)
            hosted.cursor, rows = events[-1].seq, rows + len(events)
            if time.monotonic() - told > 1.0:
                told = time.monotonic()
                self.say(f"{hosted.name}: {counted(rows, 'event')} replayed")
        self._complete_erasures(hosted)
        hosted.restore_labelling(self.log)
        if rows:
            self.say(f"{hosted.name}: {counted(rows, 'event')} replayed in {time.monotonic() - began:.1f} s")
        return hosted

    def _complete_erasures(self, hosted: Hosted) -> None:
        """Overwrite rows whose erasure a kill has interrupted, once a snapshot has what was learned of them."""
        erased = self.log.to_overwrite(hosted.number)
        if not erased:
            return
        try:
            hosted.save()
            self.log.begin()
            for example, _ in erased:
                self.log.overwrite(example)
            self.log.commit()
            self.log.truncate()
        except (OSError, apsw.FullError) as error:  # the next start tries again
            self.log.rollback()
            self.say(f"{hosted.name}: {counted(len(erased), 'erased row')} could not be overwritten ({error})")

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
