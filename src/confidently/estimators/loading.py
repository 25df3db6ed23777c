"""Model files as estimators."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..data.memory.labels import with_class_weight
from ..learner.learner import Learner
from ..models.file import ModelFileError, damage_reported
from ..models.model import Model
from ..stack.number_stack import NumberStack
from ..stack.stack import Stack
from ..topics.model import TopicModel, load_any
from .auto import AutoClassifier
from .auto_regressor import AutoRegressor
from .classifier import OnlineClassifier
from .fitted import classifier_of, put_features, put_model, put_regression, regressor_of
from .parameters import check_settings, check_training
from .regressor import OnlineRegressor

if TYPE_CHECKING:
    from ..topics.estimator import OnlineMedLDA


def load(
    path: str | os.PathLike[str],
) -> OnlineClassifier | AutoClassifier | OnlineRegressor | AutoRegressor | OnlineMedLDA:
    """Read a model written by ``save`` of any estimator, or by the command line.

    Parameters
    ----------
    path : path

    Returns
    -------
    OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor or OnlineMedLDA
        Fitted; ``partial_fit`` continues where training stopped.

    Raises
    ------
    confidently.models.file.ModelFileError
        If the file is damaged, truncated, not a model, or written by a later version.
    OSError
        If it cannot be read.
    """
    model = load_any(path)
    if isinstance(model, TopicModel):
        return _topic_model(path, model)
    if model.learner.task.regression:
        with damage_reported(path):
            if isinstance(model.learner, NumberStack):
                return _auto_regressor(model)
            return put_regression(regressor_of(model), model)
    if None in model.classes or (len(model.classes) < 2 and model.learner.task.binary):
        seen = ", ".join(repr(name) for name in model.classes if name is not None)
        raise ModelFileError(
            f"{path}: the model has seen one class only ({seen}); continue its training until a second one appears"
        )
    with damage_reported(path):
        if isinstance(model.learner, Stack):
            return put_model(_auto_classifier(model), model)
        classifier = classifier_of(model)
        check_settings(classifier, partial=False)
        return put_model(classifier, model)


def _auto_classifier(model: Model) -> AutoClassifier:
    estimator = dict(with_class_weight(model.estimator))
    if "members" not in estimator:
        members = (member for member in model.learner.members if isinstance(member, Learner))
        estimator["members"] = [classifier_of(Model(member, [])) for member in members]
    classifier = AutoClassifier(dtype=model.learner.dtype, **estimator)
    check_training(classifier, partial=False)
    return classifier


def _auto_regressor(model: Model) -> AutoRegressor:
    estimator = dict(model.estimator)
    if "members" not in estimator:
        members = (Model(member, [0], None, {}) for member in model.learner.members)
        estimator["members"] = [regressor_of(member) for member in members]
    regressor = AutoRegressor(dtype=model.learner.dtype, **estimator)
    regressor._check_parameters()
    regressor.learner_ = model.learner
    put_features(regressor, model)
    return regressor


def _topic_model(path: str | os.PathLike[str], model: TopicModel) -> OnlineMedLDA:
    from ..topics.estimator import OnlineMedLDA  # only here, to save start-up time

    with damage_reported(path):
        return OnlineMedLDA.of(model)
