"""Calls that fail leave all scores as they were, also where some of their rows had been learned."""

import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor
from confidently.bandits import ContextualBandit
from confidently.bandits.arm_models import PerArm
from confidently.bandits.dense_arms import DenseArms
from confidently.bandits.reward_model import RewardModel
from confidently.bandits.shared_model import SharedModel
from confidently.bandits.sparse_arms import SparseArms

ARMS = ["a", "b", "c"]
SMALL = np.array([[1e-6, 0.0], [0.0, 2e-6], [1e-6, 1e-6]])
ARM_FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
MODELS = {
    "index": lambda: _of(SparseArms, "diag"), "matrices": lambda: _of(DenseArms, "full"),
    "per arm": lambda: _of(PerArm, "full"), "shared": lambda: SharedModel(_model("full"), 2, ARM_FEATURES),
}  # fmt: skip


def _model(covariance):
    return RewardModel(OnlineRegressor("ridge", covariance, prior_variance=1e9, fit_intercept=False))


def _of(kind, covariance):
    model = _model(covariance)
    return kind(model, model.prior(2), len(ARMS), 2)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("arms", [[0, 1, 2], [2, 2, 2], [0, 1, 1]], ids=str)
@pytest.mark.parametrize("tried", [[], [0, 2], [0, 1, 2]], ids=str)
def test_a_reward_out_of_range_after_others(name, arms, tried):
    models = MODELS[name]()
    for arm in tried:
        models.learn(np.array([arm]), np.array([0.5]), SMALL[[arm]])
    before = models.scores(SMALL)
    with pytest.raises(ValueError, match=r"range|finite|large"):
        models.learn(np.array(arms), np.array([1.0, 2.0, 1e307]), SMALL)
    for found, expected in zip(models.scores(SMALL), before, strict=True):
        np.testing.assert_array_equal(found, expected)
    models.learn(np.array(arms), np.array([1.0, 2.0, 3.0]), SMALL)
    fresh = MODELS[name]()
    for arm in tried:
        fresh.learn(np.array([arm]), np.array([0.5]), SMALL[[arm]])
    fresh.learn(np.array(arms), np.array([1.0, 2.0, 3.0]), SMALL)
    for found, expected in zip(models.scores(SMALL), fresh.scores(SMALL), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "model", [None, OnlineClassifier("logistic"), OnlineRegressor(covariance="diag")], ids=["ridge", "logistic", "diag"]
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("decisions", "rewards", "contexts"), [
    (["a", "x"], [1, 0], [[1.0, 2.0], [0.0, 1.0]]), (["a", "b"], [1, np.nan], [[1.0, 2.0], [0.0, 1.0]]),
    (["a", "b"], [1], [[1.0, 2.0], [0.0, 1.0]]), (["a", "b"], [1, 0], [[1.0, 2.0]]),
    (["a", "b"], [1, 0], [[1.0, np.inf], [0.0, 1.0]]),
], ids=["arm", "reward", "rewards", "contexts", "context"])  # fmt: skip
def test_a_bandit_after_decisions_that_cannot_be(model, method, decisions, rewards, contexts):
    bandit = ContextualBandit(ARMS, model=model, random_state=0)
    random = np.random.default_rng(3)
    X = random.standard_normal((30, 2))
    bandit.fit([ARMS[k] for k in random.integers(3, size=30)], random.integers(2, size=30), X)
    before = bandit.score_distribution(X)
    with pytest.raises(ValueError):
        getattr(bandit, method)(decisions, rewards, contexts)
    for found, expected in zip(bandit.score_distribution(X), before, strict=True):
        np.testing.assert_array_equal(found, expected)
