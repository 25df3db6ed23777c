"""Estimators around the learners of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..covariances.settings import Settings
from ..covariances.table import of_classes, of_labels, resolved
from ..data.memory.labels import with_class_weight
from ..models.model import Model
from ..views.center import Center
from ..views.table import make_view
from .classifier import OnlineClassifier
from .parameters import REGRESSION_SAVED, REGRESSION_SHARED, SHARED
from .regressor import OnlineRegressor


def estimator_of(model: Model) -> OnlineClassifier | OnlineRegressor:
    """Return an estimator with the settings of a model of one Gaussian, untrained."""
    return _regressor_of(model) if model.learner.task.regression else _classifier_of(model)


def _classifier_of(model: Model) -> OnlineClassifier:
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


def _regressor_of(model: Model) -> OnlineRegressor:
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
