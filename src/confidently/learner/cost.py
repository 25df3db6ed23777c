"""The cost of the matrices of a covariance of several classes, measured before training begins."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace

import numpy as np

from .. import _core
from ..covariances.dense import Dense
from ..covariances.settings import Settings
from ..covariances.table import kind_of
from ..wording import counted
from .learner import Learner

OPERATIONS = 3  # per number of a matrix and row (docs/full-covariance.md)
MIN_TIMED_NUMBERS = 10**5  # smaller matrices train about as fast as rows are read
MAX_TIMED_BYTES = 10**9  # larger matrices are not made twice
MIN_OPERATIONS = 10**10  # of a whole training; fewer take seconds
MIN_SECONDS = 30.0


class CostWarning(UserWarning):
    """A warning, before training begins, that it will take long because of the size of a covariance."""


@dataclass(frozen=True)
class Cost:
    """The matrices of a dense covariance over the weights of several classes.

    Attributes
    ----------
    matrices, size : int
        Number of matrices, and of their rows.
    n_weights, n_classes : int
        Weights of each class, and classes.
    settings : Settings
    """

    matrices: int
    size: int
    n_weights: int
    n_classes: int
    settings: Settings

    @classmethod
    def of(cls, settings: Settings, n_features: int, n_classes: int) -> Cost:
        """Return the cost of learning with these settings."""
        kind, n_weights = kind_of(settings.covariance), n_features + settings.fit_intercept
        assert issubclass(kind, Dense)
        size = kind.matrix_size(settings, n_weights, settings.task.columns(n_classes))
        return cls(settings.learners(n_classes), size, n_weights, n_classes, settings)

    @property
    def numbers(self) -> int:
        """Numbers of all matrices."""
        return self.matrices * self.size**2

    @property
    def bytes(self) -> int:
        """Bytes of all matrices."""
        return self.numbers * np.dtype(self.settings.dtype).itemsize

    @property
    def operations(self) -> int:
        """Maximum number of operations per row."""
        return OPERATIONS * self.numbers

    @property
    def is_shared(self) -> bool:
        """Whether all classes share one matrix over the features."""
        return self.matrices == 1 and self.size == self.n_weights

    def __str__(self) -> str:
        matrices = "one matrix" if self.matrices == 1 else f"{self.matrices:,} matrices"
        return f"{matrices} of {self.size:,} x {self.size:,}"

    def rows_per_second(
        self, X: _core.Matrix, labels: np.ndarray, label_start: np.ndarray | None = None, device: str | None = None
    ) -> float | None:
        """Return the speed of training, measured by an untrained learner on the first rows.

        These bring more updates than later ones, so training is seldom slower. ``None`` for matrices so small that
        their speed does not matter, or so large that a second copy may not fit the memory.
        """
        if self.numbers < MIN_TIMED_NUMBERS or self.bytes > MAX_TIMED_BYTES or not X.shape[0]:
            return None
        learner = Learner(self.settings, self.n_classes, self.n_weights - self.settings.fit_intercept, device=device)
        dense = Dense(learner.settings)
        n = min(X.shape[0], dense.rows_per_block(self.n_weights, learner.settings.task.columns(self.n_classes)))
        seconds = 0.0
        for _ in range(2):  # the first time, modules are imported
            began = time.perf_counter()
            learner.learn(X, labels, label_start, order=np.arange(n), calibrate=False)
            seconds = time.perf_counter() - began
        return n / max(seconds, 1e-9)


def warn_of_cost(
    learner: Learner, X: _core.Matrix, labels: np.ndarray, label_start: np.ndarray | None, passes: int
) -> None:
    """Warn before a training that will take long because of the matrices of several classes.

    Warns
    -----
    CostWarning
        If all passes over the rows take longer than half a minute, as the first rows show.
    """
    settings, rows = learner.settings, X.shape[0] * passes
    several = settings.task.several or settings.task.multilabel
    makes_columns = learner.view is not None and not learner.view.keeps_columns
    if not several or makes_columns or not isinstance(learner.covariance, Dense):
        return
    cost = Cost.of(settings, learner.n_features, learner.n_classes)
    if cost.is_shared or cost.operations * rows < MIN_OPERATIONS:
        return
    speed = cost.rows_per_second(X, labels, label_start, learner.device)
    if speed is None or rows / speed < MIN_SECONDS:
        return
    shared = Cost.of(replace(settings, covariance="shared"), learner.n_features, learner.n_classes)
    warnings.warn(
        f'covariance="{settings.covariance}" keeps {cost} numbers for {counted(cost.n_classes, "class", "classes")} '
        f"and {counted(cost.n_weights, 'weight')} of each: {cost.bytes / 1e6:,.1f} MB, and up to about "
        f"{rows / speed:,.0f} seconds for {counted(rows, 'row')}, at {speed:,.0f} rows/s here; "
        f'covariance="shared" keeps {shared}',
        CostWarning,
        stacklevel=5,
    )
