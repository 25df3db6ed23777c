"""Requests for predictions, what is promised of them, and storing them so that their labels can follow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from ..engine.engine import Engine
from ..engine.requests import Request, RowsQuestion
from ..log.event_log import EventLog, refuse_other_content, same_json
from ..log.events import Event
from ..model.candidates import candidate
from ..model.hosted import Hosted
from ..model.predicted import Answer, AnyAnswer, Promises
from ..problems import Problem, tried
from .checking import Question
from .teaching import example_of, is_expired


def predict(hosted: Hosted, rows: Sequence[Question]) -> Request:
    """Return a question about rows, answered with an ``Answer`` for each."""

    return RowsQuestion(hosted, [row.features for row in rows])


def promises(hosted: Hosted, answers: Sequence[AnyAnswer], asked: Promises) -> Request:
    """Return a question about answers, answered with what is promised of each."""

    def work(log: EventLog, request: Request) -> list[dict[str, Any]]:
        hosted.check_working()
        return hosted.model.promises(answers, asked)

    return Request(work)


def novelty(hosted: Hosted, rows: Sequence[Question]) -> Request:
    """Return a question about rows, answered with the p-value of each as one of those learned."""

    def work(log: EventLog, request: Request) -> list[float]:
        hosted.check_working()
        return hosted.model.novelty([row.features for row in rows])

    return Request(work)


def store_predictions(
    engine: Engine, hosted: Hosted, rows: Sequence[Question], answers: Sequence[AnyAnswer]
) -> Request:
    """Return a request to store predictions with ids, answered with an ``Answer`` or a ``Problem`` for each.

    An id that was used before with the same features gets its first answer.
    """

    def work(log: EventLog, request: Request) -> list[AnyAnswer | Problem]:
        hosted.check_working()
        return [
            answer if row.id is None else tried(_store, engine, hosted, log, request, row, answer)
            for row, answer in zip(rows, answers, strict=True)
        ]

    return Request(work, len(rows), sum(len(row.features) for row in rows))


def _store(
    engine: Engine, hosted: Hosted, log: EventLog, request: Request, row: Question, answer: AnyAnswer
) -> AnyAnswer:
    assert row.id is not None
    stored = log.find(hosted.number, row.id)
    if stored is not None and is_expired(engine, log, stored):
        log.unpark(stored.seq)
        stored = None
    if stored is not None and stored.kind != Event.PARKED:
        if stored.features is None or not same_json(stored.features, row.features):
            raise refuse_other_content(row.id)
        return Answer.of(stored.note) if stored.kind == Event.PREDICTION and stored.note is not None else answer
    if stored is not None:
        log.unpark(stored.seq)
    note = msgspec.json.encode(answer._asdict())
    seq = log.add(hosted.number, Event.PREDICTION, row.id, None, row.features, note=note)
    request.committed.append(partial(hosted.count_prediction, seq, answer.ask))
    if stored is not None and stored.label is not None:
        event = log.add(hosted.number, Event.LABEL, example=seq, label=stored.label)
        request.examples.append((hosted, example_of(hosted, row.features, stored.label, 1.0, event)))
    else:
        request.committed.append(partial(hosted.labelling.add, candidate(row.id, seq, row.features, answer)))
    return answer
