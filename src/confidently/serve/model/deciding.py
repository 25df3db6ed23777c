"""Decisions: which action a model chooses for a context, and with what probability.

The policy maps the Gaussians over the rewards of all actions to probabilities, by which one is drawn. The draw is a
hash of the id, so a decision follows from the model, its settings and the request alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...bandits.actions import Action, Actions
from ...bandits.draws import drawn, uniform, with_shares
from ..problems import Problem
from .decision_rows import row_of
from .logged_decisions import Decided
from .settings import Deciding

if TYPE_CHECKING:
    from .choosing import DecidingModel

SEED = 0  # of draws, as of a DecisionModel unless it is given another


class Offered:
    """The actions of requests, read once.

    Parameters
    ----------
    ids : sequence of int or str
    lines : sequence of bytes
        Features of each action, as a JSON object.
    actions : sequence of Action
        With the same features, and the ids as strings.
    content : bytes
        The list as JSON, if it is so long that the log stores it once, beside the notes of decisions.

    Attributes
    ----------
    digest : bytes
        Of the content.
    numbers : dict
        Of the actions, by their ids as strings.
    all : int array
        All numbers, ascending.
    """

    def __init__(
        self, ids: Sequence[int | str], lines: Sequence[bytes], actions: Sequence[Action], content: bytes = b""
    ) -> None:
        self.ids, self.lines, self.actions = list(ids), list(lines), Actions(actions)
        self.content, self.digest = content, hashlib.sha256(content).digest()
        self.numbers = {id: k for k, id in enumerate(self.actions.ids)}
        self.all = np.arange(len(self.ids))

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, left: NDArray[np.intp]) -> list[int | str]:
        """Return the ids of some actions, by their ascending numbers."""
        return self.ids if len(left) == len(self) else [self.ids[k] for k in left.tolist()]


class Situation(NamedTuple):
    """What is to be decided, checked.

    Attributes
    ----------
    id : str
    context, slot : bytes
        JSON objects; ``{}`` is none.
    features : dict
        Of both, by name.
    offered : Offered
    left : int array
        The numbers of the actions that may be chosen, ascending.
    baseline : int
        The number of the action that would be taken without a model.
    deferred : bool
        Whether the decision counts only when it is activated.
    asked : bytes
        The request, as the log keeps it: without a long list of actions.
    """

    id: str
    context: bytes
    slot: bytes
    features: dict[str, float]
    offered: Offered
    left: NDArray[np.intp]
    baseline: int
    deferred: bool
    asked: bytes

    def without(self, taken: Sequence[int]) -> Situation:
        """Return the situation without actions that were chosen for other slots."""
        if not taken:
            return self
        left = np.setdiff1d(self.left, taken)
        if not len(left):
            raise Problem("invalid-body", "there are fewer actions than slots; give at least one per slot", "/slots")
        return self._replace(left=left, baseline=int(left[0]) if self.baseline in taken else self.baseline)

    def row(self, number: int) -> bytes:
        """Return the row of an action, by its number, as a line of JSON."""
        return row_of(self.context, self.slot, self.offered.actions.ids[number], self.offered.lines[number])


def decide(model: DecidingModel, version: int, seq: int, situation: Situation) -> Decided:
    """Choose an action.

    Parameters
    ----------
    model : DecidingModel
    version, seq : int
        Which version it is, and up to which event it has learned.
    situation : Situation
    """
    policy, offered, left = model.settings.policy, situation.offered, situation.left
    mean, variance = model.expected(situation.features, offered.actions)
    if len(left) < len(offered):
        mean, variance = mean[left], variance[left]
    probabilities = shares(policy, mean, variance, offered.actions, left)
    baseline = int(np.searchsorted(left, situation.baseline))
    chosen, would = drawn(probabilities, uniform(SEED, situation.id)), None
    if policy.apprentice:
        chosen, would = baseline, chosen
        probabilities = (np.arange(len(left)) == chosen).astype(np.float64)
    return Decided(
        chosen, offered.of(left), probabilities, mean, variance,
        policy.named(), version, seq, baseline, msgspec.Raw(situation.asked), situation.deferred, would,
    )  # fmt: skip


def shares(
    policy: Deciding, mean: np.ndarray, variance: np.ndarray, actions: Actions, left: NDArray[np.intp]
) -> np.ndarray:
    """Return the probability of some actions: that of the policy, after each has got its least share."""
    least = np.maximum(actions.shares[left], policy.least_share / len(left))
    if (total := float(least.sum())) > 1.0:
        raise Problem(
            "invalid-body", f"the least shares of the actions add up to {total:g}; at most 1 is possible", "/actions"
        )
    found = policy.made().quick_propensities(mean - actions.costs[left], variance)
    return with_shares(found, least)
