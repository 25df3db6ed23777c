"""The laws every rule obeys, over all margins, variances and parameters."""

import sys
from math import isfinite, nextafter, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_expit, log_ndtr

from confidently import REGRESSION_RULES, RULES, _core, make_rule, step
from confidently.rules import bayesian, confidence_weighted, ellipsoid, passive_aggressive
from tests.tables.rule_cases import CASES, After, after, log_uniform, parameters_of, phi_of, situations

HARD = ["pa", "cw_stdev", "cw_var", "cellip", "iellip", "iellip_margin"]
SOFT = [name for name, rule in RULES.items() if rule.loss is not None]


def law_of(names, *more, examples=25):
    """A law of the named rules: a function of the name, the parameters, a situation and anything else that is drawn."""

    def decorate(law):
        @pytest.mark.parametrize("name", names)
        def test(name):
            drawn = given(st.tuples(parameters_of(name), situations(), *more))
            settings(max_examples=examples)(drawn(lambda arguments: law(name, *arguments)))()

        return test

    return decorate


def test_the_tables_of_rules_are_complete():
    assert [*RULES, *REGRESSION_RULES] == _core.rule_names(), (
        "the rules of src/confidently/rules/ and of core/rules/ differ"
    )
    assert list(CASES) == list(RULES), "the rules of tests/tables/rule_cases.py and of src/confidently/rules/ differ"
    for family in (passive_aggressive, confidence_weighted, ellipsoid, bayesian):
        defined = {rule.__name__ for rule in RULES.values() if rule.__module__ == family.__name__}
        assert defined == set(family.__all__), f"complete __all__ in {family.__name__}"
    for name, case in CASES.items():
        drawn = {n for key in case.parameters for n in (("eta", "phi") if key == "confidence" else (key,))}
        assert drawn == set(RULES[name]().get_params()), f"the parameters of {name} in tests/tables/rule_cases.py"


@law_of(list(CASES))
def test_acts_only_short_of_its_margin_and_the_step_is_finite(name, p, situation):
    acts = CASES[name].acts(*situation, p)
    answer = step(name, *situation, **p)
    if acts is not None:
        assert (answer is not None) == acts
    assert step(name, *situation, weight=0.0, **p) is None
    assert step(name, *situation, updates=7, **p) == answer or name in ("iellip", "iellip_margin")
    if answer is not None:
        alpha, zeta, scale = answer
        assert isfinite(alpha) and alpha >= 0
        assert isfinite(zeta) and zeta >= 0
        assert isfinite(scale) and scale > 0
        assert alpha > 0 or name in ("gibbs_pa_exact", "logistic", "probit")
        assert scale == 1 or make_rule(name).compiled.rescales
        assert zeta > 0 or not RULES[name].learns_precision or name in ("gibbs_pa_exact", "logistic", "probit")
        assert zeta == 0 or RULES[name].learns_precision


@law_of([name for name, case in CASES.items() if case.after])
def test_what_holds_after_the_step(name, p, situation):
    # alpha and zeta each carry a few roundings: 1e-14, relative. m' inherits that of alpha v, hence measured in
    # |m| + |m'|; v'/v inherits that of zeta.
    made = after(name, *situation, p)
    if made is not None:
        for left, right, size in CASES[name].after(made):
            assert abs(left - right) <= 1e-14 * (abs(right) + size) + 1e-300


@law_of(["cw_stdev", "cw_var", "scw1", "scw2"])
def test_a_step_is_positive_one_rounding_short_of_the_margin(name, p, situation):
    v = situation[1]
    threshold = phi_of(p) * (v if name == "cw_var" else sqrt(v))
    assert step(name, threshold, v, **p) is None
    alpha, zeta, _ = step(name, nextafter(threshold, 0.0), v, **p)
    assert alpha > 0
    assert zeta > 0


@pytest.mark.parametrize(("m", "v", "phi", "C"), [
    (3.6432358197183174, 79.59441040772028, 0.40836263564999775, 142.90153570495946),
    (0.9453928565537594, 0.07048536544039825, 3.560925097316647, 0.00209900133352825),
    (0.47864251442765987, 0.07815542232814714, 1.7121101983157634, 1.3226248725929266),
])  # fmt: skip
def test_scw2_does_not_step_back_where_phi_squared_v_rounds_below_m_squared(m, v, phi, C):
    assert phi * phi * v < m * m
    assert m < phi * sqrt(v)
    alpha, zeta, _ = step("scw2", m, v, phi=phi, C=C)
    assert alpha > 0
    assert zeta > 0


