"""Classifiers around the learners of models."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ..covariances.settings import MULTILABEL, Settings
from ..covariances.table import of_classes, of_labels
from ..data.class_order import ClassOrder
from ..data.memory.labels import with_class_weight
from ..models.model import Model
from .base import BaseOnlineClassifier
from .classifier import OnlineClassifier
from .parameters import SHARED

AnyClassifier = TypeVar("AnyClassifier", bound=BaseOnlineClassifier[Any])


def classifier_of(model: Model) -> OnlineClassifier:
    """Return a classifier with the settings of a model, untrained."""
    settings, estimator = model.learner.settings, dict(with_class_weight(model.estimator))
    estimator["multiclass"] = _multiclass(settings, estimator)
    parameters = {name: getattr(settings, name) for name in SHARED}
    parameters["kernel"] = settings.kernel or "rbf"
    parameters["projection"] = None if settings.projection == settings.rule.projection else settings.projection
    return OnlineClassifier(**parameters, view=model.learner.view, **estimator)


def _multiclass(settings: Settings, estimator: dict[str, Any]) -> str | None:
    """Return the parameter ``multiclass`` of a saved classifier, None where it is the default."""
    if settings.multilabel:
        chosen = settings.task != of_labels(settings.rule, settings.covariance, None)
        return MULTILABEL[settings.task] if chosen else None
    multiclass: str | None = estimator.get("multiclass", settings.task if settings.several else "joint")
    default = of_classes(settings.rule, settings.covariance, None)
    return None if (settings.covariance, multiclass) == default else multiclass


def put_model(classifier: AnyClassifier, model: Model) -> AnyClassifier:
    """Give a classifier the learner of a model and the meaning of its numbers."""
    classifier.learner_ = model.learner
    classifier._class_order = ClassOrder(model.classes)
    classifier.n_features_in_ = model.learner.n_features
    if model.source:
        classifier.source_ = model.source
    if model.features is not None and model.source:
        classifier.features_ = model.features
    elif model.features is not None:
        classifier.feature_names_in_ = np.array(list(model.features.names), dtype=object)
    return classifier
