"""What a stack has to follow data that move, of which rows in random order need nothing until a stream comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .. import _core
from ..covariances.settings import Settings
from ..covariances.state import State
from ..covariances.table import make_covariance, resolved
from ..learner.learner import Learner
from ..learner.recipe import Recipe
from .plan import Member, Plan, plan
from .racing import Racing

SHARE = "mixture.share"  # of the windows of a mixture; those of which it is 0 are at rest
WINDOWS = _core.windows
WINDOW_ROWS = tuple(int(_core.window_rows(i)) for i in range(WINDOWS))
LONGEST = np.eye(WINDOWS)[-1]
AWAKE = 0.002  # the part of the shares that windows begin with, together, where the longest has had all of them


class Later(NamedTuple):
    """A member that forgets and begins where a stream follows rows in random order.

    Attributes
    ----------
    twin : str
        The member that it begins as a copy of: with the same rule, covariance and view, which forgets nothing.
    kind : str
        Rule and covariance of the twin.
    forget : float
        The fraction of what it knows that it forgets per row.
    """

    twin: str
    kind: str
    forget: float


class Following(Racing):
    """What a stack has that begins to follow data that move where a stream comes after rows in random order.

    Attributes
    ----------
    later : list of Later or None
        Members that are still to begin; ``None``: the stack follows already.
    shuffled : bool
        Whether the rows to come are in random order, which whoever trains on them says, each time. Nothing is followed
        then, unless it was before; otherwise the next row begins that.
    """

    later: list[Later] | None = None
    shuffled = False
    logs: int
    rests: int

    def _lasting(self, plans: Sequence[Plan]) -> list[Plan]:
        """Return the members for rows in random order, and note those that begin later."""
        found, self.later = lasting(plans)
        return found

    def _rest(self) -> None:
        """Let all windows but the longest rest, before the first of rows in random order."""
        self.later = [] if self.later is None else self.later
        self.state[SHARE][...] = LONGEST

    def follow(self) -> None:
        """Begin to follow what moves: with members that forget, and with windows of all lengths.

        Members begin as copies of their twins, and windows as copies of the longest.
        """
        if self.later is None:
            return
        later, self.later = self.later, None
        for k, one in begun(later, self.names, self.members):
            self._begin_copy(k, one)
        self.state = self.state | self._woken() | {SHARE: np.tile(woken_share(), (*self.state[SHARE].shape[:-1], 1))}

    def _begin_copy(self, k: int, one: Later) -> None:
        """Begin a member as a copy of another one, behind all but those of logarithms and of the rest."""
        member, at = self.members[k], len(self.members) - self.rests - self.logs
        assert isinstance(member, Learner)
        self.members = [*self.members[:at], copied(member, one.forget), *self.members[at:]]
        self.names = [*self.names[:at], f"{self.names[k]}, forget {one.forget:g}", *self.names[at:]]
        self.multiclass = [*self.multiclass[:at], self.multiclass[k], *self.multiclass[at:]]
        self.state = self.state | self._with_copy(k, at)

    def _with_copy(self, k: int, at: int) -> State:
        """Return arrays of the mixture with a copy of member ``k`` before member ``at``."""
        raise NotImplementedError

    def _woken(self) -> State:
        """Return arrays of the mixture whose shorter windows are as the longest one."""
        raise NotImplementedError


def woken_share() -> np.ndarray:
    """Return the shares of windows that begin where the longest has had all."""
    return (1.0 - AWAKE) * LONGEST + AWAKE / WINDOWS


def with_copy(array: np.ndarray, k: int, at: int, axes: Sequence[int]) -> np.ndarray:
    """Return an array with a copy of its part ``k`` along axes, before the part ``at``."""
    order = np.insert(np.arange(array.shape[axes[0]]), at, k)
    for axis in axes:
        array = np.take(array, order, axis=axis)
    return np.ascontiguousarray(array)


def lasting(plans: Sequence[Plan]) -> tuple[list[Plan], list[Later]]:
    """Return the members that rows in random order need, and those that begin later.

    Each member that forgets has a twin that does not: one of the others, or one that takes its place.
    """
    found = [one for one in plans if not one.forget]
    later = []
    for one in plans:
        if not one.forget:
            continue
        twin = next((other for other in found if _are_twins(one, other)), None)
        if twin is None:
            twin = _without_forgetting(one)
            place = next((k for k, other in enumerate(found) if other.rest or other.log), len(found))
            found.insert(place, twin)
        assert twin.recipe is not None
        later.append(Later(twin.name, _kind(twin.recipe), one.forget))
    return found, later


def _are_twins(one: Plan, other: Plan) -> bool:
    a, b = one.recipe, other.recipe
    if a is None or b is None or (one.rest, one.log) != (other.rest, other.log):
        return False
    return (a.rule, a.covariance, a.view) == (b.rule, b.covariance, b.view)


def _without_forgetting(one: Plan) -> Plan:
    assert one.recipe is not None
    recipe = replace(one.recipe, others={**one.recipe.others, "forget": 0.0})
    name = one.name.removesuffix(f", forget {one.forget:g}")
    return plan(recipe, name, one.multilabel, one.rest, one.log)


def begun(later: Sequence[Later], names: Sequence[str], members: Sequence[Member]) -> list[tuple[int, Later]]:
    """Return the members that begin, with the numbers of those of which they are copies.

    Where a race has dropped the twin, it is the one with the fewest columns of those with the same rule and kind of
    covariance as a twin would have, or else of all that have a Gaussian.
    """
    found: dict[tuple[int, float], Later] = {}
    for one in later:
        if (k := _twin(one, names, members)) is not None:
            found.setdefault((k, one.forget), one)
    return [(k, one) for (k, _), one in found.items()]


def _twin(one: Later, names: Sequence[str], members: Sequence[Member]) -> int | None:
    if one.twin in names:
        return names.index(one.twin)
    gaussian = {k: member for k, member in enumerate(members) if isinstance(member, Learner)}
    alike = {k: member for k, member in gaussian.items() if _kind(member.settings) == one.kind}
    return min(alike or gaussian, key=lambda k: gaussian[k].width, default=None)


def _kind(one: Settings | Recipe) -> str:
    return f"{one.rule.name} {one.covariance}"


def copied(member: Learner, forget: float) -> Learner:
    """Return a copy of a member that forgets from now on."""
    settings = resolved(replace(member.settings, forget=forget), member.n_features)
    own = member.without_view(member.state)
    of_view = {name: array.copy() for name, array in member.state.items() if name not in own}
    state = member.covariance.forgetting(own, member.size, make_covariance(settings)) | of_view
    return Learner(settings, member.n_classes, member.n_features, view=member.view, state=state)
