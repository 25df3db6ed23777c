"""Several models compared: which of their classes and features are the same, and which settings differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ..covariances.settings import Settings
from ..data.classes import ClassTable
from ..data.features import Features, Strings
from ..data.reading import ReaderOptions
from .model import Model

# All but the rule, which is compared with its parameters, the task, which grows with the classes, and the speed.
COMPARED = [field.name for field in fields(Settings) if field.name not in ("rule", "task", "rows_per_product")]
NOT_OF_FEATURES = ("label", "weight", "closed")  # options of a model's source that do not change what features mean


def differences(one: Model, other: Model) -> Iterator[tuple[str, str, str]]:
    """Yield what differs between two models that must be the same to merge them: its name and both values."""
    left, right = _form(one), _form(other)
    if left["rule"] != right["rule"]:  # whose parameters cannot be compared then
        yield "rule", left["rule"], right["rule"]
        return
    for name in dict.fromkeys([*left, *right]):
        a, b = left.get(name), right.get(name)
        if a != b:
            yield name, _text(a), _text(b)


def _form(model: Model) -> dict[str, Any]:
    settings, estimator = model.learner.settings, model.estimator
    multilabel = settings.task == "multilabel"
    features = "numbered" if model.features is None else "hashed" if model.features.bounded else "named"
    return {
        "rule": settings.rule.name,
        **settings.rule.get_params(),
        **{name: getattr(settings, name) for name in COMPARED},
        "labels": "sets" if multilabel else "one per row",
        **(
            {}
            if multilabel
            else {"multiclass": estimator.get("multiclass", "joint") if settings.task == "binary" else settings.task}
        ),
        "calibration": estimator.get("calibration", "progressive"),
        "rows from": "files" if model.source else "arrays",
        **{name: value for name, value in _reading(model).items() if name not in NOT_OF_FEATURES},
        "features": features,
    }


def _reading(model: Model) -> dict[str, Any]:
    """How rows are read, including options that older files lack."""
    if not model.source:
        return {}
    return ReaderOptions.from_dict(model.source).as_dict()


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else "none" if value in (None, []) else str(value)


# --- classes -------------------------------------------------------------------------------------------------------


def all_classes(models: Sequence[Model]) -> ClassTable:
    """The classes of all models, numbered as if they had appeared in one stream, the first model's first."""
    table = ClassTable(models[0].classes, models[0].learner.settings.task == "multilabel")
    for model in models[1:]:
        for name in model.classes:
            if name is not None:
                table.number(name)
    return table


def class_numbers(model: Model, table: ClassTable) -> np.ndarray:
    """The number among all classes of each of a model's; a class that has not appeared gets the first free one."""
    names = [*model.classes, *[None] * (model.learner.n_classes - len(model.classes))]
    numbers = [None if name is None else table.get(name) for name in names]
    free = (k for k in range(len(table)) if k not in numbers)
    return np.array([next(free) if number is None else number for number in numbers], dtype=np.intp)


def appeared(model: Model, table: ClassTable) -> np.ndarray:
    """The numbers among all classes of those of a model that have appeared."""
    return np.array([table.get(name) for name in model.classes if name is not None], dtype=np.intp)


# --- features ------------------------------------------------------------------------------------------------------


def all_features(models: Sequence[Model]) -> tuple[list[np.ndarray], Features | None]:
    """The column among all features of each of every model's, and the names of all; None if they only have numbers."""
    tables = [model.features for model in models if model.features is not None]
    if not tables:
        return [np.arange(model.learner.n_features) for model in models], None
    return aligned(tables)


def aligned(tables: Sequence[Features]) -> tuple[list[np.ndarray], Features]:
    """The column among all features of each of every table's, and all of them.

    Features are the same if their names are; hashed ones, if their hashes are.
    """
    if tables[0].bounded:
        columns, n = _columns_of_keys([features.key for features in tables])
    else:
        known: dict[bytes, int] = {}
        identities = [features.names.encoded() for features in tables]
        columns = [np.array([known.setdefault(one, len(known)) for one in own], dtype=np.intp) for own in identities]
        n = len(known)
    return columns, _joined(tables, columns, n, tables[0].bounded)


def _columns_of_keys(keys: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """The number of every key in order of appearance, and how many there are."""
    different, first, which = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    number = np.empty(len(different), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(different))
    return np.split(number[which], np.cumsum([len(own) for own in keys[:-1]])), len(different)


def _joined(tables: Sequence[Features], columns: Sequence[np.ndarray], n: int, bounded: bool) -> Features:
    key = np.empty(n, dtype=np.uint32)
    for features, column in zip(tables, columns, strict=True):
        key[column] = features.key
    named = np.concatenate([column[features.column] for features, column in zip(tables, columns, strict=True)])
    found, first = np.unique(named, return_index=True)  # of several names of a hash, the first
    strings = Strings.joined([features.names for features in tables]).take(first)
    return Features(key, found.astype(np.int32), strings, bounded)
