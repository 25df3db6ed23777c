"""The rules: how far to move the Gaussian over weight vectors, given a margin and its variance.

Every rule is a small frozen dataclass of parameters. It knows two numbers, the margin's mean ``m`` and variance
``v``, and nothing of rows, arrays, labels or memory; the formula itself is compiled (``core/rules.hpp``) and stated
once more, plainly, in :mod:`confidently.reference`. `docs/mathematics.md` derives them.
"""

from __future__ import annotations

import math

from .ranges import POSITIVE, UNIT, Range, check_number
from .rule import ConfidenceRule, Rule, parameter


class Perceptron(Rule):
    """Rosenblatt's perceptron: a fixed step on every mistake."""

    name = "perceptron"
    acts_when = "m <= 0"
    formula = "alpha = 1"
    source = "Rosenblatt, Psychological Review 65, 1958"
    learns_precision = False


class PA(Rule):
    """Passive-aggressive: the least change that reaches margin 1."""

    name = "pa"
    acts_when = "m < 1"
    formula = "alpha = (1 - m)/v"
    source = "Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, JMLR 7, 2006"
    learns_precision = False


class PA1(Rule):
    """PA-I: passive-aggressive with a longest step ``C`` (hinge loss)."""

    name = "pa1"
    acts_when = "m < 1"
    formula = "alpha = min(C, (1 - m)/v)"
    source = PA.source
    learns_precision = False
    C: float = parameter(POSITIVE, "aggressiveness: the longest step", default=1.0)


class PA2(Rule):
    """PA-II: passive-aggressive with squared hinge loss."""

    name = "pa2"
    acts_when = "m < 1"
    formula = "alpha = (1 - m)/(v + 1/(2C))"
    source = PA.source
    learns_precision = False
    C: float = parameter(POSITIVE, "aggressiveness: weight of the loss", default=1.0)


class SOP(Rule):
    """Second-order perceptron: AROW with r = 1 behind a mistake gate; the prior variance plays 1/a."""

    name = "sop"
    acts_when = "m <= 0"
    formula = "alpha = (1 - m)/(1 + v), zeta = 1"
    source = "Cesa-Bianchi, Conconi & Gentile, SIAM J. Computing 34, 2005"


class CWStdev(ConfidenceRule):
    """Exact convex confidence-weighted learning: the margin must reach ``phi`` of its standard deviations.

    Minimises KL(new || old) subject to m >= phi sqrt(v).
    """

    name = "cw_stdev"
    acts_when = "m < phi sqrt(v)"
    formula = "alpha = (-m psi + sqrt(m^2 phi^4/4 + v phi^2 xi))/(v xi), zeta = alpha phi/sqrt(u)"
    source = "Crammer, Dredze & Pereira, NIPS 2008, eq. 12, 14, 15, 22"
    default_eta = 0.95


class CWVar(ConfidenceRule):
    """The first confidence-weighted rule, with the variance in place of the standard deviation."""

    name = "cw_var"
    acts_when = "m < phi v"
    formula = "alpha = (-(1 + 2 phi m) + sqrt((1 + 2 phi m)^2 - 8 phi (m - phi v)))/(4 phi v), zeta = 2 alpha phi"
    source = "Dredze, Crammer & Pereira, ICML 2008"
    default_eta = 0.95


class AROW(Rule):
    """Adaptive regularisation of weights: confidence grows with every example, noise only bends the mean."""

    name = "arow"
    acts_when = "m < 1"
    formula = "alpha = (1 - m)/(v + r), zeta = 1/r"
    source = "Crammer, Kulesza & Dredze, NIPS 2009"
    r: float = parameter(POSITIVE, "noise: large values trust single examples less", default=0.1)


class SCW1(ConfidenceRule):
    """Soft confidence-weighted learning with linear loss."""

    name = "scw1"
    acts_when = "m < phi sqrt(v)"
    formula = "alpha = min(C, alpha of cw_stdev), zeta = alpha phi/sqrt(u)"
    source = "Wang, Zhao & Hoi, ICML 2012"
    default_eta = 0.9
    C: float = parameter(POSITIVE, "weight of the loss: the longest step", default=1.0)


