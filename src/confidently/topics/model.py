"""Topic models in model files: a topic learner and the classes and words its numbers stand for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..covariances.state import State, put_rows
from ..models import file
from ..models.file import TOPICS, checked_arrays
from ..models.model import Model, SavedModel
from ..tasks.conformal import CONFORMAL
from .learner import TopicLearner
from .settings import TopicSettings
from .state import SCORED, check_values, new_state, state_shapes


@dataclass
class TopicModel(SavedModel):
    """A topic model: its learner and the meaning of the learner's numbers."""

    kinds: ClassVar[tuple[str, ...]] = (TOPICS,)
    kind: ClassVar[str] = TOPICS

    learner: TopicLearner

    @property
    def calibration(self) -> str | None:
        """What calibrates probabilities: "progressive", or None."""
        return self.learner.settings.calibration

    def packed(self) -> State:
        """Return the learner's arrays without the words that no document had, and scores of which there are none."""
        words = self.learner.state["words"][: self.learner.n_features]
        rows = np.flatnonzero(words.any(axis=(1, 2)))
        packed = {**self.learner.state, "words": words[rows], "words.rows": rows.astype(np.int64)}
        if not self.learner.conformal.rows:
            del packed[CONFORMAL]
        return packed

    def check_values(self) -> None:
        check_values(self.learner.state)

    @staticmethod
    def unpacked(header: file.Header, arrays: State) -> TopicLearner:
        """Return the learner of a header and packed arrays; an error if they do not fit."""
        settings, n_classes = TopicSettings(**header.settings), header.n_classes
        shapes = state_shapes(settings, n_classes, header.n_features)
        file.require_memory_for(shapes)
        initial = new_state(settings, n_classes, 0)
        arrays = {name: initial[name] for name in (*SCORED, CONFORMAL)} | arrays  # files may lack some of these
        words = np.zeros(*shapes["words"])
        put_rows(words, arrays["words.rows"], arrays["words"], "words")
        state = checked_arrays(arrays | {"words": words}, shapes)
        check_values(state)
        return TopicLearner(settings, n_classes, header.n_features, state)


def load_any(path: str | os.PathLike[str]) -> Model | TopicModel:
    """Read a model file of any kind; the errors are those of :meth:`SavedModel.load`."""
    contents = file.read(path, *Model.kinds, *TopicModel.kinds)
    return (TopicModel if contents.header.kind == TOPICS else Model).from_contents(contents)
