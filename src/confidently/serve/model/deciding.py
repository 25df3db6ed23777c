"""Decisions: which action a model chooses for a context, with what probability, and what its log keeps of that.

The policy maps the Gaussians over the rewards of all actions to probabilities, by which one is drawn. The draw is a
hash of the id, so a decision follows from the model, its settings and the request alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...bandits.actions import Action, Actions
from ...bandits.draws import drawn, uniform, with_shares
from ..problems import Problem
from .decision_rows import row_of
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
    """

    def __init__(self, ids: Sequence[int | str], lines: Sequence[bytes], actions: Sequence[Action]) -> None:
        self.ids, self.lines, self.actions = list(ids), list(lines), Actions(actions)
        self.numbers = {id: k for k, id in enumerate(self.actions.ids)}

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
        The request, as the log keeps it.
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


class Decided(msgspec.Struct, omit_defaults=True):
    """What the log keeps of a decision, beside the row of the action that was chosen.

    Attributes
    ----------
    chosen : int
        The number of the action.
    actions : list of int or str
        Their ids.
    probabilities : list of float
        Those by which it was drawn, one per action.
    mean, variance : list of float
        Of the Gaussians over the expected rewards; empty before the first reward.
    policy : Deciding
    version, seq : int
        The version that decided, and the event up to which it had learned.
    baseline : int
    asked : raw JSON
        The request.
    deferred : bool
    would : int, optional
        Of an apprentice, which takes the baseline: what the policy would have chosen.
    """

    chosen: int
    actions: list[int | str]
    probabilities: list[float]
    mean: list[float]
    variance: list[float]
    policy: Deciding
    version: int
    seq: int
    baseline: int
    asked: msgspec.Raw
    deferred: bool = False
    would: int | None = None


class DecisionNote(msgspec.Struct):
    """The note of the event of a decision: an answer about the row that was chosen, and the decision."""

    decision: Decided
    label: float | None = None
    interval: None = None
    variance: float | None = None
    ask: bool = False


class _Deferred(msgspec.Struct):
    deferred: bool = False


class _DeferredNote(msgspec.Struct):
    decision: _Deferred


def deferred_in(note: bytes | None) -> bool | None:
    """Return whether the decision that a note keeps was deferred, if it keeps one; of many actions nothing is read."""
    if not _is_decision(note):
        return None
    return msgspec.json.decode(note, type=_DeferredNote).decision.deferred


def _is_decision(note: bytes | None) -> TypeGuard[bytes]:
    return note is not None and note.startswith(b'{"decision":')


def decided_in(note: bytes | None) -> Decided | None:
    """Return the decision that a note of a prediction keeps, if it is one."""
    if not _is_decision(note):
        return None
    return msgspec.json.decode(note, type=DecisionNote).decision


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
    mean, variance = (part[left] for part in model.expected(situation.features, offered.actions))
    probabilities = shares(policy, mean, variance, offered.actions, left)
    baseline = int(np.searchsorted(left, situation.baseline))
    chosen, would = drawn(probabilities, uniform(SEED, situation.id)), None
    if policy.apprentice:
        chosen, would = baseline, chosen
        probabilities = (np.arange(len(left)) == chosen).astype(np.float64)
    return Decided(
        chosen, offered.of(left), probabilities.tolist(), mean.tolist(), variance.tolist(),
        policy, version, seq, baseline, msgspec.Raw(situation.asked), situation.deferred, would,
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
