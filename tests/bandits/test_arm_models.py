"""Models that keep all arms together give the scores of one estimator per arm."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse import random as random_sparse

from confidently import OnlineClassifier, OnlineRegressor
from confidently.bandits.arm_kinds import KINDS, models_of_arms
from confidently.bandits.arm_models import PerArm
from confidently.bandits.dense_arms import DenseArms
from confidently.bandits.reward_model import RewardModel
from confidently.bandits.sparse_arms import SparseArms
from confidently.rules.regression import Ridge

N_ARMS, N_FEATURES = 7, 40
MODELS = {
    "logistic, index": (SparseArms, OnlineClassifier("logistic", prior_variance=3.0)),
    "arow without intercept, index": (SparseArms, OnlineClassifier("arow", fit_intercept=False)),
    "cw_stdev, index": (SparseArms, OnlineClassifier("cw_stdev", prior_variance=0.5)),
    "probit, index": (SparseArms, OnlineClassifier("probit")),
    "ridge of precisions, index": (SparseArms, OnlineRegressor(Ridge(r=0.25), "diag", projection="precision")),
    "ridge of moments, index": (SparseArms, OnlineRegressor(Ridge(r=0.25), "diag", projection="moments")),
    "ridge, index": (SparseArms, OnlineRegressor(Ridge(r=0.25), "diag", prior_variance=2.0)),
    "ridge without intercept, index": (SparseArms, OnlineRegressor("ridge", "diag", fit_intercept=False)),
    "logistic, matrices": (DenseArms, OnlineClassifier("logistic", "full", prior_variance=3.0)),
    "arow without intercept, matrices": (DenseArms, OnlineClassifier("arow", "full", fit_intercept=False)),
    "cw_stdev, matrices": (DenseArms, OnlineClassifier("cw_stdev", "full", prior_variance=0.5)),
    "shared, matrices": (DenseArms, OnlineClassifier("arow", "shared")),
    "pa, matrices": (DenseArms, OnlineClassifier("pa", "full")),
    "ridge, matrices": (DenseArms, OnlineRegressor(Ridge(r=0.25), prior_variance=2.0)),
    "ridge of unknown noise, matrices": (DenseArms, OnlineRegressor(Ridge(r=None))),
    "ridge without intercept, matrices": (DenseArms, OnlineRegressor(fit_intercept=False)),
    "poisson, matrices": (DenseArms, OnlineRegressor("poisson", prior_variance=0.1)),
}


def made(name, n_arms=N_ARMS):
    """The models of a name, and one estimator per arm."""
    kind, template = MODELS[name]
    model = RewardModel(template)
    prior = model.prior(N_FEATURES)
    assert [one for one in KINDS if one.fits(model, prior)] == [kind, PerArm]
    return [each(model, prior, n_arms, N_FEATURES) for each in (kind, PerArm)]


def decisions(n, seed=0, n_arms=N_ARMS):
    random = np.random.default_rng(seed)
    X = csr_array(
        random_sparse(n, N_FEATURES, 0.15, format="csr", random_state=random, data_rvs=random.standard_normal)
    )
    return random.integers(n_arms, size=n), random.integers(2, size=n).astype(float), X


def assert_same_scores(models, per_arm, X):
    for found, expected in zip(models.scores(X), per_arm.scores(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.long("400 decisions of an estimator per arm")
@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_one_estimator_per_arm(name, dense):
    together, per_arm = made(name)
    arms, rewards, X = decisions(400)
    _, _, test = decisions(30, seed=1)
    X, test = (X.toarray(), test.toarray()) if dense else (X, test)
    assert_same_scores(together, per_arm, test)
    for part in (slice(0, 3), slice(3, 250), slice(250, 400)):
        for models in (together, per_arm):
            models.learn(arms[part], rewards[part], X[part])
        for rows in (test, test[[0]]):  # more rows than arms, and fewer
            assert_same_scores(together, per_arm, rows)


@pytest.mark.parametrize("name", ["logistic, index", "logistic, matrices"])
def test_arms_come_and_go(name):
    together, per_arm = made(name)
    _, _, test = decisions(20, seed=1)
    n_arms = N_ARMS
    for seed, change in enumerate(["remove first", "add", "remove last", "add", "remove last", "remove first", "add"]):
        arms, rewards, X = decisions(8 * 10 ** (seed % 2), seed, n_arms)  # some arms stay untried
        for models in (together, per_arm):
            models.learn(arms, rewards, X)
            if change == "add":
                models.add()
            else:
                models.remove(0 if change == "remove first" else n_arms - 1)
        n_arms += 1 if change == "add" else -1
        assert together.n_arms == per_arm.n_arms == n_arms
        assert_same_scores(together, per_arm, test)


@pytest.mark.parametrize("name", ["ridge, index", "ridge, matrices"])
def test_the_saved_parts_give_the_same_models_which_go_on(name):
    together, per_arm = made(name)
    arms, rewards, X = decisions(300)
    few = arms % 3 == 0
    for models in (together, per_arm):
        models.learn(arms[few], rewards[few], X[few])
    arrays, estimators = together.parts()
    assert not estimators
    again, _ = made(name)
    again.restore(arrays, {})
    assert_same_scores(again, per_arm, X)
    for models in (together, again, per_arm):
        models.learn(arms, rewards, X)
    for models in (together, again):
        assert_same_scores(models, per_arm, X)


def test_only_what_was_learned_is_saved():
    arms, rewards, X = decisions(300)
    few = arms % 3 == 0
    index, _ = made("ridge, index")
    index.learn(arms[few], rewards[few], X[few])
    met = {(arm, j) for arm, row in zip(arms[few], X[few].toarray(), strict=True) for j in np.flatnonzero(row)}
    assert len(index.parts()[0]["arm"]) == len(met) + len(set(arms[few]))  # and an intercept each
    matrices, _ = made("ridge, matrices")
    matrices.learn(arms[few], rewards[few], X[few])
    assert matrices.parts()[0]["tried"].tolist() == sorted(set(arms[few]))


@pytest.mark.parametrize(
    ("model", "name", "change"),
    [
        ("logistic, index", "feature", lambda a: a.astype(np.int64)),
        ("logistic, index", "feature", lambda a: a[::-1].copy()),
        ("logistic, index", "feature", lambda a: a + 1000),
        ("logistic, index", "arm", lambda a: a + N_ARMS),
        ("logistic, index", "arm", lambda a: a[:-1]),
        ("logistic, index", "weights", lambda a: np.where(a > 0, np.nan, a)),
        ("logistic, index", "weights", lambda a: -np.abs(a)),
        ("logistic, matrices", "tried", lambda a: a.astype(np.int32)),
        ("logistic, matrices", "tried", lambda a: a[::-1].copy()),
        ("logistic, matrices", "tried", lambda a: a + N_ARMS),
        ("logistic, matrices", "tried", lambda a: a[:-1]),
        ("logistic, matrices", "mean", lambda a: np.where(a != 0, np.nan, a)),
        ("logistic, matrices", "mean", lambda a: a[:, :-1]),
        ("logistic, matrices", "covariance", lambda a: a.astype(np.float32)),
        ("logistic, matrices", "covariance", lambda a: -a),
        ("logistic, matrices", "covariance", lambda a: np.triu(a)),
        ("logistic, index", "arm", lambda a: np.zeros_like(a)),
    ],
)
def test_parts_of_a_damaged_file_are_refused(model, name, change):
    together, _ = made(model)
    together.learn(*decisions(50))
    arrays, _ = together.parts()
    with pytest.raises(ValueError, match=r"of the (tried )?arms|is (int|float)|not finite"):
        made(model)[0].restore(arrays | {name: change(arrays[name])}, {})


@pytest.mark.parametrize("template", [
    OnlineClassifier("logistic", forget=0.01), OnlineClassifier("logistic", average=True),
    OnlineClassifier("logistic", "full", average=True), OnlineClassifier("logistic", "full", dtype="float32"),
    OnlineClassifier("logistic", dtype="float32"), OnlineClassifier("logistic", view="unit"),
    OnlineClassifier("logistic", "full", view="unit"), OnlineClassifier("logistic", class_weight={0: 1.0, 1: 2.0}),
    OnlineClassifier("cellip"), OnlineClassifier("cellip", "full"),
    OnlineRegressor("arow_eps", "diag"),  # whose tube is in units of the targets
    OnlineRegressor("quantile", "full"), OnlineRegressor("ridge", "kernel"),
])  # fmt: skip
def test_other_models_have_an_estimator_per_arm(template):
    model = RewardModel(template)
    assert type(models_of_arms(model, 3, N_ARMS)) is PerArm


@pytest.mark.parametrize(("kind", "covariance"), [(SparseArms, "diag"), (DenseArms, "full")])
def test_a_step_out_of_range_is_an_error_and_no_step(kind, covariance):
    model = RewardModel(OnlineRegressor("ridge", covariance, prior_variance=1e9, fit_intercept=False))
    together = kind(model, model.prior(2), 3, 2)
    row = np.array([[1e-6, 0.0]])
    together.learn(np.array([2]), np.array([1.0]), row)
    before = together.scores(row)
    with pytest.raises(ValueError, match="range"):
        together.learn(np.array([1]), np.array([1e307]), row)
    for found, expected in zip(together.scores(row), before, strict=True):
        np.testing.assert_array_equal(found, expected)
