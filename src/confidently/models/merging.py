"""Merging models that were trained separately: their Gaussians are multiplied, and a common base counts once."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.classes import ClassTable
from ..learner.learner import Learner
from ..learner.streams import prune_names
from .alignment import all_classes, all_features, class_numbers, differences, seen_classes
from .merged_learner import HOW_ROUNDS, MergeError, Part, Space, check_continued, merge_learners
from .model import Model

MAX_LISTED = 5  # classes, in a message


def merge_models(
    models: Sequence[Model], names: Sequence[str], base: Model | None, base_name: str, how: str = "product"
) -> Model:
    """Return the merged model; ``names`` are used in messages, and ``how`` is "product" or "mean"."""
    if not models:
        raise MergeError("merge needs at least one model, got none")
    bases = [] if base is None else [base]
    together, all_names = [*bases, *models], [*[base_name] * len(bases), *names]
    for name, model in zip(all_names, together, strict=True):
        _check_compatible(names[0], models[0], name, model)
    columns, features = all_features(together)
    table, parts = _parts(together, all_names, columns)
    start = parts.pop(0) if bases else _prior(parts[0].space)
    if bases:
        check_continued(start, parts)
    if len(models) == 1:
        return replace(deepcopy(models[0]), training={})
    learner = merge_learners(parts, start, how)
    if features is not None:
        prune_names(learner, features)
    return Model(learner, table.names, features, models[0].estimator, _source(models))


def merge_round(base: Model, models: Sequence[Model], columns: Sequence[np.ndarray]) -> Model:
    """Merge models whose training continued from a base in one round; the result has no names of features.

    ``columns`` holds the columns of each model's features in the merged model, where the base's come first.
    """
    names = [f"part {k}" for k in range(1, len(models) + 1)]
    table, parts = _parts([base, *models], ["their base", *names], [np.arange(base.learner.n_features), *columns])
    learner = merge_learners(parts[1:], parts[0], HOW_ROUNDS)
    return Model(learner, table.names, None, models[0].estimator, _source(models))


def _parts(
    models: Sequence[Model], names: Sequence[str], columns: Sequence[np.ndarray]
) -> tuple[ClassTable, list[Part]]:
    """Return the table of all classes, and the models aligned with it and with all features."""
    table = all_classes(models)
    n_features = max(int(own.max(initial=-1)) + 1 for own in columns)
    space = Space(_settings(models, len(table)), n_features, len(table))
    return table, [
        Part(name, model.learner, own, class_numbers(model, table), space, seen_classes(model, table))
        for name, model, own in zip(names, models, columns, strict=True)
    ]


def _check_compatible(first_name: str, first: Model, name: str, model: Model) -> None:
    try:
        model.learner.require("merge")
    except ValueError as reason:
        raise MergeError(f"{name}: {reason}") from None
    found = [f"{key} = {a} in {first_name}, {key} = {b} in {name}" for key, a, b in differences(first, model)]
    if found:
        raise MergeError(f"{'; '.join(found)}; merge models with equal settings")
    _check_classes(first_name, first, name, model)


def _check_classes(first_name: str, first: Model, name: str, model: Model) -> None:
    """Refuse models of other problems; two parts of one stream may have seen different classes, but one in common."""
    one, other = ([c for c in m.classes if c is not None] for m in (first, model))
    if min(len(one), len(other)) >= 2 and first.learner.settings.task != "multilabel" and not set(one) & set(other):
        raise MergeError(
            f"{name} and {first_name} have no class in common: {_listed(other)} and {_listed(one)}; merge models of "
            "the same classes"
        )


def _listed(classes: Sequence[Any]) -> str:
    return ", ".join(map(repr, classes[:MAX_LISTED])) + (", ..." if len(classes) > MAX_LISTED else "")


def _settings(models: Sequence[Model], n_classes: int) -> Any:
    """Return the settings of the merged learner: the common ones, with the task that the classes need."""
    several = [model.learner.settings for model in models if model.learner.settings.task != "binary"]
    settings = models[-1].learner.settings
    if several:
        return replace(settings, task=several[0].task)
    return replace(settings, task=models[-1].multiclass) if n_classes > 2 else settings


def _prior(space: Space) -> Part:
    """Return an untrained learner, the base of models without one."""
    learner = Learner(space.settings, space.n_classes)
    return Part("the prior", learner, np.arange(0), np.arange(space.n_classes), space)


def _source(models: Sequence[Model]) -> dict[str, Any]:
    source = dict(models[0].source)
    if "closed" in source:
        source["closed"] = all(model.source.get("closed", False) for model in models)
    return source
