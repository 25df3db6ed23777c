"""Changes: what a model has learned since its base, small enough to send, as the model on the changed features."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..data.features import Features
from ..learner.learner import Learner
from ..learner.streams import prune_names
from ..models.alignment import aligned
from ..models.model import Model
from ..models.stack_merging import merge_all_in_round
from ..stack.members import Members, parts_of


@dataclass
class Change:
    """A model on some of its features; on all others it equals its base.

    Attributes
    ----------
    model : Model
        Without the names of features.
    columns : int32 array
        Columns in the base of the model's first features, ascending. Its other features have new names. Numbered
        features are never new, unless the model has a view: in a base with fewer features they are at the prior.
    new : Features, optional
        The new ones, where features have names.
    n_features : int
        Number of features of the base and new ones together.
    whole : bool
        Whether all features count as changed, as those of a stack always do.
    """

    model: Model
    columns: np.ndarray
    new: Features | None
    n_features: int
    whole: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, which are nearly all that is sent."""
        new = {} if self.new is None else self.new.arrays()
        return self.columns.nbytes + model_bytes(self.model) + sum(array.nbytes for array in new.values())


def model_bytes(model: Model) -> int:
    """Return the bytes of a model's arrays."""
    features = {} if model.features is None else model.features.arrays()
    arrays = list(features.values())
    for part in parts_of(model.learner):
        arrays += (part.state | ({"weights": part.weights} if isinstance(part, Learner) else {})).values()
    return sum(array.nbytes for array in arrays)


def change_of(base: Model, model: Model) -> Change:
    """Return what a model that continued from the base has changed."""
    learner = model.learner
    before = _reaching(base, learner.n_features).learner
    known = before.n_features
    if whole := isinstance(learner, Members) or _may_differ_anywhere(before, learner):
        columns = np.arange(known, dtype=np.int32)
    else:
        first = learner.settings.fit_intercept
        columns = _rows_that_differ(before.weights[first:], learner.weights[first : first + known]).astype(np.int32)
    there = np.append(columns, np.arange(known, learner.n_features, dtype=np.int32))
    new = None if model.features is None else model.features.since(known)
    return Change(_restricted(model, there), columns, new, learner.n_features, whole)


def merge_changes(base: Model, changes: Sequence[Change]) -> Change:
    """Merge what all models have learned since the base: the base times their quotients by the base."""
    base = _reaching(base, 1 + max(int(change.columns.max(initial=-1)) for change in changes))
    changed = np.zeros(base.learner.n_features, dtype=bool)
    for change in changes:
        changed[change.columns] = True
    union, position = np.flatnonzero(changed).astype(np.int32), np.cumsum(changed) - 1
    common = _restricted(base, union)
    models = [_extended(change, common, position[change.columns]) for change in changes]
    known, new = np.arange(len(union)), None
    columns = [np.arange(model.learner.n_features) for model in models]
    if tables := [change.new for change in changes if change.new is not None]:
        among_new, new = aligned(tables)
        columns = [np.append(known, len(union) + among) for among in among_new]
    merged = merge_all_in_round(common, models, columns)
    n = max(change.n_features for change in changes) if new is None else base.learner.n_features + len(new)
    return Change(merged, union, new, n, any(change.whole for change in changes))


def advanced(base: Model, change: Change) -> Model:
    """Return the base with a change applied."""
    known = len(change.columns)
    base = _reaching(base, change.n_features)
    learner = copy(change.model.learner)
    learner.state = dict(learner.state)
    if known < base.learner.n_features:
        learner.state["weights"] = _put(base.learner, learner, change.columns)
    learner.n_features = base.learner.n_features + change.model.learner.n_features - known
    if isinstance(learner, Members):
        learner.dropped = base.learner.dropped  # which its parts, that drop nothing, do not know
    features = None
    if base.features is not None:
        assert change.new is not None  # of one form
        features = base.features.followed_by(change.new)
        prune_names(learner, features)
    return replace(change.model, learner=learner, features=features)


def _reaching(model: Model, n_features: int) -> Model:
    """Grow a model to a number of features; a model whose features have names or a view, or a stack, is unchanged.

    Merging gives the features that it lacks to a model with a view, which knows what they were in its rows.
    """
    seen = isinstance(model.learner, Members) or model.learner.view is not None
    if model.features is not None or seen or model.learner.n_features >= n_features:
        return model
    learner = copy(model.learner)
    learner.state = dict(learner.state)
    learner.grow(n_features=n_features)
    return replace(model, learner=learner)


def _may_differ_anywhere(base: Learner, model: Learner) -> bool:
    """Return whether a feature may have changed without its row of weights, or all have changed."""
    if model.view is not None:  # its statistics
        return True
    settings = model.settings
    same_form = base.settings.task == settings.task and base.weights.shape[1:] == model.weights.shape[1:]
    rescaled = np.append(base.state["folded"], model.state["folded"]) != 1.0
    return model.covariance.couples_features or settings.average or not same_form or bool(rescaled.any())


def _put(base: Learner, change: Learner, columns: np.ndarray) -> np.ndarray:
    """Return the base's weights with these columns, the intercept and new features from the change."""
    first, known = int(base.settings.fit_intercept), len(columns)
    weights = np.concatenate([base.weights, change.weights[first + known :]])
    weights[:first] = change.weights[:first]
    _as_rows(weights)[first + columns] = _as_rows(change.weights)[first : first + known]
    return weights


def _rows_that_differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rows that differ, ascending; many times as fast as comparing row by row."""
    rows = np.flatnonzero(a.ravel() != b.ravel()) // prod(a.shape[1:])
    first = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
    return rows[first]


def _as_rows(weights: np.ndarray) -> np.ndarray:
    """View each feature's bytes as one item, which can be assigned many times as fast as rows of numbers."""
    size = prod(weights.shape[1:])
    flat = np.ascontiguousarray(weights).reshape(len(weights), size)
    return flat.view(np.dtype((np.void, weights.itemsize * size))).reshape(len(weights))


def _restricted(model: Model, columns: np.ndarray) -> Model:
    """Return a model on some of its features, without their names."""
    learner = copy(model.learner)
    if not isinstance(learner, Members):
        learner.state, learner.n_features = dict(learner.state), len(columns)
        learner.state["weights"] = model.learner.weights
        if len(columns) < model.learner.n_features:
            first = int(learner.settings.fit_intercept)
            learner.state["weights"] = model.learner.weights.take(np.append(np.arange(first), columns + first), axis=0)
    return replace(model, learner=learner, features=None, training={})


def _extended(change: Change, common: Model, columns: np.ndarray) -> Model:
    """Return a change as a model on all features changed by any model, its own in these columns, and its new ones."""
    missing = common.learner.n_features - len(columns)
    learner = copy(change.model.learner)
    learner.state = dict(learner.state)
    if missing and change.whole:  # numbered features beyond its own
        learner.grow(n_features=common.learner.n_features)
    elif missing:
        learner.state["weights"] = _put(common.learner, learner, columns)
        learner.n_features += missing
    return replace(change.model, learner=learner)
