"""Classes, labels and weights of scikit-learn's interface, checked and converted to numbers for the learner."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import type_of_target

from ... import _core
from ...exclusive import Exclusive
from ...rules.ranges import check_choice
from ...wording import counted

MISSING_TYPES = ("NoneType", "NAType", "NaTType")  # of values that stand for a missing one, the last two of pandas


def check_labels(y: Any) -> None:
    """Raise ``ValueError`` for labels that NumPy or scikit-learn would reject with messages of their own.

    These are missing labels, rows with a list of labels, and strings mixed with numbers.
    """
    if not (isinstance(y, Sequence) or getattr(getattr(y, "dtype", None), "kind", "") in ("O", "T")):
        return
    values = list(y)
    types = set(map(type, values))
    strings = any(issubclass(kind, str) for kind in types)
    if any(kind.__name__ in MISSING_TYPES for kind in types) or (strings and float in types):
        for row, value in enumerate(values):
            if type(value).__name__ in MISSING_TYPES or value != value:
                raise ValueError(f"y: row {row} has no label, got {value!r}; leave out the row or label it")
    if strings and any(issubclass(kind, numbers.Number) for kind in types):
        raise ValueError("y: labels mix strings and numbers; use one type for all")
    if any(issubclass(kind, (list, tuple, set, frozenset)) for kind in types) and _are_lists_of_labels(values):
        row = next(row for row, value in enumerate(values) if not isinstance(value, str))
        raise ValueError(
            f"y: expected one label per row, got {values[row]!r} in row {row}; for rows of any number of labels use "
            "sklearn.preprocessing.MultiLabelBinarizer, which makes an indicator matrix of them"
        )


def _are_lists_of_labels(values: list[Any]) -> bool:
    """Return whether collections are lists of labels, not rows of an indicator matrix."""
    rows = all(isinstance(value, (list, tuple)) for value in values)
    numeric = rows and all(isinstance(entry, numbers.Number) for value in values for entry in value)
    return not numeric or len({len(value) for value in values}) > 1


def is_multilabel(y: Any) -> bool:
    """Return whether y is an indicator matrix of labels rather than one class per row; otherwise ``ValueError``."""
    plain = getattr(y, "ndim", 0) == 1 and y.dtype.kind in "biuU"  # type_of_target is slow
    kind = "multiclass" if plain else type_of_target(y, input_name="y")
    if kind not in ("binary", "multiclass", "multilabel-indicator"):
        raise ValueError(
            f"Unknown label type: {kind}. y must have one class per row (numbers or strings), or be an "
            "indicator matrix of 0 and 1 with one column per label; sklearn.preprocessing.MultiLabelBinarizer makes "
            "one of lists of labels"
        )
    if kind != "multilabel-indicator":
        return False
    values = np.asarray(y.data if hasattr(y, "tocsr") else y)
    if wrong := values[(values != 0) & (values != 1)][:1].tolist():
        raise ValueError(f"an indicator matrix of labels must have values 0 and 1, got {wrong[0]!r}")
    return True


def known_labels(y: Any, before: np.ndarray | None) -> np.ndarray:
    """Return the labels of an indicator matrix, by column; their number must not change."""
    known = np.arange(y.shape[1]) if before is None else before
    if y.shape[1] != len(known):
        raise ValueError(
            f"y has {counted(y.shape[1], 'column')} of labels, the classifier knows {counted(len(known), 'label')}"
        )
    return known


def known_classes(y: np.ndarray, classes: Any, before: np.ndarray | None, partial: bool) -> np.ndarray:
    """Return all classes after rows with these, known ones first; ``before`` is ``None`` before the first rows.

    Without ``classes``, those of the rows are added.
    """
    seen = distinct(y)
    announced = seen if classes is None else np.unique(classes)
    known = announced if before is None else before
    if before is not None:
        if (announced.dtype.kind in "OUS") != (known.dtype.kind in "OUS"):
            raise ValueError(f"classes mix strings and numbers: {_listed(announced)} and {_listed(known)}")
        new = announced[~np.isin(announced, known)]
        known = np.concatenate([known, new]) if len(new) else known
    unknown = seen[~np.isin(seen, known)]
    if len(unknown):
        raise ValueError(
            f"y has classes that are not in classes=: {_listed(unknown)}; there are {_listed(known)}; pass all "
            "of them, or leave classes= out"
        )
    if len(known) < 2:
        remedy = "; pass those of later rows in partial_fit(..., classes=...)" if partial else ""
        raise ValueError(f"y must have at least 2 classes, got one class: {known.tolist()[0]!r}{remedy}")
    return known


def check_class_weight(given: dict[Any, float] | str | None, partial: bool) -> None:
    """Raise ``ValueError`` for an unknown string, or one that needs all labels when only some are there."""
    if not isinstance(given, str):
        return
    check_choice("class_weight", given, ("balanced",))
    if partial:
        raise ValueError(
            "class_weight='balanced' needs all labels at once: for partial_fit, pass a dict of weights, as "
            "sklearn.utils.class_weight.compute_class_weight('balanced', classes=..., y=...) returns"
        )


def plain_class_weight(given: dict[Any, float] | str | None) -> list[list[Any]] | str | None:
    """Return the class weights as JSON can hold them."""
    return [[plain(c), float(w)] for c, w in given.items()] if isinstance(given, dict) else given


def with_class_weight(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings from a file, with the class weights as they were before :func:`plain_class_weight`."""
    given = settings.get("class_weight")
    return settings | {"class_weight": dict(given)} if isinstance(given, list) else settings


