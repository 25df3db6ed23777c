"""The contexts within which the members of a stack train on examples, which undo that on an error."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ..covariances.examples import Examples
from .bound import Bound
from .plan import Member


class Begun:
    """The contexts of members, each of which begins when it is first asked for.

    Attributes
    ----------
    examples : Examples
    is_row : bool
        Whether these are a single row, on which the core may train members.
    bound : Bound or None
        What the core has trained on the row, and undoes that.
    """

    def __init__(self, members: Sequence[Member], examples: Examples, stack: ExitStack, is_row: bool) -> None:
        self.examples, self.is_row = examples, is_row
        self._members, self._stack = members, stack
        self._contexts: list[Any] = [None] * len(members)
        self.bound: Bound | None = None
        if is_row:
            stack.push(self._undo)

    def __getitem__(self, k: int) -> Any:
        if self._contexts[k] is None:
            self._contexts[k] = self._stack.enter_context(self._members[k].begin(self.examples))
        return self._contexts[k]

    def of(self, numbers: Sequence[int]) -> Begun:
        """Return the contexts of some of the members."""
        found = Begun([self._members[k] for k in numbers], self.examples, self._stack, False)
        found._contexts = [self._contexts[k] for k in numbers]
        return found

    def _undo(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None and self.bound is not None:
            self.bound.roll_back()
