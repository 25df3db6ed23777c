"""Bandits: LinUCB by its definition, delayed rewards, arms that come and go, shared models, and invalid calls."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently import OnlineClassifier, OnlineRegressor
from confidently.bandits import ContextualBandit, EpsilonGreedy, Greedy, LinTS, LinUCB, contexts_of, feedback
from confidently.bandits.shared_model import crossed
from confidently.rules.regression import Ridge

LOGISTIC = OnlineClassifier("logistic", prior_variance=3.0)
ARMS = ["a", "b", "c"]


def world(n, seed=0, d=4):
    """Contexts, and the reward that each of three arms would get."""
    random = np.random.default_rng(seed)
    X, weights = random.normal(size=(n, d)), random.normal(size=(d, 3))
    return X, (X @ weights + 0.3 * random.normal(size=(n, 3)) > 0).astype(float)


def play(bandit, X, rewards):
    """Decide row by row, with the reward right after; return the arms."""
    for i, x in enumerate(X):
        decision = bandit.decide(x, id=i)
        bandit.reward(i, rewards[i, ARMS.index(decision.arm)])
    return [one.arm for one in bandit.log]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_lin_ucb_is_that_of_its_paper(fit_intercept):
    """Algorithm 1 of Li et al. 2010, with the inverse of every arm's matrix computed from scratch."""
    X, rewards = world(120)
    bandit = ContextualBandit(
        ARMS, LinUCB(alpha=0.7), OnlineRegressor(Ridge(r=0.5), "full", fit_intercept=fit_intercept)
    )
    rows = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    A, b = np.tile(np.eye(rows.shape[1]), (3, 1, 1)), np.zeros((3, rows.shape[1]))
    for i, x in enumerate(rows):
        inverse = np.linalg.inv(A)
        mean = np.einsum("adk,ak,d->a", inverse, b, x)
        deviation = np.sqrt(np.einsum("d,adk,k->a", x, inverse, x))
        bound = mean + 0.7 * deviation
        decision = bandit.decide(X[i])
        np.testing.assert_allclose(bandit.predict_expectations(X[[i]])[0], mean, atol=1e-9)
        np.testing.assert_allclose(np.sqrt(bandit.score_distribution(X[[i]])[1][0]), deviation, rtol=1e-9)
        arm = ARMS.index(decision.arm)
        assert bound[arm] >= bound.max() - 1e-9
        bandit.reward(i, rewards[i, arm])
        A[arm] += np.outer(x, x) / 0.5
        b[arm] += rewards[i, arm] * x / 0.5


@pytest.mark.long("nine bandits of 600 rows")
@pytest.mark.parametrize("policy", [LinTS(), LinUCB(), EpsilonGreedy(0.1)])
@pytest.mark.parametrize("model", [None, LOGISTIC, OnlineClassifier("logistic", "full")], ids=["ridge", "diag", "full"])
def test_bandits_learn(policy, model):
    X, rewards = world(600)
    play(bandit := ContextualBandit(ARMS, policy, model, random_state=0), X, rewards)
    test_X, test_rewards = X[400:], rewards[400:]
    bandit.policy = Greedy()
    found = [test_rewards[i, ARMS.index(arm)] for i, arm in enumerate(bandit.predict(test_X))]
    assert np.mean(found) > 0.5 + 0.5 * test_rewards.mean()


def test_propensities_in_the_log_are_those_of_the_policy():
    X, rewards = world(60)
    bandit = ContextualBandit(ARMS, LinTS(), LOGISTIC, random_state=1)
    for i, x in enumerate(X):
        p = bandit.propensities(x[None])[0]
        assert p.sum() == pytest.approx(1.0)
        decision = bandit.decide(x)
        assert decision.id == i
        assert decision.propensity == p[ARMS.index(decision.arm)]
        if i % 3:
            bandit.reward(i, rewards[i, ARMS.index(decision.arm)])
    arrays = feedback(bandit.log, ARMS)
    assert {name: array.shape for name, array in arrays.items()} == dict.fromkeys(("reward", "action", "pscore"), (40,))
    np.testing.assert_array_equal(contexts_of(bandit.log).toarray(), X)


