"""A served model: learns the rows of its log in order, and answers questions, in one thread.

The model is at any time, byte for byte, the one that ``confidently train`` would make of the same rows with the same
settings. Training looks at the first 1,000 rows to see whether they are a table, and which members a stack has; so
until then the rows are kept, and the model starts from scratch if they show something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...data.formats.table import OBJECTS
from ...data.reading import ReaderOptions
from ...learner.tables import ROWS_TO_INFER
from ...models.model import Model
from ...stack.members import Members
from .answering import AnsweringModel
from .asking import FIRST_SAMPLED, Asking
from .early import Early
from .guards import Guards
from .learning import Example, RowLearner, raise_of_machine, reason_of
from .settings import ModelSettings, Setup

EARLY_PARTS = 2  # the first rows grow by at least 1/EARLY_PARTS of them, if as many wait
ROWS_FOR_STACK, ROWS_FOR_PRODUCTS = 16, 128  # worth learning at once


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


class ServedModel(AnsweringModel):
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
        self.setup, self.seq, kept, strict = Setup(settings), seq, saved or {}, bool(settings.strict)
        setup, guards = self.setup, Guards(self.setup.reading(), strict, kept.get("guards"))
        self.early: Early | None = None
        self._aside: list[tuple[Example, str]] = []
        if model is None:
            stream, estimator = setup.learner(setup.reading()), setup.estimator()
            if setup.undecided or setup.undecided_covariance or settings.auto:
                self.early = Early(setup)
        else:
            reading = ReaderOptions.from_dict(model.source)
            reading = reading if reading.format == OBJECTS else reading.of_objects()
            stream, estimator = model.stream_learner(reading), model.estimator
            guards.take_reading(reading)
            if saved is None and (features := stream.features) is not None:  # it was trained elsewhere
                guards = Guards.of_features(reading, strict, features.names, stream.learner.n_seen)
        super().__init__(settings, stream, estimator, guards, Asking(settings.ask, kept.get("asking")))
        self._row_learner = RowLearner(stream, guards, calibrate=self._calibration is not None)

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
            decision = early.decided_by([*early.examples, *examples])
        except Exception as error:
            raise_of_machine(error)
            examples = [example for example in examples if self._can_decide(example, early)]
            decision = early.decided_by([*early.examples, *examples])
        early.examples += examples
        while decision != early.decision or examples:
            if decision != early.decision:
                early.decision = decision
                self._begin_again(early)
                examples = early.examples
            before = len(self._aside)
            self._learn_sampled(examples)
            if len(self._aside) == before:
                return
            decision, examples = early.decided_by(early.examples), []

    def _can_decide(self, example: Example, early: Early) -> bool:
        """Return whether a row can help decide what the model is; otherwise set it aside."""
        try:
            early.decided_by([example])
        except Exception as error:
            raise_of_machine(error)
            self._set_aside(example, error)
            return False
        return True

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
        if not examples:
            return
        done, new_features, error = self._row_learner.learn(examples)
        if error is None:
            if new_features is not None:
                self._questions.learn_features(new_features)
            self._answering, self.seq = None, examples[-1].seq
            return
        self._answer_with(self.stream)
        if len(examples) == 1:
            self._set_aside(examples[0], error)
            self.seq = examples[0].seq
            return
        for example in examples[done:]:
            self._learn([example])

    def _set_aside(self, example: Example, error: Exception) -> None:
        self._aside.append((example, reason_of(error)))
        if self.early is not None:
            self.early.examples = [one for one in self.early.examples if one is not example]

    def _begin_again(self, early: Early) -> None:
        """Begin without any rows learned, as the first ones have decided."""
        stream = self.setup.learner(self.setup.reading(early.decision.is_table), early.decision)
        assert stream.reading is not None
        self.guards.begin_again(stream.reading)
        self.asking.begin_again()
        if self.settings.auto and early.examples:
            stream.prepare([early.batch(early.examples)])
        self._answer_with(stream)
        self._row_learner = RowLearner(stream, self.guards, calibrate=self._calibration is not None)

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
