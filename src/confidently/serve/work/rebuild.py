"""Training a model again from its log, so that erased rows have no influence on it any more."""

from __future__ import annotations

from collections.abc import Generator

from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import EventLog
from ..log.events import Event
from ..model.hosted import Hosted, examples_of

ROWS_PER_STEP = 512  # between two commits


def rebuild(engine: Engine, hosted: Hosted) -> Request:
    """Return a request to train a model again, answered with the event of that.

    The old model answers until the new one has learned all rows; new rows are still accepted.
    """

    def work(log: EventLog, request: Request) -> Generator[int]:
        hosted.check_living()
        return steps(log)

    def steps(log: EventLog) -> Generator[int]:
        fresh, erased, last = begun()
        while events := log.taught(hosted.number, fresh.cursor, ROWS_PER_STEP):
            hosted.check_living()
            rows = [example for example in examples_of(fresh, events) if example.line]
            if rows:
                fresh.learn(rows, live=False)
            fresh.cursor = events[-1].seq
            yield fresh.cursor
            number = hosted.number
            if log.last_of(number, Event.ERASURE) != erased or log.was_set_aside_since(number, last, fresh.cursor):
                fresh, erased, last = begun()  # of a row that is learned already, perhaps
        hosted.check_living()
        seq = engine.writer.write(lambda log, request: done(log, fresh))
        engine.learner.replace(hosted, fresh)
        yield seq

    def begun() -> tuple[Hosted, int, int]:
        """Return the model before its first row, the last erasure, and the last event of all."""
        return hosted.untrained(), engine.log.last_of(hosted.number, Event.ERASURE), engine.log.last()

    def done(log: EventLog, fresh: Hosted) -> int:
        """Record what the new model could not learn, and that it is the model from now on; return the event of that."""
        fresh.record_aside(log)
        fresh.metrics.refused = log.n_aside(hosted.number)
        return log.add(hosted.number, Event.REBUILD)

    return Request(work)
