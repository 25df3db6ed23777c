"""The mean of a mixture over the rows in random order that it has learned, which says what scores so far were like.

A mixture changes with every row, most of all with mistakes, which are rare where rows are easy. Its last state is one
of many: the scores before were those of the others, so that sets by these cover too little or too much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..covariances.state import State

ROWS = 256  # after which the mixture is looked at


class Mean(NamedTuple):
    """Means of what a mixture was after every 256 rows, in which the k-th counts k times.

    It is the same however rows are divided into calls.

    Attributes
    ----------
    rows : int
        Rows so far.
    weights : tuple of float
        The mean weights of the members, empty before the first 256 rows.
    slopes : tuple of float
        The means of the logarithms of the slopes of their calibrations.
    """

    rows: int = 0
    weights: tuple[float, ...] = ()
    slopes: tuple[float, ...] = ()

    @property
    def rows_to_come(self) -> int:
        """The rows after which the mixture is counted in next."""
        return ROWS - self.rows % ROWS

    def after(self, rows: int, weights: Sequence[float], calibrations: Sequence[Sequence[float]]) -> Mean:
        """Return the mean after so many more rows, at most :attr:`rows_to_come`.

        ``calibrations`` are those of the members, which begin with their slopes.
        """
        rows += self.rows
        if rows % ROWS:
            return self._replace(rows=rows)
        now = weights, [math.log(of_member[0]) for of_member in calibrations]
        part = 2.0 / (rows // ROWS + 1)
        means = (
            tuple(a + part * (b - a) for a, b in zip(mean or found, found, strict=True))
            for mean, found in zip(self[1:], now, strict=True)
        )
        return Mean(rows, *means)

    def check(self, members: int) -> None:
        """Raise ``ValueError`` unless these may be the means of so many members."""
        if {len(self.weights), len(self.slopes)} != {members if self.rows >= ROWS else 0}:
            raise ValueError(f"means of {len(self.weights)} weights and {len(self.slopes)} slopes of {members} members")


def with_slope(state: State, logarithm: float) -> State:
    """Return a member's arrays with another slope of its calibration."""
    calibration = state["calibration"].copy()
    calibration[0] = math.exp(logarithm)
    return state | {"calibration": calibration}
