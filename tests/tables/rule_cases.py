"""One table of all rules for the tests: the formula as its paper prints it, where it acts, what holds after its step.

The formulas are the specification that the compiled rules are compared with, and share nothing with them. A new rule is
one entry here; a new parameter is one more in :data:`RANGES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import copysign, exp, hypot, inf, log, nan, pi, sqrt
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import log_ndtr

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


def one(v, p):
    return 1.0


def inside_the_ellipsoid(m, v, p):
    return m <= 0 and 0 < p["a"] * p["gamma"] - m < sqrt(v)


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


def after_cw_var(a):
    return [gains(a, 2 * a.alpha * phi_of(a.p) * a.v), (a.m1, phi_of(a.p) * a.v1, abs(a.m))]


def after_arow(a):
    return [(a.m1 + a.alpha * a.p["r"], 1.0, abs(a.m)), gains(a, a.v / a.p["r"])]


def after_nherd(a):
    return [(a.m1 + a.alpha / a.p["C"], 1.0, abs(a.m)), (float(a.gained), (1 + a.p["C"] * a.v) ** 2, 0.0)]


# --- the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A rule's formula, where it acts (None: not specified), what holds after its step, its parameters."""

    formula: Callable[[float, float, float, int, Any], tuple[float, float, float] | None]
    acts: Callable[[float, float, dict[str, float]], bool | None]
    after: Callable[[After], list[tuple[float, float, float]]] | None  # None: see test_rule_moments.py
    parameters: dict[str, Any]


CASES: dict[str, Case] = {}


def case(acts, after, **parameters):
    """Enter a formula, a function with the name of its rule, into :data:`CASES`.

    The formula returns alpha, zeta and scale for the margin m, its variance v, the weight w of the example, k updates
    so far and the parameters p; or None, where the rule does not act. phi, psi and xi of the confidence are among p.
    """

    def enter(formula):
        CASES[formula.__name__] = Case(formula, acts, after, parameters)
        return formula

    return enter


WIDE = log_uniform(-6, 6)
CONFIDENCE = st.one_of(
    st.floats(0.5, 1.0, exclude_min=True, exclude_max=True).map(lambda eta: {"eta": eta}),
    log_uniform(-6, 2).map(lambda phi: {"phi": phi}),
)
MARGIN = st.one_of(st.sampled_from([0.0, 1.0]), log_uniform(-6, 3))
UNIT = st.floats(1e-6, 1.0, exclude_max=True)

# Parameter -> its range as messages print it, values outside, values inside.
POSITIVE = ("(0, inf)", [0, -1, inf, -inf, nan, 10**400], [1e-300, 1, 1e300])
OPEN_UNIT = ("(0, 1)", [0, 1, -0.5, 1.5, nan], [1e-300, 0.999])
RANGES = {
    "C": POSITIVE,
    "r": POSITIVE,
    "phi": POSITIVE,
    "gamma": POSITIVE,
    "noise": POSITIVE,
    "eta": ("(0.5, 1)", [0.5, 1, 0, -1, 2, nan, inf], [0.500001, 0.999]),
    "a": ("[0, 1]", [-1e-9, 1.0000001, nan, inf], [0, 0.5, 1]),
    "epsilon": ("[0, inf)", [-1e-9, inf, nan], [0, 1, 1e300]),
    "b": OPEN_UNIT,
    "c": POSITIVE,
    ("iellip", "c"): OPEN_UNIT,
}


def weighted(w, alpha, zeta=0.0, scale=1.0):
    """The step of a hard rule: the weight of the example, if less than 1, multiplies all of it."""
    u = min(w, 1.0)
    return u * alpha, u * zeta, scale**u


@case(acts=mistake, after=lambda a: [(a.alpha, 1.0, 0.0)])
def perceptron(m, v, w, k, p):
    return (w, 0.0, 1.0) if m <= 0 else None


@case(acts=below(one), after=lambda a: [(a.m1, 1.0, abs(a.m))])
def pa(m, v, w, k, p):
    return weighted(w, (1 - m) / v) if m < 1 else None


@case(acts=below(one), after=capped(lambda p: p["C"], lambda p: 1.0), C=WIDE)
def pa1(m, v, w, k, p):
    return (min(w * p.C, (1 - m) / v), 0.0, 1.0) if m < 1 else None


@case(acts=below(one), after=lambda a: [(a.m1 + a.alpha / (2 * a.p["C"]), 1.0, abs(a.m))], C=WIDE)
def pa2(m, v, w, k, p):
    return ((1 - m) / (v + 1 / (2 * w * p.C)), 0.0, 1.0) if m < 1 else None


