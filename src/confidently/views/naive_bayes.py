"""Features by their naive Bayes log-odds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..rules.ranges import Range
from .columns import Columns
from .graph import Graph, unit_rows
from .room import appended
from .view import COUNTED, REAL, Arrays, Placed, Shapes, View, gained, spread

ROWS, FREQUENCY = "nb.rows", "nb.frequency"
FLOOR, OF_FEATURE, OF_ROWS = 0.2, 0.3, 0.6  # as in core/views/naive_bayes.hpp


class NaiveBayesScale(View):
    """Features that some classes have more often than others count for more, and rows have unit L2 norm.

    x_j s_j, then unit L2 norm. With n_k the rows of class k before and n_kj those that had feature j (with weights, the
    sums of these), l_kj = log((n_kj + .3)/(n_k + .6)) and s_j = .2 + the population standard deviation of l_kj over the
    classes: for two classes half the difference. For sparse rows, such as those of text; AROW(r=0.3) suits it.

    Wang & Manning (ACL 2012) multiply by log-odds of counts in batch; here the sign is left to the learner.

    Examples
    --------
    >>> from confidently import AROW, OnlineClassifier
    >>> model = OnlineClassifier(AROW(r=0.3), view="nb")
    """

    name = "nb"
    formula = "x_j (.2 + sd over classes of log((n_kj + .3)/(n_k + .6))), then unit L2 norm"

    def new_arrays(self, n_classes: int) -> Arrays:
        return {ROWS: np.zeros(n_classes), FREQUENCY: np.empty((0, n_classes))}

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        rows, frequency = state[ROWS], state[FREQUENCY]
        rows = appended(rows, n_classes - len(rows))
        if frequency.shape[1] < n_classes:  # room doubles, so that a growing number of classes is copied rarely
            wider = np.zeros((len(frequency), max(n_classes, 2 * frequency.shape[1])))
            wider[:, : frequency.shape[1]] = frequency
            frequency = wider
        return {ROWS: rows, FREQUENCY: appended(frequency, len(new))}

    def n_known(self, state: Arrays) -> int:
        return len(state[FREQUENCY])

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        return {ROWS: state[ROWS], FREQUENCY: np.ascontiguousarray(state[FREQUENCY][:, : len(state[ROWS])])}

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        return {ROWS: ((n_classes,), REAL), FREQUENCY: ((n_features, n_classes), REAL)}

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield ROWS, packed[ROWS], COUNTED
        yield FREQUENCY, packed[FREQUENCY], COUNTED

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        def rows(part: Placed) -> np.ndarray:
            return spread(part.arrays[ROWS], (n_classes,), part.classes)

        def having(part: Placed) -> np.ndarray:
            return spread(part.arrays[FREQUENCY], (n_features, n_classes), part.features, part.classes)

        found = {ROWS: rows, FREQUENCY: having}
        return {name: gained([of(part) for part in parts], of(base)) for name, of in found.items()}

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        return unit_rows(graph, graph.add("Mul", x, graph.constant(self.factors(state))))

    def factors(self, state: Arrays) -> np.ndarray:
        packed = self.packed(state, self.n_known(state))
        share = np.log(packed[FREQUENCY] + OF_FEATURE) - np.log(packed[ROWS] + OF_ROWS)
        return FLOOR + share.std(axis=1)
