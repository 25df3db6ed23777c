"""The members of a stack as the core takes them for single rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _core
from ..covariances.examples import Examples
from ..covariances.state import State
from ..learner.learner import Learner
from ..views.view import View
from .plan import Member

Group = tuple[View | None, list[int]]  # a view, and the numbers of the members that have it


class Bound:
    """Members that are bound to the arrays of their states, as long as these are the same.

    Copies and pickles of a stack begin without any.

    Attributes
    ----------
    groups : list of (View or None, list of int)
        The members with the same view together, and others alone.
    """

    def __init__(self) -> None:
        self._members: Sequence[Member] = ()
        self.groups: list[Group] = []

    def __reduce__(self) -> tuple[type[Bound], tuple[()]]:
        return Bound, ()

    def groups_of(self, members: Sequence[Member], rests: int) -> list[Group]:
        """Return the groups of members of a stack; the last ones, which learn one after the other, are alone."""
        if self._members is not members:
            self._members, self.groups = members, groups_of(members, len(members) - rests)
            self._core = _core.BoundMembers(len(self.groups))
        return self.groups

    def begin(self, members: Sequence[Member], rests: int, learns: bool = False) -> None:
        """Bind the members of a stack to their arrays, for the next row, which is perhaps learned."""
        self.groups_of(members, rests)
        if learns:
            self._core.begin_row()
        for g in self._core.take([member.state for member in members]):
            view, group = self.groups[g]
            learners = [one for k in group if isinstance(one := members[k], Learner) and one.scores_rows]
            if len(learners) == len(group):
                self._core.bind(g, [] if view is None else view.steps, group, [_as_row(one) for one in learners])

    def score(self, X: _core.Matrix, scores: np.ndarray) -> list[list[int]]:
        """Write the scores of a row, shape (members, 1, columns); return the groups that have to be asked otherwise."""
        return [self.groups[g][1] for g in self._core.score(X, scores)]

    def learn(
        self, row: Examples, n_classes: int, scores: np.ndarray, targets: np.ndarray | None = None,
        members: slice = slice(None),
    ) -> list[Group]:  # fmt: skip
        """Train some of the members on a row, and write its scores before that.

        ``targets``: those of the row, and below those of each member, shape (1 + members, numbers). Return the groups
        that have to be trained otherwise.
        """
        wanted = range(len(self._members))[members]
        groups = [g for g, (_, group) in enumerate(self.groups) if group[0] in wanted]
        able = [g for g in groups if (view := self.groups[g][0]) is None or not view.pauses or self._learns(g, view)]
        weight = 1.0 if row.weight is None else float(row.weight[0])
        left = self._core.learn(row.X, int(row.labels[0]), weight, n_classes, able, targets, scores)
        return [self.groups[g] for g in groups if g in left or g not in able]

    def _learns(self, g: int, view: View) -> bool:
        return view.learns_row(self._members[self.groups[g][1][0]].state)

    def roll_back(self) -> None:
        """Undo what :meth:`learn` has done of the row."""
        self._core.roll_back()


def _as_row(learner: Learner) -> tuple[_core.LearnerSettings, State, bool, float, int]:
    """Return a learner for single rows and its state; whether it may learn these, until what weight, and how many."""
    covariance, state = learner.covariance, learner.state
    limits = covariance.most_aged, covariance.most_seen(state)
    return covariance.row_scorer(state), state, learner.learns_rows, *limits


def groups_of(members: Sequence[Member], bases: int) -> list[Group]:
    """Return the numbers of the first members with the same view together, and of the others alone."""
    found: dict[str, Group] = {}
    alone: list[Group] = []
    for k, member in enumerate(members):
        view = member.view if isinstance(member, Learner) else None
        if view is not None and k < bases:
            found.setdefault(view.key, (view, []))[1].append(k)
        else:
            alone.append((view, [k]))
    return [*found.values(), *alone]