@given(parameters_of("cw_stdev"), situations())
def test_cw_stdev_is_scw1_without_a_maximum_step_size(p, situation):
    assert step("cw_stdev", *situation, **p) == step("scw1", *situation, C=1e300, **p)


@given(log_uniform(-6, 6), situations())
def test_bayespa_is_pa1(c, situation):
    assert step("bayespa", *situation, c=c, epsilon=1.0) == step("pa1", *situation, C=2 * c)


@given(situations())
def test_pa_is_pa1_without_a_maximum_step_size_and_pa2_at_its_limit(situation):
    assert step("pa", *situation) == step("pa1", *situation, C=1e300) == step("pa2", *situation, C=1e300)


@given(situations(), log_uniform(-6, 6))
def test_sop_is_arow_on_mistakes(situation, w):
    arow = step("arow", *situation, r=1.0, weight=w)
    assert step("sop", *situation, weight=w) == (arow if situation[0] <= 0 else None)


# Units: a margin measured in 1/s of its unit is s m, with variance s^2 v. alpha is a margin over a variance, zeta one
# over a variance. For cw_stdev this is Lemma 3 of Crammer et al. 2008 with a = s^2.
UNITS = {
    "cw_stdev": {}, "cw_var": {"phi": -1}, "gibbs_pa": {"epsilon": 1, "c": -1},
    "gibbs_pa_exact": {"epsilon": 1, "c": -1}, "bayespa": {"epsilon": 1, "c": -1}, "scw1": {"C": -1}, "scw2": {"C": -2},
    "cellip": {"gamma": 1}, "iellip": {"gamma": 1}, "probit": {"noise": 1},
}  # fmt: skip


@law_of(list(UNITS), st.integers(-6, 6))
def test_scaling(name, p, situation, power):
    (m, v), s = situation, 2.0**power  # a power of 2: no rounding by the units
    if name == "cw_var":
        p = {"phi": phi_of(p)}
    scaled = {key: value * s ** UNITS[name].get(key, 0) for key, value in p.items()}
    answer, other = step(name, m, v, **p), step(name, s * m, s * s * v, **scaled)
    if answer is None:
        assert other is None
    else:
        alpha, zeta, scale = answer
        assert other == pytest.approx((alpha / s, zeta / s**2, scale), rel=1e-13, abs=1e-290)


@law_of(SOFT, log_uniform(-6, 6))
def test_a_weight_multiplies_the_loss(name, p, situation, w):
    loss = RULES[name].loss
    changed = {**p, loss: p[loss] / w if loss == "r" else w * p[loss]}
    answer = step(name, *situation, weight=w, **p)
    expected = step(name, *situation, **changed)
    assert answer == (expected and pytest.approx(expected, rel=1e-14, abs=1e-300))


@law_of(HARD, log_uniform(-6, 9))
def test_a_weight_below_one_multiplies_the_step_of_a_hard_rule(name, p, situation, w):
    plain, answer = step(name, *situation, **p), step(name, *situation, weight=w, **p)
    if plain is None or w >= 1:
        assert answer == plain
    else:
        assert answer == pytest.approx((w * plain[0], w * plain[1], plain[2] ** w), rel=1e-14, abs=1e-300)


# The margin that a rule of the CW family, or one with a hinge, asks for after its step.
TARGETS = {
    **dict.fromkeys(("pa", "pa1", "pa2", "arow", "sop", "nherd"), lambda a: 1.0),
    **dict.fromkeys(("cw_stdev", "scw1", "scw2"), lambda a: phi_of(a.p) * sqrt(a.v1)),
    "cw_var": lambda a: phi_of(a.p) * a.v1, "cellip": lambda a: a.p["a"] * a.p["gamma"],
    "iellip": lambda a: a.p["gamma"], "bayespa": lambda a: a.p["epsilon"],
}  # fmt: skip


