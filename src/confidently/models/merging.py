"""Models trained apart, merged into one: their Gaussians multiplied, what they had in common counted once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.classes import ClassTable
from ..data.features import Features
from ..learner.learner import Learner, check_choice
from .alignment import all_classes, all_features, appeared, class_places, differences
from .merged_learner import HOW, ROUNDS, MergeError, Part, Space, check_begun, merge_learners
from .model import Model

if TYPE_CHECKING:
    from ..estimators.classifier import OnlineClassifier


def merge(
    models: Iterable[OnlineClassifier], base: OnlineClassifier | None = None, how: str = "product"
) -> OnlineClassifier:
    """One classifier that knows what several have learned apart, each from its share of the rows.

    With precisions P = Sigma^-1 and what all began with, N(mean_0, P_0^-1)::

        P = P_0 + s sum_i (P_i - P_0),     P mean = P_0 mean_0 + s sum_i (P_i mean_i - P_0 mean_0)

    where s is 1 for the product, so that evidence adds and the common beginning counts once, and 1/n for the mean.

    Parameters
    ----------
    models : iterable of OnlineClassifier
        Fitted, with the same rule and form. Features are aligned by name, or by column where they have none; classes
        by name, and a class that a model does not know stays at the prior in it.
    base : OnlineClassifier, optional
        The classifier that all of them went on from; by default each began at the prior.
    how : {"product", "mean"}, default="product"
        Add what each has learned, or average it. A rule that keeps Sigma at its prior has its changes of the mean added
        or averaged.

    Returns
    -------
    OnlineClassifier
        A new one, with the settings of the first; ``partial_fit`` goes on from it. Rows, mistakes and updates are
        added.

    Raises
    ------
    CannotMerge
        If the models differ in what must be the same, or do not come from the base; a ``ValueError``.
    TypeError
        If something is no fitted OnlineClassifier.

    Notes
    -----
    Learning all rows with one classifier is better than merging, if it can be done. The ellipsoid rules multiply Sigma
    at every update; these factors are multiplied. Probabilities are calibrated by the margins that the parts met, which
    are not quite the merged classifier's, until it goes on learning.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from confidently import OnlineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> quarters = [OnlineClassifier("arow").fit(X[k:400:4], y[k:400:4]) for k in range(4)]
    >>> whole = merge(quarters)
    >>> whole.n_seen_, round(whole.score(X[400:], y[400:]), 2)
    (400, 0.98)
    """
    from sklearn.base import clone

    from ..estimators.classifier import OnlineClassifier
    from ..estimators.loading import put_model

    check_choice("how", how, HOW)
    models = list(models)
    for model in [*models, *([] if base is None else [base])]:
        if not isinstance(model, OnlineClassifier):
            raise TypeError(f"merge takes fitted OnlineClassifiers, got {type(model).__name__}")
        if not hasattr(model, "learner_"):
            raise TypeError("merge takes fitted OnlineClassifiers, and one of these has learned nothing yet")
    names = [f"model {k}" for k in range(1, len(models) + 1)]
    start = None if base is None else base.as_model()
    merged = merge_models([model.as_model() for model in models], names, start, "the base", how)
    if len({isinstance(name, str) for name in merged.classes}) > 1:
        raise MergeError(f"classes mix words and numbers: {', '.join(map(repr, merged.classes))}")
    return put_model(clone(models[0]), merged)


def merge_models(
    models: Sequence[Model], names: Sequence[str], base: Model | None, base_name: str, how: str = "product"
) -> Model:
    """:func:`merge` of models and what their numbers mean, called ``names`` in messages."""
    if not models:
        raise MergeError("merge needs at least one model, got none")
    begun = [] if base is None else [base]
    together, called = [*begun, *models], [*[base_name] * len(begun), *names]
    for name, model in zip(called, together, strict=True):
        _check_fits(names[0], models[0], name, model)
    places, features = all_features(together)
    table, parts = _parts(together, called, places)
    start = parts.pop(0) if begun else _prior(parts[0].space)
    if begun:
        check_begun(start, parts)
    if len(models) == 1:
        return replace(deepcopy(models[0]), training={})
    learner = merge_learners(parts, start, how)
    if features is not None:
        forget_names(learner, features)
    return Model(learner, table.names, features, models[0].estimator, _source(models))


def merge_round(base: Model, models: Sequence[Model], places: Sequence[np.ndarray]) -> Model:
    """What models know that went on from a base in one round, without the names of features.

    ``places`` says for each model where its features stand among those of all, of which the base's are the first.
    """
    names = [f"part {k}" for k in range(1, len(models) + 1)]
    table, parts = _parts([base, *models], ["their base", *names], [np.arange(base.learner.n_features), *places])
    learner = merge_learners(parts[1:], parts[0], ROUNDS)
    return Model(learner, table.names, None, models[0].estimator, _source(models))


def _parts(
    models: Sequence[Model], names: Sequence[str], places: Sequence[np.ndarray]
) -> tuple[ClassTable, list[Part]]:
    """All classes, and the models in the one space of these and of all features."""
    table = all_classes(models)
    n_features = max(int(place.max(initial=-1)) + 1 for place in places)
    space = Space(_settings(models, len(table)), n_features, len(table))
    return table, [
        Part(name, model.learner, place, class_places(model, table), space, appeared(model, table))
        for name, model, place in zip(names, models, places, strict=True)
    ]


def _check_fits(first_name: str, first: Model, name: str, model: Model) -> None:
    if model.learner.settings.covariance == "kernel":
        raise MergeError(f"{name} is a kernel model, which keeps examples and not weights: it cannot be merged")
    found = [f"{what} = {a} in {first_name}, {what} = {b} in {name}" for what, a, b in differences(first, model)]
    if found:
        raise MergeError(f"{'; '.join(found)}: only models of one form can be merged")


def _settings(models: Sequence[Model], n_classes: int) -> Any:
    """Those of the merged learner: all are the same but for the task, which grows with the classes."""
    several = [model.learner.settings for model in models if model.learner.settings.task != "binary"]
    settings = models[-1].learner.settings
    if several:
        return replace(settings, task=several[0].task)
    return replace(settings, task=models[-1].estimator.get("multiclass", "joint")) if n_classes > 2 else settings


def _prior(space: Space) -> Part:
    """A learner of nothing, where every one begins that had no base."""
    settings = space.settings
    learner = Learner(
        settings.rule, settings.covariance, settings.task, space.n_classes, 0, prior_variance=settings.prior_variance,
        fit_intercept=settings.fit_intercept, average=settings.average, min_variance=settings.min_variance,
        dtype=settings.dtype, forget=settings.forget,
    )  # fmt: skip
    return Part("the prior", learner, np.arange(0), np.arange(space.n_classes), space)


def forget_names(learner: Learner, features: Features) -> None:
    """Of hashed features a bounded number of names is kept, as in training."""
    if features.room() < 0:
        weights = learner.weights[learner.settings.fit_intercept :, 0]
        features.prune(np.abs(weights).max(axis=1, initial=0.0))


def _source(models: Sequence[Model]) -> dict[str, Any]:
    source = dict(models[0].source)
    if "closed" in source:
        source["closed"] = all(model.source.get("closed", False) for model in models)
    return source
