"""One table of all rules for the property tests: where each acts, its parameters, what holds after its step."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import copysign, hypot, sqrt
from typing import Any

from hypothesis import strategies as st

from confidently import make_rule, step


def log_uniform(low, high):
    """Powers of ten from 10**low to 10**high, evenly in the exponent."""
    return st.floats(low, high).map(lambda e: 10.0**e)


# Margins of every size and nearness to 0 and 1, from a number x in [-1, 1] and the variance.
MARGINS = [
    lambda x, v: 1000.0 * x,
    lambda x, v: 1.0 + x,
    lambda x, v: 50.0 * x**3 * sqrt(v),
    lambda x, v: copysign(10.0 ** (12.0 * abs(x) - 9.0), x),
    lambda x, v: round(2.0 * x) / 2.0,
]


def situations():
    """Margin in [-1e3, 1e3], variance in [1e-12, 1e12]."""

    def situation(drawn):
        margin, x, v = drawn
        return min(max(margin(x, v), -1e3), 1e3), v

    return st.tuples(st.sampled_from(MARGINS), st.floats(-1, 1), log_uniform(-12, 12)).map(situation)


@dataclass(frozen=True)
class After:
    """A step and what it leads to: m1 = m + alpha v and v1 = scale v/(1 + zeta v), rounded only once."""

    m: float
    v: float
    p: dict[str, float]
    alpha: float
    zeta: float
    scale: float

    @property
    def m1(self):
        return float(Fraction(self.m) + Fraction(self.alpha) * Fraction(self.v))

    @property
    def v1(self):
        v = Fraction(self.v)
        return float(Fraction(self.scale) * v / (1 + Fraction(self.zeta) * v))

    @property
    def gained(self):
        return 1 + Fraction(self.zeta) * Fraction(self.v)


def phi_of(p):
    return p["phi"] if p.get("phi") is not None else make_rule("cw_stdev", eta=p["eta"]).quantile


def below(threshold):
    return lambda m, v, p: m < threshold(v, p)


def within_deviations(of):
    """Steps fade beyond the margin: surely there until 30 deviations, underflowed after 45."""

    def acts(m, v, p):
        t = of(m, v, p)
        return True if t < 30 else False if t > 45 else None

    return acts


def mistake(m, v, p):
    return m <= 0


def demanded(v, p):
    return phi_of(p) * sqrt(v)


# What holds after a step, as pairs of equal numbers; the size the difference is measured in is the third.
def capped(limit, target):
    """The step is the longest allowed or reaches the target margin."""
    return lambda a: [(a.alpha, limit(a.p), 0.0)] if a.alpha >= limit(a.p) else [(a.m1, target(a.p), abs(a.m))]


def gains(a, share):
    return (float(a.gained - 1), share, 0.0)


def cw_gain(a):
    """1/v' = 1/v + alpha phi/sqrt(v')"""
    return gains(a, a.alpha * phi_of(a.p) * a.v / sqrt(a.v1))


def cw_reached(a):
    return (a.m1, phi_of(a.p) * sqrt(a.v1), abs(a.m))


def after_scw1(a):
    return [cw_gain(a), cw_reached(a) if a.alpha < a.p["C"] else (a.alpha, a.p["C"], 0.0)]


def after_scw2(a):
    """alpha is the slope 2C loss of the squared loss that remains."""
    remains = phi_of(a.p) * sqrt(a.v1)
    return [cw_gain(a), (a.m1 + a.alpha / (2 * a.p["C"]), remains, abs(a.m) + remains)]


def after_gibbs(a):
    """zeta = c/sqrt((epsilon - m')^2 + v'), and alpha = c + zeta (epsilon - m')."""
    c, epsilon = a.p["c"], a.p["epsilon"]
    left = float(Fraction(epsilon) - Fraction(a.m) - Fraction(a.alpha) * Fraction(a.v))
    spread = hypot(left, sqrt(a.v1))
    rounding = (abs(epsilon) + abs(a.m)) / spread  # of left, the difference of larger numbers
    return [(a.zeta * spread, c, c * rounding), (a.alpha, c + a.zeta * left, c * (1 + rounding))]


def after_cellip(a):
    """The cut plane goes through the new centre, and the far end of the ellipsoid stays where it is."""
    end, t = a.m + sqrt(a.v), (a.p["a"] * a.p["gamma"] - a.m) / sqrt(a.v)
    depth = 1 / (1 - t)  # digits are lost as the cut nears the far end
    size = depth * (abs(a.m) + sqrt(a.v))
    return [(a.m1, a.p["a"] * a.p["gamma"], abs(a.m)), (a.m1 + sqrt(a.v1), end, size), (a.scale, 1 - t * t, 1.0)]


def after_iellip(a):
    return [(a.m1, a.p["gamma"], abs(a.m)), (a.v1, a.v, 0.0), (a.scale, 1 / (1 - a.p["c"]), 0.0)]


@dataclass(frozen=True)
class Case:
    """A rule's parameters, where it acts (None: not said) and what holds after its step."""

    acts: Callable[[float, float, dict[str, float]], bool | None]
    after: Callable[[After], list[tuple[float, float, float]]] | None  # None: see test_rule_moments.py
    parameters: dict[str, Any]
    loss: str | None = None  # the parameter that the weight of an example multiplies (divides: r); None for hard rules


WIDE = log_uniform(-6, 6)
CONFIDENCE = st.one_of(
    st.floats(0.5, 1.0, exclude_min=True, exclude_max=True).map(lambda eta: {"eta": eta}),
    log_uniform(-6, 2).map(lambda phi: {"phi": phi}),
)
MARGIN = st.one_of(st.sampled_from([0.0, 1.0]), log_uniform(-6, 3))
UNIT = st.floats(1e-6, 1.0, exclude_max=True)
GIBBS = {"c": WIDE, "epsilon": MARGIN}

CASES = {
    "perceptron": Case(mistake, lambda a: [(a.alpha, 1.0, 0.0)], {}),
    "pa": Case(below(lambda v, p: 1.0), lambda a: [(a.m1, 1.0, abs(a.m))], {}),
    "pa1": Case(below(lambda v, p: 1.0), capped(lambda p: p["C"], lambda p: 1.0), {"C": WIDE}, "C"),
    "pa2": Case(
        below(lambda v, p: 1.0), lambda a: [(a.m1 + a.alpha / (2 * a.p["C"]), 1.0, abs(a.m))], {"C": WIDE}, "C"
    ),
    "sop": Case(mistake, lambda a: [(a.m1 + a.alpha, 1.0, abs(a.m)), gains(a, a.v)], {}),
    "cw_stdev": Case(below(demanded), lambda a: [cw_gain(a), cw_reached(a)], {"confidence": CONFIDENCE}),
    "cw_var": Case(
        below(lambda v, p: phi_of(p) * v),
        lambda a: [gains(a, 2 * a.alpha * phi_of(a.p) * a.v), (a.m1, phi_of(a.p) * a.v1, abs(a.m))],
        {"confidence": CONFIDENCE},
    ),
    "arow": Case(
        below(lambda v, p: 1.0),
        lambda a: [(a.m1 + a.alpha * a.p["r"], 1.0, abs(a.m)), gains(a, a.v / a.p["r"])],
        {"r": WIDE},
        "r",
    ),
    "scw1": Case(below(demanded), after_scw1, {"confidence": CONFIDENCE, "C": WIDE}, "C"),
    "scw2": Case(below(demanded), after_scw2, {"confidence": CONFIDENCE, "C": WIDE}, "C"),
    "nherd": Case(
        below(lambda v, p: 1.0),
        lambda a: [
            (a.m1 + a.alpha / a.p["C"], 1.0, abs(a.m)),
            (float(a.gained), (1 + a.p["C"] * a.v) ** 2, 0.0),
        ],
        {"C": WIDE},
        "C",
    ),
    "cellip": Case(
        lambda m, v, p: m <= 0 and 0 < p["a"] * p["gamma"] - m < sqrt(v),
        after_cellip,
        {"gamma": log_uniform(-6, 3), "a": st.floats(0.0, 1.0)},
    ),
    "iellip": Case(mistake, after_iellip, {"gamma": log_uniform(-6, 3), "b": UNIT, "c": UNIT}),
    "bayespa": Case(below(lambda v, p: p["epsilon"]), capped(lambda p: 2 * p["c"], lambda p: p["epsilon"]), GIBBS, "c"),
    "gibbs_pa": Case(lambda m, v, p: True, after_gibbs, GIBBS, "c"),
    "gibbs_pa_exact": Case(within_deviations(lambda m, v, p: (m - p["epsilon"]) / sqrt(v)), None, GIBBS, "c"),
    "probit": Case(within_deviations(lambda m, v, p: m / hypot(p["noise"], sqrt(v))), None, {"noise": WIDE}),
}


def parameters_of(name):
    """Parameters of a rule, over wide ranges."""
    drawn = st.fixed_dictionaries(CASES[name].parameters)
    return drawn.map(lambda p: {**p.pop("confidence", {}), **p})


def after(name, m, v, p):
    """The step of a rule with what it leads to, or None."""
    answer = step(name, m, v, **p)
    return None if answer is None else After(m, v, p, *answer)
