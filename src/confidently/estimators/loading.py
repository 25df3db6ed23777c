"""Model files as estimators."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..data import ReaderOptions
from ..data.memory.labels import with_class_weight
from ..encoders import KNOWN
from ..learner.learner import Learner
from ..models import file
from ..models.file import ModelFileError, damage_reported
from ..models.model import Model
from ..stack.members import Members
from ..topics.model import TopicModel, load_any
from .auto import AutoClassifier, AutoRegressor
from .classifier import OnlineClassifier
from .fitted import estimator_of
from .groups import column_of
from .regressor import OnlineRegressor

if TYPE_CHECKING:
    from ..topics.estimator import OnlineMedLDA

    Loaded = OnlineClassifier | AutoClassifier | OnlineRegressor | AutoRegressor | OnlineMedLDA


def load(path: str | os.PathLike[str]) -> Loaded:
    """Read the file of an estimator; results and errors are those of :func:`confidently.load`."""
    return _estimator(path, load_any(path))


def loaded(name: str, content: bytes) -> Loaded:
    """Return the estimator of what a model file has; ``name`` is that of the file in messages."""
    return _estimator(name, Model.from_contents(file.decoded(name, content, *Model.kinds)))


def _estimator(path: str | os.PathLike[str], model: Model | TopicModel) -> Loaded:
    if isinstance(model, TopicModel):
        return _topic_model(path, model)
    if None in model.classes or (len(model.classes) < 2 and model.learner.task.binary):
        seen = ", ".join(repr(name) for name in model.classes if name is not None)
        raise ModelFileError(
            f"{path}: the model has seen one class only ({seen}); continue its training until a second one appears"
        )
    with damage_reported(path):
        estimator = _mixture_of(model) if isinstance(model.learner, Members) else estimator_of(model)
        estimator.encoder = known_encoder(model.source)
        estimator._check_parameters(partial=False)
        return estimator._take_model(model)


def known_encoder(source: dict[str, Any]) -> str | None:
    """Return the encoder of a model, if its name is enough to load it."""
    found = ReaderOptions.from_dict(source).encoder if source else None
    return None if found is None or found.name not in KNOWN else found.name


def _mixture_of(model: Model) -> AutoClassifier | AutoRegressor:
    """Return an estimator with the settings of a model of a stack, untrained."""
    learner, estimator = model.learner, dict(with_class_weight(model.estimator))
    estimator.pop("one_dimensional", None)  # which is no parameter
    estimator |= {"dtype": learner.dtype, "coverage_by": column_of(learner.groups)}
    if "members" not in estimator:
        members = (member for member in learner.members if isinstance(member, Learner))
        estimator["members"] = [estimator_of(Model(member, [])) for member in members]
    if learner.task.regression:
        return AutoRegressor(bounds=learner.targets.said, **estimator)
    return AutoClassifier(**estimator)


def _topic_model(path: str | os.PathLike[str], model: TopicModel) -> OnlineMedLDA:
    from ..topics.estimator import OnlineMedLDA  # only here, to save start-up time

    with damage_reported(path):
        return OnlineMedLDA.of(model)
