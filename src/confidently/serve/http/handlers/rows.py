"""Rows: predict, learn, label, explain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from heapq import nlargest
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from ....models.explanation import Explanation, NumberExplanation
from ....models.stack_explanation import NumberStackExplanation, StackExplanation
from ...engine.requests import Request
from ...model.hosted import Hosted
from ...model.numbers import NumberAnswer
from ...model.predicted import AnyAnswer, Promises
from ...model.rows import label_of
from ...problems import Problem, tried
from ...work import examples
from .. import dry_run
from .. import messages as m
from ..calls import Call, decoded_lines
from ..lines import by_lines
from ..replies import Reply, Sendable, answered

T = TypeVar("T")
MAX_TOP = 10_000


class Asked(NamedTuple):
    """What is asked for of predictions: promises, and how many classes have their probability (0: all)."""

    promises: Promises
    top_k: int


async def predict(call: Call) -> Sendable:
    """Predict rows; the model does not change."""
    hosted, asked = call.hosted, Asked(_promises(call), call.number("top_k", 0, 1, MAX_TOP))
    if call.is_ndjson:
        return by_lines(call, partial(_predict_lines, call, hosted, asked))
    body = await call.message(m.PredictBody)
    if isinstance(body.features, msgspec.UnsetType) == isinstance(body.instances, msgspec.UnsetType):
        raise Problem("invalid-body", 'expected "features" of one row, or "instances": a list of rows')
    if isinstance(body.instances, msgspec.UnsetType):
        assert not isinstance(body.features, msgspec.UnsetType)
        id = body.id if body.id is not None else call.key
        row = examples.question(hosted, id, bytes(body.features))
        [found] = await _accepted(call, hosted, [row])
        if not isinstance(found, Problem):
            [found] = await _predicted(call, hosted, asked, [row])
        if isinstance(found, Problem):
            raise found
        return answered(found)
    checked = [
        tried(examples.question, hosted, one.id, bytes(one.features), pointer=f"/instances/{k}")
        for k, one in enumerate(body.instances)
    ]
    accepted = _filled(checked, await _accepted(call, hosted, _good(checked)))
    checked = [
        found.within(f"/instances/{k}") if isinstance(found, Problem) and not isinstance(before, Problem) else found
        for k, (before, found) in enumerate(zip(checked, accepted, strict=True))
    ]
    both = _filled(checked, await _predicted(call, hosted, asked, _good(checked)))
    shown = [one.as_json() if isinstance(one, Problem) else one for one in both]
    return answered({"predictions": shown})


def _promises(call: Call) -> Promises:
    """Return what is to be promised of predictions."""
    novelty = call.choice("novelty", ("false", "true")) == "true"
    asked = Promises(call.fraction("set"), call.fraction("max_risk"), novelty)
    call.hosted.model.check_promises(asked)
    return asked


async def _accepted(call: Call, hosted: Hosted, rows: list[Any]) -> list[Any]:
    """Return checked rows, or the problem of those that the settings of the model refuse."""
    if not rows or not hosted.model.settings.strict:
        return rows
    found: list[Any] = await call.ask(examples.refusals(hosted, rows))
    return found


async def _predict_lines(call: Call, hosted: Hosted, asked: Asked, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, m.Instance)
    rows = [(body.id, bytes(body.features)) for body in _good(bodies)]
    checked = _filled(bodies, examples.all_questions(hosted, rows))
    checked = _filled(checked, await _accepted(call, hosted, _good(checked)))
    return _filled(checked, await _predicted(call, hosted, asked, _good(checked)))


def _good(parts: list[T | Problem]) -> list[T]:
    """Return what is not a problem."""
    return [part for part in parts if not isinstance(part, Problem)]


def _filled(parts: list[Any], results: Iterable[Any]) -> list[Any]:
    """Return parts, with the results of the good ones in their places."""
    following = iter(results)
    return [part if isinstance(part, Problem) else next(following) for part in parts]


async def _predicted(
    call: Call, hosted: Hosted, asked: Asked, rows: list[examples.Question]
) -> list[m.Prediction | m.NumberPrediction | Problem]:
    """Return predictions; those of rows with an id are stored first."""
    found = await _all_predicted(call, hosted, asked.promises, rows)
    if asked.top_k:
        for one in found:
            if isinstance(one, m.Prediction):
                best = nlargest(asked.top_k, one.probability.items(), key=itemgetter(1))
                one.probability = dict(best)
    return found


async def _all_predicted(
    call: Call, hosted: Hosted, asked: Promises, rows: list[examples.Question]
) -> list[m.Prediction | m.NumberPrediction | Problem]:
    if not rows:
        return []
    found: list[AnyAnswer | Problem] = await call.ask(examples.predict(hosted, rows))
    if call.engine.replica is not None:
        refusal = call.engine.replica.refusal()
        found = [one if row.id is None else refusal for row, one in zip(rows, found, strict=True)]
    elif any(row.id is not None for row in rows):
        found = await call.log(examples.store_predictions(call.engine, hosted, rows, _good(found)))
    if asked == Promises():
        return [one if isinstance(one, Problem) else _message(row, one) for row, one in zip(rows, found, strict=True)]
    more = _filled(found, await call.ask(examples.promises(hosted, _good(found), asked)))
    novelty = await call.ask(examples.novelty(hosted, rows)) if asked.novelty else [msgspec.UNSET] * len(rows)
    return [
        one if isinstance(one, Problem) else _message(row, one, own | {"novelty": p})
        for row, one, own, p in zip(rows, found, more, novelty, strict=True)
    ]


def _message(
    row: examples.Question, answer: AnyAnswer, more: dict[str, Any] | None = None
) -> m.Prediction | m.NumberPrediction:
    kind = m.NumberPrediction if isinstance(answer, NumberAnswer) else m.Prediction
    found: m.Prediction | m.NumberPrediction = kind(row.id, *answer)
    return found if more is None else msgspec.structs.replace(found, **more)


async def learn(call: Call) -> Sendable:
    """Learn rows with labels; answered when they are durable, with ``?wait=learned`` when they are learned."""
    if call.choice("dry_run", ("false", "true")) == "true":
        return await dry_run.tried_out(call, call.query.get("settings"))
    hosted, wait, batch = call.hosted, call.choice("wait", ("durable", "learned")) == "learned", call.text("batch", 200)
    if call.is_ndjson:
        return by_lines(call, partial(_learn_lines, call, hosted, wait, batch))
    body = await call.message(m.LearnBody)
    id = body.id if body.id is not None else call.key
    [row] = await _accepted(
        call, hosted, [examples.taught(hosted, id, bytes(body.features), label_of(body.label), body.weight)]
    )
    if isinstance(row, Problem):
        raise row
    return _receipt(call, await call.log(examples.learn(call.engine, hosted, [row], wait, batch)))


async def _learn_lines(call: Call, hosted: Hosted, wait: bool, batch: str | None, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, m.LearnBody)
    rows = [(body.id, bytes(body.features), label_of(body.label), body.weight) for body in _good(bodies)]
    checked = _filled(bodies, examples.all_taught(hosted, rows))
    checked = _filled(checked, await _accepted(call, hosted, _good(checked)))
    good = _good(checked)
    if not good:
        return checked
    return _filled(checked, _counted(call, await call.log(examples.learn(call.engine, hosted, good, wait, batch))))


def _counted(call: Call, found: list[examples.Receipt | Problem]) -> list[examples.Receipt | Problem]:
    """Return receipts, after the audit log has been told how many there are."""
    call.taught(len(_good(found)))
    return found


async def label(call: Call) -> Sendable:
    """Label rows that were predicted, by their ids."""
    hosted, wait, batch = call.hosted, call.choice("wait", ("durable", "learned")) == "learned", call.text("batch", 200)
    park = call.choice("park", ("false", "true")) == "true"
    if call.is_ndjson:
        return by_lines(call, partial(_label_lines, call, hosted, park, wait, batch))
    body = await call.message(m.LabelBody)
    given = examples.LabelOf(body.id, label_of(body.label), body.labeller)
    request = examples.label_rows(
        call.engine, hosted, [given], correct=[body.correct], park=park, wait=wait, batch=batch
    )
    return _receipt(call, await call.log(request))


async def _label_lines(
    call: Call, hosted: Hosted, park: bool, wait: bool, batch: str | None, lines: list[bytes]
) -> list[Any]:
    bodies = decoded_lines(lines, m.LabelBody)
    good = _good(bodies)
    labels = [examples.LabelOf(body.id, label_of(body.label), body.labeller) for body in good]
    request = examples.label_rows(
        call.engine, hosted, labels, correct=[body.correct for body in good], park=park, wait=wait, batch=batch
    )
    return _filled(bodies, _counted(call, await call.log(request)) if good else [])


def _receipt(call: Call, found: list[examples.Receipt | Problem]) -> Reply:
    if isinstance(found[0], Problem):
        raise found[0]
    call.taught(1)
    return answered(m.Receipt(*found[0]))


async def explain(call: Call) -> Sendable:
    """Explain a prediction: what each feature adds to the mean and variance of the margin, or to the number."""
    hosted, body = call.hosted, await call.message(m.ExplainBody)
    row = examples.question(hosted, None, bytes(body.features))

    def work(log: Any, request: Any) -> Any:
        hosted.check_working()
        try:
            return hosted.model.explanation(row.features, body.about)
        except ValueError as error:
            raise Problem("invalid-body", str(error), "/about") from None

    return answered(_explained(await call.ask(Request(work))))


def _explained(
    found: Explanation | StackExplanation | NumberExplanation | NumberStackExplanation,
) -> m.Explained | m.NumberExplained:
    members: list[dict[str, Any]] = []
    if isinstance(found, StackExplanation | NumberStackExplanation):
        parts = [part._asdict() for part in found.features]
        members = [member._asdict() | {"mean": member.mean} for member in found.members]
    else:
        parts = [asdict(contribution) for contribution in found.contributions]
    if isinstance(found, NumberStackExplanation):
        return m.NumberExplained(found.predicted, found.std, 0.0, parts, members)
    if isinstance(found, NumberExplanation):
        return m.NumberExplained(found.predicted, found.std, found.offset, parts, members)
    return m.Explained(
        found.predicted, found.supported, found.rival, found.mean, found.variance, found.classes, parts, members
    )
