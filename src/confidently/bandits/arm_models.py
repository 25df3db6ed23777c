"""Models of the arms: how the scores of all arms follow from a context, and what a reward teaches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .reward_model import Floats, RewardModel


class ArmModels(ABC):
    """Base of the models: arms are numbers from 0, in the order of the bandit's list.

    Parameters
    ----------
    model : RewardModel
    prior : estimator
        Of :meth:`RewardModel.prior`, which every model begins with.
    n_arms, n_features : int
        The number of arms, and of the columns of a context.
    """

    kind: ClassVar[str]

    def __init__(self, model: RewardModel, prior: Any, n_arms: int, n_features: int) -> None:
        self.model, self.prior, self.n_arms, self.n_features = model, prior, n_arms, n_features

    @staticmethod
    def fits(model: RewardModel, estimator: Any) -> bool:
        """Return whether this kind can hold the models of arms with such an estimator."""
        return True

    def checked(self, estimator: Any) -> Any:
        """Return an estimator that was read; ``ValueError``: it is another one than the prior."""
        if type(estimator) is not type(self.prior) or estimator.learner_.header() != self.prior.learner_.header():
            raise ValueError("a model of the file is another one than the prior")
        return estimator

    @abstractmethod
    def scores(self, X: Any) -> tuple[Floats, Floats]:
        """Return mean and variance of the score of every arm for every context, shape (n, n_arms)."""

    @abstractmethod
    def learn(self, arms: NDArray[np.intp], rewards: Floats, X: Any) -> None:
        """Train on decisions for contexts in their order, with their rewards; an error changes nothing."""

    @abstractmethod
    def add(self, features: Any = None) -> None:
        """Append an arm, which starts at the prior; ``features``: in a shared model, its row."""

    @abstractmethod
    def remove(self, arm: int) -> None:
        """Remove an arm; the numbers of those after it decrease by one."""

    @abstractmethod
    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what was learned, as arrays and as estimators, by name."""

    @abstractmethod
    def restore(self, arrays: dict[str, np.ndarray], estimators: dict[str, Any]) -> None:
        """Continue with what :meth:`parts` returned."""


class PerArm(ArmModels):
    """One estimator per arm, whatever its covariance and its view."""

    kind = "per arm"

    def __init__(self, model: RewardModel, prior: Any, n_arms: int, n_features: int) -> None:
        super().__init__(model, prior, n_arms, n_features)
        self.estimators: list[Any] = [None] * n_arms  # None: untried, as the prior

    def scores(self, X: Any) -> tuple[Floats, Floats]:
        mean, variance = np.empty((X.shape[0], self.n_arms)), np.empty((X.shape[0], self.n_arms))
        untried = [arm for arm, estimator in enumerate(self.estimators) if estimator is None]
        if untried:
            for out, found in zip((mean, variance), self.model.scores(self.prior, X), strict=True):
                out[:, untried] = found[:, None]
        for arm, estimator in enumerate(self.estimators):
            if estimator is not None:
                mean[:, arm], variance[:, arm] = self.model.scores(estimator, X)
        return mean, variance

    def learn(self, arms: NDArray[np.intp], rewards: Floats, X: Any) -> None:
        touched, learned = np.unique(arms), dict[int, Any]()
        for arm in touched.tolist():
            rows, estimator = np.flatnonzero(arms == arm), self.estimators[arm]
            if estimator is None or len(touched) > 1:  # a single one undoes what it learned before an error
                estimator = self.model.copied(self.prior if estimator is None else estimator)
            self.model.learn(estimator, X if len(rows) == X.shape[0] else X[rows], rewards[rows])
            learned[arm] = estimator
        for arm, estimator in learned.items():
            self.estimators[arm] = estimator

    def add(self, features: Any = None) -> None:
        self.estimators.append(None)
        self.n_arms += 1

    def remove(self, arm: int) -> None:
        del self.estimators[arm]
        self.n_arms -= 1

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return {}, {f"arm-{arm}": one for arm, one in enumerate(self.estimators) if one is not None}

    def restore(self, arrays: dict[str, np.ndarray], estimators: dict[str, Any]) -> None:
        names = {f"arm-{arm}": arm for arm in range(self.n_arms)}
        for name, estimator in estimators.items():
            self.estimators[names[name]] = self.checked(estimator)
