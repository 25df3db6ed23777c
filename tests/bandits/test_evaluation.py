"""Intervals by likelihood against an optimizer, switch-DR, values by period, and gains over the logged policy."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import t

from confidently.bandits import (
    DirectMethod,
    DoublyRobust,
    InverseProbabilityWeighting,
    OverlapWarning,
    SelfNormalizedInverseProbabilityWeighting,
    SwitchDoublyRobust,
    estimate_gain,
    evaluate_policy,
)
from confidently.bandits.likelihood import likelihood_limits

IPS = InverseProbabilityWeighting()
TRUTH = np.array([[0.2, 0.5, 0.4], [0.7, 0.3, 0.5]])  # probability of a reward by context and action
POLICY = np.array([[0.05, 0.85, 0.1], [0.85, 0.1, 0.05]])
VALUE = float((POLICY * TRUTH).sum(axis=1).mean())


def logged(n, least, random):
    """Rounds of a policy that prefers the wrong action, others with probability ``least``."""
    x = random.integers(2, size=n)
    logging = np.full((2, 3), least)
    logging[[0, 1], [0, 2]] = 1 - 2 * least
    action = (random.random((n, 1)) > logging[x].cumsum(axis=1)[:, :2]).sum(axis=1)
    reward = (random.random(n) < TRUTH[x, action]).astype(float)
    return {"reward": reward, "action": action, "action_dist": POLICY[x], "pscore": logging[x, action]}, x


def test_switch_dr_is_plain_numpy():
    given, x = logged(400, 0.05, np.random.default_rng(0))
    q = TRUTH[x] * 0.8
    w = POLICY[x, given["action"]] / given["pscore"]
    terms = (POLICY[x] * q).sum(axis=1) + np.where(w <= 4.0, w, 0.0) * (
        given["reward"] - q[range(400), given["action"]]
    )
    predicted = given | {"estimated_rewards_by_reg_model": q}
    assert SwitchDoublyRobust(4.0).estimate_policy_value(**predicted) == pytest.approx(terms.mean())
    assert w.max() > 1.0 and (w > 4.0).any()
    never, always = SwitchDoublyRobust(1e-9), SwitchDoublyRobust(np.inf)
    assert never.estimate_policy_value(**predicted) == DirectMethod().estimate_policy_value(**predicted)
    assert always.estimate_policy_value(**predicted) == DoublyRobust().estimate_policy_value(**predicted)


@pytest.mark.long("imports PyTorch")
def test_switch_dr_is_that_of_the_open_bandit_pipeline():
    ope = pytest.importorskip("obp.ope", reason="needs the Open Bandit Pipeline", exc_type=ImportError)
    given, x = logged(400, 0.05, np.random.default_rng(0))
    theirs = given | {
        "action_dist": given["action_dist"][:, :, None],
        "estimated_rewards_by_reg_model": 0.8 * TRUTH[x][:, :, None],
        "position": np.zeros(400, dtype=int),
    }
    ours = SwitchDoublyRobust(4.0).estimate_policy_value(**given | {"estimated_rewards_by_reg_model": 0.8 * TRUTH[x]})
    assert ours == pytest.approx(ope.SwitchDoublyRobust(lambda_=4.0).estimate_policy_value(**theirs))


# --- intervals by likelihood ---------------------------------------------------------------------------------------


def largest_log_likelihood(points, count, v):
    """The primal problem by SciPy: the likelihood of probabilities of points, with mean weight 1 and mean term v."""
    n = count.sum()
    result = minimize(
        lambda p: -(count @ np.log(np.maximum(p[: len(count)], 1e-300))) / n,
        np.full(len(points), 1.0 / len(points)),
        bounds=[(0.0, 1.0)] * len(points),
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1.0},
            {"type": "eq", "fun": lambda p: p @ points[:, 0] - 1.0},
            *([] if v is None else [{"type": "eq", "fun": lambda p: p @ points[:, 1] - v}]),
        ],
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert result.success
    return -result.fun * n - count @ np.log(count / n)


@pytest.mark.parametrize("seed", range(3))
def test_limits_are_where_the_likelihood_has_fallen(seed):
    random = np.random.default_rng(seed)
    rows = np.array([[0.2, 0.0], [0.2, 0.2], [1.0, 0.0], [1.0, 1.0], [4.0, 4.0]])
    observed = rows[random.choice(5, size=80, p=[0.2, 0.3, 0.2, 0.15, 0.15])]
    corners = [(0.0, 0.0), (8.0, 0.0), (8.0, 8.0)]
    limits = likelihood_limits(observed[:, 0], observed[:, 1], corners, 0.1)
    points, count = np.unique(observed, axis=0, return_counts=True)
    every = np.concatenate([points, corners])  # points that were not observed count for nothing, but may be likely
    fallen = [
        largest_log_likelihood(every, count, None) - largest_log_likelihood(every, count, limit) for limit in limits
    ]
    assert fallen == pytest.approx([t.ppf(0.95, 79) ** 2 / 2] * 2, abs=0.01)


def coverage(estimator, n, least, logs, **options):
    random, covered = np.random.default_rng(5), 0
    for _ in range(logs):
        given, x = logged(n, least, random)
        if estimator.needs_predictions:
            given["estimated_rewards_by_reg_model"] = 0.7 * TRUTH[x]
        found = estimator.estimate_interval(**given, **options)
        covered += found.low <= VALUE <= found.high
    return covered / logs


@pytest.mark.long("60 logs of up to 10,000 rounds")
@pytest.mark.few(1)
@pytest.mark.parametrize("estimator", [IPS, SelfNormalizedInverseProbabilityWeighting(), DoublyRobust()])
@pytest.mark.parametrize(("n", "least"), [(400, 0.2), (4000, 0.01), (10_000, 0.003)])
def test_intervals_by_likelihood_cover(estimator, n, least):
    found = coverage(estimator, n, least, 60, method="likelihood", min_pscore=least)
    assert found >= 0.87  # of 60 logs, an exact interval covers fewer with a probability below 1 %


@pytest.mark.long("120 logs")
@pytest.mark.filterwarnings("ignore::confidently.bandits.OverlapWarning")
def test_they_cover_where_the_normal_ones_do_not():
    """Propensities of .001: of 300 rounds, hardly one has the large weight that the value depends on."""
    assert coverage(IPS, 300, 0.001, 60, method="likelihood", min_pscore=0.001) >= 0.9
    assert coverage(IPS, 300, 0.001, 60) < 0.6


def test_limits_at_the_ends():
    always = {"action": [0] * 40, "action_dist": [[1.0, 0.0]] * 40, "pscore": [1.0] * 40}
    lost, won = (
        IPS.estimate_interval(reward=[r] * 40, **always, method="likelihood", min_pscore=1.0) for r in (0.0, 1.0)
    )
    assert lost.low == 0.0 < lost.high < 0.1
    assert won.high == 1.0 > won.low > 0.9
    never = {"action": [1] * 40, "action_dist": [[1.0, 0.0]] * 40, "pscore": [0.5] * 40, "reward": [1.0] * 40}
    nothing = IPS.estimate_interval(**never, method="likelihood", min_pscore=0.5)
    assert (nothing.low, nothing.high) == (0.0, 1.0)


def test_what_likelihood_needs():
    given, x = logged(50, 0.2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs a bound of the weights; pass min_pscore"):
        IPS.estimate_interval(**given, method="likelihood")
    with pytest.raises(ValueError, match="clipped weights has no interval by likelihood"):
        InverseProbabilityWeighting(lambda_=3.0).estimate_interval(**given, method="likelihood", min_pscore=0.2)
    with pytest.raises(ValueError, match="DirectMethod has no interval by likelihood"):
        DirectMethod().estimate_interval(
            **given, estimated_rewards_by_reg_model=TRUTH[x], method="likelihood", min_pscore=0.2
        )


# --- bounds for every number of rounds at once ---------------------------------------------------------------------


@pytest.mark.long("60 logs, each at twelve lengths")
@pytest.mark.parametrize("least", [0.3, 0.02])
def test_bets_hold_for_all_numbers_of_rounds_at_once(least):
    random, wrong = np.random.default_rng(3), 0
    for _ in range(60):
        given, _ = logged(600, least, random)
        for n in range(50, 601, 50):
            found = IPS.estimate_interval(**{name: array[:n] for name, array in given.items()}, method="betting")
            if not found.low <= VALUE <= found.high:
                wrong += 1
                break
    assert wrong <= 7  # of 60; 5 % or less are promised, and more than 7 then have a probability below 1 %


# --- values by estimator and period --------------------------------------------------------------------------------


def test_values_are_those_of_the_estimators():
    given, x = logged(600, 0.05, np.random.default_rng(1))
    days = np.arange(600) // 250
    found = evaluate_policy(
        **given, estimated_rewards_by_reg_model=0.8 * TRUTH[x], min_pscore=0.05, periods=[f"day {d}" for d in days]
    )
    assert [(one.estimator, one.period) for one in found] == [
        (name, period) for period in (None, "day 0", "day 1", "day 2") for name in ("ipw", "snipw", "dr", "switch_dr")
    ]
    part = {name: array[days == 1] for name, array in given.items()}
    of_day = next(one for one in found if one[:2] == ("snipw", "day 1"))
    expected = SelfNormalizedInverseProbabilityWeighting().estimate_interval(
        **part, method="likelihood", min_pscore=0.05
    )
    assert of_day[2:5] == tuple(expected)
    assert of_day[6:10] == IPS.overlap(**part)
    assert all(one.method == ("normal" if one.estimator == "switch_dr" else "likelihood") for one in found)


def test_rewards_of_other_ranges():
    given, x = logged(300, 0.1, np.random.default_rng(2))
    narrow = evaluate_policy(**given, estimated_rewards_by_reg_model=TRUTH[x], min_pscore=0.1)
    wide = evaluate_policy(
        **given | {"reward": 10 * given["reward"] - 5}, estimated_rewards_by_reg_model=10 * TRUTH[x] - 5,
        min_pscore=0.1, reward_range=(-5, 5),
    )  # fmt: skip
    for one, other in zip(narrow, wide, strict=True):
        np.testing.assert_allclose(np.array(other[2:5]), 10 * np.array(one[2:5]) - 5)
    with pytest.raises(ValueError, match="the larger one last"):
        evaluate_policy(**given, reward_range=(1.0, 1.0))


def test_what_cannot_be_trusted_says_so():
    given, _ = logged(60, 0.02, np.random.default_rng(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is in the result
        found = evaluate_policy(**given)
    assert [one.estimator for one in found] == ["ipw", "snipw"]
    assert all("60 rounds say as much about the policy as" in one.problem for one in found)
    never = given | {"action_dist": np.eye(3)[(given["action"] + 1) % 3]}
    assert evaluate_policy(**never) == []
    assert evaluate_policy(**logged(4000, 0.2, np.random.default_rng(3))[0])[0].problem is None
    with pytest.warns(OverlapWarning):
        IPS.estimate_interval(**given)


def test_the_gain_over_the_log_is_bounded():
    better = 0
    random = np.random.default_rng(4)
    logging_value = float(((TRUTH[0] @ [0.6, 0.2, 0.2]) + (TRUTH[1] @ [0.2, 0.2, 0.6])) / 2)
    for _ in range(40):
        given, _ = logged(3000, 0.2, random)
        found = estimate_gain(**given)
        assert found.low <= VALUE - logging_value <= found.high
        better += found.low > 0
    assert better >= 30
    same = estimate_gain(**given | {"action_dist": np.eye(3)[given["action"]], "pscore": np.ones(3000)})
    assert same.value == 0.0 and same.low < 0 < same.high
    scaled = estimate_gain(**given | {"reward": 4 * given["reward"]}, reward_range=(0, 4))
    np.testing.assert_allclose(scaled, 4 * np.array(found))
    with pytest.raises(ValueError, match="pass their reward_range"):
        estimate_gain(**given | {"reward": 2 * given["reward"]})


def test_the_gain_over_another_policy_is_covered():
    random, other = np.random.default_rng(3), np.array([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1]])
    truth = VALUE - float((other * TRUTH).sum(axis=1).mean())
    for _ in range(20):
        given, x = logged(3000, 0.2, random)
        found = estimate_gain(**given, other_dist=other[x])
        assert 0 < found.low <= truth <= found.high
        against = estimate_gain(**given | {"action_dist": other[x]}, other_dist=POLICY[x])
        np.testing.assert_allclose(against, -np.array([found.value, found.high, found.low]))


@pytest.mark.long("exact limits of 20,000 rows")
def test_limits_of_many_rows_are_those_of_all(monkeypatch):
    """Rows that are nearly equal are taken together; by likelihood and by bets."""
    given, x = logged(20_000, 0.05, np.random.default_rng(0))
    noisy = {"reward": np.clip(given["reward"] + np.random.default_rng(1).normal(0, 0.1, 20_000), 0, 1)}
    q = TRUTH[x] * 0.8
    many = [evaluate_policy(**given | noisy, estimated_rewards_by_reg_model=q)[k] for k in (0, 2)]
    gain = estimate_gain(**given | noisy)
    monkeypatch.setattr("confidently.bandits.likelihood.EXACT", 20_000)
    monkeypatch.setattr("confidently.bandits.betting.EXACT", 20_000)
    exact = [evaluate_policy(**given | noisy, estimated_rewards_by_reg_model=q)[k] for k in (0, 2)]
    for one, other in zip(many, exact, strict=True):
        np.testing.assert_allclose([one.low, one.high], [other.low, other.high], atol=0.01 * (other.high - other.low))
    all_rows = estimate_gain(**given | noisy)
    width = all_rows.high - all_rows.low
    assert all_rows.low - 0.01 * width <= gain.low <= all_rows.low and all_rows.high <= gain.high
