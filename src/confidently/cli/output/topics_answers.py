"""What a topic model answers about a batch of documents, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...topics.documents import bags_of_batch
from ..common import class_names
from .answers import NUMBERS, Answers, Wanted

if TYPE_CHECKING:
    from ...data import Batch
    from ...topics.model import TopicModel


class TopicAnswers(Answers):
    """A topic model that is asked; the column ``topic`` has the topics' shares."""

    numbers = (*NUMBERS, "topic")

    def __init__(self, model: TopicModel, wanted: Wanted, n_threads: int = 1) -> None:
        self.learner, self.n_threads = model.learner, n_threads
        super().__init__(model, wanted)

    def _parts(self, name: str) -> list[str | None]:
        if name != "topic":
            return super()._parts(name)
        K = self.learner.settings.n_topics
        if self.task == "one-vs-rest":
            return [f"{each}:{k}" for each in class_names(self.model) for k in range(K)]
        return [str(k) for k in range(K)]

    def about(self, batch: Batch) -> list[Sequence[Any]]:
        """The columns' values, numbers as arrays."""
        learner, wanted = self.learner, self.wanted
        shares = learner.proportions(bags_of_batch(batch, learner.n_features), self.n_threads)
        numbers = {"margin": self._presented(learner.scores(shares)), "topic": shares.reshape(len(shares), -1)}
        if wanted.numbers & {"std", "variance"}:
            numbers["variance"] = self._presented(learner.score_variances(shares))
            numbers["std"] = np.sqrt(numbers["variance"])
        if self.asks_for_probabilities:
            p = self._presented(learner.probabilities(shares))
            numbers["proba"] = np.column_stack([1.0 - p, p]) if self.task == "binary" else p
        return self._values(batch, numbers)

    def _presented(self, columns: np.ndarray) -> np.ndarray:
        return columns[:, 0] if self.task == "binary" else columns
