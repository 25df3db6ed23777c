"""Merging models that were trained separately: their Gaussians are multiplied, and a common base counts once."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from ..covariances.settings import Settings
from ..covariances.table import with_classes
from ..learner.learner import Learner
from ..learner.streams import prune_names
from ..views.center import Center
from ..views.view import Arrays, OtherRows, Placed, View
from .alignment import all_classes, all_features, class_numbers, differences, seen_classes
from .merged_learner import HOW_ROUNDS, MergeError, NoCommonBase, check_continued, merge_learners
from .merged_origins import set_origins
from .merged_part import Part, Space
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
    union = _Union(together, all_names, columns, len(bases))
    if bases:
        check_continued(union.base, union.parts)
    if len(models) == 1:
        return replace(deepcopy(models[0]), training={})
    learner = union.merged(how)
    if features is not None:
        prune_names(learner, features)
    return type(models[0])(learner, union.table.names, features, models[0].estimator, _source(models))


def merge_round(base: Model, models: Sequence[Model], columns: Sequence[np.ndarray]) -> Model:
    """Merge models whose training continued from a base in one round; the result has no names of features.

    ``columns`` holds the columns of each model's features in the merged model, where the base's come first.
    """
    names = [f"part {k}" for k in range(1, len(models) + 1)]
    union = _Union([base, *models], ["their base", *names], [np.arange(base.learner.n_features), *columns], 1)
    merged = union.merged(HOW_ROUNDS)
    return type(base)(merged, union.table.names, None, models[0].estimator, _source(models))


class _Union:
    """All features and classes of models, what their view has learned, and the models aligned with these.

    Parameters
    ----------
    models : sequence of Model
        Those to merge, after their base if there is one.
    names : sequence of str
        Their names in messages.
    columns : sequence of int arrays
        Columns of each model's features in the merged model.
    n_bases : {0, 1}

    Raises
    ------
    MergeError
        If what the views have learned cannot be merged.
    """

    def __init__(
        self, models: Sequence[Model], names: Sequence[str], columns: Sequence[np.ndarray], n_bases: int
    ) -> None:
        self.table = table = all_classes(models)
        n_classes, self.n_features = len(table), max(int(own.max(initial=-1)) + 1 for own in columns)
        width = self.n_features
        classes = [class_numbers(model, table) for model in models]
        self.view: View | None = models[0].learner.view
        self.of_view: Arrays = {}
        rows = None
        if (view := self.view) is not None:
            packed = (view.packed(model.learner.state, model.learner.n_features) for model in models)
            placed = list(map(Placed, packed, columns, classes))
            start = Placed(view.packed(view.new_arrays(n_classes), 0), np.arange(0), np.arange(n_classes))
            try:
                merged = view.merged(placed[n_bases:], placed[0] if n_bases else start, self.n_features, n_classes)
            except OtherRows as reason:
                raise NoCommonBase(str(reason)) from None
            except ValueError as reason:
                raise MergeError(str(reason)) from None
            last = view.views[-1]
            if models[0].learner.task.centered and isinstance(last, Center):
                in_turn = [*placed[n_bases:], placed[0] if n_bases else start]
                rows = [last.deviations(one, merged) for one in in_turn]
            columns = [view.columns_in(merged, one) for one in placed]
            self.of_view = view.unpacked(merged, self.n_features)
            width = view.n_columns(self.of_view, self.n_features)
        space = Space(_settings(models, models[n_bases], n_classes), width, n_classes)
        parts = [
            Part(name, model.learner, own, numbers, space, seen_classes(model, table))
            for name, model, own, numbers in zip(names, models, columns, classes, strict=True)
        ]
        self.base, self.parts = parts[0] if n_bases else _prior(space), parts[n_bases:]
        stored = [cells for part in (self.base, *self.parts) if (cells := part.cells()) is not None]
        if stored:
            cells = np.sort(np.concatenate(stored))  # np.unique, which hashes, takes ten times as long
            space = replace(space, cells=cells[np.diff(cells, prepend=-1) != 0])
            for part in (self.base, *self.parts):
                part.space = space
        set_origins(self.parts, self.base, rows)

    def merged(self, how: str) -> Learner:
        """Return the merged learner, with its view."""
        learner = merge_learners(self.parts, self.base, how)
        learner.view, learner.n_features = self.view, self.n_features
        learner.state = learner.state | self.of_view
        return learner


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
    if min(len(one), len(other)) >= 2 and not first.learner.task.multilabel and not set(one) & set(other):
        raise MergeError(
            f"{name} and {first_name} have no class in common: {_listed(other)} and {_listed(one)}; merge models of "
            "the same classes"
        )


def _listed(classes: Sequence[Any]) -> str:
    return ", ".join(map(repr, classes[:MAX_LISTED])) + (", ..." if len(classes) > MAX_LISTED else "")


def _settings(models: Sequence[Model], first: Model, n_classes: int) -> Settings:
    """Return the settings of the merged learner: the first's, with the task and covariance that the classes need.

    Models of two classes may have different covariances that are the same until a third class comes.
    """
    settings: Settings = first.learner.settings
    several = [model.learner.settings for model in models if not model.learner.task.binary]
    if several:
        return replace(settings, covariance=several[0].covariance, task=several[0].task)
    return with_classes(settings, first.multiclass, n_classes)


def _prior(space: Space) -> Part:
    """Return an untrained learner, the base of models without one."""
    learner = Learner(space.settings, space.n_classes)
    return Part("the prior", learner, np.arange(0), np.arange(space.n_classes), space)


def _source(models: Sequence[Model]) -> dict[str, Any]:
    source = dict(models[0].source)
    if "closed" in source:
        source["closed"] = all(model.source.get("closed", False) for model in models)
    for name in ("numbers", "header"):  # a column may be missing from some of the files
        if all(model.source.get(name) for model in models):
            source[name] = list(dict.fromkeys(column for model in models for column in model.source[name]))
    return source