class SCW2(ConfidenceRule):
    """Soft confidence-weighted learning with squared loss."""

    name = "scw2"
    acts_when = "m < phi sqrt(v)"
    formula = "alpha = (-(2 m n + phi^2 m v) + g)/(2 (n^2 + n v phi^2)), n = v + 1/(2C), zeta = alpha phi/sqrt(u)"
    source = "Wang, Zhao & Hoi, ICML 2012"
    default_eta = 0.9
    C: float = parameter(POSITIVE, "weight of the squared loss", default=1.0)


class NHERD(Rule):
    """Normal herd: a Gaussian herd of classifiers, each moved by PA-II."""

    name = "nherd"
    acts_when = "m < 1"
    formula = "alpha = (1 - m)/(v + 1/C), zeta = 2C + C^2 v"
    source = "Crammer & Lee, NIPS 2010"
    C: float = parameter(POSITIVE, "aggressiveness", default=1.0)


class CELLIP(Rule):
    """Classical ellipsoid method: cut the ellipsoid by the example's half-space, keep one around the rest.

    It is the smallest such one as the number of features grows; the formula does without that number.

    Rows should have norm at most 1 and the prior variance be 1 + gamma (1 - a). An example whose half-space misses
    the ellipsoid (data not separable with that margin) is passed over and counted.
    """

    name = "cellip"
    acts_when = "m <= 0"
    formula = "t = (a gamma - m)/sqrt(v): alpha = t/sqrt(v), zeta = 2t/((1 - t) v), scale = 1 - t^2"
    source = "Yang, Jin & Ye, ICML 2009, eq. 10, 11"
    counts_misses = True
    gamma: float = parameter(POSITIVE, "margin", default=0.1)
    a: float = parameter(
        Range(0.0, 1.0, closed_low=True, closed_high=True), "share of the margin demanded of a cut", default=0.5
    )


class IELLIP(Rule):
    """Improved ellipsoid method: the cut of update k is c_k = c b^k, ever shallower, so that noise does no harm.

    Theorem 4 needs b + c < 1. The paper's experiments use a prior variance of 0.1.
    """

    name = "iellip"
    acts_when = "m <= 0"
    formula = "alpha = (gamma - m)/v, zeta = c_k/((1 - c_k) v), scale = 1/(1 - c_k)"
    source = "Yang, Jin & Ye, ICML 2009, eq. 10, 15"
    gamma: float = parameter(POSITIVE, "margin", default=0.1)
    b: float = parameter(UNIT, "decay of the cuts with each update", default=0.3)
    c: float = parameter(UNIT, "depth of the first cut", default=0.1)


class BayesPA(Rule):
    """Online Bayesian passive-aggressive learning, averaging classifier: PA-I with C = 2c at margin epsilon."""

    name = "bayespa"
    acts_when = "m < epsilon"
    formula = "alpha = min(2c, (epsilon - m)/v)"
    source = "Shi & Zhu, ICML 2014, Lemma 2.2"
    learns_precision = False
    c: float = parameter(POSITIVE, "weight of the loss", default=0.5)
    epsilon: float = parameter(Range(0.0, math.inf, closed_low=True), "margin", default=1.0)


class GibbsPA(Rule):
    """BayesPA with Gibbs classifiers, by data augmentation: learns from every example, less from easy ones."""

    name = "gibbs_pa"
    acts_when = "always"
    formula = "a = c/sqrt((epsilon - m')^2 + v'): alpha = (c + a (epsilon - m))/(1 + a v), zeta = a"
    source = "Shi & Zhu, ICML 2014, Appendix B, in closed form"
    c: float = parameter(POSITIVE, "weight of the loss", default=8.0)
    epsilon: float = BayesPA.__dataclass_fields__["epsilon"]


