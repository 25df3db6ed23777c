"""Rewards of actions that have names or features, in contexts with named features: models that grow as they learn.

A row of such a model is the product of [1, x] of the context with what the action is: a unit vector if each action has
a model of its own, [1, z] of its features if one model serves all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.regressor import OnlineRegressor
from ..rules.regression import Ridge
from .actions import ActionRows
from .dense_arms import DenseArms
from .named_features import Floats, NamedRow
from .reward_model import RewardModel
from .sparse_arms import SparseArms

NOISE = 0.25  # variance of rewards in [0, 1], at most (Popoviciu's inequality)
PRIOR_VARIANCE = 1.0  # of a weight
MAX_FULL = 1 << 20  # numbers in all covariances of a model; with more, only variances are kept
FIRST_ROOM = 8  # columns; later a quarter more


class ActionModel(ABC):
    """Base of the models: ridge regression of rewards on products of contexts and actions."""

    full: bool
    n_contexts: int
    n_actions: int

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers of the model go into matrix products of a BLAS."""

    @abstractmethod
    def scores(self, x: NamedRow, actions: ActionRows) -> tuple[Floats, Floats]:
        """Return mean and variance of the expected reward of each action, shape (n,)."""

    @abstractmethod
    def learn(self, x: NamedRow, action: ActionRows, reward: float) -> None:
        """Train on the reward of one action; :meth:`widen` has made room for all features."""

    @abstractmethod
    def widen(self, n_contexts: int, n_actions: int) -> None:
        """Make room for so many columns of contexts, and columns or numbers of actions."""

    @abstractmethod
    def scale(self, column: int, factor: float, of_actions: bool) -> None:
        """Multiply the weights of a feature of contexts or of actions."""

    @abstractmethod
    def parts(self) -> dict[str, np.ndarray]:
        """Return what was learned."""

    @abstractmethod
    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Continue with what :meth:`parts` returned, of a model as wide."""


class FullModel(ActionModel):
    """All covariances of weights of one action, or of all actions together if they have features."""

    full = True

    def __init__(self, shared: bool, n_contexts: int, n_actions: int) -> None:
        self.shared, self.n_contexts, self.n_actions = shared, n_contexts, n_actions
        n_arms, width = (1, n_contexts * n_actions) if shared else (n_actions, n_contexts)
        model, prior = _model("full")
        self.arms = DenseArms(model, prior, n_arms, width)

    @property
    def size(self) -> int:
        return self.arms.used * self.arms.n_weights**2 if self.shared else 0

    def scores(self, x: NamedRow, actions: ActionRows) -> tuple[Floats, Floats]:
        if not self.shared:
            assert actions.arms is not None
            known = actions.arms >= 0
            mean, variance = self.arms.scores_of(x.columns, x.values, actions.arms[known])
            return _of_arms(mean, variance, x, known)
        assert actions.rows is not None
        row = _dense(x, self.n_contexts)
        state, shape = self.arms.state, (self.n_contexts, self.n_actions)
        n_known = actions.rows.shape[1]
        if self.arms.used:
            weights = row @ state["mean"][0].reshape(shape)
            first = (row @ state["covariance"][0].reshape(self.n_contexts, -1)).reshape(self.n_actions, *shape)
            form = row @ first.transpose(1, 0, 2).reshape(self.n_contexts, -1)
            matrix = form.reshape(self.n_actions, self.n_actions)[:n_known, :n_known]
        else:
            weights, matrix = np.zeros(self.n_actions), PRIOR_VARIANCE * float(row @ row) * np.eye(n_known)
        variance = np.einsum("ij,ij->i", actions.rows @ matrix, actions.rows)
        return actions.rows @ weights[:n_known], np.maximum(variance, 0.0) + _beyond(x, actions)

    def learn(self, x: NamedRow, action: ActionRows, reward: float) -> None:
        row, arm = _dense(x, self.n_contexts), 0
        if self.shared:
            assert action.rows is not None
            z = np.zeros(self.n_actions)
            z[: action.rows.shape[1]] = action.rows[0]
            row = np.outer(row, z).ravel()
        else:
            assert action.arms is not None
            arm = int(action.arms[0])
        self.arms.learn(np.array([arm]), np.array([reward]), row[None])

    def widen(self, n_contexts: int, n_actions: int) -> None:
        contexts = self.n_contexts if n_contexts <= self.n_contexts else roomy(n_contexts)
        actions = self.n_actions if n_actions <= self.n_actions else roomy(n_actions)
        if (contexts, actions) == (self.n_contexts, self.n_actions):
            return
        columns = np.arange(self.n_contexts)
        if self.shared:
            columns = (columns[:, None] * actions + np.arange(self.n_actions)).ravel()
            self.arms.spread(contexts * actions, columns)
        else:
            self.arms.spread(contexts, columns)
            while self.arms.n_arms < actions:
                self.arms.add()
        self.n_contexts, self.n_actions = contexts, actions

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

    def parts(self) -> dict[str, np.ndarray]:
        return self.arms.parts()[0]

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.arms.restore(arrays, {})


class DiagonalModel(ActionModel):
    """The variance of each weight; weights that were not learned take no memory."""

    full = False

    def __init__(self, shared: bool, n_contexts: int, n_actions: int) -> None:
        self.shared, self.n_contexts, self.n_actions = shared, n_contexts, n_actions
        model, prior = _model("diag")
        self.arms = SparseArms(model, prior, n_actions, n_contexts)

    @property
    def size(self) -> int:
        return 0

    def scores(self, x: NamedRow, actions: ActionRows) -> tuple[Floats, Floats]:
        mean, variance = self.arms.score(x.columns, x.values)
        if not self.shared:
            assert actions.arms is not None
            known = actions.arms >= 0
            return _of_arms(mean[actions.arms[known]], variance[actions.arms[known]], x, known)
        assert actions.rows is not None
        n_known = actions.rows.shape[1]
        found = np.square(actions.rows) @ variance[:n_known] + _beyond(x, actions)
        return actions.rows @ mean[:n_known], found

    def learn(self, x: NamedRow, action: ActionRows, reward: float) -> None:
        arms, factors = action.arms, np.ones(1)
        if self.shared:
            assert action.rows is not None
            arms = np.flatnonzero(action.rows[0])
            factors = action.rows[0, arms]
        assert arms is not None
        self.arms.learn_product(x.columns, x.values, arms.tolist(), factors, reward)

    def widen(self, n_contexts: int, n_actions: int) -> None:
        if n_contexts > self.n_contexts:
            self.n_contexts = roomy(n_contexts)
            self.arms.widen(self.n_contexts)
        if n_actions > self.n_actions:
            self.n_actions = self.arms.n_arms = roomy(n_actions)

    def scale(self, column: int, factor: float, of_actions: bool) -> None:
        self.arms.scale(column, factor, of_actions)

    def parts(self) -> dict[str, np.ndarray]:
        return self.arms.parts()[0]

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.arms.restore(arrays, {})


def _of_arms(mean: Floats, variance: Floats, x: NamedRow, known: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the scores of all actions, given those of known ones, which leave out unknown features of the context."""
    if known.all():
        return mean, variance + PRIOR_VARIANCE * x.unknown
    found_mean, found_variance = np.zeros(len(known)), np.full(len(known), PRIOR_VARIANCE * x.square)
    found_mean[known] = mean
    found_variance[known] = variance + PRIOR_VARIANCE * x.unknown
    return found_mean, found_variance


def _beyond(x: NamedRow, actions: ActionRows) -> Floats:
    """Return the variance that products with unknown features add to a shared model's scores."""
    assert actions.rows is not None
    known = np.square(actions.rows).sum(axis=1)
    found: Floats = PRIOR_VARIANCE * (x.square * (known + actions.unknown) - (x.square - x.unknown) * known)
    return found


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
