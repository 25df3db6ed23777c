"""Policies: propensities against quadrature of their definition, and choices against propensities."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import binom, chisquare, norm

from confidently import OnlineRegressor, Ridge
from confidently.bandits import (
    POLICIES,
    ContextualBandit,
    EpsilonGreedy,
    Greedy,
    LinTS,
    LinUCB,
    RandUCB,
    SquareCB,
    make_policy,
    policies,
)

FACTOR = 1 / np.sqrt(2 * np.pi)
PAGE = Path(__file__).parents[2] / "docs" / "bandits.md"
EVERY_POLICY = pytest.mark.parametrize(
    "policy", [*(kind() for kind in POLICIES.values()), LinTS(alpha=0.3), EpsilonGreedy(0.5)], ids=repr
)


def test_every_policy_is_in_the_table():
    defined = {kind for kind in vars(policies).values() if isinstance(kind, type) and issubclass(kind, policies.Policy)}
    assert defined - {policies.Policy} == set(POLICIES.values()), "complete POLICIES in bandits/policies.py"


@pytest.mark.parametrize("kind", POLICIES.values())
def test_every_policy_names_its_source_and_what_its_parameters_mean(kind):
    assert {"name", "source"} <= vars(kind).keys(), f"{kind.__name__} lacks its name or its source"
    for field in dataclasses.fields(kind):
        assert field.metadata["range"] and field.metadata["meaning"], f"{kind.__name__}: {field.name}"


def test_the_documentation_lists_every_policy():
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Policies\n")
    listed = re.findall(r"^\| `(\w+\(.*?\))` \|", section.partition("\n## ")[0], flags=re.M)
    assert sorted(listed) == sorted(repr(kind()) for kind in POLICIES.values())


def best_of_gaussians(mean, deviation, arm):
    """The probability that an arm's draw is the largest, by SciPy's adaptive quadrature over this arm's draw."""
    others = [b for b in range(len(mean)) if b != arm]

    def density(t):
        z = (t - mean[arm]) / deviation[arm]
        return np.exp(-0.5 * z * z) * FACTOR / deviation[arm] * ndtr((t - mean[others]) / deviation[others]).prod()

    low, high = mean[arm] - 9 * deviation[arm], mean[arm] + 9 * deviation[arm]
    steps = np.concatenate([mean + k * deviation for k in (-3, -1, 0, 1, 3)])
    return quad(density, low, high, points=steps[(steps > low) & (steps < high)], limit=1000, epsabs=1e-13)[0]


@pytest.mark.long("quadrature for up to 30 arms")
@pytest.mark.parametrize("n_arms", [2, 3, 8, 30])
def test_propensities_of_thompson_sampling_are_those_of_quadrature(n_arms):
    random = np.random.default_rng(n_arms)
    for spread in (0.5, 3.0):  # decades of deviations
        mean, deviation = random.normal(size=n_arms), 10.0 ** random.uniform(-spread, 0.0, size=n_arms)
        expected = [best_of_gaussians(mean, deviation, arm) for arm in range(n_arms)]
        np.testing.assert_allclose(LinTS().propensities(mean, deviation**2), expected, atol=1e-8)


@pytest.mark.parametrize(("alpha", "optimism"), [(0.25, 1.0), (0.6, 2.0), (1.0, 0.0)])
def test_propensities_of_random_bounds_are_those_of_quadrature(alpha, optimism):
    random = np.random.default_rng(5)
    mean, deviation = random.normal(size=8), 10.0 ** random.uniform(-1.0, 0.0, size=8)
    expected = [best_of_gaussians(mean + optimism * deviation, alpha * deviation, arm) for arm in range(8)]
    found = RandUCB(alpha=alpha, optimism=optimism).propensities(mean, deviation**2)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_bounds_without_randomness_are_those_of_lin_ucb():
    random = np.random.default_rng(6)
    mean, variance = random.normal(size=(30, 5)), random.exponential(size=(30, 5))
    bounds, fixed = RandUCB(alpha=0.0, optimism=1.7), LinUCB(alpha=1.7)
    np.testing.assert_array_equal(bounds.propensities(mean, variance), fixed.propensities(mean, variance))
    np.testing.assert_array_equal(bounds.choose(mean, variance, random), fixed.choose(mean, variance, random))


