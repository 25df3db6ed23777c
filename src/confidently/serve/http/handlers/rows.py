"""Rows: predict, learn, label."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from heapq import nlargest
from operator import itemgetter
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ...model.hosted import Hosted
from ...model.numbers import NumberAnswer
from ...model.predicted import AnyAnswer, Promises
from ...model.rows import label_of
from ...problems import Problem
from ...work import checking, predicting, teaching
from .. import dry_run
from .. import messages as m
from ..calls import Call, decoded_lines
from ..lines import by_lines
from ..replies import Reply, Sendable, answered

T = TypeVar("T")
MAX_TOP = 10_000


class Instance(Struct, forbid_unknown_fields=True):
    """A row without a label; with an id it is stored, so that its label can follow."""

    features: m.Features
    id: m.Id | None = None


class PredictBody(Struct, forbid_unknown_fields=True):
    """One row, or several as instances."""

    id: m.Id | None = None
    features: m.Features | UnsetType = UNSET
    instances: Annotated[list[Instance], Meta(min_length=1, max_length=10_000)] | UnsetType = UNSET


class Prediction(Struct):
    """What the model says of a row. ``ask``: the prediction is among the least certain ones, whose label helps most.

    With ``?top_k=``, ``probability`` has only the most probable classes, in this order. With ``?set=``, ``set`` has the
    classes that cannot be excluded, the most probable first; with ``?max_risk=``, ``abstain`` is whether the label
    should not be relied on. With ``?novelty=true``, ``novelty`` is a p-value, which is small for rows unlike all those
    learned.
    """

    id: str | None
    label: int | str | list[int | str] | None
    probability: dict[str, float]
    margin: float
    variance: float
    ask: bool
    set: list[int | str] | UnsetType = UNSET
    abstain: bool | UnsetType = UNSET
    novelty: float | UnsetType = UNSET


class NumberPrediction(Struct):
    """What a model of numbers says of a row: the number expected, and limits that it is between.

    The limits are those of 90 % of rows, or of the fraction ``?set=``; null where there is none, as after too few rows.
    ``variance`` is that of the number around ``label``. ``ask``: about a tenth of recent rows were as uncertain.
    ``novelty`` is as for classes.
    """

    id: str | None
    label: float | None
    interval: tuple[float | None, float | None] | None
    variance: float | None
    ask: bool
    novelty: float | UnsetType = UNSET


SCHEMAS = "#/components/schemas/"
PredictionOrProblem = Annotated[
    Any,
    Meta(
        extra_json_schema={
            "anyOf": [{"$ref": f"{SCHEMAS}{name}"} for name in ("Prediction", "NumberPrediction", "Problem")]
        }
    ),
]


class Predictions(Struct):
    """Predictions in the order of the instances; a row that cannot be read has a problem in its place."""

    predictions: list[PredictionOrProblem]


class LabelBody(Struct, forbid_unknown_fields=True):
    """The label of a row that was predicted; with ``correct`` it may differ from an earlier one.

    ``labeller`` is who says so, for the history of the row.
    """

    id: m.Id
    label: m.Label
    correct: bool = False
    labeller: m.LabellerName | None = None


class Asked(NamedTuple):
    """What is asked for of predictions: promises, and how many classes have their probability (0: all)."""

    promises: Promises
    top_k: int


NOTHING_ELSE = Asked(Promises(), 0)  # of most requests


async def predict(call: Call) -> Sendable:
    """Predict rows; the model does not change."""
    hosted, asked = call.hosted, NOTHING_ELSE
    if call.scope["query_string"]:
        asked = Asked(_promises(call), call.number("top_k", 0, 1, MAX_TOP))
    if call.is_ndjson:
        return by_lines(call, partial(_predict_lines, call, hosted, asked))
    body = await call.message(PredictBody)
    if isinstance(body.features, msgspec.UnsetType) == isinstance(body.instances, msgspec.UnsetType):
        raise Problem("invalid-body", 'expected "features" of one row, or "instances": a list of rows')
    if isinstance(body.instances, msgspec.UnsetType):
        assert not isinstance(body.features, msgspec.UnsetType)
        id = body.id if body.id is not None else call.key
        row = await call.checked(checking.question, hosted, id, bytes(body.features))
        [found] = await _accepted(call, hosted, [row])
        if not isinstance(found, Problem):
            [found] = await _predicted(call, hosted, asked, [row])
        if isinstance(found, Problem):
            raise found
        return answered(found)
    rows = [(one.id, bytes(one.features)) for one in body.instances]
    checked: list[Any] = [
        one.within(f"/instances/{k}") if isinstance(one, Problem) else one
        for k, one in enumerate(await call.checked(checking.all_questions, hosted, rows))
    ]
    accepted = filled(checked, await _accepted(call, hosted, good(checked)))
    checked = [
        found.within(f"/instances/{k}") if isinstance(found, Problem) and not isinstance(before, Problem) else found
        for k, (before, found) in enumerate(zip(checked, accepted, strict=True))
    ]
    both = filled(checked, await _predicted(call, hosted, asked, good(checked)))
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
    return await call.ask(checking.refusals(hosted, rows))


async def _predict_lines(call: Call, hosted: Hosted, asked: Asked, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, Instance)
    rows = [(body.id, bytes(body.features)) for body in good(bodies)]
    checked = filled(bodies, await call.checked(checking.all_questions, hosted, rows))
    checked = filled(checked, await _accepted(call, hosted, good(checked)))
    return filled(checked, await _predicted(call, hosted, asked, good(checked)))


def good(parts: list[T | Problem]) -> list[T]:
    """Return what is not a problem; mostly that is all."""
    if Problem not in set(map(type, parts)):
        return cast(list[T], parts)
    return [part for part in parts if not isinstance(part, Problem)]


def filled(parts: list[Any], results: Iterable[Any]) -> list[Any]:
    """Return parts, with the results of the usable ones in their places."""
    results = list(results)
    if len(results) == len(parts):
        return results
    following = iter(results)
    return [part if isinstance(part, Problem) else next(following) for part in parts]


async def _predicted(
    call: Call, hosted: Hosted, asked: Asked, rows: list[checking.Question]
) -> list[Prediction | NumberPrediction | Problem]:
    """Return predictions; those of rows with an id are stored first."""
    found = await _all_predicted(call, hosted, asked.promises, rows)
    if asked.top_k:
        for one in found:
            if isinstance(one, Prediction):
                best = nlargest(asked.top_k, one.probability.items(), key=itemgetter(1))
                one.probability = dict(best)
    return found


async def _all_predicted(
    call: Call, hosted: Hosted, asked: Promises, rows: list[checking.Question]
) -> list[Prediction | NumberPrediction | Problem]:
    if not rows:
        return []
    found: list[AnyAnswer | Problem] = await call.ask(predicting.predict(hosted, rows))
    if call.engine.replica is not None:
        refusal = call.engine.replica.refusal()
        found = [one if row.id is None else refusal for row, one in zip(rows, found, strict=True)]
    elif any(row.id is not None for row in rows):
        found = await call.log(predicting.store_predictions(call.engine, hosted, rows, good(found)))
    if asked == Promises():
        return [one if isinstance(one, Problem) else _message(row, one) for row, one in zip(rows, found, strict=True)]
    more = filled(found, await call.ask(predicting.promises(hosted, good(found), asked)))
    novelty = await call.ask(predicting.novelty(hosted, rows)) if asked.novelty else [msgspec.UNSET] * len(rows)
    return [
        one if isinstance(one, Problem) else _message(row, one, own | {"novelty": p})
        for row, one, own, p in zip(rows, found, more, novelty, strict=True)
    ]


def _message(
    row: checking.Question, answer: AnyAnswer, more: dict[str, Any] | None = None
) -> Prediction | NumberPrediction:
    kind = NumberPrediction if isinstance(answer, NumberAnswer) else Prediction
    found: Prediction | NumberPrediction = kind(row.id, *(answer[:4] if isinstance(answer, NumberAnswer) else answer))
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
    given = id, bytes(body.features), label_of(body.label), body.weight
    [row] = await _accepted(call, hosted, [await call.checked(checking.taught, hosted, *given)])
    if isinstance(row, Problem):
        raise row
    return receipt(call, await call.log(teaching.learn(call.engine, hosted, [row], wait, batch)))


async def _learn_lines(call: Call, hosted: Hosted, wait: bool, batch: str | None, lines: list[bytes]) -> list[Any]:
    bodies = decoded_lines(lines, m.LearnBody)
    rows = [(body.id, bytes(body.features), label_of(body.label), body.weight) for body in good(bodies)]
    checked = filled(bodies, await call.checked(checking.all_taught, hosted, rows))
    checked = filled(checked, await _accepted(call, hosted, good(checked)))
    usable = good(checked)
    if not usable:
        return checked
    return filled(
        checked, counted_receipts(call, await call.log(teaching.learn(call.engine, hosted, usable, wait, batch)))
    )


def counted_receipts(call: Call, found: list[teaching.Receipt | Problem]) -> list[teaching.Receipt | Problem]:
    """Return receipts, after the audit log has been told how many there are."""
    call.taught(len(good(found)))
    return found


async def label(call: Call) -> Sendable:
    """Label rows that were predicted, by their ids."""
    hosted, wait, batch = call.hosted, call.choice("wait", ("durable", "learned")) == "learned", call.text("batch", 200)
    park = call.choice("park", ("false", "true")) == "true"
    if call.is_ndjson:
        return by_lines(call, partial(_label_lines, call, hosted, park, wait, batch))
    body = await call.message(LabelBody)
    given = teaching.LabelOf(body.id, label_of(body.label), body.labeller)
    request = teaching.label_rows(
        call.engine, hosted, [given], correct=[body.correct], park=park, wait=wait, batch=batch
    )
    return receipt(call, await call.log(request))


async def _label_lines(
    call: Call, hosted: Hosted, park: bool, wait: bool, batch: str | None, lines: list[bytes]
) -> list[Any]:
    bodies = decoded_lines(lines, LabelBody)
    usable = good(bodies)
    labels = [teaching.LabelOf(body.id, label_of(body.label), body.labeller) for body in usable]
    request = teaching.label_rows(
        call.engine, hosted, labels, correct=[body.correct for body in usable], park=park, wait=wait, batch=batch
    )
    return filled(bodies, counted_receipts(call, await call.log(request)) if usable else [])


def receipt(call: Call, found: list[teaching.Receipt | Problem]) -> Reply:
    if isinstance(found[0], Problem):
        raise found[0]
    call.taught(1)
    return answered(m.Receipt(*found[0]))
