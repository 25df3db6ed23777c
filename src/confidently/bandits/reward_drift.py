"""When a model of rewards should begin again: its predictions have become worse."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

STAKES = (0.25, 0.5, 1.0)
FALSE_ALARMS = 1e-6  # per reward, at most, while errors do not grow
MIN_BEFORE = 50  # errors that make a mean
MAX_LOSS = 0.99  # of a stake
MAX_KEPT = 1000  # latest rewards


class RewardDrift:
    """Bets that the squared errors of predictions exceed their mean so far, and remembers the latest rewards.

    With u = min(error^2, 1) and its mean m before the last bets began, a gambler who stakes f owns::

        M_t = max(M_(t-1), 1) (1 + f (u_t - m))

    While the expectation of u is at most m, the mean of M over several f reaches 1/a at a rate of at most a per reward
    (an e-detector; Shin, Ramdas & Rinaldo 2023). Errors of a model that learns decrease, so m is large rather than
    small. What changed is then learned from the rewards since the largest M last was 1.
    """

    def __init__(self) -> None:
        self.latest: deque[Any] = deque(maxlen=MAX_KEPT)
        self.begin()

    def begin(self) -> None:
        """Forget the errors."""
        self.logs = [0.0 for _ in STAKES]
        self.since = [0 for _ in STAKES]  # rewards since a fortune was 1
        self.total, self.count = 0.0, 0

    def record(self) -> dict[str, Any]:
        """Return the state as JSON has it."""
        return {name: list(value) if isinstance(value, deque) else value for name, value in vars(self).items()}

    def restore(self, record: dict[str, Any]) -> None:
        """Continue with a record."""
        vars(self).update(record, latest=deque(record["latest"], maxlen=MAX_KEPT))

    def add(self, error: float, row: Any) -> list[Any] | None:
        """Add the error of a prediction and what was learned; return what to learn again, if it is time."""
        self.latest.append(row)
        u = min(error * error, 1.0)
        mean = self.total / self.count if self.count else 1.0
        self.total, self.count = self.total + u, self.count + 1
        if self.count <= MIN_BEFORE:
            return None
        for k, stake in enumerate(STAKES):
            grown = self.logs[k] + math.log1p(stake * max(u - mean, -MAX_LOSS))
            self.since[k] = self.since[k] + 1 if grown > 0 else 0
            self.logs[k] = max(grown, 0.0)
        best = max(range(len(STAKES)), key=lambda k: self.logs[k])
        if self.logs[best] - math.log(len(STAKES)) < -math.log(FALSE_ALARMS):
            return None
        again = list(self.latest)[-self.since[best] :]
        self.begin()
        self.latest.clear()
        self.latest.extend(again)
        return again
