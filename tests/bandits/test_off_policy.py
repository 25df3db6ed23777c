"""Off-policy estimators: unbiased by enumeration of all logs, their variance, coverage, laws and plain references."""

import itertools

import numpy as np
import pytest

from confidently.bandits import (
    DirectMethod,
    DoublyRobust,
    InverseProbabilityWeighting,
    ReplayMethod,
    SelfNormalizedInverseProbabilityWeighting,
)

IPS, SNIPS, DR = InverseProbabilityWeighting(), SelfNormalizedInverseProbabilityWeighting(), DoublyRobust()
ESTIMATORS = (IPS, SNIPS, DR, DirectMethod(), ReplayMethod())
# A world of two contexts (probabilities), three actions: P(reward = 1), the logging policy and the one to evaluate.
CONTEXT = np.array([0.3, 0.7])
REWARD = np.array([[0.9, 0.2, 0.5], [0.1, 0.6, 0.3]])
LOGGING = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
POLICY = np.array([[0.1, 0.1, 0.8], [0.0, 0.9, 0.1]])
MODEL = np.array([[0.5, 0.5, 0.1], [0.3, 0.2, 0.9]])  # a bad one
TRUTH = float((CONTEXT[:, None] * POLICY * REWARD).sum())


def rounds():
    """All single rounds with their probabilities: context, action, reward."""
    for x, a, r in itertools.product(range(2), range(3), range(2)):
        yield CONTEXT[x] * LOGGING[x, a] * (REWARD[x, a] if r else 1 - REWARD[x, a]), x, a, r


def arguments(x, a, r, model=MODEL, logging=LOGGING):
    x, a = np.atleast_1d(x), np.atleast_1d(a)
    return {
        "reward": np.atleast_1d(r), "action": a, "action_dist": POLICY[x], "pscore": logging[x, a],
        "estimated_rewards_by_reg_model": model[x],
    }  # fmt: skip


def expectation(estimator, n, **options):
    """The expectation and second moment of an estimate over all logs of n rounds."""
    first = second = 0.0
    for log in itertools.product(list(rounds()), repeat=n):
        p = np.prod([one[0] for one in log])
        value = estimator.estimate_policy_value(**arguments(*np.array([one[1:] for one in log]).T, **options))
        first, second = first + p * value, second + p * value**2
    return first, second


def sample(n, random):
    x = random.choice(2, size=n, p=CONTEXT)
    a = (random.random((n, 1)) > LOGGING[x].cumsum(axis=1)[:, :2]).sum(axis=1)
    return x, a, (random.random(n) < REWARD[x, a]).astype(float)


def test_estimates_are_unbiased_over_all_logs():
    for n in (1, 2):
        assert expectation(IPS, n)[0] == pytest.approx(TRUTH, rel=1e-12)
        assert expectation(DR, n)[0] == pytest.approx(TRUTH, rel=1e-12)
    wrong = np.full((2, 3), 1 / 3)  # propensities
    assert expectation(DR, 2, model=REWARD, logging=wrong)[0] == pytest.approx(TRUTH, rel=1e-12)
    assert expectation(DirectMethod(), 1, model=REWARD)[0] == pytest.approx(TRUTH, rel=1e-12)
    assert abs(expectation(IPS, 1, logging=wrong)[0] - TRUTH) > 0.01
    assert abs(expectation(DirectMethod(), 1)[0] - TRUTH) > 0.01


def test_variances_are_those_of_their_formulas():
    """Dudik, Erhan, Langford & Li, Statistical Science 29, 2014: the variance over contexts, rewards and actions."""
    w = POLICY / LOGGING
    for estimator, model in ((IPS, np.zeros((2, 3))), (DR, MODEL), (DR, REWARD)):
        noise = (CONTEXT[:, None] * LOGGING * w**2 * REWARD * (1 - REWARD)).sum()
        error = REWARD - model
        of_action = (LOGGING * (w * error) ** 2).sum(axis=1) - (LOGGING * w * error).sum(axis=1) ** 2
        of_context = (CONTEXT * ((POLICY * REWARD).sum(axis=1) - TRUTH) ** 2).sum()
        first, second = expectation(estimator, 2, model=model)
        assert second - first**2 == pytest.approx((noise + CONTEXT @ of_action + of_context) / 2, rel=1e-9)


