"""Checks of a bandit's arms, of their features, and of contexts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from ..data.memory.matrix import as_matrix
from ..wording import counted

ARMS = (str, int, float)  # types of arms and ids that files can hold


def checked_arms(arms: Sequence[Any]) -> list[Any]:
    """Return the arms as a list, or raise ``ValueError`` or ``TypeError`` for wrong or repeated ones."""
    if isinstance(arms, str) or not len(arms):
        raise ValueError(f"arms: expected a sequence of at least one arm, got {arms!r}")
    found = [arm.item() if isinstance(arm, np.generic) else arm for arm in arms]
    for arm in found:
        if isinstance(arm, bool) or not isinstance(arm, ARMS) or (isinstance(arm, float) and not math.isfinite(arm)):
            raise TypeError(f"arms: expected strings or finite numbers, got {arm!r}")
    for k, arm in enumerate(found):
        if len(set(found)) < len(found) and arm in found[:k]:
            raise ValueError(f"arms: {arm!r} is there twice; use every arm once")
    return found


def numbers_of(some: Sequence[Any], arms: list[Any]) -> NDArray[np.intp]:
    """Return the numbers of some of the arms, ascending; ``ValueError``: one is unknown or there twice."""
    number = {arm: k for k, arm in enumerate(arms)}
    if unknown := [arm for arm in checked_arms(some) if arm not in number]:
        raise ValueError(f"unknown arm {unknown[0]!r}; expected some of {shown(arms)}")
    return np.array(sorted(number[arm] for arm in some), dtype=np.intp)


def numbers_of_each(several: Sequence[Sequence[Any] | None], arms: list[Any], n: int) -> list[NDArray[np.intp]]:
    """Return the numbers of some of the arms for each of n contexts; of all where it is None."""
    if len(several) != n:
        raise ValueError(f"arms: expected {counted(n, 'sequence')} of arms, one per context, got {len(several)}")
    return [np.arange(len(arms)) if some is None else numbers_of(some, arms) for some in several]


def checked_contexts(contexts: Any) -> Any:
    """Return contexts as a float64 array or CSR array without repeated entries, checked."""
    if issparse(contexts):
        X = csr_array(contexts, dtype=np.float64)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.ascontiguousarray(contexts, dtype=np.float64)
    as_matrix(X)  # an error names the first value that is not finite
    return X


def feature_rows(arms: list[Any], given: Mapping[Any, Any]) -> Any:
    """Return the features of the arms as a matrix with a row for each; ``ValueError`` if some are missing."""
    missing = [arm for arm in arms if arm not in given]
    if missing or len(given) > len(arms):
        problem = f"nothing for {missing[0]!r}" if missing else "features of arms that do not exist"
        raise ValueError(f"arm_features: {problem}; pass a row for each arm")
    rows = [as_one_row(given[arm]) for arm in arms]
    if len({row.shape for row in rows}) > 1:
        shapes = ", ".join(sorted({str(row.shape[1]) for row in rows}))
        raise ValueError(f"arm_features: all arms must have equally many features, got {shapes}")
    return one_kind(rows, any(map(issparse, rows)))


def one_kind(rows: list[Any], sparse: bool) -> Any:
    """Return rows, or matrices, as one matrix, checked."""
    joined = csr_array(vstack([csr_array(row) for row in rows])) if sparse else np.vstack(rows).astype(np.float64)
    as_matrix(joined)  # an error names the first value that is not finite
    return joined


def as_one_row(row: Any) -> Any:
    """Return a row as a matrix of one row; None and sparse ones as they are."""
    if row is None or issparse(row):
        return row
    row = np.asarray(row, dtype=np.float64)
    if row.ndim == 2 and len(row) == 1:
        return row
    if row.ndim != 1:
        raise ValueError(f"expected one row, an array of shape (d,), got shape {row.shape}")
    return row[None]


def shown(arms: list[Any]) -> str:
    """Return the arms for a message, at most ten of them."""
    names = ", ".join(repr(arm) for arm in arms[:10])
    return names if len(arms) <= 10 else f"{names}, ... ({len(arms)} arms)"
