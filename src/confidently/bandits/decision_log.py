"""Logs of decisions among actions with named features, as files, and what a model makes of them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..data.batch import DataError
from ..data.formats.lines import pieces
from ..data.sources.json_schema import parse
from ..data.sources.source import display_name, is_stored, read_chunks
from ..data.warning import warn
from ..wording import counted
from .action_rewards import MAX_WEIGHT
from .actions import Action, Actions
from .adf import LoggedActions, read_cb_adf
from .decision_model import DecisionModel
from .named_features import flat
from .personalizer import decisions_of, is_exported, is_reward
from .policies import Policy

LEAST = 1e-12  # probability of all other actions, below which their mean reward does not matter


class LoggedDecision(NamedTuple):
    """A decision of a log.

    Attributes
    ----------
    context : object
        Features, as :func:`confidently.bandits.flat` reads them.
    actions : list of Action
    chosen : int
        The number of the chosen action.
    probability : float
        With which it was chosen, in (0, 1].
    reward : float, optional
        None until it is known.
    weight : float
        The number of decisions that it stands for, where a log has a part of them.
    place : str
        The file and the line.
    """

    context: Any
    actions: list[Action]
    chosen: int
    probability: float
    reward: float | None
    weight: float = 1.0
    place: str = ""


def read_decisions(path: str | os.PathLike[str]) -> Iterator[LoggedDecision]:
    """Yield the decisions of a log, which may be compressed.

    A line of JSON is one decision: an object with ``context``, ``actions`` (ids, or objects with ``id`` and,
    optionally, ``features``, ``cost`` and ``excluded``), ``chosen`` (an id), ``probability`` and ``reward`` (null until
    it is known). Further keys are ignored. The lines that Azure Personalizer exports are read as the requests that they
    come from: one of several slots is a decision for each, events that were never activated are left out, and ``pdrop``
    is a weight. Other files are Vowpal Wabbit's text for ``--cb_explore_adf`` (:func:`read_cb_adf`); their rewards are
    minus the costs.

    Raises
    ------
    confidently.data.DataError
        For an invalid line, with the file and its number.
    OSError
        If the file cannot be read.
    """
    name, first, alone = display_name(path), True, 0
    for place, line in _lines(path):
        if first and not line.lstrip().startswith(b"{"):
            if not is_stored(path):
                raise DataError(f"{name}: Vowpal Wabbit's text is read from files only; save it as one")
            yield from (_of_text(one, name) for one in read_cb_adf(path))
            return
        first = False
        with _problems_told(place, "a decision"):
            record = parse(line, dict[str, Any])
            alone += is_reward(record)
            made = [LoggedDecision(*one) for one in decisions_of(record)] if is_exported(record) else [_of_json(record)]
            found = [_checked(one._replace(place=place)) for one in made]
        yield from found
    if alone:
        warn(f"{name}: {counted(alone, 'reward')} of decisions in other files; left out")


def read_contexts(path: str | os.PathLike[str]) -> Iterator[tuple[Any, list[Action]]]:
    """Yield the contexts and actions of lines of JSON, in the form of logs; nothing else of their decisions is read.

    The errors are those of :func:`read_decisions`.
    """
    for place, line in _lines(path):
        with _problems_told(place, "a context with actions"):
            record = parse(line, dict[str, Any])
            actions = [_action(one) for one in record["actions"]]
            flat(record.get("context")), Actions(actions)
        yield record.get("context"), actions


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a file that are not empty, each with its place."""
    name = display_name(path)
    for piece in pieces(read_chunks(path)):
        lines = (piece.begun + piece.text[: piece.text.rfind(b"\n") + 1]).splitlines()
        for number, line in enumerate(lines, start=piece.line):
            if line.strip():
                yield f"{name}, line {number}", line


