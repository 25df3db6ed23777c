"""The rules with a target, compared with optimisers and quadrature of the problems that they solve."""

from math import exp, isfinite, log, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize

from confidently import REGRESSION_RULES, RULES, _core, make_rule, step
from confidently.covariances.examples import Examples, Progressive
from confidently.rules import regression
from tests.tables.rule_cases import log_uniform

EASY = [(s, v, y, w) for s in (-1.3, 0.4) for v in (0.02, 0.7, 5.0) for y in (0.0, 0.5, 3.0) for w in (1.0, 0.3, 4.0)]


def after(s, v, answer):
    """Mean and variance of the score after a step."""
    alpha, zeta, scale = answer or (0.0, 0.0, 1.0)
    assert scale == 1.0
    return s + alpha * v, v / (1.0 + zeta * v)


def divergence(m, u, s, v):
    """KL(N(m, u) || N(s, v))."""
    return 0.5 * (u / v + (m - s) ** 2 / v - 1.0 - log(u / v))


def best(objective, s, v):
    """Mean and variance that minimise an objective of both, from several starts."""
    found = [
        minimize(lambda p: objective(p[0], exp(p[1])), (m, log(u)), method="Nelder-Mead",
                 options={"xatol": 1e-11, "fatol": 1e-15, "maxiter": 4000, "maxfev": 4000})
        for m in (s, s + 0.5) for u in (v, 0.3 * v)
    ]  # fmt: skip
    m, log_u = min(found, key=lambda one: one.fun).x
    return m, exp(log_u)


def missed(y, m, epsilon):
    return max(abs(y - m) - epsilon, 0.0)


def test_the_table_is_complete():
    assert set(REGRESSION_RULES) & set(RULES) == set()
    assert {rule.__name__ for rule in REGRESSION_RULES.values()} | {"RegressionRule"} == set(regression.__all__)
    for name, rule in REGRESSION_RULES.items():
        assert make_rule(name) == rule() and rule.name == name
        assert rule.learns_precision == (step(name, 0.0, 1.0, target=3.0)[1] > 0.0)


@pytest.mark.parametrize(("s", "v", "y", "w"), EASY)
def test_ridge_is_the_posterior_of_a_normal_target(s, v, y, w):
    r = 0.8
    precision = 1.0 / v + w / r
    expected = (s / v + w * y / r) / precision, 1.0 / precision
    assert after(s, v, step("ridge", s, v, target=y, weight=w, r=r)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("s", "v", "y", "w"), EASY)
def test_arow_eps_minimises_its_objective(s, v, y, w):
    r, epsilon = 0.6, 0.2
    answer = step("arow_eps", s, v, target=y, weight=w, r=r, epsilon=epsilon)
    if missed(y, s, epsilon) == 0.0:
        assert answer is None
        return
    found = best(lambda m, u: divergence(m, u, s, v) + w * (missed(y, m, epsilon) ** 2 + u) / (2.0 * r), s, v)
    assert after(s, v, answer) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("rule", ["pa_reg", "pa1_reg", "pa2_reg"])
@pytest.mark.parametrize(("s", "v", "y", "w"), EASY)
def test_passive_aggressive_steps_minimise_their_objectives(rule, s, v, y, w):
    C, epsilon = 0.4, 0.2
    parameters = {"epsilon": epsilon} if rule == "pa_reg" else {"C": C, "epsilon": epsilon}
    answer = step(rule, s, v, target=y, weight=w, **parameters)
    assert (answer is None) == (missed(y, s, epsilon) == 0.0)
    if rule == "pa_reg":  # the nearest score within the tube, of which the weight takes a part
        nearest = np.clip(s, y - epsilon, y + epsilon)
        expected = s + min(w, 1.0) * (nearest - s)
    else:
        power = 1 if rule == "pa1_reg" else 2
        expected, width = (s + y) / 2, abs(s - y) / 2 + 1.0
        for _ in range(2):  # the costs are convex
            grid = np.linspace(expected - width, expected + width, 2_001)
            costs = (grid - s) ** 2 / (2.0 * v) + w * C * np.maximum(np.abs(y - grid) - epsilon, 0.0) ** power
            expected, width = grid[np.argmin(costs)], width / 500
    mean, variance = after(s, v, answer)
    assert mean == pytest.approx(expected, abs=5e-6) and variance == v


@pytest.mark.parametrize(("s", "v", "y", "w"), EASY)
def test_poisson_minimises_the_divergence_from_the_posterior(s, v, y, w):
    count = round(2.0 * y)

    def objective(m, u):
        return divergence(m, u, s, v) + w * (exp(m + 0.5 * u) - count * m)

    assert after(s, v, step("poisson", s, v, target=count, weight=w)) == pytest.approx(best(objective, s, v), abs=1e-6)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.95])
