"""Inverse document frequency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..rules.ranges import Range
from .columns import Columns
from .graph import Graph, unit_rows
from .room import appended
from .view import COUNTED, REAL, Arrays, Placed, Shapes, View, gained, spread

ROWS, FREQUENCY = "idf.rows", "idf.frequency"


class Idf(View):
    """Rare features count for more, and rows have unit L2 norm.

    x_j log((2 + n)/(1 + n_j)), where n is the number of rows before and n_j of those that had feature j (with weights,
    the sums of these); then unit L2 norm. Rule parameters that suit it are larger than for plain rows: AROW(r=0.3).

    Examples
    --------
    >>> from confidently import AROW, OnlineClassifier
    >>> model = OnlineClassifier(AROW(r=0.3), view="idf")
    """

    name = "idf"
    formula = "x_j log((2 + n)/(1 + n_j)), then unit L2 norm"

    def new_arrays(self, n_classes: int) -> Arrays:
        return {ROWS: np.zeros(1), FREQUENCY: np.empty(0)}

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        return {ROWS: state[ROWS], FREQUENCY: appended(state[FREQUENCY], len(new))}

    def n_known(self, state: Arrays) -> int:
        return len(state[FREQUENCY])

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        return {ROWS: ((1,), REAL), FREQUENCY: ((n_features,), REAL)}

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield ROWS, packed[ROWS], COUNTED
        yield FREQUENCY, packed[FREQUENCY], COUNTED

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        def having(part: Placed) -> np.ndarray:
            return spread(part.arrays[FREQUENCY], (n_features,), part.features)

        return {
            ROWS: gained([part.arrays[ROWS] for part in parts], base.arrays[ROWS]),
            FREQUENCY: gained([having(part) for part in parts], having(base)),
        }

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        return unit_rows(graph, graph.add("Mul", x, graph.constant(self.factors(state))))

    def factors(self, state: Arrays) -> np.ndarray:
        return np.log(2.0 + state[ROWS]) - np.log(1.0 + state[FREQUENCY])
