"""A served model: learns the rows of its log in order, and answers questions, in one thread.

The model is at any time, byte for byte, the one that ``confidently train`` would make of the same rows with the same
settings. Training looks at the first 1,000 rows to see whether they are a table, and which members a stack has; so
until then the rows are kept, and the model starts from scratch if they show something else.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...data.batch import Batch
from ...data.class_order import sorted_numbers
from ...data.formats.table import OBJECTS
from ...data.reading import ReaderOptions
from ...learner.recipe import automatic_covariance
from ...learner.streams import StreamLearner, StreamPredictor
from ...learner.tables import ROWS_TO_INFER, has_numbers
from ...models.explanation import Explanation, NumberExplanation, explain
from ...models.model import Model, calibration_of
from ...models.stack_explanation import NumberStackExplanation, StackExplanation, explain_stack
from ...stack.members import Members
from ...tasks.conformal import ConformalSets, untrained
from ...tasks.intervals import ConformalIntervals
from ...tasks.task import Task
from ..problems import Problem
from . import numbers, predicted
from .alarms import COVERED
from .asking import FIRST_SAMPLED, Asking
from .guards import MIN_ROWS, SHOWN, UNKNOWN_CLASS, Finding, Guards, unknown_features
from .measures import Measures, measures_of
from .numbers import NumberAnswer
from .predicted import Answer, AnyAnswer, Promises, answers_of
from .rows import QuestionReader, RowReader, label_names
from .settings import UNDECIDED, Decision, ModelSettings, Setup

EARLY_PARTS = 2  # the first rows grow by at least 1/EARLY_PARTS of them, if as many wait
SHOWN_CLASSES = 20  # in messages
ROWS_FOR_STACK, ROWS_FOR_PRODUCTS = 16, 128  # worth learning at once
WHERE = re.compile(r"^(rows, row [0-9]+(, or soon after it)?|line [0-9]+(, column [0-9]+)?): ")  # in what is learned


class Example(NamedTuple):
    """A row with its label, as a line of JSON, its weight, the number of its event in the log, and its label alone."""

    line: bytes
    weight: float = 1.0
    seq: int = 0
    label: bytes = b"null"


class SetAside(NamedTuple):
    """A row that a model could not learn, by its event, and why; the model is as if there were no such row."""

    seq: int
    reason: str


class Learned(NamedTuple):
    """What the learning of some rows has added to the counts of a model.

    Attributes
    ----------
    rows : int
    sums : tuple of float
        What is measured of their predictions (:class:`confidently.serve.model.measures.Measures`).
    anew : bool
        Whether the model has begun again with all rows so far, which the counts are of.
    """

    rows: int
    sums: tuple[float, ...]
    anew: bool


class Judged(NamedTuple):
    """What predictions state of rows whose labels are known.

    Attributes
    ----------
    stated : list of (float, bool)
        Probabilities, and whether what they are of is true.
    covered : list of bool
        Whether sets or intervals of coverage .9 have the label, where that is known.
    """

    stated: list[tuple[float, bool]]
    covered: list[bool]


@dataclass
class Early:
    """The first rows, while they can still change what the model is."""

    examples: list[Example] = field(default_factory=list)
    decision: Decision = UNDECIDED


class ServedModel:
    """A model that learns and answers; of one thread.

    Parameters
    ----------
    settings : ModelSettings
    model : Model, optional
        What was learned before; by default nothing.
    seq : int
        The event up to which that was learned.
    saved : dict, optional
        What :meth:`saved` returned then.

    Attributes
    ----------
    seq : int
        The event up to which it has learned.
    guards : Guards
    asking : Asking
    """

    def __init__(
        self, settings: ModelSettings, model: Model | None = None, seq: int = 0, saved: dict[str, Any] | None = None
    ) -> None:
        self.setup = Setup(settings)
        self.settings, self.seq = settings, seq
        self.guards = Guards(self.setup.reading(), bool(settings.strict), (saved or {}).get("guards"))
        self.asking = Asking(settings.ask, (saved or {}).get("asking"))
        self.early: Early | None = None
        self._aside: list[tuple[Example, str]] = []
        self._answering: StreamPredictor | None = None
        if model is None:
            setup = self.setup
            self.early = Early() if setup.undecided or setup.undecided_covariance or settings.auto else None
            self.estimator = setup.estimator()
            self._begin(UNDECIDED)
        else:
            self.estimator = model.estimator
            self._continue(model)
            self.guards.take_reading(self.reading)
            if saved is None and (features := self.stream.features) is not None:  # it was trained elsewhere
                rows = self.stream.learner.n_seen
                self.guards = Guards.of_features(self.reading, bool(settings.strict), features.names, rows)

    def saved(self) -> dict[str, Any]:
        """Return what snapshots keep besides the model."""
        return {"guards": self.guards.as_dict(), "asking": self.asking.as_dict()}

    def take_settings(self, settings: ModelSettings) -> None:
        """Change settings that do not matter for what is learned."""
        self.settings = settings
        self.guards.be_strict(bool(settings.strict))
        self.asking.take_share(settings.ask)

    def take_traffic(self, before: ServedModel) -> None:
        """Go on from the questions to the version that answered before."""
        self.guards.asked = before.guards.asked
        self.asking.take_traffic(before.asking)

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> Learned:
        """Learn rows in order. A row that the learner refuses is set aside.

        Raises
        ------
        MemoryError, OSError
            If the machine is to blame; of some rows it is then not known whether they were learned.
        """
        before, stream = self._counts(), self.stream
        self._take_in(examples)
        anew = self.stream is not stream
        rows, *sums = (now - (0 if anew else then) for now, then in zip(self._counts(), before, strict=True))
        return Learned(int(rows), tuple(sums), anew)

    def settle(self) -> None:
        """Settle what the model is now, whatever the next rows are."""
        self.early = None

    def take_aside(self) -> list[SetAside]:
        """Return the rows that were set aside since the last call."""
        found, self._aside = self._aside, []
        return [SetAside(example.seq, reason) for example, reason in found]

    def _counts(self) -> list[float]:
        learner = self.stream.learner
        known: dict[str, float] = {"mistakes": learner.mistakes, "log_loss": float(self.stream.log_loss[0])}
        if learner.state:
            found = learner.task.progressive_errors(learner.state)
            known |= found | {"errors": found.get("predicted", 0.0)}
        return [learner.n_seen, *(known.get(name, 0.0) for name in self.measures.sums)]

    def _take_in(self, examples: Sequence[Example]) -> None:
        """Learn rows; some of the first ones decide on what the model is."""
        rest = list(examples)
        while rest and self.early is not None:
            room = ROWS_TO_INFER - len(self.early.examples)
            first, rest = rest[:room], rest[room:]
            self._learn_early(first, self.early)
            if len(self.early.examples) >= ROWS_TO_INFER:
                self.early = None
        self._learn_sampled(rest)

    def _learn_early(self, examples: list[Example], early: Early) -> None:
        """Learn some of the first rows; begin again with all of them if they show another kind of rows."""
        try:
            decision = self._decision([*early.examples, *examples])
        except Exception as error:
            raise_of_machine(error)
            examples = [example for example in examples if self._can_decide(example)]
            decision = self._decision([*early.examples, *examples])
        early.examples += examples
        while decision != early.decision or examples:
            if decision != early.decision:
                early.decision = decision
                self._begin(decision)
                examples = early.examples
            before = len(self._aside)
            self._learn_sampled(examples)
            if len(self._aside) == before:
                return
            decision, examples = self._decision(early.examples), []

    def _can_decide(self, example: Example) -> bool:
        """Return whether a row can help decide what the model is; otherwise set it aside."""
        try:
            self._decision([example])
        except Exception as error:
            raise_of_machine(error)
            self._set_aside(example, error)
            return False
        return True

    def _decision(self, examples: Sequence[Example]) -> Decision:
        """Return what rows would decide if they were the first ones."""
        setup = self.setup
        if not examples:
            return UNDECIDED
        if self.settings.auto:
            trial = setup.learner(setup.reading())
            trial.prepare([self._first_batch(examples)])
            return Decision(members=trial.learner.choice)
        is_table = setup.undecided and has_numbers(self._first_batch(examples, is_table=True))
        if not setup.undecided_covariance:
            return Decision(is_table)
        columns = int(self._first_batch(examples, is_table).columns.max(initial=-1)) + 1
        return Decision(is_table, automatic_covariance(columns))

    def _first_batch(self, examples: Sequence[Example], is_table: bool = False) -> Batch:
        reader = RowReader(self.setup.reading(is_table), self.settings.dtype, self.setup.task)
        return reader.batch([example.line for example in examples])

    def _learn_sampled(self, examples: Sequence[Example]) -> None:
        """Learn rows; some are predicted before, of models that do not know how certain their answers were."""
        if self._calibration is not None and not (self.task.multilabel or self.task.regression):
            self._learn(examples)
            return
        first, seen, wants = 0, self.stream.learner.n_seen, self.asking.wants
        for k in range(1, len(examples)):
            if seen + k >= FIRST_SAMPLED and wants(examples[k].seq):
                self._learn_first_predicted(examples[first:k])
                first = k
        self._learn_first_predicted(examples[first:])

    def _learn_first_predicted(self, examples: Sequence[Example]) -> None:
        """Learn rows after the first of them was predicted, if that is wanted."""
        seen = self.stream.learner.n_seen
        if not (examples and seen >= FIRST_SAMPLED and self._has_begun and self.asking.wants(examples[0].seq)):
            self._learn(examples)
            return
        aside = len(self._aside)
        try:
            [answer] = self.answers([examples[0].line])
        except Exception as error:  # it cannot be read, as learning it will find out
            raise_of_machine(error)
            self._learn(examples)
            return
        self._learn(examples)
        if not any(one is examples[0] for one, _ in self._aside[aside:]):
            self.asking.sampled(answer.certainty)

    def _learn(self, examples: Sequence[Example]) -> None:
        """Learn rows; where the learner refuses some, learn them one by one."""
        done, error = self._learn_together(examples)
        if error is None:
            return
        if len(examples) == 1:
            self._set_aside(examples[0], error)
            self.seq = examples[0].seq
            return
        for example in examples[done:]:
            self._learn([example])

    def _learn_together(self, examples: Sequence[Example]) -> tuple[int, Exception | None]:
        """Learn rows together; return how many were learned before an error, which leaves no trace, and the error.

        Raises
        ------
        MemoryError, OSError
            If the machine is to blame.
        """
        if not examples:
            return 0, None
        done = 0
        try:
            batch = self._reader.batch([example.line for example in examples], [example.weight for example in examples])
            for part in self.stream.parts(batch):
                classes = self.stream.classes
                new = [label.row for label in part.new_labels if classes.get(label.name) is None]
                self._learn_part(_own_columns(part, batch, done))
                lines = [example.line for example in examples[done : done + len(part)]]
                self.guards.count_learned(lines, part, new)
                done += len(part)
        except Exception as error:
            raise_of_machine(error)
            self._restart()
            return done, error
        if batch.new_features is not None:
            self._questions.learn_features(batch.new_features)
        self._answering, self.seq = None, examples[-1].seq
        return len(examples), None

    def _learn_part(self, part: Batch) -> None:
        """Learn rows that the learner learns at once; an error leaves the model as it was."""
        learner, classes = self.stream.learner, self.stream.classes
        before = copy(learner)
        before.state = dict(before.state)
        names, numbers = (list(classes.names), dict(classes.numbers)) if part.new_labels else (None, None)
        try:
            self._step(part)
        except BaseException:
            vars(learner).clear()
            vars(learner).update(vars(before))
            if names is not None and numbers is not None:
                classes.names, classes.numbers = names, numbers
            raise

    def _step(self, batch: Batch) -> None:
        self._batches.append(batch)
        next(self._steps)

    def _set_aside(self, example: Example, error: Exception) -> None:
        self._aside.append((example, reason_of(error)))
        if self.early is not None:
            self.early.examples = [one for one in self.early.examples if one is not example]

    # --- what the model is -------------------------------------------------------------------------------------------

    def _begin(self, decision: Decision) -> None:
        """Begin without any rows learned."""
        stream = self.setup.learner(self.setup.reading(decision.is_table), decision)
        assert stream.reading is not None
        self.guards.begin_again(stream.reading)
        self.asking.begin_again()
        if self.settings.auto and self.early is not None and self.early.examples:
            stream.prepare([self._first_batch(self.early.examples)])
        self._take(stream)

    def _continue(self, model: Model) -> None:
        reading = ReaderOptions.from_dict(model.source)
        reading = reading if reading.format == OBJECTS else reading.of_objects()
        self._take(model.stream_learner(reading))

    def _take(self, stream: StreamLearner) -> None:
        assert stream.reading is not None
        self.stream, self.reading = stream, stream.reading
        self._restart()

    def _restart(self) -> None:
        """Number rows and features from scratch, after those that the learner has."""
        stream, dtype = self.stream, self.stream.learner.dtype
        self._reader = RowReader(self.reading, dtype, self.task, features=stream.features)
        self._questions = QuestionReader(self.reading, dtype, stream.features)
        self._batches: list[Batch] = []
        self._steps = stream.learn(self._popped(), calibrate=self._calibration is not None, advise=False)
        self._answering = None

    @property
    def _calibration(self) -> str | None:
        return calibration_of(self.estimator)

    def _popped(self) -> Iterator[Batch]:
        while True:  # asked only when there is one
            yield self._batches.pop()

    @property
    def least_rows(self) -> int:
        """The fewest rows worth learning at once.

        Each time, all of the first rows are looked at again; a stack's members have costs for each time, and products
        of matrices are those of many rows.
        """
        early, learner = 0 if self.early is None else len(self.early.examples) // EARLY_PARTS, self.stream.learner
        if isinstance(learner, Members):
            return max(early, ROWS_FOR_STACK)
        row_by_row = learner.covariance.is_row_by_row(learner.state, learner.device)
        return max(early, 1 if row_by_row else ROWS_FOR_PRODUCTS)

    # --- questions ---------------------------------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        """What is predicted."""
        found: Task = self.stream.learner.task
        return found

    @property
    def measures(self) -> Measures:
        """What is measured of predictions."""
        return measures_of(self.task)

    @property
    def classes(self) -> list[Any]:
        """The classes seen or named, sorted; of numbers there are none."""
        names = [] if self.task.regression else self.stream.classes.names
        return [names[k] for k in sorted_numbers(names) if names[k] is not None]

    @property
    def closed(self) -> bool:
        """Whether rows of other classes are errors."""
        return self.stream.classes.closed and not self.task.regression

    def answers(self, lines: Sequence[bytes], counted: bool = False) -> list[AnyAnswer]:
        """Return what the model says of rows without labels; ``counted``: the odd ones among them."""
        batch = self._questions.batch(lines)
        if counted:
            self.guards.count_asked(lines, batch, self._known)
        if not self._has_begun:
            nothing: AnyAnswer = numbers.NOTHING if self.task.regression else predicted.NOTHING
            return [nothing._replace(ask=self.settings.ask > 0.0)] * len(batch)
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
        """Return what the model states of rows that it has not learned yet, and whether that is true."""
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

    def findings(self, lines: Sequence[bytes]) -> list[list[Finding]]:
        """Return what is odd about the features of each row."""
        _, none_known = unknown_features(self._questions.batch(lines), self._known)
        return [self.guards.findings(line, none) for line, none in zip(lines, none_known.tolist(), strict=True)]

    def odd_class(self, label: bytes) -> Finding | None:
        """Return what is odd about a label, as JSON, if it has a class that no row had; of any thread."""
        if self.guards.rows < MIN_ROWS or self.task.regression:
            return None
        known = {str(name) for name in self.stream.classes.names}
        new = next((name for name in label_names(label) if name not in known), None)
        if new is None:
            return None
        shown = ", ".join(map(str, self.classes[:SHOWN_CLASSES])) + (", ..." if len(known) > SHOWN_CLASSES else "")
        return Finding(UNKNOWN_CLASS, f"no row so far had the class {new[:SHOWN]!r}; there are: {shown}", "/label")

    def check_class(self, label: bytes) -> None:
        """Raise a ``Problem`` if a label has a new class and the settings refuse that; of any thread."""
        if UNKNOWN_CLASS in self.settings.strict and (odd := self.odd_class(label)) is not None:
            raise odd.problem()

    @property
    def _known(self) -> int:
        """The number of known features."""
        features = self.stream.features
        return self.stream.learner.n_features if features is None else len(features)

    def novelty(self, lines: Sequence[bytes]) -> list[float]:
        """Return the p-values of rows as some of those learned."""
        if not self._has_begun:
            return [1.0] * len(lines)
        answering = self._ready()
        found: list[float] = answering.learner.novelty(answering.matrix(self._questions.batch(lines))).tolist()
        return found

    def _ready(self) -> StreamPredictor:
        """Return what answers questions until more rows are learned."""
        learner = self.stream.learner
        if self._answering is None:
            learner = copy(learner)  # which may get a feature for all those that are not known
            learner.state = dict(learner.state)
            self._answering = StreamPredictor(learner)
        return self._answering

    @property
    def _has_begun(self) -> bool:
        """Whether there is something that answers: a class or a number, and of a stack a member."""
        learner = self.stream.learner
        there = learner.n_seen if self.task.regression else learner.n_classes
        return bool(there) and not (isinstance(learner, Members) and not learner.members)

    @property
    def conformal(self) -> ConformalSets | ConformalIntervals:
        """What is known about the scores of true classes, or about errors."""
        return self.stream.learner.conformal if self._has_begun else ConformalSets(untrained(0))

    def check_promises(self, asked: Promises) -> None:
        """Raise a ``Problem`` if the model cannot promise what is asked for."""
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
        """Return what is promised of answers."""
        if not self.task.regression:
            names = self.task.names(self.stream.classes.names) if self._has_begun else self.classes
            learned = self.conformal
            assert isinstance(learned, ConformalSets)
            return asked.of([one for one in answers if isinstance(one, Answer)], names, learned)
        numeric = [one for one in answers if isinstance(one, NumberAnswer)]
        if asked.coverage is None:
            return [{} for _ in numeric]
        calibrated = self._calibration is not None
        found = numbers.intervals_of(numeric, asked.coverage, self.stream.learner, calibrated)
        return [{"interval": limits} for limits in found]

    @property
    def order(self) -> tuple[int, int]:
        """How often the order of rows was doubtful, and the rows since."""
        learned = self.conformal
        return learned.alarms, learned.rows_since_alarm

    def explanation(
        self, line: bytes, about: Any = None
    ) -> Explanation | StackExplanation | NumberExplanation | NumberStackExplanation:
        """Return the contribution of every feature of a row; for a stack, that of every member too.

        Raises
        ------
        ValueError
            If the model has no weights of features, or there is no such class.
        """
        model, batch = self.model(), self._questions.batch([line])
        if self.task.regression:
            return numbers.explained_number(model, batch, about)
        return (explain_stack if isinstance(self.stream.learner, Members) else explain)(model, batch, about)

    @property
    def has_classes(self) -> bool:
        """Whether any class, or any number, is known; without one there is no model yet."""
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
        if not self.has_classes:
            raise Problem("one-class", "no row was learned yet; send labelled rows first")
        source = {**self.reading.as_dict(), "closed": self.closed}
        return Model(stream.learner, list(stream.classes.names), stream.features, self.estimator, source)


def _own_columns(part: Batch, batch: Batch, first: int) -> Batch:
    """Return a part of a batch, from its row ``first`` on, without the columns that are new in the rows after it."""
    if batch.new_features is not None and part is not batch:
        later = len(batch.new_features.row) - bisect_left(batch.new_features.row, first + len(part))
        part.n_columns = batch.n_columns - later
    return part


def raise_of_machine(error: Exception) -> None:
    """Raise an error again that is not due to a row: the machine has no memory left, or a disk fails."""
    if isinstance(error, MemoryError | OSError):
        raise error
    if isinstance(error.__cause__, MemoryError):
        raise MemoryError(str(error)) from error


def reason_of(error: Exception) -> str:
    """Return why a row was set aside; a fault of the program is named by its type."""
    told = WHERE.sub("", str(error), count=1) or "no reason given"
    return told if isinstance(error, ValueError) else f"{type(error).__name__}: {told}"
