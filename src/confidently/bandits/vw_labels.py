"""Vowpal Wabbit's labels of contextual bandits, and the heads of lines that have them."""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from collections.abc import Sequence
from typing import NamedTuple

from ..data.batch import DataError
from .actions import Action
from .logged_decision import LoggedDecision

SHARED = "shared"  # the word that begins the line of features of all actions
OTHERS = {  # first words of lines of other reductions
    "ccb": "--ccb_explore_adf: decisions of several slots are read as JSON (--dsjson)",
    "slates": "--slates, whose rewards are those of several choices together, which are not read",
    "ca": "continuous actions (--cats, --cbzo), which are not read; round them to a few actions",
}


class Cost(NamedTuple):
    """A part of a label: an action, and what is known of it."""

    action: int
    cost: float | None = None
    probability: float | None = None

    @property
    def reward(self) -> float | None:
        """Minus the cost, which is never -0.0."""
        return None if self.cost is None else 0.0 - self.cost


def words_before(where: str, line: bytes) -> list[str]:
    """Return the words before the first | of a line, without its tag.

    Raises
    ------
    DataError
        If there is no |, a label touches it, or the line is of another reduction.
    """
    head, bar, _ = line.removeprefix(BOM_UTF8).partition(b"|")
    if not bar:
        raise DataError(
            f"{where}: no | in a line of Vowpal Wabbit's text; write one in each, even without any features, or a log "
            "as JSON lines: objects with context, actions, chosen, probability and reward"
        )
    touches = bool(head) and not head[-1:].isspace()  # the last word is then a tag
    words = head.decode("utf-8", errors="replace").split()
    if touches and (":" in words[-1] or words[-1] == SHARED):
        raise DataError(f"{where}: {words[-1]!r} touches the |, which makes it a tag; add a space")
    if words and (touches or words[-1].startswith("'")):
        words = words[:-1]
    if words and words[0] in OTHERS:
        raise DataError(f"{where}: a line of {OTHERS[words[0]]}")
    return words


def costs_of(words: Sequence[str]) -> list[Cost]:
    """Return the parts of a label, each ``action``, ``action:cost`` or ``action:cost:probability``.

    Raises
    ------
    ValueError
        If a word is something else.

    Examples
    --------
    >>> costs_of(["1", "2:-1:0.25"])
    [Cost(action=1, cost=None, probability=None), Cost(action=2, cost=-1.0, probability=0.25)]
    """
    found = []
    for word in words:
        action, *numbers = word.split(":")
        try:
            cost = Cost(int(action), *map(float, numbers))
        except (ValueError, TypeError):
            cost = Cost(-1)
        if cost.action < 0 or (cost.cost is not None and not math.isfinite(cost.cost)):
            raise ValueError(_expected(words))
        found.append(cost)
    return found


def label_of(words: Sequence[str]) -> Cost:
    """Return the label of the chosen action of ``--cb_adf``; ``ValueError``: the words are no such label."""
    found = costs_of(words)
    if len(found) > 1 or found[0].probability is None:
        raise ValueError(_expected(words))
    observed(found)
    return found[0]


def _expected(words: Sequence[str]) -> str:
    return f"expected a label action:cost:probability, got {' '.join(words)!r}"


def observed(costs: Sequence[Cost]) -> Cost | None:
    """Return the part of a label that has a probability, which is the chosen action; ``ValueError``: several have."""
    known = [one for one in costs if one.probability is not None]
    if len(known) > 1:
        raise ValueError(f"{len(known)} actions of a label have a probability; only the chosen one has")
    if known and not 0 < known[0].probability <= 1:  # type: ignore[operator]
        raise ValueError(f"the probability of the chosen action must be in (0, 1], got {known[0].probability:g}")
    return known[0] if known else None


def decision_among(ids: Sequence[str], costs: Sequence[Cost], context: object) -> LoggedDecision:
    """Return a decision of ``--cb K`` among the actions 1 to K, which are called ``ids``.

    With several parts, a label lists the actions that could be chosen, as in Vowpal Wabbit; so does a single one
    without a cost. A decision without a part that has a probability has no reward.

    Raises
    ------
    ValueError
        If an action is not from 1 to K, or several have a probability.
    """
    for one in costs:
        if not 1 <= one.action <= len(ids):
            raise ValueError(f"action {one.action} is not one of 1 to {len(ids)}; use --actions with more")
    allowed = {one.action for one in costs}
    if not costs or (len(costs) == 1 and costs[0].cost is not None):
        allowed = set(range(1, len(ids) + 1))
    actions = [Action(id, excluded=k not in allowed) for k, id in enumerate(ids, start=1)]
    chosen = observed(costs)
    if chosen is None or chosen.probability is None:
        return LoggedDecision(context, actions, min(allowed) - 1)
    return LoggedDecision(context, actions, chosen.action - 1, chosen.probability, chosen.reward)
