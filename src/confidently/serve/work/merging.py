"""Requests of servers that exchange what they have learned: what a model contributes, and merging that of others."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...models.file import ModelFileError
from ...models.merged_learner import MergeError
from ..engine.requests import LearnedQuestion, Request
from ..log.contributions import Source
from ..log.event_log import EventLog
from ..model.contributions import ENTRY, Contribution, Stated, file_of
from ..model.hosted import Hosted
from ..model.learning import Example
from ..model.served import ServedModel
from ..problems import Problem
from .teaching import DURABLE, LEARNED


class MergeReceipt(NamedTuple):
    """The answer to a contribution: whose it is, how many rows it has, its event, and what is certain."""

    origin: str
    rows: int
    seq: int
    status: str


def read(content: bytes) -> Contribution:
    """Return the contribution in a body.

    Raises
    ------
    Problem
        If it is none, or damaged.
    """
    try:
        return Contribution.of(content)
    except ModelFileError as error:
        raise Problem("invalid-body", str(error)) from None


def origin(hosted: Hosted) -> Request:
    """Return a request for the name that the model has for other servers."""

    def work(log: EventLog, request: Request) -> str:
        hosted.check_working()
        _own(hosted)
        return log.contributions.origin(hosted.number)

    return Request(work)


def contribution(hosted: Hosted, origin: str) -> Request:
    """Return a question for what the model has learned of the rows of this server, as a file, once it has learned those
    that wait now."""

    def work(log: EventLog, request: Request) -> bytes:
        hosted.check_working()
        own = _own(hosted)
        stated = Stated(origin, own.seq, hosted.live.settings_stated)
        return file_of(own.model(), {ENTRY: msgspec.to_builtins(stated)})

    return LearnedQuestion(hosted, work)


def known(hosted: Hosted, given: Contribution, wait: bool) -> Request:
    """Return a request for whether a contribution was merged before, answered with its receipt or with its source."""

    def work(log: EventLog, request: Request) -> MergeReceipt | Source:
        hosted.check_working()
        return _known(log, hosted, given, wait)

    return Request(work)


def check(hosted: Hosted, given: Contribution, source: Source) -> Request:
    """Return a question for whether a contribution can be merged now."""

    def work(log: EventLog, request: Request) -> None:
        hosted.check_working()
        try:
            hosted.live.check_merge(given, source)
        except MergeError as error:
            raise Problem("cannot-merge", str(error)) from None

    return LearnedQuestion(hosted, work)


def merge(hosted: Hosted, given: Contribution, wait: bool) -> Request:
    """Return a request to merge a contribution, which takes the place of the one before of its server."""

    def work(log: EventLog, request: Request) -> list[MergeReceipt | Problem]:
        hosted.check_working()
        found = _known(log, hosted, given, wait)
        if isinstance(found, MergeReceipt):
            return [found]
        seq = log.contributions.add(hosted.number, found, given.content)
        request.examples.append((hosted, Example(b"", 1.0, seq, merged=(given.content, msgspec.json.encode(found)))))
        return [MergeReceipt(found.origin, found.rows, seq, LEARNED if wait else DURABLE)]

    return Request(work, 1, len(given.content), wait)


def _known(log: EventLog, hosted: Hosted, given: Contribution, wait: bool) -> MergeReceipt | Source:
    """Return the receipt of a contribution that was merged before, or the source of one that may be merged."""
    own, stated = log.contributions.origin(hosted.number), given.stated
    source = Source(stated.origin, stated.seq, given.rows, given.digest, own)
    if stated.origin == own:
        raise Problem("merged-already", "the contribution is of this model itself; send those of other servers")
    before = log.contributions.of(hosted.number).get(stated.origin)
    if before is None:
        return source
    seq, found = before
    if found.digest == source.digest:
        if (reason := hosted.live.why_aside(log, seq)) is not None:
            raise Problem("cannot-merge", reason)
        return MergeReceipt(found.origin, found.rows, seq, LEARNED if wait and seq <= hosted.cursor else DURABLE)
    if stated.seq < found.seq:
        raise Problem(
            "merged-already",
            f"the contribution goes up to event {stated.seq:,} of the server {stated.origin}, of which a later one up "
            f"to event {found.seq:,} was merged; download a new one with GET .../contribution",
        )
    return source


def _own(hosted: Hosted) -> ServedModel:
    """Return what has only the rows of this server."""
    model = hosted.model
    if model.merge_refusal is not None or not isinstance(model, ServedModel):
        raise Problem("cannot-merge", str(model.merge_refusal))
    return model.own
