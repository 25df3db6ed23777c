"""Actions that come with a decision, and how a model sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .named_features import FeatureNames, Floats, flat


class ActionRows(NamedTuple):
    """Actions as a model sees them.

    Attributes
    ----------
    arms : int array of shape (n,), optional
        Their numbers, if each has a model of its own; -1: nothing was learned of it.
    rows : array of shape (n, columns), optional
        Otherwise their rows [1, z].
    unknown : array of shape (n,)
        Sums of squares of features that were not numbered.
    """

    arms: NDArray[np.intp] | None
    rows: Floats | None
    unknown: Floats


class Action(NamedTuple):
    """What may be chosen.

    Attributes
    ----------
    id : str
    features : optional
        As JSON has them (:func:`confidently.bandits.flat`); a model per action does not read them.
    cost : float
        Of choosing it, in units of the reward; it is subtracted from the expected reward.
    min_share : float
        The least probability with which it is chosen, in [0, 1].
    excluded : bool
        Whether it must not be chosen this time.
    """

    id: str
    features: Any = None
    cost: float = 0.0
    min_share: float = 0.0
    excluded: bool = False


AnyAction = Action | str | int


class Actions:
    """The actions of one decision, or of many, which then need not be read again.

    Parameters
    ----------
    actions : sequence of Action, str or int
        A text or an integer is an action that has nothing but this id.

    Raises
    ------
    ValueError, TypeError
        If there is none, two have one id, all are excluded, or a feature, cost or share is out of range.
    """

    def __init__(self, actions: Sequence[AnyAction]) -> None:
        if isinstance(actions, str) or not len(actions):
            raise ValueError(f"actions: expected a sequence of at least one, got {actions!r}")
        several = [as_action(one) for one in actions]
        self.ids = [one.id for one in several]
        if len(set(self.ids)) < len(self.ids):
            again = next(id for k, id in enumerate(self.ids) if id in self.ids[:k])
            raise ValueError(f"actions: {again!r} is there twice; use every action once")
        self.features = [flat(one.features) for one in several]
        self.costs = np.array([one.cost for one in several], dtype=np.float64)
        self.shares = np.array([one.min_share for one in several], dtype=np.float64)
        self.eligible = np.array([not one.excluded for one in several])
        if not np.isfinite(self.costs).all():
            raise ValueError("actions: costs must be finite")
        if not ((self.shares >= 0) & (self.shares <= 1)).all():
            raise ValueError("actions: min_share must be in [0, 1]")
        if not self.eligible.any():
            raise ValueError("actions: all are excluded; leave at least one")
        self._seen: tuple[ActionNames, int, ActionRows] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, names: ActionNames) -> ActionRows:
        """Return the actions as a model sees them."""
        seen = self._seen
        if seen is None or seen[0] is not names or seen[1] != names.version:
            seen = self._seen = names, names.version, names.rows(self.ids, self.features)
        return seen[2]


class ActionNames:
    """Numbers of actions, or of their features if one model serves all, as they were learned.

    Attributes
    ----------
    version : int
        Another one after each change.
    """

    def __init__(self, shared: bool) -> None:
        self.shared = shared
        self.numbers: dict[str, int] = {}
        self.features = FeatureNames()
        self.version = 0

    def __len__(self) -> int:
        return len(self.features) if self.shared else len(self.numbers)

    def restore(self, ids: Sequence[str], features: FeatureNames) -> None:
        """Continue with the numbers of a file."""
        self.numbers, self.features = {id: k for k, id in enumerate(ids)}, features
        if len(self.numbers) < len(ids):
            raise ValueError("an action is there twice")

    def rows(self, ids: Sequence[str], features: Sequence[dict[str, float]]) -> ActionRows:
        """Return actions as a model sees them."""
        n = len(ids)
        if not self.shared:
            return ActionRows(np.fromiter((self.numbers.get(id, -1) for id in ids), np.intp, n), None, np.zeros(n))
        rows, unknown = np.zeros((n, len(self.features))), np.zeros(n)
        for k, one in enumerate(features):
            found = self.features.row(one)
            rows[k, found.columns], unknown[k] = found.values, found.unknown
        return ActionRows(None, rows, unknown)

    def add(self, id: str, features: dict[str, float]) -> list[tuple[int, float]]:
        """Number an action or its features; return the columns whose scale changes, with their factors."""
        before, factors = len(self), list[tuple[int, float]]()
        if self.shared:
            factors = self.features.add(features)
        else:
            self.numbers.setdefault(id, len(self.numbers))
        self.version += len(self) > before or bool(factors)
        return factors


def as_action(action: AnyAction) -> Action:
    """Return an action, checked; ``TypeError``: it, or its id, is something else."""
    if isinstance(action, str | int | np.integer) and not isinstance(action, bool):
        return Action(str(action))
    if not isinstance(action, Action):
        raise TypeError(f"actions: expected an Action, a text or an integer, got {action!r}")
    if not isinstance(action.id, str):
        raise TypeError(f"actions: the id of an action must be a text, got {action.id!r}")
    return action


def as_actions(actions: Actions | Sequence[AnyAction]) -> Actions:
    """Return actions that are perhaps read already."""
    return actions if isinstance(actions, Actions) else Actions(actions)