@case(acts=mistake, after=lambda a: [(a.m1 + a.alpha, 1.0, abs(a.m)), gains(a, a.v)])
def sop(m, v, w, k, p):
    return ((1 - m) / (v + 1 / w), w, 1.0) if m <= 0 else None


def cw_alpha(m, v, p):
    return (-m * p.psi + sqrt(m**2 * p.phi**4 / 4 + v * p.phi**2 * p.xi)) / (v * p.xi)


def cw_zeta(alpha, v, phi):
    # sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4v))/2, rewritten: as it stands it cancels to 0 for large alpha
    sqrt_u = 2 * v / (alpha * v * phi + sqrt(alpha**2 * v**2 * phi**2 + 4 * v))
    return alpha * phi / sqrt_u


@case(acts=below(demanded), after=lambda a: [cw_gain(a), cw_reached(a)], confidence=CONFIDENCE)
def cw_stdev(m, v, w, k, p):
    if m >= p.phi * sqrt(v):
        return None
    alpha = cw_alpha(m, v, p)
    return weighted(w, alpha, cw_zeta(alpha, v, p.phi))


@case(acts=below(lambda v, p: phi_of(p) * v), after=after_cw_var, confidence=CONFIDENCE)
def cw_var(m, v, w, k, p):
    if m >= p.phi * v:
        return None
    b = 1 + 2 * p.phi * m
    alpha = (-b + sqrt(b**2 - 8 * p.phi * (m - p.phi * v))) / (4 * p.phi * v)
    return weighted(w, alpha, 2 * alpha * p.phi)


@case(acts=below(one), after=after_arow, r=WIDE)
def arow(m, v, w, k, p):
    return ((1 - m) / (v + p.r / w), w / p.r, 1.0) if m < 1 else None


@case(acts=below(demanded), after=after_scw1, confidence=CONFIDENCE, C=WIDE)
def scw1(m, v, w, k, p):
    if m >= p.phi * sqrt(v):
        return None
    alpha = min(w * p.C, cw_alpha(m, v, p))
    return alpha, cw_zeta(alpha, v, p.phi), 1.0


@case(acts=below(demanded), after=after_scw2, confidence=CONFIDENCE, C=WIDE)
def scw2(m, v, w, k, p):
    if m >= p.phi * sqrt(v):
        return None
    n = v + 1 / (2 * w * p.C)
    g = p.phi * sqrt(p.phi**2 * m**2 * v**2 + 4 * n * v * (n + v * p.phi**2))
    alpha = (-(2 * m * n + p.phi**2 * m * v) + g) / (2 * (n**2 + n * v * p.phi**2))
    return alpha, cw_zeta(alpha, v, p.phi), 1.0


@case(acts=below(one), after=after_nherd, C=WIDE)
def nherd(m, v, w, k, p):
    C = w * p.C
    return ((1 - m) / (v + 1 / C), 2 * C + C**2 * v, 1.0) if m < 1 else None


@case(acts=inside_the_ellipsoid, after=after_cellip, gamma=log_uniform(-6, 3), a=st.floats(0.0, 1.0))
def cellip(m, v, w, k, p):
    t = (p.a * p.gamma - m) / sqrt(v)
    return weighted(w, t / sqrt(v), 2 * t / ((1 - t) * v), 1 - t**2) if m <= 0 and t < 1 else None


@case(acts=mistake, after=after_iellip, gamma=log_uniform(-6, 3), b=UNIT, c=UNIT)
def iellip(m, v, w, k, p):
    ck = p.c * p.b**k
    return weighted(w, (p.gamma - m) / v, ck / ((1 - ck) * v), 1 / (1 - ck)) if m <= 0 else None


def after_iellip_margin(a):
    return [
        ((a.m1 - a.m) / sqrt(a.v), a.p["gamma"], abs(a.m) / sqrt(a.v)),
        (a.v1, a.v, 0.0),
        (a.scale, 1 / (1 - a.p["b"]), 0.0),
    ]


@case(acts=below(lambda v, p: p["gamma"]), after=after_iellip_margin, gamma=log_uniform(-6, 3), b=UNIT)
def iellip_margin(m, v, w, k, p):
    ck = p.b ** (k + 1)
    return weighted(w, p.gamma / sqrt(v), ck / ((1 - ck) * v), 1 / (1 - ck)) if m < p.gamma else None


@case(
    acts=below(lambda v, p: p["epsilon"]),
    after=capped(lambda p: 2 * p["c"], lambda p: p["epsilon"]),
    c=WIDE,
    epsilon=MARGIN,
)
def bayespa(m, v, w, k, p):
    return (min(2 * w * p.c, (p.epsilon - m) / v), 0.0, 1.0) if m < p.epsilon else None


