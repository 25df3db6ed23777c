"""Topic models as model files: a topic learner and what its numbers mean."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from ..covariances.state import State
from ..models import file
from ..models.model import Model, SavedModel
from .learner import TopicLearner


@dataclass
class TopicModel(SavedModel):
    """A topic model and what its numbers mean."""

    kind: ClassVar[str] = "topics"

    learner: TopicLearner

    def packed(self) -> State:
        """The state without words never seen."""
        return self.learner.packed()

    @staticmethod
    def unpacked(header: dict[str, Any], arrays: State) -> TopicLearner:
        """The learner of a header and packed arrays; an error where they do not fit."""
        return TopicLearner.from_header(header, arrays)


def load_either(path: str | os.PathLike[str]) -> Model | TopicModel:
    """Read a model file of either kind; errors as of :meth:`SavedModel.load`."""
    contents = file.read(path, Model.kind, TopicModel.kind)
    return TopicModel.from_contents(contents) if contents.kind == TopicModel.kind else Model.from_contents(contents)
