"""What policies would have earned on logged decisions: by the means and variances that the log keeps of each.

A decision is judged by the model as it was when the decision was made, which had not seen its reward. Of each decision
a few numbers are kept, whatever the number of actions, so that a log of a million fits in memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...bandits.evaluation import ESTIMATORS, estimate_gain
from ...bandits.off_policy import DoublyRobust, InverseProbabilityWeighting
from ...bandits.off_policy_estimator import OffPolicyEstimator
from ...bandits.policies import POLICIES, make_policy
from ..problems import Problem
from .logged_decisions import Decided

Floats = NDArray[np.float64]
MAX_NAMES, SHOWN = 10_000, 8  # actions that are counted; of those, shown
NEVER = 1e-9  # a probability; smaller ones count as this in the bound of weights
SUPPORTED = 0.999  # fraction of a policy's choices, below which the log says too little of it
MAX_CELLS = 100_000  # of a table of decisions and actions
DAY, MAX_DAYS = 86_400_000, 400  # milliseconds; the newest are shown
DR, MEAN = DoublyRobust(), InverseProbabilityWeighting()  # of the policy of the log, all of whose weights are 1
LOGGED, BASELINE, UNIFORM, ALWAYS = "logged", "baseline", "uniform", "always"


class Group(NamedTuple):
    """Decisions with equally many actions; arrays of shape (n, n_actions), ``chosen`` and ``baseline`` (n,)."""

    probabilities: Floats
    mean: Floats
    variance: Floats
    costs: Floats
    least: Floats
    chosen: NDArray[np.intp]
    baseline: NDArray[np.intp]
    ids: list[list[str]]


Shares = Callable[[Group], Floats]


class _Part(msgspec.Struct):
    id: int | str
    cost: float = 0.0
    least: float = 0.0


class _Asked(msgspec.Struct):
    actions: list[int | str | _Part]


def policy_named(text: str) -> Shares:
    """Return what gives the probabilities of a policy: "baseline", "uniform", "always:ID", "lin_ucb:alpha=0.5".

    Raises
    ------
    Problem
        If there is no such policy, or it has no such parameter.
    """
    name, _, rest = text.partition(":")
    if name == ALWAYS and rest:
        return lambda group: _certain(group, [_index(ids, rest) for ids in group.ids])
    if text in (LOGGED, BASELINE, UNIFORM):
        return {
            LOGGED: lambda group: group.probabilities,
            BASELINE: lambda group: _certain(group, [None] * len(group.ids)),
            UNIFORM: lambda group: np.full(group.mean.shape, 1.0 / group.mean.shape[1]),
        }[text]
    if name not in POLICIES:
        expected = f"{BASELINE}, {UNIFORM}, {ALWAYS}:ID, {', '.join(POLICIES)}, perhaps with :PARAMETER=NUMBER,..."
        raise Problem("invalid-parameter", f"policy: expected one of {expected}; got {text[:80]!r}")
    try:
        parts = [part.partition("=") for part in rest.split(",")] if rest else []
        parameters = {key: float(value) for key, _, value in parts}
        share = parameters.pop("least_share", 0.0)
        policy = make_policy(name, **parameters)
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"least_share: expected a number from 0 to 1, got {share}")
    except (TypeError, ValueError) as error:
        raise Problem("invalid-parameter", f"policy {text[:80]!r}: {error}") from None

    def shares(group: Group) -> Floats:
        least = np.maximum(group.least, share / group.mean.shape[1])
        least /= np.maximum(least.sum(axis=1, keepdims=True), 1.0)
        found = policy.propensities(group.mean - group.costs, group.variance)
        return least + (1.0 - least.sum(axis=1, keepdims=True)) * found

    return shares


def _index(ids: list[str], id: str) -> int | None:
    return ids.index(id) if id in ids else None


def _certain(group: Group, chosen: Sequence[int | None]) -> Floats:
    """Return the probabilities of policies that choose an action, or where it is not there the baseline."""
    found = np.zeros(group.mean.shape)
    at = [base if one is None else one for one, base in zip(chosen, group.baseline.tolist(), strict=True)]
    found[np.arange(len(at)), at] = 1.0
    return found


class Judged(NamedTuple):
    """A policy's numbers of each decision, shape (n,): its probability of the logged action, the mean reward that the
    model expected of its choices, the fraction of them that the log could choose, and the least probability of these.
    """

    chosen: Floats
    direct: Floats
    supported: Floats
    least: Floats


class Collected:
    """The numbers of logged decisions, of some policies.

    Parameters
    ----------
    policies : dict of callable
        By their names: :func:`policy_named`.
    reward_range : pair of float, optional
        Of all rewards that were possible; by default that of those added.
    """

    def __init__(self, policies: dict[str, Shares], reward_range: tuple[float, float] | None = None) -> None:
        self.policies, self._given = policies, reward_range
        self.left_out = Counter[str]()
        self.names: dict[str, int] = {}
        self._kept: list[Floats] = []  # rows: time, reward, probability, mean of the chosen, apprentice, action
        self._judged: dict[str, list[Floats]] = {name: [] for name in policies}
        self._low, self._high = (math.inf, -math.inf) if reward_range is None else reward_range

    def add(self, decisions: Sequence[tuple[int, float, Decided]]) -> None:
        """Add decisions with their time and reward, in their order; a ``Problem`` if a reward is out of range."""
        if not decisions:
            return
        rewards = np.array([reward for _, reward, _ in decisions])
        # What the model expected is kept within the rewards before: a function of the past, so DR stays unbiased.
        low = np.minimum.accumulate(np.append(self._low, rewards))
        high = np.maximum.accumulate(np.append(self._high, rewards))
        self._low, self._high = float(low[-1]), float(high[-1])
        if self._given is not None and self._given != (self._low, self._high):
            told = f"the log has the reward {self._low if self._low < self._given[0] else self._high:g}"
            raise Problem("invalid-parameter", f"reward_range: {told}, outside of the range; widen it")
        low[np.isinf(low)], high[np.isinf(high)] = 0.0, 0.0  # before the first reward
        kept = np.empty((6, len(decisions)))
        judged = {name: np.empty((4, len(decisions))) for name in self.policies}
        for at in _alike([one for _, _, one in decisions]):
            group = _group([decisions[k][2] for k in at])
            q = group.mean.clip(low[at][:, None], high[at][:, None])
            rows = np.arange(len(at))
            kept[0, at] = [decisions[k][0] for k in at]
            kept[2, at], kept[3, at] = group.probabilities[rows, group.chosen], q[rows, group.chosen]
            kept[4, at] = [decisions[k][2].would is not None for k in at]
            kept[5, at] = [self._number(ids[one]) for ids, one in zip(group.ids, group.chosen.tolist(), strict=True)]
            for name, shares in self.policies.items():
                dist = shares(group)
                possible = group.probabilities > 0.0
                judged[name][:, at] = (
                    dist[rows, group.chosen], (dist * q).sum(axis=1), (dist * possible).sum(axis=1),
                    np.where(possible & (dist > 0.0), group.probabilities, 1.0).min(axis=1),
                )  # fmt: skip
        kept[1] = rewards
        self._kept.append(kept)
        for name, found in judged.items():
            self._judged[name].append(found)

    def _number(self, id: str) -> int:
        """Return the number of an action; 0 of those that are not counted by themselves."""
        if len(self.names) >= MAX_NAMES and id not in self.names:
            return 0
        return self.names.setdefault(id, len(self.names) + 1)

    def result(self, periods: int | None, by_day: bool) -> dict[str, Any]:
        """Return what the policies would have earned, in all and by period: equally many decisions each, or days."""
        table = np.concatenate(self._kept, axis=1) if self._kept else np.empty((6, 0))
        apprentice = table[4] > 0.0
        use = np.flatnonzero(~apprentice) if not apprentice.all() else np.arange(len(apprentice))
        if left := len(apprentice) - len(use):
            self.left_out["apprentice"] = left
        table = table[:, use]
        low, width = (self._low, (self._high - self._low) or 1.0) if self._kept else (0.0, 1.0)
        parts = _parts(table[0], periods, by_day)
        judged = {
            name: Judged(*np.concatenate(found, axis=1)[:, use]) if found else None
            for name, found in self._judged.items()
        }
        rounds = _Rounds((table[1] - low) / width, table[2], (table[3] - low) / width, low, width)
        only = bool(len(apprentice)) and bool(apprentice.all())
        valued = {
            name: _valued(rounds, one, judged[BASELINE], MEAN if name == LOGGED else DR, parts, only)
            for name, one in judged.items()
        }
        asked = [{"policy": name} | one for name, one in valued.items() if name != LOGGED]
        return {
            "evaluated": len(use), "left_out": dict(self.left_out),
            "reward_range": [low, low + width] if self._kept else None,
            "logged": {"policy": LOGGED} | valued[LOGGED], "policies": asked,
            "periods": self._shown_parts(table, parts),
        }  # fmt: skip

    def _shown_parts(self, table: Floats, parts: list[slice]) -> list[dict[str, Any]]:
        numbers = table[5].astype(np.intp)
        counts = np.bincount(numbers, minlength=len(self.names) + 1)[1:]
        names = list(self.names)
        top = [k for k in np.argsort(-counts, kind="stable")[:SHOWN].tolist() if counts[k]]
        found = []
        for part in parts:
            own = np.bincount(numbers[part], minlength=len(names) + 1)
            shown = {names[k]: int(own[k + 1]) for k in top}
            first, last = table[0, part][[0, -1]].tolist()
            found.append({
                "since": first / 1000.0, "until": last / 1000.0, "decisions": int(own.sum()), "actions": shown,
                "others": int(own.sum()) - sum(shown.values()),
            })  # fmt: skip
        return found


class _Rounds(NamedTuple):
    """Decisions with rewards and means in the unit of the range of rewards."""

    reward: Floats
    probability: Floats
    mean: Floats
    low: float
    width: float

    def given(self, one: Judged, part: slice, with_model: bool) -> dict[str, Any]:
        """Return arguments of estimators: of two actions, the logged one and any other."""
        c, q = one.chosen[part].clip(0.0, 1.0), self.mean[part].clip(0.0, 1.0)
        found = {
            "reward": self.reward[part], "action": np.zeros(len(c), np.intp),
            "action_dist": np.column_stack([c, 1.0 - c]), "pscore": self.probability[part],
        }  # fmt: skip
        if with_model:
            direct = (one.direct[part] - self.low) / self.width
            others = (direct - c * q) / np.where(c < 1.0, 1.0 - c, 1.0)
            found["estimated_rewards_by_reg_model"] = np.column_stack([q, others.clip(0.0, 1.0)])
        return found


def _alike(decisions: Sequence[Decided]) -> Iterator[list[int]]:
    """Yield the numbers of decisions with equally many actions; no table is large."""
    by_size: dict[int, list[int]] = {}
    for k, one in enumerate(decisions):
        by_size.setdefault(len(one.actions), []).append(k)
    for size, found in by_size.items():
        step = max(1, MAX_CELLS // size)
        yield from (found[k : k + step] for k in range(0, len(found), step))


def _group(decisions: Sequence[Decided]) -> Group:
    ids = [[str(action) for action in one.actions] for one in decisions]
    costs, least = np.zeros((2, len(ids), len(ids[0])))
    for k, one in enumerate(decisions):
        asked = bytes(one.asked)
        if b'"cost"' in asked or b'"least"' in asked:
            parts = {str(a.id): a for a in msgspec.json.decode(asked, type=_Asked).actions if isinstance(a, _Part)}
            for at, id in enumerate(ids[k]):
                if id in parts:
                    costs[k, at], least[k, at] = parts[id].cost, parts[id].least
    return Group(
        np.array([one.probabilities for one in decisions]), np.array([one.mean for one in decisions]),
        np.array([one.variance for one in decisions]), costs, least,
        np.array([one.chosen for one in decisions]), np.array([one.baseline for one in decisions]), ids,
    )  # fmt: skip


def _parts(times: Floats, periods: int | None, by_day: bool) -> list[slice]:
    """Return the decisions of each period, which are in the order of time."""
    n = len(times)
    if by_day:
        cuts = [0, *(np.flatnonzero(np.diff(times // DAY)) + 1).tolist(), n][-MAX_DAYS - 1 :]
    else:
        cuts = sorted({n * k // periods for k in range(periods + 1)}) if periods else []
    return [slice(a, b) for a, b in pairwise(cuts) if a < b]


def _valued(
    rounds: _Rounds, one: Judged | None, base: Judged | None, estimator: OffPolicyEstimator, parts: list[slice],
    only: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return what is told of a policy; ``only``: all decisions are those of an apprentice, which takes the baseline."""
    whole = slice(None)
    if one is None or base is None or not len(one.chosen):
        return _nothing("no decision has a reward yet")
    if only and not (one.chosen == 1.0).all():
        return _nothing("an apprentice takes the baseline, so only that can be evaluated")
    if not one.chosen.any():
        return _nothing("the log never chose what this policy chooses")
    given, plain = (rounds.given(one, whole, with_model) for with_model in (True, False))
    estimates = {
        name: rounds.low + rounds.width * kind().estimate_policy_value(**(given if kind.needs_predictions else plain))
        for name, kind in ESTIMATORS.items()
    }
    weights = MEAN.overlap(**plain)
    other = rounds.given(base, whole, False)["action_dist"]
    gain = None if one is base else estimate_gain(**plain, other_dist=other)
    return _interval(rounds, one, estimator, whole) | {
        "estimator": estimator.name, "estimates": estimates, "effective_rows": weights.effective_rounds,
        "largest_weight": weights.largest_weight, "overlap": float(one.supported.mean()),
        "gain": None if gain is None else {name: rounds.width * x for name, x in gain._asdict().items()},
        "periods": [_interval(rounds, one, estimator, part) for part in parts],
    }  # fmt: skip


