"""Replay: how a bandit that learns would have fared on logged decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bandit import ContextualBandit
from .intervals import Interval, normal_interval


@dataclass(frozen=True)
class Replayed:
    """The result of :func:`replay`.

    Attributes
    ----------
    rewards : ndarray of shape (n_matched,)
        Of the rounds that counted, in their order.
    rounds : ndarray of shape (n_matched,)
        Their numbers in the log.
    """

    rewards: NDArray[np.float64]
    rounds: NDArray[np.intp]

    @property
    def value(self) -> float:
        """The mean reward; NaN if no round counted."""
        return float(self.rewards.mean()) if len(self.rewards) else float("nan")

    def interval(self, alpha: float = 0.05) -> Interval:
        """Return the mean reward with its normal interval, as if the rounds were independent."""
        return normal_interval(self.value, self.rewards - self.value, alpha)


def replay(
    bandit: ContextualBandit,
    decisions: Sequence[Any],
    rewards: Any,
    contexts: Any = None,
    pscore: Any = None,
    random_state: int | None = None,
) -> Replayed:
    """Let a bandit decide on logged contexts; where it chooses the logged arm, it gets the reward and learns.

    The rounds that count are distributed as if the bandit had run alone, if the log is of a policy that chose
    uniformly at random. For other policies, pass their propensities: a round with propensity p then counts with
    probability min(pscore)/p.

    Parameters
    ----------
    bandit : ContextualBandit
        It is trained; its log is not touched.
    decisions, rewards, contexts
        As for :meth:`ContextualBandit.partial_fit`.
    pscore : array of shape (n,), optional
        By default, the log is of uniformly random choices.
    random_state : int, optional
        Seed of the choice of rounds by ``pscore``.

    Returns
    -------
    Replayed

    Raises
    ------
    ValueError
        As :meth:`ContextualBandit.partial_fit`, or if propensities are not in (0, 1].

    References
    ----------
    Li, Chu, Langford & Wang, WSDM 2011.

    Examples
    --------
    >>> bandit = ContextualBandit(["a", "b"], random_state=0)
    >>> found = replay(bandit, ["a", "b"] * 100, [0, 1] * 100)  # b always gets a reward
    >>> found.value > 0.8
    True
    """
    n = len(decisions)
    p = np.ones(n) if pscore is None else np.asarray(pscore, dtype=np.float64)
    if p.shape != (n,) or not ((p > 0) & (p <= 1)).all():
        raise ValueError(f"replay: pscore must be {n} probabilities in (0, 1], one per decision")
    found = np.asarray(rewards, dtype=np.float64)
    if found.shape != (n,):
        raise ValueError(f"replay: rewards must be {n} numbers, one per decision, got shape {found.shape}")
    counts = np.random.default_rng(random_state).random(n) < (p.min() / p if n else p)
    matched = []
    for i in np.flatnonzero(counts).tolist():
        context = None if contexts is None else contexts[[i]]
        if bandit.predict(context)[0] == decisions[i]:
            bandit.partial_fit([decisions[i]], found[[i]], context)
            matched.append(i)
    rounds = np.array(matched, dtype=np.intp)
    return Replayed(found[rounds], rounds)
