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

    z_j = Phi^-1(p), limited to [-3, 3], where p is the fraction of the first 1,000 values of column j (of those so far,
    if there were fewer) below x_j; then z/||z||. p is linear between the quantiles 0, 1/64, ..., 1 of these values
    (where several quantiles are x_j, their middle), 0 below the smallest and 1 above the largest. So a column of equal
    values is 0. After n values the limit is Phi^-1((n + 1/2)/(n + 1)), if that is less than 3: a value beyond all n is
    no rarer than that. A column is 0 until it has had a value. Words and categories stay as they are, and missing
    values are 0: the median.

    No increasing transformation of a column matters, except for interpolation. The quantiles are renewed when a column
    has had 1, 2, 4, ..., 512 and 1,000 values, and stay the same from then on. Weights of rows do not matter, unless
    they are 0. Except for the limit and values equal to the extremes, the scores are those of scikit-learn's
    ``QuantileTransformer(n_quantiles=65, output_distribution="normal")``. Phi^-1 is that of Wichura (Applied Statistics
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
    0.975
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
        """Add scores, computed in double precision; NaN is a missing value.

        The position of x is the sum over neighboring knots of how far x is from one to the other, from 0 to 1; where
        they are equal, of 0, 1/2 and 1 for an x below, at and above them.
        """
        own, wide, whole = self.learned(state), np.float64, graph.cast(x, np.float64)
        numeric = own.kind != PLAIN
        knots = np.zeros((len(numeric), KNOTS))
        knots[numeric] = own.knots
        step = np.diff(knots)
        rest = graph.add(
            "Sub", graph.add("Unsqueeze", whole, graph.constant([2], np.int64)), graph.constant(knots[:, :-1], wide)
        )
        length = graph.constant(np.where(step > 0.0, step, 1.0), wide)
        ramp = graph.add("Clip", graph.add("Div", rest, length), graph.constant(0.0, wide), graph.constant(1.0, wide))
        half, one = graph.constant(0.5, wide), graph.constant(1.0, wide)
        jump = graph.add("Mul", graph.add("Add", graph.add("Sign", rest), one), half)
        parts = graph.add("Where", graph.constant(step > 0.0, bool), ramp, jump)
        total = graph.add("ReduceSum", parts, graph.constant([2], np.int64), keepdims=0)
        p = graph.add("Div", total, graph.constant(float(KNOTS - 1), wide))
        count = np.zeros(len(numeric))
        count[numeric] = own.counts
        found = graph.add("Mul", _quantile(graph, p, _limits(count)), graph.constant(count > 0, wide))
        if (own.kind == MISSING).any():
            found = graph.add("Where", graph.add("IsNaN", whole), graph.constant(0.0, wide), found)
        found = graph.add("Where", graph.constant(numeric, bool), found, whole)
        return unit_rows(graph, graph.cast(found)) if self.unit_norm else graph.cast(found)


def _limits(count: np.ndarray) -> np.ndarray:
    """Return the largest score after these numbers of values: of the last ones at which quantiles were renewed."""
    seen = np.where(count < FIRST, np.exp2(np.floor(np.log2(np.maximum(count, 1.0)))), FIRST)
    return np.array([min(MAX_SCORE, -_core.normal_quantile(0.5 / (n + 1.0))) for n in seen.tolist()])


def _quantile(graph: Graph, p: str, limit: np.ndarray) -> str:
    """Add normal quantiles between -limit and limit, as core/rules/normal.hpp computes them."""
    wide = np.float64
    center, near = _core.normal_quotients()
    q = graph.add("Sub", p, graph.constant(0.5, wide))
    square = graph.add("Sub", graph.constant(0.180625, wide), graph.add("Mul", q, q))
    inner = graph.add("Mul", q, _quotient(graph, square, center))
    tail = graph.add(
        "Max", graph.add("Sub", graph.constant(0.5, wide), graph.add("Abs", q)), graph.constant(1e-4, wide)
    )  # beyond the limit
    root = graph.add("Sqrt", graph.add("Neg", graph.add("Log", tail)))
    outer = _quotient(graph, graph.add("Sub", root, graph.constant(1.6, wide)), near)
    outer = graph.add("Mul", graph.add("Sign", q), outer)
    is_inner = graph.add("LessOrEqual", graph.add("Abs", q), graph.constant(0.425, wide))
    found = graph.add("Where", is_inner, inner, outer)
    return graph.add("Max", graph.add("Min", found, graph.constant(limit, wide)), graph.constant(-limit, wide))


def _quotient(graph: Graph, x: str, polynomials: tuple[list[float], list[float]]) -> str:
    return graph.add("Div", *(_polynomial(graph, x, coefficients) for coefficients in polynomials))


def _polynomial(graph: Graph, x: str, coefficients: list[float]) -> str:
    """Add a polynomial, given from the constant term on."""
    found = graph.constant(coefficients[-1], np.float64)
    for coefficient in reversed(coefficients[:-1]):
        found = graph.add("Add", graph.add("Mul", found, x), graph.constant(coefficient, np.float64))
    return found
