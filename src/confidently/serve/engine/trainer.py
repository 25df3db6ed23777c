"""The trainer: a thread that trains versions from the log while others answer, until they are level and answer.

It owns the versions that do not answer. It reads the log page by page, as it can: so a slow version holds up nobody,
and nothing waits for it in memory.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from ...memory import give_back
from ..log.edits import Edits
from ..log.event_log import EventLog
from ..log.events import Event, Row, State, StoredVersion
from ..model.hosted import Hosted
from ..model.snapshots import not_written
from ..model.version import Version
from ..problems import Problem
from ..waiting import Limits
from .learner_thread import LearnerThread
from .log_thread import LogThread
from .replay import count_aside
from .requests import Request

ROWS_PER_PAGE = 4096  # in the log
TURN = 0.5  # seconds after which it looks at other versions
PAUSE = 0.2  # seconds, while there is nothing to do or the server is busy


class Trainer:
    """The thread that trains versions.

    Parameters
    ----------
    writer : LogThread
        Reads the log.
    learner : LearnerThread
        Gets the versions that are to answer.
    hosted : dict
        The models by their names.
    limits : Limits
    say : callable
        Called with a line about notable events.
    """

    def __init__(
        self, writer: LogThread, learner: LearnerThread, hosted: dict[str, Hosted], limits: Limits,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.writer, self.learner, self.hosted, self.limits, self.say = writer, learner, hosted, limits, say
        self._changed = threading.Condition()
        self._dropped: deque[Version] = deque()  # whose files are still to be removed
        self._is_replacing = False  # a version, whose files may then have to be removed
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="trainer", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the page that is being learned; a restart continues from the snapshots."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def notify(self) -> None:
        """Look for something to do."""
        with self._changed:
            self._changed.notify_all()

    def drop(self, version: Version) -> None:
        """Remove the snapshots of a version, once none is being written."""
        self._dropped.append(version)
        self.notify()

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._thread.is_alive()

    @property
    def is_removing(self) -> bool:
        """Whether there are files that are still to be removed."""
        return self._is_replacing or bool(self._dropped)

    def _run(self) -> None:
        while not self._closing:
            while self._dropped:
                self._dropped[0].snapshots.remove()
                self._dropped.popleft().release()
                give_back()
            pairs = [(hosted, one) for hosted in list(self.hosted.values()) for one in list(hosted.others.values())]
            worked = [self._train(hosted, version) for hosted, version in pairs if not self._closing]
            if not any(worked):
                with self._changed:
                    if not (self._closing or self._dropped):
                        self._changed.wait(PAUSE)
        for hosted in list(self.hosted.values()):
            for version in hosted.others.values():
                self._save(hosted, version)

    def _save(self, hosted: Hosted, version: Version) -> None:
        try:
            version.save()
        except (OSError, MemoryError, ValueError) as error:
            self.say(not_written(hosted.name, error))

    def _train(self, hosted: Hosted, version: Version) -> bool:
        """Learn pages of the log, or let a version answer that is level; return whether there is more to do."""
        if hosted.deleted or version.failed is not None or hosted.others.get(version.number) is not version:
            return False
        try:
            if not version.resumed:
                version.load_newest(self.say)
                self._call(lambda log, request: count_aside(log, version))
            rows = self._learn_pages(hosted, version)
            if rows < ROWS_PER_PAGE and version.state in (State.NEXT, State.PROMOTING):
                self._save(hosted, version)  # so that a restart has little to replay
                self._call(lambda log, request: self._promoted(hosted, version, log))
            return rows > 0
        except Problem:  # the server is busy, or ends; or the model was deleted, or the version begins again
            return False
        except Exception as error:
            version.fail(error)
            self.say(f"{hosted.name}: version {version.number}: {version.failed}; the others continue")
            return False

    def _learn_pages(self, hosted: Hosted, version: Version) -> int:
        """Learn pages for a turn, each while the next one is read; return the number of events on the last one."""
        until, page = time.monotonic() + TURN, self._submit(partial(self._page, hosted, version, version.cursor))
        while events := page.answer():
            goes_on = len(events) == ROWS_PER_PAGE and time.monotonic() < until and not self._closing
            if goes_on:
                page = self._submit(partial(self._page, hosted, version, events[-1].seq))
            version.learn_stored(events)
            if version.aside:
                self._call(partial(_record_aside, version))
            version.begin_snapshot(self.limits, self.say)
            if not goes_on:
                break
        return len(events)

    def _call(self, work: Callable[[EventLog, Request], Any]) -> Any:
        return self._submit(work).answer()

    def _submit(self, work: Callable[[EventLog, Request], Any]) -> Request:
        request = Request(work, rows=0).blocking()
        self.writer.submit(request)
        return request

    # --- in the log thread -------------------------------------------------------------------------------------------

    def add(
        self, log: EventLog, hosted: Hosted, settings: bytes, has_file: bool, state: State, reason: str,
        request: Request,
    ) -> int:  # fmt: skip
        """Add a version, which is trained with the edits and erasures so far; return its number."""
        stored = log.versions.add(hosted.number, settings, has_file, log.last(), state, reason)
        request.committed.append(partial(self._take, hosted, stored, log.edits.basis(stored).edits))
        return stored.number

    def begin(self, log: EventLog, hosted: Hosted, stored: StoredVersion, state: State, request: Request) -> None:
        """Train a version from the first row, with the edits and erasures so far."""
        begun = log.versions.begin(stored, log.last(), state)
        request.committed.append(partial(self._take, hosted, begun, log.edits.basis(begun).edits))

    def retire(self, log: EventLog, hosted: Hosted, version: Version, request: Request) -> None:
        """Keep nothing of a version but its settings."""
        stored = log.versions.set_state(version.stored, State.RETIRED)

        def committed() -> None:
            version.stored = stored
            hosted.others.pop(version.number, None)
            self.drop(version)

        request.committed.append(committed)

    def _take(self, hosted: Hosted, stored: StoredVersion, edits: Edits) -> None:
        before = hosted.others.get(stored.number)
        if before is not None:
            self.drop(before)
        hosted.others[stored.number] = Version(hosted.name, stored, hosted.folder, edits)
        self.notify()

    def _page(self, hosted: Hosted, version: Version, after: int, log: EventLog, request: Request) -> list[Row]:
        """Return the events after one; a version that replaces another begins again if rows were erased meanwhile."""
        hosted.check_living()
        if _is_outdated(log, version):
            self.begin(log, hosted, version.stored, State.NEXT, request)
            return []
        return log.taught(log.edits.basis(version.stored), after, ROWS_PER_PAGE)

    def _promoted(self, hosted: Hosted, version: Version, log: EventLog) -> Generator[None]:
        """Let a version answer that has learned all but a few rows."""
        basis = log.edits.basis(version.stored)
        is_level = len(log.taught(basis, version.cursor, ROWS_PER_PAGE)) < ROWS_PER_PAGE
        is_there = not hosted.deleted and hosted.others.get(version.number) is version
        if not is_there or not is_level or _is_outdated(log, version):
            return
        before, chosen = hosted.live, version.state == State.PROMOTING
        goes_on = chosen and before.failed is None
        then = State.SHADOW if goes_on else State.RETIRED

        def write(log: EventLog, request: Request) -> tuple[StoredVersion, StoredVersion]:
            note = b'{"from":%d}' % before.number if chosen else None
            log.add(hosted.number, Event.PROMOTED, version=version.number, note=note)
            for one in list(hosted.others.values()):
                if chosen and one.state == State.NEXT:  # which would have replaced the one before
                    self.retire(log, hosted, one, request)
            return log.versions.set_state(version.stored, State.LIVE), log.versions.set_state(before.stored, then)

        version.stored, stored = self.writer.write(write)
        events, cursor = list[Row](), version.cursor
        while page := log.taught(basis, cursor, ROWS_PER_PAGE):
            events, cursor = [*events, *page], page[-1].seq
        self._is_replacing = True
        try:
            self.learner.replace(hosted, version, version.examples(events))
            before.stored = stored
            if goes_on:
                hosted.others[before.number] = before
            else:
                self.drop(before)
        finally:
            self._is_replacing = False
        self.notify()
        yield None


def _is_outdated(log: EventLog, version: Version) -> bool:
    """Return whether rows were erased that a version may have learned which is trained to have nothing of such rows."""
    return version.state == State.NEXT and log.last_of(version.stored.model, Event.ERASURE) > version.stored.begun


def _record_aside(version: Version, log: EventLog, request: Request) -> None:
    request.committed.append(partial(version.recorded, version.record_aside(log)))
