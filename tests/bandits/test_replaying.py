"""Replay: the value of bandits that learn, from logs of uniform and of other policies."""

import numpy as np
import pytest

from confidently.bandits import ContextualBandit, EpsilonGreedy, Greedy, replay

MEAN = np.array([0.2, 0.5, 0.9])


def logged(n, p, random):
    arms = random.choice(3, size=n, p=p)
    return arms, (random.random(n) < MEAN[arms]).astype(float)


@pytest.mark.long("6,000 rounds")
@pytest.mark.parametrize("p", [np.full(3, 1 / 3), np.array([0.6, 0.3, 0.1])], ids=["uniform", "other"])
def test_a_random_policy_has_the_mean_of_all_arms(p):
    random = np.random.default_rng(0)
    arms, rewards = logged(6000, p, random)
    pscore = None if p[0] == p[1] else p[arms]
    found = replay(ContextualBandit(range(3), EpsilonGreedy(1.0), random_state=1), arms.tolist(), rewards, None, pscore)
    low, high = found.interval(1e-4)[1:]
    assert low < MEAN.mean() < high
    assert len(found.rounds) == pytest.approx(6000 * p.min(), rel=0.15)  # each with probability min(p)
    np.testing.assert_array_equal(found.rewards, rewards[found.rounds])


@pytest.mark.long("hundreds of bandits")
def test_rounds_that_count_are_distributed_as_those_of_a_bandit_that_runs_by_itself():
    random, replayed, played = np.random.default_rng(2), [], []
    for seed in range(60):
        arms, rewards = logged(150, np.full(3, 1 / 3), random)
        found = replay(ContextualBandit(range(3), EpsilonGreedy(0.3), random_state=seed), arms.tolist(), rewards)
        replayed.append(found.rewards[:30].mean())
        bandit, total = ContextualBandit(range(3), EpsilonGreedy(0.3), random_state=100 + seed), 0.0
        for i in range(30):
            reward = float(random.random() < MEAN[bandit.decide(id=i).arm])
            bandit.reward(i, reward)
            total += reward / 30
        played.append(total)
    difference = np.mean(replayed) - np.mean(played)
    assert abs(difference) < 4 * np.sqrt((np.var(replayed) + np.var(played)) / 60)


def test_without_rounds_that_count_there_is_no_value():
    bandit = ContextualBandit(["a", "b"], Greedy()).fit(["b"] * 5, [1] * 5)
    found = replay(bandit, ["a"] * 10, [1] * 10)
    assert np.isnan(found.value) and len(found.rounds) == 0
    assert np.isnan(replay(bandit, [], []).value)


def test_invalid_logs_are_refused():
    bandit = ContextualBandit(["a", "b"])
    with pytest.raises(ValueError, match="pscore must be 2 probabilities"):
        replay(bandit, ["a", "b"], [1, 1], None, [0.5, 0.0])
    with pytest.raises(ValueError, match="rewards must be 2 numbers"):
        replay(bandit, ["a", "b"], [1])