def test_replay_is_unbiased_for_uniform_logging():
    """Given that a round counts, it is distributed as under the policy."""
    counted = weight = 0.0
    for x, a, r in itertools.product(range(2), range(3), range(2)):
        p = CONTEXT[x] / 3 * (REWARD[x, a] if r else 1 - REWARD[x, a])
        counted, weight = counted + p * POLICY[x, a] * r, weight + p * POLICY[x, a]
    assert counted / weight == pytest.approx(TRUTH)
    random = np.random.default_rng(0)
    x = random.choice(2, size=100_000, p=CONTEXT)
    a = random.integers(3, size=len(x))
    r = random.random(len(x)) < REWARD[x, a]
    found = ReplayMethod().estimate_interval(r, a, POLICY[x], alpha=1e-4)
    assert found.low < TRUTH < found.high


def test_laws():
    random = np.random.default_rng(3)
    x, a, r = sample(200, random)
    given = arguments(x, a, r)
    value = {type(one): one.estimate_policy_value(**given) for one in ESTIMATORS}
    zero, right = arguments(x, a, r, model=np.zeros((2, 3))), arguments(x, a, r, model=np.tile(r[:, None], 3))
    assert DR.estimate_policy_value(**zero) == pytest.approx(value[InverseProbabilityWeighting])
    right["estimated_rewards_by_reg_model"] = np.tile(r[:, None], 3)  # no error, so nothing to correct
    assert DR.estimate_policy_value(**right) == pytest.approx(DirectMethod().estimate_policy_value(**right))
    # SNIPS does not change with a factor on all weights, and follows a constant on all rewards.
    half = given | {"pscore": given["pscore"] / 2}
    assert SNIPS.estimate_policy_value(**half) == pytest.approx(value[type(SNIPS)])
    assert SNIPS.estimate_policy_value(**(given | {"reward": r + 7})) == pytest.approx(value[type(SNIPS)] + 7)
    assert IPS.estimate_policy_value(**half) == pytest.approx(2 * value[InverseProbabilityWeighting])
    # The logging policy's own value is the mean reward.
    own = given | {"action_dist": LOGGING[x]}
    assert IPS.estimate_policy_value(**own) == pytest.approx(r.mean())
    # Clipping at the largest weight changes nothing, at 0+ everything.
    w = POLICY[x, a] / LOGGING[x, a]
    clipped = InverseProbabilityWeighting(lambda_=float(w.max()))
    assert clipped.estimate_policy_value(**given) == value[InverseProbabilityWeighting]
    assert InverseProbabilityWeighting(lambda_=0.5).estimate_policy_value(**given) == pytest.approx(
        np.mean(np.minimum(w, 0.5) * r)
    )


def test_estimates_are_those_of_plain_numpy():
    x, a, r = sample(500, np.random.default_rng(5))
    w, q = POLICY[x, a] / LOGGING[x, a], MODEL[x]
    direct = (POLICY[x] * q).sum(axis=1)
    expected = [
        np.mean(w * r),
        np.sum(w * r) / np.sum(w),
        np.mean(direct + w * (r - q[np.arange(500), a])),
        np.mean(direct),
        np.sum(POLICY[x, a] * r) / np.sum(POLICY[x, a]),
    ]
    found = [estimator.estimate_policy_value(**arguments(x, a, r)) for estimator in ESTIMATORS]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.long  # it imports PyTorch
def test_estimates_are_those_of_the_open_bandit_pipeline():
    ope = pytest.importorskip("obp.ope", reason="needs the Open Bandit Pipeline", exc_type=ImportError)
    x, a, r = sample(300, np.random.default_rng(6))
    given = arguments(x, a, r)
    theirs = given | {
        "action_dist": POLICY[x][:, :, None],
        "estimated_rewards_by_reg_model": MODEL[x][:, :, None],
        "position": np.zeros(300, dtype=int),
    }
    for ours in (IPS, SNIPS, DR, DirectMethod()):
        peer = getattr(ope, type(ours).__name__)()
        expected = peer.estimate_policy_value(**theirs)
        assert ours.estimate_policy_value(**given) == pytest.approx(expected, rel=1e-9)
        assert ours.estimate_policy_value(**given | {"action_dist": POLICY[x][:, :, None]}) == pytest.approx(expected)


