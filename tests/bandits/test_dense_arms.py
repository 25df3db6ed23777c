"""Matrices of many arms give the scores of one estimator per arm."""

import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor
from confidently.bandits.arm_models import PerArm
from confidently.bandits.dense_arms import MAX_WEIGHTS, DenseArms, has_matrices
from confidently.bandits.reward_model import RewardModel
from confidently.rules.regression import Ridge
from tests.bandits.arms import N_ARMS, N_FEATURES, assert_same_scores, decisions

MODELS = {
    "logistic": OnlineClassifier("logistic", "full", prior_variance=3.0),
    "arow without intercept": OnlineClassifier("arow", "full", fit_intercept=False),
    "cw_stdev": OnlineClassifier("cw_stdev", "full", prior_variance=0.5),
    "shared": OnlineClassifier("arow", "shared"),
    "pa": OnlineClassifier("pa", "full"),
    "ridge": OnlineRegressor(Ridge(r=0.25), prior_variance=2.0),
    "ridge of unknown noise": OnlineRegressor(Ridge(r=None)),
    "ridge without intercept": OnlineRegressor(fit_intercept=False),
    "poisson": OnlineRegressor("poisson", prior_variance=0.1),
}


def both(name, n_arms=N_ARMS):
    model = RewardModel(MODELS[name])
    prior = model.prior(N_FEATURES)
    assert has_matrices(model, prior)
    return [kind(model, prior, n_arms, N_FEATURES) for kind in (DenseArms, PerArm)]


@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_one_estimator_per_arm(name, dense):
    matrices, per_arm = both(name)
    arms, rewards, X = decisions(400)
    _, _, test = decisions(30, seed=1)
    X, test = (X.toarray(), test.toarray()) if dense else (X, test)
    assert_same_scores(matrices, per_arm, test)
    for part in (slice(0, 3), slice(3, 250), slice(250, 400)):
        for models in (matrices, per_arm):
            models.learn(arms[part], rewards[part], X[part])
        for rows in (test, test[[0]]):  # more rows than arms, and fewer
            assert_same_scores(matrices, per_arm, rows)


def test_arms_come_and_go():
    matrices, per_arm = both("logistic")
    _, _, test = decisions(20, seed=1)
    n_arms = N_ARMS
    for seed, change in enumerate(["remove first", "add", "remove last", "add", "remove last", "remove first", "add"]):
        arms, rewards, X = decisions(8, seed, n_arms)  # some arms stay untried
        for models in (matrices, per_arm):
            models.learn(arms, rewards, X)
            if change == "add":
                models.add()
            else:
                models.remove(0 if change == "remove first" else n_arms - 1)
        n_arms += 1 if change == "add" else -1
        assert matrices.n_arms == per_arm.n_arms == n_arms
        assert_same_scores(matrices, per_arm, test)


def test_the_saved_parts_give_the_same_models_which_go_on():
    matrices, per_arm = both("ridge")
    arms, rewards, X = decisions(300)
    few = arms % 3 == 0
    for models in (matrices, per_arm):
        models.learn(arms[few], rewards[few], X[few])
    arrays, estimators = matrices.parts()
    assert not estimators
    assert set(arrays["tried"]) == set(arms[few])
    again, _ = both("ridge")
    again.restore(arrays, {})
    for models in (again, per_arm):
        models.learn(arms, rewards, X)
    assert_same_scores(again, per_arm, X)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tried", lambda a: a.astype(np.int32)),
        ("tried", lambda a: a[::-1].copy()),
        ("tried", lambda a: a + N_ARMS),
        ("tried", lambda a: a[:-1]),
        ("mean", lambda a: np.where(a != 0, np.nan, a)),
        ("mean", lambda a: a[:, :-1]),
        ("covariance", lambda a: a.astype(np.float32)),
    ],
)
def test_parts_of_a_damaged_file_are_refused(name, change):
    matrices, _ = both("logistic")
    matrices.learn(*decisions(50))
    arrays, _ = matrices.parts()
    with pytest.raises(ValueError, match=r"of the (tried )?arms"):
        both("logistic")[0].restore(arrays | {name: change(arrays[name])}, {})


@pytest.mark.parametrize(
    "model",
    [
        OnlineClassifier("logistic", "diag"),
        OnlineClassifier("logistic", "full", average=True),
        OnlineClassifier("logistic", "full", dtype="float32"),
        OnlineClassifier("logistic", "full", view="unit"),
        OnlineClassifier("logistic", "full", class_weight={0: 1.0, 1: 2.0}),
        OnlineClassifier("cellip", "full"),
        OnlineRegressor("quantile", "full"),  # whose parameters are in units of the targets
        OnlineRegressor("ridge", "kernel"),
    ],
)
def test_other_models_have_an_estimator_per_arm(model):
    rewards = RewardModel(model)
    assert not has_matrices(rewards, rewards.prior(3))


def test_long_rows_have_an_estimator_per_arm():
    model = RewardModel(OnlineRegressor(Ridge(r=0.25), "full"))
    assert not has_matrices(model, model.prior(MAX_WEIGHTS))


def test_a_step_out_of_range_is_an_error_and_no_step():
    model = RewardModel(OnlineRegressor("ridge", "full", prior_variance=1e9, fit_intercept=False))
    matrices = DenseArms(model, model.prior(2), 3, 2)
    row = np.array([[1e-6, 0.0]])
    matrices.learn(np.array([2]), np.array([1.0]), row)
    before = matrices.scores(row)
    with pytest.raises(ValueError, match="range"):
        matrices.learn(np.array([0, 2, 1]), np.array([1.0, 1.0, 1e307]), np.vstack([row, row, row]))
    for found, expected in zip(matrices.scores(row), before, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert matrices.parts()[0]["tried"].tolist() == [2]
