"""Rules that update to the posterior of a likelihood, exactly or by matching moments."""

from __future__ import annotations

import math

from .. import _core
from .ranges import POSITIVE, Range
from .rule import Rule, parameter

__all__ = ["BayesPA", "GibbsPA", "GibbsPAExact", "Logistic", "Probit"]


class BayesPA(Rule):
    """Online Bayesian passive-aggressive learning, averaging classifier: PA-I with C = 2c at margin epsilon."""

    name = "bayespa"
    wanders = True
    acts_when = "m < epsilon"
    formula = "alpha = min(2c, (epsilon - m)/v)"
    source = "Shi & Zhu, ICML 2014, Lemma 2.2"
    loss = "c"
    learns_precision = False
    c: float = parameter(POSITIVE, "weight of the loss", default=0.5, grid=(0.005, 0.05, 0.5, 5.0))
    epsilon: float = parameter(Range(0.0, math.inf, closed_low=True), "margin", default=1.0)


class GibbsPA(Rule):
    """BayesPA with Gibbs classifiers, by data augmentation: every example updates, easy ones less."""

    name = "gibbs_pa"
    acts_when = "always"
    formula = "a = c/sqrt((epsilon - m')^2 + v'): alpha = (c + a (epsilon - m))/(1 + a v), zeta = a"
    source = "Shi & Zhu, ICML 2014, Appendix B, in closed form"
    loss = "c"
    c: float = parameter(POSITIVE, "weight of the loss", default=8.0, grid=(0.08, 0.8, 8.0, 80.0))
    epsilon: float = BayesPA.__dataclass_fields__["epsilon"]


class GibbsPAExact(Rule):
    """Posterior of ``GibbsPA`` with its exact mean and variance along the example."""

    name = "gibbs_pa_exact"
    acts_when = "always"
    formula = "mean and variance of N(m, v) exp(-2c (epsilon - margin)_+)"
    source = "moments of Shi & Zhu's (ICML 2014) posterior, Appendix B, without augmentation"
    loss = "c"
    c: float = parameter(POSITIVE, "weight of the loss", default=8.0, grid=(0.08, 0.8, 8.0, 80.0))
    epsilon: float = BayesPA.__dataclass_fields__["epsilon"]


class Probit(Rule):
    """Probit regression by assumed-density filtering, as in AdPredictor."""

    name = "probit"
    acts_when = "always"
    formula = "s^2 = noise^2 + v, V = N(m/s)/Phi(m/s): alpha = V/s, W = V (V + m/s)/s^2, zeta = W/(1 - W v)"
    source = "Graepel, Quinonero Candela, Borchert & Herbrich, ICML 2010"
    weight = "implicit step"
    projection = "moments"
    noise: float = parameter(
        POSITIVE, "standard deviation of the noise of the score", default=0.3, grid=(0.03, 0.1, 0.3, 1.0)
    )


class Logistic(Rule):
    """Logistic regression by assumed-density filtering; with three or more classes, the softmax of all.

    0 < alpha < 1 for every margin and variance, so any prior variance is stable. A prior variance of 3 suits most data.
    """

    name = "logistic"
    acts_when = "always"
    formula = "mean and variance of N(m, v)/(1 + exp(-margin))"
    source = "Spiegelhalter & Lauritzen, Networks 20, 1990; mixture of Monahan & Stefanski 1992"
    weight = "implicit step"
    multiclass = "softmax"

    def score_noise(self) -> tuple[tuple[float, float], ...]:
        return tuple(_core.logistic_noise())
