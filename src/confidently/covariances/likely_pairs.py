"""The classes that rows of a block are likely to be trained against, by their scores at the start of the block."""

from __future__ import annotations

import numpy as np

from .examples import Block
from .settings import Settings

NONE = -1


def likely_pairs(settings: Settings, scores: np.ndarray, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of each pair of the rows, as in core/tasks/joint.hpp and labels.hpp; ``NONE`` for no pair.

    Multilabel rows have two pairs: the first of all rows come before the second of all rows.
    """
    if not settings.task.multilabel:
        others = scores.copy()
        others[np.arange(block.n), block.labels] = -np.inf
        return block.labels.astype(np.intp), others.argmax(axis=1)
    assert block.label_start is not None
    relevant = np.zeros(scores.shape, dtype=bool)
    relevant[np.repeat(np.arange(block.n), np.diff(block.label_start)), block.labels + 1] = True
    worst, best = np.where(relevant, scores, np.inf), np.where(relevant, -np.inf, scores)
    worst[:, 0], best[:, 0] = np.inf, -np.inf  # the threshold
    lowest, highest = worst.min(axis=1), best.max(axis=1)
    w = np.where(np.isfinite(lowest), worst.argmin(axis=1), NONE)
    b = np.where(np.isfinite(highest), best.argmax(axis=1), NONE)
    both = (w != NONE) & (b != NONE)
    middle = scores[:, 0]
    upper = np.where(both, lowest - middle <= middle - highest, b == NONE)
    first, second = (np.where(both, k, NONE) for k in (w, b))
    return np.concatenate([first, np.where(upper, w, 0)]), np.concatenate([second, np.where(upper, 0, b)])