def test_delayed_rewards_are_learned_in_the_order_in_which_they_arrive():
    X, rewards = world(50)
    late, direct = (ContextualBandit(ARMS, LinTS(), LOGISTIC, random_state=2) for _ in range(2))
    for i, x in enumerate(X):
        late.decide(x, id=f"visit {i}")
    assert late.n_waiting == 50
    order = np.random.default_rng(0).permutation(50)
    for i in order:
        late.reward(f"visit {i}", rewards[i, ARMS.index(late.log[i].arm)])
    arms = [late.log[i].arm for i in order]
    direct.partial_fit(arms, [rewards[i, ARMS.index(arm)] for i, arm in zip(order, arms, strict=True)], X[order])
    assert late.n_waiting == 0
    np.testing.assert_allclose(late.predict_expectations(X), direct.predict_expectations(X), rtol=1e-12)


def test_decisions_are_reproducible():
    X, rewards = world(80)
    runs = [play(ContextualBandit(ARMS, LinTS(), LOGISTIC, random_state=seed), X, rewards) for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_fit_forgets_what_was_learned():
    X, rewards = world(40)
    arms = ["a", "b"] * 20
    bandit = ContextualBandit(ARMS).fit(arms, rewards[:, 0], X)
    expected = bandit.predict_expectations(X)
    bandit.partial_fit(arms, rewards[:, 1], X)
    assert not np.allclose(bandit.predict_expectations(X), expected)
    with pytest.raises(ValueError, match="unknown arm"):
        bandit.fit(["d"], [1], X[:1])
    np.testing.assert_allclose(bandit.fit(arms, rewards[:, 0], X).predict_expectations(X), expected)


@pytest.mark.parametrize("model", [None, LOGISTIC])
def test_sparse_and_dense_contexts_are_alike(model):
    X, rewards = world(40)
    X[np.abs(X) < 0.5] = 0.0
    arms = ARMS * 13 + ["a"]
    dense, sparse = (ContextualBandit(ARMS, model=model).fit(arms, rewards[:, 0], Z) for Z in (X, csr_array(X)))
    np.testing.assert_allclose(sparse.predict_expectations(csr_array(X)), dense.predict_expectations(X), rtol=1e-9)
    repeated = csr_array((np.ones(2), [1, 1], [0, 2]), shape=(1, 4))  # an entry in two parts
    np.testing.assert_allclose(
        sparse.predict_expectations(repeated), dense.predict_expectations([[0, 2, 0, 0]]), rtol=1e-9
    )


def test_without_contexts_a_bandit_estimates_mean_rewards():
    bandit = ContextualBandit(ARMS, model=OnlineRegressor(Ridge(r=1e-6), prior_variance=1.0))
    bandit.partial_fit(["a", "a", "b"], [1.0, 2.0, 5.0])
    np.testing.assert_allclose(bandit.predict_expectations(None), [[1.5, 5.0, 0.0]], atol=1e-4)
    assert bandit.decide().arm == "b"


def test_arms_come_and_go():
    X, rewards = world(60)
    for model in (None, LOGISTIC):
        bandit = ContextualBandit(ARMS, model=model).fit(ARMS * 20, rewards[:, 0], X)
        before = bandit.predict_expectations(X)
        bandit.add_arm("d")
        after = bandit.predict_expectations(X)
        np.testing.assert_allclose(after[:, :3], before, rtol=1e-12)
        assert np.ptp(after[:, 3]) == 0  # the prior: as good for every context
        bandit.remove_arm("a")
        assert bandit.arms == ["b", "c", "d"]
        np.testing.assert_allclose(bandit.predict_expectations(X), after[:, 1:], rtol=1e-12)
        bandit.add_arm("a")  # begins anew
        np.testing.assert_allclose(bandit.predict_expectations(X)[:, 3], after[:, 3], rtol=1e-12)


@pytest.mark.parametrize("model", [None, LOGISTIC], ids=["matrices", "index"])
@pytest.mark.parametrize("removed", ARMS)
def test_an_arm_knows_nothing_of_one_that_was_removed(model, removed):
    X, rewards = world(30)
    bandit = ContextualBandit(ARMS, model=model).fit(ARMS * 10, rewards[:, 0], X)
    bandit.remove_arm(removed)
    bandit.add_arm("new")
    fresh = ContextualBandit(["new"], model=model)
    for one in (bandit, fresh):
        one.partial_fit(["new"], [1.0], X[:1])
    np.testing.assert_allclose(bandit.predict_expectations(X)[:, 2], fresh.predict_expectations(X)[:, 0], rtol=1e-9)


def test_the_reward_of_a_removed_arm_is_logged_only():
    bandit = ContextualBandit(["a", "b"], Greedy(), random_state=0)
    arm = bandit.decide([1.0], id="x").arm
    bandit.remove_arm(arm)
    before = bandit.predict_expectations([[1.0]])
    bandit.reward("x", 1)
    assert bandit.log[0].reward == 1.0 and bandit.n_waiting == 0
    np.testing.assert_array_equal(bandit.predict_expectations([[1.0]]), before)


def test_the_expected_count_is_the_mean_over_the_gaussian():
    """Of exp(score): exp(m + v/2)."""
    X = world(50)[0]
    counts = np.random.default_rng(3).poisson(2.0, 50)
    bandit = ContextualBandit(ARMS, model=OnlineRegressor("poisson")).fit([ARMS[k % 3] for k in range(50)], counts, X)
    mean, variance = bandit.score_distribution(X[:1])
    draws = np.random.default_rng(4).normal(mean[0], np.sqrt(variance[0]), (200_000, 3))
    np.testing.assert_allclose(bandit.predict_expectations(X[:1])[0], np.exp(draws).mean(axis=0), rtol=0.02)
    assert (np.exp(0.5 * variance) > 1.02).any()


# --- one model of all arms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", ["", "x", "z", "xz"])
def test_crossed_rows_are_the_products(sparse):
    random = np.random.default_rng(0)
    X, Z = random.normal(size=(6, 3)) * random.integers(2, size=(6, 3)), random.normal(size=(6, 2))
    Z[2] = 0.0
    expected = [np.concatenate([x, z, np.kron(x, z)]) for x, z in zip(X, Z, strict=True)]
    found = crossed(csr_array(X) if "x" in sparse else X, csr_array(Z) if "z" in sparse else Z)
    np.testing.assert_allclose(found.toarray() if sparse else found, expected)


def test_a_shared_model_with_one_feature_per_arm_tells_arms_apart():
    """Its posterior is that of regression on the rows [x, z, x kron z]."""
    X, rewards = world(90)
    features = dict(zip(ARMS, np.eye(3), strict=True))
    bandit = ContextualBandit(ARMS, model=OnlineRegressor(Ridge(r=0.25)), arm_features=features)
    arms = np.random.default_rng(1).integers(3, size=90)
    bandit.partial_fit([ARMS[a] for a in arms], rewards[np.arange(90), arms], X)
    rows = np.column_stack([crossed(X, np.eye(3)[arms]), np.ones(90)])
    precision = np.eye(rows.shape[1]) + rows.T @ rows / 0.25
    weights = np.linalg.solve(precision, rows.T @ rewards[np.arange(90), arms] / 0.25)
    for k in range(3):
        of_arm = np.column_stack([crossed(X, np.tile(np.eye(3)[k], (90, 1))), np.ones(90)])
        np.testing.assert_allclose(bandit.predict_expectations(X)[:, k], of_arm @ weights, atol=1e-9)
        expected = np.einsum("ij,ij->i", of_arm, np.linalg.solve(precision, of_arm.T).T)
        np.testing.assert_allclose(bandit.score_distribution(X)[1][:, k], expected, rtol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("before", [False, True], ids=["known before contexts", "known later"])
def test_a_new_arm_of_a_shared_model_is_scored_by_its_features(sparse, before):
    X, rewards = world(60)
    as_row = csr_array if sparse else np.asarray
    features = {arm: as_row([[float(k), 1.0]]) for k, arm in enumerate(ARMS)}
    bandit = ContextualBandit(ARMS, model=LOGISTIC, arm_features=features)
    if before:
        bandit.add_arm("like b", as_row([[1.0, 1.0]]))
    bandit.fit(ARMS * 20, rewards[:, 0], X)
    if not before:
        bandit.add_arm("like b", as_row([[1.0, 1.0]]))
    found = bandit.predict_expectations(X)
    np.testing.assert_allclose(found[:, 3], found[:, 1])
    bandit.remove_arm("a")
    np.testing.assert_allclose(bandit.predict_expectations(X), found[:, 1:])
    assert bandit.decide(X[0]).arm in ("b", "c", "like b")


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arms", "error", "message"), [
    ([], ValueError, "at least one arm"), ("ab", ValueError, "expected a sequence"),
    (["a", "a"], ValueError, "'a' is there twice"), ([None], TypeError, "expected strings or finite numbers, got None"),
    ([float("nan")], TypeError, "expected strings or finite numbers"),
    ([True], TypeError, "expected strings or finite numbers"),
])  # fmt: skip
def test_invalid_arms_are_refused(arms, error, message):
    with pytest.raises(error, match=message):
        ContextualBandit(arms)


