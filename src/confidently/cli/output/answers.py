"""What a model answers about a batch of rows, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..common import class_names

if TYPE_CHECKING:
    from ... import _core
    from ...data import Batch
    from ...models.model import Model
    from ...topics.model import TopicModel

NUMBERS = ("proba", "margin", "std", "variance")  # in the order of their columns


class Abstained:
    """In place of a class: the model is not certain enough."""


ABSTAINED = Abstained()


@dataclass(frozen=True)
class Column:
    """One column of answers.

    Attributes
    ----------
    name : str
        "class", "labels", "ranking", one of :data:`NUMBERS`, or that of a column kept of the input.
    part : str or None
        The class it is about, where there is a column of this name for each.
    kind : str
        "string"; "class", a name or :data:`ABSTAINED`; "classes", lists of names; "number".
    """

    name: str
    part: str | None
    kind: str

    @property
    def heading(self) -> str:
        return self.name if self.part is None else f"{self.name}:{self.part}"


@dataclass(frozen=True)
class Wanted:
    """What is asked about every row."""

    numbers: frozenset[str] = frozenset()
    ranking: bool = False
    abstain: float | None = None
    keep: tuple[str, ...] = ()


class Answers:
    """What models that are asked have in common."""

    numbers: tuple[str, ...] = NUMBERS

    def __init__(self, model: Model | TopicModel, wanted: Wanted) -> None:
        self.model, self.wanted = model, wanted
        self.task = model.learner.settings.task
        self.names = [*model.classes, None][: max(2, len(model.classes))] if self.task == "binary" else model.classes
        if wanted.abstain is not None and self.task == "multilabel":
            raise click.UsageError("--abstain is for models of one class a row; this one predicts sets of labels")
        self.columns = list(self._columns())
        headings = [column.heading for column in self.columns]
        if twice := {heading for heading in headings if headings.count(heading) > 1}:
            raise click.UsageError(f"--keep {twice.pop()}: predict has a column of this name")

    def _columns(self) -> Iterator[Column]:
        for name in self.wanted.keep:
            yield Column(name, None, "string")
        yield Column("labels", None, "classes") if self.task == "multilabel" else Column("class", None, "class")
        if self.wanted.ranking:
            yield Column("ranking", None, "classes")
        for name in self.numbers:
            if name in self.wanted.numbers:
                for part in self._parts(name):
                    yield Column(name, part, "number")

    def _parts(self, name: str) -> list[str | None]:
        """What there is a column of this name for, each."""
        return [None] if self.task == "binary" and name != "proba" else list(class_names(self.model))

    @property
    def asks_for_probabilities(self) -> bool:
        return "proba" in self.wanted.numbers or self.wanted.abstain is not None

    def _values(self, batch: Batch, numbers: dict[str, np.ndarray]) -> list[Sequence[Any]]:
        """The columns' values, from all numbers asked for and the margin."""
        wanted, scores = self.wanted, numbers["margin"]
        found: list[Sequence[Any]] = [list(batch.kept[name]) for name in wanted.keep]
        found.append(self._predicted(scores, numbers.get("proba")))
        if wanted.ranking:
            found.append(self._ranked(scores))
        for name in self.numbers:
            if name in wanted.numbers:
                found += list(np.atleast_2d(numbers[name].T))
        return found

    def _predicted(self, scores: np.ndarray, proba: np.ndarray | None) -> list[Any]:
        names = self.names
        if self.task == "multilabel":
            return [[names[k] for k in row.nonzero()[0]] for row in scores > 0]
        number = (scores > 0).astype(np.intp) if self.task == "binary" else scores.argmax(axis=1)
        found = [names[k] for k in number.tolist()]
        if self.wanted.abstain is not None:
            assert proba is not None  # as asks_for_probabilities says
            for i in np.flatnonzero(proba[np.arange(len(number)), number] < self.wanted.abstain).tolist():
                found[i] = ABSTAINED
        return found

    def _ranked(self, scores: np.ndarray) -> list[list[Any]]:
        if self.task == "binary":
            both = [self.names[::-1], self.names[:2]]
            return [both[s <= 0] for s in scores.tolist()]
        return [[self.names[k] for k in row] for row in np.argsort(-scores, axis=1, kind="stable").tolist()]


class ClassifierAnswers(Answers):
    """A classifier that is asked."""

    def __init__(self, model: Model, wanted: Wanted) -> None:
        super().__init__(model, wanted)
        self.classifier = model

    def about(self, batch: Batch, matrix: _core.Matrix) -> list[Sequence[Any]]:
        """The columns' values, numbers as arrays; ``matrix`` has the rows as the learner takes them."""
        learner = self.classifier.learner
        if self.wanted.numbers & {"std", "variance"}:
            scores, variance = learner.margin_distribution(matrix)
            numbers = {"margin": scores, "variance": variance, "std": np.sqrt(variance)}
        else:
            numbers = {"margin": learner.decision(matrix)}
        if self.asks_for_probabilities:
            numbers["proba"] = probabilities(self.classifier, matrix)
        return self._values(batch, numbers)


def probabilities(model: Model, matrix: _core.Matrix) -> np.ndarray:
    """Probability of every class (or label), a column each."""
    p = model.learner.probabilities(matrix, model.estimator.get("calibration", "progressive"))
    return np.column_stack([1.0 - p, p]) if model.learner.settings.task == "binary" else p
