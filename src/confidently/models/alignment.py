"""Several models side by side: which of their classes and features are the same, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..data.classes import ClassTable
from ..data.features import Features, Strings
from .model import Model

FORM = ("covariance", "prior_variance", "fit_intercept", "average", "min_variance", "dtype", "forget")
NOT_OF_FEATURES = ("label", "weight", "closed")  # in a model's source: they say nothing of what features mean


def differences(one: Model, other: Model) -> Iterator[tuple[str, str, str]]:
    """What must be the same in models to be merged, and is not: its name and both values."""
    left, right = _form(one), _form(other)
    if left["rule"] != right["rule"]:  # whose parameters cannot be compared then
        yield "rule", left["rule"], right["rule"]
        return
    for name in dict.fromkeys([*left, *right]):
        a, b = left.get(name), right.get(name)
        if a != b:
            yield name, _told(a), _told(b)


def _form(model: Model) -> dict[str, Any]:
    settings, estimator = model.learner.settings, model.estimator
    sets = settings.task == "multilabel"
    features = "numbered" if model.features is None else "hashed" if model.features.bounded else "named"
    return {
        "rule": settings.rule.name,
        **settings.rule.get_params(),
        **{name: getattr(settings, name) for name in FORM},
        "labels": "sets" if sets else "one a row",
        **(
            {}
            if sets
            else {"multiclass": estimator.get("multiclass", "joint") if settings.task == "binary" else settings.task}
        ),
        "calibration": estimator.get("calibration", "progressive"),
        "rows from": "files" if model.source else "arrays",
        **{name: value for name, value in _reading(model).items() if name not in NOT_OF_FEATURES},
        "features": features,
    }


def _reading(model: Model) -> dict[str, Any]:
    """How rows are read, options that older files do not name included."""
    if not model.source:
        return {}
    from ..data import ReaderOptions

    return ReaderOptions.from_dict(model.source).as_dict()


def _told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "none" if value in (None, []) else str(value)


# --- classes -------------------------------------------------------------------------------------------------------


def all_classes(models: Sequence[Model]) -> ClassTable:
    """The classes of all models, the first one's first, each numbered as if they had appeared in one stream."""
    table = ClassTable(models[0].classes, models[0].learner.settings.task == "multilabel")
    for model in models[1:]:
        for name in model.classes:
            if name is not None:
                table.number(name)
    return table


def class_places(model: Model, table: ClassTable) -> np.ndarray:
    """The number among all of each class of a model; of one that has not appeared yet, the first that is left."""
    names = [*model.classes, *[None] * (model.learner.n_classes - len(model.classes))]
    places = [None if name is None else table.get(name) for name in names]
    left = (k for k in range(len(table)) if k not in places)
    return np.array([next(left) if place is None else place for place in places], dtype=np.intp)


def appeared(model: Model, table: ClassTable) -> np.ndarray:
    """The numbers among all of the classes that have a name by now."""
    return np.array([table.get(name) for name in model.classes if name is not None], dtype=np.intp)


# --- features ------------------------------------------------------------------------------------------------------


def all_features(models: Sequence[Model]) -> tuple[list[np.ndarray], Features | None]:
    """The column among all of every feature of each model, and the names of all; None where they have numbers only."""
    tables = [model.features for model in models if model.features is not None]
    if not tables:
        return [np.arange(model.learner.n_features) for model in models], None
    return aligned(tables)


def aligned(tables: Sequence[Features]) -> tuple[list[np.ndarray], Features]:
    """The number among all of every feature of each table, and all of them.

    Features are the same whose names are, or of hashed ones whose hashes are.
    """
    if tables[0].bounded:
        places, n = _places_of_keys([features.key for features in tables])
    else:
        known: dict[bytes, int] = {}
        identities = [features.names.encoded() for features in tables]
        places = [np.array([known.setdefault(one, len(known)) for one in own], dtype=np.intp) for own in identities]
        n = len(known)
    return places, _joined(tables, places, n, tables[0].bounded)


def _places_of_keys(keys: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """The number of every key by its first appearance, and how many there are."""
    different, first, which = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    number = np.empty(len(different), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(different))
    return np.split(number[which], np.cumsum([len(own) for own in keys[:-1]])), len(different)


def _joined(tables: Sequence[Features], places: Sequence[np.ndarray], n: int, bounded: bool) -> Features:
    key = np.empty(n, dtype=np.uint32)
    for features, place in zip(tables, places, strict=True):
        key[place] = features.key
    named = np.concatenate([place[features.column] for features, place in zip(tables, places, strict=True)])
    columns, first = np.unique(named, return_index=True)  # of several names of a hash, the first
    strings = Strings.joined([features.names for features in tables]).chosen(first)
    return Features(key, columns.astype(np.int32), strings, bounded)
