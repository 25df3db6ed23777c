"""Bandits that choose among some of their arms, and bandits without contexts."""

import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor
from confidently.bandits import (
    POLICIES,
    ContextualBandit,
    EpsilonGreedy,
    LinTS,
    SquareCB,
    read_log,
    write_log,
)
from tests.bandits.test_bandit import ARMS, LOGISTIC, world


def test_some_of_the_arms_are_as_a_bandit_of_these():
    X, rewards = world(60)
    arms = ARMS * 20
    whole, few = (ContextualBandit(some, SquareCB(), random_state=3) for some in (ARMS, ["a", "c"]))
    whole.partial_fit(arms, rewards[:, 0], X)
    kept = [k for k, arm in enumerate(arms) if arm != "b"]
    few.partial_fit([arms[k] for k in kept], rewards[kept, 0], X[kept])
    for i, x in enumerate(X):
        one, other = whole.decide(x, id=i, arms=["c", "a"]), few.decide(x, id=i)
        assert (one.arm, one.arms, other.arms) == (other.arm, ["a", "c"], None)
        assert one.propensity == pytest.approx(other.propensity, rel=1e-9)
    np.testing.assert_allclose(whole.propensities(X, [["a", "c"]] * 60)[:, [0, 2]], few.propensities(X), atol=1e-9)


def test_what_was_there_to_choose_from_is_in_logs_and_files(tmp_path):
    X, _ = world(4)
    bandit = ContextualBandit([*ARMS, 3], EpsilonGreedy(0.5), random_state=0)
    for i, some in enumerate((None, ["b"], [3, "a"], ["c"])):
        bandit.decide(X[i], arms=some)
    bandit.remove_arm("c")
    write_log(bandit.log, tmp_path / "log")
    assert [one.arms for one in read_log(tmp_path / "log")] == [None, ["b"], ["a", 3], ["c"]]
    bandit.save(tmp_path / "bandit")
    assert ContextualBandit.load(tmp_path / "bandit").log == bandit.log == read_log(tmp_path / "log")
    found = bandit.propensities(X[:3], [one.arms for one in bandit.log[:3]])
    assert (found > 0).tolist() == [[True] * 3, [False, True, False], [True, False, True]]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("model", [None, LOGISTIC, OnlineClassifier("logistic", "full")], ids=["ridge", "diag", "full"])
def test_a_bandit_without_contexts_finds_the_best_arm(model, policy, tmp_path):
    random, chances = np.random.default_rng(1), [0.1, 0.9, 0.2]
    bandit = ContextualBandit(ARMS, policy, model, random_state=0)
    for i in range(300):
        one = bandit.decide(arms=None if i % 2 else ["a", "b"])
        bandit.reward(one.id, float(random.random() < chances[ARMS.index(one.arm)]))
    bandit.save(tmp_path / "bandit")
    for each in (bandit, ContextualBandit.load(tmp_path / "bandit")):
        assert each.propensities(None)[0].argmax() == 1
        assert each.propensities(None, [["a", "c"]])[0, 1] == 0.0
        assert each.predict_expectations(None).shape == (1, 3)


def test_a_shared_model_needs_no_contexts():
    bandit = ContextualBandit(ARMS, arm_features={arm: [float(k)] for k, arm in enumerate(ARMS)})
    bandit.partial_fit(ARMS * 20, [0.0, 0.5, 1.0] * 20)
    assert bandit.decide().arm == "c"


def test_invalid_choices_of_arms_and_contexts_are_refused_and_change_nothing():
    X, rewards = world(30)
    bandit = ContextualBandit(ARMS, LinTS(), random_state=0).fit(ARMS * 10, rewards[:, 0], X)
    state = bandit._random.bit_generator.state
    calls = [
        (lambda: bandit.decide(X[0], arms=[]), ValueError, "at least one arm"),
        (lambda: bandit.decide(X[0], arms="ab"), ValueError, "expected a sequence"),
        (lambda: bandit.decide(X[0], arms=["a", "d"]), ValueError, "unknown arm 'd'; expected some of 'a', 'b', 'c'"),
        (lambda: bandit.decide(X[0], arms=["a", "a"]), ValueError, "'a' is there twice"),
        (lambda: bandit.decide(X[0], arms=[None]), TypeError, "expected strings or finite numbers"),
        (lambda: bandit.predict(X[:2], [["a"]]), ValueError, "expected 2 sequences of arms, one per context, got 1"),
        (lambda: bandit.propensities(X[:1], [["d"]]), ValueError, "unknown arm 'd'"),
        (lambda: bandit.decide(), ValueError, "contexts must have 4 columns as those before, got none"),
        (lambda: bandit.partial_fit(["a"], [1]), ValueError, "contexts must have 4 columns as those before, got none"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()
    assert bandit._random.bit_generator.state == state and not bandit.log
    for model in (OnlineRegressor(fit_intercept=False), OnlineClassifier("logistic", fit_intercept=False)):
        with pytest.raises(ValueError, match="without an intercept learns nothing without contexts"):
            ContextualBandit(ARMS, model=model).decide()