@pytest.mark.parametrize(("s", "v", "y", "w"), EASY)
def test_quantile_has_the_moments_of_its_posterior(tau, s, v, y, w):
    c, sd = 2.0, sqrt(v)

    def log_density(x):
        loss = tau * (y - x) if x < y else (1.0 - tau) * (x - y)
        return -0.5 * ((x - s) / sd) ** 2 - w * c * loss

    top = max(map(log_density, (y, s + w * c * tau * v, s - w * c * (1.0 - tau) * v)))

    def density(x):
        return exp(log_density(x) - top)

    limits = s - 40.0 * sd, s + 40.0 * sd
    shift = w * c * v  # how far the slopes can move the bulk
    points = sorted({y, s, s - shift, s + shift})
    inside = [p for p in points if limits[0] - shift < p < limits[1] + shift]
    total, first, second = (
        quad(lambda x, k=k: x**k * density(x), limits[0] - shift, limits[1] + shift, points=inside, limit=400,
             epsabs=1e-13, epsrel=1e-10)[0] for k in range(3)
    )  # fmt: skip
    expected = first / total, second / total - (first / total) ** 2
    mean, variance = after(s, v, step("quantile", s, v, target=y, weight=w, tau=tau, c=c))
    assert mean == pytest.approx(expected[0], rel=1e-8, abs=1e-9)
    assert variance == pytest.approx(expected[1], rel=1e-6)


def test_the_quantile_is_exact_where_the_target_is_far_away():
    for y in (1e6, -1e6):  # one slope only, which moves the mean and leaves the variance
        tau, c, v = 0.3, 2.0, 1.5
        alpha, zeta, _ = step("quantile", 0.0, v, target=y, tau=tau, c=c)
        assert alpha == pytest.approx(c * tau if y > 0 else -c * (1.0 - tau), rel=1e-12)
        assert 0.0 <= zeta < 1e-9


@pytest.mark.long("two steps of each of 50 examples")
@given(
    st.sampled_from(list(REGRESSION_RULES)), st.floats(-1e3, 1e3), log_uniform(-9, 9), st.floats(-1e3, 1e3),
    log_uniform(-3, 3),
)  # fmt: skip
def test_steps_are_finite_go_towards_the_target_and_do_not_pass_it(name, s, v, y, w):
    if name == "poisson":
        s, y = s / 50.0, abs(y)
    answer = step(name, s, v, target=y, weight=w)
    assert step(name, s, v, target=y, weight=0.0) is None
    if answer is None:
        return
    alpha, zeta, scale = answer
    assert isfinite(alpha) and isfinite(zeta) and zeta >= 0.0 and scale == 1.0
    if name == "poisson":
        return  # its goal is the logarithm of the target, less half the variance
    if name != "quantile":
        assert alpha * (y - s) >= 0.0
        assert (y - (s + alpha * v)) * (y - s) >= -1e-9 * (1.0 + abs(y) + abs(s)) ** 2


@given(st.sampled_from(["ridge", "arow_eps", "pa_reg"]), st.floats(-50, 50), log_uniform(-3, 3), st.floats(-50, 50))
def test_steps_are_the_same_in_every_unit_of_the_target(name, s, v, y):
    factor = 8.0  # a power of two, so that nothing is rounded
    scaled = {"r": factor**2 * 1.0} if name != "pa_reg" else {}
    scaled |= {"epsilon": factor * 0.1} if name != "ridge" else {}
    one, other = step(name, s, v, target=y), step(name, factor * s, factor**2 * v, target=factor * y, **scaled)
    assert (one is None) == (other is None)
    if one is not None:
        assert other[0] * factor == pytest.approx(one[0]) and other[1] * factor**2 == pytest.approx(one[1])


def test_a_margin_is_the_case_of_the_target_one():
    margin, variance = 0.3, 0.8  # AROW's step, which a target of 1 gives to ridge
    assert step("ridge", margin, variance, target=1.0, r=0.1) == step("arow", margin, variance, r=0.1)
    alpha, zeta, _ = step("ridge", -margin, variance, target=-1.0, r=0.1)
    assert (-alpha, zeta) == step("arow", margin, variance, r=0.1)[:2]


def test_targets_are_refused_where_they_do_not_belong():
    with pytest.raises(ValueError, match="the rule ridge needs the target of the example; pass target="):
        step("ridge", 0.0, 1.0)
    with pytest.raises(ValueError, match="the rule arow has no target; leave target out, or use one of ridge"):
        step("arow", 0.0, 1.0, target=1.0)
    with pytest.raises(ValueError, match="target must be in"):
        step("ridge", 0.0, 1.0, target=nan)
    for rule, target in (("ridge", None), ("arow", 1.0)):
        with pytest.raises(ValueError, match="targets are for the rules of regression"):
            make_rule(rule).compiled.step(0.0, 1.0, target=target)


def test_ridge_may_not_know_its_noise():
    rule = make_rule("ridge", r=None)
    assert rule.get_params() == {"r": None} and rule.core_parameters() == [1.0]
    assert step(rule, 0.0, 2.0, target=1.0) == step("ridge", 0.0, 2.0, target=1.0)
    with pytest.raises(ValueError, match="r must be in"):
        make_rule("ridge", r=0.0)


def test_rules_with_a_target_serve_no_class():
    for covariance in ("diag", "full"):
        with pytest.raises(ValueError, match="targets are for regression, and needed there"):
            core = _core.Learner(
                make_rule("ridge").compiled, covariance, _core.Task.regression, independent=False, intercept=False,
                average=False, moments=False, prior_variance=1.0, min_variance=1e-12, forget=0.0,
            )  # fmt: skip
            state = _state(covariance)
            X = _core.dense(np.ones((1, 2)))
            core.learn(state, X, Examples(X, np.zeros(1, np.int32)).compiled(0, 1, True, Progressive(None)), 1e100)


def _state(covariance):
    from confidently.covariances.settings import Settings
    from confidently.learner.learner import Learner

    return Learner(Settings("ridge", covariance, "regression", fit_intercept=False, dtype="float64"), 1, 2).state
