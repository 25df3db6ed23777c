"""Training a model of decisions on a log, and evaluating one on a log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

import numpy as np

from ...bandits.actions import Action
from ...bandits.decision_log import DecisionLog, has_features, play, read_decisions
from ...bandits.decision_model import DecisionModel
from ...bandits.evaluation import evaluate_policy
from ...bandits.logged_decision import LoggedDecision
from ...bandits.policies import make_policy
from ...data.batch import DataError
from ...data.warning import warn
from ...wording import counted, listed
from ..inputs import BadInput
from ..options.bandit import opening_of_logs

MAX_SURVEYED = 100_000  # decisions, whose range of rewards is proposed
_OF_COSTS = ", since costs are minus rewards"


class _Counted:
    """Decisions, of which those with a reward and the actions are counted as they pass; rewards are in a range.

    ``remedy`` is what to do about others, after which a range is named.
    """

    def __init__(self, decisions: Iterable[LoggedDecision], low: float, high: float, remedy: str) -> None:
        self.decisions, self.low, self.high, self.remedy = iter(decisions), low, high, remedy
        self.n, self.rewarded, self.actions = 0, 0, 0

    def __iter__(self) -> Iterator[LoggedDecision]:
        low, high = self.low, self.high
        for one in self.decisions:
            if one.reward is not None and not low <= one.reward <= high:
                raise BadInput(
                    f"{one.place}: a reward is {one.reward:g}, outside of [{low:g}, {high:g}]; "
                    f"{self.remedy} --reward-range {self._range(one.reward)}" + _OF_COSTS * (one.reward < 0 <= low)
                )
            self.n += 1
            self.rewarded += one.reward is not None
            self.actions = max(self.actions, len(one.actions))
            yield one

    def _range(self, reward: float) -> str:
        """Return the range of a reward and those after it, up to 0, which is the reward of no cost."""
        low, high = min(reward, 0.0), max(reward, 0.0)
        with suppress(DataError):  # the range of those before it
            for one in islice(self.decisions, MAX_SURVEYED):
                if one.reward is not None:
                    low, high = min(low, one.reward), max(high, one.reward)
        return f"{low:g} {high:g}"


def train_bandit(data: Sequence[str], options: dict[str, Any]) -> tuple[DecisionModel, dict[str, Any]]:
    """Return a model that was trained on logs, and the summary: the values are of its policy as it learned."""
    log = _opened(data, options)
    first = next(log, None)
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
    remedy = "train a model with" if options["init_model"] else "use"
    return model, _result(model, chain([first], log), remedy, options | {"learn": True}) | _skipped(log, options)


def evaluate_bandit(path: str, data: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    """Return what the policy of a model, or another one, would have earned on logs, as it is."""
    model = DecisionModel.load(path)
    model.policy = _policy(options["policy"]) or model.policy
    log = _opened(data, options)
    return _result(model, log, "train a model with", options | {"learn": False}) | _skipped(log, options)


def _opened(data: Sequence[str], options: dict[str, Any], labeled: bool = True) -> DecisionLog:
    try:
        return read_decisions(list(data), labeled=labeled, **opening_of_logs(options))
    except DataError:
        raise
    except ValueError as error:
        raise BadInput(f"--{error}") from None


def _skipped(log: DecisionLog, options: dict[str, Any]) -> dict[str, Any]:
    """Return what was skipped, if that is allowed."""
    if options["on_error"] == "stop":
        return {}
    return {"skipped": log.skipped, "skipped_examples": log.skipped_examples}


def _result(
    model: DecisionModel, decisions: Iterable[LoggedDecision], remedy: str, options: dict[str, Any]
) -> dict[str, Any]:
    low, high = model.low, model.low + model.width
    passed = _Counted(decisions, low, high, remedy)
    rounds = play(model, passed, learn=options["learn"])
    if not passed.rewarded:
        raise BadInput("no decision of the log has a reward")
    least = options["min_propensity"]
    if least is not None and (smaller := rounds["pscore"].min()) < least:
        raise BadInput(f"--min-propensity: a decision has the probability {smaller:g}; use it or less")
    values = evaluate_policy(**rounds, min_pscore=least, reward_range=(low, high))
    return {
        "decisions": passed.n,
        "rewarded": passed.rewarded,
        "actions": passed.actions,
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


def predicted_probabilities(model: DecisionModel, data: Sequence[str], options: dict[str, Any]) -> Iterator[str]:
    """Yield the probabilities of the actions of each context as JSON, with the action that the policy prefers."""
    log, known = _opened(data, options, labeled=False), model.actions.numbers
    for one in log:
        if known and not (model.actions.shared or any(action.id in known for action in one.actions)):
            shown, there = listed([action.id for action in one.actions]), listed(list(known))
            raise BadInput(f"{one.place}: the model knows none of the actions {shown}; it has {there} (--actions)")
        p = model.probabilities(one.context, one.actions)
        named = {action.id: round(float(share), 6) for action, share in zip(one.actions, p, strict=True)}
        yield json.dumps({"preferred": one.actions[int(p.argmax())].id, "probabilities": named}, ensure_ascii=False)
    if log.skipped:
        shown = "; ".join(log.skipped_examples)
        warn(f"{counted(log.skipped, 'invalid context')} skipped, without a line of output: {shown}")


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
