"""Estimators around the learners of models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..covariances.settings import Settings
from ..covariances.table import of_classes, of_labels, resolved
from ..data.memory.labels import with_class_weight
from ..models.model import Model
from ..views.center import Center
from ..views.table import AUTO, make_view
from .classifier import OnlineClassifier
from .groups import column_of
from .parameters import SHARED
from .regressor import OnlineRegressor

OF_REGRESSORS = ("covariance", "calibration", "passes", "shuffle", "random_state")  # what a model file keeps of them


def estimator_of(model: Model) -> OnlineClassifier | OnlineRegressor:
    """Return an estimator with the settings of a model of one Gaussian, untrained."""
    settings, view, estimator = model.learner.settings, model.learner.view, dict(with_class_weight(model.estimator))
    parameters = {name: getattr(settings, name) for name in SHARED}
    parameters["kernel"] = settings.kernel or "rbf"
    default = resolved(replace(settings, projection=None), model.learner.n_features).projection
    parameters["projection"] = None if settings.projection == default else settings.projection
    parameters["coverage_by"] = column_of(model.learner.groups)
    if not settings.task.regression:
        estimator["multiclass"] = _multiclass(settings, estimator)
        parameters["average"] = settings.average or AUTO
        return OnlineClassifier(**parameters, view=view, **estimator)
    del parameters["min_variance"]  # the others depend on the data
    parameters["fit_intercept"] = settings.task.has_offset
    parameters |= {name: estimator[name] for name in OF_REGRESSORS if name in estimator}
    if settings.task.centered and isinstance(view.views[-1], Center):  # which the regressor adds itself
        view = make_view(view.views[:-1])
    return OnlineRegressor(**parameters, view=view, bounds=model.learner.targets.said)


def _multiclass(settings: Settings, estimator: dict[str, Any]) -> str | None:
    """Return the parameter ``multiclass`` of a saved classifier, None where it is the default."""
    if settings.task.multilabel:
        chosen = settings.task != of_labels(settings.rule, settings.covariance, None)
        return settings.task.multiclass if chosen else None
    multiclass: str | None = estimator.get("multiclass", settings.task.multiclass if settings.task.several else "joint")
    covariance, default = of_classes(settings.rule, settings.covariance, None)
    return None if (settings.covariance, multiclass) == (covariance, default.multiclass) else multiclass
