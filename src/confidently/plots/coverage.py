"""Coverage and size of prediction sets along a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..rules.ranges import UNIT, check_choice, check_number
from ..wording import counted
from .base import Display, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

QUANTITIES = {"coverage": "coverage", "size": "mean size of the sets"}


class CoverageDisplay(Display):
    """Coverage or mean size of prediction sets in the last rows, by rows predicted.

    A horizontal line is the coverage that was asked for, and vertical lines are the rows of alarms.

    Parameters
    ----------
    covered : bool array of shape (n,)
        Whether the set of each row had the row's class.
    sizes : int array of shape (n,)
        Number of classes in each set.
    coverage : float
        What was asked for, in (0, 1).
    window : int
        Number of rows, from 1 to n, of which each point of the line is a mean.
    alarms : sequence of int
        Rows, counted from 1.
    quantity : {"coverage", "size"}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from confidently import AutoClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = AutoClassifier().fit(X[:900], y[:900])
    >>> display = CoverageDisplay.from_sets(y[900:], classifier.predict_set(X[900:]), window=100)
    >>> display.ax_.get_ylabel()
    'coverage'
    """

    def __init__(
        self, covered: Any, sizes: Any, coverage: float = 0.9, window: int = 250, alarms: Sequence[int] = (),
        quantity: str = "coverage",
    ) -> None:  # fmt: skip
        check_choice("quantity", quantity, tuple(QUANTITIES))
        check_number(type(self).__name__, "coverage", coverage, UNIT)
        self.covered, self.sizes = np.asarray(covered, dtype=bool), np.asarray(sizes, dtype=int)
        if self.covered.ndim != 1 or self.covered.shape != self.sizes.shape:
            raise ValueError(
                f"covered and sizes must have the same shape (n,), got {self.covered.shape} and {self.sizes.shape}"
            )
        if not 1 <= window <= len(self.covered):
            raise ValueError(f"window must be from 1 to {counted(len(self.covered), 'row')}, got {window}")
        self.coverage, self.window, self.alarms, self.quantity = coverage, window, tuple(alarms), quantity

    @classmethod
    def from_sets(
        cls, y_true: Any, sets: Any, *, classes: Any = None, coverage: float = 0.9, window: int = 250,
        alarms: Sequence[int] = (), quantity: str = "coverage", ax: Axes | None = None, **options: Any,
    ) -> CoverageDisplay:  # fmt: skip
        """Create and draw from the sets of rows in their order; ``options`` are passed to ``ax.plot``.

        Parameters
        ----------
        y_true : array of shape (n,)
            Classes of the rows. No set has one that is not among ``classes``.
        sets : bool array of shape (n, n_classes)
            As ``predict_set`` of a classifier returns them.
        classes : array of shape (n_classes,), optional
            Classes of the columns of ``sets``. Default: those of ``y_true``, sorted.
        coverage, window, alarms, quantity
            As for the class.
        ax : matplotlib.axes.Axes, optional
        """
        sets, y_true = np.asarray(sets, dtype=bool), np.asarray(y_true)
        classes = np.unique(y_true) if classes is None else np.asarray(classes)
        if sets.shape != (len(y_true), len(classes)):
            raise ValueError(
                f"sets of {counted(len(y_true), 'row')} and {counted(len(classes), 'class', 'classes')} must have the "
                f"shape {(len(y_true), len(classes))}, got {sets.shape}"
            )
        covered = (sets & (y_true[:, None] == classes)).any(axis=1)
        return cls(covered, sets.sum(axis=1), coverage, window, alarms, quantity).drawn(ax, options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        values = self.covered if self.quantity == "coverage" else self.sizes
        sums = np.concatenate([[0], np.cumsum(values)])
        rows = np.arange(self.window, len(values) + 1)
        ax.plot(rows, (sums[rows] - sums[rows - self.window]) / self.window, **options)
        if self.quantity == "coverage":
            ax.axhline(self.coverage, color="gray", linestyle="--", linewidth=1)
        for k, row in enumerate(self.alarms):
            ax.axvline(row, color="tab:red", linewidth=1, label=None if k else "alarm")
        means = f"rows predicted; means of the last {counted(self.window, 'row')}"
        ax.set(xlabel=means, ylabel=QUANTITIES[self.quantity], xlim=(0, len(values)))
        tidy(ax)
        if self.alarms:
            ax.legend(frameon=False)
