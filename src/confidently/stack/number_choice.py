"""Which members a stack of regressions has, by what its columns are."""

from __future__ import annotations

from functools import partial

from .. import _core
from ..covariances.names import DIAGONAL
from ..learner.recipe import MAX_FULL, Recipe, automatic_covariance
from ..rules import Ridge
from ..views.columns import Columns
from ..views.cosines import Cosines
from ..views.idf import Idf
from ..views.pairs import Pairs
from ..views.standard import Standard
from ..views.table import make_view
from ..views.unit import Unit
from ..views.view import View
from .choice import MANY, MAX_PAIRS, PAIR_TERMS, look
from .members import Plan, plan
from .number_stack import NumberStack

MAX_FULL_TERMS = 600  # products up to which their correlations are learned
COSINES = 400
# Kernels by their width: the expected exponent of the kernel between two rows of independent columns, and the prior
# variance of the weights. Wide ones suit noisy targets, narrow ones those with little noise.
KERNELS = (("wide", 0.1, 10.0), ("medium", 0.5, 100.0), ("narrow", 2.0, 1000.0))


def choose_numbers(X: _core.Matrix, columns: Columns, n_classes: int = 1, dtype: str = "float64") -> list[Plan]:
    """Return the members for rows like the first ones of a matrix; there are no classes.

    Ridge regression on the rows as they are. For tables, also on products of two standardized columns, if there are
    few, and on random cosines of all, for three widths of a Gaussian kernel. For many sparse columns also on rows of
    unit norm and on ``idf``, with other prior variances.
    """
    seen = look(X, columns)
    found = [_ridge("rows", None, automatic_covariance(seen.columns), dtype=dtype)]
    if seen.columns <= MAX_FULL and (seen.numbers or seen.columns <= MANY):
        standard = Standard(unit_norm=False)
        if seen.width <= MAX_PAIRS:
            terms = seen.columns * (seen.columns + 3) // 2
            full = terms <= MAX_FULL_TERMS
            pairs = Pairs(max_terms=MAX_FULL_TERMS if full else PAIR_TERMS, unit_norm=False)
            covariance, prior = ("full", 1.0) if full else (DIAGONAL, 0.1)
            found.append(_ridge("products", [standard, pairs], covariance, prior, dtype))
        for name, exponent, prior in KERNELS:
            cosines = Cosines(n=COSINES, scale=exponent / seen.columns, unit_norm=False)
            found.append(_ridge(f"{name} cosines", [standard, cosines], "full", prior, dtype))
    elif seen.columns > MAX_FULL:
        found.append(_ridge("rows, with a wider prior", None, DIAGONAL, 4.0, dtype))
        found.append(_ridge("rows of unit norm", Unit(), DIAGONAL, 0.3, dtype))
        found.append(_ridge("idf", Idf(), DIAGONAL, 0.3, dtype))
    return found


def new_number_stack(
    n_classes: int = 1, n_features: int = 0, columns: Columns | None = None, dtype: str = "float64"
) -> NumberStack:
    """Return a stack of regressions whose members the first rows will choose."""
    choose = partial(choose_numbers, dtype=dtype)
    return NumberStack((), choose, n_classes, n_features=n_features, columns=columns, dtype=dtype)


def _ridge(
    seen: str, view: View | list[View] | None, covariance: str, prior_variance: float = 1.0, dtype: str = "float64"
) -> Plan:
    others = {"prior_variance": prior_variance, "dtype": dtype}
    return plan(Recipe(Ridge(), covariance, view=make_view(view), targets=True, others=others), f"ridge on {seen}")
