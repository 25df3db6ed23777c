"""Rows in memory, learned on workers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ..models.model import Model
from .change import change_of
from .tasks import Failure, Job, Learned, Seed

Rows = tuple[Any, Any, Any]  # rows, their labels, their weights or None


def cut(block: Rows, first: int, last: int, size: int) -> Rows:
    """The rows of a block from ``first`` to ``last`` of ``size``, whatever the number of its rows."""
    n = block[0].shape[0]
    a, b = n * first // size, n * last // size
    return tuple(None if one is None else _taken(one, slice(a, b)) for one in block)  # type: ignore[return-value]


def learn_rows(
    base: Model, blocks: Sequence[Rows], estimator: Any, job: Job, calibrate: bool, seed: Seed
) -> Learned | Failure:
    """Learn rows after what the base knows, as ``partial_fit`` does."""
    from sklearn.base import clone

    from ..estimators.loading import put_model

    began = time.monotonic()
    X, y, weights = (_joined([block[k] for block in blocks]) for k in range(3))
    if job.shuffle:
        order = np.random.default_rng(seed).permutation(X.shape[0])
        X, y, weights = (None if one is None else _taken(one, order) for one in (X, y, weights))
    learner = copy(base.learner)
    learner.state = {name: array.copy() for name, array in base.learner.state.items()}
    classifier = put_model(clone(estimator), replace(base, learner=learner))
    if X.shape[0]:
        try:
            classifier.partial_fit(X, y, sample_weight=weights)
        except (ValueError, TypeError) as error:
            return Failure(error)
    if not calibrate:
        classifier.learner_.state["calibration"] = base.learner.state["calibration"].copy()
    change = change_of(base, replace(base, learner=classifier.learner_))
    return Learned(change, X.shape[0], bytes_sent=change.nbytes, seconds=time.monotonic() - began)


def distinct(y: Any) -> np.ndarray:
    """The classes of a block."""
    return np.unique(np.asarray(y))


def _taken(rows: Any, which: Any) -> Any:
    return rows.iloc[which] if hasattr(rows, "iloc") else rows[which]


def _joined(parts: Sequence[Any]) -> Any:
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.concatenate(parts)
