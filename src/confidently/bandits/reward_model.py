"""What a bandit needs from an estimator: Gaussians over scores, training on rewards, and expected rewards."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse
from scipy.special import ndtr
from sklearn.base import clone

from ..estimators.gaussian import GaussianEstimator
from ..estimators.parameters import chooses_view
from ..rules import make_rule
from ..tasks.targets import MAX_TARGET

Floats = NDArray[np.float64]
MIN_VARIANCE = 1e-300
BOUNDED_VARIANCE = 0.25  # of any number in [0, 1] (Popoviciu's inequality)


class RewardModel:
    """An estimator as the model of a reward.

    Parameters
    ----------
    estimator : OnlineClassifier or OnlineRegressor
        For rewards 0 and 1, or for any number. It is cloned, so a fitted one starts from its prior.

    Raises
    ------
    TypeError
        For another estimator.

    Notes
    -----
    A regressor takes the mean of its targets as known. The reward of an arm that was hardly tried is not, so the
    intercept is here the weight of a column of ones, with the prior of the other weights.

    ``view="auto"`` of a classifier is None: the prior is needed before any context is known.
    """

    def __init__(self, estimator: Any) -> None:
        if not isinstance(estimator, GaussianEstimator):
            raise TypeError(
                f"model: expected an OnlineClassifier or an OnlineRegressor, got {estimator!r}; for rewards 0 "
                'and 1 use OnlineClassifier("logistic")'
            )
        self.template = clone(estimator)
        self.is_classifier = not estimator.predicts_numbers
        self.rule = make_rule(estimator.rule)
        self.has_ones = not self.is_classifier and bool(estimator.fit_intercept)
        if not self.is_classifier:
            self.template.set_params(fit_intercept=False)
        elif chooses_view(self.template):
            self.template.set_params(view=None)

    @property
    def has_intercept(self) -> bool:
        """Whether rows without features say something."""
        return self.has_ones or bool(self.template.fit_intercept)

    def prior(self, n_features: int) -> Any:
        """Return an estimator that has seen nothing and predicts from its prior."""
        row = np.zeros((1, n_features + self.has_ones))
        estimator = clone(self.template)
        if self.is_classifier:  # a row of weight 0 has the same effect as none
            return estimator.partial_fit(row, np.array([0]), classes=[0, 1], sample_weight=[0.0])
        return estimator.partial_fit(row, np.array([0.0]), sample_weight=[0.0])

    def copied(self, estimator: Any) -> Any:
        """Return a copy that learns on its own."""
        return deepcopy(estimator)

    def has_plain_steps(self, estimator: Any) -> bool:
        """Return whether :meth:`step` is all that an example does to such an estimator, in double precision."""
        settings = estimator.learner_.settings
        has_unit = self.rule.predicts_numbers and not (self.rule.squared_loss or self.rule.counts)
        return (
            not has_unit  # that of the rewards so far, which is learned
            and not (settings.forget or settings.average or self.rule.compiled.rescales)
            and settings.dtype == "float64"
            and estimator.learner_.view is None
            and getattr(estimator, "class_weight", None) is None
        )

    def scores(self, estimator: Any, X: Any) -> tuple[Floats, Floats]:
        """Return mean and variance of the score of each row, shape (n,)."""
        return estimator.margin_distribution(self._with_ones(X))

    def learn(self, estimator: Any, X: Any, rewards: Floats) -> None:
        """Train on rows with their rewards."""
        estimator.partial_fit(self._with_ones(X), rewards.astype(np.int64) if self.is_classifier else rewards)

    def step(self, mean: float, variance: float, reward: float) -> tuple[float, float]:
        """Return how far the score moves, alpha, and the precision it gains, zeta."""
        if self.is_classifier:
            sign = 1.0 if reward else -1.0
            alpha, zeta, _, _ = self.rule.compiled.step(sign * mean, variance)
            return sign * alpha, zeta
        alpha, zeta, _, _ = self.rule.compiled.step(mean, variance, target=reward)
        return alpha, zeta

    def expected(self, mean: Floats, variance: Floats) -> Floats:
        """Return the expected reward of scores with these Gaussians."""
        if not self.is_classifier:
            return np.exp(mean + 0.5 * variance) if self.rule.counts else mean
        terms = [w * ndtr(mean / np.sqrt(np.maximum(s + variance, MIN_VARIANCE))) for w, s in self.rule.score_noise()]
        return np.sum(terms, axis=0)

    def check_rewards(self, rewards: Any, n: int) -> Floats:
        """Return rewards as an array of shape (n,).

        Raises
        ------
        ValueError
            If the number of rewards is not n, or one is not finite or too large, or not 0 or 1 where the model is a
            classifier.
        """
        found = np.asarray(rewards, dtype=np.float64)
        if found.shape != (n,):
            raise ValueError(f"rewards must be {n} numbers, one per decision, got shape {found.shape}")
        wrong = ~(np.isin(found, (0.0, 1.0)) if self.is_classifier else np.abs(found) <= MAX_TARGET)  # NaN too
        if wrong.any():
            shown = float(found[wrong][0])
            if not self.is_classifier:
                raise ValueError(f"rewards must be finite and at most {MAX_TARGET:g} in size, got {shown!r}")
            raise ValueError(f"rewards must be 0 or 1 for a classifier, got {shown!r}; use an OnlineRegressor")
        return found

    def _with_ones(self, X: Any) -> Any:
        if not self.has_ones:
            return X
        ones = np.ones((X.shape[0], 1))
        return csr_array(hstack([X, csr_array(ones)], format="csr")) if issparse(X) else np.hstack([X, ones])
