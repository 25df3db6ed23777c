"""A served model: learns the rows of its log in order, and answers questions, in one thread.

The model is at any time, byte for byte, the one that ``confidently train`` would make of the same rows with the same
settings. Training looks at the first 1,000 rows to see whether they are a table, and which members a stack has; so
until then the rows are kept, and the model starts from scratch if they show something else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...data.formats.table import OBJECTS
from ...data.reading import ReaderOptions
from ...learner.streams import StreamLearner
from ...learner.tables import ROWS_TO_INFER
from ...models import file
from ...models.model import Model
from ...stack.choosing import Choosing
from ...stack.members import Members, parts_of
from .answering import AnsweringModel
from .asking import FIRST_SAMPLED, Asking
from .base import Learned
from .contributions import Contribution
from .early import Early
from .guards import Guards
from .learning import Example, RowLearner, raise_of_machine
from .settings import ModelSettings, Setup

ROWS_FOR_STACK, ROWS_FOR_PRODUCTS = 16, 128  # worth learning at once


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
    """

    def __init__(
        self, settings: ModelSettings, model: Model | None = None, seq: int = 0, saved: dict[str, Any] | None = None
    ) -> None:
        setup, kept, strict = Setup(settings), saved or {}, bool(settings.strict)
        guards = Guards(setup.reading(), strict, kept.get("guards"))
        self.early: Early | None = None
        if model is None:
            stream, estimator = setup.learner(setup.reading()), setup.estimator()
            if (setup.undecided or setup.undecided_covariance) and not settings.auto:
                self.early = Early(setup)
        else:
            reading = ReaderOptions.from_dict(model.source)
            reading = reading if reading.format == OBJECTS else reading.of_objects()
            stream, estimator = model.stream_learner(reading), model.estimator
            guards.take_reading(reading)
            if saved is None and (features := stream.features) is not None:  # it was trained elsewhere
                guards = Guards.of_features(reading, strict, features.names, stream.learner.n_seen)
        super().__init__(settings, setup, guards, Asking(settings.ask, kept.get("asking")), seq, stream, estimator)
        self._row_learner = self._new_row_learner(stream)

    def _new_row_learner(self, stream: StreamLearner) -> RowLearner:
        return RowLearner(stream, self.guards, calibrate=self._calibration is not None)

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> Learned:
        before, stream, begun = self._counts(), self.stream, self._begun
        self._take_in(examples)
        anew = self.stream is not stream or self._begun != begun
        rows, *sums = (now - (0 if anew else then) for now, then in zip(self._counts(), before, strict=True))
        return Learned(int(rows), tuple(sums), anew)

    @property
    def is_settled(self) -> bool:
        learner = self.stream.learner
        return self.early is None and not (isinstance(learner, Choosing) and learner.early is not None)

    def settle(self) -> None:
        self.early = None
        if isinstance(self.stream.learner, Choosing):
            self.stream.learner.choose_for_good()

    @property
    def _begun(self) -> int:
        """How often the members of a stack have begun, which then have learned all rows again."""
        learner = self.stream.learner
        return learner.begun if isinstance(learner, Choosing) else 0

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
            decision = early.add(examples)
        except Exception as error:
            raise_of_machine(error)
            early.without(examples)
            examples = [example for example in examples if self._can_decide(example)]
            decision = early.add(examples)
        while decision != early.decision or examples:
            if decision != early.decision:
                early.decision = decision
                self._begin_again(early)
                examples = early.examples
            before = len(self._aside)
            self._learn_sampled(examples)
            if len(self._aside) == before:
                return
            decision, examples = early.decided(), []

    def _can_decide(self, example: Example) -> bool:
        """Return whether a row can help decide what the model is; otherwise set it aside."""
        try:
            Early(self.setup).add([example])
        except Exception as error:
            raise_of_machine(error)
            self._set_aside(example, error)
            return False
        return True

    @property
    def _asks_by_certainty(self) -> bool:
        """Whether predictions ask for labels by how certain they are, and not by the probabilities of rows learned."""
        return self._calibration is None or self.task.multilabel or self.task.regression

    def _learn_sampled(self, examples: Sequence[Example]) -> None:
        """Learn rows; some are predicted before, of models that do not know how certain their answers were."""
        if not self._asks_by_certainty:
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
        if not (examples and seen >= FIRST_SAMPLED and self._can_answer and self.asking.wants(examples[0].seq)):
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
        super()._set_aside(example, error)
        if self.early is not None:
            self.early.without([example])

    def _begin_again(self, early: Early) -> None:
        """Begin without any rows learned, as the first ones have decided."""
        stream = self.setup.learner(self.setup.reading(early.decision.is_table), early.decision)
        assert stream.reading is not None
        self.guards.begin_again(stream.reading)
        self.asking.begin_again()
        self._answer_with(stream)
        self._row_learner = self._new_row_learner(stream)

    @property
    def least_rows(self) -> int:
        # a stack's members have costs for each time, and products of matrices are those of many rows
        learner = self.stream.learner
        if isinstance(learner, Members):
            return ROWS_FOR_STACK
        return 1 if learner.covariance.is_row_by_row(learner.state, learner.device) else ROWS_FOR_PRODUCTS

    # --- other servers -----------------------------------------------------------------------------------------------

    @property
    def own(self) -> ServedModel:
        """What has learned the rows of this server only."""
        return self

    @property
    def contributions(self) -> Mapping[str, Contribution]:
        """The last contribution of each other server, by its origin."""
        return {}

    # --- files -------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        self.model().save(path)

    def writer(self, training: dict[str, Any]) -> Callable[[Path], None]:
        model = self.model()
        model.check_values()
        model.training = training
        return partial(file.write, header=model.header(), arrays=_unshared(model) | self._more_arrays())

    def _more_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a snapshot has besides those of a model file."""
        return {}


def _unshared(model: Model) -> dict[str, np.ndarray]:
    """Return the arrays of a model file, with copies of those that share memory with the model."""
    own = [array for part in parts_of(model.learner) for array in part.state.values()]
    own += [] if model.features is None else model.features.arrays().values()
    return {
        name: np.array(array) if any(np.may_share_memory(array, one) for one in own) else array
        for name, array in model.arrays().items()
    }
