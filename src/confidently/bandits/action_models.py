"""Rewards of actions that have names or features, in contexts with named features: models that grow as they learn.

A row of such a model is the product of [1, x] of the context with what the action is: a unit vector if each action has
a model of its own, [1, z] of its features if one model serves all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..estimators.regressor import OnlineRegressor
from ..rules.regression import Ridge
from .actions import ActionRows
from .dense_arms import DenseArms
from .named_features import Floats, NamedRow
from .reward_model import BOUNDED_VARIANCE, RewardModel
from .sparse_arms import SparseArms

NOISE = BOUNDED_VARIANCE  # of rewards in [0, 1]
PRIOR_VARIANCE = 1.0  # of a weight
MAX_FULL = 1 << 20  # numbers in all covariances of a model; with more, only variances are kept
FIRST_ROOM = 8  # columns; later a quarter more


class ActionModel(ABC):
    """Base of the models: ridge regression of rewards on products of contexts and actions.

    Attributes
    ----------
    arms : DenseArms or SparseArms
        The weights, kept as those of a bandit are.
    """

    full: ClassVar[bool]
    arms: DenseArms | SparseArms

    def __init__(self, shared: bool, n_contexts: int, n_actions: int) -> None:
        self.shared, self.n_contexts, self.n_actions = shared, n_contexts, n_actions

    @property
    def size(self) -> int:
        """How many numbers of the model go into matrix products of a BLAS."""
        return 0

    def scores(self, x: NamedRow, actions: ActionRows) -> tuple[Floats, Floats]:
        """Return mean and variance of the expected reward of each action, shape (n,)."""
        if actions.rows is not None:
            mean, variance = self._scores_of_rows(x, actions.rows)
            known = np.square(actions.rows).sum(axis=1)
            beyond = x.square * (known + actions.unknown) - (x.square - x.unknown) * known
            return mean, variance + PRIOR_VARIANCE * beyond
        assert actions.arms is not None
        tried = actions.arms >= 0
        mean, variance = self.arms.scores_of(x.columns, x.values, actions.arms[tried])
        variance += PRIOR_VARIANCE * x.unknown
        if tried.all():
            return mean, variance
        found = np.zeros(len(tried)), np.full(len(tried), PRIOR_VARIANCE * x.square)
        found[0][tried], found[1][tried] = mean, variance
        return found

    @abstractmethod
    def _scores_of_rows(self, x: NamedRow, rows: Floats) -> tuple[Floats, Floats]:
        """Return :meth:`scores` for the features of actions, without what is unknown of them and of the context."""

    @abstractmethod
    def learn(self, x: NamedRow, action: ActionRows, reward: float) -> None:
        """Train on the reward of one action; :meth:`widen` has made room for all features."""

    def widen(self, n_contexts: int, n_actions: int) -> None:
        """Make room for so many columns of contexts, and columns or numbers of actions."""
        contexts = self.n_contexts if n_contexts <= self.n_contexts else roomy(n_contexts)
        actions = self.n_actions if n_actions <= self.n_actions else roomy(n_actions)
        if (contexts, actions) != (self.n_contexts, self.n_actions):
            self._widen(contexts, actions)
            self.n_contexts, self.n_actions = contexts, actions

    @abstractmethod
    def _widen(self, n_contexts: int, n_actions: int) -> None:
        """Make exactly so much room."""

    @abstractmethod
    def scale(self, column: int, factor: float, of_actions: bool) -> None:
        """Multiply the weights of a feature of contexts or of actions."""

    def parts(self) -> dict[str, np.ndarray]:
        """Return what was learned."""
        return self.arms.parts()[0]

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue with what :meth:`parts` returned, of a model as wide."""
        self.arms.restore(arrays, {})


