"""How a start restores a model: its newest sound snapshot, then the events of the log after it."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...wording import counted
from ..log.event_log import EventLog
from ..log.events import Event
from ..model.hosted import Hosted, examples_of

ROWS_PER_REPLAY = 4096


def replay(log: EventLog, hosted: Hosted, say: Callable[[str], None] = lambda line: None) -> None:
    """Load the newest sound snapshot of a model, learn the events after it, and find the rows to label.

    Nothing is written: ``hosted.aside`` has the events that could not be learned and are not in the log as such.

    Parameters
    ----------
    log : EventLog
    hosted : Hosted
        As it was made.
    say : callable
        Called with a line about progress or a damaged snapshot.
    """
    since = log.last_of(hosted.number, Event.REBUILD)
    hosted.load_newest(say, since)
    began, told, rows = time.monotonic(), time.monotonic(), 0
    while events := log.taught(hosted.number, hosted.cursor, ROWS_PER_REPLAY, erased_until=since):
        examples = [one for one in examples_of(hosted, events) if one.line or one.seq > since]
        hosted.learn_events(examples, live=False)
        hosted.cursor, rows = events[-1].seq, rows + len(events)
        if time.monotonic() - told > 1.0:
            told = time.monotonic()
            say(f"{hosted.name}: {counted(rows, 'event')} replayed")
    hosted.restore_labelling(log)
    hosted.aside = {seq: reason for seq, reason in hosted.aside.items() if log.why_aside(seq) is None}
    hosted.metrics.refused = log.n_aside(hosted.number) + len(hosted.aside)
    if rows:
        say(f"{hosted.name}: {counted(rows, 'event')} replayed in {time.monotonic() - began:.1f} s")
