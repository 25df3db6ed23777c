"""A served model: learns the rows of its log in order, and answers questions, in one thread.

The model is at any time, byte for byte, the one that ``confidently train`` would make of the same rows. Training looks
at the first 1,000 rows to see whether they are a table, and which members a stack has; so until then the rows are kept,
and the model begins again if they come to say otherwise. A covariance that learns blocks of rows by products of
matrices has learned the complete blocks; what it would make of the rest is computed when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..arrays import predicted_numbers
from ..data.batch import Batch
from ..data.class_order import sorted_numbers
from ..data.classes import ClassTable
from ..data.formats.table import OBJECTS
from ..data.reading import ReaderOptions
from ..learner.streams import StreamLearner, StreamPredictor
from ..learner.tables import ROWS_TO_INFER, has_numbers
from ..models.explanation import Explanation, explain
from ..models.model import Model
from ..models.stack_explanation import StackExplanation, explain_stack
from ..stack.stack import Stack
from .problems import Problem
from .rows import QuestionReader, RowReader
from .settings import ModelSettings, Recipe

ROWS_PER_DENSE_BLOCK = 256  # as confidently train has it
EARLY_PARTS = 8  # the first rows grow by this part of them at least, where as many wait
ROWS_FOR_STACK = 16  # worth learning at once
UNSURE = 1.0  # standard deviations from zero below which a margin asks for a label


class Example(NamedTuple):
    """A row with its label, as a line of JSON, its weight, and the number of its event in the log."""

    line: bytes
    weight: float = 1.0
    seq: int = 0


class Answer(NamedTuple):
    """What a model says of a row.

    Attributes
    ----------
    label : int, str, list or None
        The class; multilabel: the labels; None before the first row.
    probability : dict
        By class, sorted.
    margin, variance : float
        Of the class sorted last against the other; of more classes, of the best against the second; of labels, of the
        least certain one.
    ask : bool
        Whether the margin is within one standard deviation of zero.
    """

    label: Any
    probability: dict[str, float]
    margin: float
    variance: float
    ask: bool


class Learned(NamedTuple):
    """What the learning of some rows has added to the counts of a model.

    ``anew``: the model has begun again with all rows so far, which the counts are of.
    """

    rows: int
    mistakes: int
    log_loss: float
    refused: int
    anew: bool


@dataclass
class Early:
    """The first rows, while they can still change what the model is."""

    examples: list[Example] = field(default_factory=list)
    standardized: bool = False
    members: tuple[str, ...] = ()


class ServedModel:
    """A model that learns and answers; of one thread.

    Parameters
    ----------
    settings : ModelSettings
    model : Model, optional
        What was learned before; by default nothing.
    seq : int
        The event up to which that was learned.

    Attributes
    ----------
    seq : int
        The event up to which :attr:`stream` has learned; rows of an incomplete block come after it.
    refused : int
        Rows that were left out because the learner refused them.
    """

    def __init__(self, settings: ModelSettings, model: Model | None = None, seq: int = 0) -> None:
        self.recipe = Recipe(settings)
        self.settings, self.seq, self.refused = settings, seq, 0
        self.early: Early | None = None
        self._waiting: list[Example] = []  # of an incomplete block
        self._completed: ServedModel | None = None
        self._answering: StreamPredictor | None = None
        self._by_blocks = False
        if model is None:
            self.early = Early() if self.recipe.undecided or settings.auto else None
            self.estimator = self.recipe.estimator()
            self._begin(standardized=False)
        else:
            self.estimator = model.estimator
            self._continue(model)

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> Learned:
        """Learn rows in order. A row that the learner refuses is left out, and counted."""
        before, stream = self._counts(), self.stream
        if self.early is not None:
            self._learn_early(examples, self.early)
        else:
            self._learn_settled(examples)
        anew = self.stream is not stream
        before = (0, 0, 0.0, before[3]) if anew else before
        rows, mistakes, log_loss, refused = (now - then for now, then in zip(self._counts(), before, strict=True))
        return Learned(int(rows), int(mistakes), log_loss, int(refused), anew)

    def settle(self) -> None:
        """Keep what the model is now, whatever the next rows are, and learn the rows of an incomplete block."""
        self.early = None
        self._flush()

    def _counts(self) -> tuple[float, float, float, float]:
        learner = self.stream.learner
        return learner.n_seen, learner.mistakes, float(self.stream.log_loss[0]), self.refused

    def _learn_early(self, examples: Sequence[Example], early: Early) -> None:
        """Learn some of the first rows; begin again with all of them if they show another kind of rows."""
        room = ROWS_TO_INFER - len(early.examples)
        first, rest = examples[:room], examples[room:]
        early.examples += first
        standardized, members = self._decision(early.examples)
        if (standardized, members) == (early.standardized, early.members):
            self._learn_settled(first)
        else:
            early.standardized, early.members = standardized, members
            self._begin(standardized)
            self._learn_settled(early.examples)
        if len(early.examples) >= ROWS_TO_INFER:
            self.early = None
            self._learn_settled(rest)

    def _decision(self, examples: Sequence[Example]) -> tuple[bool, tuple[str, ...]]:
        """Return whether rows are a table of numbers, and which members a stack has."""
        if not self.settings.auto:
            return has_numbers(self._first_batch(examples, standardized=True)), ()
        trial = self.recipe.learner(self.recipe.reading())
        trial.prepare([self._first_batch(examples, standardized=False)])
        return False, tuple(trial.learner.names)

    def _first_batch(self, examples: Sequence[Example], standardized: bool) -> Batch:
        reader = RowReader(self.recipe.reading(standardized), self.settings.dtype, self.settings.multilabel)
        return reader.batch([example.line for example in examples])

    def _learn_settled(self, examples: Sequence[Example]) -> None:
        """Learn rows, in blocks if the covariance learns blocks."""
        if not self._by_blocks:
            self._learn(examples)
            return
        for example in examples:
            self._waiting.append(example)
            if len(self._waiting) == ROWS_PER_DENSE_BLOCK:
                self._flush()
        self._completed = None

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._learn(waiting)

    def _learn(self, examples: Sequence[Example]) -> None:
        """Learn rows together; where the learner refuses one, learn those around it."""
        if not examples:
            return
        n_seen = self.stream.learner.n_seen
        try:
            batch = self._reader.batch([example.line for example in examples], [example.weight for example in examples])
            self._batches.append(batch)
            next(self._steps)
        except ValueError:  # a DataError is one
            done = _learned_rows(examples, self.stream.learner.n_seen - n_seen)
            self._restart()
            if len(examples) == 1:
                self.refused += 1
            else:
                for example in examples[done:]:
                    self._learn([example])
        else:
            if batch.new_features is not None:
                self._questions.learn_features(batch.new_features)
            self._answering = None
        self.seq = examples[-1].seq

    # --- what the model is -------------------------------------------------------------------------------------------

    def _begin(self, standardized: bool) -> None:
        """Begin without any rows learned."""
        stream = self.recipe.learner(self.recipe.reading(standardized), standardized)
        if self.settings.auto and self.early is not None and self.early.examples:
            stream.prepare([self._first_batch(self.early.examples, standardized)])
        self._take(stream)

    def _continue(self, model: Model) -> None:
        reading = ReaderOptions.from_dict(model.source)
        reading = reading if reading.format == OBJECTS else reading.of_objects()
        table = ClassTable(model.classes, model.learner.multilabel, model.source.get("closed", False))
        self._take(StreamLearner(model.learner, table, model.multiclass, model.features, reading))

    def _take(self, stream: StreamLearner) -> None:
        assert stream.reading is not None
        self.stream, self.reading = stream, stream.reading
        self._waiting, self._completed = [], None
        self._by_blocks = bool(stream.learner.by_products) and not isinstance(stream.learner, Stack)
        self._restart()

    def _restart(self) -> None:
        """Number rows and features anew, from those that the learner has."""
        stream, dtype = self.stream, self.stream.learner.dtype
        self._reader = RowReader(self.reading, dtype, stream.learner.multilabel, features=stream.features)
        self._questions = QuestionReader(self.reading, dtype, stream.features)
        self._batches: list[Batch] = []
        self._steps = stream.learn(self._popped(), calibrate=self._calibration is not None, advise=False)
        self._answering = None

    @property
    def _calibration(self) -> str | None:
        found: str | None = self.estimator.get("calibration", "progressive")
        return found

    def _popped(self) -> Iterator[Batch]:
        while True:  # asked only when there is one
            yield self._batches.pop()

    def _complete(self) -> ServedModel:
        """Return the model that has learned all rows, those of an incomplete block too."""
        if not self._waiting:
            return self
        if self._completed is None:
            twin = copy(self)
            twin._take(deepcopy(self.stream))
            twin._learn(self._waiting)
            self._completed = twin
        return self._completed

    @property
    def least_rows(self) -> int:
        """The fewest rows worth learning at once.

        Each time, all of the first rows are looked at again; and a stack's members have costs for each time.
        """
        early = 0 if self.early is None else len(self.early.examples) // EARLY_PARTS
        return max(early, ROWS_FOR_STACK if self.settings.auto else 1)

    @property
    def waiting_rows(self) -> int:
        """The rows of an incomplete block."""
        return len(self._waiting)

    # --- questions ---------------------------------------------------------------------------------------------------

    @property
    def classes(self) -> list[Any]:
        """The classes seen or named, sorted."""
        names = self.stream.classes.names
        return [names[k] for k in sorted_numbers(names) if names[k] is not None]

    def answers(self, lines: Sequence[bytes]) -> list[Answer]:
        """Return what the model says of rows without labels."""
        if self._waiting:
            return self._complete().answers(lines)
        batch, learner = self._questions.batch(lines), self.stream.learner
        if not learner.n_classes or (isinstance(learner, Stack) and not learner.members):
            return [Answer(None, {}, 0.0, 0.0, True)] * len(batch)
        if self._answering is None:
            learner = copy(learner)  # which may get a feature for all those that are not known
            learner.state = dict(learner.state)
            self._answering = StreamPredictor(learner)
        learner, matrix = self._answering.learner, self._answering.matrix(batch)
        margin, variance, probability = learner.margins_and_probabilities(matrix, self._calibration)
        return self._answers(np.asarray(margin), np.asarray(variance), probability)

    def _answers(self, margin: np.ndarray, variance: np.ndarray, probability: np.ndarray) -> list[Answer]:
        stream = self.stream
        names: list[Any] = [*stream.classes.names, None, None][: probability.shape[1]]
        order = [k for k in sorted_numbers(names) if names[k] is not None]
        shown = [str(names[k]) for k in order]
        if stream.learner.multilabel:
            labels: list[Any] = [[names[k] for k in order if row[k] > 0] for row in margin.tolist()]
            certain = np.abs(margin) / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
            least = np.argmin(certain, axis=1) if certain.shape[1] else np.zeros(len(margin), dtype=int)
            rows = np.arange(len(margin))
            margin, variance = margin[rows, least], variance[rows, least]
        elif stream.learner.task == "binary":
            labels = [names[int(m > 0)] for m in margin.tolist()]
            if None in names:
                labels = [next((name for name in names if name is not None), None)] * len(labels)
            elif order[0] == 1:  # class 0 is sorted last
                margin = -margin
        else:
            labels = [names[k] for k in predicted_numbers(probability).tolist()]
        unsure = np.abs(margin) <= UNSURE * np.sqrt(variance)
        return [
            Answer(label, dict(zip(shown, row, strict=True)), m, v, ask)
            for label, row, m, v, ask in zip(
                labels, probability[:, order].tolist(), margin.tolist(), variance.tolist(), unsure.tolist(), strict=True
            )
        ]

    def explanation(self, line: bytes, about: Any = None) -> Explanation | StackExplanation:
        """Return the contribution of every feature of a row; for a stack, that of every member too.

        Raises
        ------
        ValueError
            If the model has no weights of features, or there is no such class.
        """
        complete = self._complete()
        model, batch = complete.model(), complete._questions.batch([line])
        return explain_stack(model, batch, about) if self.settings.auto else explain(model, batch, about)

    def model(self) -> Model:
        """Return the model of all rows learned; it shares arrays with the learner.

        Raises
        ------
        Problem
            Before the first row.
        """
        if self._waiting:
            return self._complete().model()
        return self.learned()

    @property
    def has_classes(self) -> bool:
        """Whether any class is known; without one there is no model yet."""
        return bool(self.stream.learner.n_classes) and any(name is not None for name in self.stream.classes.names)

    def learned(self) -> Model:
        """Return the model of all rows up to :attr:`seq`; it shares arrays with the learner.

        Raises
        ------
        Problem
            Before the first row.
        """
        stream = self.stream
        if not self.has_classes:
            raise Problem("one-class", "no row was learned yet; send labelled rows first")
        source = {**self.reading.as_dict(), "closed": stream.classes.closed}
        return Model(stream.learner, list(stream.classes.names), stream.features, self.estimator, source)


def _learned_rows(examples: Sequence[Example], learned: int) -> int:
    """Return the number of rows up to the last learned one; rows of weight 0 do not count as learned."""
    for k, example in enumerate(examples):
        if learned == 0:
            return k
        learned -= example.weight > 0
    return len(examples)