@contextmanager
def _problems_told(place: str, what: str) -> Iterator[None]:
    """Turn the errors of an invalid line into a ``DataError``."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        problem = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{place}: not {what}: {problem}") from None


def _of_json(record: dict[str, Any]) -> LoggedDecision:
    actions = [_action(one) for one in record["actions"]]
    ids, reward = [one.id for one in actions], record.get("reward")
    if str(record["chosen"]) not in ids:
        raise ValueError(f"chosen {record['chosen']!r} is not among the actions")
    chosen = ids.index(str(record["chosen"]))
    return LoggedDecision(record.get("context"), actions, chosen, float(record["probability"]), reward)


def _action(given: Any) -> Action:
    if not isinstance(given, dict):
        return Action(str(given))
    return Action(
        str(given["id"]), given.get("features"), float(given.get("cost", 0.0)), excluded=bool(given.get("excluded"))
    )


def _checked(decision: LoggedDecision) -> LoggedDecision:
    if not 0 < decision.probability <= 1:
        raise ValueError(f"probability must be in (0, 1], got {decision.probability!r}")
    reward = decision.reward
    if reward is not None and (not isinstance(reward, int | float) or not math.isfinite(reward)):
        raise ValueError(f"reward must be a finite number or null, got {reward!r}")
    if not 0 <= decision.chosen < len(decision.actions):
        raise ValueError(f"the chosen action {decision.chosen} is not one of {len(decision.actions)}")
    if not 0 < decision.weight <= MAX_WEIGHT:
        raise ValueError(f"pdrop must be in [0, 1), got one of weight {decision.weight!r}")
    flat(decision.context), Actions(decision.actions)
    return decision


def _of_text(one: LoggedActions, name: str) -> LoggedDecision:
    """Return a decision of Vowpal Wabbit's text, whose features have the numbers of their hashes as names."""
    rows = [one.actions[[k]] for k in range(one.actions.shape[0])]
    context, *features = (
        dict(zip(map(str, row.indices.tolist()), row.data.tolist(), strict=True)) for row in (one.shared, *rows)
    )
    actions, place = [Action(str(k), found) for k, found in enumerate(features)], f"{name}, line {one.line}"
    if one.chosen is None or one.cost is None or one.probability is None:
        return LoggedDecision(context, actions, 0, 1.0, None, place=place)
    return LoggedDecision(context, actions, one.chosen, one.probability, -one.cost, place=place)


def has_features(decision: LoggedDecision) -> bool:
    """Return whether an action has features, so that one model can serve all."""
    return any(flat(one.features) for one in decision.actions)


def play(
    model: DecisionModel, decisions: Iterable[LoggedDecision], *, learn: bool, policy: str | Policy | None = None
) -> dict[str, Any]:
    """Return what off-policy estimators need of the policy that a model has at each decision with a reward.

    Parameters
    ----------
    model : DecisionModel
    decisions : iterable of LoggedDecision
    learn : bool
        Whether the model learns from each reward, after its probabilities and expected rewards were taken: the values
        are then those of a policy that learns, and of a model that has not seen what it predicts.
    policy : str or Policy, optional
        Instead of the model's own.

    Returns
    -------
    dict
        The arguments of :func:`evaluate_policy`. Since the number of actions may vary, action 0 is the chosen one, and
        action 1 stands for all others.
    """
    names = "reward", "pscore", "action_dist", "estimated_rewards_by_reg_model", "sample_weight"
    found: dict[str, list[Any]] = {name: [] for name in names}
    for one in decisions:
        if one.reward is None:
            continue
        actions = Actions(one.actions)
        p = model.probabilities(one.context, actions, policy)
        mean = model.scores(one.context, actions)[0]
        own, rest = float(p[one.chosen]), 1.0 - float(p[one.chosen])
        others = (float(p @ mean) - own * float(mean[one.chosen])) / rest if rest > LEAST else 0.0
        found["reward"].append(one.reward)
        found["pscore"].append(one.probability)
        found["sample_weight"].append(one.weight)
        found["action_dist"].append((own, rest))
        found["estimated_rewards_by_reg_model"].append((float(mean[one.chosen]), others))
        if learn:
            model.learn(one.context, one.actions[one.chosen], one.reward, one.weight)
    arrays = {name: np.array(values, dtype=np.float64) for name, values in found.items()}
    return {**arrays, "action": np.zeros(len(found["reward"]), dtype=np.intp)}
