"""Alarms: signs that the rows have changed, from what was said of them before they were learned."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

ERROR, LOG_LOSS, MAE, COVERAGE, ORDER = KINDS = ("error", "log-loss", "mae", "coverage", "order")
RECENT, PART = 1000, 100  # rows that are compared with those before, in parts
RECENT_PARTS, MIN_BEFORE, MAX_BEFORE = RECENT // PART, 20, 50  # parts; older ones are forgotten
RAISED, ENDED = 5.0, 2.0  # standard errors by which recent rows are worse
BLOCK = 10  # parts whose means show how much errors vary from time to time
COVERED, SETS = 0.9, 500  # of sampled sets, and how many are recent
MIN_SETS = 100


class Alarm(NamedTuple):
    """A sign that rows have changed: its kind, since when, in seconds since 1970, and what was found then."""

    kind: str
    since: float
    detail: str


class Alarms:
    """What has changed in recent rows.

    Error and log-loss of the last 1,000 rows are compared with those of the up to 5,000 before, in steps of 100 rows.
    An alarm begins where recent rows are worse by five standard errors, and ends where this is less than two. The
    standard error is the largest of what chance alone gives, of what parts of 100 rows show, and of what parts of 1,000
    do, since errors of real streams come in groups.

    Parameters
    ----------
    saved : dict, optional
        What :meth:`as_dict` returned before.
    measured : tuple of str
        The kinds of alarms that the first sums of what is measured are of.

    Attributes
    ----------
    raised : int
        Alarms so far.
    """

    def __init__(self, saved: dict[str, Any] | None = None, measured: tuple[str, ...] = (ERROR, LOG_LOSS)) -> None:
        found, self._measured = saved or {}, measured
        self.raised = int(found.get("raised", 0))
        self._parts = deque((list(map(float, one)) for one in found.get("parts", ())), RECENT_PARTS + MAX_BEFORE)
        self._open = list(map(float, found.get("open", self._nothing)))  # rows, and sums of what is measured
        self._covered = deque(map(bool, found.get("covered", ())), SETS)
        self._alarms = {kind: Alarm(kind, float(since), detail) for kind, since, detail in found.get("alarms", ())}

    def as_dict(self) -> dict[str, Any]:
        """Return what snapshots keep."""
        return {
            "raised": self.raised, "parts": list(self._parts), "open": self._open,
            "covered": list(map(int, self._covered)), "alarms": list(self._alarms.values()),
        }  # fmt: skip

    def now(self) -> list[Alarm]:
        """Return the alarms that have not ended; of any thread."""
        return list(self._alarms.values())

    def shown(self) -> list[dict[str, Any]]:
        """Return the alarms that have not ended, as the server shows them; of any thread."""
        return [alarm._asdict() for alarm in self.now()]

    def begin_again(self) -> None:
        """Forget the rows that are learned again."""
        self._parts.clear()
        self._open = self._nothing

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of alarms that there may be."""
        return (*self._measured, COVERAGE, ORDER)

    @property
    def _nothing(self) -> list[float]:
        return [0.0] * (1 + len(self._measured))

    # --- what is counted -------------------------------------------------------------------------------------------

    def learned(self, rows: int, sums: Sequence[float]) -> None:
        """Count rows, which were predicted before they were learned; many at once are taken to be alike."""
        means = [value / max(rows, 1) for value in sums[: len(self._measured)]]
        while rows > 0:
            some = min(rows, PART - int(self._open[0]))
            added = (some, *(some * mean for mean in means))
            self._open = [value + more for value, more in zip(self._open, added, strict=True)]
            rows -= some
            if self._open[0] >= PART:
                self._parts.append([value / PART for value in self._open[1:]])
                self._open = self._nothing
                self._compare()

    def sampled(self, covered: Sequence[bool]) -> None:
        """Count rows by whether their sets of coverage .9, before they were learned, had the class."""
        self._covered.extend(covered)
        n = len(self._covered)
        if n < MIN_SETS:
            return
        share = sum(self._covered) / n
        excess = (COVERED - share) / math.sqrt(COVERED * (1.0 - COVERED) / n)
        self._tell(COVERAGE, excess, f"sets for coverage {COVERED:g} had the class of {share:.1%} of {n} sampled rows")

    def ordered(self, rung: int, quiet: int) -> None:
        """Take over how often a martingale has rung (``tasks/conformal.py``), and the rows since."""
        told = "predictions have become worse, more than the order of rows could make them by chance"
        self._tell(ORDER, math.inf if rung and quiet < RECENT else 0.0, told)

    def _compare(self) -> None:
        n = len(self._parts) - RECENT_PARTS
        if n < MIN_BEFORE:
            return
        parts = np.array(self._parts)
        before = parts[:n]
        means, recent = before.mean(axis=0), parts[n:].mean(axis=0)
        blocks = before[n % BLOCK :].reshape(-1, BLOCK, len(self._measured)).mean(axis=1)
        spread = np.maximum(_variance(before), BLOCK * _variance(blocks))
        if self._measured[0] == ERROR:  # which varies by chance as mistakes of coins do
            spread[0] = max(spread[0], means[0] * (1.0 - means[0]) / PART)
        error = np.sqrt(spread * (1.0 / RECENT_PARTS + 1.0 / n))
        for kind, new, old, one in zip(self._measured, recent.tolist(), means.tolist(), error.tolist(), strict=True):
            excess = (new - old) / one if one > 0.0 else math.inf if new > old else 0.0
            self._tell(
                kind, excess, f"{kind} %.3g in the last {RECENT:,} rows, %.3g in the {PART * n:,} before", new, old
            )

    def _tell(self, kind: str, excess: float, detail: str, *values: float) -> None:
        if kind in self._alarms:
            if excess < ENDED:
                self._alarms = {other: alarm for other, alarm in self._alarms.items() if other != kind}
        elif excess > RAISED:
            self.raised += 1
            self._alarms = self._alarms | {kind: Alarm(kind, time.time(), detail % values if values else detail)}


def _variance(values: np.ndarray) -> np.ndarray:
    """Return the variances of columns by the differences of neighbors, in which a trend counts little."""
    return np.square(values[1:] - values[:-1]).sum(axis=0) / (2 * (len(values) - 1))
