"""Off-policy estimators: unbiased by enumeration of all logs, their variance, coverage, laws and plain references."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

from confidently.bandits import (
    DirectMethod,
    DoublyRobust,
    InverseProbabilityWeighting,
    OverlapWarning,
    ReplayMethod,
    SelfNormalizedInverseProbabilityWeighting,
)
from confidently.bandits.intervals import normal_interval

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


def unclipped(estimator, reward, action, action_dist, pscore, estimated_rewards_by_reg_model):
    """The estimate before it is clipped to the range of the rewards."""
    rounds = estimator._rounds(reward, action, action_dist, pscore, estimated_rewards_by_reg_model)
    return estimator._value(estimator._terms(rounds))


def expectation(estimator, n, **options):
    """The expectation and second moment of an estimate over all logs of n rounds."""
    first = second = 0.0
    for log in itertools.product(list(rounds()), repeat=n):
        p = np.prod([one[0] for one in log])
        value = unclipped(estimator, **arguments(*np.array([one[1:] for one in log]).T, **options))
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


def test_rounds_that_stand_for_several_count_as_often():
    random = np.random.default_rng(4)
    x, a, r = sample(300, random)
    counts = random.integers(1, 5, size=300)
    given, repeated = arguments(x, a, r), arguments(*(np.repeat(array, counts) for array in (x, a, r)))
    for one in ESTIMATORS:
        value = one.estimate_policy_value(**given, sample_weight=counts)
        assert value == pytest.approx(one.estimate_policy_value(**repeated))
        narrow = one.estimate_interval(**repeated)
        wide = one.estimate_interval(**given, sample_weight=counts)
        assert wide.high - wide.low > narrow.high - narrow.low  # of fewer independent rounds
        assert one.estimate_interval(**given, sample_weight=[2.0] * 300) == one.estimate_interval(**given)
    with pytest.raises(ValueError, match="sample_weight must be 300 finite numbers > 0"):
        IPS.estimate_policy_value(**given, sample_weight=np.zeros(300))


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
    assert unclipped(IPS, **half) == pytest.approx(2 * value[InverseProbabilityWeighting])
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


@pytest.mark.filterwarnings("ignore::confidently.bandits.OverlapWarning")
@pytest.mark.parametrize("n", [1, 3, 20])
def test_estimates_and_limits_are_within_the_range_of_the_rewards(n):
    """Weights of up to 20, a model whose errors are weighted, and all methods; other rewards have no known range."""
    random, far = np.random.default_rng(n), 0
    for _ in range(20):
        x, a, r = sample(n, random)
        given = arguments(x, a, r) | {"pscore": random.uniform(0.05, 0.2, n)}
        for estimator in (IPS, DR, DirectMethod()):
            assert 0.0 <= estimator.estimate_policy_value(**given) <= 1.0
            for method in ("normal", "bootstrap", "betting", "bernstein"):
                found = estimator.estimate_interval(**given, method=method, min_pscore=0.05, n_bootstrap_samples=20)
                assert 0.0 <= found.low <= found.high <= 1.0 and 0.0 <= found.value <= 1.0
        far += unclipped(IPS, **given) > 1.0
        doubled = given | {"reward": 2.0 * r, "estimated_rewards_by_reg_model": 2.0 * MODEL[x]}
        if r.any():
            assert DR.estimate_policy_value(**doubled) == pytest.approx(2.0 * unclipped(DR, **given))
    assert far


def test_estimates_are_those_of_plain_numpy():
    x, a, r = sample(500, np.random.default_rng(5))
    w, q = POLICY[x, a] / LOGGING[x, a], MODEL[x]
    direct = (POLICY[x] * q).sum(axis=1)
    expected = [
        np.mean(w * r), np.sum(w * r) / np.sum(w), np.mean(direct + w * (r - q[np.arange(500), a])), np.mean(direct),
        np.sum(POLICY[x, a] * r) / np.sum(POLICY[x, a]),
    ]  # fmt: skip
    found = [estimator.estimate_policy_value(**arguments(x, a, r)) for estimator in ESTIMATORS]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.long("imports PyTorch")
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


COVERED = [(one, method) for one in ESTIMATORS for method in ("normal", "bootstrap", "betting")]
LEAST = float(LOGGING.min())


@pytest.mark.long("150 logs of each estimator")
@pytest.mark.few(1)
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
            **given, alpha=0.1, method=method, n_bootstrap_samples=200, random_state=int(random.integers(1 << 30)),
            min_pscore=LEAST,
        )  # fmt: skip
        # the bounds by bets follow both mean(w r) and 1 - mean(w (1 - r)), the estimate only the first
        assert found.low <= found.high and (method == "betting" or found.low <= found.value <= found.high)
        covered += found.low <= TRUTH <= found.high
    # Of 150 logs an exact interval covers 122 or more with probability 1 - 2e-4; those that hold for every n are wider.
    assert 122 <= covered <= (150 if method in ("bernstein", "betting") else 149)


def rare_log(propensity, n, random):
    """Rounds with an action that is rare in one of two contexts, and the policy that always chooses it, of value .6."""
    p = np.where(random.random(n) < 0.5, 0.5, propensity)
    action = (random.random(n) < p).astype(int)
    reward = (random.random(n) < np.where(action, np.where(p == 0.5, 0.3, 0.9), 0.5)).astype(float)
    given = {"reward": reward, "action": action, "action_dist": np.tile([0.0, 1.0], (n, 1))}
    return given | {"pscore": np.where(action, p, 1.0 - p)}


def coverage(estimator, propensity, n, logs, **options):
    random, covered, width = np.random.default_rng(3), 0, 0.0
    for _ in range(logs):
        given = rare_log(propensity, n, random)
        if estimator.needs_predictions:
            given["estimated_rewards_by_reg_model"] = np.full((n, 2), 0.4)
        found = estimator.estimate_interval(**given, **options)
        covered += found.low <= 0.6 <= found.high
        width += (found.high - found.low) / logs
    return covered / logs, width


BOUNDED = [
    (IPS, {"method": "betting"}), (SNIPS, {"method": "betting"}),
    (InverseProbabilityWeighting(lambda_=20.0), {"method": "betting"}),
    (IPS, {"method": "bernstein", "min_pscore": True}), (DR, {"method": "bernstein", "min_pscore": True}),
    (DR, {"method": "betting", "min_pscore": True}),
]  # fmt: skip


@pytest.mark.long("500 logs")
@pytest.mark.few(1)
@pytest.mark.parametrize("propensity", [0.05, 0.001])
@pytest.mark.parametrize(("estimator", "options"), BOUNDED, ids=str)
def test_bounds_hold_where_propensities_come_near_0(estimator, options, propensity):
    options = options | ({"min_pscore": propensity} if "min_pscore" in options else {})
    # 95 % or more are promised: of 100 logs, less than 89 are covered with a probability below 1 %
    assert coverage(estimator, propensity, 300, 100, **options)[0] >= 0.89


@pytest.mark.long("thousands of logs")
@pytest.mark.parametrize("alpha", [0.05, 0.3])
@pytest.mark.parametrize("n", [2, 30, 1000, 10_000])
@pytest.mark.parametrize("propensity", [0.3, 0.03, 0.002, 1e-4])
@pytest.mark.parametrize(("estimator", "options"), BOUNDED, ids=str)
def test_bounds_hold_for_every_number_of_rounds(estimator, options, propensity, n, alpha):
    if estimator is SNIPS and n == 2:
        pytest.skip("a log in which the policy never agrees has no such estimate, which is an error")
    options = options | ({"min_pscore": propensity} if "min_pscore" in options else {})
    logs = 1000
    least = 1.0 - alpha - 4.0 * np.sqrt(alpha * (1.0 - alpha) / logs)
    assert coverage(estimator, propensity, n, logs, alpha=alpha, **options)[0] >= least


@pytest.mark.filterwarnings("ignore::confidently.bandits.OverlapWarning")
def test_other_intervals_promise_too_much_there():
    for estimator in (IPS, SNIPS):
        assert coverage(estimator, 0.001, 300, 100)[0] < 0.6


def test_little_overlap_is_reported_and_warned_of():
    given = rare_log(0.001, 1000, np.random.default_rng(5))
    w = given["action"] / given["pscore"]
    assert w.max() == pytest.approx(1000.0)  # one such round says nearly as much as all others
    found = IPS.overlap(**given)
    assert found == pytest.approx((1000, w.sum() ** 2 / (w**2).sum(), 1000.0, w.mean()))
    assert SNIPS.overlap(**given) == found
    assert InverseProbabilityWeighting(lambda_=5.0).overlap(**given).largest_weight == 5.0
    for method in ("normal", "bootstrap"):
        with pytest.warns(OverlapWarning, match=r"1,000 rounds say as much .* as [0-9.]+ of equal weight.*betting"):
            IPS.estimate_interval(**given, method=method)
    IPS.estimate_interval(**given, method="betting")  # no warning: its bounds hold
    without = {name: array[w < 1000.0] for name, array in given.items()}
    assert IPS.overlap(**without).effective_rounds > 200  # what is missing does not show there
    with pytest.warns(OverlapWarning, match=r"the mean weight is 0\.\d+, expected 1"):
        SNIPS.estimate_interval(**without)
    direct = given | {"estimated_rewards_by_reg_model": np.full((1000, 2), 0.5)}
    assert DirectMethod().overlap(**direct) == (1000, 1000.0, 1.0, 1.0)
    assert ReplayMethod().overlap(**given).effective_rounds == given["action"].sum()
    never = given | {"action_dist": np.tile([1.0, 0.0], (1000, 1)), "action": np.ones(1000, dtype=int)}
    assert IPS.overlap(**never) == (1000, 0.0, 0.0, 0.0)
    few, many = (rare_log(0.4, n, np.random.default_rng(1)) for n in (100, 300))
    assert IPS.overlap(**few).effective_rounds < 50 < IPS.overlap(**many).effective_rounds
    with pytest.warns(OverlapWarning):
        IPS.estimate_interval(**few)
    IPS.estimate_interval(**many)


def test_bets_are_those_of_their_formula():
    random = np.random.default_rng(5)
    given = rare_log(0.05, 200, random)
    w, alpha = given["action"] / given["pscore"], 0.1
    found = IPS.estimate_interval(**given, alpha=alpha, method="betting")

    def bound(terms):
        fractions = 0.99 / 2.0 ** np.arange(9)  # to about 1/200

        def log_fortune(m):
            fortunes = [np.prod(1 - f + f * terms / m) / ((k + 1) * (k + 2)) for k, f in enumerate(fractions)]
            return np.log(np.sum(fortunes)) - np.log(2 / alpha)

        return brentq(log_fortune, 1e-2, 1.0, xtol=1e-14)

    assert found.low == pytest.approx(bound(w * given["reward"]), rel=1e-9)
    assert found.high == pytest.approx(1.0 - bound(w * (1.0 - given["reward"])), rel=1e-9)
    shuffled = random.permutation(200)  # the order of the rounds does not matter
    other = IPS.estimate_interval(**{name: a[shuffled] for name, a in given.items()}, alpha=alpha, method="betting")
    assert other == pytest.approx(found, rel=1e-12)


def test_bets_on_many_rounds_are_nearly_those_on_all(monkeypatch):
    given = rare_log(0.2, 5000, np.random.default_rng(2))
    exact = IPS.estimate_interval(**given, method="betting")
    monkeypatch.setattr("confidently.bandits.betting.EXACT", 100)
    rounded = IPS.estimate_interval(**given, method="betting")
    assert exact.low * (1 - 1 / 4096) <= rounded.low <= exact.low
    assert 1 - exact.high >= 1 - rounded.high >= (1 - exact.high) * (1 - 1 / 4096)


def test_bets_at_the_ends():
    always = {"action": [0] * 40, "action_dist": [[1.0, 0.0]] * 40, "pscore": [1.0] * 40}
    lost, won = (IPS.estimate_interval(reward=[r] * 40, **always, method="betting") for r in (0.0, 1.0))
    assert lost.low == 0.0 < lost.high < 0.25
    assert won.high == 1.0 > won.low > 0.75
    assert lost.high == pytest.approx(1.0 - won.low)
    one = IPS.estimate_interval([1.0], [0], [[0.5, 0.5]], [0.25], method="betting")
    assert 0.0 <= one.low < 0.1
    assert one.high == 1.0
    wrong = IPS.estimate_interval([1.0] * 40, [0] * 40, [[1.0, 0.0]] * 40, [0.01] * 40, method="betting")
    assert wrong.low == 1.0  # no value in [0, 1] explains weights of 100


def test_the_bootstrap_is_reproducible_in_chunks(monkeypatch):
    x, a, r = sample(300, np.random.default_rng(8))
    options = {"method": "bootstrap", "n_bootstrap_samples": 500, "random_state": 3}
    whole = SNIPS.estimate_interval(**arguments(x, a, r), **options)
    monkeypatch.setattr("confidently.bandits.intervals.CHUNK", 300 * 500)
    assert SNIPS.estimate_interval(**arguments(x, a, r), **options) == whole


def test_the_normal_interval_is_that_of_a_mean():
    """With the unbiased variance of the terms."""
    terms = np.random.default_rng(0).normal(3.0, 2.0, 12)
    found = normal_interval(float(terms.mean()), terms - terms.mean(), 0.05)
    reach = 1.959963984540054 * terms.std(ddof=1) / np.sqrt(12)
    assert tuple(found) == pytest.approx((terms.mean(), terms.mean() - reach, terms.mean() + reach))


def test_one_round_has_the_widest_bernstein_interval():
    given = ([1.0], [0], [[0.5, 0.5]], [0.25])
    assert IPS.estimate_interval(*given, method="bernstein", min_pscore=0.1) == (1.0, 0.0, 1.0)
    assert InverseProbabilityWeighting(lambda_=3.0).estimate_interval(*given, method="bernstein") == (1.0, 0.0, 1.0)


@pytest.mark.parametrize("estimator", [IPS, DR])
def test_bernstein_intervals_are_those_of_their_formula(estimator):
    """The range is that of all terms that are possible, whatever the log has."""
    x, a, r = sample(2000, np.random.default_rng(9))
    given, n, level = arguments(x, a, r), 2000, np.log(4 / 0.1)
    found = estimator.estimate_interval(**given, method="bernstein", alpha=0.1, min_pscore=0.05)
    w, q = POLICY[x, a] / LOGGING[x, a], MODEL[x] if estimator is DR else np.zeros((n, 3))
    terms = (POLICY[x] * q).sum(axis=1) + w * (r - q[np.arange(n), a])
    reach = np.sqrt(2 * terms.var(ddof=1) * level / n)
    reach += 7 * (41 if estimator is DR else 20) * level / (3 * (n - 1))
    assert found.value == pytest.approx(terms.mean())
    assert found.high == pytest.approx(terms.mean() + reach)
    assert found.low == pytest.approx(max(terms.mean() - reach, -20 if estimator is DR else 0))


SOUND = arguments([0, 1], [0, 1], [1.0, 0.0])


@pytest.mark.parametrize(("estimator", "changes", "message"), [
    (IPS, {"reward": [1.0]}, "one shape"), (IPS, {"reward": [], "action": []}, "one shape"),
    (IPS, {"reward": [np.nan, 1.0]}, "reward must be finite"), (IPS, {"action": [0, 3]}, "integers from 0 to 2"),
    (IPS, {"action": [0.0, 1.0]}, "integers from 0 to 2"), (IPS, {"action_dist": POLICY[:1]}, "shape"),
    (IPS, {"action_dist": POLICY * 2}, "sum to 1"), (IPS, {"pscore": None}, "needs pscore"),
    (IPS, {"pscore": [0.0, 0.5]}, r"probabilities in \(0, 1\]"),
    (DR, {"estimated_rewards_by_reg_model": None}, "needs estimated_rewards_by_reg_model"),
    (DR, {"estimated_rewards_by_reg_model": MODEL[:, :2]}, "must be finite, of shape"),
    (SNIPS, {"action": [1, 0], "action_dist": [[1.0, 0.0], [0.0, 1.0]]}, "no round counts"),
])  # fmt: skip
def test_invalid_rounds_are_refused(estimator, changes, message):
    with pytest.raises(ValueError, match=message):
        estimator.estimate_policy_value(**(SOUND | changes))


def test_invalid_options_of_intervals_are_refused():
    with pytest.raises(ValueError, match="alpha must be in"):
        IPS.estimate_interval(**SOUND, alpha=1.0)
    with pytest.raises(ValueError, match="expected one of 'normal', 'bootstrap', 'likelihood', 'bernstein', 'betting'"):
        IPS.estimate_interval(**SOUND, method="t")
    with pytest.raises(ValueError, match="is a ratio"):
        SNIPS.estimate_interval(**SOUND, method="bernstein")
    for method in ("bernstein", "betting"):
        with pytest.raises(ValueError, match=r"rewards in \[0, 1\]"):
            IPS.estimate_interval(**SOUND | {"reward": [2.0, 0.0]}, method=method, min_pscore=0.1)
        for wrong in (-0.1, 1.1):
            with pytest.raises(ValueError, match=r"rewards in \[0, 1\]"):
                predicted = {"estimated_rewards_by_reg_model": np.full((2, 3), wrong)}
                DR.estimate_interval(**SOUND | predicted, method=method, min_pscore=0.1)
    for estimator, method in ((IPS, "bernstein"), (DR, "bernstein"), (DR, "betting")):
        with pytest.raises(ValueError, match="needs a bound of the weights; pass min_pscore"):
            estimator.estimate_interval(**SOUND, method=method)
    with pytest.raises(ValueError, match="DoublyRobust with clipped weights has no interval"):
        DoublyRobust(lambda_=3.0).estimate_interval(**SOUND, method="betting")
    for min_pscore in (0.0, 1.1, np.nan):
        with pytest.raises(ValueError, match="min_pscore must be in"):
            IPS.estimate_interval(**SOUND, method="bernstein", min_pscore=min_pscore)
    with pytest.raises(ValueError, match=r"pscore: 0\.2 is below min_pscore=0\.3"):
        IPS.estimate_interval(**SOUND, method="bernstein", min_pscore=0.3)
    # an action that the policy never chooses may have any propensity
    unused = {"action": [0, 1], "action_dist": [[1.0, 0.0]] * 2, "pscore": [0.5, 0.01], "reward": [1.0, 0.0]}
    assert IPS.estimate_interval(**unused, method="bernstein", min_pscore=0.5).high == 1.0
