"""Merging models of entities that were trained separately: entity by entity, and their shared models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..estimators.merging import merge
from ..models.alignment import all_classes, all_features, class_numbers
from ..models.merged_learner import MergeError
from ..models.model import Model
from .hierarchy import MAX_COLUMNS, columns_of, merged_sums
from .keys import Key
from .models import EntityModels
from .shared import missing_columns
from .table import EntityTable

Floats = NDArray[np.float64]
SUMS = "evidence", "noise", "losses"
DECAYING = "evidence", "noise"
DECAY = 1.0 - 1.0 / 2000.0  # of these per row, as in core/tasks/calibration.hpp


class EntityPart(NamedTuple):
    """What is merged of a model of entities; the table may lack entities of the base that it has not changed.

    Attributes
    ----------
    shared : Model
    table : EntityTable
    rows : int
        Rows so far.
    """

    shared: Model
    table: EntityTable
    rows: int


class _Weights(NamedTuple):
    """The weights of a model's entities in the numbers of the merged model.

    Attributes
    ----------
    number : int64 array of shape (n,)
        The number of the key times the number of features, plus the feature. Ascending.
    precision, product : arrays of shape (n, outputs, levels)
        Inverse variances, and these times the means.
    """

    number: NDArray[np.int64]
    precision: Floats
    product: Floats


def merge_entities(models: Iterable[EntityModels], base: EntityModels | None = None) -> EntityModels:
    """Merge models of entities that were trained separately, each on its fraction of the rows, into one.

    The shared models are merged as :func:`confidently.merge` does. So is each weight of an entity, whose precision
    p = 1/variance has a common starting point, the base's or the prior's::

        p = p_0 + sum_i (p_i - p_0),     p mean = p_0 mean_0 + sum_i (p_i mean_i - p_0 mean_0)

    so an entity that was trained by one model only is taken over as it is. Of numbers of few columns the sums of all
    rows of an entity are added instead, and what entities share is made from all of them: the merged model is that of
    one stream of all rows, but for how far the variances between entities are learned.

    Parameters
    ----------
    models : iterable of EntityModels
        Fitted, with the same settings.
    base : EntityModels, optional
        The model from which all of them continued; by default each started at the prior.

    Returns
    -------
    EntityModels
        A new one, with the settings of the first; ``partial_fit`` continues it. Rows are added; ages are those of rows
        that came side by side.

    Raises
    ------
    MergeError
        If the models differ in what must be the same, or do not come from the base; a ``ValueError``.
    TypeError
        If an argument is not a fitted EntityModels, or keys are strings in one and integers in another.

    Examples
    --------
    >>> from confidently.entities import EntityModels, merge_entities
    >>> rows = [{"user": user, "likes": word} for word in ("tea", "milk") for user in ("ann", "bob", "eve")] * 20
    >>> y = [row["likes"] == "tea" for row in rows]
    >>> halves = [EntityModels("user").fit(rows[k::2], y[k::2]) for k in range(2)]
    >>> merge_entities(halves).keys_
    ['ann', 'eve', 'bob']
    """
    models = list(models)
    together = [*([] if base is None else [base]), *models]
    for model in together:
        if not isinstance(model, EntityModels) or "shared_" not in vars(model):
            raise TypeError(f"merge_entities takes fitted EntityModels, got {type(model).__name__}")
    if not models:
        raise MergeError("merge_entities needs at least one model, got none")
    _check_settings(together)
    for model in together:
        check_view(model.shared_.as_model())
    shared = merge([model.shared_ for model in models], None if base is None else base.shared_)
    if len(models) == 1:
        return deepcopy(models[0])
    whole: EntityModels = clone(models[0])
    parts = [EntityPart(model.shared_.as_model(), model._table, model.n_seen_) for model in together]
    table, rows = merged_entities(parts, 0 if base is None else 1, whole._new_table())
    table.settle(rows)
    return whole._take(shared, table, rows)


def merged_entities(parts: Sequence[EntityPart], n_bases: int, table: EntityTable) -> tuple[EntityTable, int]:
    """Return the merged entities, in a table that was empty, and their rows; the first of ``parts`` may be a base.

    Exact posteriors are to be settled, once all entities are there.

    Raises
    ------
    TypeError
        If keys are strings in one and integers in another.
    """
    union = _Union(parts)
    table.grow(union.outputs)
    table.restore(list(union.keys), union.merged(table, n_bases))
    return table, union.rows(n_bases)


class _Union:
    """All keys, features and classes of models, those of their base first if there is one."""

    def __init__(self, models: Sequence[EntityPart]) -> None:
        self.models = models
        shared = [model.shared for model in models]
        columns, _ = all_features(shared)
        classes = all_classes(shared)
        regression = models[0].table.regression
        self.outputs = 1 if regression or len(classes) <= 2 else len(classes)
        self.keys: dict[Key, int] = {}
        for model in models:
            models[0].table.check_kind(model.table.keys)
            for key in model.table.keys:
                self.keys.setdefault(key, len(self.keys))
        self.columns, self.classes = columns, classes
        self.n_features = max(int(own.max(initial=-1)) + 1 for own in columns) + 1  # with the intercept
        self.exact = all(model.table.exact for model in models) and self.n_features <= MAX_COLUMNS

    def rows(self, n_bases: int) -> int:
        """Return the rows of all models, of which those of the base count once."""
        base, parts = self.models[:n_bases], self.models[n_bases:]
        before = sum(one.rows for one in base)
        return before + sum(one.rows - before for one in parts)

    def merged(self, table: EntityTable, n_bases: int) -> dict[str, Any]:
        """Return the state of the merged entities."""
        found = self._sums(n_bases) if self.exact else self._moments(table, n_bases)
        return found | {"swept": np.array(0, dtype=np.int64), **self._counts(n_bases)}

    def _sums(self, n_bases: int) -> dict[str, Any]:
        """Return the sums of the rows of all models."""
        states = [model.table.state() for model in self.models]
        columns = [
            np.concatenate([[0], own[: columns_of(state) - 1] + 1]).astype(np.intp)
            for own, state in zip(self.columns, states, strict=True)
        ]
        missing = np.zeros(max(int(own.max()) for own in columns) + 1, dtype=bool)
        for own, model in zip(columns, self.models, strict=True):
            kinds = missing_columns(model.shared.learner)
            if kinds is not None:
                missing[own[1:]] |= kinds[: len(own) - 1].astype(bool)
        return merged_sums(states, columns, self._places(), len(self.keys), n_bases, missing)

    def _moments(self, table: EntityTable, n_bases: int) -> dict[str, Any]:
        """Return the weights of the merged entities."""
        weights = [
            self._aligned(model.table, own, class_numbers(model.shared, self.classes))
            for model, own in zip(self.models, self.columns, strict=True)
        ]
        number = np.unique(np.concatenate([one.number for one in weights]))
        shape = len(number), table.outputs, len(table.priors)
        least = 1.0 / np.array(table.priors)
        precision_0, product_0 = np.broadcast_to(least, shape).copy(), np.zeros(shape)
        for one in weights[:n_bases]:
            at = np.searchsorted(number, one.number)
            precision_0[at], product_0[at] = one.precision, one.product
        precision, product = precision_0.copy(), product_0.copy()
        for one in weights[n_bases:]:
            at = np.searchsorted(number, one.number)
            precision[at] += one.precision - precision_0[at]
            product[at] += one.product - product_0[at]
        precision = np.maximum(precision, least)
        cells = np.stack([product / precision, 1.0 / precision], axis=-1).astype(np.float32)
        return {
            "size": np.bincount(number // self.n_features, minlength=len(self.keys)).astype(np.int32),
            "features": (number % self.n_features).astype(np.int32),
            "cells": cells.ravel(),
        }

    def _counts(self, n_bases: int) -> dict[str, Any]:
        """Return the rows of each entity, when it was last seen, and what is known about the prior variances."""
        rows, last = np.zeros(len(self.keys), np.int64), np.full(len(self.keys), -1, np.int64)
        states = [self._kept(model.table).state() for model in self.models]
        places = self._places()
        newest = self.rows(n_bases) - 1
        for model, state, at in zip(self.models, states, places, strict=True):
            last[at] = np.maximum(last[at], newest - (model.rows - 1 - state["last"]))
        for state, at in zip(states[:n_bases], places[:n_bases], strict=True):
            rows[at] = state["rows"]
        before = rows.copy()
        for state, at in zip(states[n_bases:], places[n_bases:], strict=True):
            rows[at] += state["rows"] - before[at]
        names = ("losses",) if self.exact else SUMS
        found = {name: self._sum(name, states, n_bases) for name in names}
        if not self.exact:
            found["noise"] = np.maximum(found["noise"], 0.0)
        return {"rows": rows, "last": np.maximum(last, 0), **found}

    def _places(self) -> list[NDArray[np.intp]]:
        """Return the numbers of the entities of each model in the merged one."""
        return [np.array([self.keys[key] for key in model.table.keys], dtype=np.intp) for model in self.models]

    def _kept(self, table: EntityTable) -> EntityTable:
        """Return a table as it is merged: with moments, unless all have exact posteriors."""
        if self.exact or not table.exact:
            return table
        found = table.copied()
        found.lose_exactness()
        return found

    def _sum(self, name: str, states: Sequence[dict[str, Any]], n_bases: int) -> Floats:
        """Return what all models have added to a sum of their base, of which decay has left a part in each."""
        if not n_bases:
            return np.sum([state[name] for state in states], axis=0)
        start, left = states[0][name], 1.0
        added = np.zeros_like(start)
        for model, state in zip(self.models[1:], states[1:], strict=True):
            own = DECAY ** (model.rows - self.models[0].rows) if name in DECAYING else 1.0
            added += state[name] - own * start
            left *= own
        return left * start + added

    def _aligned(self, table: EntityTable, columns: NDArray[np.intp], classes: NDArray[np.intp]) -> _Weights:
        """Return the weights of a model's entities in the numbers of the merged model."""
        table = self._kept(table)
        if self.outputs > 1:
            table = table.copied()
            table.grow(max(len(classes), 2))
        state = table.state()
        shape = -1, table.outputs, len(table.priors), 2
        cells = state["cells"].reshape(shape).astype(np.float64)
        if self.outputs > 1:  # classes that the model does not know are at the prior
            wide = np.zeros((len(cells), self.outputs, len(table.priors), 2))
            wide[..., 1] = table.priors
            wide[:, classes[: table.outputs]] = cells[:, : len(classes)]
            cells = wide
        elif not table.regression and classes[:1] == [1]:  # the other class than in the merged model
            cells[..., 0] *= -1.0
        keys = np.array([self.keys[key] for key in table.keys], dtype=np.int64)
        features = np.concatenate([[0], np.asarray(columns, dtype=np.int64) + 1])
        number = np.repeat(keys, state["size"]) * self.n_features + features[state["features"]]
        order = np.argsort(number, kind="stable")
        precision = 1.0 / cells[order, ..., 1]
        return _Weights(number[order], precision, precision * cells[order, ..., 0])


def _check_settings(models: Sequence[EntityModels]) -> None:
    first = models[0]
    for model in models[1:]:
        for name, one, other in (
            ("entity_variance", first._table.priors, model._table.priors),
            ("key", first.key, model.key),
            ("shared", type(first.shared_).__name__, type(model.shared_).__name__),
        ):
            if one != other:
                raise MergeError(f"the models have {name} {one!r} and {other!r}; merge models with equal settings")


def check_view(shared: Model) -> None:
    """Raise ``MergeError`` if the view of a shared model makes columns of its own."""
    learner = shared.learner
    if learner.view is not None and learner.view.n_columns(learner.state, learner.n_features) != learner.n_features:
        raise MergeError("entities cannot be merged with a view that makes columns of its own; use another view")
