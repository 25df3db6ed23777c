"""What matrices of covariances of several classes cost, before training begins."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...covariances.dense import Dense
from ...covariances.table import kind_of, with_classes
from ...wording import counted
from .summaries import weighted_members
from .text import class_noun

if TYPE_CHECKING:
    from ...covariances.settings import Settings
    from ...data import Batch
    from ...learner.streams import StreamLearner

OPERATIONS = 3  # per number of a matrix and row (docs/full-covariance.md)


def cost_of(learning: StreamLearner, first: Batch, chosen: str) -> tuple[str, dict[str, Any]] | None:
    """Return what the chosen covariance costs with the classes of the first rows, as text and as plain data.

    ``None`` for two classes, where one matrix over the features was chosen, where a view makes columns of its own, and
    for stacks, which have matrices over few features only.
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
        settings = with_classes(settings, learning.multiclass, classes)
    rows = max(first.n_columns, learner.n_features) + settings.fit_intercept
    matrices, size = _matrices(settings, rows, classes)
    shared = matrices == 1 and size == rows
    if settings.task == "binary" or (shared and kind_of(chosen).for_classes is None):
        return None
    numbers = matrices * size**2
    nbytes = numbers * np.dtype(settings.dtype).itemsize
    kept = f"{_counted(matrices, size)} numbers"
    if shared:
        other = _counted(*_matrices(replace(settings, covariance=chosen), rows, classes))
        text = f"covariance {chosen}: {kept}, shared by {classes:,} {class_noun(settings.task)}"
        instead = f"--multiclass {settings.task} keeps {other}"
    else:
        text = f"covariance {settings.covariance}: {kept} for {classes:,} {class_noun(settings.task)}"
        text += f" and {counted(rows, 'weight')} of each"
        instead = f"--covariance shared keeps {_counted(1, rows)}"
    text += f", {nbytes / 1e6:,.1f} MB and up to {OPERATIONS * numbers:,} operations per row; {instead}"
    return text, {"matrices": matrices, "size": size, "bytes": nbytes, "operations": OPERATIONS * numbers}


def _matrices(settings: Settings, rows: int, classes: int) -> tuple[int, int]:
    """Return the number of matrices and their size, for the weights of each class."""
    kind = kind_of(settings.covariance)
    assert issubclass(kind, Dense)
    return settings.learners(classes), kind.matrix_size(settings, rows, settings.columns(classes))


def _counted(matrices: int, size: int) -> str:
    return f"{'one matrix' if matrices == 1 else f'{matrices:,} matrices'} of {size:,} x {size:,}"