COVERED = [(one, method) for one in ESTIMATORS for method in ("normal", "bootstrap")]


@pytest.mark.parametrize(
    ("estimator", "method"), [*COVERED, (IPS, "bernstein"), (DR, "bernstein"), (DirectMethod(), "bernstein")]
)
def test_intervals_cover_the_value(estimator, method):
    random, covered, n_logs = np.random.default_rng(11), 0, 150
    uniform = estimator.name == "rm"
    for _ in range(n_logs):
        x, a, r = sample(300, random)
        if uniform:
            a = random.integers(3, size=300)
            r = (random.random(300) < REWARD[x, a]).astype(float)
        given = arguments(x, a, r, model=REWARD if estimator.name == "dm" else MODEL)
        found = estimator.estimate_interval(
            **given, alpha=0.1, method=method, n_bootstrap_samples=200, random_state=int(random.integers(1 << 30))
        )
        assert found.low <= found.value <= found.high
        covered += found.low <= TRUTH <= found.high
    # Of 150 logs an exact interval covers 122 or more with probability 1 - 2e-4; Bernstein's is wider.
    assert 122 <= covered <= (150 if method == "bernstein" else 149)


def test_the_bootstrap_is_reproducible_in_chunks(monkeypatch):
    x, a, r = sample(100, np.random.default_rng(8))
    options = {"method": "bootstrap", "n_bootstrap_samples": 500, "random_state": 3}
    whole = SNIPS.estimate_interval(**arguments(x, a, r), **options)
    monkeypatch.setattr("confidently.bandits.intervals.CHUNK", 100 * 500)
    assert SNIPS.estimate_interval(**arguments(x, a, r), **options) == whole


def test_one_round_has_the_widest_bernstein_interval():
    assert IPS.estimate_interval([1.0], [0], [[0.5, 0.5]], [0.25], method="bernstein") == (2.0, 0.0, 2.0)


SOUND = arguments([0, 1], [0, 1], [1.0, 0.0])


@pytest.mark.parametrize(
    ("estimator", "changes", "message"),
    [
        (IPS, {"reward": [1.0]}, "one shape"),
        (IPS, {"reward": [], "action": []}, "one shape"),
        (IPS, {"reward": [np.nan, 1.0]}, "reward must be finite"),
        (IPS, {"action": [0, 3]}, "integers from 0 to 2"),
        (IPS, {"action": [0.0, 1.0]}, "integers from 0 to 2"),
        (IPS, {"action_dist": POLICY[:1]}, "shape"),
        (IPS, {"action_dist": POLICY * 2}, "sum to 1"),
        (IPS, {"pscore": None}, "needs pscore"),
        (IPS, {"pscore": [0.0, 0.5]}, r"probabilities in \(0, 1\]"),
        (DR, {"estimated_rewards_by_reg_model": None}, "needs estimated_rewards_by_reg_model"),
        (DR, {"estimated_rewards_by_reg_model": MODEL[:, :2]}, "must be finite, of shape"),
        (SNIPS, {"action": [1, 0], "action_dist": [[1.0, 0.0], [0.0, 1.0]]}, "no round counts"),
    ],
)
def test_invalid_rounds_are_refused(estimator, changes, message):
    with pytest.raises(ValueError, match=message):
        estimator.estimate_policy_value(**(SOUND | changes))


def test_invalid_options_of_intervals_are_refused():
    with pytest.raises(ValueError, match="alpha must be in"):
        IPS.estimate_interval(**SOUND, alpha=1.0)
    with pytest.raises(ValueError, match="expected one of 'normal', 'bootstrap', 'bernstein'"):
        IPS.estimate_interval(**SOUND, method="t")
    with pytest.raises(ValueError, match="is a ratio"):
        SNIPS.estimate_interval(**SOUND, method="bernstein")
    with pytest.raises(ValueError, match=r"rewards in \[0, 1\]"):
        IPS.estimate_interval(**SOUND | {"reward": [2.0, 0.0]}, method="bernstein")
