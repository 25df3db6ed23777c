"""When a model of rewards should begin again: its predictions have become worse."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, TypedDict

from ..data.sources.json_schema import Count, Interval, parse

STAKES = (0.25, 0.5, 0.9)
ALARMS = 50  # after n rewards, at most 1/(50 n) false alarms are expected per reward
MIN_BEFORE = 50  # errors that make a mean
MAX_KEPT = 1000  # latest rewards

_NotNegative = Annotated[float, Interval(0.0, math.inf)]


class _Numbers(TypedDict):
    logs: list[_NotNegative]
    squares: _NotNegative
    variances: _NotNegative
    shortfall: float
    count: Count


class _Latest(NamedTuple):
    expected: float
    reward: float
    row: tuple[dict[str, float], str, dict[str, float], float, float]


class RewardDrift:
    """Bets that predictions are worse than before, and remembers the latest rewards.

    Of every reward r that was expected to be m, in ranges of rewards, and with e = r - m, two numbers x in [-1, 1]
    should not grow: e^2 - k m (1 - m), and -e, by which the reward was lower than expected. The variance of rewards 0
    and 1 is m (1 - m); k is the sum of e^2 so far over that of m (1 - m), at most 1. With the mean of x so far, or
    b = 0 if that is negative, a gambler who stakes f owns::

        M_t = max(M_(t-1), 1) (1 + f (x_t - b)/(1 + b))

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
        self.squares = self.variances = self.shortfall = 0.0  # sums of e^2, m (1 - m) and -e
        self.count = 0

    def lines(self) -> list[str]:
        """Return the state as JSON: the numbers, and each of the latest rewards."""
        numbers = {name: value for name, value in vars(self).items() if name != "latest"}
        return [json.dumps(one) for one in (numbers, *self.latest)]

    def restore(self, lines: Sequence[str]) -> None:
        """Continue with what :meth:`lines` returned; ``ValueError``: it did not."""
        numbers, latest = parse(lines[0], _Numbers), [parse(line, _Latest) for line in lines[1:]]
        if len(numbers["logs"]) != len(self.logs) or len(latest) > MAX_KEPT:
            raise ValueError("what is known of drift does not fit")
        vars(self).update(numbers, latest=deque(latest, maxlen=MAX_KEPT))

    def add(self, expected: float, reward: float, row: Any) -> list[Any] | None:
        """Add a prediction, its reward and what was learned; return what to learn from scratch, if it is time."""
        self.latest.append((expected, reward, row))
        for number in range(len(self.logs)) if self.count >= MIN_BEFORE else ():
            self.logs[number] = max(self.logs[number] + self._growth(number, expected, reward), 0.0)
        best = max(range(len(self.logs)), key=self.logs.__getitem__)
        if self.count < MIN_BEFORE or self.logs[best] < math.log(len(self.logs) * ALARMS * self.count):
            m, error = _clipped(expected, reward)
            self.squares += error * error
            self.variances += m * (1.0 - m)
            self.shortfall -= error
            self.count += 1
            return None
        grown, again = 0.0, list[Any]()
        while self.latest and grown < 0.5 * self.logs[best]:
            expected, reward, row = self.latest.pop()
            grown += self._growth(best, expected, reward)
            again.append(row)
        self.latest.clear()
        self.begin()
        return again[::-1]

    def _growth(self, number: int, expected: float, reward: float) -> float:
        """Return by how much the logarithm of a fortune grows."""
        m, error = _clipped(expected, reward)
        if number < len(STAKES):
            factor = min(self.squares / self.variances, 1.0) if self.variances else 0.0
            x, mean = error * error - factor * m * (1.0 - m), (self.squares - factor * self.variances) / self.count
        else:
            x, mean = -error, self.shortfall / self.count
        mean = max(mean, 0.0)
        return math.log1p(STAKES[number % len(STAKES)] * (x - mean) / (1.0 + mean))


def _clipped(expected: float, reward: float) -> tuple[float, float]:
    """Return the expected reward in [0, 1], and the error in [-1, 1]."""
    return min(max(expected, 0.0), 1.0), min(max(reward - expected, -1.0), 1.0)
