"""Erasing a row: it is hidden, and its content is overwritten once the model no longer needs it after a kill.

A restart trains the model again on the rows since its last snapshot. So what the model has learned of the row must be
in a snapshot before the row is overwritten. A kill between these steps leaves the rest of them to the next start.
"""

from __future__ import annotations

from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import EventLog
from ..log.events import Event
from ..model.hosted import Hosted
from ..model.learning import Example
from .models import save


def erase(engine: Engine, hosted: Hosted, id: str) -> int:
    """Erase a row; return the event of that when its content is overwritten.

    Raises
    ------
    Problem
        If there is no such row, or the disk has no room for a snapshot: the row is then overwritten by the next
        request of this kind, or after a restart.
    """

    def begin(log: EventLog, request: Request) -> tuple[int, int, bool]:
        hosted.check_living()
        stored = log.get(hosted.number, id)
        before, learned = log.erasure_of(stored.seq), log.is_taught(stored.seq)
        if before is not None:
            return before, stored.seq, learned
        seq = log.add(hosted.number, Event.ERASURE, example=stored.seq, note=b"{}")  # a note: to be overwritten
        if learned:
            request.examples.append((hosted, Example(b"", 1.0, seq)))
        request.committed.append(lambda: hosted.labelling.remove(id))
        return seq, stored.seq, learned

    def overwrite(log: EventLog, request: Request) -> None:
        log.overwrite(example)
        request.committed.append(log.truncate)

    seq, example, learned = engine.submit(Request(begin, wait=True).blocking()).answer()
    if learned:
        engine.ask(save(hosted).blocking()).answer()
    engine.submit(Request(overwrite).blocking()).answer()
    return int(seq)
