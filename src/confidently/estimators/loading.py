"""Model files as estimators."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..data.memory.labels import with_class_weight
from ..models.file import ModelFileError, damage_reported
from ..models.model import Model
from ..topics.model import TopicModel, load_either
from .classifier import OnlineClassifier
from .parameters import SHARED, check_settings

if TYPE_CHECKING:
    from ..topics.estimator import OnlineMedLDA


def load(path: str | os.PathLike[str]) -> OnlineClassifier | OnlineMedLDA:
    """Read a model written by ``save`` of :class:`OnlineClassifier` or :class:`OnlineMedLDA`, or by the command line.

    Parameters
    ----------
    path : path

    Returns
    -------
    OnlineClassifier or OnlineMedLDA
        Fitted; ``partial_fit`` continues where training stopped.

    Raises
    ------
    confidently.models.file.ModelFileError
        If the file is damaged, truncated, not a model, or written by a later version.
    OSError
        If it cannot be read.
    """
    model = load_either(path)
    if isinstance(model, TopicModel):
        return _topic_model(path, model)
    if None in model.classes or (len(model.classes) < 2 and model.learner.settings.task == "binary"):
        seen = ", ".join(repr(name) for name in model.classes if name is not None)
        raise ModelFileError(
            f"{path}: the model has seen one class only ({seen}); continue its training until a second one appears"
        )
    settings = model.learner.settings
    with damage_reported(path):
        estimator = dict(with_class_weight(model.estimator))
        multiclass = estimator.get("multiclass", settings.task if settings.several else "joint")
        estimator["multiclass"] = None if multiclass == settings.rule.multiclass else multiclass
        parameters = {name: getattr(settings, name) for name in SHARED}
        parameters["kernel"] = settings.kernel or "rbf"
        parameters["projection"] = None if settings.projection == settings.rule.projection else settings.projection
        classifier = OnlineClassifier(**parameters, view=model.learner.view, **estimator)
        check_settings(classifier, partial=False)
        return put_model(classifier, model)


def put_model(classifier: OnlineClassifier, model: Model) -> OnlineClassifier:
    """Give a classifier the learner of a model and the meaning of its numbers."""
    classifier.learner_ = model.learner
    classifier.classes_ = np.array(model.classes)
    classifier.n_features_in_ = model.learner.n_features
    if model.source:
        classifier.source_ = model.source
    if model.features is not None and model.source:
        classifier.features_ = model.features
    elif model.features is not None:
        classifier.feature_names_in_ = np.array(list(model.features.names), dtype=object)
    return classifier


def _topic_model(path: str | os.PathLike[str], model: TopicModel) -> OnlineMedLDA:
    from ..topics.estimator import OnlineMedLDA  # only here, to save start-up time

    with damage_reported(path):
        return OnlineMedLDA.of(model)
