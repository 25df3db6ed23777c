"""The rules that match moments against the posterior's moments to hundreds of digits."""

from math import nextafter

import mpmath as mp
import pytest
from hypothesis import given, settings

from confidently import step
from tests.tables.rule_cases import parameters_of, situations
from tests.twins.exact_moments import exact_step, relative_error

MIN_LEFT = 1e-12  # fraction of the variance along an example that remains at least


def assert_exact(rule, m, v, **parameters):
    """alpha to 1e-12 and zeta to 1e-9 relative, down to where steps underflow; zeta up to its highest."""
    alpha, zeta = exact_step(rule, m, v, **parameters)
    answer = step(rule, m, v, **parameters) or (0.0, 0.0, 1.0)
    highest = (1 - MIN_LEFT) / (MIN_LEFT * v)
    assert answer[2] == 1.0
    if alpha > 1e-290:
        assert relative_error(answer[0], alpha) < 1e-12
    else:
        assert answer[0] < 1e-280
    if zeta * v > 1e-290:
        assert relative_error(answer[1], min(zeta, mp.mpf(highest))) < 1e-9
    else:
        assert answer[1] * v < 1e-280


@pytest.mark.few
@pytest.mark.parametrize("d", [-20, -12.1, -5, -0.5, 0, 0.3, 2, 11.9, 30, 700, 1e5])
@pytest.mark.parametrize("k", [1e-6, 0.3, 2.0, 12.5, 40.0, 1e4, 1e6])
@pytest.mark.parametrize("v", [1e-12, 1.0, 1e8])
def test_exact_gibbs_has_the_posteriors_moments(k, d, v):
    """k: steepness of the loss, d: distance below the margin, both in standard deviations."""
    assert_exact("gibbs_pa_exact", 1.0 - d * v**0.5, v, c=k / (2 * v**0.5), epsilon=1.0)


@pytest.mark.parametrize("d", [-36, -40, -60])
def test_exact_gibbs_fades(d):
    assert_exact("gibbs_pa_exact", -float(d), 1.0, c=1.0, epsilon=0.0)


