"""When a model of rewards should begin again: its predictions have become worse."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

STAKES = (0.25, 0.5, 0.9)
ALARMS = 50  # after n rewards, at most 1/(50 n) false alarms are expected per reward
MIN_BEFORE = 50  # errors that make a mean
MAX_KEPT = 1000  # latest rewards


class RewardDrift:
    """Bets that predictions are worse than before, and remembers the latest rewards.

    Of every error e = r - m of an expected reward m, in ranges of rewards, two numbers x in [-1, 1] should not grow:
    the square, and -e, by which the reward was lower than expected. With the mean b of x so far, a gambler who stakes
    f owns::

        M_t = max(M_(t-1), 1) (1 + f (x_t - b)/(1 + |b|))

    While the expectation of x is at most b, the mean of M over both numbers and several f reaches 1/a at a rate of at
    most a per reward (an e-detector; Shin, Ramdas & Rinaldo 2023). With a = 1/(50 n) after n rewards, a fifth of a
    false alarm is expected among the first million. What changed is then learned from the latest rewards, in which the
    largest M grew from its square root.
    """

    def __init__(self) -> None:
        self.latest: deque[Any] = deque(maxlen=MAX_KEPT)
        self.begin()

    def begin(self) -> None:
        """Forget the errors."""
        self.logs = [0.0] * (2 * len(STAKES))  # of the fortunes
        self.totals, self.count = [0.0, 0.0], 0

    def record(self) -> dict[str, Any]:
        """Return the state as JSON has it."""
        return {name: list(value) if isinstance(value, deque) else value for name, value in vars(self).items()}

    def restore(self, record: dict[str, Any]) -> None:
        """Continue with a record."""
        vars(self).update(record, latest=deque(record["latest"], maxlen=MAX_KEPT))

    def add(self, error: float, row: Any) -> list[Any] | None:
        """Add the error of a prediction and what was learned; return what to learn from scratch, if it is time."""
        self.latest.append((error, row))
        found = _signs(error)
        for number in range(len(self.logs)) if self.count >= MIN_BEFORE else ():
            self.logs[number] = max(self.logs[number] + self._growth(number, found), 0.0)
        best = max(range(len(self.logs)), key=self.logs.__getitem__)
        if self.count < MIN_BEFORE or self.logs[best] < math.log(len(self.logs) * ALARMS * self.count):
            self.totals = [total + x for total, x in zip(self.totals, found, strict=True)]
            self.count += 1
            return None
        grown, again = 0.0, list[Any]()
        while self.latest and grown < 0.5 * self.logs[best]:
            error, row = self.latest.pop()
            grown += self._growth(best, _signs(error))
            again.append(row)
        self.latest.clear()
        self.begin()
        return again[::-1]

    def _growth(self, number: int, found: tuple[float, float]) -> float:
        """Return by how much the logarithm of a fortune grows."""
        which, stake = divmod(number, len(STAKES))
        mean = self.totals[which] / self.count
        return math.log1p(STAKES[stake] * (found[which] - mean) / (1.0 + abs(mean)))


def _signs(error: float) -> tuple[float, float]:
    """Return what should not grow."""
    clipped = min(max(error, -1.0), 1.0)
    return clipped * clipped, -clipped
