"""The inverse of a matrix over the support rows of a kernel learner, kept up to date while they come and go."""

from __future__ import annotations

import numpy as np

from .host_arrays import NumpyArrays


class SupportInverse:
    """The inverse of a positive definite matrix, whose rows have slots: those of a free slot are 0.

    With the rows divided into kept and dropped ones, or into old and new ones, the inverse follows from its own blocks,
    in O(S^2 u) operations for u rows out of S instead of O(S^3).
    """

    def __init__(self, capacity: int, arrays: NumpyArrays) -> None:
        self.matrix, self.arrays = np.zeros((capacity, capacity)), arrays

    def renew(self, matrix: np.ndarray, slots: np.ndarray) -> None:
        """Compute the inverse of a matrix, which is overwritten; its rows go to these slots."""
        from scipy.linalg.lapack import dpotri  # imported here since SciPy is slow to import

        self.matrix[:] = 0.0
        if not len(slots):
            return
        found = dpotri(lower_factor(matrix).T, lower=0, overwrite_c=1)[0].T
        self.matrix[np.ix_(slots, slots)] = np.tril(found) + np.tril(found, -1).T

    def times(self, rows: np.ndarray) -> np.ndarray:
        """Return rows @ inverse, in an array that the next call reuses."""
        out = self.arrays.empty(f"times {id(self)}", rows.shape, rows.dtype)
        self.arrays.multiply([(rows, self.matrix, out)])
        return out

    def replace(self, dropped: np.ndarray, slots: np.ndarray, projected: np.ndarray, rest: np.ndarray) -> None:
        """Drop some rows, then add others at free slots, which may be those of the dropped ones.

        Parameters
        ----------
        projected : array of shape (added rows, capacity)
            The added rows of the matrix @ inverse, before anything is dropped.
        rest : square array
            The block of the added rows, less added rows @ inverse @ their transpose (the Schur complement).

        Raises
        ------
        numpy.linalg.LinAlgError
            If rounding has made a block indefinite. The inverse must then be computed from scratch.
        """
        left, right = [], []
        if len(dropped):
            rows = self.matrix[dropped]
            root = inverse_root(rows[:, dropped])
            side, shared = root @ rows, projected[:, dropped] @ root.T
            projected, rest = projected - shared @ side, rest + shared @ shared.T
            left, right = [-side], [side]
        if len(slots):
            root = inverse_root(rest)
            added = -(root @ projected)
            added[:, dropped] = 0.0
            added[:, slots] = root
            left, right = [*left, added], [*right, added]
        if left:
            self.arrays.add_product(self.matrix, np.concatenate(left), np.concatenate(right))
        self.matrix[dropped] = 0.0
        self.matrix[:, dropped] = 0.0
        if len(slots):
            rows = root.T @ added
            self.matrix[slots] = rows
            self.matrix[:, slots] = rows.T


def inverse_root(matrix: np.ndarray) -> np.ndarray:
    """Return the lower triangle R with R'R = the inverse of a matrix."""
    from scipy.linalg import solve_triangular

    return solve_triangular(np.linalg.cholesky(matrix), np.eye(len(matrix)), lower=True, check_finite=False)


def lower_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of a symmetric matrix, in its place."""
    from scipy.linalg.lapack import dpotrf

    # to Fortran, whose matrices are columns after columns, this is the upper factor of the transpose
    factor, failed = dpotrf(matrix.T, lower=0, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return factor.T
