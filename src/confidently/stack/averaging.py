"""The mean of a mixture over the rows in random order that it has learned, which says what scores so far were like.

A mixture changes with every row, most of all with mistakes, which are rare where rows are easy. Its last state is one
of many: the scores before were those of the others, so that sets by these cover too little or too much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..covariances.state import State

LOOKS, SHARE = 8, 4  # looks at a mixture, all in the last quarter of the rows
LEAST, MOST = 64, 2048  # rows between two looks where that quarter is not known
POWER = 4  # of the number of rows, by which a look counts


class Mean(NamedTuple):
    """Means of what a mixture was after some rows, in which early looks count less.

    Rows are those that calibrate. The means are the same however rows are divided into calls.

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

    def next_look(self, end: float) -> float:
        """Return the number of rows after which the mixture is looked at next; ``end`` is their last, if known."""
        if math.isinf(end):
            return self.looked + min(max(self.looked // (LOOKS * SHARE), LEAST), MOST)
        apart = max(end // (LOOKS * SHARE), 1)
        looks = min((end - self.rows - 1) // apart, LOOKS - 1)
        return end - looks * apart if self.rows < end else math.inf

    def after(self, rows: int, end: float, weights: Sequence[float], calibrations: Sequence[Sequence[float]]) -> Mean:
        """Return the mean after so many more rows, until :meth:`next_look` at most.

        ``calibrations`` are those of the members, which begin with their slopes.
        """
        now = self.rows + rows
        if now < self.next_look(end):
            return self._replace(rows=now)
        total, found = self.total * (self.looked / now) ** POWER + 1.0, [math.log(own[0]) for own in calibrations]
        means = (
            tuple(a + (b - a) / total for a, b in zip(mean or own, own, strict=True))
            for mean, own in ((self.weights, weights), (self.slopes, found))
        )
        return Mean(now, now, total, *means)

    def begun_again(self) -> Mean:
        """Return the mean of another mixture on the same rows, before the next look."""
        return Mean(self.rows, self.rows)

    def check(self, members: int) -> None:
        """Raise ``ValueError`` unless these may be the means of so many members."""
        if len(self.weights) != len(self.slopes) or len(self.weights) not in (0, members):
            raise ValueError(f"means of {len(self.weights)} weights and {len(self.slopes)} slopes of {members} members")


def with_slope(state: State, logarithm: float) -> State:
    """Return a member's arrays with another slope of its calibration."""
    calibration = state["calibration"].copy()
    calibration[0] = math.exp(logarithm)
    return state | {"calibration": calibration}
