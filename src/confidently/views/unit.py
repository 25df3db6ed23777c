"""Rows of unit norm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .columns import Columns
from .graph import Graph, unit_rows
from .view import COUNT, Arrays, Placed, Shapes, View

COLUMNS = "unit.columns"


class Unit(View):
    """Rows of unit L2 norm: long rows count no more than short ones.

    x/||x||. Nothing is learned.

    Examples
    --------
    >>> from confidently import OnlineClassifier
    >>> model = OnlineClassifier(view="unit").fit([[1.0, 2.0], [300.0, 100.0]], [0, 1])
    >>> bool((model.decision_function([[3.0, 1.0]]) == model.decision_function([[30.0, 10.0]])).all())
    True
    """

    name = "unit"
    formula = "x with unit L2 norm"

    def new_arrays(self, n_classes: int) -> Arrays:
        return self.unpacked({}, 0)

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        return {COLUMNS: state[COLUMNS] + len(new)}

    def n_known(self, state: Arrays) -> int:
        return int(state[COLUMNS][0])

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        return {}

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        return {COLUMNS: np.array([n_features], dtype=COUNT)}

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        return {}

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        return {}

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        return unit_rows(graph, x)