@case(acts=lambda m, v, p: True, after=after_gibbs, c=WIDE, epsilon=MARGIN)
def gibbs_pa(m, v, w, k, p):
    # zeta solves zeta^2 ((epsilon - m')^2 + v') = c^2 with m', v' after the step
    c = w * p.c

    def gap(a):
        d = (p.epsilon - m - c * v) / (1 + a * v)
        return a**2 * (d**2 + v / (1 + a * v)) - c**2

    high = 1.0
    while gap(high) < 0:
        high *= 2
    zeta = brentq(gap, 0, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    return (c + zeta * (p.epsilon - m)) / (1 + zeta * v), zeta, 1.0


@case(acts=within_deviations(lambda m, v, p: (m - p["epsilon"]) / sqrt(v)), after=None, c=WIDE, epsilon=MARGIN)
def gibbs_pa_exact(m, v, w, k, p):
    c, s = w * p.c, sqrt(v)
    log_a = log_ndtr((m - p.epsilon) / s)
    log_b = -2 * c * (p.epsilon - m) + 2 * c**2 * v + log_ndtr((p.epsilon - m - 2 * c * v) / s)
    if log_a - log_b > log(np.finfo(float).max):  # the odds of a step underflow: there is none
        return None
    log_z = np.logaddexp(log_a, log_b)
    density = exp(-((p.epsilon - m) ** 2) / (2 * v) - log(2 * pi * v) / 2 - log_z)
    r, rest = exp(log_b - log_z), exp(log_a - log_z)
    kappa = min(max(2 * c * density - 4 * c**2 * r * rest, 0.0), (1 - 1e-12) / v)
    return 2 * c * r, kappa / (1 - kappa * v), 1.0


@case(acts=within_deviations(lambda m, v, p: m / hypot(p["noise"], sqrt(v))), after=None, noise=WIDE)
def probit(m, v, w, k, p):
    s = sqrt(p.noise**2 + v)

    def hazard(t):
        return exp(-(t**2) / 2 - log(2 * pi) / 2 - log_ndtr(t))

    def gap(alpha):
        return alpha - w * hazard((m + (1 - 1 / w) * alpha * v) / s) / s

    alpha = hazard(m / s) / s
    if w != 1:  # by copies of the row: the last of w copies sees the others
        high = alpha
        while gap(high) < 0:
            high *= 2
        alpha = brentq(gap, 0, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    t = (m + (1 - 1 / w) * alpha * v) / s
    V = hazard(t)
    W = min(max(V * (V + t) / s**2, 0.0), (1 - 1e-12) / v)
    return alpha, w * W / (1 - W * v), 1.0


@case(acts=within_deviations(lambda m, v, p: m / sqrt(v + 1 / 0.36403**2)), after=None)
def logistic(m, v, w, k, p):
    # a mixture of three probits, of which only the side above -v/2 is used
    weights, s = np.array([0.2522, 0.58522, 0.16258]), np.sqrt(np.array([0.90793, 0.57778, 0.36403]) ** -2.0 + v)

    def derivatives(m):
        tail = m < -v / 2
        t = (-m - v if tail else m) / s
        log_parts = np.log(weights) + log_ndtr(t)
        parts = np.exp(log_parts - np.logaddexp.reduce(log_parts))
        V = np.exp(-(t**2) / 2 - log(2 * pi) / 2 - log_ndtr(t))
        alpha = float(parts @ (V / s))
        kappa = float(parts @ (V * (V + t) / s**2) - parts @ (V / s - alpha) ** 2)
        return 1 - alpha if tail else alpha, min(max(kappa, 0.0), (1 - 1e-12) / v)

    def gap(alpha):
        return alpha - w * derivatives(m + (1 - 1 / w) * alpha * v)[0]

    alpha = derivatives(m)[0]
    if w != 1:  # by copies of the row: the last of w copies sees the others
        alpha = brentq(gap, 0, w, xtol=1e-300, rtol=1e-15, maxiter=1000)
    kappa = derivatives(m + (1 - 1 / w) * alpha * v)[1]
    return alpha, w * kappa / (1 - kappa * v), 1.0


def parameters_of(name):
    """Parameters of a rule, over wide ranges."""
    drawn = st.fixed_dictionaries(CASES[name].parameters)
    return drawn.map(lambda p: {**p.pop("confidence", {}), **p})


def after(name, m, v, p):
    """The step of a rule with what it leads to, or None."""
    answer = step(name, m, v, **p)
    return None if answer is None else After(m, v, p, *answer)
