"""Which members a stack of regressions has, by what its columns are."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import _core
from ..covariances.names import DIAGONAL
from ..data.classes import ClassTable
from ..learner.recipe import MAX_FULL, ROWS_TO_CHOOSE, Recipe, automatic_covariance
from ..rules import Ridge
from ..tasks.targets import Bounds
from ..views.bins import Bins
from ..views.columns import Columns
from ..views.cosines import Cosines
from ..views.idf import Idf
from ..views.pairs import Pairs
from ..views.ranks import Ranks
from ..views.standard import Standard
from ..views.table import make_view
from ..views.unit import Unit
from ..views.view import View
from .choice import (
    MANY,
    MAX_BINNED,
    MAX_FOLLOWED,
    MAX_PAIRS,
    MAX_STATISTICS,
    PAIR_TERMS,
    chosen_with,
    look,
    new_stack,
)
from .forests import trees_for
from .logs import are_worth_learning
from .number_stack import NumberStack
from .plan import Plan, plan
from .stack import Stack

MAX_FULL_TERMS = 600  # products or bins up to which their correlations are learned
COSINES, FEW_COSINES = 400, 200  # the latter for few rows
KERNELS = (("standard", 1000.0), ("ranks", 100.0))  # of which columns, and the prior variance of the weights
BINS = 16  # of a column by itself
# Bins of columns, of which products learn what other members leave: from wide ones to narrow ones, which need rows.
BINS_OF_RESTS, FEW_BINS_OF_RESTS = (6, 36, 216), (6, 36)
FORGET = 0.01


def choose_numbers(
    X: _core.Matrix, columns: Columns, n_classes: int = 1, targets: np.ndarray | None = None, *, dtype: str = "float64"
) -> list[Plan]:
    """Return the members for rows like the first ones of a matrix; there are no classes.

    Ridge regression on the rows as they are. For tables, also on products of two standardized columns, if there are
    few, on bins of the columns, on random cosines of all standardized columns and of all ranks, and one that forgets;
    then products of bins learn what the mixture of these leaves. For many sparse columns also on rows of unit norm and
    on ``idf``, with other prior variances. Where many columns are words, or values of categories, the members for
    tables see numbers, and categories as statistics of their rows (:class:`confidently.Categories`).

    If the first targets, shape (n, numbers), are positive and skewed, such as prices and counts, the regressions on
    rows, on bins and on cosines of standardized columns are also there for their logarithms.
    """
    seen = look(X, columns)
    few = X.shape[0] < ROWS_TO_CHOOSE
    made = partial(_ridge, dtype=dtype)
    narrow = seen.by_kind(min(n_classes, MAX_STATISTICS)) or seen
    of_narrow = partial(made, before=narrow.view)
    found = [made("rows", None, automatic_covariance(seen.columns))]
    logs = [made("rows", None, automatic_covariance(seen.columns), log=True)]
    rests: list[Plan] = []
    if narrow.view is not None or (seen.columns <= MAX_FULL and (seen.numbers or seen.columns <= MANY)):
        standard = Standard(unit_norm=False)
        if narrow.width <= MAX_PAIRS:
            full = narrow.columns * (narrow.columns + 3) // 2 <= MAX_FULL_TERMS
            pairs = Pairs(max_terms=MAX_FULL_TERMS if full else PAIR_TERMS, unit_norm=False)
            found.append(of_narrow("products", [standard, pairs], *(("full", 1.0) if full else (DIAGONAL, 0.1))))
        of_bins = Bins(n=BINS, unit_norm=False), "full" if BINS * narrow.columns <= MAX_FULL_TERMS else DIAGONAL
        found.append(of_narrow("bins", *of_bins))
        logs.append(of_narrow("bins", *of_bins, log=True))
        for name, prior in KERNELS:
            # the exponent of the kernel between two rows of independent columns is about 1
            cosines = Cosines(
                FEW_COSINES if few else COSINES, 1.0 / max(narrow.columns, 1), unit_norm=False, max_columns=MAX_FOLLOWED
            )
            before = make_view([{"standard": standard, "ranks": Ranks(unit_norm=False)}[name], cosines])
            found.append(of_narrow(f"cosines of {name}", before, "full", prior))
            if name == "standard":
                logs.append(of_narrow(f"cosines of {name}", before, "full", prior, log=True))
        found.append(of_narrow(f"standard, forget {FORGET:g}", standard, DIAGONAL, forget=FORGET))
        for name, view, of_streams in trees_for(X.shape[0], narrow.columns, n_classes):
            found.append(of_narrow(name, view, "full")._replace(of_streams=of_streams))
        for n in (FEW_BINS_OF_RESTS if few else BINS_OF_RESTS) if narrow.width <= MAX_BINNED else BINS_OF_RESTS[:1]:
            if narrow.width > MAX_PAIRS:
                break
            products = [Bins(n=n, unit_norm=False), Pairs(max_terms=PAIR_TERMS, unit_norm=False)]
            rests.append(of_narrow(f"products of {n} bins, of the rest", products, DIAGONAL, 0.1, rest=True))
    if seen.columns > MAX_FULL:
        found.append(made("rows, with a wider prior", None, DIAGONAL, 4.0))
        found.append(made("rows of unit norm", Unit(), DIAGONAL, 0.3))
        found.append(made("idf", Idf(), DIAGONAL, 0.3))
    return [*found, *(logs if are_worth_learning(targets) else ()), *rests]


def new_number_stack(
    n_classes: int = 1, n_features: int = 0, columns: Columns | None = None, dtype: str = "float64",
    bounds: Bounds | None = None, trees: bool = True,
) -> NumberStack:  # fmt: skip
    """Return a stack of regressions whose members the first rows will choose, perhaps without those on trees."""
    choose = partial(chosen_with(trees, choose_numbers), dtype=dtype)
    return NumberStack((), choose, n_classes, n_features=n_features, columns=columns, dtype=dtype, bounds=bounds)


def stack_of(
    table: ClassTable, targets: bool, dtype: str = "float64", bounds: Bounds | None = None, trees: bool = True
) -> Stack | NumberStack:
    """Return a stack for a stream, whose members the first rows will choose; ``targets``: of numbers."""
    if targets:
        return new_number_stack(dtype=dtype, bounds=bounds, trees=trees)
    return new_stack(len(table), dtype=dtype, multilabel=table.multilabel, trees=trees)


def _ridge(
    seen: str, view: View | list[View] | None, covariance: str, prior_variance: float = 1.0, *, dtype: str,
    forget: float = 0.0, rest: bool = False, log: bool = False, before: View | None = None,
) -> Plan:  # fmt: skip
    if before is not None:
        view, seen = (
            make_view([before, *([] if view is None else [view] if isinstance(view, View) else view)]),
            f"{seen} by kind",
        )
    others = {"prior_variance": prior_variance, "dtype": dtype, "forget": forget}
    recipe = Recipe(Ridge(), covariance, view=make_view(view), targets=True, others=others)
    return plan(recipe, f"ridge of logarithms on {seen}" if log else f"ridge on {seen}", rest=rest, log=log)
