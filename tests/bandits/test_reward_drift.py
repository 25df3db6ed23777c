"""When a model of rewards begins again: rarely while predictions stay as good, and soon after they got worse."""

import numpy as np
import pytest

from confidently.bandits.reward_drift import MAX_KEPT, MIN_BEFORE, RewardDrift


def alarms(expected, reward):
    """The numbers of rewards at which it is time, with what is to be learned again."""
    drift, found = RewardDrift(), []
    for i, (m, r) in enumerate(zip(expected.tolist(), reward.tolist(), strict=True)):
        again = drift.add(m, r, i)
        if again is not None:
            found.append((i, again))
    return found


@pytest.mark.long("a million rewards")
@pytest.mark.parametrize("seed", range(4))
def test_predictions_that_stay_right_raise_no_alarm(seed):
    """Also where rewards become more frequent, so that squared errors grow."""
    random, n = np.random.default_rng(seed), 20_000
    m = np.linspace(0.02, 0.5, n) * random.uniform(0.5, 1.0, n)
    assert alarms(m, random.random(n) < m) == []
    number = random.uniform(0.2, 0.8, n)
    assert alarms(number, number + random.normal(0.0, 0.1, n)) == []


def test_predictions_that_become_better_raise_no_alarm():
    random, n = np.random.default_rng(0), 3000
    chance = random.choice([0.1, 0.9], n)
    m = chance * np.linspace(0.0, 1.0, n)  # too low at first, as those of a model that begins
    assert alarms(m, random.random(n) < chance) == []


@pytest.mark.parametrize(("before", "after", "rows"), [(0.8, 0.1, 30), (0.3, 0.03, 120), (0.6, 0.4, 400)])
def test_a_change_is_found_and_its_rewards_are_returned(before, after, rows):
    random, n = np.random.default_rng(1), 2000
    reward = random.random(n + rows) < np.where(np.arange(n + rows) < n, before, after)
    (at, again), *_ = alarms(np.full(n + rows, before), reward)
    assert n < at < n + rows
    assert again == list(range(again[0], at + 1)) and again[0] >= n - 5


def test_errors_of_numbers_that_grow_are_found():
    random, n = np.random.default_rng(2), 1500
    error = random.normal(size=2 * n) * np.where(np.arange(2 * n) < n, 0.05, 0.5)
    (at, _), *_ = alarms(np.full(2 * n, 0.5), 0.5 + error)
    assert n < at < n + 200


def test_the_memory_is_bounded_and_nothing_is_said_before_there_is_a_mean():
    drift = RewardDrift()
    for i in range(MAX_KEPT + 10):
        assert drift.add(0.5, i % 2, ({"x": float(i)}, "a", {}, 0.5, 1.0)) is None
    assert len(drift.latest) == MAX_KEPT
    assert alarms(np.ones(MIN_BEFORE), np.zeros(MIN_BEFORE)) == []
    other = RewardDrift()
    other.restore(drift.lines())
    assert vars(other) == vars(drift)
