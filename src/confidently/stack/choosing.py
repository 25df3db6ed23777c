"""Stacks whose members are chosen by the first rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from .. import _core
from ..covariances.examples import Examples
from ..covariances.state import State
from ..data.memory.matrix import check_rows
from ..learner.example_checks import check_examples
from ..learner.predictor import check_width
from ..learner.recipe import ROWS_TO_CHOOSE
from ..views.columns import Columns
from .early import LONG, Early
from .members import Members
from .moves import Moves
from .plan import Choose, Plan


class Choosing(Members):
    """A stack that perhaps chooses its members.

    Parameters
    ----------
    plans : sequence of Plan, optional
        The members; by default ``choose`` says which.
    choose : callable, optional
        Returns the plans, from the first rows, the columns and the number of classes, and perhaps the targets.
    n_classes, n_features, columns, dtype
        As :class:`confidently.stack.members.Members` has them.

    Attributes
    ----------
    early : Early or None
        The first rows, as long as they may choose other members. There are none before the first of them.
    begun : int
        How often members have begun since the stack was made or loaded, each time with all rows so far.
    """

    begun = 0

    may_drop = True  # whether members that the first rows choose may be dropped later

    def __init__(
        self, plans: Sequence[Plan] = (), choose: Choose | None = None, n_classes: int = 2, n_features: int = 0,
        columns: Columns | None = None, dtype: str = "float64",
    ) -> None:  # fmt: skip
        super().__init__(plans, n_classes, n_features, columns, dtype)
        self._choose = choose
        self.dropped = {} if self.may_drop and choose is not None else None
        self.early = None if plans or choose is None else Early()

    @property
    def rows_to_prepare(self) -> int:
        """The number of first rows that :meth:`prepare` wants to see together; 0 if none."""
        return 0 if self.early is None else ROWS_TO_CHOOSE - self.early.n

    def prepare(
        self, X: _core.Matrix, n_classes: int = 0, targets: np.ndarray | None = None,
        new_classes: Sequence[int] = (), for_good: bool = False, weight: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Choose the members by rows that are trained on next, if they are among the first ones.

        :meth:`learn` does so by itself. To know more of the first rows saves training on them again.

        Parameters
        ----------
        X : matrix
        n_classes : int
            The number of classes before these rows, if it may be larger than that of the stack.
        targets : array of shape (n, numbers), optional
        new_classes : sequence of int
            Rows that bring another class, ascending.
        for_good : bool
            Whether all rows given choose, and later ones no more. So it is, too, where rows come in random order.
        weight : array of shape (n,), optional
            Of rows in random order, of which those of weight 0 say nothing about columns.
        """
        if self.early is None:
            super().prepare(X, weight=weight)
            return
        check_rows(X, self.dtype)
        if (for_good or self.shuffled) and (self.members or not self.early.n):
            if not self.members:
                classes, self.early = n_classes + len(new_classes), None
                self._take(*self._chosen(X, max(classes, self.n_classes), targets))
            super().prepare(X, weight=weight)
            return
        after = self.early.after(self._unlabelled(X, targets), self.n_classes)
        if after.due > self.early.chosen:
            classes = n_classes + bisect_left(new_classes, after.due - self.early.n)
            stack = self._begun(after, max(classes, self.n_classes))
            stack.early = self.early._replace(chosen=after.due)
            vars(self).update(vars(stack))

    def _unlabelled(self, X: _core.Matrix, targets: np.ndarray | None) -> Examples:
        n = X.shape[0]
        if self.task.multilabel:
            return Examples(X, np.zeros(0, np.int32), np.zeros(n + 1, np.int64))
        return Examples(X, np.zeros(n, np.int32), targets=targets)

    def _chosen(
        self, X: _core.Matrix, n_classes: int, targets: np.ndarray | None
    ) -> tuple[Sequence[Plan], np.ndarray | None]:
        """Return the members that the first rows choose, and the first targets."""
        assert self._choose is not None
        first = None if targets is None else targets[:ROWS_TO_CHOOSE]
        plans = self._choose(X, self.columns, n_classes, **({} if first is None else {"targets": first}))
        plans = [one for one in plans if one.of_streams in (None, not self.shuffled)]
        return self._lasting(plans) if self.shuffled else plans, first

    def _begun(self, after: Early, n_classes: int) -> Self:
        """Return a stack of the members that the first rows choose, which has trained on those of them so far.

        It is this one if they choose the same members. ``after``: rows that are to be trained on next included.
        """
        assert self.early is not None and after.rows is not None
        first, known = after.rows.part(0, after.due), self.early.rows
        new = self._untrained(self.n_classes if known is None or not known.n else int(known.classes[0]))
        plans, targets = self._chosen(first.matrix(self.n_features, self.dtype), n_classes, first.targets)
        new._take(plans, targets)
        if not new.logs and new._seen_by_members() == self._seen_by_members():
            return self
        for rows in () if known is None else known.by_classes():
            new.grow(n_classes=int(rows.classes[0]))
            new._learn(rows.examples(self.n_features, self.dtype), values=rows.groups)
        new.grow(n_classes=self.n_classes)
        return new

    def _seen_by_members(self) -> list[tuple[str, Any]]:
        """Return names and views of the members, of which some depend on the number of columns."""
        return [(name, getattr(member, "view", None)) for name, member in zip(self.names, self.members, strict=True)]

    def _untrained(self, n_classes: int) -> Self:
        """Return the stack without members, for the same features and fewer classes."""
        new = object.__new__(type(self))
        vars(new).update(
            vars(self), members=[], names=[], multiclass=[], logs=0, rests=0, state={}, begun=self.begun + 1
        )
        new.n_classes, new.moves = n_classes, None if self.moves is None else Moves()
        new.dropped = {} if self.may_drop else None
        new.groups, new.moved = None if self.groups is None else self.groups._replace(states={}, rest=None), None
        return new

    def choose_for_good(self) -> None:
        """Keep no rows any more: the members stay those that are chosen."""
        if self.members:
            self.early = None

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        """Make room for more features or classes; smaller numbers change nothing."""
        more = max(n_features - self.n_features, 0)
        if more and self.early is not None:
            self.columns = self.columns.joined(Columns.alike(more) if columns is None else columns)
            if more > LONG and self.early.n:  # the row that brings so many chooses again, without members of their size
                vars(self).update(vars(self._untrained(self.n_classes)), early=self.early._replace(chosen=0))
        super().grow(n_features, n_classes, multiclass, columns)

    def _learn_next(self, examples: Examples, calibrate: bool, values: Sequence[str] | None, **others: Any) -> None:
        """Train on the next rows of a stream, the first of which choose the members."""
        stack, after = self, None
        if self.early is not None and calibrate and not self.shuffled:
            check_examples(examples, self.task, self.n_classes)
            check_width(examples.X, self.n_features)
            after = self.early.after(examples, self.n_classes, None if self.groups is None else values)
            if after.due > self.early.chosen:
                stack = self._begun(after, self.n_classes)
                after = after._replace(chosen=after.due)
        stack._learn(examples, calibrate, values=values, **others)
        stack.early = None if after is None or after.is_full else after
        if stack is not self:
            vars(self).update(vars(stack))

    # --- as plain data --------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data."""
        early = {} if self.early is None or not self.early.n else {"early": self.early.header()}
        return super().header() | early

    def continue_early(self, saved: Mapping[str, Any], arrays: State, untrained: Choosing) -> None:
        """Continue with the first rows of a model file, which choose members as those of an untrained stack do."""
        self.early, self.columns = Early.of(saved, arrays, self.n_features, self.n_classes)
        self._choose = untrained._choose
