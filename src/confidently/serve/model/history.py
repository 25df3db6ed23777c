"""Rates over the last hour: rows learned and predicted, and predictions whose label was asked for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

POINT_SECONDS = 15
POINTS = 240


class History:
    """Counts of the last hour, in points of a quarter of a minute.

    Parameters
    ----------
    points : sequence, optional
        What :meth:`as_list` returned before.
    """

    def __init__(self, points: Sequence[Sequence[int]] = ()) -> None:
        self._points: deque[list[int]] = deque((list(point) for point in points), POINTS)

    def add(self, learned: int = 0, predicted: int = 0, asked: int = 0) -> None:
        """Count rows of now."""
        start = _point(time.time())
        if not self._points or self._points[-1][0] < start:
            self._points.append([start, 0, 0, 0])
        last = self._points[-1]
        last[1], last[2], last[3] = last[1] + learned, last[2] + predicted, last[3] + asked

    def as_list(self) -> list[list[int]]:
        """Return what snapshots keep."""
        return [list(point) for point in list(self._points)]

    def shown(self) -> list[dict[str, Any]]:
        """Return the complete points of the last hour, those without rows too, from the first one with any."""
        now = _point(time.time())
        found = {point[0]: point for point in self.as_list() if now - point[0] <= POINTS * POINT_SECONDS}
        return [
            {
                "time": start, "learned": learned / POINT_SECONDS, "predicted": predicted / POINT_SECONDS,
                "asked": asked / predicted if predicted else None,
            }
            for start in range(min(found, default=now), now, POINT_SECONDS)
            for _, learned, predicted, asked in [found.get(start, (start, 0, 0, 0))]
        ]  # fmt: skip


def _point(at: float) -> int:
    return int(at) // POINT_SECONDS * POINT_SECONDS
