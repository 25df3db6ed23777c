"""What a learner believes: the Gaussian over its weights, read off the state, and how it came about."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..covariances.state import COUNTERS, Settings, State, diagonal_variances, flushed_covariance


class Posterior:
    """Base of :class:`confidently.learner.learner.Learner`: what is read off its state, in its users' order."""

    settings: Settings
    state: State
    n_classes: int
    n_features: int

    @property
    def weights(self) -> np.ndarray:
        """The state of the features there are, without the room kept for more."""
        if self.settings.geometry == "kernel":
            raise AttributeError("a kernel learner has no weights of features, but coefficients of its support (dual)")
        return self.state["weights"][: self.n_features + self.settings.fit_intercept]

    def dual(self) -> tuple[np.ndarray, Any]:
        """Kernel learners: coefficients of the support rows in each column's predicting mean, and those rows."""
        if self.settings.geometry != "kernel":
            raise AttributeError('only covariance="kernel" keeps coefficients of examples')
        from ..covariances import kernel

        return kernel.dual(self.settings, self.state, self.n_features, self.n_classes)

    def mean(self) -> np.ndarray:
        """Mean of the predicting weights, the intercept's last: shape (classes, n_features + intercept)."""
        mean = self.weights[:, 0].astype(np.float64)
        if self.settings.average and self.n_seen:
            mean -= self.weights[:, -1] / self.n_seen
        return self._by_class(mean)

    def variance(self) -> np.ndarray:
        """Variance of each of :meth:`mean`'s weights; same shape."""
        multilabel = self.settings.task == "multilabel"
        variance = self._stored_variances()
        if not multilabel:
            return self._by_class(variance)
        variance = variance[:, 1:] + variance[:, :1]
        if self.settings.geometry == "full":
            variance = variance - 2 * self._threshold_covariance()
        return self._intercept_last(variance).T

    def covariance(self) -> np.ndarray:
        """Sigma of a full or shared covariance, the intercept last in each class: (learners, D, D)."""
        if self.settings.geometry == "kernel":
            raise AttributeError("a kernel learner's covariance lives in the space of its kernel, not of the features")
        rows = self.n_features + self.settings.fit_intercept
        if self.settings.geometry == "identity":
            per_learner = self.settings.covariance == "shared" or self.settings.task == "one-vs-rest"
            size = rows if per_learner else rows * self.settings.columns(self.n_classes)
            learners = self.settings.learners(self.n_classes)
            return np.broadcast_to(self.settings.prior_variance * np.eye(size), (learners, size, size))
        sigma = flushed_covariance(self.state) * self.state["scale"][:, None, None]
        places = np.arange(sigma.shape[1]).reshape(-1, rows)
        order = self._intercept_last(places.T).T.ravel()
        return sigma[:, order][:, :, order]

    def _by_class(self, per_feature: np.ndarray) -> np.ndarray:
        if self.settings.task == "multilabel":
            per_feature = per_feature[:, 1:] - per_feature[:, :1]
        return self._intercept_last(per_feature).T

    def _intercept_last(self, per_feature: np.ndarray) -> np.ndarray:
        return np.roll(per_feature, -1, axis=0) if self.settings.fit_intercept else per_feature

    def column_variances(self) -> np.ndarray:
        """Variance of every stored weight, a row a column, intercept last; for sets of labels the threshold first."""
        return self._intercept_last(self._stored_variances()).T

    def _stored_variances(self) -> np.ndarray:
        """(features, columns)"""
        rows, columns = len(self.weights), self.weights.shape[2]
        prior, least = self.settings.prior_variance, self.settings.min_variance * self.settings.prior_variance
        if self.settings.geometry == "identity":
            return np.full((rows, columns), prior)
        if self.settings.geometry == "diag":
            return diagonal_variances(self.settings, self.state, self.weights[:, 1], slice(None))
        stored = np.diagonal(self.state["covariance"], axis1=1, axis2=2) - self._pending_share()
        diagonal = stored * self.state["scale"][:, None]
        by_column = np.maximum(diagonal, least).reshape(-1, rows)
        return np.broadcast_to(by_column.T, (rows, columns)) if self.settings.geometry == "shared" else by_column.T

    def _threshold_covariance(self) -> np.ndarray:
        rows = len(self.weights)
        sigma = flushed_covariance(self.state)[0] * self.state["scale"][0]
        return np.diagonal(sigma[:rows].reshape(rows, -1, rows), axis1=0, axis2=2).T[:, 1:]

    def _pending_share(self) -> np.ndarray:
        """What is pending of the covariances' diagonals, (learners, D)."""
        pending = self.state["pending"][:, : self.state["pending_rows"][0]]
        share: np.ndarray = np.einsum("lud,lud->ld", pending, pending)
        return share

    @property
    def n_seen(self) -> int:
        """Rows learned (in all passes)."""
        return int(self.state["counters"][COUNTERS.index("n_seen")])

    @property
    def mistakes(self) -> int:
        """Progressive mistakes: rows predicted, then learned, whose margin was not positive when predicted."""
        return int(self.state["counters"][COUNTERS.index("mistakes")])

    @property
    def infeasible(self) -> int:
        """Examples that no classifier in the ellipsoid could satisfy (classical ellipsoid method only)."""
        return int(self.state["counters"][COUNTERS.index("infeasible")])

    @property
    def updates(self) -> int:
        """Times the Gaussian was moved."""
        return int(self.state["updates"].sum())
