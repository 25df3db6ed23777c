"""Predictions for batches of rows, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ...data.class_order import sorted_numbers
from ...data.warning import warn
from ...tasks.conformal import NO_ANSWERS
from ..options.predictions import NOVELTY, NUMBERS, TOPIC, Requested, check_one_class
from .text import class_name

if TYPE_CHECKING:
    from ...data import Batch
    from ...models.model import Model
    from ...tasks.groups import Groups
    from ...topics.model import TopicModel

ABSTAIN_MARK = "-"


class Abstained:
    """Takes the place of a class where the model is not certain enough, in text by a mark that is no class."""

    def __init__(self, names: Sequence[Any]) -> None:
        self.mark = ABSTAIN_MARK
        while self.mark in map(str, names):
            self.mark += ABSTAIN_MARK

    def __str__(self) -> str:
        return self.mark


class Named(Sequence[Any]):
    """A class for every row, by its number among names."""

    def __init__(self, numbers: np.ndarray, names: Sequence[Any]) -> None:
        self.numbers, self.names = numbers, names

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, row: Any) -> Any:
        return self.names[self.numbers[row]]

    def __iter__(self) -> Iterator[Any]:
        return iter([self.names[k] for k in self.numbers.tolist()])


@dataclass(frozen=True)
class Column:
    """One column of predictions.

    Attributes
    ----------
    name : str
        "class", "labels", "ranking", "set", one of :data:`NUMBERS`, "topic", or the name of a column kept of the input.
    part : str or None
        The class that the column is about, if there is one column of this name per class.
    kind : str
        "string"; "class", a name or :class:`Abstained`; "classes", lists of names; "number".
    """

    name: str
    part: str | None
    kind: str

    @property
    def header(self) -> str:
        return self.name if self.part is None else f"{self.name}:{self.part}"


class Predictions:
    """Predictions of a model as columns: those kept of the input, then the model's own.

    Attributes
    ----------
    names : sequence
        The names of the classes.
    """

    names: Sequence[Any] = ()

    def __init__(self, model: Model | TopicModel, requested: Requested) -> None:
        self.model, self.requested = model, requested
        self.columns = [*(Column(name, None, "string") for name in requested.keep), *self._columns()]
        headers = [column.header for column in self.columns]
        if twice := {header for header in headers if headers.count(header) > 1}:
            raise click.UsageError(f"--keep: {twice.pop()!r} is also a column of predictions")

    @property
    def keep(self) -> tuple[str, ...]:
        """The columns of the input whose values are needed."""
        return tuple(dict.fromkeys([*self.requested.keep, *([] if self._column is None else [self._column])]))

    @property
    def _column(self) -> str | None:
        """The column by whose values sets or intervals cover, if they are wanted."""
        raise NotImplementedError

    def _values_of_column(self, batch: Batch) -> list[str] | None:
        """Return the values of rows by which sets or intervals cover, if there are any."""
        return None if self._column is None else list(batch.kept[self._column])

    def of(self, batch: Batch) -> list[Sequence[Any]]:
        """Return the values of all columns for a batch of rows, numbers as arrays."""
        return [*(list(batch.kept[name]) for name in self.requested.keep), *self._values(batch)]

    def _columns(self) -> Iterator[Column]:
        raise NotImplementedError

    def _values(self, batch: Batch) -> list[Sequence[Any]]:
        raise NotImplementedError


def warn_of_shortage(model: Model | TopicModel, coverage: float, by_class: bool) -> None:
    """Warn if sets are not all that is asked for, as where too few rows were learned."""
    if text := model.learner.conformal.warning(coverage, by_class):
        warn(f"--set: {text}")
    _warn_of_doubt(model, "--set")


def _warn_of_doubt(model: Model | TopicModel, option: str) -> None:
    if text := getattr(model.learner, "doubt", None):
        warn(f"{option}: {text}")


def least_probability(model: Model | TopicModel, risk: float) -> float:
    """Return the probability from which on predictions are wrong at most so often; warn if none is known."""
    least = model.learner.conformal.least_probability(risk)
    _warn_of_doubt(model, "--max-risk")
    if least > 1.0:
        warn(f"--max-risk: the model abstains from every prediction: {NO_ANSWERS.format(risk)}")
    return least


def predictions_of(model: Model, requested: Requested) -> Predictions:
    """Return the predictions of a classifier or a regression."""
    return (NumberPredictions if model.learner.task.regression else ClassPredictions)(model, requested)


class NumberPredictions(Predictions):
    """Predictions of a regression: each number, its standard deviation, and the limits of an interval."""

    def __init__(self, model: Model, requested: Requested) -> None:
        self.learner, self.answering = model.learner, model.predictor()
        self.outputs = [str(name) for name in model.classes] if len(model.classes) > 1 else [None]
        self.calibrated = model.calibration is not None
        super().__init__(model, requested)
        if requested.interval is not None:
            shortage = self.learner.interval_shortage(requested.interval, self.calibrated)
            if shortage is not None:
                warn(f"--interval: {shortage}")

    def _columns(self) -> Iterator[Column]:
        names = ["prediction", *(["std"] if "std" in self.requested.numbers else [])]
        names += ["lower", "upper"] if self.requested.interval is not None else []
        yield from (Column(name, output, "number") for name in names for output in self.outputs)
        if NOVELTY in self.requested.numbers:
            yield Column(NOVELTY, None, "number")

    @property
    def _column(self) -> str | None:
        groups = self.learner.groups if self.requested.interval is not None else None
        return None if groups is None else str(groups.column)

    def _values(self, batch: Batch) -> list[Sequence[Any]]:
        matrix = self.answering.matrix(batch)
        novelty = [self.learner.novelty(matrix)] if NOVELTY in self.requested.numbers else []
        return [*self._numbers(matrix, self._values_of_column(batch)), *novelty]

    def _numbers(self, matrix: Any, values: list[str] | None) -> list[Sequence[Any]]:
        """Return the columns of the numbers, of their deviations and of their intervals."""
        requested = self.requested
        if "std" not in requested.numbers and requested.interval is None:
            return list(self.learner.numbers(matrix).T)
        found = self.learner.number_distribution(matrix)
        columns = [*found.mean.T]
        if "std" in requested.numbers:
            columns += [*self.learner.number_deviations(found, self.calibrated).T]
        if requested.interval is not None:
            lower, upper = self.learner.intervals(found, requested.interval, self.calibrated, values).T
            columns += [*lower, *upper]
        return columns


class ClassPredictions(Predictions):
    """Predictions of a classifier: the class or labels, and numbers of each of them."""

    numbers: tuple[str, ...] = NUMBERS
    groups: Groups | None = None  # by which sets cover
    finds_best = False  # whether the best class is found without the scores of all classes

    def __init__(self, model: Model | TopicModel, requested: Requested) -> None:
        self.task = model.learner.task
        self.names = self.task.names(model.classes)
        self.order = sorted_numbers(self.names)  # of the columns
        self.n_ranked = min(requested.top or len(self.names), len(self.names))
        self.least = requested.abstain  # probability of a class that is predicted
        if requested.abstain is not None:
            check_one_class("--abstain", self.task)
        super().__init__(model, requested)
        self.answer(model)
        if requested.coverage is not None:
            warn_of_shortage(model, requested.coverage, requested.by_class)
        if requested.max_risk is not None:
            self.least = least_probability(model, requested.max_risk)

    # --- what a kind of model supplies -------------------------------------------------------------------------------

    def answer(self, model: Any) -> None:
        """Get ready to predict rows of a stream."""
        self.answering, self.calibration, self.groups = model.predictor(), model.calibration, model.learner.groups
        self.by_probability = self.answering.learner.decides_by_probability(self.calibration)
        self.finds_best = self.answering.learner.finds_best

    def inputs(self, batch: Batch) -> Any:
        """Return rows as the model takes them."""
        return self.answering.matrix(batch)

    def scores(self, inputs: Any) -> np.ndarray:
        """Return the margin of each row: one per class unless there are two classes."""
        return self.answering.learner.decision(inputs)

    def distribution(self, inputs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean and the variance of each margin."""
        return self.answering.learner.margin_distribution(inputs)

    def with_probabilities(self, inputs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the margins and the probability of every class (label); one column each."""
        found: tuple[np.ndarray, np.ndarray]
        found = self.answering.learner.decision_and_probabilities(inputs, self.calibration)
        return found

    def decided(self, scores: np.ndarray, proba: np.ndarray | None) -> np.ndarray:
        """Return the numbers of the predicted classes, or booleans for labels."""
        return self.answering.learner.decided(scores, proba if self.by_probability else None)

    def best(self, inputs: Any) -> np.ndarray:
        """Return the numbers of the predicted classes, without the scores of all classes."""
        return self.answering.learner.predict(inputs, self.calibration)

    # --- columns -----------------------------------------------------------------------------------------------------

    def _values(self, batch: Batch) -> list[Sequence[Any]]:
        requested, inputs = self.requested, self.inputs(batch)
        numbers: dict[str, np.ndarray] = {}
        if requested.numbers & {"std", "variance"}:
            numbers["margin"], numbers["variance"] = self.distribution(inputs)
            numbers["std"] = np.sqrt(numbers["variance"])
        for_sets = requested.coverage is not None or self.least is not None
        if self.by_probability or "proba" in requested.numbers or for_sets:
            numbers["margin"], numbers["proba"] = self.with_probabilities(inputs)
        elif "margin" not in numbers and (requested.ranking or requested.numbers or not self.finds_best):
            numbers["margin"] = self.scores(inputs)
        if TOPIC in requested.numbers:
            numbers[TOPIC] = inputs
        if NOVELTY in requested.numbers:
            numbers[NOVELTY] = self.answering.learner.novelty(inputs)
        decided = self.decided(numbers["margin"], numbers.get("proba")) if "margin" in numbers else self.best(inputs)
        found = [self._predicted(decided, numbers.get("proba"))]
        ranking = self.task.ranked(numbers["margin"], decided)[:, : self.n_ranked] if requested.ranking else None
        if ranking is not None:
            found.append([[self.names[k] for k in row] for row in ranking.tolist()])
        if requested.coverage is not None:
            found.append(self._sets(batch, numbers["proba"], requested.coverage))
        for name in self.numbers:
            if name in requested.numbers:
                found += self._by_part(name, numbers[name], ranking)
        return found

    def _columns(self) -> Iterator[Column]:
        yield Column("labels", None, "classes") if self.task.multilabel else Column("class", None, "class")
        if self.requested.ranking:
            yield Column("ranking", None, "classes")
        if self.requested.coverage is not None:
            yield Column("set", None, "classes")
        for name in self.numbers:
            if name in self.requested.numbers:
                for part in self._parts(name):
                    yield Column(name, part, "number")

    def _parts(self, name: str) -> list[str | None]:
        """What each column of this name is about."""
        if name == NOVELTY or (self.task.binary and name != "proba"):
            return [None]
        if self.requested.top is not None:
            return [f"top{k + 1}" for k in range(self.n_ranked)]
        return [class_name(self.names[k]) for k in self.order]

    def _by_part(self, name: str, numbers: np.ndarray, ranking: np.ndarray | None) -> list[Any]:
        """Return the columns of a name: its numbers by class, or those of the best classes."""
        if numbers.ndim == 2 and ranking is not None and self.requested.top is not None:
            return list(np.take_along_axis(numbers, ranking, axis=1).T)
        if numbers.ndim == 2:
            return [numbers[:, k] for k in self.order]
        return [-numbers if name == "margin" and self.order[1] == 0 else numbers]

    def _predicted(self, decided: np.ndarray, proba: np.ndarray | None) -> Sequence[Any]:
        names = self.names
        if self.task.multilabel:
            in_order = [names[k] for k in self.order]
            return [[in_order[k] for k in row.nonzero()[0]] for row in decided[:, self.order]]
        number = decided.copy()
        if self.least is not None:
            assert proba is not None
            number[proba[np.arange(len(number)), number] < self.least] = len(names)
        return Named(number, [*names, Abstained(names)])

    @property
    def _column(self) -> str | None:
        return None if self.groups is None or self.requested.coverage is None else str(self.groups.column)

    def _sets(self, batch: Batch, proba: np.ndarray, coverage: float) -> list[list[Any]]:
        """Return the classes of the set of each row, the most probable first."""
        values = self._values_of_column(batch)
        inside = self.model.learner.conformal.sets(proba, coverage, self.requested.by_class, values)
        ranked = np.argsort(-proba, axis=1, kind="stable")
        chosen = np.take_along_axis(inside, ranked, axis=1)
        return [[self.names[k] for k in row[own].tolist()] for row, own in zip(ranked, chosen, strict=True)]


class TopicPredictions(ClassPredictions):
    """Predictions of a topic model; the columns ``topic`` have the topics' proportions.

    Parameters
    ----------
    n_threads : int
        Threads; the predictions do not depend on them.
    """

    numbers = (*NUMBERS, TOPIC)
    by_probability = False

    def __init__(self, model: TopicModel, requested: Requested, n_threads: int = 1) -> None:
        self.learner, self.n_threads = model.learner, n_threads
        super().__init__(model, requested)

    def answer(self, model: TopicModel) -> None:
        """There is nothing to get ready."""

    def inputs(self, batch: Batch) -> np.ndarray:
        from ...topics.documents import bags_of_batch

        return self.learner.proportions(bags_of_batch(batch, self.learner.n_features), self.n_threads)

    def scores(self, inputs: np.ndarray) -> np.ndarray:
        return self._columns_of(self.learner.scores(inputs))

    def distribution(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.scores(inputs), self._columns_of(self.learner.score_variances(inputs))

    def with_probabilities(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.scores(inputs), self.learner.probabilities(inputs)

    def decided(self, scores: np.ndarray, proba: np.ndarray | None) -> np.ndarray:
        return self.task.decided(scores, None, None)

    def _columns_of(self, numbers: np.ndarray) -> np.ndarray:
        return numbers[:, 0] if self.task.binary else numbers

    def _parts(self, name: str) -> list[str | None]:
        if name != TOPIC:
            return super()._parts(name)
        K = self.learner.settings.n_topics
        if self.task.several:
            return [f"{class_name(self.names[c])}:{k}" for c in self.order for k in range(K)]
        return [str(k) for k in range(K)]

    def _by_part(self, name: str, numbers: np.ndarray, ranking: np.ndarray | None) -> list[Any]:
        if name != TOPIC:
            return super()._by_part(name, numbers, ranking)
        models = numbers[:, self.order] if self.task.several else numbers  # of other tasks there is one
        return list(models.reshape(len(numbers), -1).T)
