"""What a Gaussian over weights says about some of them: deviations, correlations, samples, axes of its ellipsoid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .learner import Learner


@dataclass(frozen=True)
class Marginal:
    """The Gaussian over one class's weights, the intercept last where there is one.

    w ~ N(mean, Sigma), Sigma a diagonal (shape (d,)) or a matrix (d, d).

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
        """Of each weight, shape (d,)."""
        diagonal = self.covariance if self.covariance.ndim == 1 else self.covariance.diagonal()
        deviation: np.ndarray = np.sqrt(np.maximum(diagonal, 0.0))
        return deviation

    def covariance_of(self, weights: Sequence[int]) -> np.ndarray:
        """Covariance matrix of some weights, (k, k)."""
        chosen = np.asarray(weights)
        if self.covariance.ndim == 1:
            return np.diag(self.covariance[chosen])
        covariance: np.ndarray = self.covariance[np.ix_(chosen, chosen)]
        return covariance

    def correlation(self, i: int, j: int) -> float:
        """Of weights i and j, in [-1, 1]; 0 between two weights under a diagonal covariance."""
        if self.covariance.ndim == 1:
            return float(i == j)
        deviation = self.standard_deviation
        return float(np.clip(self.covariance[i, j] / (deviation[i] * deviation[j]), -1.0, 1.0))

    def principal_axes(self, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The n longest half-axes of the ellipsoid of one standard deviation.

        Returns
        -------
        lengths, directions : arrays of shape (n,) and (n, d)
            Longest first; the directions are of unit length. Along the first the classifier is least decided.
        """
        size = len(self.mean)
        n = size if n is None else n
        if not 1 <= n <= size:
            raise ValueError(f"there are 1 to {size} principal axes, got n={n}")
        if self.covariance.ndim == 1:
            order = np.argsort(-self.covariance, kind="stable")[:n]
            return self.standard_deviation[order], np.eye(size)[order]
        values, vectors = np.linalg.eigh(self.covariance)
        return np.sqrt(np.maximum(values[::-1][:n], 0.0)), vectors.T[::-1][:n]

    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """n draws, shape (n, d)."""
        drawn: np.ndarray = self.mean + _noise(self.covariance, n, generator)
        return drawn


def marginal(learner: Learner, column: int) -> Marginal:
    """The Gaussian over the weights of one column of :meth:`Learner.mean`; sets of labels: minus the threshold's."""
    mean = learner.mean()
    if not 0 <= column < len(mean):
        raise ValueError(f"there are {len(mean)} rows of weights, 0 to {len(mean) - 1}; got {column}")
    if learner.settings.geometry in ("diag", "identity"):
        return Marginal(mean[column], learner.variance()[column])
    blocks, d = learner.covariance(), mean.shape[1]
    if learner.settings.task == "one-vs-rest":
        return Marginal(mean[column], blocks[column])
    threshold = learner.settings.task == "multilabel"
    if learner.settings.geometry == "shared":
        return Marginal(mean[column], (2.0 if threshold else 1.0) * blocks[0])
    share = blocks[0].reshape(-1, d, blocks.shape[1] // d, d).swapaxes(1, 2)
    k = column + threshold
    covariance = share[k, k]
    if threshold:
        covariance = covariance + share[0, 0] - share[k, 0] - share[0, k]
    return Marginal(mean[column], covariance)


def sample_weights(learner: Learner, n: int, generator: np.random.Generator) -> np.ndarray:
    """Classifiers drawn from the Gaussian: shape (n, rows of the mean, d), the intercept last where there is one."""
    if n < 0:
        raise ValueError(f"n must be at least 0, got {n}")
    mean, settings = learner.mean(), learner.settings
    if settings.geometry in ("diag", "identity"):
        drawn = _noise(learner.column_variances().ravel(), n, generator).reshape(n, -1, mean.shape[1])
    elif settings.geometry == "full" and settings.task != "one-vs-rest":
        drawn = _noise(learner.covariance()[0], n, generator).reshape(n, -1, mean.shape[1])
    else:
        sigma, columns = learner.covariance(), settings.columns(learner.n_classes)
        drawn = np.stack([_noise(sigma[k % len(sigma)], n, generator) for k in range(columns)], axis=1)
    if settings.task == "multilabel":
        drawn = drawn[:, 1:] - drawn[:, :1]
    weights: np.ndarray = mean + drawn
    return weights


def _noise(covariance: np.ndarray, n: int, generator: np.random.Generator) -> np.ndarray:
    """Draws from N(0, covariance); what rounding has made negative counts as 0."""
    if covariance.ndim == 1:
        drawn: np.ndarray = np.sqrt(np.maximum(covariance, 0.0)) * generator.normal(size=(n, len(covariance)))
        return drawn
    values, vectors = np.linalg.eigh(covariance)
    drawn = (generator.normal(size=(n, len(values))) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return drawn
