"""Learning from a source of rows that continues: a growing file, a pipe, or anything with positions.

The position in the source is stored in the transaction of the rows before it. So across kills every row is learned
exactly once, as long as the source has the same rows at the same positions.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from ...extras import install
from ...wording import counted
from ..background import BackgroundThread
from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import EventLog
from ..model.hosted import Hosted
from ..model.version import told_of
from ..problems import Problem
from ..work.checking import Taught, refusals, taught_line
from ..work.teaching import teach
from .source import FileSource, PipeSource, Some, Source

PAUSE = 0.2  # seconds after which rows that found no room are sent again
STDIN = "-"
AUDIT_SECONDS = 3600.0  # between two entries of the audit log about rows
TOLD = 5  # rows that are left out and reported one by one; after them, how many there are: 10, 100, 1000, ...
PASSING = ("overloaded", "disk-full")  # problems after which the same rows are sent again


def sources_of(name: str) -> list[Source]:
    """Return the sources that a name stands for: a file, ``-``, or the partitions of a topic of Kafka.

    Raises
    ------
    OSError
        If the file cannot be read.
    Problem
        If there is no such topic, or the package for Kafka is missing.
    """
    if name == STDIN:
        return [PipeSource()]
    if not name.startswith("kafka://"):
        with open(name, "rb") as file:
            file.seek(0, os.SEEK_END)
        return [FileSource(name)]
    try:
        from .kafka import partitions  # needs an extra of its own
    except ImportError:
        raise Problem("invalid-parameter", f"Kafka needs confluent-kafka; run {install('kafka')}") from None
    return list(partitions(name))


class Follower(BackgroundThread):
    """A thread that trains a model on the rows of a source.

    Parameters
    ----------
    engine : Engine
    hosted : Hosted
    source : Source
    say : callable
        Called with a line about rows that cannot be read, which are skipped.

    Attributes
    ----------
    learned, refused : int
        Rows so far.
    """

    def __init__(self, engine: Engine, hosted: Hosted, source: Source, say: Callable[[str], None]) -> None:
        super().__init__("follow")
        self.engine, self.hosted, self.source, self.say = engine, hosted, source, say
        self.learned = self.refused = 0
        self._audited, self._audited_at = 0, time.monotonic()  # rows in the audit log, and since when

    def stop(self) -> None:
        """Stop after the rows that were read."""
        self._stopping.set()
        if not isinstance(self.source, PipeSource):  # which may wait for a line for ever
            self._thread.join()
        self._audit("end_follow")
        if self.refused > TOLD:
            self.say(f"{self.source.name}: {counted(self.refused, 'row')} left out")

    def _run(self) -> None:
        self._audit("begin_follow")
        try:
            position = self._call(lambda log, request: log.position(self.hosted.number, self.source.name), rows=0)
            for some in self.source.rows(position, self._stopping):
                self._learn(some)
                if time.monotonic() > self._audited_at + AUDIT_SECONDS:
                    self._audit("follow")
        except Exception as error:  # of the source, of the log, or a fault, which must not go unnoticed
            if not self.engine.stopping:
                told = error if isinstance(error, OSError | Problem) else told_of(error)
                self.say(f"{self.source.name}: {told}; following ends")

    def _audit(self, action: str) -> None:
        """Tell the audit log how many rows were learned."""
        rows, self._audited_at = self.learned - self._audited, time.monotonic()
        self._audited += rows
        self.engine.audit.followed(action, self.hosted.name, self.source.name, rows)

    def _learn(self, some: Some) -> None:
        places = zip(some.lines, some.places, strict=True)
        rows = self._accepted([(self._row(line, place), place) for line, place in places])

        def work(log: EventLog, request: Request) -> None:
            request.batch = log.edits.batch_for(self.hosted.number, self.source.name) if rows else None
            for row in rows:
                teach(self.engine, self.hosted, log, request, row)
            log.set_position(self.hosted.number, self.source.name, some.position)

        while True:
            try:
                self._call(work, len(rows))
            except Problem as problem:
                if problem.kind not in PASSING:
                    raise
                self._stopping.wait(PAUSE)
            else:
                break
        self.learned += len(rows)

    def _row(self, line: bytes, place: str) -> Taught | None:
        if not line.strip():
            return None
        try:
            return taught_line(self.hosted, line)
        except Problem as problem:
            self._refuse(problem, place)
            return None

    def _accepted(self, rows: Sequence[tuple[Taught | None, str]]) -> list[Taught]:
        """Return the rows that the settings of the model accept."""
        good = [(row, place) for row, place in rows if row is not None]
        if not good or not self.hosted.model.settings.strict:
            return [row for row, _ in good]
        checked = self.engine.ask(refusals(self.hosted, [row for row, _ in good]).blocking()).answer()
        for one, (_, place) in zip(checked, good, strict=True):
            if isinstance(one, Problem):
                self._refuse(one, place)
        return [one for one in checked if not isinstance(one, Problem)]

    def _refuse(self, problem: Problem, place: str) -> None:
        self.refused += 1
        told = f"{self.source.name}, {place}"
        if self.refused <= TOLD:
            more = "; from now on only their number is reported" if self.refused == TOLD else ""
            self.say(f"{told}: a row is left out: {problem.detail}{more}")
        elif self.refused == 10 ** (len(str(self.refused)) - 1):
            self.say(f"{told}: {counted(self.refused, 'row')} left out so far; this one: {problem.detail}")

    def _call(self, work: Callable[[EventLog, Request], Any], rows: int = 1) -> Any:
        return self.engine.submit(Request(work, rows).blocking()).answer()
