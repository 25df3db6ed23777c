"""Training a model again from its log, so that erased rows have no influence on it any more."""

from __future__ import annotations

from collections.abc import Iterator

from .engine import Engine
from .hosted import Hosted, examples_of
from .log import Event, EventLog
from .requests import Request

ROWS_PER_STEP = 512  # between two commits


def rebuild(engine: Engine, hosted: Hosted) -> Request:
    """Return a request to train a model again, answered with the event of that.

    The old model answers until the new one has learned all rows; rows go on to come in.
    """

    def work(log: EventLog, request: Request) -> Iterator[int]:
        hosted.check_living()
        return steps(log)

    def steps(log: EventLog) -> Iterator[int]:
        fresh = hosted.untrained()
        while events := log.taught(hosted.number, fresh.cursor, ROWS_PER_STEP):
            hosted.check_living()
            rows = [example for example in examples_of(fresh, events) if example.line]
            if rows:
                fresh.learn(rows, live=False)
            fresh.cursor = events[-1].seq
            yield fresh.cursor
        log.begin()
        seq = log.add(hosted.number, Event.REBUILD)
        log.commit()
        engine.replace(hosted, fresh)
        yield seq

    return Request(work)
