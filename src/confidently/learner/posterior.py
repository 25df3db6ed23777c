"""The posterior of a learner: the Gaussian over its weights, computed from the state, and counts of its training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..covariances.covariance import Covariance, draws, intercept_last
from ..covariances.settings import Settings
from ..covariances.state import COUNTERS, Size, State
from ..covariances.table import make_covariance
from ..tasks.task import Task
from ..views.view import View
from .promising import Promising


class Posterior(Promising):
    """The Gaussian over a learner's weights, with the intercept in the users' order: last.

    Parameters
    ----------
    settings : Settings
    n_classes, n_features : int
    state : dict of arrays
        Everything learned (:mod:`confidently.covariances.state`).
    view : View, optional
        What makes of a row of features the row that has these weights.

    """

    corrects = True  # whether a correction of the calibration follows its offset
    shuffled = False  # whether the rows to come are in random order, which whoever trains on them says
    pass_rows, passes = math.inf, 1  # rows of a pass, and passes after which training ends, if whoever trains knows it

    def __init__(
        self, settings: Settings, n_classes: int, n_features: int, state: State, view: View | None = None
    ) -> None:
        self.settings, self.n_classes, self.n_features, self.state = settings, n_classes, n_features, state
        self.view = view

    @property
    def task(self) -> Task:
        """The task: what is predicted for a row."""
        return self.settings.task

    @property
    def dtype(self) -> str:
        """The type of the state."""
        return self.settings.dtype

    @property
    def covariance(self) -> Covariance:
        """The covariance object, which defines how Sigma is stored."""
        return make_covariance(self.settings)

    @property
    def width(self) -> int:
        """The number of columns of the rows that have weights: the features, or what the view makes of them."""
        return self.n_features if self.view is None else self.view.n_columns(self.state, self.n_features)

    @property
    def size(self) -> Size:
        """The width and the number of classes."""
        return Size(self.width, self.n_classes)

    def require(self, capability: str) -> None:
        """Raise ``ValueError`` with the reason if the covariance or the task lacks a capability."""
        self.covariance.require(capability)
        if capability in self.task.unsupported:
            raise ValueError(self.task.unsupported[capability])

    @property
    def weights(self) -> np.ndarray:
        """The stored weights, without the room reserved for more features."""
        return self.covariance.weights(self.state, self.width)

    def of_classes(self, numbers: np.ndarray) -> Posterior:
        """Return the Gaussian over the weights of some of several classes, in this order.

        It costs less than that of all only where :attr:`Covariance.finds_best`; elsewhere take rows of :meth:`mean`.
        """
        state = self.covariance.of_columns(self.state, numbers)
        return Posterior(self.settings, len(numbers), self.n_features, state, self.view)

    def dual(self) -> tuple[np.ndarray, Any]:
        """Return a kernel learner's coefficients of the support rows, one row per column of weights, and those rows."""
        return self.covariance.dual(self.state, self.size)

    def mean(self) -> np.ndarray:
        """Return the mean of the weights used to predict, shape (classes, width + intercept), intercept last."""
        mean = self.weights[:, 0].astype(np.float64)
        if self.settings.average and self.n_seen:
            mean -= self.weights[:, -1] / self.n_seen
        return intercept_last(self.task.less_threshold(mean), self.settings.fit_intercept).T

    def variance(self) -> np.ndarray:
        """Return the variance of each weight of :meth:`mean`, in the same shape."""
        if self.task.has_threshold:
            return self.covariance.label_variances(self.state, self.size)
        return self.column_variances()

    def column_variances(self) -> np.ndarray:
        """Return the variance of every stored weight, one row per column, intercept last.

        With a threshold, its row comes first.
        """
        return self.covariance.column_variances(self.state, self.size)

    def unseen_variances(self) -> np.ndarray:
        """Return the variance of the weight of an unseen feature, one per row of :meth:`mean`."""
        columns = self.covariance.unseen_variances(self.state)
        return columns[1:] + columns[0] if self.task.has_threshold else columns

    def covariance_matrix(self) -> np.ndarray:
        """Return Sigma, shape (learners, D, D), the intercept last in each class."""
        return self.covariance.matrix(self.state, self.size)

    def marginal(self, row: int) -> Marginal:
        """Return the Gaussian over the weights of one row of :meth:`mean`; minus the threshold's if there is one.

        Raises
        ------
        ValueError
            If there is no such row.
        """
        mean = self.mean()
        if not 0 <= row < len(mean):
            raise ValueError(f"row must be in 0 to {len(mean) - 1}, got {row}")
        return Marginal(mean[row], self.covariance.marginal(self.state, self.size, row))

    def sample_weights(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Draw classifiers from the Gaussian: shape (n, rows of the mean, d), the intercept last if there is one.

        Raises
        ------
        ValueError
            If ``n`` is negative or the covariance has no weights of features.
        """
        if n < 0:
            raise ValueError(f"n must be at least 0, got {n}")
        self.require("sample")
        drawn = self.covariance.noise(self.state, self.size, n, generator)
        return self.mean() + self.task.less_threshold(drawn, axis=1)

    @property
    def n_seen(self) -> int:
        """Rows trained on, in all passes."""
        return int(self.state["counters"][COUNTERS.index("n_seen")])

    @property
    def mistakes(self) -> int:
        """Progressive mistakes: rows whose margin was not positive when predicted, before training on them."""
        return int(self.state["counters"][COUNTERS.index("mistakes")])

    @property
    def infeasible(self) -> int:
        """Examples that no classifier in the ellipsoid could satisfy (classical ellipsoid method only)."""
        return int(self.state["counters"][COUNTERS.index("infeasible")])

    @property
    def updates(self) -> int:
        """Number of updates of the Gaussian."""
        return sum(self.state["updates"].tolist())


@dataclass(frozen=True)
class Marginal:
    """The Gaussian over one class's weights, the intercept last if there is one.

    w ~ N(mean, Sigma), with Sigma a diagonal (shape (d,)) or a matrix (d, d).

    Attributes
    ----------
    mean : array of shape (d,)
    covariance : array of shape (d,) or (d, d)

    Examples
    --------
    >>> marginal = Marginal(np.zeros(2), np.array([[4.0, 1.0], [1.0, 1.0]]))
    >>> marginal.standard_deviation
    array([2., 1.])
    >>> marginal.correlation(0, 1)
    0.5
    """

    mean: np.ndarray
    covariance: np.ndarray

    @property
    def standard_deviation(self) -> np.ndarray:
        """Standard deviation of each weight, shape (d,)."""
        diagonal = self.covariance if self.covariance.ndim == 1 else self.covariance.diagonal()
        return np.sqrt(np.maximum(diagonal, 0.0))

    def covariance_of(self, weights: Sequence[int]) -> np.ndarray:
        """Return the covariance matrix of some weights, shape (k, k)."""
        chosen = np.asarray(weights)
        if self.covariance.ndim == 1:
            return np.diag(self.covariance[chosen])
        return self.covariance[np.ix_(chosen, chosen)]

    def correlation(self, i: int, j: int) -> float:
        """Return the correlation of weights i and j, in [-1, 1]; a diagonal covariance has 0 between two weights."""
        if self.covariance.ndim == 1:
            return float(i == j)
        deviation = self.standard_deviation
        return float(np.clip(self.covariance[i, j] / (deviation[i] * deviation[j]), -1.0, 1.0))

    def principal_axes(self, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the n longest half-axes of the ellipsoid of one standard deviation.

        Returns
        -------
        lengths, directions : arrays of shape (n,) and (n, d)
            Longest first; the directions have unit L2 norm. Along the first the classifier is least certain.
        """
        size = len(self.mean)
        n = size if n is None else n
        if not 1 <= n <= size:
            raise ValueError(f"n must be in 1 to {size}, the number of principal axes, got {n}")
        if self.covariance.ndim == 1:
            order = np.argsort(-self.covariance, kind="stable")[:n]
            return self.standard_deviation[order], np.eye(size)[order]
        values, vectors = np.linalg.eigh(self.covariance)
        return np.sqrt(np.maximum(values[::-1][:n], 0.0)), vectors.T[::-1][:n]

    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """Return n draws, shape (n, d)."""
        return self.mean + draws(self.covariance, n, generator)
