"""Full covariances of many arms; test_arm_models.py compares them with one estimator per arm."""

import numpy as np
import pytest

from confidently import OnlineRegressor
from confidently.bandits.dense_arms import MAX_WEIGHTS, DenseArms
from confidently.bandits.reward_model import RewardModel


def test_long_rows_have_an_estimator_per_arm():
    model = RewardModel(OnlineRegressor(covariance="full"))
    assert DenseArms.fits(model, model.prior(MAX_WEIGHTS - 1))
    assert not DenseArms.fits(model, model.prior(MAX_WEIGHTS))


@pytest.mark.parametrize("columns", [[], [4], [0, 2, 5], range(6)])
def test_scores_of_some_arms_are_those_of_all(columns):
    random = np.random.default_rng(1)
    model = RewardModel(OnlineRegressor(covariance="full", fit_intercept=False, prior_variance=2.0))
    arms = DenseArms(model, model.prior(6), 8, 6)
    for _ in range(60):
        arms.learn(random.integers(6, size=1), random.random(1), random.standard_normal((1, 6)))
    values = random.standard_normal(len(columns))
    row = np.zeros(6)
    row[[*columns]] = values
    some = np.array([7, 3, 0, 5])  # of which nothing was learned of the first
    found = arms.scores_of(np.array(columns, np.int32), values, some)
    np.testing.assert_allclose(found, [part[0, some] for part in arms.scores(row[None])], rtol=1e-12, atol=1e-15)
