"""Models of made-up rows, for those who try the server: some rows are learned, and some wait for labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from ...samples import messages
from ...samples.rents import rents
from ...samples.tickets import tickets
from ..engine.engine import Engine
from ..engine.requests import Request
from ..log.event_log import EventLog
from ..model.hosted import Hosted
from ..model.settings import ModelSettings, Reading
from ..problems import Problem
from . import checking
from .models import create

N_LEARNED, N_WAITING = 1500, 200


class Sample(NamedTuple):
    """A sample: its rows, the column of labels, columns left out, and settings of the model."""

    rows: Callable[[int], Iterator[dict[str, Any]]]
    label: str
    left_out: tuple[str, ...]
    settings: ModelSettings


SAMPLES = {
    "messages": Sample(
        messages, "label", ("kind",), ModelSettings(classes=["ham", "spam"], reading=Reading(text=["text"]))
    ),
    "tickets": Sample(tickets, "team", (), ModelSettings(reading=Reading(text=["text"]))),
    "rents": Sample(rents, "rent", (), ModelSettings(task="numbers")),
}


def begin(engine: Engine, name: str) -> Request:
    """Return a request to make the model of a sample, which must not be there yet."""
    making = create(engine, name, SAMPLES[name].settings)

    def work(log: EventLog, request: Request) -> Any:
        if log.model(name) is not None:
            raise Problem("other-model", f"there is a model {name!r} already; delete it to get the sample", "/sample")
        return making.work(log, request)

    return Request(work)


def taught(hosted: Hosted, name: str) -> list[checking.Taught]:
    """Return the rows with labels that the model of a sample learns."""
    return [
        checking.taught(hosted, f"{name}-{k}", features, label, 1.0)
        for k, (features, label) in enumerate(_rows(name)) if k < N_LEARNED
    ]  # fmt: skip


def waiting(hosted: Hosted, name: str) -> list[checking.Question]:
    """Return the rows that wait for labels."""
    return [
        checking.question(hosted, f"{name}-{k}", features)
        for k, (features, _) in enumerate(_rows(name)) if k >= N_LEARNED
    ]  # fmt: skip


def _rows(name: str) -> Iterator[tuple[bytes, Any]]:
    """Yield features, as JSON, and label of each row."""
    sample = SAMPLES[name]
    for row in sample.rows(N_LEARNED + N_WAITING):
        label = row.pop(sample.label)
        yield msgspec.json.encode({key: value for key, value in row.items() if key not in sample.left_out}), label
