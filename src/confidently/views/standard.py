"""Standardized columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..rules.parametric import parameter
from ..rules.ranges import Range
from .columns import MISSING, PLAIN, ZERO, Columns, count_of
from .graph import Graph, unit_rows
from .room import appended, joined
from .view import (
    COUNTED,
    KIND,
    MAX_MEAN,
    REAL,
    Arrays,
    Placed,
    Shapes,
    View,
    check_filled,
    column_kinds,
    gained,
    spread,
)  # fmt: skip

MAX_SQUARES = 1e230  # of values of at most 1e100
COUNT, MEAN, SQUARES, ROWS, KINDS = (f"standard.{name}" for name in ("count", "mean", "squares", "rows", "kind"))
MAX_STANDARDIZED, MAX_ALONE = 1e3, 5.0  # absolute values, as in core/views/standard.hpp; the second without unit norm


class Standard(View):
    """Numeric columns with mean 0 and variance 1, and rows of unit L2 norm.

    z_j = (x_j - mean_j)/sd_j, limited to [-1000, 1000], where mean_j and sd_j are the mean and the population standard
    deviation of column j over the rows before; then z/||z||. A column is 0 until it has had a value, and its sign
    until it has had two different ones. Words and categories stay as they are, as do absent values: the mean is 0.

    No factor and no shift of a column changes the result, except for rounding. The moments are running ones (Welford
    1962), which stay exact where the mean is large.

    Parameters
    ----------
    unit_norm : bool, default=True
        Whether rows are scaled to unit L2 norm, as suits classes. Without, as suits numbers to predict, the limit of
        z_j is [-5, 5].

    Examples
    --------
    >>> import numpy as np
    >>> from confidently import OnlineClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] > 0
    >>> for factor in (1.0, 1e6):  # of the column that does not matter
    ...     Z = X * [1.0, factor]
    ...     OnlineClassifier(view="standard").fit(Z[:200], y[:200]).score(Z[200:], y[200:])
    0.97
    0.97
    """

    name = "standard"
    takes_values = True
    has_scale = True
    formula = "(x_j - mean_j)/sd_j of numeric columns, then unit L2 norm"

    unit_norm: bool = parameter(None, "whether rows have unit L2 norm", default=True)

    def new_arrays(self, n_classes: int) -> Arrays:
        empty = {name: np.zeros((0,)) for name in (COUNT, MEAN, SQUARES)}
        return {KINDS: np.zeros((0,), KIND), ROWS: np.zeros((1,)), **empty}

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        added = count_of(new.kind, ZERO)
        check_filled("standardizing", count_of(state[KINDS], ZERO) + added)
        grown = {name: appended(state[name], len(new)) for name in (COUNT, MEAN, SQUARES)}
        if added:  # a column that is 0 where it is absent has been 0 so far
            grown[COUNT][len(state[COUNT]) :] = np.where(new.kind == ZERO, state[ROWS][0], 0.0)
        return {KINDS: joined(state[KINDS], new.kind), ROWS: state[ROWS], **grown}

    def n_known(self, state: Arrays) -> int:
        return len(state[KINDS])

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        by_column = dict.fromkeys((COUNT, MEAN, SQUARES), ((n_features,), REAL))
        return {KINDS: ((n_features,), KIND), ROWS: ((1,), REAL), **by_column}

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield KINDS, packed[KINDS], Range(0, ZERO, closed_low=True, closed_high=True)
        yield ROWS, packed[ROWS], COUNTED
        yield COUNT, packed[COUNT], COUNTED
        yield MEAN, packed[MEAN], Range(-MAX_MEAN, MAX_MEAN, closed_low=True, closed_high=True)
        yield SQUARES, packed[SQUARES], Range(0.0, MAX_SQUARES, closed_low=True)

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        """Add standardized rows, computed in double precision; NaN is a missing value."""
        count, mean, squares = (state[name] for name in (COUNT, MEAN, SQUARES))
        plain = state[KINDS] == PLAIN
        deviation = np.sqrt(np.divide(squares, count, out=np.zeros_like(count), where=count > 0))
        limit = np.select(
            [plain, deviation > 0], [np.finfo(np.float64).max, MAX_STANDARDIZED if self.unit_norm else MAX_ALONE], 0.0
        )
        wide, whole = np.float64, graph.cast(x, np.float64)
        centered = graph.add("Sub", whole, graph.constant(np.where(plain, 0.0, mean), wide))
        scaled = graph.add("Div", centered, graph.constant(np.where(deviation > 0, deviation, 1.0), wide))
        found = graph.add("Max", graph.add("Min", scaled, graph.constant(limit, wide)), graph.constant(-limit, wide))
        equal = ~plain & (count > 0) & (deviation == 0)  # columns of equal values
        if equal.any():
            sign = graph.add("Mul", graph.add("Sign", centered), graph.constant(equal, wide))
            found = graph.add("Add", found, sign)
        if (state[KINDS] == MISSING).any():
            found = graph.add("Where", graph.add("IsNaN", whole), graph.constant(0.0, wide), found)
        return unit_rows(graph, graph.cast(found)) if self.unit_norm else graph.cast(found)

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        kind = column_kinds([*parts, base], KINDS, n_features)
        moments = [_moments(part, kind) for part in parts]
        start = _moments(base, kind)
        rows = gained([part.arrays[ROWS] for part in parts], base.arrays[ROWS])
        count = gained([own.weight for own in moments], start.weight)
        return {KINDS: kind, ROWS: rows, COUNT: count, **_merged_moments(moments, start, count)}


class _Moments(NamedTuple):
    """Weight, mean and sum of squared deviations of the values of every column."""

    weight: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    def deviation(self, center: np.ndarray) -> np.ndarray:
        """Return the sum of the deviations from a center."""
        return self.weight * (self.mean - center)

    def squares_around(self, center: np.ndarray) -> np.ndarray:
        """Return the sum of the squared deviations from a center."""
        return self.squares + self.weight * (self.mean - center) ** 2


def _moments(part: Placed, kind: np.ndarray) -> _Moments:
    """Return the moments of all columns; one that is 0 where it is absent has been 0 in a part that lacks it."""
    found = _Moments(*(spread(part.arrays[name], kind.shape, part.features) for name in (COUNT, MEAN, SQUARES)))
    absent = kind == ZERO
    absent[part.features] = False
    found.weight[absent] = part.arrays[ROWS][0]
    return found


def _merged_moments(parts: Sequence[_Moments], base: _Moments, count: np.ndarray) -> Arrays:
    """Return mean and squares of the base's values and all that the parts have gained, which have this count.

    Sums around a center near the values lose nothing where the mean is large (Chan, Golub & LeVeque 1983). If all
    values of a column are equal, the center is that value and the squares are exactly 0.
    """
    known = [np.where(own.weight > 0, own.mean, np.inf) for own in (*parts, base)]
    center = np.where(count > 0, np.min(known, axis=0), 0.0)
    total = base.deviation(center) + sum(own.deviation(center) - base.deviation(center) for own in parts)
    mean = center + np.divide(total, count, out=np.zeros_like(center), where=count > 0)
    start = base.squares_around(mean)
    squares = start + sum(own.squares_around(mean) - start for own in parts)
    return {MEAN: mean, SQUARES: np.maximum(squares, 0.0)}
