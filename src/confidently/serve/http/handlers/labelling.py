"""Labelling: rows to label, answers and their undoing."""

from __future__ import annotations

from ...model.labelling import LEASE_SECONDS
from ...model.rows import label_of
from ...problems import Problem
from ...work import answers, listing
from .. import messages as m
from ..calls import Call, decoded
from ..replies import Sendable, answered, encoder
from .models import labelling_of


async def get_queue(call: Call) -> Sendable:
    """Lease rows to label."""
    hosted, n = call.hosted, call.number("n", 5, 1, 100)
    labeller = decoded(encoder.encode(call.query.get("labeller", "somebody")), m.Labeller)
    hold = call.query.getlist("hold")[:100]
    rows = await call.log(answers.next_rows(hosted, n, labeller, hold))
    shown = [
        {"id": row.id, "features": listing.shown(row.features), "guess": row.guess, "certainty": row.certainty,
         "random": row.random}
        for row in rows
    ]  # fmt: skip
    classes = [str(name) for name in hosted.model.classes]
    return answered({"rows": shown, "classes": classes, "lease": LEASE_SECONDS, "progress": labelling_of(hosted)})


async def post_answer(call: Call) -> Sendable:
    """Store a labeller's answer; it is learned a few seconds later, and can be undone until then."""
    hosted, body = call.hosted, await call.message(m.AnswerBody)
    if body.skip:
        return answered(m.Done(body.id, await call.log(answers.skip(hosted, body.id, body.labeller))))
    if body.label is None:
        raise Problem("invalid-body", 'expected "label", or "skip": true', "/label")
    seq = await call.log(answers.answer(hosted, body.id, label_of(body.label), body.labeller))
    return answered(m.Done(body.id, seq))


async def delete_answer(call: Call) -> Sendable:
    """Undo an answer that was not learned yet."""
    id = call.names["id"]
    return answered(m.Done(id, await call.log(answers.undo(call.hosted, id))))
