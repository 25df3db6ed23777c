"""Asking a model again about the rows that wait for people, since it has learned meanwhile; a few at a time."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import EventLog
from ..model.candidates import Candidate
from ..model.hosted import Hosted
from ..model.predicted import AnyAnswer
from ..problems import Problem

STEP_SECONDS = 1e-3  # of the learner thread, so that questions of others hardly wait
FIRST_ROWS, MAX_ROWS = 8, 256  # of a step


class Refresh:
    """One look at all rows that wait. The learner thread answers, the log thread stores, in turn.

    It begins when somebody asks for rows and the model has changed. Nobody waits for it.

    Parameters
    ----------
    engine : Engine
    hosted : Hosted
    rows : list of Candidate
    """

    def __init__(self, engine: Engine, hosted: Hosted, rows: list[Candidate]) -> None:
        self.engine, self.hosted, self.rows = engine, hosted, rows
        self._done, self._n = 0, FIRST_ROWS

    def ask(self) -> None:
        """Ask about the next rows; of any thread."""
        try:
            self.engine.ask(Request(self._answer, rows=0))
        except Problem:  # the server stops, or has too much to do
            self.hosted.labelling.end_refresh()

    def _answer(self, log: EventLog, request: Request) -> None:
        """Answer in the learner thread."""
        rows, began = self.rows[self._done : self._done + self._n], time.perf_counter()
        answers: list[AnyAnswer] | None = None
        with suppress(Exception):  # the model was deleted or has stopped, as who asks it finds out
            self.hosted.check_working()
            answers = self.hosted.model.answers([row.features for row in rows])
        spent = max(time.perf_counter() - began, 1e-6)
        self._done += len(rows)
        self._n = min(max(int(len(rows) * STEP_SECONDS / spent), 1), MAX_ROWS, 2 * self._n)

        def store(log: EventLog, request: Request) -> None:
            if answers is not None:
                self.hosted.labelling.refreshed(rows, answers)
            if answers is not None and self._done < len(self.rows):
                self.ask()
            else:
                self.hosted.labelling.end_refresh()

        try:
            self.engine.submit(Request(store, rows=0))
        except Problem:
            self.hosted.labelling.end_refresh()


def refresh(engine: Engine, hosted: Hosted) -> None:
    """Begin to ask a model about all rows that wait, if it has changed since the last time; in the log thread."""
    rows = hosted.labelling.begin_refresh(_state(hosted))
    if rows:
        Refresh(engine, hosted, rows).ask()


def _state(hosted: Hosted) -> Any:
    """Return what differs whenever the model does."""
    return hosted.metrics.rows, hosted.metrics.sums
