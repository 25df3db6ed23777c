"""Training a model of decisions on a log, and evaluating one on a log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ...bandits.actions import Action
from ...bandits.decision_log import LoggedDecision, has_features, play, read_contexts, read_decisions
from ...bandits.decision_model import DecisionModel
from ...bandits.evaluation import evaluate_policy
from ...bandits.policies import make_policy
from ..inputs import BadInput


class _Counted:
    """Decisions, of which those with a reward and the actions are counted as they pass; rewards are in a range."""

    def __init__(self, decisions: Iterable[LoggedDecision], low: float, high: float) -> None:
        self.decisions, self.low, self.high = decisions, low, high
        self.n, self.rewarded, self.actions = 0, 0, 0

    def __iter__(self) -> Iterator[LoggedDecision]:
        for one in self.decisions:
            if one.reward is not None and not self.low <= one.reward <= self.high:
                costs = "; costs are minus rewards" * (one.reward < 0 <= self.low)
                raise BadInput(
                    f"{one.place}: a reward is {one.reward:g}, outside of [{self.low:g}, {self.high:g}]; use "
                    f"--reward-range{costs}"
                )
            self.n += 1
            self.rewarded += one.reward is not None
            self.actions = max(self.actions, len(one.actions))
            yield one


def train_bandit(data: Sequence[str], options: dict[str, Any]) -> tuple[DecisionModel, dict[str, Any]]:
    """Return a model that was trained on logs, and the summary: the values are of its policy as it learned."""
    decisions = chain.from_iterable(read_decisions(path) for path in data)
    first = next(decisions, None)
    if first is None:
        raise BadInput(f"{data[0]}: no decisions")
    policy = _policy(options["policy"])
    if options["init_model"]:
        model = DecisionModel.load(options["init_model"])
    else:
        shared = has_features(first) if options["shared"] is None else options["shared"]
        try:
            model = DecisionModel(policy, shared=shared, reward_range=options["reward_range"])
        except ValueError as error:
            raise BadInput(f"--reward-range: {error}") from None
    return model, _result(model, chain([first], decisions), options | {"learn": True})


def evaluate_bandit(path: str, data: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return what the policy of a model, or another one, would have earned on logs, as it is."""
    model = DecisionModel.load(path)
    model.policy = _policy(options["policy"]) or model.policy
    return _result(model, chain.from_iterable(map(read_decisions, data)), options | {"learn": False})


def _result(model: DecisionModel, decisions: Iterable[LoggedDecision], options: dict[str, Any]) -> dict[str, Any]:
    low, high = model.low, model.low + model.width
    counted = _Counted(decisions, low, high)
    rounds = play(model, counted, learn=options["learn"])
    if not counted.rewarded:
        raise BadInput("no decision of the log has a reward")
    least = options["min_propensity"]
    if least is not None and (smaller := rounds["pscore"].min()) < least:
        raise BadInput(f"--min-propensity: a decision has the probability {smaller:g}; use it or less")
    values = evaluate_policy(**rounds, min_pscore=least, reward_range=(low, high))
    return {
        "decisions": counted.n,
        "rewarded": counted.rewarded,
        "actions": counted.actions,
        "policy": model.policy.name,
        "parameters": model.policy.get_params(),
        "shared": model.actions.shared,
        "features": len(model.names) - 1,
        "restarts": model.n_restarts,
        "logged": float(np.average(rounds["reward"], weights=rounds["sample_weight"])),
        "values": [one._asdict() for one in values],
    }


def _policy(name: str | None) -> Any:
    if name is None:
        return None
    try:
        return make_policy(name)
    except ValueError as error:
        raise BadInput(f"--policy: {error}") from None


def predicted_probabilities(model: DecisionModel, path: str) -> Iterator[str]:
    """Yield the probabilities of the actions of each line as JSON, with the action that the policy prefers."""
    for context, actions in read_contexts(path):
        p = model.probabilities(context, actions)
        named = {one.id: round(float(share), 6) for one, share in zip(actions, p, strict=True)}
        yield json.dumps({"preferred": actions[int(p.argmax())].id, "probabilities": named}, ensure_ascii=False)


def bandit_facts(model: DecisionModel, top: int) -> dict[str, Any]:
    """Return what is known of a model: of each action the expected reward, and what features add to it."""
    named = [Action(id) for id in model.actions.numbers]
    if model.actions.shared:  # whose actions are known by their features
        named = [Action(name, {name: 1.0}) for name in model.actions.features.columns]
    facts = {
        "policy": model.policy.name,
        "parameters": model.policy.get_params(),
        "shared": model.actions.shared,
        "rewards": model.n_learned,
        "restarts": model.n_restarts,
        "reward_range": list(model.reward_range),
        "noise": model.width * model.noise**0.5,
        "features": len(model.names) - 1,
        "actions": [],
        "effects": [],
    }
    if not named:
        return facts
    constant = model.scores({}, named)
    facts["actions"] = [
        {"action": one.id, "expected": float(mean), "std": float(variance) ** 0.5}
        for one, mean, variance in zip(named, *constant, strict=True)
    ]
    effects = [(name, model.scores({name: 1.0}, named)[0] - constant[0]) for name in model.names.columns]
    effects.sort(key=lambda one: -float(np.ptp(one[1])))
    facts["effects"] = [{"feature": name, "of_actions": found.tolist()} for name, found in effects[:top]]
    return facts


def saved_bandit(model: DecisionModel, path: str | None) -> dict[str, Any]:
    """Save a model if there is a path to save it at; return the summary of its file."""
    if not path:
        return {}
    model.save(path)
    return {"model": path, "model_bytes": os.path.getsize(path)}
