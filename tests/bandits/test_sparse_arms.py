"""The index of many arms gives the scores of one estimator per arm."""

import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor
from confidently.bandits.arm_models import PerArm
from confidently.bandits.reward_model import RewardModel
from confidently.bandits.sparse_arms import SparseArms, has_index
from confidently.rules.regression import Ridge
from tests.bandits.arms import N_ARMS, N_FEATURES, assert_same_scores, decisions

MODELS = {
    "logistic": OnlineClassifier("logistic", prior_variance=3.0),
    "arow without intercept": OnlineClassifier("arow", fit_intercept=False),
    "cw_stdev": OnlineClassifier("cw_stdev", prior_variance=0.5),
    "probit": OnlineClassifier("probit"),
    "ridge of precisions": OnlineRegressor(Ridge(r=0.25), "diag", projection="precision"),
    "ridge of moments": OnlineRegressor(Ridge(r=0.25), "diag", projection="moments"),
    "ridge": OnlineRegressor(Ridge(r=0.25), "diag", prior_variance=2.0),
    "ridge without intercept": OnlineRegressor("ridge", "diag", fit_intercept=False),
}


def both(name, n_arms=N_ARMS):
    model = RewardModel(MODELS[name])
    prior = model.prior(N_FEATURES)
    assert has_index(model, prior)
    return [kind(model, prior, n_arms, N_FEATURES) for kind in (SparseArms, PerArm)]


@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_one_estimator_per_arm(name, dense):
    index, per_arm = both(name)
    arms, rewards, X = decisions(400)
    _, _, test = decisions(30, seed=1)
    X, test = (X.toarray(), test.toarray()) if dense else (X, test)
    assert_same_scores(index, per_arm, test)
    for part in (slice(0, 3), slice(3, 250), slice(250, 400)):
        for models in (index, per_arm):
            models.learn(arms[part], rewards[part], X[part])
        assert_same_scores(index, per_arm, test)


def test_arms_come_and_go():
    index, per_arm = both("logistic")
    _, _, test = decisions(20, seed=1)
    n_arms = N_ARMS
    for seed, change in enumerate(["remove first", "add", "remove last", "add", "add"]):
        arms, rewards, X = decisions(80, seed, n_arms)
        for models in (index, per_arm):
            models.learn(arms, rewards, X)
            if change == "add":
                models.add()
            else:
                models.remove(0 if change == "remove first" else n_arms - 1)
        n_arms += 1 if change == "add" else -1
        assert index.n_arms == per_arm.n_arms == n_arms
        assert_same_scores(index, per_arm, test)


def test_the_saved_parts_give_the_same_index_which_grows():
    index, _ = both("ridge")
    arms, rewards, X = decisions(300)
    index.learn(arms[:200], rewards[:200], X[:200])
    arrays, estimators = index.parts()
    assert not estimators
    again, per_arm = both("ridge")
    again.restore(arrays, {})
    per_arm.learn(arms, rewards, X)
    for models in (index, again):
        models.learn(arms[200:], rewards[200:], X[200:])
        assert_same_scores(models, per_arm, X)
    met = {(arm, j) for arm, row in zip(arms, X.toarray(), strict=True) for j in np.flatnonzero(row)}
    assert len(index.parts()[0]["arm"]) == len(met) + N_ARMS  # and an intercept each


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature", lambda a: a.astype(np.int64)),
        ("feature", lambda a: a[::-1].copy()),
        ("feature", lambda a: a + 1000),
        ("arm", lambda a: a + N_ARMS),
        ("arm", lambda a: a[:-1]),
        ("weights", lambda a: np.where(a > 0, np.nan, a)),
        ("weights", lambda a: -np.abs(a)),
    ],
)
def test_parts_of_a_damaged_file_are_refused(name, change):
    index, _ = both("logistic")
    index.learn(*decisions(50))
    arrays, _ = index.parts()
    with pytest.raises(ValueError, match="weights of the arms"):
        both("logistic")[0].restore(arrays | {name: change(arrays[name])}, {})


@pytest.mark.parametrize(
    "model",
    [
        OnlineClassifier("logistic", "full"),
        OnlineClassifier("logistic", forget=0.01),
        OnlineClassifier("logistic", average=True),
        OnlineClassifier("logistic", dtype="float32"),
        OnlineClassifier("logistic", view="unit"),
        OnlineClassifier("logistic", class_weight={0: 1.0, 1: 2.0}),
        OnlineClassifier("cellip"),
        OnlineRegressor("arow_eps", "diag"),  # whose tube is in units of the targets
    ],
)
def test_other_models_have_an_estimator_per_arm(model):
    rewards = RewardModel(model)
    assert not has_index(rewards, rewards.prior(3))


def test_an_untrained_index_of_no_features_scores_zero():
    model = RewardModel(OnlineClassifier("logistic", fit_intercept=False))
    index = SparseArms(model, model.prior(2), 3, 2)
    mean, variance = index.scores(np.zeros((1, 2)))
    assert (mean == 0).all() and (variance == 0).all()
    index.learn(np.array([1]), np.array([1.0]), np.zeros((1, 2)))  # a row without features teaches nothing
    assert len(index.parts()[0]["arm"]) == 0


def test_a_step_out_of_range_is_an_error_and_no_step():
    model = RewardModel(OnlineRegressor("ridge", "diag", prior_variance=1e9, fit_intercept=False))
    index = SparseArms(model, model.prior(2), 3, 2)
    row = np.array([[1e-6, 0.0]])
    with pytest.raises(ValueError, match="range"):
        index.learn(np.array([1]), np.array([1e307]), row)
    with pytest.raises(ValueError, match="range"):
        index.learn(np.array([0, 1]), np.array([1.0, 1e307]), np.vstack([row, row]))
    mean, variance = index.scores(row)
    assert (mean == 0).all()
    np.testing.assert_allclose(variance, 1e-3)
