"""Rows that several passes leave out and that are learned once, after these: what calibrates a model of several passes.

In later passes a model has seen all other rows, so that what it says of them does not show how good it is; and what it
said in the first pass was said by a model that had learned less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import Matrix
from ..arrays import row_entries
from ..learner.averaged import calibrate_by
from ..learner.learner import Learner
from ..learner.recipe import ROWS_TO_CALIBRATE
from .rows import Labels

PARTS = 10  # of the rows, of which one is held out
SWEEPS = 3  # over held rows, to find slopes


def held_rows(n: int, passes: int, order: np.ndarray | None, averages: bool = False) -> np.ndarray | None:
    """Return the rows that all passes leave out, to be learned once after these; ``None``: no rows are left out.

    They are a tenth: the last in the order of the first pass or, of rows that are not shuffled, chosen by a hash of
    their numbers.

    Parameters
    ----------
    n : int
        Rows. Of fewer than 500, none is left out: a tenth would be too few.
    passes : int
        The largest number of passes.
    order : array of shape (n,), optional
        Row numbers in the order of the first pass; ``None``: in their own.
    averages : bool
        Whether the mean of the weights predicts, of which no pass calibrates, not even the only one.
    """
    if (passes == 1 and not averages) or n < ROWS_TO_CALIBRATE:
        return None
    return np.flatnonzero(_hashes(n) % PARTS == 0) if order is None else order[n - n // PARTS :]


def learn_held(learner: Any, learn: Callable[[Any], None], held: int, kept: int, calibrates: bool) -> None:
    """Train on the rows that were held out, so that they calibrate.

    Slopes begin as copies of the learner have them that have trained on the same rows: scores may have left those of
    the first pass by orders of magnitude. What evidence the rows are for slopes still counts once.

    Parameters
    ----------
    learner : Learner or Stack
    learn : callable
        Trains a learner on the held rows.
    held, kept : int
        The rows that were held out, and the others.
    calibrates : bool
        Whether training calibrates at all.
    """
    if calibrates and not learner.task.regression:
        for _ in range(SWEEPS if isinstance(learner, Learner) else 0):
            tried = learner.apart()
            tried.renew(held / kept)
            learn(tried)
            learner.take_slopes(tried)
        learner.renew(held / kept)
    learn(learner)


def averages(learner: Any) -> bool:
    """Return whether the mean of a learner's weights predicts classes, other than the weights that it learns with."""
    return isinstance(learner, Learner) and learner.settings.average and not learner.task.regression


def judge_held(learner: Learner, X: Matrix, labels: Labels, held: np.ndarray, kept: int) -> None:
    """Calibrate averaged weights by the rows that were held out, before they are learned.

    Parameters
    ----------
    learner : Learner
    X : matrix
        The held rows.
    labels : Labels
        Of all rows.
    held : array
        The numbers of the held rows.
    kept : int
        The number of the others.
    """
    start, values, weight = labels.options.get("label_start"), labels.options.get("values"), labels.weights()
    entries, start = (held, None) if start is None else row_entries(start, held)
    calibrate_by(
        learner, X, labels.numbers[entries], start, None if weight is None else weight[held], len(held) / kept,
        None if values is None else [values[row] for row in held.tolist()],
    )  # fmt: skip


def _hashes(n: int) -> np.ndarray:
    """Return hashes of the numbers of rows (splitmix64)."""
    x = (np.arange(n, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