def _nothing(warning: str) -> dict[str, Any]:
    return {
        "value": None, "low": None, "high": None, "warning": warning, "estimator": None, "estimates": {},
        "effective_rows": 0.0, "largest_weight": 0.0, "overlap": 0.0, "gain": None, "periods": [],
    }  # fmt: skip


def _interval(rounds: _Rounds, one: Judged, estimator: OffPolicyEstimator, part: slice) -> dict[str, Any]:
    """Return value, interval and warning of some decisions."""
    given = rounds.given(one, part, estimator.needs_predictions)
    supported, seen = float(one.supported[part].mean()), rounds.probability[part][one.chosen[part] > 0.0]
    smallest = float(one.least[part].min()) if supported >= 1.0 - 1e-6 else 0.0
    bound = min(max(smallest, NEVER), float(seen.min(initial=1.0)))
    found = estimator.estimate_interval(**given, method="likelihood", min_pscore=bound)
    value, low, high = (rounds.low + rounds.width * number for number in found)
    warning = estimator.problem(**given)
    if supported < SUPPORTED:
        told = f"{1.0 - supported:.0%} of this policy's choices had the probability 0 in the log"
        warning = told if warning is None else f"{told}; {warning}"
    return {"value": value, "low": low, "high": high, "warning": warning}
