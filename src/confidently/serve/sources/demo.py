"""A demonstration: made-up messages stream in, some are labelled, and the rest wait on the page."""

from __future__ import annotations

import random
from itertools import islice

import msgspec

from ...samples import messages
from ..background import BackgroundThread
from ..engine.engine import Engine
from ..engine.requests import Request
from ..model.hosted import Hosted
from ..model.settings import ModelSettings, Reading
from ..work.checking import Question, question
from ..work.models import create
from ..work.predicting import predict, store_predictions
from ..work.teaching import LabelOf, label_rows

MODEL = "messages"
SETTINGS = ModelSettings(rule="arow", classes=["ham", "spam"], reading=Reading(text=["text"]))
LABELLED = 0.7  # of the messages
LATE = 5  # a label follows after this many messages
MESSAGES = 20_000
FIRST = 300  # messages that come at once


class Demo(BackgroundThread):
    """A thread that sends messages to a model of its own.

    Parameters
    ----------
    engine : Engine
    seconds : float
        Between two messages.
    seed : int
    """

    def __init__(self, engine: Engine, seconds: float = 0.3, seed: int = 0) -> None:
        super().__init__("demo")
        self.engine, self.seconds, self.random = engine, seconds, random.Random(seed)
        self._rows = islice(messages(MESSAGES, seed), MESSAGES)

    def start(self) -> None:
        """Create the model and start sending."""
        self._call(create(self.engine, MODEL, SETTINGS))
        super().start()

    def _run(self) -> None:
        hosted, waiting = self.engine.find(MODEL), list[LabelOf]()
        for number, row in enumerate(self._rows):
            if self._stopping.is_set() or self.engine.stopping:
                return
            waiting += self._send(hosted, f"message-{number + 1}", {key: row[key] for key in ("label", "text")})
            if len(waiting) > LATE:
                self._call(label_rows(self.engine, hosted, [waiting.pop(0)], correct=[False]))
            if number >= FIRST:
                self._stopping.wait(self.seconds)

    def _send(self, hosted: Hosted, id: str, row: dict[str, object]) -> list[LabelOf]:
        """Predict a message; return its label if it will be labelled here."""
        label = row.pop(hosted.label_key)
        rows: list[Question] = [question(hosted, id, msgspec.json.encode(row))]
        request = predict(hosted, rows).blocking()
        self.engine.ask(request)
        self._call(store_predictions(self.engine, hosted, rows, request.answer()))
        return [LabelOf(id, label)] if self.random.random() < LABELLED else []

    def _call(self, request: Request) -> object:
        return self.engine.submit(request.blocking()).answer()
