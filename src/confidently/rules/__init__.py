"""Update rules: how far the Gaussian moves for an example, given the mean and variance of its margin."""

from .bayesian import BayesPA, GibbsPA, GibbsPAExact, Probit
from .confidence_weighted import AROW, NHERD, SCW1, SCW2, SOP, CWStdev, CWVar
from .ellipsoid import CELLIP, IELLIP
from .passive_aggressive import PA, PA1, PA2, Perceptron
from .table import RULES, make_rule, step

__all__ = [
    "AROW", "CELLIP", "IELLIP", "NHERD", "PA", "PA1", "PA2", "RULES", "SCW1", "SCW2", "SOP", "BayesPA", "CWStdev",
    "CWVar", "GibbsPA", "GibbsPAExact", "Perceptron", "Probit", "make_rule", "step",
]  # fmt: skip
