"""The metrics of a served model so far: progressive errors, calibration, rates."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from .alarms import Alarms
from .decision_counts import DecisionCounts
from .gain import expected_gain
from .history import History
from .measures import CLASSES, Measures, ratio

MAX_POINTS = 240  # of a curve; beyond, neighbors are joined
RECENT_ROWS = 1000  # of the window whose error is called recent
BINS = 10  # of the reliability diagram
RATE_SECONDS = 60
Z = 1.959963984540054  # two-sided 95 %


class Curve:
    """Counts over time, in at most :data:`MAX_POINTS` points of about as many rows each.

    A point has the time of its last row (seconds since 1970), its rows, and the sums of what is measured of them.
    """

    def __init__(self, points: Sequence[Sequence[float]] = (), rows_per_point: int = 1) -> None:
        self.points = [list(point) for point in points]
        self.rows_per_point = rows_per_point
        self._open = False

    def add(self, at: float, rows: int, *sums: float) -> None:
        """Add some rows."""
        if not self._open:
            self.points.append([at, rows, *sums])
        else:
            last = self.points[-1]
            last[:] = at, last[1] + rows, *(a + b for a, b in zip(last[2:], sums, strict=True))
        last = self.points[-1]
        self._open = last[1] < self.rows_per_point
        if len(self.points) > MAX_POINTS and not self._open:
            self.rows_per_point *= 2
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            odd = self.points[-1:] if len(self.points) % 2 else []
            self.points = [[b[0], *map(sum, zip(a[1:], b[1:], strict=True))] for a, b in pairs] + odd


class Rate:
    """Counts per second, over the last minute."""

    def __init__(self) -> None:
        self._seconds: deque[list[float]] = deque()

    def add(self, n: int) -> None:
        """Count events of now."""
        second = float(int(time.monotonic()))
        if not self._seconds or self._seconds[-1][0] != second:
            self._seconds.append([second, 0])
            self._forget(second)
        self._seconds[-1][1] += n

    def per_second(self) -> float:
        """Return the mean over the last minute, or since the first event if that is later."""
        now = time.monotonic()
        recent = [(second, n) for second, n in list(self._seconds) if second >= now - RATE_SECONDS]  # of any thread
        return sum(n for _, n in recent) / max(now - recent[0][0], 1.0) if recent else 0.0

    def _forget(self, now: float) -> None:
        while self._seconds and self._seconds[0][0] < now - RATE_SECONDS:
            self._seconds.popleft()


class Metrics:
    """Metrics of one model.

    Parameters
    ----------
    saved : dict, optional
        What :meth:`as_dict` returned before.
    measures : Measures
        Of the model's task.

    Attributes
    ----------
    rows : int
        Rows learned.
    sums : tuple of float
        What is measured of them, as ``measures`` names it.
    """

    def __init__(self, saved: dict[str, Any] | None = None, measures: Measures = CLASSES) -> None:
        found, self.measures = saved or {}, measures
        self.rows, self.refused = found.get("rows", 0), found.get("refused", 0)
        self.sums: tuple[float, ...] = tuple(found.get(name, 0) for name in measures.sums)
        self.curve = Curve(found.get("curve", ()), found.get("rows_per_point", 1))
        self.bins = [list(one) for one in found.get("bins", [[0, 0.0, 0]] * BINS)]  # rows, sum of p, hits
        self.predicted, self.asked = found.get("predicted", 0), found.get("asked", 0)
        self.history, self.decisions = History(found.get("history", ())), DecisionCounts(found.get("decisions"))
        self.alarms = Alarms(found.get("alarms"), measures.alarms)
        self.learn_rate, self.predict_rate = Rate(), Rate()
        self._recent: deque[tuple[float, ...]] = deque()
        self._recent_rows = 0

    def learned(self, rows: int, *sums: float, live: bool = True) -> None:
        """Count learned rows, which were predicted before."""
        if rows <= 0:
            return
        self.rows += rows
        self.sums = tuple(a + b for a, b in zip(self.sums, sums, strict=True))
        self.curve.add(time.time(), rows, *sums)
        self._recent.append((rows, *sums))
        self.alarms.learned(rows, sums)
        self._recent_rows += rows
        while self._recent_rows - self._recent[0][0] >= RECENT_ROWS:
            self._recent_rows -= int(self._recent.popleft()[0])
        if live:
            self.learn_rate.add(rows)
            self.history.add(learned=rows)

    def began_again(self) -> None:
        """Forget the rows that are learned again, since the first of them showed another kind of rows."""
        self.rows, self.sums = 0, (0,) * len(self.sums)
        self.curve = Curve()
        self.alarms.begin_again()
        self._recent.clear()
        self._recent_rows = 0

    def take_traffic(self, before: Metrics) -> None:
        """Continue the counts of what is asked of a model, after another version of it answered before."""
        self.predicted, self.asked, self.history = before.predicted, before.asked, before.history
        self.learn_rate, self.predict_rate = before.learn_rate, before.predict_rate
        self.decisions = before.decisions

    def judged(self, probability: float, hit: bool) -> None:
        """Count a stated probability, of a predicted class or an interval, and whether what it is of was true."""
        one = self.bins[min(int(probability * BINS), BINS - 1)]
        one[0], one[1], one[2] = one[0] + 1, one[1] + probability, one[2] + hit

    def answered(self, rows: int, asked: int) -> None:
        """Count answered questions, and those whose label is asked for."""
        self.predicted, self.asked = self.predicted + rows, self.asked + asked
        self.predict_rate.add(rows)
        self.history.add(predicted=rows, asked=asked)

    def as_dict(self) -> dict[str, Any]:
        """Return what snapshots keep."""
        return {
            "rows": self.rows, "refused": self.refused, **dict(zip(self.measures.sums, self.sums, strict=True)),
            "curve": self.curve.points, "rows_per_point": self.curve.rows_per_point, "bins": self.bins,
            "predicted": self.predicted, "asked": self.asked, "history": self.history.as_list(),
            "alarms": self.alarms.as_dict(),
            **({"decisions": self.decisions.as_dict()} if self.decisions.seq else {}),
        }  # fmt: skip

    def gain(self) -> dict[str, Any] | None:
        """Return what more labels are expected to bring, if anything is; of numbers it is not known."""
        found = expected_gain(self.curve.points) if self.measures is CLASSES else None
        return None if found is None else found._asdict()

    def shown(self) -> dict[str, Any]:
        """Return the metrics as the server shows them."""
        means = self.measures.means
        recent, *recent_sums = map(sum, zip((0, *(0.0 for _ in self.sums)), *self._recent, strict=True))
        return {
            "rows": self.rows, **means(self.rows, self.sums),
            "recent": {"rows": recent, **means(recent, recent_sums)},
            "alarms": self.alarms.shown(),
            "refused": self.refused,
            "predicted": self.predicted,
            "asked": self.asked,
            "learns_per_second": round(self.learn_rate.per_second(), 3),
            "predictions_per_second": round(self.predict_rate.per_second(), 3),
            "history": self.history.shown(),
            "curve": [{"time": at, "rows": rows, **means(rows, sums)} for at, rows, *sums in self.curve.points],
            "reliability": [
                {"rows": rows, "probability": ratio(p, rows), "accuracy": ratio(hits, rows)}
                for rows, p, hits in self.bins
            ],
        }  # fmt: skip


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson 1927); the whole range if nothing was counted."""
    if n == 0:
        return 0.0, 1.0
    p, z2 = hits / n, Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(middle - half, 0.0), min(middle + half, 1.0)
