"""Centered columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..rules.ranges import Range
from .columns import MISSING, Columns
from .graph import Graph
from .room import appended, joined
from .view import (
    COUNTED,
    KIND,
    MAX_FILLED,
    MAX_MEAN,
    REAL,
    Arrays,
    Placed,
    Shapes,
    View,
    column_kinds,
    gained,
    spread,
)  # fmt: skip

COUNT, MEAN, ROWS, KINDS = (f"center.{name}" for name in ("count", "mean", "rows", "kind"))


class Center(View):
    """Columns with mean 0.

    z_j = x_j - mean_j, where mean_j is the mean of column j over the rows before; the first row is 0. Absent values are
    0, except those of numeric columns of tables, which are missing: z_j is 0 for these. With least squares, centered
    rows and targets take the place of an intercept, which then has no prior.

    Examples
    --------
    >>> from confidently import OnlineRegressor
    >>> model = OnlineRegressor(covariance="full").fit([[2000.0], [2001.0], [2002.0]], [1.0, 2.0, 3.0])
    >>> model.learner_.view
    Center()
    """

    name = "center"
    takes_values = True
    formula = "x_j - mean_j"

    def new_arrays(self, n_classes: int) -> Arrays:
        return {KINDS: np.empty(0, dtype=KIND), ROWS: np.zeros(1), COUNT: np.empty(0), MEAN: np.empty(0)}

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        if len(state[KINDS]) + len(new) > MAX_FILLED:
            raise ValueError(
                f"centering makes sparse rows dense, so rows may have at most {MAX_FILLED:,} columns, got "
                f'{len(state[KINDS]) + len(new):,}; use covariance="diag", which does not center rows'
            )
        grown = {name: appended(state[name], len(new)) for name in (COUNT, MEAN)}
        # a column that is 0 where it is absent has been 0 so far
        grown[COUNT][len(state[COUNT]) :] = np.where(new.kind == MISSING, 0.0, state[ROWS][0])
        return {KINDS: joined(state[KINDS], new.kind), ROWS: state[ROWS], **grown}

    def n_known(self, state: Arrays) -> int:
        return len(state[KINDS])

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        by_column = dict.fromkeys((COUNT, MEAN), ((n_features,), REAL))
        return {KINDS: ((n_features,), KIND), ROWS: ((1,), REAL), **by_column}

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield KINDS, packed[KINDS], Range(0, 2, closed_low=True, closed_high=True)
        yield ROWS, packed[ROWS], COUNTED
        yield COUNT, packed[COUNT], COUNTED
        yield MEAN, packed[MEAN], Range(-MAX_MEAN, MAX_MEAN, closed_low=True, closed_high=True)

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        """Add centered rows, computed in double precision; NaN is a missing value."""
        wide, whole = np.float64, graph.cast(x, np.float64)
        found = graph.add("Sub", whole, graph.constant(state[MEAN], wide))
        if not state[COUNT].all():
            found = graph.add("Mul", found, graph.constant(state[COUNT] > 0, wide))
        if (state[KINDS] == MISSING).any():
            found = graph.add("Where", graph.add("IsNaN", whole), graph.constant(0.0, wide), found)
        return graph.cast(found)

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        kind = column_kinds([*parts, base], KINDS, n_features)
        rows = gained([part.arrays[ROWS] for part in parts], base.arrays[ROWS])
        counts, means = zip(*(_counts_and_means(part, kind) for part in (*parts, base)), strict=True)
        count = gained(counts[:-1], counts[-1])
        # deviations from a center near the values lose nothing where the mean is large
        center = np.select([c > 0 for c in counts], means, 0.0)
        start = counts[-1] * (means[-1] - center)
        total = start + sum(c * (m - center) - start for c, m in zip(counts[:-1], means[:-1], strict=True))
        mean = center + np.divide(total, count, out=np.zeros_like(center), where=count > 0)
        return {KINDS: kind, ROWS: rows, COUNT: count, MEAN: mean}

    def deviations(self, part: Placed, merged: Arrays) -> np.ndarray:
        """Return by how much the means of a part differ from the merged ones; 0 where a part has no values."""
        count, mean = _counts_and_means(part, merged[KINDS])
        return np.where(count > 0, mean - merged[MEAN], 0.0)


def _counts_and_means(part: Placed, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weight and mean of all columns; one that is 0 where it is absent has been 0 in a part that lacks it."""
    count, mean = (spread(part.arrays[name], kind.shape, part.features) for name in (COUNT, MEAN))
    absent = kind != MISSING
    absent[part.features] = False
    count[absent] = part.arrays[ROWS][0]
    return count, mean