def test_two_arms_have_a_closed_form():
    random = np.random.default_rng(2)
    mean, variance = random.normal(size=(50, 2)), random.exponential(size=(50, 2))
    expected = norm.cdf((mean[:, 0] - mean[:, 1]) / (0.7 * np.sqrt(variance.sum(axis=1))))
    found = LinTS(alpha=0.7).propensities(mean, variance)
    np.testing.assert_allclose(found, np.column_stack([expected, 1 - expected]), atol=1e-9)


def test_thousands_of_arms_that_are_alike_share_what_the_others_leave():
    mean, variance = np.zeros(5000), np.ones(5000)
    np.testing.assert_allclose(LinTS().propensities(mean, variance), 1 / 5000, rtol=1e-12)
    mean[0] = 3.0
    found = LinTS().propensities(mean, variance)
    expected = quad(lambda t: norm.pdf(t, 3.0) * np.exp(4999 * norm.logcdf(t)), -6, 12, epsabs=1e-13)[0]
    assert found[0] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(found[1:], (1 - expected) / 4999, rtol=1e-7)


def test_thompson_sampling_without_variance_is_greedy():
    mean = np.array([[0.0, 1.0, 1.0], [2.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    for policy, variance in ((LinTS(), np.zeros_like(mean)), (LinTS(alpha=0.0), np.ones_like(mean))):
        np.testing.assert_array_equal(
            policy.propensities(mean, variance), Greedy().propensities(mean, variance), strict=True
        )


def test_one_certain_arm_among_uncertain_ones():
    found = LinTS().propensities([0.0, 0.0, 0.0], [0.0, 1.0, 1.0])
    np.testing.assert_allclose(found, [0.25, 0.375, 0.375], atol=1e-7)


@EVERY_POLICY
def test_laws_of_all_policies(policy):
    random = np.random.default_rng(0)
    mean, variance = random.normal(size=(40, 6)), random.exponential(size=(40, 6))
    mean[:, 3], variance[:, 3] = mean[:, 1], variance[:, 1]  # two arms alike
    found = policy.propensities(mean, variance)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found >= 0).all()
    np.testing.assert_allclose(found[:, 3], found[:, 1], rtol=1e-9)
    order = random.permutation(6)
    np.testing.assert_allclose(policy.propensities(mean[:, order], variance[:, order]), found[:, order], atol=1e-9)
    # Neither the unit nor the zero of scores matters, nor that rows come together.
    np.testing.assert_allclose(policy.propensities(5.0 + 4.0 * mean, 16.0 * variance), found, atol=1e-8)
    np.testing.assert_allclose(policy.propensities(mean[7], variance[7]), found[7], atol=1e-12)


@pytest.mark.few(1)
@EVERY_POLICY
@pytest.mark.parametrize("uncertain", [0.3, 0.5], ids=["second", "first"])  # by its mean
def test_choices_have_the_propensities(policy, uncertain):
    mean, variance = np.array([0.1, 0.4, uncertain, 0.4]), np.array([0.3, 0.1, 0.5, 0.1])
    n, random = 20_000, np.random.default_rng(1)
    chosen = policy.choose(np.tile(mean, (n, 1)), np.tile(variance, (n, 1)), random)
    counts, p = np.bincount(chosen, minlength=4), policy.propensities(mean, variance)
    assert (counts[p == 0] == 0).all()
    if (p > 0).sum() > 1:
        assert chisquare(counts[p > 0], n * p[p > 0]).pvalue > 1e-4


@EVERY_POLICY
def test_several_rows_are_drawn_as_one_after_the_other(policy):
    random = np.random.default_rng(3)
    mean, variance = random.normal(size=(50, 4)), random.exponential(size=(50, 4))
    mean[:, 2], variance[:, 2] = mean[:, 1], variance[:, 1]
    variance[::5] = 0.0
    draws = [np.random.default_rng(7) for _ in range(2)]
    together = policy.choose(mean, variance, draws[0])
    alone = [policy.choose(*row, draws[1]) for row in zip(mean, variance, strict=True)]
    np.testing.assert_array_equal(together, alone)
    assert draws[0].bit_generator.state == draws[1].bit_generator.state


@EVERY_POLICY
def test_one_arm_is_chosen_for_certain(policy):
    assert policy.propensities([0.3], [0.2]) == pytest.approx([1.0])
    assert policy.choose([0.3], [0.2], np.random.default_rng(0)) == 0


def test_lin_ucb_takes_the_largest_bound():
    random = np.random.default_rng(4)
    mean, variance = random.normal(size=(30, 5)), random.exponential(size=(30, 5))
    bound = mean + 1.7 * np.sqrt(variance)
    np.testing.assert_array_equal(LinUCB(alpha=1.7).choose(mean, variance, random), bound.argmax(axis=1))
    assert LinUCB(alpha=1.7).choose(mean[0], variance[0], random) == bound[0].argmax()


def test_square_cb_weighs_by_inverse_gaps():
    mean, variance = [0.2, 0.9, 0.5, 0.9], [0.04, 0.01, 0.08, 0.03]
    found = SquareCB(gamma=3.0).propensities(mean, variance)
    others = [1 / (4 + 3 * 2 * gap / np.sqrt(v + 0.01)) for gap, v in ((0.7, 0.04), (0.4, 0.08))]
    np.testing.assert_allclose(found, [others[0], (1 - sum(others)) / 2, others[1], (1 - sum(others)) / 2])
    np.testing.assert_allclose(SquareCB(0.0).propensities(mean, variance), [0.25] * 4)
    np.testing.assert_array_equal(SquareCB().propensities([0.2, 0.9], [0.0, 0.0]), [0.0, 1.0])


@pytest.mark.parametrize("policy", [LinTS(0.7), RandUCB(0.7)], ids=repr)
def test_quick_propensities_are_nearly_those_of_the_policy(policy):
    random = np.random.default_rng(0)
    mean, variance = random.normal(size=3000) / 5, random.exponential(size=3000) / 20
    exact, quick = policy.propensities(mean, variance), policy.quick_propensities(mean, variance)
    assert quick.sum() == pytest.approx(1.0)
    assert 0 < 0.5 * np.abs(quick - exact).sum() < 0.1  # the total variation


@EVERY_POLICY
def test_quick_propensities_of_a_thousand_arms_are_those_of_the_policy(policy):
    random = np.random.default_rng(0)
    mean, variance = random.normal(size=1000), random.exponential(size=1000)
    np.testing.assert_array_equal(policy.quick_propensities(mean, variance), policy.propensities(mean, variance))


def test_many_arms_without_randomness():
    random = np.random.default_rng(0)
    mean, variance = random.normal(size=3000), random.exponential(size=3000)
    for policy, bound in ((LinTS(0.0), mean), (RandUCB(0.0), mean + np.sqrt(variance))):
        found = policy.quick_propensities(mean, variance)
        assert (found.max(), found.argmax()) == (1.0, bound.argmax())


def test_policies_are_made_by_name():
    assert {name: make_policy(name).name for name in POLICIES} == {name: name for name in POLICIES}
    assert make_policy(LinUCB(), alpha=2.0) == LinUCB(alpha=2.0)
    with pytest.raises(ValueError, match=f"unknown policy 'ucb'; expected one of {', '.join(POLICIES)}"):
        make_policy("ucb")
    with pytest.raises(TypeError, match="expected a policy"):
        make_policy(LinTS)
    with pytest.raises(ValueError, match=r"EpsilonGreedy: epsilon must be in \[0, 1\], got 1.5"):
        EpsilonGreedy(epsilon=1.5)
    with pytest.raises(ValueError, match=r"LinTS: alpha must be in \[0, 1e\+09\], got -1"):
        LinTS(alpha=-1)


@pytest.mark.parametrize(("mean", "variance", "message"), [
    ([1.0], [1.0, 2.0], "one shape"), ([], [], "one shape"), ([[[1.0]]], [[[1.0]]], "one shape"),
    ([np.nan], [1.0], "finite"), ([1.0], [-1.0], "no variance negative"),
])  # fmt: skip
def test_invalid_scores_are_refused(mean, variance, message):
    with pytest.raises(ValueError, match=message):
        Greedy().propensities(mean, variance)


def stated_alpha(r, prior, norm, delta):
    return norm / np.sqrt(prior) + np.sqrt(np.log(2 / delta) / (2 * r))


@pytest.mark.parametrize("prior", [1.0, 4.0])
@pytest.mark.parametrize("r", [0.05, 0.25, 1.0])
def test_the_bound_of_lin_ucb_holds_as_stated(r, prior):
    """For one context of one value, whose weight is the expected reward."""
    delta = 0.1
    for chance in (0.0, 0.5, 1.0):
        for n in (1, 3, 20, 400):
            # exact: the probabilities of k rewards of 1 among n
            rewards = np.arange(n + 1)
            probability = binom.pmf(rewards, n, chance)
            variance = 1.0 / (1.0 / prior + n / r)
            mean = variance * rewards / r
            reach = stated_alpha(r, prior, 1.0, delta) * np.sqrt(variance)
            assert probability[mean + reach < chance].sum() <= delta / 2
            assert probability[mean - reach > chance].sum() <= delta / 2


def test_the_variance_of_lin_ucb_is_that_of_its_bound():
    """A bandit's mean and variance are those of the formula, and its index the bound."""
    X = np.random.default_rng(0).normal(size=(50, 3)) / 3.0
    rewards = (np.random.default_rng(1).random(50) < 0.4).astype(float)
    for r, prior in ((0.25, 1.0), (1.0, 4.0)):
        model = OnlineRegressor(Ridge(r=r), prior_variance=prior, fit_intercept=False)
        bandit = ContextualBandit(["one"], LinUCB(), model).partial_fit(["one"] * 50, rewards, X)
        sigma = np.linalg.inv(np.eye(3) / prior + X.T @ X / r)
        mean, variance = bandit.score_distribution(X)
        np.testing.assert_allclose(variance[:, 0], np.einsum("ij,jk,ik->i", X, sigma, X), rtol=1e-9)
        np.testing.assert_allclose(mean[:, 0], X @ sigma @ (X.T @ rewards) / r, rtol=1e-9)


def test_the_bound_of_the_paper_does_not_hold_for_less_noise():
    """Li et al. have r = 1; with r = 1/4, the default of bandits, their alpha is too small where delta is."""
    r, n, delta = 0.25, 400, 1e-4
    rewards = np.arange(n + 1)
    probability, variance = binom.pmf(rewards, n, 0.5), 1.0 / (1.0 + n / r)
    mean = variance * rewards / r
    papers = 1.0 + np.sqrt(np.log(2 / delta) / 2)
    outside = [
        probability[np.abs(mean - 0.5) > alpha * np.sqrt(variance)].sum()
        for alpha in (papers, stated_alpha(r, 1.0, 1.0, delta))
    ]
    assert outside[0] > 5 * delta
    assert outside[1] <= delta


@pytest.mark.parametrize("kind", POLICIES.values())
def test_the_largest_parameters_give_probabilities(kind):
    """Of scores of any size, as models may have them; larger parameters are refused."""
    for field in dataclasses.fields(kind):
        policy = kind(**{field.name: field.metadata["range"].high})
        for size in (1e-150, 1.0, 1e50):
            found = policy.propensities([0.0, size, -size], [size**2, size**2, 0.0])
            assert np.isfinite(found).all() and found.sum() == pytest.approx(1.0)
        with pytest.raises(ValueError, match=field.name):
            kind(**{field.name: 1e300})
