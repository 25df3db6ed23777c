"""The index of many arms; test_arm_models.py compares it with one estimator per arm."""

import numpy as np

from confidently import OnlineClassifier
from confidently.bandits.reward_model import RewardModel
from confidently.bandits.sparse_arms import SparseArms


def test_an_untrained_index_of_no_features_scores_zero():
    model = RewardModel(OnlineClassifier("logistic", fit_intercept=False))
    index = SparseArms(model, model.prior(2), 3, 2)
    mean, variance = index.scores(np.zeros((1, 2)))
    assert (mean == 0).all() and (variance == 0).all()
    index.learn(np.array([1]), np.array([1.0]), np.zeros((1, 2)))  # a row without features teaches nothing
    assert len(index.parts()[0]["arm"]) == 0
