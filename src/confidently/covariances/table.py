"""What a learner asks of its covariance, in each of the forms this may have.

A diagonal one, none, or a small dense one is compiled, row by row; larger ones go by products of matrices
(:mod:`confidently.covariances.blocks`), a kernel's by coefficients of examples (:mod:`confidently.covariances.kernel`).
These two are imported only when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core

if TYPE_CHECKING:
    from ..learner.learner import Learner


def is_row_by_row(learner: Learner) -> bool:
    """Whether rows are learned by the compiled loop alone, without products of matrices."""
    settings = learner.settings
    if settings.dense:
        rows, _, columns = learner.state["weights"].shape
        return learner.device is None and settings.row_by_row(rows, columns)
    return settings.geometry != "kernel"


def flush(learner: Learner) -> None:
    """Take off a dense covariance what blocks left pending: the compiled loop knows nothing of it."""
    if learner.settings.dense and learner.state["pending_rows"][0]:
        from . import blocks

        blocks.BlockLearner(learner.settings, learner.state).flush()


def learn_blocks(learner: Learner, *examples: Any, **options: Any) -> None:
    """Learn rows (of :class:`confidently.covariances.blocks.Examples`) under a dense covariance or a kernel's."""
    from . import blocks

    if learner.settings.geometry != "kernel":
        blocks.learn(learner.settings, learner.state, blocks.Examples(*examples), device=learner.device, **options)
        return
    from . import kernel

    state = dict(learner.state)  # whose arrays are replaced where they grow
    kernel.learn(
        learner.settings, state, blocks.Examples(*examples), n_features=learner.n_features,
        n_classes=learner.n_classes, **options,
    )  # fmt: skip
    learner.state = state


def scores(learner: Learner, X: _core.Matrix) -> np.ndarray:
    """Of every column of weights."""
    settings = learner.settings
    if settings.geometry == "kernel":
        from . import kernel

        return kernel.scores(settings, learner.state, X, learner.n_features, learner.n_classes)
    found = np.empty((X.shape[0], settings.columns(learner.n_classes)))
    settings.core().scores(learner.state, X, found)
    return found


def variances(learner: Learner, X: _core.Matrix) -> np.ndarray:
    """Of every column's score; of sets of labels, minus the threshold's."""
    settings = learner.settings
    if settings.geometry == "kernel":
        from . import kernel

        return kernel.variances(settings, learner.state, X, learner.n_features, learner.n_classes)
    if settings.dense:
        from . import blocks

        return blocks.variances(settings, learner.state, X)
    found = np.empty((X.shape[0], settings.columns(learner.n_classes)))
    settings.core().variances(learner.state, X, found)
    return found


def top_variances(learner: Learner, X: _core.Matrix, scores: np.ndarray) -> np.ndarray:
    """Of the difference between each row's two best scores."""
    settings = learner.settings
    if settings.geometry == "kernel":
        from . import kernel

        return kernel.top_variances(settings, learner.state, X, scores, learner.n_features, learner.n_classes)
    if settings.dense:
        from . import blocks

        return blocks.top_variances(settings, learner.state, X, scores)
    found = np.empty(X.shape[0])
    settings.core().top_variances(learner.state, X, scores, found)
    return found
