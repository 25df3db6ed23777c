"""The full covariance: matrices over all weights."""

from __future__ import annotations

import numpy as np

from .covariance import draws, intercept_last
from .dense import Dense
from .dense_matrices import flushed_matrices, quadratic_forms
from .host_arrays import NumpyArrays
from .state import Size, State


class Full(Dense):
    """The covariances of all weights of a learner: (K F)^2 numbers, or F^2 for each of K independent classes."""

    name = "full"
    compiled_name = "full"
    for_classes = "shared"

    def grow_classes(self, state: State, n_classes: int) -> None:
        super().grow_classes(state, n_classes)
        rows = len(state["weights"])
        self._embed(state, rows, rows, self.settings.task.columns(n_classes))

    def _block_variances(
        self, state: State, A: np.ndarray, threshold: bool, into: np.ndarray, arrays: NumpyArrays
    ) -> None:
        for k in range(into.shape[1]):
            if self.settings.independent:
                into[:, k] = quadratic_forms(arrays, state, k, A, 0)
            else:
                into[:, k] = quadratic_forms(arrays, state, 0, A, k, 0 if threshold else None)

    def _pair_variances(
        self, state: State, A: np.ndarray, first: np.ndarray, second: np.ndarray, into: np.ndarray,
        arrays: NumpyArrays,
    ) -> None:  # fmt: skip
        columns = state["weights"].shape[2]
        pairs = first * columns + second
        for pair in np.unique(pairs):
            chosen = pairs == pair
            into[chosen] = quadratic_forms(arrays, state, 0, A[chosen], *divmod(int(pair), columns))

    def label_variances(self, state: State, size: Size) -> np.ndarray:
        variances, rows = self.stored_variances(state, size), self._shape(size)[0]
        sigma = flushed_matrices(state)[0] * state["scale"][0]
        with_threshold = np.diagonal(sigma[:rows].reshape(rows, -1, rows), axis1=0, axis2=2).T[:, 1:]
        variances = variances[:, 1:] + variances[:, :1] - 2 * with_threshold
        return intercept_last(variances, self.settings.fit_intercept).T

    def marginal(self, state: State, size: Size, column: int) -> np.ndarray:
        sigma, d = self.matrix(state, size), self._shape(size)[0]
        if self.settings.independent:
            return sigma[column]
        parts = sigma[0].reshape(-1, d, sigma.shape[1] // d, d).swapaxes(1, 2)
        threshold = self.settings.task.has_threshold
        k = column + threshold
        covariance: np.ndarray = parts[k, k]
        return covariance + parts[0, 0] - parts[k, 0] - parts[0, k] if threshold else covariance

    def noise(self, state: State, size: Size, n: int, generator: np.random.Generator) -> np.ndarray:
        if self.settings.independent:
            return super().noise(state, size, n, generator)
        return draws(self.matrix(state, size)[0], n, generator).reshape(n, -1, self._shape(size)[0])

    def contributions(
        self, state: State, rows: np.ndarray, x: np.ndarray, plus: int | None, minus: int | None
    ) -> np.ndarray:
        """Return x (Sigma z), elementwise; the variances of independent learners add up."""
        if self.settings.independent:
            independent = [self._entries(state, c, rows, rows) @ x for c in (plus, minus) if c is not None]
            return x * sum(independent)
        d = len(state["weights"])
        signed = [(c, sign) for c, sign in ((plus, 1.0), (minus, -1.0)) if c is not None]
        products = [
            s * t * (self._entries(state, 0, rows + a * d, rows + b * d) @ x) for a, s in signed for b, t in signed
        ]
        return x * sum(products)

    def of_two_classes(self, sigma: np.ndarray) -> np.ndarray:
        if self.settings.independent:
            return np.stack([sigma, sigma])
        n = len(sigma)
        whole = np.zeros((1, 2 * n, 2 * n), dtype=sigma.dtype)
        whole[0, :n, :n] = whole[0, n:, n:] = sigma
        return whole
