"""The mean of a mixture over the rows in random order that it has learned, which says what scores so far were like.

A mixture changes with every row, most of all with mistakes, which are rare where rows are easy. Its last state is one
of many: the scores before were those of the others, so that sets by these cover too little or too much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..covariances.state import State

LEAST, MOST = 16, 2048  # rows between two looks at a mixture, which are an eighth of those so far


class Mean(NamedTuple):
    """Means of what a mixture was after some rows, in which a look counts by the cube of their number.

    It is the same however rows are divided into calls.

    Attributes
    ----------
    rows, looked : int
        Rows so far, and at the last look.
    total : float
        How much the looks count, together.
    weights : tuple of float
        The mean weights of the members, empty before the first look.
    slopes : tuple of float
        The means of the logarithms of the slopes of their calibrations.
    """

    rows: int = 0
    looked: int = 0
    total: float = 0.0
    weights: tuple[float, ...] = ()
    slopes: tuple[float, ...] = ()

    @property
    def rows_to_come(self) -> int:
        """The rows after which the mixture is looked at next."""
        return self.looked + min(max(self.looked // 8, LEAST), MOST) - self.rows

    def after(self, rows: int, weights: Sequence[float], calibrations: Sequence[Sequence[float]]) -> Mean:
        """Return the mean after so many more rows, at most :attr:`rows_to_come`.

        ``calibrations`` are those of the members, which begin with their slopes.
        """
        if rows < self.rows_to_come:
            return self._replace(rows=self.rows + rows)
        now = self.rows + rows
        part = float(now - self.looked) * now**2
        total, found = self.total + part, [math.log(of_member[0]) for of_member in calibrations]
        means = (
            tuple(a + part / total * (b - a) for a, b in zip(mean or own, own, strict=True))
            for mean, own in ((self.weights, weights), (self.slopes, found))
        )
        return Mean(now, now, total, *means)

    def check(self, members: int) -> None:
        """Raise ``ValueError`` unless these may be the means of so many members."""
        if {len(self.weights), len(self.slopes)} != {members if self.looked else 0}:
            raise ValueError(f"means of {len(self.weights)} weights and {len(self.slopes)} slopes of {members} members")


def with_slope(state: State, logarithm: float) -> State:
    """Return a member's arrays with another slope of its calibration."""
    calibration = state["calibration"].copy()
    calibration[0] = math.exp(logarithm)
    return state | {"calibration": calibration}
