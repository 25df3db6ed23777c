"""Normal scores of ranks."""

from __future__ import annotations

import numpy as np

from .. import _core
from ..rules.parametric import parameter
from .columns import MISSING, PLAIN, ZERO, count_of
from .first_values import FIRST, FirstValues
from .graph import Graph, unit_rows
from .view import Arrays

KNOTS = 65  # as in core/views/ranks.hpp
MAX_SCORE = 3.0


class Ranks(FirstValues):
    """Numeric columns as normal scores of their ranks, and rows of unit L2 norm: a few huge values do no harm.

    The score of the quantile p of the first 1,000 values of a column, or of those so far if there were fewer, is
    Phi^-1(p), limited to [-3, 3]. z_j is linear in x_j between the quantiles 0, 1/64, 2/64, ..., 1, and -3 or 3 beyond
    them; where several of them are x_j, it is the score of their middle, so that a column of equal values is 0. Then
    z/||z||. After n values the limit is Phi^-1((n + 1/2)/(n + 1)), if that is less than 3: a value beyond all n is no
    rarer than that. A column is 0 until it has had a value. Words and categories stay as they are. Missing values are
    0, as the median.

    No factor and no shift of a column matters, and no other increasing function of it, except for what is between
    quantiles. These are renewed when a column has had 1, 2, 4, ..., 512 and 1,000 values, and then stay the same. A
    shuffled ``fit`` makes them of up to 1,000 of its rows before it trains. Weights of rows do not matter, unless they
    are 0. At the quantiles, the scores are those of scikit-learn's
    ``QuantileTransformer(n_quantiles=65, output_distribution="normal")``; Phi^-1 is that of Wichura (Applied Statistics
    37, 1988).

    Parameters
    ----------
    unit_norm : bool, default=True
        Whether rows are scaled to unit L2 norm.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently import OnlineClassifier, Ranks
    >>> X = np.random.default_rng(0).normal(size=(2000, 3)) ** 9  # heavy tails
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> for view in ("standard", Ranks()):
    ...     OnlineClassifier(view=view).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    0.612
    0.976
    """

    name = "ranks"
    formula = "Phi^-1(rank of x_j among the first 1,000 values) of numeric columns, then unit L2 norm"

    unit_norm: bool = parameter(None, "whether rows have unit L2 norm", default=True)

    @property
    def n_knots(self) -> int:
        return KNOTS

    def filled(self, kind: np.ndarray) -> int:
        return count_of(kind, ZERO)

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        """Add scores, computed in double precision; NaN is a missing value."""
        own, wide, whole = self.learned(state), np.float64, graph.cast(x, np.float64)
        numeric = own.kind != PLAIN
        counts, knots = np.zeros(len(numeric)), np.zeros((len(numeric), KNOTS))
        counts[numeric], knots[numeric] = own.counts, own.knots
        limit = _limits(counts)[:, None]
        scores = np.array([_core.normal_quantile(i / (2 * KNOTS - 2)) for i in range(2 * KNOTS - 1)])
        each = graph.add("Unsqueeze", whole, graph.constant([2], np.int64))
        # between knots: the sum over those passed, the last one in part
        at_knots, length = np.clip(scores[::2], -limit, limit), np.diff(knots)
        rest = graph.add("Sub", each, graph.constant(knots[:, :-1], wide))
        part = graph.add("Div", rest, graph.constant(np.where(length > 0.0, length, 1e-300), wide))
        part = graph.add("Clip", part, graph.constant(0.0, wide), graph.constant(1.0, wide))
        passed = _sum(graph, graph.add("Mul", part, graph.constant(np.diff(at_knots), wide)))
        between = graph.add("Add", passed, graph.constant(at_knots[:, 0], wide))
        # at knots: the middle of those that are equal
        all_knots, number = graph.constant(knots, wide), np.int64
        below, up_to = (
            _sum(graph, graph.cast(graph.add(operator, each, all_knots), number))
            for operator in ("Greater", "GreaterOrEqual")
        )
        middle = graph.add("Sub", graph.add("Add", below, up_to), graph.constant(1, number))
        middle = graph.add("Clip", middle, graph.constant(0, number), graph.constant(2 * KNOTS - 2, number))
        tied = graph.add("Gather", graph.constant(scores, wide), middle)
        highest, lowest = (graph.constant(sign * limit[:, 0], wide) for sign in (1.0, -1.0))
        tied = graph.add("Max", graph.add("Min", tied, highest), lowest)
        found = graph.add("Where", graph.add("Equal", below, up_to), between, tied)
        found = graph.add("Where", graph.constant(counts > 0, bool), found, graph.constant(0.0, wide))
        if (own.kind == MISSING).any():
            found = graph.add("Where", graph.add("IsNaN", whole), graph.constant(0.0, wide), found)
        found = graph.add("Where", graph.constant(numeric, bool), found, whole)
        return unit_rows(graph, graph.cast(found)) if self.unit_norm else graph.cast(found)


def _limits(counts: np.ndarray) -> np.ndarray:
    """Return the largest score after these numbers of values: of the last ones at which quantiles were renewed."""
    seen = np.where(counts < FIRST, np.exp2(np.floor(np.log2(np.maximum(counts, 1.0)))), FIRST)
    return np.array([min(MAX_SCORE, -_core.normal_quantile(0.5 / (n + 1.0))) for n in seen.tolist()])


def _sum(graph: Graph, x: str) -> str:
    """Add the sums over the knots."""
    return graph.add("ReduceSum", x, graph.constant([2], np.int64), keepdims=0)
