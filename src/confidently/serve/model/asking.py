"""Whether to ask for the label of a row: if its prediction is among the least certain ones, of a given fraction.

How certain a prediction is, relative to those of the rows learned, is known of each before it was learned: classes have
the histogram of their most probable ones (``tasks/conformal.py``); of label sets, and without a calibration, some rows
are predicted before they are learned. If labels come only of rows that were asked for, learned rows are less certain
than others. So the level below which a prediction asks follows the stored predictions: it falls with every one that
asked and rises with the others, until the fraction is right.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...tasks.conformal import ConformalSets

RATE = 0.05  # by which the logarithm of the level changes with a stored prediction
LEAST_LEVEL = 1e-3
FIRST_SAMPLED, SAMPLED = 16, 32  # of so many events, one is predicted before it is learned: until KEPT are, and then
SPREAD = 0x9E3779B1  # 2**32 over the golden ratio: its multiples modulo 2**32 are spread evenly
KEPT = 40  # certainties of sampled rows; they grow while a model learns, so that old ones say little


class Asking:
    """What a model knows about the certainty of its predictions.

    It is a function of the events of the log: of the rows learned, and of whether stored predictions asked.

    Parameters
    ----------
    share : float
        The fraction of predictions that ask for a label.
    saved : dict, optional
        What :meth:`as_dict` returned before.

    Attributes
    ----------
    seq : int
        The event of the last stored prediction that was counted.
    """

    def __init__(self, share: float, saved: dict[str, Any] | None = None) -> None:
        found = saved or {}
        self.share = share
        self._level: tuple[float, int] = (float(found.get("level", share)), int(found.get("seq", 0)))  # set at once
        self._sampled: deque[float] = deque(map(float, found.get("sampled", ())), KEPT)
        self._sorted: list[float] | None = None

    @property
    def seq(self) -> int:
        return self._level[1]

    def as_dict(self) -> dict[str, Any]:
        """Return what snapshots keep."""
        level, seq = self._level
        return {"level": level, "seq": seq, "sampled": list(self._sampled)}

    def begin_again(self) -> None:
        """Forget the rows learned, which are learned again."""
        self._sampled.clear()
        self._sorted = None

    def predicted(self, seq: int, asked: bool) -> None:
        """Count a stored prediction, by its event."""
        level, before = self._level
        if 0.0 < self.share < 1.0 and seq > before:
            level = min(max(level * math.exp(RATE * (self.share - asked)), LEAST_LEVEL), 1.0)
            self._level = (level, seq)

    def take_share(self, share: float) -> None:
        """Ask for another fraction of labels from now on."""
        if share != self.share:
            self.share, self._level = share, (share, self.seq)

    def take_traffic(self, before: Asking) -> None:
        """Go on from the stored predictions of the version that answered before."""
        level, seq = before._level
        self._level = (level if self.share == before.share else self.share, seq)

    def wants(self, seq: int) -> bool:
        """Return whether the row of an event is to be predicted before it is learned, for :meth:`sampled`."""
        n = SAMPLED if len(self._sampled) == KEPT else FIRST_SAMPLED
        return seq * SPREAD % 2**32 < 2**32 // n

    def sampled(self, certainty: float) -> None:
        """Count a row that was predicted before it was learned."""
        self._sampled.append(certainty)
        self._sorted = None

    # --- what asks -------------------------------------------------------------------------------------------------

    def of_probabilities(self, learned: ConformalSets, probability: np.ndarray) -> np.ndarray:
        """Return whether predictions of classes ask; all do until the rows learned can tell."""
        if self._is_fixed or learned.rows * self.share < 1.0:
            return self._all(len(probability))
        return learned.conformity(probability) <= self._level[0]

    def of_certainties(self, certainty: Iterable[float]) -> np.ndarray:
        """Return whether predictions ask by their certainty; all do until there are rows enough."""
        values = list(certainty)
        if self._is_fixed or len(self._sampled) * self.share < 1.0:
            return self._all(len(values))
        if self._sorted is None:
            self._sorted = sorted(self._sampled)
        rows = len(self._sorted) + 1
        ranks = np.array([bisect_right(self._sorted, value) for value in values])
        return (ranks + 1) / rows <= self._level[0]

    @property
    def _is_fixed(self) -> bool:
        return not 0.0 < self.share < 1.0

    def _all(self, n: int) -> np.ndarray:
        return np.full(n, self.share > 0.0)
