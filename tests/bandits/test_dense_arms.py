"""Full covariances of many arms; test_arm_models.py compares them with one estimator per arm."""

from confidently import OnlineRegressor
from confidently.bandits.dense_arms import MAX_WEIGHTS, has_matrices
from confidently.bandits.reward_model import RewardModel


def test_long_rows_have_an_estimator_per_arm():
    model = RewardModel(OnlineRegressor(covariance="full"))
    assert has_matrices(model, model.prior(MAX_WEIGHTS - 1))
    assert not has_matrices(model, model.prior(MAX_WEIGHTS))
