"""Requests that edit what a model has learned: take a batch out, rename, merge or remove a class, revert an edit.

The rows stay in the log. A version that has learned them as edited is trained, and replaces the one that answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.edits import Edit, Edits
from ..log.event_log import MAX_SEQ, EventLog
from ..log.events import State
from ..model.hosted import Hosted
from ..problems import Problem
from .versions import check_classes, replace


def batches(hosted: Hosted) -> Request:
    """Return a request for the batches of a model, answered with a dict for each, the newest first."""

    def work(log: EventLog, request: Request) -> list[dict[str, Any]]:
        hosted.check_living()
        out = {edit.batch: edit.seq for edit in _current(log, hosted)}
        return [
            {"batch": name, "created": created / 1000.0, "rows": rows, "edit": _of_batch(out, number, last)}
            for number, name, created, rows, last in log.edits.batches(hosted.number)
        ]

    return Request(work)


def _of_batch(out: dict[int | None, int], number: int, last: int) -> int | None:
    """Return the edit that has taken a batch out, unless rows came after it."""
    seq = out.get(number)
    return seq if seq is not None and seq > last else None


def listed(hosted: Hosted) -> Request:
    """Return a request for the edits of a model that were not reverted, answered with a dict for each."""

    def work(log: EventLog, request: Request) -> list[dict[str, Any]]:
        hosted.check_living()
        names: dict[int | None, str] = {number: name for number, name, *_ in log.edits.batches(hosted.number)}
        return [
            {
                "edit": edit.seq, "time": edit.time / 1000.0, "batch": names.get(edit.batch), "from": edit.source,
                "to": edit.target, "answers": edit.seq <= hosted.live.stored.begun,
            }
            for edit in _current(log, hosted)
        ]  # fmt: skip

    return Request(work)


def take_out(engine: Engine, hosted: Hosted, name: str) -> Request:
    """Return a request to take a batch out, answered with the edit and the version that will answer."""

    def work(log: EventLog, request: Request) -> tuple[int, int]:
        hosted.check_living()
        number = log.edits.batch(hosted.number, name)
        if number is None:
            raise Problem("unknown-batch", f"{hosted.name!r} has no batch {name[:200]!r}; GET .../batches lists them")
        [(_, _, _, _, last)] = [one for one in log.edits.batches(hosted.number) if one[0] == number]
        for edit in _current(log, hosted):
            if edit.batch == number and edit.seq > last:
                return edit.seq, _answering(hosted)
        edit = log.edits.add(hosted.number, Edit(0, number, None, None, 0))
        return edit.seq, replace(engine, log, hosted, f"without batch {name}", request)

    return Request(work)


def change_class(engine: Engine, hosted: Hosted, source: str, target: str | None) -> Request:
    """Return a request to rename a class, to merge it into another one, or, with None, to remove it with its rows.

    It is answered as :func:`take_out`.
    """

    def work(log: EventLog, request: Request) -> tuple[int, int]:
        hosted.check_living()
        known = [str(name) for name in hosted.model.classes]
        if source not in known:
            shown = ", ".join(known[:20]) or "none so far"
            raise Problem("unknown-class", f"the model has no class {source[:200]!r}; there are: {shown}", "/from")
        if source == target:
            raise Problem("invalid-body", "from and to are the same class", "/to")
        if hosted.closed and len(hosted.closed) < 3 and (target is None or target in hosted.closed):
            raise Problem("invalid-body", "the model has two classes, and needs two; add one with other settings first")
        if hosted.live.stored.has_file and source in hosted.live.base_classes:
            raise Problem(
                "invalid-body", f"{source!r} is a class of the file that the model began with, whose rows are not in "
                "the log", "/from"
            )  # fmt: skip
        edit = Edit(0, None, source, target, 0)
        _check_classes(log, hosted, [*_current(log, hosted), edit])
        edit = log.edits.add(hosted.number, edit)
        what = f"class {source} removed" if target is None else f"class {source} is {target}"
        if hosted.closed:
            request.committed.append(lambda: hosted.take_check(Edits([edit])))
        return edit.seq, replace(engine, log, hosted, what, request)

    return Request(work)


def revert(engine: Engine, hosted: Hosted, seq: int) -> Request:
    """Return a request to revert an edit, answered as :func:`take_out`."""

    def work(log: EventLog, request: Request) -> tuple[int, int]:
        hosted.check_living()
        current = [edit.seq for edit in _current(log, hosted)]
        if seq not in current:
            told = ", ".join(map(str, current)) or "none"
            raise Problem("unknown-edit", f"{hosted.name!r} has no edit {seq} that counts; there are: {told}")
        _check_classes(log, hosted, [edit for edit in _current(log, hosted) if edit.seq != seq])
        event = log.edits.revert(hosted.number, seq)
        return event, replace(engine, log, hosted, f"edit {seq} reverted", request)

    return Request(work)


def _current(log: EventLog, hosted: Hosted) -> Iterator[Edit]:
    return iter(log.edits.until(hosted.number, MAX_SEQ).edits)


def _check_classes(log: EventLog, hosted: Hosted, edits: Sequence[Edit]) -> None:
    """Raise a ``Problem`` if edits leave a version too few of its classes."""
    check_classes([one for one in log.versions.of(hosted.number) if one.state != State.RETIRED], Edits(edits))


def _answering(hosted: Hosted) -> int:
    """Return the version that answers, or the one that will replace it."""
    following = [one.number for one in list(hosted.others.values()) if one.state == State.NEXT]
    return max(following, default=hosted.live.number)
