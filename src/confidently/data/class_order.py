"""The order in which classes are presented: sorted, whatever the numbers that a learner gave them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


class ClassOrder:
    """The classes of a learner, sorted as scikit-learn sorts them, and the number that each has in the learner.

    A learner numbers classes as a stream brings them, and keeps these numbers. Estimators present what it computes in
    the order of ``classes``: the functions here put arrays into it.

    Parameters
    ----------
    names : sequence or array
        Classes by number.

    Attributes
    ----------
    names : list
        Classes by number, as Python's objects.
    by_number, classes : array
        Classes by number, and sorted.
    numbers : int array
        The number of each sorted class.
    is_sorted : bool
        Whether the classes are sorted by number already.

    Examples
    --------
    >>> order = ClassOrder(["spam", "ham"])
    >>> order.classes.tolist(), order.numbers.tolist()
    (['ham', 'spam'], [1, 0])
    >>> order.columns(np.array([[0.9, 0.1]]))
    array([[0.1, 0.9]])
    >>> order.scores(np.array([0.5, -2.0]), binary=True)
    array([-0.5,  2. ])
    """

    def __init__(self, names: Sequence[Any] | np.ndarray) -> None:
        self.by_number = np.asarray(names)
        self.names: list[Any] = list(names) if isinstance(names, Sequence) else self.by_number.tolist()
        self.numbers = np.argsort(self.by_number, kind="stable")
        self.classes: np.ndarray = self.by_number[self.numbers]
        self.is_sorted = bool((self.numbers == np.arange(len(self.numbers))).all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassOrder) and self.names == other.names

    def numbers_of(self, classes: np.ndarray) -> np.ndarray | None:
        """Return the numbers of classes; None if one is unknown, or they are of another type."""
        if classes.dtype != self.classes.dtype:
            return None
        at = np.searchsorted(self.classes, classes)
        at[at == len(self.classes)] = 0
        return self.numbers[at].astype(np.int32) if (self.classes[at] == classes).all() else None

    def columns(self, values: np.ndarray) -> np.ndarray:
        """Return values with one entry per class on the last axis, which are given by number, by sorted class."""
        return values if self.is_sorted else values[..., self.numbers]

    def scores(self, values: np.ndarray, binary: bool) -> np.ndarray:
        """Return scores by sorted class; for two classes, ``binary``, scores that are positive for the second."""
        if self.is_sorted or not binary:
            return self.columns(values)
        return -values

    def labels_by_number(self, indicators: Any) -> Any:
        """Return an indicator matrix with a column per sorted label as one with a column per number."""
        if self.is_sorted:
            return indicators
        rows = indicators.tocsr() if hasattr(indicators, "tocsr") else np.asarray(indicators)
        return rows[:, np.argsort(self.numbers)]


def sorted_numbers(names: Sequence[Any]) -> list[int]:
    """Return the numbers of classes in the order of listings: numeric names by size, then others, None last.

    >>> names = ["b", 10, "a", 2, None]
    >>> [names[k] for k in sorted_numbers(names)]
    [2, 10, 'a', 'b', None]
    """
    return sorted(range(len(names)), key=lambda k: _rank(names[k]))


def positive_number(names: Sequence[Any]) -> int:
    """Return the number of the one of two classes whose margins and weights are presented as positive: the last listed.

    Classes that have not been seen may be missing from the names.

    >>> positive_number(["spam", "ham"]), positive_number([1, 2])
    (0, 1)
    """
    return sorted_numbers([*names, None, None][:2])[1]


def _rank(name: Any) -> tuple[int, float, str]:
    if name is None:
        return 2, 0.0, ""
    try:
        value = float(name)
    except (TypeError, ValueError, OverflowError):
        return 1, 0.0, str(name)
    return (0, value, str(name)) if math.isfinite(value) else (1, 0.0, str(name))