@pytest.mark.long("50 examples of each rule")
@law_of(list(TARGETS), log_uniform(-9, 9), examples=50)
def test_no_weight_overshoots(name, p, situation, w):
    """A hard constraint is met at most with equality, and a hinge is not left behind."""
    answer = step(name, *situation, weight=w, **p)
    if answer is not None:
        made = After(*situation, p, *answer)
        smallest = sys.float_info.min  # numbers below have fewer digits
        assert made.m1 <= TARGETS[name](made) + 1e-13 * (abs(made.m) + abs(made.m1)) + smallest


@law_of(["gibbs_pa", "gibbs_pa_exact"], log_uniform(-9, 9))
def test_no_weight_exceeds_the_slope_of_the_loss(name, p, situation, w):
    answer = step(name, *situation, weight=w, **p)
    assert answer is None or answer[0] <= 2 * w * p["c"] * (1 + 1e-14)


@law_of(["logistic", "probit"], log_uniform(-9, 9), examples=50)
def test_a_weighted_step_is_implicit(name, p, situation, w):
    """It grows with the weight, less than in proportion, and a little more weight makes a little longer step."""
    one, answer = step(name, *situation, **p), step(name, *situation, weight=w, **p)
    if one is not None and answer is not None and one[0] > 1e-250:
        low, high = sorted((one[0], w * one[0]))
        assert low * (1 - 1e-12) <= answer[0] <= high * (1 + 1e-12)
        close = step(name, *situation, weight=1 + 1e-9, **p)
        assert close == pytest.approx(one, rel=1e-7)


@pytest.mark.parametrize(
    ("rule", "log_likelihood", "p"), [("probit", log_ndtr, {"noise": 1.0}), ("logistic", log_expit, {})]
)
@pytest.mark.parametrize(("m", "v", "w"), [(0.0, 1.0, 2.0), (-1.0, 0.5, 3.0), (0.5, 1.0, 0.5), (-2.0, 0.1, 10.0)])
def test_a_weighted_step_is_near_that_of_the_exact_posterior(rule, log_likelihood, p, m, v, w):
    grid = np.linspace(m - 20 * sqrt(v), m + 20 * sqrt(v), 200001)
    log_posterior = w * log_likelihood(grid) - (grid - m) ** 2 / (2 * v)
    posterior = np.exp(log_posterior - log_posterior.max())
    mean = np.average(grid, weights=posterior)
    variance = np.average((grid - mean) ** 2, weights=posterior)
    alpha, zeta, scale = step(rule, m, v, weight=w, **p)
    assert alpha == pytest.approx((mean - m) / v, rel=0.05)
    assert zeta == pytest.approx(1 / variance - 1 / v, rel=0.05)
    assert scale == 1.0


@given(situations(), log_uniform(-6, 9))
def test_the_perceptron_multiplies_its_step_by_the_weight(situation, w):
    assert step("perceptron", *situation, weight=w) == ((w, 0.0, 1.0) if situation[0] <= 0 else None)


@law_of(list(CASES), examples=20)
def test_a_tiny_weight_gives_a_tiny_step(name, p, situation):
    answer = step(name, *situation, weight=1e-200, **p)
    if answer is not None:
        assert answer[0] <= 1e-180
        assert answer[1] <= 1e-150
        assert answer[2] == pytest.approx(1.0, abs=1e-190)


@given(situations(), parameters_of("iellip"), st.integers(0, 50))
def test_the_cuts_of_iellip_get_shallower_with_each_update(situation, p, updates):
    answer = step("iellip", *situation, updates=updates, **p)
    shallow = {**p, "c": max(p["c"] * p["b"] ** updates, 5e-324)}
    expected = step("iellip", *situation, **shallow)
    assert answer == (expected and pytest.approx(expected, rel=1e-13, abs=1e-300))


@given(situations(), parameters_of("cellip"))
def test_a_half_space_that_misses_the_ellipsoid_is_skipped_and_counted(situation, p):
    m, v = situation
    *numbers, infeasible = make_rule("cellip", **p).compiled.step(m, v, 1.0, 0.0)
    assert infeasible == (m <= 0 and p["a"] * p["gamma"] - m >= sqrt(v))
    if infeasible:
        assert step("cellip", m, v, **p) is None
        assert numbers == [0.0, 0.0, 1.0]
