"""Models trained separately, merged into one: their Gaussians are multiplied and their common base counts once."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.classes import ClassTable
from ..learner.learner import Learner
from ..learner.streams import prune_names
from .alignment import all_classes, all_features, appeared, class_numbers, differences
from .merged_learner import ROUNDS, MergeError, Part, Space, check_begun, merge_learners
from .model import Model


def merge_models(
    models: Sequence[Model], names: Sequence[str], base: Model | None, base_name: str, how: str = "product"
) -> Model:
    """Merge models; ``names`` are theirs in messages, and ``how`` is "product" or "mean"."""
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
        prune_names(learner, features)
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
        Part(name, model.learner, place, class_numbers(model, table), space, appeared(model, table))
        for name, model, place in zip(names, models, places, strict=True)
    ]


def _check_fits(first_name: str, first: Model, name: str, model: Model) -> None:
    try:
        model.learner.covariance.require("merge")
    except ValueError as reason:
        raise MergeError(f"{name}: {reason}") from None
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
    learner = Learner(space.settings, space.n_classes)
    return Part("the prior", learner, np.arange(0), np.arange(space.n_classes), space)


def _source(models: Sequence[Model]) -> dict[str, Any]:
    source = dict(models[0].source)
    if "closed" in source:
        source["closed"] = all(model.source.get("closed", False) for model in models)
    return source
