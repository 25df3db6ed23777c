"""Estimators around the learners of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..covariances.settings import Settings
from ..covariances.table import of_classes, of_labels, resolved
from ..data.class_order import ClassOrder
from ..data.memory.labels import with_class_weight
from ..models.model import Model
from ..views.center import Center
from ..views.table import make_view
from .base import BaseOnlineClassifier
from .classifier import OnlineClassifier
from .estimator import OnlineEstimator
from .parameters import REGRESSION_SAVED, REGRESSION_SHARED, SHARED
from .regressor import OnlineRegressor

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
    if settings.task.multilabel:
        chosen = settings.task != of_labels(settings.rule, settings.covariance, None)
        return settings.task.multiclass if chosen else None
    multiclass: str | None = estimator.get("multiclass", settings.task.multiclass if settings.task.several else "joint")
    covariance, default = of_classes(settings.rule, settings.covariance, None)
    return None if (settings.covariance, multiclass) == (covariance, default.multiclass) else multiclass


def put_model(classifier: AnyClassifier, model: Model) -> AnyClassifier:
    """Give a classifier the learner of a model and the meaning of its numbers."""
    classifier.learner_ = model.learner
    classifier._class_order = ClassOrder(model.classes)
    put_features(classifier, model)
    return classifier


def regressor_of(model: Model) -> OnlineRegressor:
    """Return a regressor with the settings of a model, untrained."""
    settings, estimator = model.learner.settings, model.estimator
    parameters = {name: getattr(settings, name) for name in REGRESSION_SHARED}
    parameters["kernel"] = settings.kernel or "rbf"
    default = resolved(replace(settings, projection=None), model.learner.n_features).projection
    parameters["projection"] = None if settings.projection == default else settings.projection
    parameters |= {name: estimator[name] for name in REGRESSION_SAVED if name in estimator}
    covariance = estimator.get("covariance", settings.covariance)
    fit_intercept = settings.task.has_offset
    view = model.learner.view
    if settings.task.centered and isinstance(view.views[-1], Center):  # which the regressor adds itself
        view = make_view(view.views[:-1])
    return OnlineRegressor(settings.rule, covariance, fit_intercept=fit_intercept, view=view, **parameters)


def put_regression(regressor: OnlineRegressor, model: Model) -> OnlineRegressor:
    """Give a regressor the learner of a model.

    Raises
    ------
    ValueError
        If the learner is not what a regressor with these parameters trains.
    """
    regressor.learner_ = model.learner
    regressor._one_dimensional = model.estimator.get("one_dimensional", model.learner.n_classes == 1)
    put_features(regressor, model)
    regressor._check_parameters()
    regressor._follow_parameters()
    wanted, _ = regressor._wanted(model.learner)
    if wanted.task != model.learner.settings.task:
        raise ValueError(f"the task {model.learner.task.name!r} where {wanted.task.name!r} is trained")
    return regressor


def put_any(estimator: Any, model: Model) -> Any:
    """Give an estimator of either kind the learner of a model."""
    return put_regression(estimator, model) if model.learner.task.regression else put_model(estimator, model)


def put_features(estimator: OnlineEstimator[Any], model: Model) -> None:
    """Tell an estimator what the features of its learner are."""
    estimator.n_features_in_ = model.learner.n_features
    if model.source:
        estimator.source_ = model.source
    if model.features is not None and model.source:
        estimator.features_ = model.features
    elif model.features is not None:
        estimator.feature_names_in_ = np.array(list(model.features.names), dtype=object)
