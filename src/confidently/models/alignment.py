"""Matching several models: which classes and features they have in common, and which settings differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ..covariances.settings import Settings
from ..covariances.table import of_classes, saved_multiclass
from ..data.classes import ClassTable
from ..data.features import Features, Strings
from ..data.reading import ReaderOptions
from ..tasks.task import Task
from ..wording import MAX_LISTED, listed
from .model import Model

# All settings but the rule (compared with its parameters), the task (it changes with the classes) and the block size.
COMPARED = [field.name for field in fields(Settings) if field.name not in ("rule", "task", "rows_per_product")]
# Options of a model's source that do not affect its features.
NOT_OF_FEATURES = ("label", "weight", "closed", "numbers", "header")


def differences(one: Model, other: Model) -> Iterator[tuple[str, str, str]]:
    """Yield the name and both values of each setting that differs and must be equal for merging."""
    left, right = _form(one), _form(other)
    for name in ("rule", "view"):  # the parameters of different ones cannot be compared
        if left[name] != right[name]:
            yield name, left[name], right[name]
            return
    if _of_classes(one) == _of_classes(other):
        right |= {name: left[name] for name in ("covariance", "multiclass") if name in left}
    for name in dict.fromkeys([*left, *right]):
        a, b = left.get(name), right.get(name)
        if isinstance(a, list) and isinstance(b, list) and a != b and len(a) + len(b) > MAX_LISTED:
            a, b = ([one for one in mine if one not in other] or mine for mine, other in ((a, b), (b, a)))
        if a != b:
            yield name, _text(a), _text(b)


def _form(model: Model) -> dict[str, Any]:
    settings = model.learner.settings
    several = settings.task.multiclass
    if settings.task.binary:
        several = saved_multiclass(settings.rule, settings.covariance, model.multiclass)
    classes = {"multiclass": several or "default"}
    features = "numbered" if model.features is None else "hashed" if model.features.bounded else "named"
    return {
        "rule": settings.rule.name,
        **settings.rule.get_params(),
        **{name: getattr(settings, name) for name in COMPARED},
        **_view(model),
        "labels": "any number per row" if settings.task.multilabel else "one per row",
        **({"task": settings.task.name, "targets": model.learner.n_classes} if settings.task.regression else classes),
        "calibration": model.calibration,
        "rows from": "files" if model.source else "arrays",
        **{name: value for name, value in _reading(model).items() if name not in NOT_OF_FEATURES},
        "features": features,
    }


def _of_classes(model: Model) -> tuple[str, Task]:
    """Return the covariance and the task that a model has, or with two classes gets with a third.

    Those of two classes do not matter: covariances that become the same one are the same until then.
    """
    settings = model.learner.settings
    if settings.task.binary:
        return of_classes(settings.rule, settings.covariance, model.multiclass)
    return settings.covariance, settings.task


def _view(model: Model) -> dict[str, Any]:
    """Return the names of a model's views, one after the other, and their parameters."""
    parts = [] if model.learner.view is None else model.learner.view.header()
    parameters = {
        f"view__{part['name']}__{name}": value for part in parts for name, value in part["parameters"].items()
    }
    return {"view": ",".join(part["name"] for part in parts) or "none", **parameters}


def _reading(model: Model) -> dict[str, Any]:
    """Return how rows are read, including options that older files lack."""
    if not model.source:
        return {}
    return ReaderOptions.from_dict(model.source).as_dict()


def _text(value: Any) -> str:
    if isinstance(value, list) and len(value) > MAX_LISTED:
        return listed(value)
    return f"{value:g}" if isinstance(value, float) else "none" if value in (None, []) else str(value)


# --- classes -------------------------------------------------------------------------------------------------------


def all_classes(models: Sequence[Model]) -> ClassTable:
    """Return the classes of all models, numbered as in one stream, the first model's first."""
    table = ClassTable(models[0].classes, not models[0].learner.task.one_class)
    for model in models[1:]:
        for name in model.classes:
            if name is not None:
                table.number(name)
    return table


def class_numbers(model: Model, table: ClassTable) -> np.ndarray:
    """Return the number in ``table`` of each class of a model; an unseen class gets the first free number."""
    names = [*model.classes, *[None] * (model.learner.n_classes - len(model.classes))]
    numbers = [None if name is None else table.get(name) for name in names]
    free = (k for k in range(len(table)) if k not in numbers)
    return np.array([next(free) if number is None else number for number in numbers], dtype=np.intp)


def seen_classes(model: Model, table: ClassTable) -> np.ndarray:
    """Return the numbers in ``table`` of the classes that a model has seen."""
    return np.array([table.get(name) for name in model.classes if name is not None], dtype=np.intp)


# --- features ------------------------------------------------------------------------------------------------------


def all_features(models: Sequence[Model]) -> tuple[list[np.ndarray], Features | None]:
    """Return each model's columns in the merged features, and these with their names (None without names)."""
    tables = [model.features for model in models if model.features is not None]
    if not tables:
        return [np.arange(model.learner.n_features) for model in models], None
    return aligned(tables)


def aligned(tables: Sequence[Features]) -> tuple[list[np.ndarray], Features]:
    """Return each table's columns in the merged features, and the merged features.

    Features are the same if their names and hashes are equal; hashed features, if their hashes are equal. The hash
    tells ``b`` in the namespace ``a`` from ``a^b`` outside any.
    """
    if tables[0].bounded:
        columns, n = _columns_of_keys([features.key for features in tables])
    else:
        column_of: dict[tuple[int, bytes], int] = {}
        columns = [
            np.array([column_of.setdefault(feature, len(column_of)) for feature in own], dtype=np.intp)
            for own in (zip(features.key.tolist(), features.names.encoded(), strict=True) for features in tables)
        ]
        n = len(column_of)
    return columns, _joined(tables, columns, n, tables[0].bounded)


def _columns_of_keys(keys: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Return the number of every key in order of appearance, and the count of distinct keys."""
    distinct, first, inverse = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    number = np.empty(len(distinct), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(distinct))
    return np.split(number[inverse], np.cumsum([len(own) for own in keys[:-1]])), len(distinct)


def _joined(tables: Sequence[Features], columns: Sequence[np.ndarray], n: int, bounded: bool) -> Features:
    key = np.empty(n, dtype=np.uint32)
    for features, column in zip(tables, columns, strict=True):
        key[column] = features.key
    named = np.concatenate([column[features.column] for features, column in zip(tables, columns, strict=True)])
    found, first = np.unique(named, return_index=True)  # of several names with one hash, the first
    strings = Strings.joined([features.names for features in tables]).take(first)
    return Features(key, found.astype(np.int32), strings, bounded)
