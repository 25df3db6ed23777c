"""Indicators of bins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..rules.parametric import parameter
from ..rules.ranges import Range, check_integer
from .columns import MISSING, PLAIN, ZERO, Columns, count_of
from .first_values import FirstValues, Learned
from .graph import Graph, unit_rows
from .view import Arrays, Placed


class Bins(FirstValues):
    """An indicator for each quantile bin of each numeric column: a linear learner of these knows any curve.

    Column j becomes n indicators, of which the k-th is 1 where e_k-1 < x_j <= e_k: the edges e_k are the quantiles k/n
    of the first 1,000 values of the column (of those so far, if there were fewer), by linear interpolation; e_0 and e_n
    are infinite. Then rows are scaled to unit L2 norm. A missing value has a further bin. Words and categories stay as
    they are. Before its first value a column has no bins. A column that is 0 where it is absent has no bin for 0 while
    all its edges are 0, so that sparse rows stay sparse.

    If a column has had at most n different values, each has a bin of its own, up to the middle between it and the next;
    a value that fills several bins has one of its own, too. Where edges are equal, the bins between them stay empty, so
    that the number of a bin means the same quantile from the first renewal of the edges to the last.

    The edges are renewed when a column has had 1, 2, 4, ..., 512 and 1,000 values, and then stay the same. A shuffled
    ``fit`` makes them of up to 1,000 of its rows before it trains. Weights of rows do not matter, unless they are 0.

    Parameters
    ----------
    n : int, default=16
        Number of bins of a column, from 2 to 256.
    unit_norm : bool, default=True
        Whether rows are scaled to unit L2 norm.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently import Bins, OnlineClassifier
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = np.abs(X[:, 0]) < 0.7
    >>> for view in ("standard", Bins()):
    ...     OnlineClassifier(view=view).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    0.493
    0.985
    """

    name = "bins"
    formula = "indicators of n quantile bins of each numeric column, and of missing values, then unit L2 norm"
    keeps_columns = False

    n: int = parameter(Range(2, 256, closed_low=True, closed_high=True), "number of bins of a column", default=16)
    unit_norm: bool = parameter(None, "whether rows have unit L2 norm", default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("Bins", "n", self.n, 2)

    @property
    def n_knots(self) -> int:
        return self.n - 1

    def filled(self, kind: np.ndarray) -> int:
        return int(np.count_nonzero(kind != PLAIN))

    # --- columns --------------------------------------------------------------------------------------------------

    def _sizes(self, kind: np.ndarray) -> np.ndarray:
        """Return how many columns are made of each."""
        return np.select([kind == PLAIN, kind == MISSING], [1, self.n + 1], self.n)

    def _starts(self, kind: np.ndarray) -> np.ndarray:
        """Return the first column that is made of each, and behind them their number."""
        return np.concatenate([[0], np.cumsum(self._sizes(kind))])

    def n_columns(self, state: Arrays, n_features: int) -> int:
        kind = state["bins.kind"]
        missing = count_of(kind, MISSING)
        return len(kind) + (self.n - 1) * (missing + count_of(kind, ZERO)) + missing

    def made_columns(self, new: Columns, state: Arrays, grown: Arrays) -> Columns:
        names = list[str]()
        for name, kind, size in zip(new.given_names(self.n_known(state)), new.kind, self._sizes(new.kind), strict=True):
            names += [name if kind == PLAIN else f"{name}="] * int(size)  # as categories of a column
        return Columns.alike(len(names), PLAIN, names)

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        own = self.learned(state)
        starts = self._starts(own.kind)
        feature = int(np.searchsorted(starts, column, side="right")) - 1
        name, number = name_of(feature), column - int(starts[feature])
        if own.kind[feature] == PLAIN:
            return name
        if number == self.n:
            return f"{name} missing"
        row = int(np.count_nonzero(own.kind[:feature] != PLAIN))
        return f"{name} {_interval(own.knots[row], number)}" if own.counts[row] else f"{name} in bin {number + 1}"

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        starts = self._starts(self.learned(state).kind)
        return np.maximum.reduceat(sizes, starts[:-1]) if len(starts) > 1 else np.zeros(0)

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        kind = self.learned(part.arrays).kind
        own = self._starts(kind)
        moved = self._starts(self.learned(merged).kind)[part.features] - own[:-1]
        return np.arange(own[-1]) + np.repeat(moved, self._sizes(kind))

    # --- rows -----------------------------------------------------------------------------------------------------

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        """Add the indicators; NaN is a missing value."""
        own, wide = self.learned(state), np.float64
        numbers, plain = np.flatnonzero(own.kind != PLAIN), np.flatnonzero(own.kind == PLAIN)
        value = graph.add("Gather", graph.cast(x, wide), graph.constant(numbers, np.int64), axis=1)
        each = graph.add("Unsqueeze", value, graph.constant([2], np.int64))
        above = graph.cast(graph.add("Greater", each, graph.constant(own.knots, wide)))
        bin_number = graph.add("ReduceSum", above, graph.constant([2], np.int64), keepdims=1)
        is_bin = graph.cast(graph.add("Equal", bin_number, graph.constant(np.arange(self.n))))
        missing = graph.cast(graph.add("IsNaN", each))
        there = graph.add("Sub", graph.constant(1.0), missing)
        without_0 = (own.kind[numbers] == ZERO) & ~own.knots.any(axis=1)
        if without_0.any():
            is_0 = graph.cast(graph.add("Equal", each, graph.constant(0.0, wide)))
            there = graph.add("Sub", there, graph.add("Mul", is_0, graph.constant(without_0[:, None])))
        bins = graph.add("Concat", graph.add("Mul", is_bin, there), missing, axis=2)
        bins = graph.add("Mul", bins, graph.constant(own.counts[:, None] > 0))
        flat = graph.add("Reshape", bins, graph.constant([-1, len(numbers) * (self.n + 1)], np.int64))
        rest = graph.add("Gather", x, graph.constant(plain, np.int64), axis=1)
        joined = graph.add("Concat", flat, rest, axis=1)
        found = graph.add("Gather", joined, graph.constant(self._places(own), np.int64), axis=1)
        return unit_rows(graph, found) if self.unit_norm else found

    def _places(self, own: Learned) -> np.ndarray:
        """Return by column made its number where all numeric columns have n + 1 and come before the others."""
        numeric = own.kind != PLAIN
        first = np.where(
            numeric,
            (np.cumsum(numeric) - 1) * (self.n + 1),
            numeric.sum() * (self.n + 1) + np.cumsum(~numeric) - 1,
        )
        sizes, starts = self._sizes(own.kind), self._starts(own.kind)
        return np.arange(starts[-1]) + np.repeat(first - starts[:-1], sizes)


def _interval(edges: np.ndarray, k: int) -> str:
    """Return where the values of bin k are, in words."""
    show = _shown(edges)
    if k == 0:
        return f"up to {show(edges[0])}"
    if k == len(edges):
        return f"above {show(edges[-1])}"
    if edges[k - 1] == edges[k]:
        return f"in bin {k + 1}, which is empty"
    return f"in {show(edges[k - 1])} to {show(edges[k])}"


def _shown(edges: np.ndarray) -> Callable[[float], str]:
    """Return how to write edges: with as few digits, from three on, as tell them apart."""
    distinct = np.unique(edges).tolist()
    digits = next(d for d in range(3, 18) if d == 17 or len({f"{e:.{d}g}" for e in distinct}) == len(distinct))

    def shown(edge: float) -> str:
        rounded = float(f"{edge:.{digits}g}")
        if rounded and not 1e-4 <= abs(rounded) < 1e12:
            return f"{rounded:.{digits}g}"
        return f"{rounded:,}".removesuffix(".0")

    return shown
