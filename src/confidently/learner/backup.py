"""Backups of a learner, which undo its training if a row cannot be trained on."""

from __future__ import annotations

from typing import Self

import numpy as np

from .. import _core
from ..covariances.covariance import Covariance
from ..covariances.examples import Examples
from ..covariances.state import Size, State
from .posterior import Posterior

# Weights are copied if that takes at most this fraction of a log of all changes; otherwise changes are logged.
COPY_TO_LOG = 1 / 8
LOGGED_BYTES = 16  # per number


class Backup:
    """Copies of the arrays that training writes to, or of all but the weights, whose changes are logged.

    Attributes
    ----------
    log : UndoLog or None
        The log, which the core fills.
    """

    def __init__(
        self, covariance: Covariance, state: State, examples: Examples, log_loss: np.ndarray | None, row_by_row: bool,
        size: Size, device: str | None,
    ) -> None:  # fmt: skip
        self._state, self._log_loss, self._device = state, log_loss, device
        self._cost = None if log_loss is None else log_loss.copy()
        self._untrained = None if row_by_row or any(state["counters"].tolist()) else (covariance, size)
        self.log: _core.UndoLog | None = None
        if self._untrained:  # large matrices are not copied while they are the prior's
            self._before: State = {}
            return
        before = dict(covariance.changed_in_place(state, device))
        logged = covariance.logged_matrices(state, device)
        if row_by_row and not covariance.couples_features and _log_is_smaller(state, examples, covariance):
            logged = covariance.logged
        for name in logged:
            del before[name]
        self.log = _core.UndoLog() if logged else None
        self._before = {name: array.copy() for name, array in before.items()}

    def restore(self) -> None:
        """Write the arrays back."""
        if self._untrained:
            covariance, size = self._untrained
            self._before = covariance.changed_in_place(covariance.new_state(size), self._device)
        for name, array in self._before.items():
            self._state[name][...] = array
        if self.log is not None:
            self.log.roll_back()
        if self._log_loss is not None:
            self._log_loss[...] = self._cost


class Statistics:
    """Copies of arrays of counts, or with examples a log of their changes, if that is smaller.

    Attributes
    ----------
    log : UndoLog or None
        The log, which the core fills.
    """

    def __init__(self, arrays: State, examples: Examples | None = None) -> None:
        size = sum(array.nbytes for array in arrays.values())
        self.log = None
        if examples is not None:
            entries = examples.X.stored * len(examples) / max(examples.X.shape[0], 1)
            self.log = _core.UndoLog() if size > entries * LOGGED_BYTES else None
        self._before = [] if self.log else [(array, array.copy()) for array in arrays.values()]

    def restore(self) -> None:
        """Write the arrays back."""
        if self.log is not None:
            self.log.roll_back()
        for array, before in self._before:
            array[...] = before


class Transaction:
    """A context within which a learner is trained on examples; an exception undoes the training.

    Attributes
    ----------
    log, counted : UndoLog or None
        The changes of the weights and of the view's statistics, where these are logged.
    """

    def __init__(
        self, learner: Posterior, examples: Examples, log_loss: np.ndarray | None, row_by_row: bool, device: str | None
    ) -> None:
        self._learner, self._before, self._replaced = learner, dict(learner.state), list[State]()
        statistics = {} if learner.view is None else learner.view.arrays(self._before)
        others = {name: array for name, array in self._before.items() if name not in statistics}
        self._backup = Backup(learner.covariance, others, examples, log_loss, row_by_row, learner.size, device)
        self.log = self._backup.log
        self._statistics = Statistics(statistics, examples)
        self.counted = self._statistics.log

    def keep(self, state: State) -> None:
        """Keep arrays that were replaced, because the logs point into them."""
        self._replaced.append(state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            self._backup.restore()
            self._statistics.restore()
            self._learner.state = self._before


class Unprotected(Transaction):
    """A context for training that need not be undone: the learner is discarded after an exception."""

    def __init__(self) -> None:
        self.log = self.counted = None

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        pass


def _log_is_smaller(state: State, examples: Examples, covariance: Covariance) -> bool:
    """Return whether a log of all changes of the weights is small compared with a copy of them."""
    size = sum(state[name].nbytes for name in covariance.logged)
    entries = examples.X.stored * len(examples) / max(examples.X.shape[0], 1) + len(examples)
    return bool(size > COPY_TO_LOG * entries * covariance.logged_per_entry(state) * LOGGED_BYTES)
