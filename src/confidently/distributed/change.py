"""What a model has learned since its base, small enough to be sent: itself on the features that changed."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from ..features import Features, Strings
from ..learner import Learner
from ..merged_learner import ROUNDS
from ..merging import forget_names, merge_models
from ..model_file import Model


@dataclass
class Change:
    """A model on some of its features: on all others it is as its base.

    Attributes
    ----------
    model : Model
    columns : int array
        Where the model's first features stand in the base, ascending; what follows has a name that is new. Features
        that are numbers are not new, but at the prior in a base that does not reach so far.
    n_features : int
        Of the base and the new ones together.
    whole : bool
        Whether all features there are count as changed.
    """

    model: Model
    columns: np.ndarray
    n_features: int
    whole: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, which are nearly all that is sent."""
        return self.columns.nbytes + model_bytes(self.model)


def model_bytes(model: Model) -> int:
    """Bytes of a model's arrays."""
    features = {} if model.features is None else model.features.arrays()
    state = {**model.learner.state, "weights": model.learner.weights}
    return sum(array.nbytes for array in [*state.values(), *features.values()])


def change_of(base: Model, model: Model) -> Change:
    """What a model that went on from the base has changed."""
    learner = model.learner
    before = _reaching(base, learner.n_features).learner
    known = before.n_features
    if whole := _may_differ_anywhere(before, learner):
        columns = np.arange(known)
    else:
        first = learner.settings.fit_intercept
        differs = before.weights[first:] != learner.weights[first : first + known]
        columns = np.flatnonzero(differs.any(axis=(1, 2)))
    there = np.append(columns, np.arange(known, learner.n_features))
    return Change(_restricted(model, there, known), columns, learner.n_features, whole)


def merge_changes(base: Model, changes: Sequence[Change]) -> Change:
    """What all of them have learned since the base, together: base times the quotients by the base."""
    union = np.unique(np.concatenate([change.columns for change in changes]))
    base = _reaching(base, int(union.max(initial=-1)) + 1)
    common = _restricted(base, union, base.learner.n_features)
    parts = [_extended(change, common, union) for change in changes]
    merged = merge_models(parts, [f"part {k}" for k in range(1, len(parts) + 1)], common, "their base", ROUNDS)
    n = base.learner.n_features + merged.learner.n_features - len(union)
    if base.features is None:
        n = max(change.n_features for change in changes)
    return Change(merged, union, n, any(change.whole for change in changes))


def advanced(base: Model, change: Change) -> Model:
    """The base with what was learned since."""
    known, features = len(change.columns), None
    base = _reaching(base, change.n_features)
    learner = copy(change.model.learner)
    learner.state = dict(learner.state)
    if known < base.learner.n_features:
        learner.state["weights"] = _put(base.learner, learner, change.columns)
    learner.n_features = base.learner.n_features + change.model.learner.n_features - known
    if base.features is not None:
        assert change.model.features is not None  # of one form
        features = _with_new(base.features, base.learner.n_features, change.model.features, known)
        forget_names(learner, features)
    return replace(change.model, learner=learner, features=features)


def _reaching(model: Model, n_features: int) -> Model:
    """A model whose numbered features go so far; where they have names, as it is."""
    if model.features is not None or model.learner.n_features >= n_features:
        return model
    learner = copy(model.learner)
    learner.state = dict(learner.state)
    learner.grow(n_features=n_features)
    return replace(model, learner=learner)


def _may_differ_anywhere(base: Learner, model: Learner) -> bool:
    """Whether a feature may have changed although its row of weights has not, or all have."""
    settings = model.settings
    same_form = base.settings.task == settings.task and base.weights.shape[1:] == model.weights.shape[1:]
    stretched = np.append(base.state["folded"], model.state["folded"]) != 1.0
    return settings.dense or settings.average or not same_form or bool(stretched.any())


def _put(base: Learner, change: Learner, columns: np.ndarray) -> np.ndarray:
    """The base's weights, where these columns, the intercept and new ones are those of the change."""
    first, known = int(base.settings.fit_intercept), len(columns)
    weights = np.concatenate([base.weights, change.weights[first + known :]])
    weights[:first] = change.weights[:first]
    weights[first + columns] = change.weights[first : first + known]
    return weights


def _restricted(model: Model, columns: np.ndarray, new_from: int) -> Model:
    """A model on some of its features; of hashed ones names are kept from the column ``new_from`` on."""
    learner = copy(model.learner)
    learner.state, learner.n_features = dict(learner.state), len(columns)
    learner.state["weights"] = model.learner.weights
    if len(columns) < model.learner.n_features:
        first = int(learner.settings.fit_intercept)
        learner.state["weights"] = model.learner.weights[np.append(np.arange(first), columns + first)]
    features = model.features
    if features is not None:
        place = np.searchsorted(features.column, new_from) if features.bounded else 0
        kept = features.column[place:]
        kept = np.flatnonzero(np.isin(kept, columns)) + place
        where = np.searchsorted(columns, features.column[kept]).astype(np.int32)
        features = Features(features.key[columns], where, features.names.chosen(kept), features.bounded)
    return replace(model, learner=learner, features=features, training={})


def _extended(change: Change, common: Model, union: np.ndarray) -> Model:
    """A change as a model on all features that have changed in any, and its new ones."""
    known, features = len(change.columns), None
    learner = copy(change.model.learner)
    learner.state = dict(learner.state)
    if known < len(union) and change.whole:  # numbers beyond those it knows
        learner.grow(n_features=len(union))
    elif known < len(union):
        learner.state["weights"] = _put(common.learner, learner, np.searchsorted(union, change.columns))
        learner.n_features += len(union) - known
    if common.features is not None:
        assert change.model.features is not None  # of one form
        features = _with_new(common.features, len(union), change.model.features, known)
    return replace(change.model, learner=learner, features=features)


def _with_new(features: Features, n: int, others: Features, known: int) -> Features:
    """The first ``n`` features, and others from number ``known`` on."""
    place = int(np.searchsorted(others.column, known))
    columns = (others.column[place:] - known + n).astype(np.int32)
    names = Strings.joined([features.names, others.names.part(place, len(others.names))])
    key = np.concatenate([features.key[:n], others.key[known:]])
    return Features(key, np.concatenate([features.column, columns]), names, features.bounded)
