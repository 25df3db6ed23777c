"""One model of all arms, which differ in features of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse, vstack

from .arm_models import ArmModels
from .reward_model import Floats, RewardModel


def crossed(X: Any, Z: Any) -> Any:
    """Return [x, z, x kron z] for the rows of X and Z; sparse if one of them is.

    Examples
    --------
    >>> crossed(np.array([[2.0, 3.0]]), np.array([[1.0, 10.0]]))
    array([[ 2.,  3.,  1., 10.,  2., 20.,  3., 30.]])
    """
    if not (issparse(X) or issparse(Z)):
        products = (X[:, :, None] * Z[:, None, :]).reshape(len(X), -1)
        return np.hstack([X, Z, products])
    X, Z = csr_array(X), csr_array(Z)
    n_x, n_z = np.diff(X.indptr), np.diff(Z.indptr)
    counts = n_x * n_z
    row = np.repeat(np.arange(X.shape[0]), counts)
    inside = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    at_x = X.indptr[row] + inside // n_z[row]
    at_z = Z.indptr[row] + inside % n_z[row]
    columns = X.indices[at_x].astype(np.int64) * Z.shape[1] + Z.indices[at_z]
    products = csr_array(
        (X.data[at_x] * Z.data[at_z], columns, np.concatenate([[0], np.cumsum(counts)])),
        shape=(X.shape[0], X.shape[1] * Z.shape[1]),
    )
    return csr_array(hstack([X, Z, products], format="csr"))


class SharedModel(ArmModels):
    """One estimator of rows [x, z_a, x kron z_a], for the context x and the features z_a of arm a.

    Its products let the effect of every feature of the context depend on the arm's features. What is learned about one
    arm is known about those like it, and a new arm is scored by its features at once.

    Parameters
    ----------
    features : array or sparse array of shape (n_arms, d)
        Of the arms.
    """

    kind = "shared"

    def __init__(self, model: RewardModel, n_features: int, features: Any, prior: Any = None) -> None:
        width = n_features + features.shape[1] * (1 + n_features)
        super().__init__(model, prior or model.prior(width), features.shape[0], n_features)
        self.features = features
        self.estimator = model.copied(self.prior)

    def scores(self, X: Any) -> tuple[Floats, Floats]:
        mean, variance = np.empty((X.shape[0], self.n_arms)), np.empty((X.shape[0], self.n_arms))
        one = np.zeros(self.n_arms, dtype=np.intp)
        for i in range(X.shape[0]):  # one context at a time, since its rows for all arms take memory
            mean[i], variance[i] = self.model.scores(self.estimator, crossed(X[[i]][one], self.features))
        return mean, variance

    def learn(self, arms: NDArray[np.intp], rewards: Floats, X: Any) -> None:
        self.model.learn(self.estimator, crossed(X, self.features[arms]), rewards)

    def add(self, features: Any = None) -> None:
        both = [self.features, features]
        self.features = csr_array(vstack(both, format="csr")) if issparse(self.features) else np.vstack(both)
        self.n_arms += 1

    def remove(self, arm: int) -> None:
        self.features = self.features[np.flatnonzero(np.arange(self.n_arms) != arm)]
        self.n_arms -= 1

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return {}, {"model": self.estimator}

    def restore(self, arrays: dict[str, np.ndarray], estimators: dict[str, Any]) -> None:
        self.estimator = self.checked(estimators["model"])
