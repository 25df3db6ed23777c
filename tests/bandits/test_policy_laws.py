"""Laws of every policy where it decides: in bandits and in models of decisions, which learn from what it chooses."""

import numpy as np
import pytest

from confidently.bandits import (
    POLICIES,
    Action,
    ContextualBandit,
    DecisionModel,
    InverseProbabilityWeighting,
    contexts_of,
    feedback,
    make_policy,
)

ARMS = ["a", "b", "c", "d"]
FEW, LEAST = ["d", "b"], 0.02
EVERY_POLICY = pytest.mark.parametrize("name", POLICIES)


def world(n, seed=0):
    """Contexts, and the reward that each arm would get, 0 or 1."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)).round(3)
    return X, (random.random((n, 4)) < 1.0 / (1.0 + np.exp(-X @ random.normal(size=(3, 4)) + 1.0))).astype(float)


def offered(i):
    """The arms of a decision: all, or some."""
    return None if i % 3 else FEW if i % 2 else ["c", "a", "d"]


def played(bandit, X, rewards, rows=None):
    """Decide row by row, among some of the arms, with the reward right after; return arms and propensities."""
    found = []
    for i in range(len(X)) if rows is None else rows:
        one = bandit.decide(X[i], id=i, arms=offered(i))
        bandit.reward(i, rewards[i, ARMS.index(one.arm)])
        found.append((one.arm, one.propensity))
    return found


def trained(name, arms=ARMS, n=60):
    X, rewards = world(n)
    bandit, random = ContextualBandit(arms, name, random_state=0), np.random.default_rng(1)
    chosen = random.integers(3, size=n)  # nothing is learned of the last one
    return bandit.partial_fit([ARMS[k] for k in chosen], rewards[np.arange(n), chosen], X)


def model_of(name, n=60, **options):
    model, (X, rewards) = DecisionModel(name, seed=3, **options), world(n)
    for i, x in enumerate(X):
        model.learn({"x": x.tolist()}, ARMS[i % 3], rewards[i, i % 3])
    return model


@EVERY_POLICY
def test_logged_propensities_are_those_of_the_policy_among_the_arms_that_were_there(name):
    X, rewards = world(40)
    bandit, again = (ContextualBandit(ARMS, name, random_state=5) for _ in range(2))
    for i, x in enumerate(X):
        p = bandit.propensities(x[None], [offered(i)])[0]
        assert p.sum() == pytest.approx(1.0)
        assert all(share == 0.0 for arm, share in zip(ARMS, p, strict=True) if arm not in (offered(i) or ARMS))
        mean, variance = (part[0] for part in bandit.score_distribution(x[None]))
        some = sorted(ARMS.index(arm) for arm in offered(i) or ARMS)
        np.testing.assert_allclose(p[some], make_policy(name).propensities(mean[some], variance[some]), rtol=1e-12)
        one = bandit.decide(x, id=i, arms=offered(i))
        assert one.propensity == p[ARMS.index(one.arm)] > 0.0
        assert one.arms == (None if offered(i) is None else [ARMS[k] for k in some])
        bandit.reward(i, rewards[i, ARMS.index(one.arm)])
    assert played(again, X, rewards) == [(one.arm, one.propensity) for one in bandit.log]


@EVERY_POLICY
def test_several_contexts_are_chosen_for_as_one_after_the_other(name):
    together, alone, (X, _) = trained(name), trained(name), world(30, seed=2)
    for arms in (None, [offered(i) for i in range(30)]):
        each = [alone.predict(X[[i]], None if arms is None else arms[i : i + 1])[0] for i in range(30)]
        assert together.predict(X, arms) == each
        p = together.propensities(X, arms)
        some = [alone.propensities(X[[i]], None if arms is None else arms[i : i + 1])[0] for i in range(30)]
        np.testing.assert_allclose(p, some, atol=1e-12)


@EVERY_POLICY
def test_the_order_of_arms_does_not_matter(name):
    X, order = world(30, seed=2)[0], [2, 0, 3, 1]
    first, second = trained(name), trained(name, [ARMS[k] for k in order])
    np.testing.assert_allclose(second.propensities(X), first.propensities(X)[:, order], atol=1e-9)
    model = model_of(name)
    found = model.probabilities({"x": X[0].tolist()}, ARMS)
    np.testing.assert_allclose(
        model.probabilities({"x": X[0].tolist()}, [ARMS[k] for k in order]), found[order], atol=1e-9
    )


@EVERY_POLICY
def test_arms_that_are_alike_share_fairly(name):
    """Where nothing is known, all are alike; drawn ones are about as frequent."""
    for bandit in (ContextualBandit(ARMS, name, random_state=1), ContextualBandit(ARMS, name, random_state=2)):
        np.testing.assert_allclose(bandit.propensities([[0.3, 1.0, 0.0]]), [[0.25] * 4], rtol=1e-9)
        counts = np.bincount([ARMS.index(arm) for arm in bandit.predict(np.tile([0.3, 1.0, 0.0], (2000, 1)))])
        assert (np.abs(counts - 500) < 5 * np.sqrt(2000 * 0.25 * 0.75)).all()
    np.testing.assert_allclose(DecisionModel(name).probabilities({"x": 1.0}, ARMS), [0.25] * 4, rtol=1e-9)


@EVERY_POLICY
def test_a_loaded_bandit_and_model_go_on_with_the_same_decisions(name, tmp_path):
    X, rewards = world(60)
    whole, part = (ContextualBandit(ARMS, name, random_state=5) for _ in range(2))
    expected = played(whole, X, rewards)
    assert played(part, X, rewards, range(30)) == expected[:30]
    part.save(tmp_path / "bandit")
    part = ContextualBandit.load(tmp_path / "bandit")
    assert part.log == whole.log[:30] and part.policy == make_policy(name)
    assert played(part, X, rewards, range(30, 60)) == expected[30:]

    model = model_of(name)
    model.save(tmp_path / "model")
    again = DecisionModel.load(tmp_path / "model")
    for i, x in enumerate(X):
        one, other = (each.decide({"x": x.tolist()}, ARMS, str(i)) for each in (model, again))
        assert (one.chosen, one.probability) == (other.chosen, other.probability)
        for each in (model, again):
            each.learn({"x": x.tolist()}, ARMS[one.chosen], rewards[i, one.chosen])


@pytest.mark.few(1)
@EVERY_POLICY
def test_weights_by_logged_propensities_are_right(name):
    """Rewards over propensities, of a policy that learns: their mean for an arm is that of the arm."""
    X, rewards = world(400, seed=4)
    bandit = ContextualBandit(ARMS, name, random_state=6)
    played(bandit, X, rewards)
    arrays = feedback(bandit.log, ARMS)
    p = ContextualBandit(ARMS, name, random_state=6)
    shares = np.zeros((400, 4))
    for i, x in enumerate(X):  # once more, with the probabilities of all arms
        shares[i] = p.propensities(x[None], [offered(i)])[0]
        arm = p.decide(x, id=i, arms=offered(i)).arm
        p.reward(i, rewards[i, ARMS.index(arm)])
    np.testing.assert_array_equal(arrays["pscore"], shares[np.arange(400), arrays["action"]])
    for k in range(4):
        often = shares[:, k] >= LEAST
        weight = (arrays["action"] == k)[often] / shares[often, k]
        spread = np.sqrt(((1.0 - shares[often, k]) / shares[often, k]).sum())
        assert abs((weight - 1.0).sum()) <= 4.0 * spread + 1e-9
        off = ((weight - 1.0) * rewards[often, k]).sum()
        assert abs(off) <= 4.0 * spread + 1e-9
    value = InverseProbabilityWeighting().estimate_policy_value(action_dist=shares, **arrays)
    assert value == pytest.approx(arrays["reward"].mean())  # of the policy itself, all weights are 1
    assert contexts_of(bandit.log).shape == (400, 3)


@EVERY_POLICY
def test_an_excluded_action_is_as_one_that_is_not_there(name):
    model, context = model_of(name), {"x": [0.5, -0.2, 1.0]}
    actions = [Action(id, excluded=id not in FEW) for id in ARMS]
    found, alone = model.probabilities(context, actions), model.probabilities(context, ["b", "d"])
    np.testing.assert_array_equal(found, [0.0, alone[0], 0.0, alone[1]])
