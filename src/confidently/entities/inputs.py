"""What users give to models of entities, checked: rows with labels, and prior variances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array, column_or_1d

from ..data.memory.frames import is_frame, of_frame
from ..data.memory.labels import check_labels, distinct, example_weights, is_multilabel
from ..data.memory.lines import are_dicts, are_texts, of_dicts, of_texts
from ..data.memory.matrix import as_matrix
from ..data.schema import Schema
from ..data.sources.in_memory import InMemory
from ..estimators.rows import LabelledRows, separated
from ..rules.rule import Rule

MIN_VARIANCE, MAX_VARIANCE = 1e-9, 1e9  # of the prior
MULTILABEL = "rows have several labels; EntityModels needs one class per row"


def checked_variances(given: Any) -> tuple[float, ...]:
    """Return the prior variances, ascending."""
    numbers = [given] if isinstance(given, Real) else list(given) if isinstance(given, Iterable) else []
    valid = [
        not isinstance(one, bool) and isinstance(one, Real) and MIN_VARIANCE <= float(one) <= MAX_VARIANCE
        for one in numbers
    ]
    if not valid or isinstance(given, str) or not all(valid) or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"entity_variance must be a number from {MIN_VARIANCE:g} to {MAX_VARIANCE:g}, or several, got {given!r}"
        )
    return tuple(sorted(float(one) for one in numbers))


def check_rule(rule: Rule) -> None:
    """Raise ``ValueError`` for a rule of the shared model around which there can be no entities."""
    if rule.counts or rule.name == "quantile":
        raise ValueError(f"shared: entities deviate from an expectation, which {rule.name!r} has not; use 'ridge'")


def in_memory(X: Any, y: Any = None) -> Any:
    """Return rows that are read as those of a file are, with their labels if there are any; ``None``: an array."""
    if isinstance(y, str):
        if not (is_frame(X) or are_dicts(X)):
            raise ValueError(f"y={y!r} is the name of a column, and X has no names; pass a data frame, or an array y")
        found = separated(X, y)
        return LabelledRows(*found, y)
    kind = of_frame if is_frame(X) else of_dicts if are_dicts(X) else of_texts if are_texts(X) else None
    if kind is None:
        return None
    rows: InMemory = kind(X)
    return rows if y is None else LabelledRows(rows, y, None)


def without_key_in_schema(reading: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return how rows are read, of which a schema does not have the column of keys."""
    if (schema := reading.get("schema")) is None:
        return reading
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    columns = tuple(column for column in schema.columns if column.name != key)
    return {**reading, "schema": replace(schema, columns=columns)}


def checked(X: Any, y: Any, weight: Any, classes: Any, partial: bool, shared: Any) -> tuple[Any, Any, Any, Any]:
    """Return an array, its labels or targets, weights, and all classes."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False)
    as_matrix(X, shared.dtype)
    if shared.predicts_numbers:
        y = column_or_1d(np.asarray(y), warn=True)
    else:
        check_labels(y)
        if is_multilabel(y):
            raise ValueError(MULTILABEL)
        y = column_or_1d(np.asarray(y), warn=True)
        classes = distinct(y) if classes is None else classes
    if len(y) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]:,} rows, y has {len(y):,}; they must have as many")
    if weight is not None:
        weight = example_weights(weight, X.shape[0], partial)
    return X, y, weight, classes
