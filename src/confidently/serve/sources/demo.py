"""Demonstrations: made-up rows stream into a model of the server, one after the other."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, ClassVar

import msgspec
import numpy as np

from ...bandits.actions import Action
from ...bandits.named_features import flat
from ...samples import messages
from ...samples.tickets import tickets
from ...samples.visits import OFFERS, visits
from ..background import BackgroundThread
from ..engine.engine import Engine
from ..engine.requests import Request
from ..model.deciding import Offered, Situation
from ..model.decision_rows import NO_FEATURES
from ..model.hosted import Hosted
from ..model.settings import Deciding, ModelSettings, Reading
from ..work.checking import Question, question
from ..work.decisions import Reward, decide_all, reward_all, store_all
from ..work.models import create
from ..work.predicting import predict, store_predictions
from ..work.teaching import LabelOf, label_rows

ROWS = 20_000
FIRST = 300  # rows that come at once
SECONDS = 0.3  # between two of the others
LATE = 5  # a label follows after this many texts
FIRST_VISITS, TOGETHER = 1200, 20  # decisions that come at once, and of those, with one commit
REWARDED = 0.95  # of the decisions


class Demo(BackgroundThread):
    """A thread that sends rows to a model of its own.

    Parameters
    ----------
    engine : Engine
    seconds : float
        Between two rows.
    seed : int

    Raises
    ------
    Problem
        If the encoder of the model is not installed.
    """

    model: ClassVar[str]
    settings: ClassVar[ModelSettings]

    def __init__(self, engine: Engine, seconds: float = SECONDS, seed: int = 0) -> None:
        super().__init__("demo")
        self.engine, self.seconds, self.seed, self.random = engine, seconds, seed, random.Random(seed)
        self._making = create(engine, self.model, self.settings)

    def start(self) -> None:
        """Create the model and start sending."""
        self._call(self._making)
        super().start()

    def _run(self) -> None:
        for wait in self._sent(self.engine.find(self.model)):
            if self._stopping.wait(self.seconds if wait else 0.0) or self.engine.stopping:
                return

    @abstractmethod
    def _sent(self, hosted: Hosted) -> Iterator[bool]:
        """Send rows; yield after some of them whether to wait before the next."""

    def _call(self, request: Request) -> Any:
        return self.engine.submit(request.blocking()).answer()

    def _ask(self, request: Request) -> Any:
        self.engine.ask(request.blocking())
        return request.answer()


class Texts(Demo):
    """Texts that are predicted; some get a label, and the rest wait on the page."""

    rows: ClassVar[Callable[[int, int], Iterator[dict[str, Any]]]]
    id: ClassVar[str]
    label: ClassVar[str]
    labelled: ClassVar[float]

    def _sent(self, hosted: Hosted) -> Iterator[bool]:
        waiting = list[LabelOf]()
        for number, row in enumerate(type(self).rows(ROWS, self.seed), 1):
            id = f"{self.id}-{number}"
            rows: list[Question] = [question(hosted, id, msgspec.json.encode({"text": row["text"]}))]
            self._call(store_predictions(self.engine, hosted, rows, self._ask(predict(hosted, rows))))
            if self.random.random() < self.labelled:
                waiting.append(LabelOf(id, row[self.label]))
            if len(waiting) > LATE:
                self._call(label_rows(self.engine, hosted, [waiting.pop(0)], correct=[False]))
            yield number > FIRST


class Messages(Texts):
    """Messages, of which some are spam."""

    model, id, label, labelled = "messages", "message", "label", 0.7
    settings = ModelSettings(rule="arow", classes=["ham", "spam"], reading=Reading(text=["text"]))
    rows = staticmethod(messages)


class Heads(Texts):
    """Tickets for twenty teams, whose texts an encoder reads."""

    model, id, label, labelled = "tickets", "ticket", "team", 0.5
    settings = ModelSettings(encoder="wordllama", rule="logistic", covariance="shared", prior_variance=10.0)
    rows = staticmethod(tickets)


class Decisions(Demo):
    """Visitors of a shop, of whom each gets an offer; the reward is 1 if the visitor takes it."""

    model = "shop"
    settings = ModelSettings(task="decisions", policy=Deciding(least_share=0.2))  # so that others can be evaluated
    offered = Offered(OFFERS, [NO_FEATURES] * len(OFFERS), [Action(offer) for offer in OFFERS])

    def _sent(self, hosted: Hosted) -> Iterator[bool]:
        rows, number = visits(ROWS, self.seed), 0
        while some := list(islice(rows, TOGETHER if number < FIRST_VISITS else 1)):
            self._decide(hosted, {f"visit-{number + k + 1}": row for k, row in enumerate(some)})
            number += len(some)
            yield number >= FIRST_VISITS

    def _decide(self, hosted: Hosted, rows: dict[str, dict[str, Any]]) -> None:
        """Decide on some visits, and give most decisions their reward."""
        made = self._ask(decide_all(hosted, [[self._situation(id, row["context"])] for id, row in rows.items()]))
        stored = self._call(store_all(hosted, made))
        rewards = [
            Reward(id, float(row["taken"][decided.actions[decided.chosen]]))
            for (id, row), [decided] in zip(rows.items(), stored, strict=True) if self.random.random() < REWARDED
        ]  # fmt: skip
        self._call(reward_all(self.engine, hosted, rewards, wait=True))

    def _situation(self, id: str, context: dict[str, Any]) -> Situation:
        asked = msgspec.json.encode({"actions": OFFERS, "context": context})
        line, left = msgspec.json.encode(context), np.arange(len(OFFERS))
        return Situation(id, line, NO_FEATURES, flat(context), self.offered, left, 0, False, asked)


DEMOS: dict[str, type[Demo]] = {"messages": Messages, "heads": Heads, "decisions": Decisions}
