"""Gaussians in natural parameters, in which independent evidence adds up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Gaussian:
    """N(mean, covariance), given by its precision P = covariance^-1 and its shift P mean.

    A product of densities adds both parameters, a quotient subtracts them. Two posteriors that started from one prior
    contain it twice, so the posterior given both their data has::

        P = P_a + P_b - P_0,     P mean = P_a mean_a + P_b mean_b - P_0 mean_0

    Parameters
    ----------
    precision : array of shape (..., d) or (..., d, d)
        Diagonals, or matrices with one dimension more than ``shift``.
    shift : array of shape (..., d)

    Examples
    --------
    Merge the posteriors of two learners over a weight whose prior is N(0, 1):

    >>> a = Gaussian.of(np.array([1.0]), np.array([0.5]))
    >>> b = Gaussian.of(np.array([2.0]), np.array([0.25]))
    >>> both = a + b - Gaussian.of(np.array([0.0]), np.array([1.0]))
    >>> both.mean, both.covariance
    (array([2.]), array([0.2]))
    """

    precision: np.ndarray
    shift: np.ndarray

    @classmethod
    def of(cls, mean: np.ndarray, covariance: np.ndarray) -> Gaussian:
        """Return the Gaussian of a mean (..., d) and a covariance, diagonal (..., d) or a matrix (..., d, d)."""
        return cls.with_precision(mean, inverse(covariance, covariance.ndim > mean.ndim))

    @classmethod
    def with_precision(cls, mean: np.ndarray, precision: np.ndarray) -> Gaussian:
        """Return the Gaussian of a mean and a precision."""
        dense = precision.ndim > mean.ndim
        return cls(precision, (precision @ mean[..., None])[..., 0] if dense else precision * mean)

    @property
    def dense(self) -> bool:
        """Whether the precision is a matrix, not a diagonal."""
        return self.precision.ndim > self.shift.ndim

    @property
    def covariance(self) -> np.ndarray:
        return inverse(self.precision, self.dense)

    @property
    def mean(self) -> np.ndarray:
        if self.dense:
            return np.linalg.solve(self.precision, self.shift[..., None])[..., 0]
        return self.shift / self.precision

    def is_proper(self) -> bool:
        """Return whether the precision is positive definite, which it need not be after a subtraction."""
        if not self.dense:
            return bool((self.precision > 0).all())
        try:
            np.linalg.cholesky(self.precision)
        except np.linalg.LinAlgError:
            return False
        return True

    def __add__(self, other: Gaussian) -> Gaussian:
        return Gaussian(self.precision + other.precision, self.shift + other.shift)

    def __sub__(self, other: Gaussian) -> Gaussian:
        return Gaussian(self.precision - other.precision, self.shift - other.shift)

    def __mul__(self, power: float) -> Gaussian:
        """Return the density raised to a power."""
        return Gaussian(self.precision * power, self.shift * power)


def inverse(matrices: np.ndarray, dense: bool) -> np.ndarray:
    """Return the inverses of diagonals, or of symmetric matrices."""
    if not dense:
        return 1.0 / matrices
    found = np.linalg.inv(matrices)
    return 0.5 * (found + np.swapaxes(found, -1, -2))


def nonnegative(matrices: np.ndarray, dense: bool) -> np.ndarray:
    """Return diagonals, or symmetric matrices, with 0 in the place of negative numbers or eigenvalues."""
    if not dense:
        return np.maximum(matrices, 0.0)
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
