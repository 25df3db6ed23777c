"""The first values of numeric columns, and the knots that views make of them: quantiles of a kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .. import _core
from ..rules.ranges import Range
from ..wording import counted
from .columns import PLAIN, ZERO, Columns, count_of
from .room import appended, joined
from .view import (
    KIND,
    MAX_MEAN,
    REAL,
    Arrays,
    Labelled,
    OtherRows,
    Placed,
    SeenRows,
    Shapes,
    View,
    check_filled,
    column_kinds,
    gained,
)  # fmt: skip

FIRST = 1000  # values of a column, as in core/views/first_values.hpp
UP_TO_FIRST = Range(0, FIRST, closed_low=True, closed_high=True)
OF_ROWS = Range(-FIRST, FIRST, closed_low=True, closed_high=True)
VALUES = Range(-MAX_MEAN, MAX_MEAN, closed_low=True, closed_high=True)


class Learned(NamedTuple):
    """The arrays of a view of first values.

    Attributes
    ----------
    kind : int8 array
        By column, see :mod:`confidently.views.columns`. The other arrays are of the numeric columns, in their order.
    rows : float64 array of shape (1,)
        Number of rows so far, at most 1,000; negative while knots are kept, since all rows are known.
    counts : float64 array
        Number of values so far, at most 1,000.
    knots : float64 array of shape (numeric columns, knots)
        Ascending; of the first 1, 2, 4, ..., 512 or 1,000 values, or of all that were known at once.
    sample : float64 array
        The values of the columns that have had fewer than 1,000, in the order of the columns and of the rows.
    """

    kind: np.ndarray
    rows: np.ndarray
    counts: np.ndarray
    knots: np.ndarray
    sample: np.ndarray


class FirstValues(View):
    """Base of views that compare a value with the first 1,000 of its column.

    What they make of these are ``n_knots`` numbers per column, which are renewed when the column has had 1, 2, 4, ...,
    512 and 1,000 values, and never after. So the statistics of a column depend on its values and their order only, and
    the values are kept no longer than until they are complete. Rows of weight 0 are not counted; other weights make no
    difference.

    Where rows are trained on in random order, so that all are known, the numbers are made before of up to 1,000 of
    them, and stay the same until training ends: weights fit what they were learned for.
    """

    takes_values = True
    has_scale = True
    comes_first = True
    rows_foreseen = FIRST

    @property
    def n_knots(self) -> int:
        """The number of knots of a column."""
        raise NotImplementedError

    def filled(self, kind: np.ndarray) -> int:
        """Return how many columns of rows differ from 0, whatever the rows are."""
        raise NotImplementedError

    def learned(self, arrays: Arrays) -> Learned:
        """Return the view's arrays by their meaning."""
        return Learned(*(arrays[f"{self.name}.{field}"] for field in Learned._fields))

    def _named(self, learned: Learned) -> Arrays:
        return {f"{self.name}.{field}": array for field, array in learned._asdict().items()}

    # --- the arrays -----------------------------------------------------------------------------------------------

    def new_arrays(self, n_classes: int) -> Arrays:
        return self._named(
            Learned(np.zeros(0, KIND), np.zeros(1), np.zeros(0), np.zeros((0, self.n_knots)), np.zeros(0))
        )

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        own = self.learned(state)
        kind = joined(own.kind, new.kind)
        check_filled(f"the view {self.name}", self.filled(kind))
        added = new.kind[new.kind != PLAIN]
        # a column that is 0 where it is absent has been 0 so far
        zeros = abs(int(own.rows[0]))
        count = joined(own.counts, np.where(added == ZERO, zeros, 0.0))
        sample = appended(own.sample, zeros * count_of(added, ZERO) if zeros < FIRST else 0)
        return self._named(Learned(kind, own.rows, count, appended(own.knots, len(added)), sample))

    def n_known(self, state: Arrays) -> int:
        return len(self.learned(state).kind)

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        own = self.learned(packed)
        n = int(np.count_nonzero(own.kind != PLAIN))
        size = int(np.maximum(own.counts[own.counts < FIRST], 0.0).sum())
        return {
            f"{self.name}.kind": ((n_features,), KIND),
            f"{self.name}.rows": ((1,), REAL),
            f"{self.name}.counts": ((n,), REAL),
            f"{self.name}.knots": ((n, self.n_knots), REAL),
            f"{self.name}.sample": ((size,), REAL),
        }

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        own = self.learned(packed)
        yield f"{self.name}.kind", own.kind, Range(0, ZERO, closed_low=True, closed_high=True)
        yield f"{self.name}.rows", own.rows, OF_ROWS
        yield f"{self.name}.counts", own.counts, UP_TO_FIRST
        yield f"{self.name}.knots", own.knots, VALUES
        yield f"{self.name}.sample", own.sample, VALUES

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        own = self.learned(packed)
        for field in ("rows", "counts"):
            if (np.floor(getattr(own, field)) != getattr(own, field)).any():
                raise ValueError(f"{self.name}.{field} must be integers")
        if (np.diff(own.knots) < 0.0).any():
            raise ValueError(f"{self.name}.knots must ascend")
        return packed

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        kind = column_kinds([*parts, base], f"{self.name}.kind", n_features)
        *each_rows, base_rows = (np.abs(part.arrays[f"{self.name}.rows"]) for part in (*parts, base))
        rows = gained(each_rows, base_rows)
        start = self._spread(base, kind)
        each = [self._spread(part, kind) for part in parts]
        gained([own.counts for own in each], start.counts)
        found, changed, other = start, np.zeros(n_features, bool), np.zeros(n_features, bool)
        for own in each:
            since = own.differs_from(start)
            apart = changed & since & own.differs_from(found)
            other |= apart
            found, changed = found.replaced(since & ~(apart & (own.counts <= found.counts)), own), changed | since
        # a column that is rare in the first rows of a base has the values of the model with most of them
        if (n_other := int(other.sum())) and base_rows[0] < FIRST:
            raise OtherRows(
                f"the first {FIRST:,} values of {counted(n_other, 'column')} differ between the models; merge models "
                f"that have continued from one that has seen at least {FIRST:,} rows"
            )
        numeric = kind != PLAIN
        sample = np.frombuffer(bytearray().join(found.sample[numeric]))
        return self._named(Learned(kind, np.minimum(rows, FIRST), found.counts[numeric], found.knots[numeric], sample))

    def _spread(self, part: Placed, kind: np.ndarray) -> _Spread:
        """Return what a part knows of all columns; one that is 0 where it is absent has been 0 if it lacks it."""
        own, n = self.learned(part.arrays), len(kind)
        rows = abs(int(own.rows[0]))
        absent = kind == ZERO
        absent[part.features] = False
        numeric = part.features[own.kind != PLAIN]
        found = _Spread(np.where(absent, rows, 0.0), np.zeros((n, self.n_knots)), np.full(n, b"", object))
        found.sample[absent] = bytes(8 * rows) if rows < FIRST else b""
        found.counts[numeric] = own.counts
        found.knots[numeric] = own.knots
        ends = np.cumsum(np.where(own.counts < FIRST, own.counts, 0.0)).astype(int)
        for j, values in zip(numeric, np.split(own.sample, ends[:-1]) if len(ends) else (), strict=True):
            found.sample[j] = values.tobytes()
        return found

    # --- rows -----------------------------------------------------------------------------------------------------

    def learn(self, state: Arrays, rows: Labelled, undo: _core.UndoLog | None) -> tuple[Arrays, SeenRows]:
        return super().learn(dict(state), rows, undo)  # in which the core replaces the sample

    def foreseen(self, state: Arrays, X: _core.Matrix, order: np.ndarray) -> Arrays:
        arrays = {name: array.copy() for name, array in self.arrays(state).items()}
        labels = np.zeros(len(order), np.int32)
        arrays, _ = self.learn(arrays, Labelled(X, order, 0, labels, None, None, None, 1), None)
        _core.renew_knots(self.name, arrays)
        return arrays | {f"{self.name}.rows": -arrays[f"{self.name}.rows"]}

    def settled(self, state: Arrays, regression: bool) -> Arrays:
        return {f"{self.name}.rows": np.abs(state[f"{self.name}.rows"])}


class _Spread(NamedTuple):
    """Counts, knots and samples of all columns, the latter as bytes."""

    counts: np.ndarray
    knots: np.ndarray
    sample: np.ndarray

    def differs_from(self, other: _Spread) -> np.ndarray:
        """Return by column whether two differ."""
        found: np.ndarray = (self.counts != other.counts) | (self.sample != other.sample).astype(bool)
        found |= (self.knots != other.knots).any(axis=1)
        return found

    def replaced(self, where: np.ndarray, other: _Spread) -> _Spread:
        """Return these with some columns of others."""
        return _Spread(
            np.where(where, other.counts, self.counts),
            np.where(where[:, None], other.knots, self.knots),
            np.where(where, other.sample, self.sample),
        )
