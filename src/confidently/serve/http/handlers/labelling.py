"""Labelling: rows to label, answers and their undoing."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import Annotated, Any

from msgspec import Meta, Struct

from ...model.candidates import Candidate
from ...model.labelling import LEASE_SECONDS, Labeller
from ...model.predicted import Answer, AnyAnswer
from ...model.rows import label_of
from ...problems import Problem
from ...work import answers, listing
from .. import messages as m
from ..calls import Call, decoded
from ..replies import Sendable, answered, encoder
from .models import labelling_of

TOP = 5  # classes, the most probable ones
MAX_ROWS = 100  # leased, or held, per request
Seat = Annotated[str, Meta(max_length=64, description="one of several places where a person labels")]


class AnswerBody(Struct, forbid_unknown_fields=True):
    """A labeller's answer about a row, or that the row is skipped, with a reason or without.

    With ``second`` it is a second answer to a row that has one; it is compared with the first and never learned.
    ``seat`` is one of several places where a person labels at the same time, each with rows of its own.
    """

    id: m.Id
    label: m.Label | None = None
    labeller: m.LabellerName = "somebody"
    seat: Seat = ""
    second: bool = False
    skip: bool = False
    reason: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class Chance(Struct):
    """A class, and its probability according to the model."""

    label: str
    probability: float


class ToLabel(Struct):
    """A row to label.

    ``guess`` is what the model thinks now, ``top`` the most probable classes, ``random`` whether the row was drawn at
    random, ``second`` whether it has an answer already and is asked about a second time.
    """

    id: str
    features: dict[str, Any]
    guess: m.Guess | None
    top: list[Chance]
    certainty: float
    random: bool
    second: bool


class Queue(Struct):
    """Rows to label, which the labeller has for ``lease`` seconds; and how far labelling is."""

    rows: list[ToLabel]
    classes: list[str]
    lease: float
    progress: dict[str, Any]


class Done(Struct):
    """The event of an undo, or of another change."""

    id: str
    seq: int


async def get_queue(call: Call) -> Sendable:
    """Lease rows to label, with the most probable classes of each."""
    hosted, n = call.hosted, call.number("n", 5, 1, MAX_ROWS)
    labeller = _labeller(call.query.get("labeller", "somebody"), call.query.get("seat", ""))
    hold = call.query.getlist("hold")
    if len(hold) > MAX_ROWS:
        raise Problem("invalid-parameter", f"hold: expected at most {MAX_ROWS} ids, got {len(hold)}")
    rows = await call.log(answers.next_rows(call.engine, hosted, n, labeller, hold))
    now = await call.ask(answers.answers_now(hosted, [row for row, _ in rows]))
    classes = [str(name) for name in hosted.model.classes]
    return answered({
        "rows": _shown(rows, now), "classes": classes, "lease": LEASE_SECONDS, "progress": labelling_of(hosted)
    })  # fmt: skip


def _labeller(name: str, seat: str) -> Labeller:
    """Return who asks, according to the parameters of the URL."""
    checked = decoded(encoder.encode(name), m.LabellerName)
    return Labeller(checked, decoded(encoder.encode(seat), Seat))


def _shown(rows: Sequence[tuple[Candidate, bool]], now: Sequence[AnyAnswer]) -> list[dict[str, Any]]:
    """Return rows with what the model says of them now; a model that has stopped said it when they came."""
    found = []
    for k, (row, second) in enumerate(rows):
        answer, top = now[k] if now else None, []
        if isinstance(answer, Answer):
            best = nlargest(TOP, answer.probability.items(), key=lambda one: one[1])
            top = [Chance(label, probability) for label, probability in best]
        found.append({
            "id": row.id, "features": listing.shown(row.features), "top": top,
            "guess": row.guess if answer is None else answer.label, "certainty": row.certainty, "random": row.random,
            "second": second,
        })  # fmt: skip
    return found


async def post_answer(call: Call) -> Sendable:
    """Store a labeller's answer; it is learned a few seconds later, and can be undone until then."""
    hosted, body = call.hosted, await call.message(AnswerBody)
    labeller = Labeller(body.labeller, body.seat)
    if body.reason is not None and not body.skip:
        raise Problem("invalid-body", 'a reason is only for "skip": true', "/reason")
    if body.skip:
        return answered(Done(body.id, await call.log(answers.skip(hosted, body.id, labeller, body.reason))))
    if body.label is None:
        raise Problem("invalid-body", 'expected "label", or "skip": true', "/label")
    store = answers.second_answer if body.second else answers.answer
    return answered(Done(body.id, await call.log(store(hosted, body.id, label_of(body.label), labeller))))


async def delete_answer(call: Call) -> Sendable:
    """Undo an answer that was not learned yet; with second=true, a second answer of the labeller."""
    id, labeller = call.names["id"], _labeller(call.query.get("labeller", "somebody"), call.query.get("seat", ""))
    undo = answers.undo_second if call.choice("second", ("false", "true")) == "true" else answers.undo
    return answered(Done(id, await call.log(undo(call.hosted, id, labeller))))
