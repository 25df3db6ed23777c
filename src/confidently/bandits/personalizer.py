"""Azure Personalizer's decisions: lists of objects as features, and the lines of its exported logs.

An exported line is one event of the service: a decision of one or of several slots, with its reward. Its ``c`` has the
features of the request: those of the context below ``FromUrl``, those of an action below ``j``, each a list of objects
as in the request. Names that begin with ``_`` are Vowpal Wabbit's, and no features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .actions import Action
from .logged_decision import LoggedDecision
from .named_features import in_slot

OF_REQUEST = ("FromUrl", "j")  # lists of the objects of a request, which are merged
ID, TEXT = "i", "_text"
SKIPPED = ("_skipLearn", "checkpoint_info")  # events that were never activated; lines about the log itself


def merged(objects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one object with the members of several, none of which is lost or added to another one.

    Objects of the same name are merged. Other values of the same name become a list: strings of it are features beside
    each other, and numbers are told apart by their position.

    >>> merged([{"user": {"age": 30}, "n": 1}, {"user": {"tier": "gold"}, "n": 2, "day": "friday"}])
    {'user': {'age': 30, 'tier': 'gold'}, 'n': [1, 2], 'day': 'friday'}
    """
    values = dict[str, list[Any]]()
    for one in objects:
        for name, value in one.items():
            values.setdefault(name, []).append(value)
    return {name: _joined(same) for name, same in values.items()}


def _joined(values: list[Any]) -> Any:
    if len(values) > 1 and all(isinstance(value, dict) for value in values):
        return merged(values)
    return values if len(values) > 1 else values[0]


def is_exported(record: Mapping[str, Any]) -> bool:
    """Return whether an object of a log is a line of Personalizer's."""
    return "c" in record or "RewardValue" in record or any(name in record for name in SKIPPED)


def is_reward(record: Mapping[str, Any]) -> bool:
    """Return whether a line is a reward alone, whose decision is in another log."""
    return "c" not in record and "RewardValue" in record


def decisions_of(record: Mapping[str, Any], labeled: bool = True) -> Iterator[LoggedDecision]:
    """Yield the decisions of an exported line: one, one per slot, or none of an event that was not activated.

    Where a part of the events was dropped (``pdrop``), each of those that were kept stands for 1/(1 - pdrop) of them.
    If not ``labeled``, only contexts and actions are read, of every event.
    """
    if "c" not in record or (labeled and any(record.get(name) for name in SKIPPED)):
        return
    context, outcomes = record["c"], record.get("_outcomes")
    if "_slots" in context:
        found = of_slots(context, outcomes if labeled else None)
    else:
        found = iter([LoggedDecision(features_of(context), actions_of(context))])
        if labeled:
            found = (one._replace(**_chosen(record)) for one in found)
    dropped = float(record.get("pdrop", 0.0)) if labeled else 0.0
    if not 0 <= dropped < 1:
        raise ValueError(f"pdrop must be in [0, 1), got {dropped!r}")
    for one in found:
        yield one._replace(weight=1.0 / (1.0 - dropped))


def _chosen(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen action of a line of one decision, its probability and its reward."""
    chosen = int(record["_labelIndex"]) if "_labelIndex" in record else int(record["a"][0]) - 1
    probability = float(record.get("_label_probability", record.get("p", [0.0])[0]))
    reward = 0.0 - float(record["_label_cost"]) if "_label_cost" in record else None
    return {"chosen": chosen, "probability": probability, "reward": reward}


def of_slots(context: Mapping[str, Any], outcomes: Sequence[Mapping[str, Any]] | None) -> Iterator[LoggedDecision]:
    """Yield a decision per slot; without outcomes, it has no reward. A chosen action is not for the next slots.

    ``_inc`` of a slot lists the numbers of the only actions that may have it.
    """
    actions = actions_of(context)
    slots = context["_slots"]
    for slot, outcome in zip(slots, (None for _ in slots) if outcomes is None else outcomes, strict=True):
        own, allowed = in_slot(features_of(context), features_of(slot)), slot.get("_inc")
        there = [
            one._replace(excluded=one.excluded or not (allowed is None or k in allowed))
            for k, one in enumerate(actions)
        ]
        if outcome is None:
            yield LoggedDecision(own, there)
            continue
        chosen, probability, cost = int(outcome["_a"][0]), float(outcome["_p"][0]), outcome.get("_label_cost")
        yield LoggedDecision(own, there, chosen, probability, None if cost is None else 0.0 - float(cost))
        actions[chosen] = actions[chosen]._replace(excluded=True)


def features_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the features of an object of an exported line, as the request had them.

    >>> features_of({"FromUrl": [{"hour": 9}, {"device": {"mobile": True}}], "_multi": [], "i": {"id": "tea"}})
    {'hour': 9, 'device': {'mobile': True}}
    """
    parts = [part for name in OF_REQUEST for part in _objects(given.get(name, []))]
    rest = {name: value for name, value in given.items() if name not in (*OF_REQUEST, ID)}
    return _named(merged([*parts, rest]))


def _named(value: Any) -> Any:
    """Return features without Vowpal Wabbit's own names, but with the words of a text."""
    if isinstance(value, list):
        return [_named(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    found = {name: _named(one) for name, one in value.items() if not name.startswith("_")}
    text = value.get(TEXT)
    return found | ({TEXT: text.split()} if isinstance(text, str) else {})


def _objects(given: Any) -> Sequence[Mapping[str, Any]]:
    objects = given if isinstance(given, list) else [given]
    if not all(isinstance(one, Mapping) for one in objects):
        raise TypeError(f"features: expected objects, got {given!r}")
    return objects


def actions_of(context: Mapping[str, Any]) -> list[Action]:
    """Return the actions of a context, whose ids are their ``_tag``, their ``i.id`` or their numbers from 0.

    The number is added to an id that is there before.
    """
    given = context["_multi"]
    if not isinstance(given, list):
        raise TypeError(f"_multi: expected a list of actions, got {given!r}")
    actions, ids = [_action(k, one) for k, one in enumerate(given)], set[str]()
    for k, one in enumerate(actions):
        if one.id in ids:
            actions[k] = one._replace(id=f"{one.id} ({k})")
        ids.add(actions[k].id)
    return actions


def _action(k: int, given: Mapping[str, Any]) -> Action:
    if not isinstance(given, Mapping):
        raise TypeError(f"_multi: expected objects, got {given!r}")
    if "_slot_id" in given:
        raise ValueError("slates, whose rewards are those of several choices together, are not read")
    own = given.get(ID)
    id = given.get("_tag", own.get("id", k) if isinstance(own, Mapping) else k)
    return Action(str(id), features_of(given))
