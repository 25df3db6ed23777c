"""Counts of decisions and of their rewards, as the log thread stores them."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import msgspec

from ..log.events import DEADLINE, labeller_in
from .logged_decisions import Decided, decided_in
from .measures import ratio

RECENT, MAX_NAMES, SHOWN = 1000, 10_000, 8  # rewards; actions that are counted; of those, shown


def reward_in(label: bytes) -> float:
    """Return the number that a label is, as JSON.

    >>> reward_in(b"2.5"), reward_in(b'"2.5"'), reward_in(b"true")
    (2.5, 2.5, 1.0)
    """
    return float(msgspec.json.decode(label))


class DecisionCounts:
    """Counts of decisions and rewards: a function of the events of the log up to one of them.

    Parameters
    ----------
    saved : dict, optional
        What :meth:`as_dict` returned before.

    Attributes
    ----------
    seq : int
        The last event that was counted.
    """

    def __init__(self, saved: dict[str, Any] | None = None) -> None:
        found = saved or {}
        self.seq = int(found.get("seq", 0))
        self.decisions, self.apprentice, self.matches = found.get("decided", [0, 0, 0])
        self.rewards, self.default_rewards, self.total = found.get("rewarded", [0, 0, 0.0])
        self._recent: deque[float] = deque(found.get("recent", ()), RECENT)
        self._actions: dict[str, int] = dict(found.get("actions", {}))
        self._lock = threading.Lock()  # the log thread counts, others read

    def as_dict(self) -> dict[str, Any]:
        """Return what snapshots keep."""
        with self._lock:
            return {
                "seq": self.seq, "decided": [self.decisions, self.apprentice, self.matches],
                "rewarded": [self.rewards, self.default_rewards, self.total],
                "recent": list(self._recent), "actions": dict(self._actions),
            }  # fmt: skip

    def decided(self, seq: int, decided: Decided) -> None:
        """Count a decision, by its event."""
        name = str(decided.taken)
        with self._lock:
            if seq <= self.seq:
                return
            self.seq, self.decisions = seq, self.decisions + 1
            if decided.would is not None:
                self.apprentice, self.matches = self.apprentice + 1, self.matches + (decided.would == decided.chosen)
            if name in self._actions or len(self._actions) < MAX_NAMES:
                self._actions[name] = self._actions.get(name, 0) + 1

    def rewarded(self, seq: int, reward: float, by_default: bool) -> None:
        """Count a reward, by its event."""
        with self._lock:
            if seq <= self.seq:
                return
            self.seq, self.rewards = seq, self.rewards + 1
            self.default_rewards, self.total = self.default_rewards + by_default, self.total + reward
            self._recent.append(reward)

    def restore(self, seq: int, note: bytes | None, label: bytes | None) -> None:
        """Count an event of the log again: a prediction, which has no label, or a label."""
        if label is not None:
            self.rewarded(seq, reward_in(label), labeller_in(note) == DEADLINE)
            return
        try:
            found = decided_in(note)
        except msgspec.ValidationError:  # a number of it is not finite
            return
        if found is not None:
            self.decided(seq, found)

    def shown(self) -> dict[str, Any]:
        """Return the counts as the server shows them."""
        with self._lock:
            top = sorted(self._actions.items(), key=lambda one: -one[1])[:SHOWN]
            return {
                "decisions": self.decisions, "rewards": self.rewards, "default_rewards": self.default_rewards,
                "mean_reward": ratio(self.total, self.rewards),
                "recent_mean_reward": ratio(sum(self._recent), len(self._recent)),
                "shares": {name: n / self.decisions for name, n in top},
                "match_rate": ratio(self.matches, self.apprentice),
            }  # fmt: skip
