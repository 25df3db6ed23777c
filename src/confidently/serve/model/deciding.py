"""Decisions: which action a model chooses for a context, with what probability, and what its log keeps of that.

A decision is a prediction of numbers: an action is a row of the context, the action and their products, and its number
is the reward that is expected. The policy maps the Gaussians over the rewards of all actions to probabilities, by which
one is drawn. The draw is a hash of the id, so a decision follows from the model, its settings and the request alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import numpy as np

from ...bandits.policies import Policy, make_policy
from ..problems import Problem
from .answering import AnsweringModel
from .settings import ACTION, ARM, CONTEXT, SLOT, Deciding

NO_FEATURES = b"{}"


class Action(NamedTuple):
    """What may be chosen.

    Attributes
    ----------
    id : int or str
    features : bytes
        A JSON object.
    cost : float
        Which is subtracted from its reward when a policy compares actions; it is never learned.
    least : float
        The smallest probability with which it is chosen.
    """

    id: int | str
    features: bytes = NO_FEATURES
    cost: float = 0.0
    least: float = 0.0


class Situation(NamedTuple):
    """What is to be decided, checked.

    Attributes
    ----------
    id : str
    context, slot : bytes
        JSON objects; ``{}`` is none.
    actions : list of Action
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
    actions: list[Action]
    baseline: int
    deferred: bool
    asked: bytes

    def without(self, taken: set[str]) -> Situation:
        """Return the situation without actions that were chosen for other slots."""
        actions = [action for action in self.actions if str(action.id) not in taken]
        if not actions:
            raise Problem("invalid-body", "there are fewer actions than slots; give at least one per slot", "/slots")
        before = self.actions[self.baseline]
        baseline = next((k for k, action in enumerate(actions) if action is before), 0)
        return self._replace(actions=actions, baseline=baseline)

    def rows(self, own_arms: bool) -> list[bytes]:
        """Return the rows of the actions, as lines of JSON; with ``own_arms`` their ids are features too."""
        common = [_part(name, line) for name, line in ((CONTEXT, self.context), (SLOT, self.slot))]
        found = []
        for action in self.actions:
            arm = _part(ARM, msgspec.json.encode(str(action.id))) if own_arms else b""
            parts = filter(None, [*common, arm, _part(ACTION, action.features)])
            found.append(b"{" + b",".join(parts) + b"}")
        return found


def _part(name: str, line: bytes) -> bytes:
    return b"" if line == NO_FEATURES else b'"%b":%b' % (name.encode(), line)


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


def decided_in(note: bytes | None) -> Decided | None:
    """Return the decision that a note of a prediction keeps, if it is one."""
    if note is None or not note.startswith(b'{"decision":'):
        return None
    return msgspec.json.decode(note, type=DecisionNote).decision


def decide(model: AnsweringModel, version: int, seq: int, situation: Situation) -> Decided:
    """Choose an action.

    Parameters
    ----------
    model : AnsweringModel
    version, seq : int
        Which version it is, and up to which event it has learned.
    situation : Situation
    """
    policy, own_arms = model.settings.policy, model.settings.arms == "own"
    mean, variance = model.rewards(situation.rows(own_arms))
    probabilities = shares(policy, mean, variance, situation.actions)
    chosen, would = draw(probabilities, situation.id), None
    if policy.apprentice:
        chosen, would = situation.baseline, chosen
        probabilities = (np.arange(len(probabilities)) == chosen).astype(np.float64)
    return Decided(
        chosen, [action.id for action in situation.actions], probabilities.tolist(), mean.tolist(), variance.tolist(),
        policy, version, seq, situation.baseline, msgspec.Raw(situation.asked), situation.deferred, would,
    )  # fmt: skip


def shares(policy: Deciding, mean: np.ndarray, variance: np.ndarray, actions: Sequence[Action]) -> np.ndarray:
    """Return the probability of each action: that of the policy, after each has got its least share."""
    costs = np.array([action.cost for action in actions])
    least = np.maximum([action.least for action in actions], policy.least_share / len(actions))
    if (total := float(least.sum())) > 1.0:
        raise Problem(
            "invalid-body", f"the least shares of the actions add up to {total:g}; at most 1 is possible", "/actions"
        )
    return mixed(make_policy(policy.name, **policy.parameters), mean - costs, variance, least)


def mixed(policy: Policy, mean: np.ndarray, variance: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return the probabilities of a policy after each action has got its least share; arrays of one shape."""
    left = 1.0 - least.sum(axis=-1, keepdims=True)
    found: np.ndarray = least + left * policy.propensities(mean, variance)
    found /= found.sum(axis=-1, keepdims=True)
    return found


def draw(probabilities: np.ndarray, id: str) -> int:
    """Return a number with these probabilities, always the same one for an id."""
    hashed = int.from_bytes(blake2b(id.encode(), digest_size=8).digest(), "big")
    at = np.searchsorted(np.cumsum(probabilities), hashed / 2**64, side="right")
    possible = np.flatnonzero(probabilities)
    return int(min(max(int(at), int(possible[0])), int(possible[-1])))
