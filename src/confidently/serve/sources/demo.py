"""Demonstrations: made-up texts stream in, some are labelled, and the rest wait on the page."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from ...samples.messages import messages
from ...samples.tickets import tickets
from ..background import BackgroundThread
from ..engine.engine import Engine
from ..engine.requests import Request
from ..model.hosted import Hosted
from ..model.settings import ModelSettings, Reading
from ..work.checking import Question, question
from ..work.models import create
from ..work.predicting import predict, store_predictions
from ..work.teaching import LabelOf, label_rows

LATE = 5  # a label follows after this many texts
TEXTS = 20_000
MESSAGES, HEADS = "messages", "heads"


class Stream(NamedTuple):
    """Texts of a demonstration.

    Attributes
    ----------
    model, id : str
        The name of its model, and what ids of rows begin with.
    settings : ModelSettings
    rows : callable
        Yields so many rows by a seed, with a text and a label.
    label : str
        The key of labels.
    labelled : float
        Fraction of the texts that get their label.
    first : int
        Texts that come at once.
    """

    model: str
    id: str
    settings: ModelSettings
    rows: Callable[[int, int], Iterator[dict[str, Any]]]
    label: str
    labelled: float
    first: int


STREAMS = {
    MESSAGES: Stream(
        "messages", "message", ModelSettings(rule="arow", classes=["ham", "spam"], reading=Reading(text=["text"])),
        messages, "label", 0.7, 300,
    ),
    HEADS: Stream(
        "tickets", "ticket",
        ModelSettings(encoder="wordllama", rule="logistic", covariance="shared", prior_variance=10.0),
        tickets, "team", 0.5, 200,
    ),
}  # fmt: skip


class Demo(BackgroundThread):
    """A thread that sends texts to a model of its own.

    Parameters
    ----------
    engine : Engine
    name : str
        Of the texts, in :data:`STREAMS`.
    seconds : float
        Between two texts.
    seed : int

    Raises
    ------
    Problem
        If the encoder of the model is not installed.
    """

    def __init__(self, engine: Engine, name: str = MESSAGES, seconds: float = 0.3, seed: int = 0) -> None:
        super().__init__("demo")
        self.engine, self.seconds, self.random = engine, seconds, random.Random(seed)
        self.stream = STREAMS[name]
        self._making = create(engine, self.stream.model, self.stream.settings)
        self._rows = self.stream.rows(TEXTS, seed)

    def start(self) -> None:
        """Create the model and start sending."""
        self._call(self._making)
        super().start()

    def _run(self) -> None:
        stream = self.stream
        hosted, waiting = self.engine.find(stream.model), list[LabelOf]()
        for number, row in enumerate(self._rows):
            if self._stopping.is_set() or self.engine.stopping:
                return
            waiting += self._send(hosted, f"{stream.id}-{number + 1}", {"text": row["text"]}, row[stream.label])
            if len(waiting) > LATE:
                self._call(label_rows(self.engine, hosted, [waiting.pop(0)], correct=[False]))
            if number >= stream.first:
                self._stopping.wait(self.seconds)

    def _send(self, hosted: Hosted, id: str, row: dict[str, Any], label: Any) -> list[LabelOf]:
        """Predict a text; return its label if it will be labelled here."""
        rows: list[Question] = [question(hosted, id, msgspec.json.encode(row))]
        request = predict(hosted, rows).blocking()
        self.engine.ask(request)
        self._call(store_predictions(self.engine, hosted, rows, request.answer()))
        return [LabelOf(id, label)] if self.random.random() < self.stream.labelled else []

    def _call(self, request: Request) -> object:
        return self.engine.submit(request.blocking()).answer()
