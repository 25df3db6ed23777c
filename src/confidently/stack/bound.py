"""The members of a stack as the core takes them for single rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _core
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

    def groups_of(self, members: Sequence[Member]) -> list[Group]:
        """Return the groups of members of a stack."""
        if self._members is not members:
            self._members, self.groups = members, groups_of(members)
            self._core = _core.BoundMembers(len(self.groups))
            self._pausing = [(g, view, group[0]) for g, (view, group) in enumerate(self.groups) if view and view.pauses]
        return self.groups

    def begin(self, members: Sequence[Member]) -> None:
        """Bind the members of a stack."""
        self.groups_of(members)
        for g in self._core.take([member.state for member in members]):
            view, group = self.groups[g]
            learners = [one for k in group if isinstance(one := members[k], Learner) and one.scores_rows]
            if len(learners) == len(group):
                self._core.bind(g, [] if view is None else view.steps, group, [_as_row(one) for one in learners])

    def score(self, X: _core.Matrix, scores: np.ndarray) -> list[list[int]]:
        """Write the scores of a row, shape (members, 1, columns); return the groups that have to be asked otherwise."""
        return [self.groups[g][1] for g in self._core.score(X, scores)]

    def learn(self, X: _core.Matrix, label: int, weight: float, n_classes: int, scores: np.ndarray) -> list[Group]:
        """Train on a row, and write its scores before that; return the groups that have to be trained otherwise."""
        paused = [g for g, view, k in self._pausing if not view.learns_row(self._members[k].state)]
        return [self.groups[g] for g in self._core.learn(X, label, weight, n_classes, paused, scores)]

    def roll_back(self) -> None:
        """Undo the last call of :meth:`learn`."""
        self._core.roll_back()


def _as_row(learner: Learner) -> tuple[_core.LearnerSettings, State, bool, float]:
    """Return a learner for single rows, its state, whether it may learn these, and until what weight of them."""
    covariance, state = learner.covariance, learner.state
    return covariance.row_scorer(state), state, learner.learns_rows, covariance.most_aged


def groups_of(members: Sequence[Member]) -> list[Group]:
    """Return the numbers of the members with the same view together, and of the others alone."""
    found: dict[str, Group] = {}
    alone: list[Group] = []
    for k, member in enumerate(members):
        if isinstance(member, Learner) and member.view is not None:
            found.setdefault(member.view.key, (member.view, []))[1].append(k)
        else:
            alone.append((None, [k]))
    return [*found.values(), *alone]
