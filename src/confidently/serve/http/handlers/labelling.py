"""Labelling: rows to label, answers and their undoing."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import Any

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
    checked = decoded(encoder.encode(name), m.Labeller)
    return Labeller(checked, decoded(encoder.encode(seat), m.Seat))


def _shown(rows: Sequence[tuple[Candidate, bool]], now: Sequence[AnyAnswer]) -> list[dict[str, Any]]:
    """Return rows with what the model says of them now; a model that has stopped said it when they came."""
    found = []
    for k, (row, second) in enumerate(rows):
        answer, top = now[k] if now else None, []
        if isinstance(answer, Answer):
            best = nlargest(TOP, answer.probability.items(), key=lambda one: one[1])
            top = [m.Chance(label, probability) for label, probability in best]
        found.append({
            "id": row.id, "features": listing.shown(row.features), "top": top,
            "guess": row.guess if answer is None else answer.label, "certainty": row.certainty, "random": row.random,
            "second": second,
        })  # fmt: skip
    return found


async def post_answer(call: Call) -> Sendable:
    """Store a labeller's answer; it is learned a few seconds later, and can be undone until then."""
    hosted, body = call.hosted, await call.message(m.AnswerBody)
    labeller = Labeller(body.labeller, body.seat)
    if body.reason is not None and not body.skip:
        raise Problem("invalid-body", 'a reason is only for "skip": true', "/reason")
    if body.skip:
        return answered(m.Done(body.id, await call.log(answers.skip(hosted, body.id, labeller, body.reason))))
    if body.label is None:
        raise Problem("invalid-body", 'expected "label", or "skip": true', "/label")
    store = answers.second_answer if body.second else answers.answer
    return answered(m.Done(body.id, await call.log(store(hosted, body.id, label_of(body.label), labeller))))


async def delete_answer(call: Call) -> Sendable:
    """Undo an answer that was not learned yet; with second=true, a second answer of the labeller."""
    id, labeller = call.names["id"], _labeller(call.query.get("labeller", "somebody"), call.query.get("seat", ""))
    undo = answers.undo_second if call.choice("second", ("false", "true")) == "true" else answers.undo
    return answered(m.Done(id, await call.log(undo(call.hosted, id, labeller))))
