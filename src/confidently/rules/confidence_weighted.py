"""Confidence-weighted rules and their relatives."""

from __future__ import annotations

from .ranges import POSITIVE
from .rule import ConfidenceRule, Rule, parameter

__all__ = ["AROW", "NHERD", "SCW1", "SCW2", "SOP", "CWStdev", "CWVar"]


class SOP(Rule):
    """Second-order perceptron: AROW with r = 1 on mistakes only; the prior variance is the 1/a of the paper."""

    name = "sop"
    wanders = True
    acts_when = "m <= 0"
    formula = "alpha = (1 - m)/(1 + v), zeta = 1"
    source = "Cesa-Bianchi, Conconi & Gentile, SIAM J. Computing 34, 2005"
    weight = "alpha = (1 - m)/(v + 1/w), zeta = w"


class CWStdev(ConfidenceRule):
    """Exact convex confidence-weighted learning: the margin must reach ``phi`` standard deviations.

    Minimizes KL(new || old) subject to m >= phi sqrt(v).
    """

    name = "cw_stdev"
    wanders = True
    acts_when = "m < phi sqrt(v)"
    formula = "alpha = (-m psi + sqrt(m^2 phi^4/4 + v phi^2 xi))/(v xi), zeta = alpha phi/sqrt(u)"
    source = "Crammer, Dredze & Pereira, NIPS 2008, eq. 12, 14, 15, 22"
    default_eta = 0.95
    eta_grid = (0.6, 0.8, 0.95, 0.99)


class CWVar(ConfidenceRule):
    """Original confidence-weighted rule, with the variance instead of the standard deviation."""

    name = "cw_var"
    wanders = True
    acts_when = "m < phi v"
    formula = "alpha = (-(1 + 2 phi m) + sqrt((1 + 2 phi m)^2 - 8 phi (m - phi v)))/(4 phi v), zeta = 2 alpha phi"
    source = "Dredze, Crammer & Pereira, ICML 2008"
    default_eta = 0.95
    eta_grid = (0.6, 0.8, 0.95, 0.99)


class AROW(Rule):
    """Adaptive regularization of weights, robust to label noise."""

    name = "arow"
    acts_when = "m < 1"
    formula = "alpha = (1 - m)/(v + r), zeta = 1/r"
    source = "Crammer, Kulesza & Dredze, NIPS 2009"
    loss = "r"
    r: float = parameter(
        POSITIVE, "noise: larger values trust single examples less", default=0.1, grid=(0.01, 0.1, 1.0, 10.0)
    )


class SCW1(ConfidenceRule):
    """Soft confidence-weighted learning with a linear loss."""

    name = "scw1"
    acts_when = "m < phi sqrt(v)"
    formula = "alpha = min(C, alpha of cw_stdev), zeta = alpha phi/sqrt(u)"
    source = "Wang, Zhao & Hoi, ICML 2012"
    loss = "C"
    default_eta = 0.9
    eta_grid = (0.75, 0.9, 0.99)
    C: float = parameter(POSITIVE, "weight of the loss, the maximum step size", default=1.0, grid=(0.1, 1.0, 10.0))


class SCW2(ConfidenceRule):
    """Soft confidence-weighted learning with a squared loss."""

    name = "scw2"
    acts_when = "m < phi sqrt(v)"
    formula = "alpha = (-(2 m n + phi^2 m v) + g)/(2 (n^2 + n v phi^2)), n = v + 1/(2C), zeta = alpha phi/sqrt(u)"
    source = "Wang, Zhao & Hoi, ICML 2012"
    loss = "C"
    default_eta = 0.9
    eta_grid = (0.75, 0.9, 0.99)
    C: float = parameter(POSITIVE, "weight of the squared loss", default=1.0, grid=(0.1, 1.0, 10.0))


class NHERD(Rule):
    """Normal herd: a Gaussian of classifiers, each updated by PA-II."""

    name = "nherd"
    acts_when = "m < 1"
    formula = "alpha = (1 - m)/(v + 1/C), zeta = 2C + C^2 v"
    source = "Crammer & Lee, NIPS 2010"
    loss = "C"
    C: float = parameter(POSITIVE, "aggressiveness", default=1.0, grid=(0.01, 0.1, 1.0, 10.0))
