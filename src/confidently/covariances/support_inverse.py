"""The kernel of a kernel learner's support rows and its inverse, kept up to date while rows come and go."""

from __future__ import annotations

import numpy as np

from .host_arrays import NumpyArrays

MIN_NOISE = 1e-6  # added to the diagonal, as a fraction of the largest kernel value: rows may be equal
REFRESH = 16  # blocks after which the inverse is computed anew, since every update adds to its rounding


class SupportInverse:
    """The kernel K of the support rows with each other, and P = (K + noise I)^-1.

    With the rows divided into old and new ones, or into kept and dropped ones, P follows from its own blocks, in
    O(S^2 u) operations for u rows out of S instead of O(S^3).
    """

    def __init__(self, kernel: np.ndarray, arrays: NumpyArrays) -> None:
        self.kernel, self.arrays = kernel, arrays
        self._renew()

    def _renew(self) -> None:
        from scipy.linalg.lapack import dpotri  # imported here since SciPy is slow to import

        self.noise, self.updates = self._least_noise(), 0
        factor = lower_factor(self.kernel + self.noise * np.eye(len(self.kernel)))
        lower = dpotri(factor.T, lower=0, overwrite_c=1)[0].T
        self.inverse = np.tril(lower) + np.tril(lower, -1).T

    def _least_noise(self) -> float:
        return float(MIN_NOISE * self.kernel.diagonal().max(initial=0.0))

    def extend(self, between: np.ndarray, own: np.ndarray) -> None:
        """Add rows, given their kernel with the rows so far (rows so far x new rows) and with each other."""
        m, u = between.shape
        self.kernel = _joined(self.kernel, between, own)
        self.updates += 1
        if self.updates >= REFRESH or self._least_noise() != self.noise:
            self._renew()
            return
        projected = self.inverse @ between
        try:
            root = _inverse_root(own + self.noise * np.eye(u) - between.T @ projected)
        except np.linalg.LinAlgError:  # rounding: the new rows follow from the old ones
            self._renew()
            return
        self.inverse = _joined(self.inverse, np.zeros((m, u)), np.zeros((u, u)))
        self.arrays.add_gram(self.inverse, np.concatenate([-(root @ projected.T), root], axis=1))

    def cost(self, dual: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return the change that removing each row causes, given coefficients of means (rows x learners)."""
        cost: np.ndarray = (dual**2 @ prior) / self.inverse.diagonal()
        return cost

    def drop(self, keep: np.ndarray, dual: np.ndarray) -> np.ndarray:
        """Keep some rows; return the coefficients of the means projected onto them."""
        dropped = np.setdiff1d(np.arange(len(self.kernel)), keep)
        lost = dual[dropped].reshape(len(dropped), -1)
        toward = self.kernel[dropped][:, keep].T @ lost
        try:
            root = _inverse_root(self.inverse[np.ix_(dropped, dropped)])
        except np.linalg.LinAlgError:  # rounding
            self._renew()
            root = _inverse_root(self.inverse[np.ix_(dropped, dropped)])
        side = root @ self.inverse[dropped][:, keep]
        moved = -(side.T @ (root @ lost))
        self.kernel, self.inverse = (matrix[keep].take(keep, axis=1) for matrix in (self.kernel, self.inverse))
        if self._least_noise() == self.noise:
            self.arrays.subtract_gram([(self.inverse, side)])
        else:
            self._renew()
        # one correction, so that the projection does not have the rounding of the inverse
        moved += self.inverse @ (toward - self.kernel @ moved - self.noise * moved)
        projected: np.ndarray = dual[keep] + moved.reshape(len(keep), *dual.shape[1:])
        return projected


def _joined(old: np.ndarray, between: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix of these parts."""
    m, u = between.shape
    joined = np.empty((m + u, m + u))
    joined[:m, :m], joined[:m, m:], joined[m:, :m], joined[m:, m:] = old, between, between.T, own
    return joined


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    """Return the lower triangle R with R'R = the inverse of a matrix."""
    from scipy.linalg import solve_triangular

    root: np.ndarray = solve_triangular(np.linalg.cholesky(matrix), np.eye(len(matrix)), lower=True, check_finite=False)
    return root


def lower_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a symmetric matrix, in its place."""
    from scipy.linalg.lapack import dpotrf

    # to Fortran, whose matrices are columns after columns, this is the upper factor of the transpose
    factor, failed = dpotrf(matrix.T, lower=0, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    lower: np.ndarray = factor.T
    return lower
