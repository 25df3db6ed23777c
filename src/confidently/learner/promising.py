"""What learners and stacks know of how often predictions were right: it makes sets and intervals conformal."""

from __future__ import annotations

from typing import Any

from ..covariances.state import State
from ..tasks import conformal
from ..tasks.conformal import CONFORMAL
from ..tasks.groups import Groups
from ..tasks.moved_columns import MovedColumns
from ..tasks.task import Task


class Promising:
    """A learner, or a stack, whose predictions promise coverage.

    Attributes
    ----------
    state : dict of arrays
    groups : Groups or None
        What was learned of rows by their values of a column, if sets or intervals cover by these.
    moved : MovedColumns or None
        What is known of the columns of rows; None before the first row, and where there are many columns.
    centered : float
        What has been added to the log-odds of the second of two classes since training ended, after which sets are
        made of the scores without it: those that training has counted.
    """

    state: State
    groups: Groups | None = None
    moved: MovedColumns | None = None
    centered = 0.0

    @property
    def task(self) -> Task:
        """The task: what is predicted for a row."""
        raise NotImplementedError

    @property
    def conformal(self) -> Any:
        """What is known about the scores of true classes, or about errors."""
        repeated = self.moved is not None and self.moved.repeats
        return self.task.conformal(self.state[CONFORMAL], self.groups, repeated, self.centered)

    def follow_no_misses(self) -> None:
        """Begin with rows whose misses sets of classes do not follow, until :meth:`settle` or a drift alarm."""
        if CONFORMAL in self.state and not self.task.regression:
            self.state = self.state | {CONFORMAL: conformal.resting(self.state[CONFORMAL])}

    def settle(self, shuffled: bool = False) -> None:
        """Let sets and intervals forget misses, which were due to chance unless rows as they came gave an alarm."""
        own, task = self.state[CONFORMAL], self.task
        if not shuffled and self.conformal.alarms:
            self.state = self.state | {CONFORMAL: own if task.regression else conformal.woken(own)}
            return
        self.state = self.state | {CONFORMAL: task.settled(own)}
        self.groups = None if self.groups is None else self.groups.settled()