def test_arms_may_be_numbers_of_numpy():
    assert ContextualBandit(np.arange(2)).arms == [0, 1]


def test_other_models_are_refused():
    from sklearn.linear_model import Ridge as BatchRidge

    with pytest.raises(TypeError, match="expected an OnlineClassifier or an OnlineRegressor"):
        ContextualBandit(ARMS, model=BatchRidge())


@pytest.mark.parametrize(("features", "message"), [
    ({"a": [1.0], "b": [1.0]}, "nothing for 'c'"), ({arm: [1.0] for arm in [*ARMS, "d"]}, "arms that do not exist"),
    ({"a": [1.0], "b": [1.0], "c": [1.0, 2.0]}, "equally many features, got 1, 2"),
    ({arm: [np.inf] for arm in ARMS}, "row 0"), ({arm: [[1.0], [2.0]] for arm in ARMS}, "expected one row"),
])  # fmt: skip
def test_invalid_features_of_arms_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        ContextualBandit(ARMS, arm_features=features)


def test_invalid_calls_are_refused_and_change_nothing():
    X, rewards = world(30)
    bandit = ContextualBandit(ARMS, model=LOGISTIC).fit(ARMS * 10, rewards[:, 0], X)
    before = bandit.predict_expectations(X)
    bandit.decide(X[0], id="x")
    calls = [
        (lambda: bandit.decide(X[0], id="x"), ValueError, "'x' waits for its reward; use another id"),
        (lambda: bandit.decide(X[0], id=("x",)), TypeError, "id: expected a string or a number"),
        (lambda: bandit.decide(X[:2]), ValueError, "expected one row"),
        (lambda: bandit.decide(X[0, :2]), ValueError, "must have 4 columns as those before, got 2"),
        (lambda: bandit.decide([np.nan, 0, 0, 0]), ValueError, "row 0"),
        (lambda: bandit.reward("y", 1), ValueError, "no decision 'y' waits"),
        (lambda: bandit.reward("x", 0.5), ValueError, "rewards must be 0 or 1 for a classifier, got 0.5"),
        (lambda: bandit.partial_fit(["d"], [1], X[:1]), ValueError, "unknown arm 'd'; expected one of 'a', 'b', 'c'"),
        (lambda: bandit.partial_fit(["a"], [1, 0], X[:1]), ValueError, "rewards must be 1 numbers"),
        (lambda: bandit.partial_fit(["a"], [1], X[:2]), ValueError, "one row per decision, got 2 for 1"),
        (lambda: bandit.remove_arm("d"), ValueError, "unknown arm 'd'"),
        (lambda: bandit.add_arm("a"), ValueError, "'a' is there twice"),
        (lambda: bandit.add_arm("d", [1.0]), ValueError, "has features, but other arms have none"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    np.testing.assert_array_equal(bandit.predict_expectations(X), before)
    assert bandit.arms == ARMS and bandit.n_waiting == 1 and len(bandit.log) == 1
    bandit.partial_fit([], [], X[:0])
    np.testing.assert_array_equal(bandit.predict_expectations(X), before)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), 1e60])
def test_invalid_rewards_of_a_regressor_are_refused(reward):
    bandit = ContextualBandit(ARMS)
    bandit.decide([1.0], id=0)
    with pytest.raises(ValueError, match=r"rewards must be finite and at most 1e\+50 in size"):
        bandit.reward(0, reward)


def test_the_last_arm_stays():
    bandit = ContextualBandit(["a"])
    with pytest.raises(ValueError, match="'a' is the only arm"):
        bandit.remove_arm("a")


def test_features_of_a_new_arm_fit():
    bandit = ContextualBandit(ARMS, arm_features={arm: [1.0, 2.0] for arm in ARMS})
    with pytest.raises(ValueError, match="'d' has no features"):
        bandit.add_arm("d")
    with pytest.raises(ValueError, match="expected 2 features as of the other arms, got 1"):
        bandit.add_arm("d", [1.0])
    with pytest.raises(ValueError, match="row 0"):
        bandit.add_arm("d", [1.0, np.nan])
    assert bandit.arms == ARMS


def test_many_arms_are_shown_shortly():
    with pytest.raises(ValueError, match=r"9, \.\.\. \(100 arms\)"):
        ContextualBandit(range(100)).remove_arm("a")