class GibbsPAExact(Rule):
    """The same posterior as ``GibbsPA``, by its exact mean and variance along the example."""

    name = "gibbs_pa_exact"
    acts_when = "always"
    formula = "mean and variance of N(m, v) exp(-2c (epsilon - margin)_+)"
    source = "moments of Shi & Zhu's (ICML 2014) posterior, Appendix B, without augmentation"
    c: float = parameter(POSITIVE, "weight of the loss", default=8.0)
    epsilon: float = BayesPA.__dataclass_fields__["epsilon"]


class Probit(Rule):
    """Probit regression by assumed-density filtering, as in AdPredictor."""

    name = "probit"
    acts_when = "always"
    formula = "s^2 = noise^2 + v, V = N(m/s)/Phi(m/s): alpha = V/s, W = V (V + m/s)/s^2, zeta = W/(1 - W v)"
    source = "Graepel, Quinonero Candela, Borchert & Herbrich, ICML 2010"
    noise: float = parameter(POSITIVE, "standard deviation of the noise on the score", default=0.1)


RULES: dict[str, type[Rule]] = {
    cls.name: cls
    for cls in (Perceptron, PA, PA1, PA2, SOP, CWStdev, CWVar, AROW, SCW1, SCW2, NHERD, CELLIP, IELLIP, BayesPA,
                GibbsPA, GibbsPAExact, Probit)
}  # fmt: skip


def make_rule(rule: str | Rule, **parameters: float) -> Rule:
    """A rule from its name or from a rule, with some parameters set.

    Parameters
    ----------
    rule : str or Rule
        One of ``confidently.RULES``, or an instance.
    **parameters : float
        Parameters to set.

    Returns
    -------
    Rule

    Raises
    ------
    ValueError
        For an unknown name, an unknown parameter or a value out of its range; the message lists what is allowed.

    Examples
    --------
    >>> make_rule("arow", r=1.0)
    AROW(r=1.0)
    """
    if isinstance(rule, str):
        if rule not in RULES:
            raise ValueError(f"no rule is called {rule!r}; there are {', '.join(RULES)}")
        rule = RULES[rule]()
    elif not isinstance(rule, Rule):
        raise TypeError(f"rule must be a name ({', '.join(RULES)}) or a rule such as AROW(r=0.1), got {rule!r}")
    return rule.with_params(**parameters) if parameters else rule


def step(
    rule: str | Rule, margin: float, variance: float, *, weight: float = 1.0, updates: int = 0, **parameters: float
) -> tuple[float, float, float] | None:
    """What a rule does with a margin: the update's three numbers, from the compiled core.

    mean <- mean + alpha y Sigma x;  Sigma^-1 <- (Sigma^-1 + zeta x x')/scale.

    Parameters
    ----------
    rule : str or Rule
        A rule or its name.
    margin : float
        m = y mean.x, signed: negative means the example is classified wrongly.
    variance : float
        v = x' Sigma x > 0, variance of the margin.
    weight : float
        Weight of the example, >= 0.
    updates : int
        Updates made before this one (IELLIP's cuts get shallower with them).
    **parameters : float
        Parameters of the rule, as in :func:`make_rule`.

    Returns
    -------
    (alpha, zeta, scale) or None
        None: the rule passes the example over.

    Raises
    ------
    ValueError
        If the margin is not finite, the variance not positive and finite, or the weight or updates negative.

    Examples
    --------
    >>> step("arow", 0.5, 1.0, r=1.0)
    (0.25, 1.0, 1.0)
    >>> step("arow", 1.5, 1.0) is None
    True
    """
    compiled = make_rule(rule, **parameters).compiled
    check_number("step", "margin", margin, Range(-math.inf, math.inf))
    check_number("step", "variance", variance, POSITIVE)
    check_number("step", "weight", weight, Range(0.0, math.inf, closed_low=True))
    check_number("step", "updates", updates, Range(0.0, math.inf, closed_low=True))
    if weight == 0.0:
        return None
    alpha, zeta, scale, _ = compiled.step(margin, variance, weight, updates)
    return (alpha, zeta, scale) if alpha or zeta else None
