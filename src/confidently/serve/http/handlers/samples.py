"""Models of made-up rows, to try the server."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...work import predicting, samples, teaching
from ..calls import Call
from ..replies import Sendable, answered
from .models import facts_of


class SampleBody(Struct, forbid_unknown_fields=True):
    """Which made-up rows a new model of that name is to learn."""

    sample: Literal["messages", "tickets", "rents"]


async def post_sample(call: Call) -> Sendable:
    """Make a model of made-up rows: it learns some, and others wait for labels."""
    name = (await call.message(SampleBody)).sample
    await call.log(samples.begin(call.engine, name))
    hosted = call.engine.find(name)
    await call.log(teaching.learn(call.engine, hosted, samples.taught(hosted, name), wait=True, batch="sample"))
    rows = samples.waiting(hosted, name)
    found = await call.ask(predicting.predict(hosted, rows))
    await call.log(predicting.store_predictions(call.engine, hosted, rows, found))
    return answered(facts_of(hosted), 201)
