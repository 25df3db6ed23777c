"""Rules with a target: updates of a Gaussian over the weights of a linear regression."""

from __future__ import annotations

import math

from .ranges import POSITIVE, UNIT, Range
from .rule import Rule, parameter

__all__ = ["AROWEps", "PA1Reg", "PA2Reg", "PAReg", "Poisson", "Quantile", "RegressionRule", "Ridge"]

TUBE = Range(0.0, math.inf, closed_low=True)


class RegressionRule(Rule):
    """Base of the rules whose examples have a number y, the target, instead of a class.

    A rule maps the score s = mean.x, its variance v = x' Sigma x and y to the step; alpha has the sign of what the
    score lacks. Scores, targets and the square root of ``r`` are in units of the standard deviation of the targets so
    far, except for :class:`Poisson`.
    """

    weight = "multiplies the loss"
    projection = "moments"  # of the Gaussian that is exact or nearest for the row, its variances are kept
    predicts_numbers = True


class Ridge(RegressionRule):
    """Squared loss: exact Bayesian linear regression, incremental ridge regression.

    With a full covariance the mean of the weights w after n rows minimizes ``sum_i (y_i - w.x_i)^2/r + |w|^2/p`` for
    the prior variance p, as scikit-learn's ``Ridge(alpha=r/p)`` does. With ``r=None`` the variance of the noise is
    unknown: Sigma is in units of it, and after each row a <- a + 1/2, b <- b + (y - s)^2/(2 (1 + v)), so that the
    prediction is a Student t distribution with 2a degrees of freedom. With an intercept, the first row is skipped: it
    only gives the mean that later rows are compared with.
    """

    name = "ridge"
    acts_when = "always"
    formula = "alpha = (y - s)/(v + r), zeta = 1/r"
    source = "recursive least squares (Plackett 1950); normal-inverse-gamma posterior (Raiffa & Schlaifer 1961)"
    loss = "r"
    squared_loss = True
    r: float | None = parameter(
        POSITIVE, "variance of the noise; None: unknown, and in units of it", default=1.0, grid=(0.01, 0.1, 1.0, 10.0)
    )

    def __post_init__(self) -> None:
        if self.r is not None:
            super().__post_init__()

    def core_parameters(self) -> list[float]:
        return [self.noise_variance()]

    def noise_variance(self) -> float:
        return 1.0 if self.r is None else float(self.r)


class AROWEps(RegressionRule):
    """AROW for regression: squared epsilon-insensitive loss; rows outside the tube add precision."""

    name = "arow_eps"
    acts_when = "abs(y - s) > epsilon"
    formula = "l = abs(y - s) - epsilon: alpha = sign(y - s) l/(v + r), zeta = 1/r"
    source = "AROW (Crammer, Kulesza & Dredze 2009) with the epsilon-insensitive loss of Crammer et al. 2006"
    loss = "r"
    r: float = parameter(POSITIVE, "variance of the noise", default=1.0, grid=(0.01, 0.1, 1.0, 10.0))
    epsilon: float = parameter(TUBE, "half-width of the tube without loss", default=0.1)

    def noise_variance(self) -> float:
        return float(self.r)


class PAReg(RegressionRule):
    """Passive-aggressive regression: the smallest change that puts the target within the tube."""

    name = "pa_reg"
    acts_when = "abs(y - s) > epsilon"
    formula = "l = abs(y - s) - epsilon: alpha = sign(y - s) l/v"
    source = "Crammer et al., JMLR 2006, section 5"
    weight = "min(w, 1) multiplies the step"
    learns_precision = False
    epsilon: float = parameter(TUBE, "half-width of the tube without loss", default=0.1)


class PA1Reg(RegressionRule):
    """PA-I regression: the step is at most C."""

    name = "pa1_reg"
    acts_when = "abs(y - s) > epsilon"
    formula = "l = abs(y - s) - epsilon: alpha = sign(y - s) min(C, l/v)"
    source = "Crammer et al., JMLR 2006, section 5"
    loss = "C"
    learns_precision = False
    C: float = parameter(POSITIVE, "maximum step size", default=1.0, grid=(0.001, 0.01, 0.1, 1.0))
    epsilon: float = PAReg.__dataclass_fields__["epsilon"]


class PA2Reg(RegressionRule):
    """PA-II regression: the step grows with the loss, more slowly."""

    name = "pa2_reg"
    acts_when = "abs(y - s) > epsilon"
    formula = "l = abs(y - s) - epsilon: alpha = sign(y - s) l/(v + 1/(2C))"
    source = "Crammer et al., JMLR 2006, section 5"
    loss = "C"
    learns_precision = False
    C: float = parameter(POSITIVE, "weight of the loss", default=1.0, grid=(0.001, 0.01, 0.1, 1.0))
    epsilon: float = PAReg.__dataclass_fields__["epsilon"]


class Poisson(RegressionRule):
    """Poisson regression of counts, whose expectation is exp(s).

    The new Gaussian has the expected gradient and curvature of the log-likelihood under itself, which makes it the
    Gaussian that is nearest to the posterior in Kullback-Leibler divergence, KL(Gaussian || posterior).
    """

    name = "poisson"
    acts_when = "always"
    formula = "alpha = y - lambda, zeta = lambda, lambda = exp(s + alpha v + v'/2), v' = v/(1 + zeta v)"
    source = "variational Gaussian approximation (Opper & Archambeau, Neural Computation 2009)"
    counts = True


class Quantile(RegressionRule):
    """Quantile regression: the posterior of the pinball loss, by its exact mean and variance along the example.

    The likelihood is exp(-c (y - s) tau) for y above the score s and exp(-c (s - y) (1 - tau)) below it.
    """

    name = "quantile"
    acts_when = "always"
    formula = "mean and variance of N(s, v) exp(-c pinball_tau(y - score))"
    source = "moments of the posterior of asymmetric Laplace noise (Yu & Moyeed 2001), assumed-density filtering"
    loss = "c"
    tau: float = parameter(UNIT, "the quantile", default=0.5)
    c: float = parameter(POSITIVE, "weight of the loss", default=3.0, grid=(0.3, 1.0, 3.0, 10.0))

    def noise_variance(self) -> float:
        return 1.0 / (self.tau * self.c) ** 2 + 1.0 / ((1.0 - self.tau) * self.c) ** 2
