"""The answering side of a served model: predictions of rows, what is promised of them, explanations, odd rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from ...data.batch import Batch
from ...data.class_order import sorted_numbers
from ...learner.streams import StreamLearner, StreamPredictor
from ...models.explanation import explain
from ...models.model import Model, calibration_of
from ...models.stack_explanation import explain_stack
from ...stack.members import Members
from ...tasks.conformal import ConformalSets, untrained
from ...tasks.intervals import ConformalIntervals
from ...tasks.task import Task
from ..problems import Problem
from . import numbers, predicted
from .alarms import COVERED
from .asking import Asking
from .base import Explained, HostedModel, Judged
from .guards import MIN_ROWS, SHOWN, UNKNOWN_CLASS, Finding, Guards, unknown_features
from .learning import Example
from .numbers import NumberAnswer
from .predicted import Answer, AnyAnswer, Promises, answers_of
from .rows import QuestionReader, label_names
from .settings import ModelSettings, Setup

SHOWN_CLASSES = 20  # in messages


class AnsweringModel(HostedModel):
    """A model that answers with what a learner has learned so far.

    Parameters
    ----------
    settings, setup, guards, asking, seq
        As of :class:`HostedModel`.
    stream : StreamLearner
    estimator : dict
        The entries of the model file that are not the learner's.
    """

    def __init__(
        self, settings: ModelSettings, setup: Setup, guards: Guards, asking: Asking, seq: int, stream: StreamLearner,
        estimator: dict[str, Any],
    ) -> None:  # fmt: skip
        super().__init__(settings, setup, guards, asking, seq)
        self.estimator = estimator
        self._answer_with(stream)

    def _answer_with(self, stream: StreamLearner) -> None:
        """Answer with a learner from now on, whose features are numbered from scratch."""
        assert stream.reading is not None
        self.stream, self.reading = stream, stream.reading
        self._questions = QuestionReader(self.reading, stream.learner.dtype, stream.features)
        self._answering: StreamPredictor | None = None

    # --- what the model is --------------------------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        return self.stream.learner.task

    @property
    def classes(self) -> list[Any]:
        names = [] if self.task.regression else self.stream.classes.names
        return [names[k] for k in sorted_numbers(names) if names[k] is not None]

    @property
    def closed(self) -> bool:
        return self.stream.classes.closed and not self.task.regression

    @property
    def _calibration(self) -> str | None:
        return calibration_of(self.estimator)

    @property
    def dtype(self) -> str:
        return self.stream.learner.dtype

    @property
    def n_features(self) -> int:
        return self.stream.learner.n_features

    @property
    def updates(self) -> int:
        return self.stream.learner.updates

    @property
    def _known(self) -> int:
        """The number of known features."""
        features = self.stream.features
        return self.stream.learner.n_features if features is None else len(features)

    @property
    def _can_answer(self) -> bool:
        """Whether there is something that answers: a class or a number, and of a stack a member."""
        learner = self.stream.learner
        there = learner.n_seen if self.task.regression else learner.n_classes
        return bool(there) and not (isinstance(learner, Members) and not learner.members)

    @property
    def has_begun(self) -> bool:
        """Whether any class, or any number, is known."""
        if self.task.regression:
            return bool(self.stream.learner.n_seen)
        return bool(self.stream.learner.n_classes) and any(name is not None for name in self.stream.classes.names)

    def model(self) -> Model:
        """Return the model of all rows learned; it shares arrays with the learner.

        Raises
        ------
        Problem
            Before the first row.
        """
        stream = self.stream
        if not self.has_begun:
            raise Problem("one-class", "no row was learned yet; send labelled rows first")
        source = {**self.reading.as_dict(), "closed": self.closed}
        return Model(stream.learner, list(stream.classes.names), stream.features, self.estimator, source)

    # --- answers ------------------------------------------------------------------------------------------------------

    def answers(self, lines: Sequence[bytes], counted: bool = False) -> list[AnyAnswer]:
        batch = self._questions.batch(lines)
        if counted:
            self.guards.count_asked(lines, batch, self._known)
        if not self._can_answer:
            nothing: AnyAnswer = numbers.NOTHING if self.task.regression else predicted.NOTHING
            return [nothing._replace(ask=self.settings.ask > 0.0)] * len(batch)
        return self._answers(batch, lines)

    def _answers(self, batch: Batch, lines: Sequence[bytes]) -> list[AnyAnswer]:
        """Answer rows, once there is enough to answer by."""
        answering = self._ready()
        learner, matrix = answering.learner, answering.matrix(batch)
        if self.task.regression:
            found = learner.number_distribution(matrix)
            return [*numbers.number_answers(learner, found, self._calibration is not None, self.asking)]
        margin, variance, probability = learner.margins_and_probabilities(matrix, self._calibration)
        return [
            *answers_of(
                self.stream, self._calibration, self.asking, np.asarray(margin), np.asarray(variance), probability
            )
        ]

    def judged(self, examples: Sequence[Example]) -> Judged:
        answers, stated = self.answers([one.line for one in examples]), list[tuple[float, bool]]()
        numeric = [answer for answer in answers if isinstance(answer, NumberAnswer) and answer.label is not None]
        if numeric:
            labels, calibrated = [one.label for one in examples], self._calibration is not None
            stated += numbers.judged_intervals(numeric, labels, self.stream.learner, calibrated)
            return Judged(stated, [hit for level, hit in stated if level == COVERED])
        classes = [
            (answer, one.label) for answer, one in zip(answers, examples, strict=True) if isinstance(answer, Answer)
        ]
        for answer, label in classes:
            stated += answer.judged(label)
        return Judged(stated, self._covered(classes))

    def _covered(self, answers: Sequence[tuple[Answer, bytes]]) -> list[bool]:
        """Return of answers whether their sets have the class; nothing where that is not known."""
        if self._calibration is None or self.task.multilabel:
            return []
        sets = self.promises([answer for answer, _ in answers], Promises(COVERED))
        return [label_names(label)[0] in map(str, one["set"]) for (_, label), one in zip(answers, sets, strict=True)]

    def _ready(self) -> StreamPredictor:
        """Return what answers questions until more rows are learned."""
        learner = self.stream.learner
        if self._answering is None:
            learner = copy(learner)  # which may get a feature for all those that are not known
            learner.state = dict(learner.state)
            self._answering = StreamPredictor(learner)
        return self._answering

    def explanation(self, line: bytes, about: Any = None) -> Explained:
        model, batch = self.model(), self._questions.batch([line])
        if self.task.regression:
            return numbers.explained_number(model, batch, about)
        return (explain_stack if isinstance(self.stream.learner, Members) else explain)(model, batch, about)

    # --- promises -----------------------------------------------------------------------------------------------------

    @property
    def _conformal(self) -> ConformalSets | ConformalIntervals:
        """What is known about the scores of true classes, or about errors."""
        return self.stream.learner.conformal if self._can_answer else ConformalSets(untrained(len(self.classes)))

    @property
    def order(self) -> tuple[int, int]:
        learned = self._conformal
        return learned.alarms, learned.rows_since_alarm

    def check_promises(self, asked: Promises) -> None:
        names = [name for name, value in zip(("set", "max_risk", "novelty"), asked, strict=True) if value]
        if self.task.regression:
            if asked.risk is not None:
                raise Problem("invalid-parameter", numbers.NO_RISK)
            names = [name for name in names if name != "set"]  # the intervals are then those of the rule's own noise
        if names and self._calibration is None:
            raise Problem("invalid-parameter", f'{names[0]}: the model has "calibration": "none", so nothing is known')
        if asked.risk is not None and self.task.multilabel:
            raise Problem("invalid-parameter", "max_risk: rows of the model have several labels; use set")

    def promises(self, answers: Sequence[AnyAnswer], asked: Promises) -> list[dict[str, Any]]:
        if not self.task.regression:
            names = self.task.names(self.stream.classes.names) if self._can_answer else self.classes
            learned = self._conformal
            assert isinstance(learned, ConformalSets)
            return asked.of([one for one in answers if isinstance(one, Answer)], names, learned)
        numeric = [one for one in answers if isinstance(one, NumberAnswer)]
        if asked.coverage is None:
            return [{} for _ in numeric]
        calibrated = self._calibration is not None
        found = numbers.intervals_of(numeric, asked.coverage, self.stream.learner, calibrated)
        return [{"interval": limits} for limits in found]

    def novelty(self, lines: Sequence[bytes]) -> list[float]:
        if not self._can_answer:
            return [1.0] * len(lines)
        answering = self._ready()
        return answering.learner.novelty(answering.matrix(self._questions.batch(lines))).tolist()

    # --- odd rows -----------------------------------------------------------------------------------------------------

    def findings(self, lines: Sequence[bytes]) -> list[list[Finding]]:
        _, none_known = unknown_features(self._questions.batch(lines), self._known)
        return [self.guards.findings(line, none) for line, none in zip(lines, none_known.tolist(), strict=True)]

    def odd_class(self, label: bytes) -> Finding | None:
        if self.guards.rows < MIN_ROWS or self.task.regression:
            return None
        known = {str(name) for name in self.stream.classes.names}
        new = next((name for name in label_names(label) if name not in known), None)
        if new is None:
            return None
        shown = ", ".join(map(str, self.classes[:SHOWN_CLASSES])) + (", ..." if len(known) > SHOWN_CLASSES else "")
        return Finding(UNKNOWN_CLASS, f"no row so far had the class {new[:SHOWN]!r}; there are: {shown}", "/label")

    def check_class(self, label: bytes) -> None:
        if UNKNOWN_CLASS in self.settings.strict and (odd := self.odd_class(label)) is not None:
            raise odd.problem()
