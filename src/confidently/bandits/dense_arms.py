"""Models of arms with full covariances, kept together, so that a decision is one product of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .. import _core
from ..arrays import is_definite, lies_within
from ..covariances.state import out_of_range
from ..covariances.table import kind_of
from ..models.file import checked_arrays
from .arm_models import ArmModels
from .reward_model import Floats, RewardModel

MAX_WEIGHTS = 512  # of an arm; longer rows are learned faster in blocks
FIRST_ROOM = 4  # matrices for arms that were tried; doubled when they are used up


class DenseArms(ArmModels):
    """One linear model with a full covariance per arm, as in :class:`PerArm`.

    Means (arms x n) and covariances (arms x n x n) of the arms that were tried are in two arrays; the others have the
    prior.
    """

    kind = "matrices"

    @staticmethod
    def fits(model: RewardModel, estimator: Any) -> bool:
        learner = estimator.learner_
        kind = kind_of(learner.settings.covariance)
        dense = kind.couples_features and not kind.keeps_examples  # one vector of weights: "shared" is then "full"
        n_weights = learner.n_features + learner.settings.fit_intercept
        return dense and n_weights <= MAX_WEIGHTS and model.has_plain_steps(estimator)

    def __init__(self, model: RewardModel, prior: Any, n_arms: int, n_features: int) -> None:
        super().__init__(model, prior, n_arms, n_features)
        self.settings = prior.learner_.settings
        self.has_ones = self.settings.fit_intercept or model.has_ones
        self.n_weights = n_features + self.has_ones
        self.place = np.full(n_arms, -1, dtype=np.int32)  # of every arm in the arrays; -1: not tried
        self.used = 0
        self.state = self._room(0)

    def _room(self, size: int) -> dict[str, np.ndarray]:
        n = self.n_weights
        return {"mean": np.zeros((size, n)), "covariance": np.zeros((size, n, n))}

    def scores(self, X: Any) -> tuple[Floats, Floats]:
        rows, n = self._rows(X), self.n_weights
        covariance = self.state["covariance"][: self.used]
        means = rows @ self.state["mean"][: self.used].T
        forms = np.empty_like(means)
        if len(rows) < self.used:
            for i, row in enumerate(rows):
                forms[i] = (covariance.reshape(-1, n) @ row).reshape(-1, n) @ row
        else:
            for k, matrix in enumerate(covariance):
                forms[:, k] = np.einsum("ij,ij->i", rows @ matrix, rows)
        tried = self.place >= 0
        mean = np.zeros((len(rows), self.n_arms))
        prior = self.settings.prior_variance * np.einsum("ij,ij->i", rows, rows)
        variance = np.repeat(prior[:, None], self.n_arms, axis=1)
        mean[:, tried] = means[:, self.place[tried]]
        variance[:, tried] = np.maximum(forms, 0.0)[:, self.place[tried]]
        return mean, variance

    def scores_of(self, columns: NDArray[np.int32], values: Floats, arms: NDArray[np.intp]) -> Floats:
        """Return mean and variance of the score of some arms for one row, given its entries: shape (2, n)."""
        found = np.empty((2, len(arms)))
        _core.dense_arm_scores(self.state, self.settings.prior_variance, columns, values, self.place[arms], found)
        return found

    def learn(self, arms: NDArray[np.intp], rewards: Floats, X: Any) -> None:
        rows, touched = self._rows(X), np.unique(arms) if len(arms) > 1 else arms
        new = touched[self.place[touched] < 0]
        before, place = self.used, self.place
        if len(new):
            self._begin(new)
        known = self.place[touched]
        saved = {name: array[known] for name, array in self.state.items()}
        rule, settings = self.model.rule.compiled, self.settings
        variances = settings.prior_variance, settings.min_variance
        places = self.place[arms]
        if _core.learn_dense_arms(rule, self.state, *variances, rows, places, np.ascontiguousarray(rewards)):
            return
        for name, array in saved.items():
            self.state[name][known] = array
        self.used, self.place = before, place
        raise out_of_range("float64")

    def _begin(self, arms: NDArray[np.intp]) -> None:
        """Add arms to the arrays, at the prior."""
        places = np.arange(self.used, self.used + len(arms), dtype=np.int32)
        self.used += len(arms)
        if self.used > len(self.state["mean"]):
            larger = self._room(max(FIRST_ROOM, 2 * len(self.state["mean"]), self.used))
            for name, array in self.state.items():
                larger[name][: len(array)] = array
            self.state = larger
        self.place = self.place.copy()  # so that an error can be undone
        self.place[arms] = places
        self.state["mean"][places] = 0.0
        self.state["covariance"][places] = self.settings.prior_variance * np.eye(self.n_weights)

    def _rows(self, X: Any) -> Floats:
        rows = np.empty((X.shape[0], self.n_weights))
        rows[:, : self.n_features] = X.toarray() if issparse(X) else X
        rows[:, self.n_features :] = 1.0
        return rows

    def spread(self, n_features: int, columns: NDArray[np.intp]) -> None:
        """Widen rows without an intercept: column j becomes ``columns[j]``, and the others are at the prior."""
        old = self.state
        self.n_features = self.n_weights = n_features
        self.state = self._room(len(old["mean"]))
        self.state["covariance"][: self.used] = self.settings.prior_variance * np.eye(n_features)
        self.state["mean"][:, columns] = old["mean"]
        self.state["covariance"][:, columns[:, None], columns] = old["covariance"]

    def scale(self, columns: NDArray[np.intp], factor: float) -> None:
        """Multiply the weights of some features, by less where deviations would exceed those of the prior."""
        mean, covariance = (self.state[name][: self.used] for name in ("mean", "covariance"))
        largest = np.sqrt(self.settings.prior_variance / covariance[:, columns, columns])
        factors = np.minimum(factor, largest)
        mean[:, columns] *= factors
        covariance[:, columns] *= factors[:, :, None]
        covariance[:, :, columns] *= factors[:, None, :]

    def add(self, features: Any = None) -> None:
        self.place = np.append(self.place, np.int32(-1))
        self.n_arms += 1

    def remove(self, arm: int) -> None:
        freed = self.place[arm]
        self.place = np.delete(self.place, arm)
        self.n_arms -= 1
        if freed < 0:
            return
        self.used -= 1
        for array in self.state.values():  # the last one moves to the free place
            array[freed] = array[self.used]
        self.place[self.place == self.used] = freed

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        tried = np.flatnonzero(self.place >= 0)
        place = self.place[tried]
        return {"tried": tried} | {name: array[place] for name, array in self.state.items()}, {}

    def restore(self, arrays: dict[str, np.ndarray], estimators: dict[str, Any]) -> None:
        tried, n = arrays["tried"], self.n_weights
        used = len(tried)
        shapes = {"mean": ((used, n), "float64"), "covariance": ((used, n, n), "float64")}
        self.state = checked_arrays(arrays, {"tried": ((used,), "int64"), **shapes})
        del self.state["tried"]
        if (np.diff(tried) <= 0).any() or not lies_within(tried, 0, self.n_arms - 1):
            raise ValueError("the numbers of the tried arms are out of range")
        if not is_definite(self.state["covariance"]):
            raise ValueError("a covariance of the arms is not positive definite")
        self.used = used
        self.place[tried] = np.arange(used, dtype=np.int32)
