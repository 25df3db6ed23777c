"""Vowpal Wabbit's JSON of logged decisions (``--json``), in which a line is a decision with its label.

Objects are namespaces, and ``_text`` is split into words, as in the lines that Personalizer exports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .logged_decision import LoggedDecision
from .personalizer import actions_of, features_of, merged, of_slots
from .vw_labels import Cost, costs_of, decision_among, observed

LABEL, INDEX, OF_ACTIONS = "_label", "_labelindex", "_multi"


def is_vw(record: Mapping[str, Any]) -> bool:
    """Return whether an object of a log is one of Vowpal Wabbit's: it has a label of theirs, or ``_multi``."""
    return OF_ACTIONS in record or any(name.startswith(LABEL) for name in record)


def parsed(line: bytes) -> dict[str, Any]:
    """Return the object of a line, in which all values are kept of a member that is there several times.

    >>> parsed(b'{"dish": {"a": 1}, "s": "x", "s": "y", "dish": {"b": 2}}')
    {'dish': {'a': 1, 'b': 2}, 's': ['x', 'y']}
    """
    return json.loads(line, object_pairs_hook=lambda pairs: merged([dict([one]) for one in pairs]))


def decisions_of(
    record: Mapping[str, Any], ids: Sequence[str] | None, labeled: bool = True
) -> Iterator[LoggedDecision]:
    """Yield the decisions of a line: one, or one per slot.

    With ``_multi``, a list of actions, one of them has the label: its ``_label``, or ``_label_Cost`` and the like, is
    in its object, or beside ``_labelIndex``, its number from 0. Without, the line is one of ``--cb K``, whose actions
    are called ``ids``. A label is the text of Vowpal Wabbit, or an object of ``Action``, ``Cost`` and ``Probability``.
    """
    if OF_ACTIONS not in record:
        if ids is None:
            raise ValueError("it has no _multi, the list of actions; use --actions K for the actions of --cb K")
        yield decision_among(ids, _label(record) if labeled else [], features_of(record))
    elif "_slots" in record:
        yield from of_slots(record, record.get("_outcomes") if labeled else None)
    else:
        found = LoggedDecision(features_of(record), actions_of(record))
        yield found._replace(**_chosen(record)) if labeled else found


def _chosen(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chosen action of a line with ``_multi``, its probability and its reward; nothing without a label."""
    index = next((value for name, value in record.items() if name.lower() == INDEX), None)
    own, labels = _label(record), [_label(one) for one in record[OF_ACTIONS]]
    if own and index is None:
        raise ValueError("it has a label, but no _labelIndex; write the number of the chosen action, from 0")
    if index is not None:
        if type(index) is not int or not 0 <= index < len(labels):
            raise ValueError(f"_labelIndex: expected a number from 0 to {len(labels) - 1}, got {index!r}")
        labels[index] = labels[index] + own
    found = [(k, observed(label)) for k, label in enumerate(labels)]
    known = [(k, label) for k, label in found if label is not None]
    if len(known) > 1:
        raise ValueError(f"{len(known)} actions have a label with a probability; only the chosen one has")
    if not known:
        return {}
    [(chosen, label)] = known
    return {"chosen": chosen, "probability": label.probability, "reward": label.reward}


def _label(given: Mapping[str, Any]) -> list[Cost]:
    """Return the parts of the label in an object, which may be text, an object or several members."""
    label = given.get(LABEL)
    if isinstance(label, str):
        return costs_of(label.split())
    parts = {name[len(LABEL) + 1 :]: value for name, value in given.items() if name.startswith(f"{LABEL}_")}
    if isinstance(label, Mapping):
        parts |= label
    elif label is not None:
        raise TypeError(f"_label: expected a text or an object, got {label!r}")
    named = {name.lower(): value for name, value in parts.items()}
    if unknown := [name for name in named if name not in Cost._fields]:
        raise ValueError(f"_label: expected Action, Cost and Probability, got {unknown[0]!r}")
    if not named:
        return []
    words = ":".join(str(named[name]) for name in Cost._fields if name in named)
    if "cost" not in named or "probability" not in named:
        raise ValueError(f"_label: expected Action, Cost and Probability, got {words!r}")
    return costs_of([f"{named.get('action', 0)}:{named['cost']}:{named['probability']}"])
