"""Rules as values: parameters in their ranges, equality, copies; and the arguments that `step` rejects."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from math import inf, nan, sqrt
from statistics import NormalDist

import numpy as np
import pytest

from confidently import RULES, make_rule, step
from tests.tables.rule_cases import RANGES

PAIRS = [(name, f.name) for name, cls in RULES.items() for f in fields(cls)]
EVERY_RULE = pytest.mark.parametrize("name", list(RULES))
EVERY_PARAMETER = pytest.mark.parametrize(("name", "parameter"), PAIRS)


def range_of(name, parameter):
    assert parameter in RANGES, f"enter the range of {parameter} in tests/tables/rule_cases.py"
    return RANGES.get((name, parameter)) or RANGES[parameter]


@EVERY_PARAMETER
def test_a_value_out_of_range_is_rejected_with_the_range(name, parameter):
    allowed, outside, inside = range_of(name, parameter)
    for value in outside:
        for build in (RULES[name], RULES[name]().with_params, lambda **p: make_rule(name, **p)):
            with pytest.raises(ValueError) as error:
                build(**{parameter: value})
            assert f"{RULES[name].__name__}: {parameter} must be in {allowed}, got {value!r}" == str(error.value)
    for value in inside:
        assert getattr(make_rule(name, **{parameter: value}), parameter) == value


@EVERY_PARAMETER
def test_a_value_that_is_no_number_is_rejected_with_the_range(name, parameter):
    allowed = range_of(name, parameter)[0]
    values = ["0.7", True, np.True_, 0.7j, [0.7], np.array([0.7, 0.7])]
    for value in values + [None] * (parameter not in ("eta", "phi")):
        with pytest.raises(TypeError) as error:
            RULES[name](**{parameter: value})
        assert f"{parameter} must be a number in {allowed}" in str(error.value)


@EVERY_PARAMETER
def test_numbers_of_any_type_are_accepted(name, parameter):
    plain = step(name, -0.01, 1.0, **{parameter: 0.75})
    for value in (np.float32(0.75), np.float64(0.75), Fraction(3, 4)):
        assert step(name, -0.01, 1.0, **{parameter: value}) == plain


@EVERY_RULE
def test_an_unknown_parameter_is_rejected_with_the_known_ones(name):
    known = ", ".join(f.name for f in fields(RULES[name]))
    for build in (lambda **p: make_rule(name, **p), RULES[name]().with_params, lambda **p: step(name, 0.0, 1.0, **p)):
        with pytest.raises(ValueError) as error:
            build(nonsense=1.0)
        assert "'nonsense'" in str(error.value)
        assert str(error.value).endswith(f"expected {known}" if known else f"{name} has no parameters")
    with pytest.raises(TypeError, match="nonsense"):
        RULES[name](nonsense=1.0)


@pytest.mark.parametrize("rule", ["nonsense", "AROW", ""])
def test_an_unknown_rule_is_rejected_with_the_known_ones(rule):
    with pytest.raises(ValueError, match=rf"'{rule}'.*{', '.join(RULES)}"):
        make_rule(rule)


@pytest.mark.parametrize("rule", [None, 3, RULES["arow"], b"arow"])
def test_a_value_that_is_no_rule_is_rejected(rule):
    with pytest.raises(TypeError, match="arow"):
        make_rule(rule)


@pytest.mark.parametrize("name", ["cw_stdev", "cw_var", "scw1", "scw2"])
def test_confidence_is_set_once(name):
    for build in (RULES[name], lambda **p: make_rule(name, **p)):
        with pytest.raises(ValueError, match=r"eta and phi are mutually exclusive, got eta=0\.9, phi=1\.5; use one"):
            build(eta=0.9, phi=1.5)
    default = RULES[name]()
    assert default == RULES[name](eta=RULES[name].default_eta) == RULES[name](eta=None, phi=None)
    by_phi = default.with_params(phi=1.5)
    assert (by_phi.phi, by_phi.eta, by_phi.quantile) == (1.5, None, 1.5)
    by_eta = by_phi.with_params(eta=0.9)
    assert (by_eta.phi, by_eta.eta) == (None, 0.9)
    # The quantile, not the distribution function that others ship.
    assert NormalDist().cdf(by_eta.quantile) == pytest.approx(0.9, rel=1e-12)
    answer = step(name, -0.5, 2.0, phi=by_eta.quantile)
    assert step(by_eta, -0.5, 2.0) == answer == step(by_phi, -0.5, 2.0, eta=0.9)


@EVERY_RULE
def test_rules_are_values(name):
    rule = make_rule(name)
    changed = [rule.with_params(**{f.name: 0.75}) for f in fields(rule)]
    assert rule == RULES[name]() == rule.with_params()
    assert hash(rule) == hash(RULES[name]())
    assert len({rule, RULES[name](), *changed}) == 1 + len(changed)
    assert rule.compiled is rule.compiled
    for same in (pickle.loads(pickle.dumps(rule)), copy.copy(rule), copy.deepcopy(rule), make_rule(rule)):
        assert same == rule
        assert hash(same) == hash(rule)
        assert same.get_params() == rule.get_params() == {f.name: getattr(rule, f.name) for f in fields(rule)}
        assert step(same, -0.01, 2.0) == step(rule, -0.01, 2.0)
    assert all(rule != make_rule(other) for other in RULES if other != name)
    for f in fields(rule):
        with pytest.raises(FrozenInstanceError, match="use with_params"):
            setattr(rule, f.name, 0.75)
        with pytest.raises(FrozenInstanceError, match="cannot be deleted"):
            delattr(rule, f.name)


@EVERY_RULE
def test_a_rule_describes_itself(name):
    rule = make_rule(name)
    assert rule.name == name
    assert all(isinstance(text, str) and text for text in (rule.acts_when, rule.formula, rule.source, rule.__doc__))
    assert rule.learns_precision == (step(rule, -0.01, 1.0)[1] > 0)
    assert rule.counts_misses == rule.compiled.step(-1e3, 1e-3, 1.0, 0.0)[3]


@EVERY_PARAMETER
def test_every_parameter_matters(name, parameter):
    situations = [(-0.01, 1.0, 0), (-0.01, 1.0, 3), (-0.9, 5.0, 0), (0.5, 0.1, 0)]
    rules = [make_rule(name, **{parameter: value}) for value in (0.65, 0.85)]
    first, second = ([step(rule, m, v, updates=k) for m, v, k in situations] for rule in rules)
    assert first != second


OUT_OF_RANGE = [
    ({"margin": value}, "(-inf, inf)") for value in (nan, inf, -inf)
] + [
    ({"variance": value}, "(0, inf)") for value in (nan, inf, 0, -1.0)
] + [
    ({name: value}, "[0, inf)") for name in ("weight", "updates") for value in (nan, inf, -1e-300, -1)
]  # fmt: skip


@EVERY_RULE
@pytest.mark.parametrize(("changes", "allowed"), OUT_OF_RANGE)
def test_step_rejects_values_out_of_range(name, changes, allowed):
    with pytest.raises(ValueError) as error:
        step(name, **{"margin": 0.0, "variance": 1.0, **changes})
    assert f"step: {next(iter(changes))} must be in {allowed}" in str(error.value)


@pytest.mark.parametrize("argument", ["margin", "variance", "weight", "updates"])
@pytest.mark.parametrize("value", ["1", None, True, [1.0], 1j])
def test_step_rejects_values_that_are_no_numbers(argument, value):
    with pytest.raises(TypeError, match=f"step: {argument} must be a number in"):
        step("arow", **{"margin": 0.0, "variance": 1.0, argument: value})


def test_a_weight_of_zero_hides_no_mistake():
    assert step("arow", 0.0, 1.0, weight=0) is None
    with pytest.raises(ValueError, match=r"r must be in \(0, inf\)"):
        step("arow", 0.0, 1.0, weight=0, r=-1)


def test_the_worked_examples():
    assert step("arow", 0.5, 1.0, r=1.0) == (0.25, 1.0, 1.0)
    assert step("pa", -1.0, 4.0) == (0.5, 0.0, 1.0)
    assert step("probit", 0.0, 3.0, noise=1.0)[0] == pytest.approx(sqrt(2 / np.pi) / 2, rel=1e-15)
