"""Topic models in model files: a topic learner and the classes and words its numbers stand for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..covariances.state import State
from ..models import file
from ..models.file import checked_arrays
from ..models.model import Model, SavedModel
from .learner import SCORED, TopicLearner, TopicSettings


@dataclass
class TopicModel(SavedModel):
    """A topic model: its learner and the meaning of the learner's numbers."""

    kind: ClassVar[str] = "topics"

    learner: TopicLearner

    def packed(self) -> State:
        """Return the learner's arrays without the words that no document had."""
        words = self.learner.state["words"][: self.learner.n_features]
        rows = np.flatnonzero(words.any(axis=(1, 2)))
        return {**self.learner.state, "words": words[rows], "words.rows": rows.astype(np.int64)}

    @staticmethod
    def unpacked(header: dict[str, Any], arrays: State) -> TopicLearner:
        """Return the learner of a header and packed arrays; an error if they do not fit."""
        learner = TopicLearner(TopicSettings(**header["settings"]), header["n_classes"])
        words = np.zeros((header["n_features"], *learner.state["words"].shape[1:]))
        arrays = {name: learner.state[name] for name in SCORED} | arrays  # early files have none of these
        rows = arrays["words.rows"]
        if rows.dtype != np.int64 or (len(rows) and not 0 <= rows.min() <= rows.max() < len(words)):
            raise ValueError("the numbers of words are out of range")
        words[rows] = arrays["words"]
        expected = {name: (array.shape, array.dtype) for name, array in learner.state.items()}
        expected["words"] = words.shape, words.dtype
        learner.state, learner.n_features = checked_arrays(arrays | {"words": words}, expected), len(words)
        return learner


def load_either(path: str | os.PathLike[str]) -> Model | TopicModel:
    """Read a model file of either kind; the errors are those of :meth:`SavedModel.load`."""
    contents = file.read(path, Model.kind, TopicModel.kind)
    return TopicModel.from_contents(contents) if contents.kind == TopicModel.kind else Model.from_contents(contents)