@pytest.mark.few
@pytest.mark.parametrize("v", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("noise", [1e-6, 0.1, 1.0, 1e3])
@pytest.mark.parametrize("t", [-1e6, -1e3, -40, -25, -12.1, -11.9, -3, 0, 1, 8, 30])
def test_probit_has_the_posteriors_moments(t, noise, v):
    assert_exact("probit", t * (noise**2 + v) ** 0.5, v, noise=noise)


@pytest.mark.few(1)
@pytest.mark.parametrize("v", [1e-6, 0.3, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("t", [-1e6, -1e3, -40, -25, -12.1, -3, -1.1, 0, 1, 8, 30])
def test_logistic_has_the_moments_of_its_mixture(t, v):
    assert_exact("logistic", t * (2.0 + v) ** 0.5, v)


@pytest.mark.long("quadrature to 20 digits")
@pytest.mark.few(1)
@pytest.mark.parametrize("v", [1e-3, 0.3, 1.0, 3.0, 10.0, 30.0, 300.0])
@pytest.mark.parametrize("t", [-30, -6, -3, -1, -0.1, 0.0, 0.5, 2, 5])
def test_logistic_is_near_the_moments_of_the_logistic_posterior(t, v):
    """By quadrature of the likelihood itself; t: deviations above -v/2, about which the posterior is symmetric."""
    m, s = -v / 2 + t * v**0.5, v**0.5
    with mp.workdps(20):
        around = m if m >= -v / 2 else m + v  # where the integrand is: the likelihood tilts the Gaussian by up to v
        knots = sorted([around + i * s for i in range(-12, 13, 3)] + [4.0 * i for i in range(-6, 7)])
        z, first, second = (
            mp.quad(lambda x, n=n: (x - around) ** n * mp.npdf(x, m, s) / (1 + mp.exp(-x)), knots) for n in range(3)
        )
        mean, left = around + first / z, (second / z - (first / z) ** 2) / v
    alpha, zeta, _ = step("logistic", m, v) or (0.0, 0.0, 1.0)
    assert abs(alpha - (mean - m) / v) < 6e-4
    assert abs(1 / (1 + zeta * v) - left) < 5e-3


@pytest.mark.parametrize("rule", ["gibbs_pa_exact", "logistic", "probit"])
def test_moments_anywhere(rule):
    @settings(max_examples=25)
    @given(parameters_of(rule), situations())
    def anywhere(p, situation):
        assert_exact(rule, *situation, **p)

    anywhere()


@pytest.mark.long("quadrature to 50 digits")
@pytest.mark.parametrize(("rule", "likelihood", "m", "v", "parameters"), [
    ("probit", lambda s: mp.ncdf(s / 0.5), -1.5, 2.0, {"noise": 0.5}),
    ("probit", lambda s: mp.ncdf(s / 2), 0.5, 0.3, {"noise": 2.0}),
    ("gibbs_pa_exact", lambda s: mp.exp(-3 * max(1 - s, 0)), -0.5, 2.0, {"c": 1.5, "epsilon": 1.0}),
    ("gibbs_pa_exact", lambda s: mp.exp(-max(0.5 - s, 0)), 1.5, 0.3, {"c": 0.5, "epsilon": 0.5}),
])  # fmt: skip
def test_the_oracle_itself_by_quadrature(rule, likelihood, m, v, parameters):
    def moment(n):
        knots = [m - 20 * v**0.5, 0, parameters.get("epsilon", 0.1), 2, m + 20 * v**0.5]
        return mp.quad(lambda s: s**n * likelihood(s) * mp.npdf(s, m, mp.sqrt(v)), knots)

    with mp.workdps(30):
        mean = moment(1) / moment(0)
        variance = moment(2) / moment(0) - mean**2
        alpha, zeta = exact_step(rule, m, v, **parameters)
        assert abs(alpha - (mean - m) / v) < 1e-15
        assert abs(zeta - (1 / variance - 1 / mp.mpf(v))) < 1e-15


# Where a compiled formula has several branches: a situation on the seam between them, which the margin crosses.
SEAMS = [
    ("gibbs_pa_exact", -1.0, 1.0, {"c": 1.0, "epsilon": 1.0}),  # u = 0
    ("gibbs_pa_exact", -1.0, 1.0, {"c": 7.0, "epsilon": 1.0}),  # u = -12
    ("gibbs_pa_exact", -11.0, 1.0, {"c": 1.0, "epsilon": 1.0}),  # d = 12
    ("gibbs_pa_exact", 1.0, 1.0, {"c": 1.0, "epsilon": 1.0}),  # d = 0
    ("gibbs_pa", -1.0, 1.0, {"c": 2.0, "epsilon": 1.0}),  # e = 0
    ("gibbs_pa", 0.0, 1.0, {"c": 1.0, "epsilon": 1.0}),  # G = 0
    ("probit", -12.0, 0.75, {"noise": 0.5}),  # t = -12
    ("probit", -25.0, 0.75, {"noise": 0.5}),
    ("cw_stdev", 0.0, 1.0, {"phi": 1.0}),
    ("scw2", 0.0, 1.0, {"phi": 1.0, "C": 1.0}),
    ("cw_var", -0.5, 1.0, {"phi": 1.0}),  # 1 + 2 phi m = 0
]


@pytest.mark.parametrize(("rule", "m", "v", "parameters"), SEAMS)
def test_continuous_where_the_formula_changes(rule, m, v, parameters):
    h = 1e-9
    (alpha, zeta, _), (alpha1, zeta1, _), (alpha2, zeta2, _), (alpha3, zeta3, _) = (
        step(rule, m + i * h, v, **parameters) for i in (-1.5, -0.5, 0.5, 1.5)
    )
    # A jump across the seam would exceed the difference of the slopes on its two sides, which agree to h. (The variance
    # of a normal below -12 carries 12^4 roundings before the series takes over.)
    assert abs((alpha2 - alpha1) - (alpha3 - alpha2 + alpha1 - alpha) / 2) < 1e-11 * alpha
    assert abs((zeta2 - zeta1) - (zeta3 - zeta2 + zeta1 - zeta) / 2) < 1e-10 * zeta


def test_continuous_where_gibbs_pa_exact_changes_to_the_mixture():
    """One more seam, at v'/v = 0.9, found by bisection along the margin."""
    low, high = 1.0, 5.0
    while nextafter(low, high) < high:
        middle = (low + high) / 2
        left = 1 / (1 + step("gibbs_pa_exact", middle, 1.0, c=1.0)[1])
        low, high = (middle, high) if left < 0.9 else (low, middle)
    below, above = (step("gibbs_pa_exact", m, 1.0, c=1.0)[1] for m in (low, high))
    assert below == pytest.approx(above, rel=1e-13)