class FullModel(ActionModel):
    """All covariances of weights of one action, or of all actions together if they have features."""

    full = True
    arms: DenseArms

    def __init__(self, shared: bool, n_contexts: int, n_actions: int) -> None:
        super().__init__(shared, n_contexts, n_actions)
        n_arms, width = (1, n_contexts * n_actions) if shared else (n_actions, n_contexts)
        self.arms = DenseArms(*_model("full"), n_arms, width)

    @property
    def size(self) -> int:
        return self.arms.used * self.arms.n_weights**2 if self.shared else 0

    def _scores_of_rows(self, x: NamedRow, rows: Floats) -> tuple[Floats, Floats]:
        row, state, n_known = _dense(x, self.n_contexts), self.arms.state, rows.shape[1]
        shape = self.n_contexts, self.n_actions
        if self.arms.used:
            weights = row @ state["mean"][0].reshape(shape)
            first = (row @ state["covariance"][0].reshape(self.n_contexts, -1)).reshape(self.n_actions, *shape)
            form = row @ first.transpose(1, 0, 2).reshape(self.n_contexts, -1)
            matrix = form.reshape(self.n_actions, self.n_actions)[:n_known, :n_known]
        else:
            weights, matrix = np.zeros(self.n_actions), PRIOR_VARIANCE * float(row @ row) * np.eye(n_known)
        return rows @ weights[:n_known], np.maximum(np.einsum("ij,ij->i", rows @ matrix, rows), 0.0)

    def learn(self, x: NamedRow, action: ActionRows, reward: float) -> None:
        row, arm = _dense(x, self.n_contexts), action.arms
        if action.rows is not None:
            z = np.zeros(self.n_actions)
            z[: action.rows.shape[1]] = action.rows[0]
            row, arm = np.outer(row, z).ravel(), np.zeros(1, dtype=np.intp)
        assert arm is not None
        self.arms.learn(arm, np.array([reward]), row[None])

    def _widen(self, n_contexts: int, n_actions: int) -> None:
        columns = np.arange(self.n_contexts)
        if self.shared:
            columns = (columns[:, None] * n_actions + np.arange(self.n_actions)).ravel()
            self.arms.spread(n_contexts * n_actions, columns)
            return
        self.arms.spread(n_contexts, columns)
        while self.arms.n_arms < n_actions:
            self.arms.add()

    def scale(self, column: int, factor: float, of_actions: bool) -> None:
        columns = np.array([column])
        if self.shared:
            of_all = np.arange(self.n_contexts * self.n_actions).reshape(self.n_contexts, self.n_actions)
            columns = of_all[:, column] if of_actions else of_all[column]
        self.arms.scale(columns, factor)

    def fits(self, n_contexts: int, n_actions: int) -> bool:
        """Return whether the covariances of so many columns, and one action more, have at most MAX_FULL numbers."""
        width = n_contexts * n_actions if self.shared else n_contexts
        return (1 if self.shared else self.arms.used + 1) * width**2 <= MAX_FULL

    def diagonal(self) -> DiagonalModel:
        """Return a model that continues without covariances."""
        model = DiagonalModel(self.shared, self.n_contexts, self.n_actions)
        feature, arm, weights = [], [], []
        for one, place in enumerate(self.arms.place.tolist()):
            if place < 0:
                continue
            mean, variance = self.arms.state["mean"][place], np.diag(self.arms.state["covariance"][place])
            column = np.flatnonzero(variance < PRIOR_VARIANCE)
            feature.append(column // self.n_actions if self.shared else column)
            arm.append(column % self.n_actions if self.shared else np.full(len(column), one))
            weights.append(np.column_stack([mean, variance])[column])
        if feature:
            columns, arms = np.concatenate(feature), np.concatenate(arm)
            order = np.lexsort((arms, columns))
            found = np.concatenate(weights)[order]
            model.arms.fill(columns[order].astype(np.int32), arms[order].astype(np.int32), found)
        return model


class DiagonalModel(ActionModel):
    """The variance of each weight; weights that were not learned take no memory."""

    full = False
    arms: SparseArms

    def __init__(self, shared: bool, n_contexts: int, n_actions: int) -> None:
        super().__init__(shared, n_contexts, n_actions)
        self.arms = SparseArms(*_model("diag"), n_actions, n_contexts)

    def _scores_of_rows(self, x: NamedRow, rows: Floats) -> tuple[Floats, Floats]:
        mean, variance = self.arms.score(x.columns, x.values)[:, : rows.shape[1]]
        return rows @ mean, np.square(rows) @ variance

    def learn(self, x: NamedRow, action: ActionRows, reward: float) -> None:
        arms, factors = action.arms, np.ones(1)
        if action.rows is not None:
            arms = np.flatnonzero(action.rows[0])
            factors = action.rows[0, arms]
        assert arms is not None
        self.arms.learn_product(x.columns, x.values, arms.tolist(), factors, reward)

    def _widen(self, n_contexts: int, n_actions: int) -> None:
        self.arms.widen(n_contexts)
        self.arms.n_arms = n_actions

    def scale(self, column: int, factor: float, of_actions: bool) -> None:
        self.arms.scale(column, factor, of_actions)


def _dense(x: NamedRow, width: int) -> Floats:
    """Return the known features of a row as an array."""
    row = np.zeros(width)
    row[x.columns] = x.values
    return row


def roomy(n: int) -> int:
    """Return n and some more, so that models are seldom copied when they grow."""
    return max(FIRST_ROOM, n + n // 4)


@cache
def _model(covariance: str) -> tuple[RewardModel, Any]:
    """Return the model of rewards, and its estimator at the prior."""
    estimator = OnlineRegressor(Ridge(r=NOISE), covariance, prior_variance=PRIOR_VARIANCE, fit_intercept=False)
    model = RewardModel(estimator)
    return model, model.prior(1)
