"""The first values of columns, with which views that compare values with them begin in every partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from ..learner.learner import Learner
from ..stack.members import parts_of
from ..views.first_values import FIRST, FirstValues
from ..views.view import Labelled


def rows_to_begin(learner: Any) -> int:
    """Return how many of the first rows decide on something before the first round; 0 if nothing depends on them."""
    to_choose: int = learner.rows_to_prepare
    return max(to_choose, FIRST if any(True for _ in _compared(learner)) else 0)


def keep_first_values(learner: Any, X: _core.Matrix) -> None:
    """Have views that compare values with the first ones of their column take these from the rows of a matrix.

    So do all copies of the learner, which can then be merged. If there are fewer rows than such a view takes, it takes
    them several times, since otherwise each partition would add others.
    """
    n = min(X.shape[0], FIRST)
    labels = np.zeros(n, np.int32)
    for part, view in _compared(learner) if n else ():
        rows = Labelled(X, None, 0, labels, None, None, None, part.n_classes)
        for _ in range(-(-FIRST // n)):
            arrays, _ = view.learn(part.state, rows, None)
            part.state = part.state | arrays


def _compared(learner: Any) -> Iterator[tuple[Learner, FirstValues]]:
    """Yield the learner, or the members of a stack, that have such a view, and that view."""
    for part in parts_of(learner):
        view = part.view.views[0] if isinstance(part, Learner) and part.view is not None else None
        if isinstance(part, Learner) and isinstance(view, FirstValues):
            yield part, view
