"""What is measured of predictions before each row is learned: sums over rows, and means made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...tasks.task import Task
from .alarms import ERROR, LOG_LOSS, MAE


class Measures(NamedTuple):
    """What is measured of the predictions of a task.

    Attributes
    ----------
    names : tuple of str
        Of the means, as in ``Task.measures``.
    sums : tuple of str
        What is added up over rows.
    means : callable
        Returns the means of a number of rows and these sums; None: of no rows.
    alarms : tuple of str
        The kinds of alarms about the first sums.
    """

    names: tuple[str, ...]
    sums: tuple[str, ...]
    means: Callable[[float, Sequence[float]], dict[str, float | None]]
    alarms: tuple[str, ...]


def ratio(part: float, whole: float) -> float | None:
    """Return a mean; None if there is nothing to average."""
    return part / whole if whole else None


def _of_classes(rows: float, sums: Sequence[float]) -> dict[str, float | None]:
    mistakes, log_loss = sums
    return {"error": ratio(mistakes, rows), "log_loss": ratio(log_loss, rows)}


def _of_numbers(rows: float, sums: Sequence[float]) -> dict[str, float | None]:
    """Return the means over the rows that were predicted, which the first one is not."""
    absolute, squared, errors = sums
    mean_square = ratio(squared, errors)
    return {"mae": ratio(absolute, errors), "rmse": None if mean_square is None else math.sqrt(mean_square)}


CLASSES = Measures(("error", "log_loss"), ("mistakes", "log_loss"), _of_classes, (ERROR, LOG_LOSS))
NUMBERS = Measures(("rmse", "mae"), ("absolute_errors", "squared_errors", "errors"), _of_numbers, (MAE,))
OF_TASKS = {measures.names: measures for measures in (CLASSES, NUMBERS)}


def measures_of(task: Task) -> Measures:
    """Return what is measured of the predictions of a task."""
    return OF_TASKS[task.measures]
