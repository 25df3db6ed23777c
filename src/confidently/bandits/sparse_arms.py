"""Diagonal models of many arms in one index, in which only weights that were learned take memory and time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .. import _core
from ..arrays import lies_within
from ..covariances.state import out_of_range
from ..covariances.table import kind_of
from ..models.file import checked_arrays
from .arm_models import ArmModels
from .reward_model import Floats, RewardModel

MAX_CHANGE = 1e300  # of a weight in one step
FIRST_ROOM = 4  # arms in the list of a feature when the first one arrives; doubled when it is full


class SparseArms(ArmModels):
    """One linear model with a diagonal covariance per arm, as in :class:`PerArm`.

    For every feature there is a list of the arms that were trained on it, with the mean and variance of their weights.
    The scores of all arms are sums over the lists of the features of the context::

        mean_a = sum_j x_j mu_ja,      variance_a = prior |x|^2 + sum_j x_j^2 (sigma2_ja - prior)

    so that arms cost nothing for features that they were never trained on.
    """

    kind = "index"

    @staticmethod
    def fits(model: RewardModel, estimator: Any) -> bool:
        return kind_of(estimator.learner_.settings.covariance).is_diagonal and model.has_plain_steps(estimator)

    def __init__(self, model: RewardModel, prior: Any, n_arms: int, n_features: int) -> None:
        super().__init__(model, prior, n_arms, n_features)
        settings = prior.learner_.settings
        self.fit_intercept = settings.fit_intercept or model.has_ones
        self.variances = settings.prior_variance, settings.prior_variance * settings.min_variance
        self.moments = settings.projection == "moments"
        n = n_features + self.fit_intercept  # the intercept is the last feature
        self.used = 0
        self.state: dict[str, np.ndarray] = {
            "start": np.zeros(n, dtype=np.int64),
            "size": np.zeros(n, dtype=np.int32),
            "room": np.zeros(n, dtype=np.int32),
            "arm": np.empty(0, dtype=np.int32),
            "entries": np.empty((0, 2)),
        }

    def scores(self, X: Any) -> tuple[Floats, Floats]:
        found = np.empty((X.shape[0], 2, self.n_arms))
        for i in range(X.shape[0]):
            found[i] = self.score(*self._row(X, i))
        return found[:, 0], found[:, 1]

    def score(self, columns: NDArray[np.int32], values: Floats) -> Floats:
        """Return mean and variance of the score of every arm for one row, shape (2, n_arms)."""
        found = np.empty((2, self.n_arms))
        _core.arm_scores(self.state, *self.variances, columns, values, found)
        return found

    def scores_of(self, columns: NDArray[np.int32], values: Floats, arms: NDArray[np.intp]) -> Floats:
        """Return mean and variance of the score of some arms for one row, given its entries: shape (2, n)."""
        return self.score(columns, values)[:, arms]

    def learn(self, arms: NDArray[np.intp], rewards: Floats, X: Any) -> None:
        if len(arms) == 1:  # of which nothing is learned before an error
            self._learn(arms, rewards, X)
            return
        saved = self.used, {name: array.copy() for name, array in self.state.items()}
        try:
            self._learn(arms, rewards, X)
        except BaseException:
            self.used, self.state = saved
            raise

    def _learn(self, arms: NDArray[np.intp], rewards: Floats, X: Any) -> None:
        for i, (arm, reward) in enumerate(zip(arms.tolist(), rewards.tolist(), strict=True)):
            columns, values = self._row(X, i)
            self.learn_product(columns, values, [arm], np.ones(1), reward)

    def learn_product(
        self, columns: NDArray[np.int32], values: Floats, arms: list[int], factors: Floats, reward: float
    ) -> None:
        """Train several arms on one reward, whose score is the sum of theirs for the row times each arm's factor."""
        rows = [values * factor for factor in factors.tolist()]
        parts = [
            _core.arm_score(self.state, *self.variances, columns, row, arm) for arm, row in zip(arms, rows, strict=True)
        ]
        mean, variance = (sum(part) for part in zip(*parts, strict=True))
        if variance <= 0:
            return
        alpha, zeta = self.model.step(mean, variance, reward)
        if not alpha and not zeta:
            return
        if not all(abs(alpha) * self.variances[0] * np.abs(row).max() < MAX_CHANGE for row in rows):
            raise out_of_range("float64")
        for arm, row, (_, own) in zip(arms, rows, parts, strict=True):
            self._make_room(columns)
            # With moments, weights lose (variance x)^2/(1/zeta + variance of the score), here of all these arms.
            gained = zeta / (1.0 + zeta * (variance - own)) if self.moments else zeta
            _core.arm_update(self.state, *self.variances, columns, row, arm, alpha, gained, self.moments)

    def widen(self, n_features: int) -> None:
        """Make room for more features of rows without an intercept."""
        more = n_features - self.n_features
        self.n_features = n_features
        for name in ("start", "size", "room"):
            self.state[name] = np.concatenate([self.state[name], np.zeros(more, dtype=self.state[name].dtype)])

    def scale(self, number: int, factor: float, of_arm: bool) -> None:
        """Multiply the weights of a feature or of an arm, by less where deviations would exceed those of the prior."""
        start, size = self.state["start"], self.state["size"]
        if of_arm:
            at = np.concatenate([np.arange(a, a + n) for a, n in zip(start.tolist(), size.tolist(), strict=True)])
            at = at[self.state["arm"][at] == number]
        else:
            at = np.arange(start[number], start[number] + size[number])
        factors = np.minimum(factor, np.sqrt(self.variances[0] / self.state["entries"][at, 1]))
        self.state["entries"][at] *= np.column_stack([factors, factors**2])

    def _row(self, X: Any, i: int) -> tuple[NDArray[np.int32], Floats]:
        """Return the nonzero columns of a row, ascending, and their values."""
        if issparse(X):
            of_row = slice(X.indptr[i], X.indptr[i + 1])
            columns, values = X.indices[of_row], X.data[of_row]
        else:
            columns = np.flatnonzero(X[i])
            values = X[i, columns]
        if self.fit_intercept:
            columns, values = np.append(columns, self.n_features), np.append(values, 1.0)
        return columns.astype(np.int32, copy=False), values.astype(np.float64, copy=False)

    def _make_room(self, columns: NDArray[np.int32]) -> None:
        """Make room for one more arm in the lists of features, which move to the end when they are full."""
        size, room = self.state["size"], self.state["room"]
        full = columns[size[columns] == room[columns]]
        if not len(full):
            return
        wanted = np.maximum(2 * room[full].astype(np.int64), FIRST_ROOM)
        end = self.used + int(wanted.sum())
        if end > len(self.state["arm"]):
            longer = max(end, 2 * len(self.state["arm"]))
            for name in ("arm", "entries"):
                old = self.state[name]
                self.state[name] = np.zeros((longer, *old.shape[1:]), dtype=old.dtype)
                self.state[name][: self.used] = old[: self.used]
        start = self.state["start"]
        for j, capacity in zip(full.tolist(), wanted.tolist(), strict=True):
            old_part, new_part = (slice(at, at + size[j]) for at in (start[j], self.used))
            for name in ("arm", "entries"):
                self.state[name][new_part] = self.state[name][old_part]
            start[j], room[j] = self.used, capacity
            self.used += capacity

    def add(self, features: Any = None) -> None:
        self.n_arms += 1

    def remove(self, arm: int) -> None:
        feature, arms, weights = self._entries()
        kept = arms != arm
        self.n_arms -= 1
        self.fill(feature[kept], arms[kept] - (arms[kept] > arm).astype(np.int32), weights[kept])

    def _entries(self) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
        """Return feature, arm and weights of every entry."""
        start, size = self.state["start"], self.state["size"]
        feature = np.repeat(np.arange(len(size), dtype=np.int32), size)
        at = np.repeat(start - np.cumsum(size) + size, size) + np.arange(len(feature))
        return feature, self.state["arm"][at], self.state["entries"][at]

    def fill(self, feature: NDArray[np.int32], arms: NDArray[np.int32], weights: Floats) -> None:
        """Replace all entries; features ascend."""
        size = np.bincount(feature, minlength=len(self.state["size"])).astype(np.int32)
        start = (np.cumsum(size) - size).astype(np.int64)
        self.used = len(arms)
        self.state = {"start": start, "size": size, "room": size.copy(), "arm": arms, "entries": weights}

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        feature, arms, weights = self._entries()
        return {"feature": feature, "arm": arms, "weights": weights}, {}

    def restore(self, arrays: dict[str, np.ndarray], estimators: dict[str, Any]) -> None:
        feature, arms, weights = arrays["feature"], arrays["arm"], arrays["weights"]
        n = len(feature)
        checked_arrays(
            arrays, {"feature": ((n,), "int32"), "arm": ((n,), "int32"), "weights": ((n, 2), "float64")}
        )  # fmt: skip
        in_range = lies_within(feature, 0, len(self.state["size"]) - 1) and lies_within(arms, 0, self.n_arms - 1)
        entries = feature.astype(np.int64) * self.n_arms + arms
        if not in_range or (np.diff(feature) < 0).any() or len(np.unique(entries)) < n or (weights[:, 1] <= 0).any():
            raise ValueError("the weights of the arms are out of range")
        self.fill(feature, arms, weights)
