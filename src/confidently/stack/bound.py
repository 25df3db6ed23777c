"""The members of a stack as the core takes them for single rows."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ..learner.learner import Learner
from ..views.view import View
from .plan import Member


class Bound:
    """Groups of members that are bound to the arrays of their states, as long as these are the same.

    Copies and pickles of a stack begin without any.
    """

    def __init__(self) -> None:
        self._members: Sequence[Member] = ()
        self._groups: dict[tuple[int, ...], _core.BoundMembers] = {}

    def __reduce__(self) -> tuple[type[Bound], tuple[()]]:
        return Bound, ()

    def of(
        self, members: Sequence[Member], view: View | None, group: list[int], learners: Sequence[Learner]
    ) -> _core.BoundMembers:
        """Return members of a stack that have the same view; ``group``: their numbers."""
        if self._members is not members:
            self._members, self._groups = members, {}
        found, key = self._groups.get(tuple(group)), tuple(group)
        if found is None or not found.take([one.state for one in learners]):
            cores = [(one.covariance.row_scorer(one.state), one.state) for one in learners]
            found = self._groups[key] = _core.BoundMembers([] if view is None else view.steps, cores)
        return found
