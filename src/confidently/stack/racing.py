"""Which members a stack drops: those its mixture can do without, and those that many classes make too large."""

from __future__ import annotations

import math

import numpy as np

from ..covariances.state import State
from ..learner.learner import Learner
from .averaging import Mean
from .class_means import ClassMeans
from .plan import Member, sees_trees

FIRST_RACE = 3000  # rows after which members are compared; then after 10000, 30000, 100000, ...
DISPENSABLE = 1e-3  # nats per row that the mixture may lose without a member, where all of a bit is at stake
MISTAKES_TO_RACE = 30  # fewer show little about the members
LAST_RACE = 0.75  # of the rows until training ends
MANY_CLASSES = 64  # more of them have no members whose size grows with classes and products, or with classes twice
MAX_PRODUCTS = 2**22  # of features, times classes, of a member where classes are many


class Racing:
    """What a stack has whose members may go.

    Attributes
    ----------
    members : list of Learner or Generative
    names : list of str
    multiclass : list of str or None
    state : dict of arrays
        The mixture's own.
    dropped : dict of str to int or None
        Members that :meth:`race` has dropped, and after how many rows; ``None`` if all that were given stay.
    pass_rows, passes : number
        The rows of a pass and the passes after which training ends, where whoever trains knows it. There is no race in
        the last quarter: what is known of scores would be that of another mixture.
    mean : Mean
        What the mixture of a stack of classes was over rows in random order, until training on them has ended.
    """

    members: list[Member]
    names: list[str]
    multiclass: list[str | None]
    state: State
    dropped: dict[str, int] | None
    pass_rows, passes = math.inf, 1
    mean = Mean()

    n_classes: int

    @property
    def n_seen(self) -> int:
        """Rows trained on, in all passes."""
        raise NotImplementedError

    @property
    def mistakes(self) -> int:
        """Progressive mistakes of the mixture."""
        raise NotImplementedError

    def removal_costs(self) -> np.ndarray:
        """Return the nats per row that the mixture would lose without each member, shape (members,)."""
        raise NotImplementedError

    @property
    def at_stake(self) -> float:
        """The entropy of the classes' shares in bits, at most 1: what rows without any feature would lose."""
        return 1.0

    def _without(self, k: int) -> State:
        """Return the mixture's arrays without member ``k``, whose part the others take over."""
        raise NotImplementedError

    def _doubt_scores(self) -> None:
        """Let the scores so far, which were those of a mixture with more members, count less."""
        raise NotImplementedError

    def race(self, before: int) -> list[int]:
        """Drop members that the mixture can do without, if it is time, and return the numbers of those that stay.

        It is after 3000, 10000, 30000, 100000, ... rows, for a stack whose members were chosen by its first rows. The
        member whose removal costs least goes first, as long as that is below .001 nats per row, or less where classes
        are rare: times :attr:`at_stake`. Members that forget
        stay, since they are missed only when the data change, and so do means of classes, which new classes need, and
        trees, which are worth more on more rows. With few mistakes, there is nothing yet to compare.

        Parameters
        ----------
        before : int
            Rows seen when it was last called.
        """
        names = self.names
        if self.dropped is None or not next_race(before) <= self.n_seen <= LAST_RACE * self.pass_rows * self.passes:
            return list(range(len(names)))
        self.drop_huge(self.n_classes)
        if self.mistakes >= MISTAKES_TO_RACE:
            least = DISPENSABLE * self.at_stake
            while len(self.members) > 1:
                costs = np.where([_stays(member) for member in self.members], np.inf, self.removal_costs())
                k = int(costs.argmin())
                if not costs[k] < least:
                    break
                self.drop(k)
        if len(self.names) < len(names):
            self._doubt_scores()
        return [k for k, name in enumerate(names) if name in self.names]

    def drop_huge(self, n_classes: int) -> None:
        """Drop members on products that are too large for so many classes.

        The first rows, which choose members, may have few of the classes: those of a file that is sorted by class do.
        """
        if self.dropped is None or n_classes <= MANY_CLASSES:
            return
        for k in reversed(range(len(self.members))):
            if len(self.members) > 1 and _products(self.members[k]) * n_classes > MAX_PRODUCTS:
                self.drop(k)

    def drop(self, k: int) -> None:
        """Go on without member ``k``, whose part the others take over."""
        if self.dropped is not None:
            self.dropped = self.dropped | {self.names[k]: self.n_seen}
        self.state, self.mean = self._without(k), self.mean.begun_again()
        for name in ("members", "names", "multiclass"):
            items = getattr(self, name)
            setattr(self, name, items[:k] + items[k + 1 :])


def next_race(rows: int) -> int:
    """Return after how many rows members are compared next, if so many have been seen."""
    race = FIRST_RACE
    while race <= rows:
        race = 3 * race if str(race)[0] == "1" else 10 * race // 3
    return race


def _stays(member: Member) -> bool:
    if not isinstance(member, Learner):
        return isinstance(member, ClassMeans)
    return member.settings.forget > 0 or sees_trees(member.view)


def _products(member: Member) -> int:
    """Return how many columns of weights a member has besides those of the features."""
    return max(member.width - member.n_features, 0) if isinstance(member, Learner) else 0
