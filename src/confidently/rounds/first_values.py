"""The first values of columns, with which views that compare values with them begin in every partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from ..learner.learner import Learner
from ..stack.members import parts_of
from ..views.first_values import FIRST, FirstValues
from ..views.view import Labelled, View


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
    for part, view, before in _compared(learner) if n else ():
        seen = X if before is None else before.see(part.state, X, 0, n).matrix(before.n_columns(part.state, X.shape[1]))
        rows = Labelled(seen, None, 0, labels, None, None, None, part.n_classes)
        for _ in range(-(-FIRST // n)):
            arrays, _ = view.learn(part.state, rows, None)
            part.state = part.state | arrays


def _compared(learner: Any) -> Iterator[tuple[Learner, FirstValues, View | None]]:
    """Yield the learner, or the members of a stack, that have such a view, that view, and the one before it."""
    for part in parts_of(learner):
        views = part.view.views if isinstance(part, Learner) and part.view is not None else ()
        for before, view in zip((None, *views), views, strict=False):
            if isinstance(part, Learner) and isinstance(view, FirstValues):
                yield part, view, before