def class_weights(
    given: dict[Any, float] | str | None, known: np.ndarray, y: Any, multilabel: bool
) -> np.ndarray | None:
    """Return one weight per class from scikit-learn's ``class_weight``."""
    if given is None:
        return None
    if multilabel:
        raise ValueError("class_weight is for one class per row, not for multilabel data")
    if isinstance(given, dict):
        weights = np.array([given.get(c, 1.0) for c in known.tolist()])
        if weights.dtype.kind not in "fiu":
            raise ValueError(f"class weights must be numbers, got {given!r}")
        weights = weights.astype(np.float64)
        unknown = [c for c in given if c not in known.tolist()]
        if unknown:
            raise ValueError(f"class_weight has unknown classes: {unknown}; known are {_listed(known)}")
    else:
        weights = compute_class_weight(given, classes=known, y=y)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(f"class weights must be finite and >= 0, got {given!r}")
    return weights


def distinct(y: np.ndarray) -> np.ndarray:
    """Return sorted distinct classes; integers in a small range are counted, which is much faster."""
    if y.dtype.kind in "iu" and len(y):
        low, high = int(y.min()), int(y.max())
        if high - low < len(y):
            return (np.flatnonzero(np.bincount((y - low).astype(np.intp))) + low).astype(y.dtype)
    return np.unique(y)


def distinct_numbers(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted distinct classes, and the position among them of every row's, as int32."""
    if y.dtype.kind in "iu" and y.dtype.itemsize <= 8 and y.dtype != np.uint64:
        found = _core.distinct_numbers(np.ascontiguousarray(y, dtype=np.int64))
        if found is not None:
            return found[0].astype(y.dtype, copy=False), found[1]
    classes = distinct(y)
    return classes, class_numbers(y, classes)


def class_numbers(y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the class numbers of known classes."""
    order = np.argsort(known).astype(np.int32)
    return order[np.searchsorted(known, y, sorter=order)]


def example_weights(sample_weight: Any, n: int, partial: bool) -> np.ndarray:
    """Return checked weights of rows. Only if ``partial`` may all of them be zero."""
    weight = np.asarray(sample_weight, dtype=np.float64)
    weight = np.full(n, weight) if weight.ndim == 0 else np.ascontiguousarray(weight)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have one number per row, shape ({n},), got shape {weight.shape}")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        row = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise ValueError(f"sample_weight must be finite and >= 0, got {weight[row]} in row {row}")
    if not partial and not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number; otherwise nothing is learned")
    return weight


def labels_of_rows(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of every row of an indicator matrix, and where those of each row start."""
    rows = csr_matrix(y)
    rows.eliminate_zeros()
    return rows.indices.astype(np.int32), rows.indptr.astype(np.int64)


def _listed(values: np.ndarray, most: int = 10) -> str:
    """Return the first values, for a message."""
    shown = ", ".join(repr(v) for v in values[:most].tolist())
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


def plain(value: Any) -> Any:
    """Return a class name as JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (bool, int, float, str)):
        raise TypeError(f"only classes that are numbers or strings can be saved, got {value!r}")
    return value


@contextmanager
def training_of(estimator: Any) -> Iterator[None]:
    """Restore every attribute if the block raises. Arrays that are changed in place are changed after all checks.

    One thread at a time may train an estimator.
    """
    with Exclusive(estimator):
        before = dict(vars(estimator))
        try:
            yield
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise
