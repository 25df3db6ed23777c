"""Rows that requests bring, checked before the log or a model has anything of them.

With an encoder they get the vectors of their texts, which takes time: such rows are checked outside the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import msgspec

from ...data.memory.matrix import MIN_WEIGHT
from ..engine.requests import Request
from ..log.event_log import EventLog
from ..log.vectors import KEY, NAMED
from ..model.hosted import Hosted
from ..model.rows import labelled_line, one_line
from ..problems import Problem, tried


class Taught(NamedTuple):
    """A row with its label, as JSON, and the line of both, checked; ``id`` is None if the server chooses one.

    ``by`` is who labelled it, if that is known.
    """

    id: str | None
    features: bytes
    label: bytes
    weight: float
    line: bytes
    by: str | None = None


class Question(NamedTuple):
    """A row without a label, checked; without an ``id`` it is not stored."""

    id: str | None
    features: bytes


Row = TypeVar("Row", Taught, Question)


def _with_vectors(hosted: Hosted, rows: Sequence[Row]) -> list[Row]:
    """Return checked rows with the vectors of their texts, if the model has an encoder."""
    if hosted.vectors is None:
        return list(rows)
    found = list[Row]()
    for row, features in zip(rows, hosted.vectors.added([row.features for row in rows]), strict=True):
        if isinstance(row, Taught):
            row = row._replace(line=labelled_line(hosted.label_key, row.label, features))
        found.append(row._replace(features=features))
    return found


def _check_key(features: bytes) -> None:
    if NAMED in features:
        raise Problem("invalid-row", f"the key {KEY!r} is the server's; rename it", f"/features/{KEY}")


def taught(hosted: Hosted, id: str | None, features: bytes, label: Any, weight: float) -> Taught:
    """Check a row with its label.

    Raises
    ------
    Problem
        If it cannot be read, or its label is unknown.
    """
    features, label = one_line(features), msgspec.json.encode(label)
    if not 0.0 <= weight <= 1e9:
        raise Problem("invalid-row", f"weight: expected a number from 0 to 1e9, got {weight!r}", "/weight")
    if 0.0 < weight < MIN_WEIGHT:
        raise Problem("invalid-row", f"weight: expected 0 or at least {MIN_WEIGHT:g}, got {weight!r}", "/weight")
    _check_key(features)
    [row] = _with_vectors(hosted, [Taught(id, features, label, weight, hosted.check.labelled(features, label))])
    return row


def taught_line(hosted: Hosted, line: bytes) -> Taught:
    """Check a line as ``confidently train`` reads it, which has its label among its keys; values keep their text.

    Raises
    ------
    Problem
        If it cannot be read, or its label is unknown.
    """
    line = one_line(line)
    _check_key(line)
    hosted.check.line(line)
    try:
        parts = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        label = bytes(parts.pop(hosted.label_key))
    except KeyError:
        raise Problem("invalid-row", f"the row has no {hosted.label_key!r}") from None
    except ValueError as error:  # half of a surrogate pair, which no text has
        raise Problem("invalid-row", str(error)) from None
    [row] = _with_vectors(hosted, [Taught(None, msgspec.json.encode(parts), label, 1.0, line)])
    return row


def all_taught(hosted: Hosted, rows: Sequence[tuple[str | None, bytes, Any, float]]) -> list[Taught | Problem]:
    """Check rows as :func:`taught` does, all at once unless something is wrong with one."""
    found = list[Taught]()
    for id, features, label, weight in rows:
        features, label = one_line(features), msgspec.json.encode(label)
        found.append(Taught(id, features, label, weight, labelled_line(hosted.label_key, label, features)))
    are_objects = all(row.features.startswith(b"{") and NAMED not in row.features for row in found)
    if are_objects and hosted.check.are_labelled([row.line for row in found]):
        with suppress(Problem):  # of one of them
            return list(_with_vectors(hosted, found))
    return [tried(taught, hosted, *row) for row in rows]


def question(hosted: Hosted, id: str | None, features: bytes) -> Question:
    """Check a row without a label.

    Raises
    ------
    Problem
        If it cannot be read.
    """
    features = one_line(features)
    _check_key(features)
    hosted.check.features(features)
    [row] = _with_vectors(hosted, [Question(id, features)])
    return row


def all_questions(hosted: Hosted, rows: Sequence[tuple[str | None, bytes]]) -> list[Question | Problem]:
    """Check rows as :func:`question` does, all at once unless something is wrong with one."""
    found = [Question(id, one_line(features)) for id, features in rows]
    are_usual = all(NAMED not in row.features for row in found)
    if are_usual and hosted.check.are_features([row.features for row in found]):
        with suppress(Problem):  # of one of them
            return list(_with_vectors(hosted, found))
    return [tried(question, hosted, *row) for row in rows]


def refusals(hosted: Hosted, rows: Sequence[Taught | Question]) -> Request:
    """Return a question about checked rows, answered with each of them, or the problem for which it is refused."""

    def work(log: EventLog, request: Request) -> list[Taught | Question | Problem]:
        hosted.check_working()
        found = hosted.refusals([(row.features, row.label if isinstance(row, Taught) else None) for row in rows])
        return [row if problem is None else problem for row, problem in zip(rows, found, strict=True)]

    return Request(work, len(rows))
