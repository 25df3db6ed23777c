"""What matrices of covariances of several classes cost, before training begins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...covariances.dense import Dense
from .summaries import weighted_members
from .text import class_noun, counted

if TYPE_CHECKING:
    from ...data import Batch
    from ...learner.streams import StreamLearner

OPERATIONS = 3  # per number of a matrix and row (docs/full-covariance.md)


def cost_of(learning: StreamLearner, first: Batch) -> tuple[str, dict[str, Any]] | None:
    """Return what the covariance costs with the classes of the first rows, as text and as plain data.

    ``None`` for two classes, for one matrix over the features, where a view makes columns of its own, and for stacks,
    which have matrices over few features only.
    """
    learner = learning.learner
    if weighted_members(learner) is not None:
        return None
    settings, covariance = learner.settings, learner.covariance
    if not isinstance(covariance, Dense) or not (learner.view is None or learner.view.keeps_columns):
        return None
    known = sum(name is not None for name in learning.classes.names)
    classes = known + sum(learning.classes.get(new.name) is None for new in first.new_labels)
    if settings.task == "binary" and classes > 2:
        settings = replace(settings, task=learning.multiclass or settings.rule.multiclass)
    rows = max(first.n_columns, learner.n_features) + settings.fit_intercept
    size = covariance.matrix_size(settings, rows, settings.columns(classes))
    matrices = settings.learners(classes)
    if settings.task == "binary" or (matrices == 1 and size == rows):
        return None
    numbers = matrices * size**2
    nbytes = numbers * np.dtype(settings.dtype).itemsize
    kept = "one matrix" if matrices == 1 else f"{matrices:,} matrices"
    text = (
        f"covariance {covariance.name}: {kept} of {size:,} x {size:,} numbers for {classes:,} "
        f"{class_noun(settings.task)} and {counted(rows, 'weight')} of each, {nbytes / 1e6:,.1f} MB and up to "
        f"{OPERATIONS * numbers:,} operations per row; --covariance shared keeps one of {rows:,} x {rows:,}"
    )
    return text, {"matrices": matrices, "size": size, "bytes": nbytes, "operations": OPERATIONS * numbers}
