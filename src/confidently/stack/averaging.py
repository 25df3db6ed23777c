"""The mean of a mixture over the rows in random order that it has learned, which says what scores so far were like.

A mixture changes with every row, most of all with mistakes, which are rare where rows are easy. Its last state is one
of many: the scores before were those of the others, so that sets by these cover too little or too much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .plan import Member

ROWS = 256  # after which the mixture is looked at


class Mean:
    """Means of the weights of members and of the logarithms of their slopes, in which rows count by their number.

    It is the same however rows are divided into calls.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._total = 0.0
        self._sums: list[np.ndarray] = []

    def __bool__(self) -> bool:
        return self._total > 0.0

    @property
    def rows_to_come(self) -> int:
        """The rows after which the mixture is counted in next."""
        return ROWS - self._rows % ROWS

    def add(self, rows: int, weights: np.ndarray, members: Sequence[Member]) -> None:
        """Count in what a mixture is after so many more rows, at most :attr:`rows_to_come`."""
        self._rows += rows
        if self._rows % ROWS:
            return
        now = [weights, np.log([_calibration(member)[0] for member in members])]
        before = self._sums or [np.zeros(one.shape) for one in now]
        self._sums = [one + self._rows * more for one, more in zip(before, now, strict=True)]
        self._total += self._rows

    def take(self, members: Sequence[Member]) -> np.ndarray:
        """Let members have the mean slopes; return the mean weights."""
        weights, slopes = (one / self._total for one in self._sums)
        for member, slope in zip(members, np.exp(slopes).tolist(), strict=True):
            calibration = _calibration(member).copy()
            calibration[0] = slope
            member.state = member.state | {"calibration": calibration}
        return weights


def _calibration(member: Member) -> np.ndarray:
    found: np.ndarray = member.state["calibration"]
    return found
