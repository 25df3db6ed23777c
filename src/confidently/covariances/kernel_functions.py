"""Kernels between rows: one of scikit-learn's by name, or a user's function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .settings import Settings
from .state import OutOfRange

DENSE_ABOVE = 0.25  # fraction of nonzero values above which rows are stored as a dense array
WITH_GAMMA = ("rbf", "poly", "polynomial", "sigmoid", "laplacian")  # whose gamma is 1/(number of features) by default


def resolved_parameters(kernel: Any, parameters: dict[str, Any] | None, n_features: int) -> dict[str, Any]:
    """Return the kernel's parameters with the default of gamma filled in, so that new features do not change it."""
    found = dict(parameters or {})
    if kernel in WITH_GAMMA and found.get("gamma") is None:
        found["gamma"] = 1.0 / max(n_features, 1)
    return found


def check_kernel(kernel: Any) -> None:
    """Raise ``ValueError`` unless ``kernel`` is a function or one of scikit-learn's."""
    if callable(kernel):
        return
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    if kernel not in PAIRWISE_KERNEL_FUNCTIONS:
        allowed = ", ".join(sorted(PAIRWISE_KERNEL_FUNCTIONS))
        raise ValueError(f"kernel must be a function of two matrices or one of {allowed}; got {kernel!r}")


class KernelFunction:
    """A kernel between rows, which are stored sparse or dense, whichever is faster."""

    def __init__(self, settings: Settings, n_features: int) -> None:
        self.settings, self.n_features = settings, n_features
        self.function: Callable[..., np.ndarray] = settings.kernel
        if not callable(settings.kernel):
            from sklearn.metrics.pairwise import pairwise_kernels

            self.function = partial(pairwise_kernels, metric=settings.kernel)

    def rows(self, values: np.ndarray, columns: np.ndarray, start: np.ndarray) -> Any:
        """Return the rows as a CSR matrix or an array."""
        from scipy.sparse import csr_matrix

        rows = csr_matrix((values, columns, start), shape=(len(start) - 1, self.n_features))
        return rows.toarray() if rows.nnz > DENSE_ABOVE * rows.shape[0] * rows.shape[1] else rows

    def __call__(self, a: Any, b: Any) -> np.ndarray:
        """Return the kernel matrix, (rows of a) x (rows of b), plus one for the intercept."""
        if not (a.shape[0] and b.shape[0]):
            return np.zeros((a.shape[0], b.shape[0]))
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
            a, b = (x if not isinstance(x, np.ndarray) else _sparse(x) for x in (a, b))
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are rejected below
            if isinstance(a, np.ndarray) and self.settings.kernel == "rbf":
                k = _rbf(a, b, **(self.settings.kernel_params or {}))
            else:
                k = np.asarray(self.function(a, b, **(self.settings.kernel_params or {})), dtype=np.float64)
        if k.shape != (a.shape[0], b.shape[0]):
            raise ValueError(
                f"kernel must return one number per pair, an array of shape {(a.shape[0], b.shape[0])}; got {k.shape}"
            )
        if not np.isfinite(k).all():
            raise OutOfRange("kernel must return finite values; rescale the rows")
        return k + self.settings.fit_intercept


def _rbf(a: np.ndarray, b: np.ndarray, gamma: float) -> np.ndarray:
    """Return the same as scikit-learn's function, by the same operations, without its checks, which cost more."""
    k: np.ndarray = a @ b.T
    k *= -2.0
    k += np.einsum("ij,ij->i", a, a)[:, None]
    k += np.einsum("ij,ij->i", b, b)
    np.maximum(k, 0.0, out=k)
    if a is b:
        np.fill_diagonal(k, 0.0)
    k *= -gamma
    np.exp(k, out=k)
    return k


def _sparse(x: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(x)
