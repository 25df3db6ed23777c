"""Which members a stack has, by what its columns are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..learner.recipe import ROWS_TO_CHOOSE, Recipe
from ..rules import AROW, Logistic
from ..rules.rule import Rule
from ..views.bins import Bins
from ..views.categories import MARK, Categories
from ..views.columns import MISSING, PLAIN, ZERO, Columns
from ..views.cosines import Cosines
from ..views.first import First
from ..views.pairs import Pairs, column_of
from ..views.ranks import Ranks
from ..views.standard import Standard
from ..views.table import make_view
from ..views.view import View
from .class_means import ClassMeans
from .forests import trees_for
from .label_stack import LabelStack
from .naive_bayes import NaiveBayes
from .plan import Choose, Plan, plan
from .racing import MANY_CLASSES
from .stack import Stack

DENSE = 0.1  # fraction of nonzero values from which on columns of numbers are a table
FILLED = 0.5  # fraction of nonzero values from which on cosines of many columns, standardized or ranked, are worth it
NUMBERS_THERE = 0.5  # fraction of the numbers of named columns that rows have; words as names of columns are rarer
MAX_TABLE = 4096  # columns of a table
MAX_PAIRS = 64  # nonzero values of a row up to which they are multiplied with each other
MAX_SPARSE_PAIRS = 40  # the same where rows are not tables, whose products are many more
MAX_FULL = 128  # columns up to which their correlations are learned
MANY = 128  # columns: more, if sparse, have members for text, and if dense, cosines
PAIR_TERMS = 2**18
MAX_FOLLOWED = 1024  # columns that a narrow table may grow to, of which later ones have no part in its cosines
INDICATORS = (32, 16, 4, 0)  # values of categories that have indicators: as many as leave a table narrow
CATEGORIES_THERE = 0.5  # fraction of the categories that rows have
MAX_STATISTICS = 8  # of a category, by class
MAX_BINNED = 20  # values per row up to which bins are multiplied with each other
OF_ANY_LENGTH = "without unit norm"
FIRST = First(n=MAX_FULL)  # a stream may bring more columns, of which a covariance would have the square
COSINES = 400
FEW_COSINES = 100  # of a member with all covariances that forgets, which costs as much as inverting its matrix
MIN_EMBEDDED, MAX_EMBEDDED = 32, 1536  # columns of embeddings, of which members learn all covariances
UNIT = 1e-3  # difference of the norms of embeddings from 1
ONE_SCALE = 1 / 3  # deviation that all but a twentieth of their columns have, relative to the median
HEAVY = 10.0  # kurtosis of a column that half of the columns of embeddings do not reach
ROWS_TO_COMPARE = 10  # rows from which on columns have a deviation
# Twice the expected exponent of the kernel between two rows of independent columns.
WIDE, MEDIUM, NARROW = 1.0, 3.0, 10.0


class Seen(NamedTuple):
    """What the first rows show.

    Attributes
    ----------
    columns : int
        Those that the rows have.
    numbers : int
        Numeric columns of a table, which are to be standardized; 0 if the rows are no table.
    plain : float
        Values per row in other columns.
    filled : float
        Fraction of the numbers that are not 0.
    embedded : bool
        Whether rows are a table of unit norm whose columns have one scale, as embeddings have.
    categories : tuple of (str, int)
        Name and number of values of each category, in named columns; empty unless rows have most of them.
    view : Categories or None
        That of :meth:`by_kind`.
    """

    columns: int
    numbers: int
    plain: float
    filled: float
    embedded: bool
    categories: tuple[tuple[str, int], ...]
    view: Categories | None = None

    @property
    def width(self) -> float:
        """Values per row."""
        return self.numbers + self.plain

    @property
    def is_wide(self) -> bool:
        """Whether there are many columns besides those of numbers."""
        return self.columns - self.numbers > MANY

    def by_kind(self, outputs: int) -> Seen | None:
        """Return what is seen of numbers and categories alone, if rows have these besides many other columns.

        ``outputs`` are the statistics of a category.
        """
        if not self.is_wide or not (self.numbers or len(self.categories)):
            return None
        for n in INDICATORS:
            shown = {name: values for name, values in self.categories if values <= n}
            columns = self.numbers + sum(shown.values()) + len(self.categories) * outputs
            if columns <= MANY:
                plain = len(self.categories) * outputs + len(shown)
                view = Categories(n=n, shown=tuple(shown), outputs=outputs)
                return self._replace(columns=columns, plain=float(plain), view=view)
        return None


def look(X: _core.Matrix, columns: Columns) -> Seen:
    """Return what the first rows of a matrix show."""
    n = min(X.shape[0], ROWS_TO_CHOOSE)
    values, used, start = _core.take_rows(X, None, 0, n)
    row = np.repeat(np.arange(n), np.diff(start))[values != 0]
    stored, counts = np.unique(used, return_counts=True)
    values, used = values[values != 0], used[values != 0]
    present = np.unique(used)
    # a few rows do not show how many features there are, and those that later rows bring do not matter
    d = len(present) if n == ROWS_TO_CHOOSE else int(present.max(initial=-1)) + 1
    kind = columns.kind[present]
    per_row = len(used) / max(n, 1)
    named = kind == MISSING
    there = counts[np.searchsorted(stored, present[named])]  # rows that have a number, 0 included
    if named.any() and there.sum() >= NUMBERS_THERE * n * len(there):
        numeric = named
    else:
        is_dense = per_row >= DENSE * d and d <= MAX_TABLE
        is_table = (is_dense or d <= MANY) and not _are_indicators(values, row)
        numeric = is_table & (kind == ZERO)
    of_numbers = np.isin(used, present[numeric])
    numbers, plain = np.count_nonzero(numeric), np.count_nonzero(~of_numbers) / max(n, 1)
    filled = np.count_nonzero(of_numbers) / max(n * int(numbers), 1)
    embedded = numbers == d and MIN_EMBEDDED <= d <= MAX_EMBEDDED and _have_one_scale(values, used, row, n)
    categories = _categories(columns, present[kind == PLAIN], used, n)
    return Seen(d, int(numbers), float(plain), float(filled), embedded, categories)


def _categories(columns: Columns, plain: np.ndarray, used: np.ndarray, n: int) -> tuple[tuple[str, int], ...]:
    """Return the number of values of each category among plain features, if n rows have most of them."""
    if columns.names is None or not len(plain):
        return ()
    names = [*columns.given_names(0)]
    values = [j for j in plain.tolist() if MARK in names[j]]
    counts = Counter(column_of(names[j]) for j in values)
    return tuple(counts.items()) if np.isin(used, values).sum() >= CATEGORIES_THERE * n * len(counts) else ()


def _have_one_scale(values: np.ndarray, used: np.ndarray, row: np.ndarray, n: int) -> bool:
    """Return whether n rows of nonzero values have unit norm, both signs, and columns of about the same size.

    Columns of tables that were standardized and scaled have that, too, but mostly heavy tails.
    """
    lengths = np.sqrt(np.bincount(row, values**2, n))
    if n == 0 or np.abs(lengths - 1.0).max() > UNIT or values.min(initial=0.0) >= 0.0:
        return False
    if n < ROWS_TO_COMPARE:
        return True
    m, second, third, fourth = (np.bincount(used, values**power) / n for power in (1, 2, 3, 4))
    variances = np.maximum(second - m**2, 0.0)
    low, middle = np.quantile(np.sqrt(variances), (0.05, 0.5))
    tails = fourth - 4.0 * m * third + 6.0 * m**2 * second - 3.0 * m**4
    return bool(low >= ONE_SCALE * middle and np.median(tails) <= HEAVY * np.median(variances) ** 2)


def choose(X: _core.Matrix, columns: Columns, n_classes: int = 2, dtype: str = "float64") -> list[Plan]:
    """Return the members for rows like the first ones of a matrix, in which there are so many classes.

    A table is dense, or has numeric columns by name; its columns are standardized, and other rows are scaled to unit
    norm. Tables of up to 128 columns have the members of :func:`_of_narrow_tables`; embeddings, which are dense rows of
    unit norm whose columns have one scale, those of :func:`_of_embeddings`. Other rows have AROW and logistic; with few
    values a row, both on products of two; with up to 128 columns, AROW with all covariances, of the first 128 if more
    follow, and two that forget; with many sparse columns, AROW on two views for text, and naive Bayes; with many dense
    columns, also logistic on rows of unit norm, AROW on their cosines, which are better where columns have one scale,
    and on wide cosines of ranks if few values are 0. Members on products and on ``nb`` have a weight for every class
    and product, or count every feature in every class, and logistic moves the weights of a word for every class: with
    many classes, there are none that do this.

    Where many columns are words, or values of categories, there are also the members of a narrow table that has the
    numbers, and categories as statistics of their rows (:class:`confidently.Categories`), and one on cosines of the
    numbers alone.
    """
    seen = look(X, columns)
    numbers, plain, d, width = seen.numbers, seen.plain, seen.columns, seen.width
    if seen.embedded:
        return _of_embeddings(dtype)
    base = "standard" if numbers else "unit"
    words = seen.is_wide
    few = X.shape[0] < ROWS_TO_CHOOSE  # for quantiles
    if 0 < numbers <= MANY and not words:
        return _of_narrow_tables(width, dtype, few) + _of_trees(X.shape[0], d, n_classes, dtype)
    few_classes = n_classes <= MANY_CLASSES
    made = partial(_gaussian, dtype=dtype)
    wide = numbers > MANY and plain < MANY
    found = [made(Logistic(), "unit", 3.0) if wide else made(AROW(r=0.1), base)]
    if few_classes or not words:
        found.append(made(Logistic(), base, 3.0))
    if few_classes and width <= (MAX_PAIRS if numbers and not words else MAX_SPARSE_PAIRS):
        pairs = [make_view(base), Pairs(max_terms=PAIR_TERMS)]
        found += [
            made(AROW(r=0.1), pairs, name=f"{base},pairs"),
            made(Logistic(), pairs, 30.0, name=f"{base},pairs"),
        ]
    if words:
        before = "standard," if numbers else ""
        if few_classes:
            found.append(made(AROW(r=0.3), f"{before}nb"))
        found += [
            Plan("naive Bayes", lambda n_classes, n_features, columns: NaiveBayes(n_classes, n_features)),
            made(AROW(r=0.3), f"{before}idf"),
        ]
    if d <= MAX_FULL:
        found += [
            made(AROW(r=0.1), [make_view(base), FIRST], name=base, correlated=True),
            made(Logistic(), base, 3.0, forget=0.1),
            made(Logistic(), base, 3.0, forget=0.01),
            *_of_trees(X.shape[0], d, n_classes, dtype),
        ]
    if wide:
        found.append(made(AROW(r=0.1), "unit,cosines"))
        found += _of_trees(X.shape[0], d, n_classes, dtype)
        if seen.filled >= FILLED:
            found.append(_widest(width, few, dtype, most=None))
    if (narrow := seen.by_kind(1 if n_classes <= 2 else min(n_classes, MAX_STATISTICS))) is not None:
        found += _of_narrow_tables(narrow.width, dtype, few, narrow.view) + _of_trees(
            X.shape[0], narrow.columns, n_classes, dtype, narrow.view
        )
        if numbers and seen.categories:  # statistics blur a kernel where numbers alone tell the class
            kernel, alone = _kernel(NARROW, numbers), Categories(n=0, outputs=0)
            found.append(made(AROW(), kernel, name="narrow cosines of numbers", correlated=True, before=alone))
    return found


def choose_for_labels(X: _core.Matrix, columns: Columns, n_labels: int = 0, dtype: str = "float64") -> list[Plan]:
    """Return the members of a stack of label sets, for rows like the first ones of a matrix.

    A member has a Gaussian of its own for each label, so that all keep one variance per weight. AROW and logistic learn
    rows of unit norm, and of a table also those of standardized columns, and one of them forgets. On a table there are
    also random cosines, and on few values a row products of two, unless labels are many; on words, ``nb``.
    """
    seen = look(X, columns)
    numbers, width = seen.numbers, seen.width
    words = seen.is_wide
    made = partial(_gaussian, dtype=dtype, multilabel=True)
    bases = ["unit", "standard"] if numbers else ["unit"]
    found = [made(rule, base, prior) for base in bases for rule, prior in ((AROW(r=0.1), 1.0), (Logistic(), 3.0))]
    found.append(made(Logistic(), bases[-1], 3.0, forget=0.01))
    if words:
        return [*found, made(AROW(r=0.3), "nb"), made(Logistic(), "nb", 3.0)]
    if numbers:
        most = MAX_FOLLOWED if numbers <= MANY else None
        found += [made(AROW(r=0.1), f"{base},cosines") for base in bases]
        found.append(made(Logistic(), _kernel(MEDIUM, width, most=most), name="medium cosines"))
    if n_labels <= MANY_CLASSES and width <= MAX_PAIRS:
        pairs = [make_view(bases[-1]), Pairs(max_terms=PAIR_TERMS)]
        found.append(made(Logistic(), pairs, 30.0, name=f"{bases[-1]},pairs"))
    return found


def _kernel(
    size: float, width: float, of: type[Standard | Ranks] = Standard, n: int = COSINES, most: int | None = MAX_FOLLOWED
) -> list[View]:
    """Return the views of a member on cosines of all columns, ``most`` at most, for rows of so many values."""
    return [of(unit_norm=False), Cosines(n, size / max(width, 1.0), unit_norm=False, max_columns=most)]


def _widest(
    width: float, few: bool, dtype: str, before: Categories | None = None, most: int | None = MAX_FOLLOWED
) -> Plan:
    """Return a member on cosines of ranks, which no outlier moves, or of standardized columns if rows are few."""
    of, name = (Standard, "wide cosines") if few else (Ranks, "wide cosines of ranks")
    kernel = _kernel(WIDE, width, of, most=most)
    return _gaussian(AROW(), kernel, name=name, correlated=True, dtype=dtype, before=before)


def _of_narrow_tables(width: float, dtype: str, few: bool, before: Categories | None = None) -> list[Plan]:
    """Return the members for tables of few columns, with so many values a row, and perhaps few rows.

    ``before`` is a view that makes such tables of rows.

    Standardized columns as they are, their products, and random cosines of them, which approximate Gaussian kernels of
    three widths, with all covariances. Members that forget follow what moves. Some see rows of unit norm, which are
    better where the length of a row says nothing about its class. Unless rows are few, the widest kernel is one of
    ranks, and there are bins, of which a sum is any curve of each column, and their products.
    """
    made = partial(_gaussian, dtype=dtype, before=before)
    free, unit = Standard(unit_norm=False), Standard()
    alone = f"standard {OF_ANY_LENGTH}"
    found = [
        made(AROW(r=0.1), [unit, FIRST], name="standard", correlated=True),
        made(AROW(r=0.1), [free, FIRST], name=alone, correlated=True),
        made(Logistic(), free, 30.0, name=alone),
        made(Logistic(), [free, FIRST], 10.0, name=alone, correlated=True),
        made(Logistic(), free, name=alone, forget=0.1),
        made(Logistic(), unit, name="standard", forget=0.003),
    ]
    if not few:
        found.append(made(Logistic(), Bins(unit_norm=False), name="bins", forget=0.03))
    if not few and width <= MAX_BINNED:
        boxes = [Bins(n=6, unit_norm=False), Pairs(max_terms=PAIR_TERMS, unit_norm=False)]
        found.append(made(Logistic(), boxes, name="products of 6 bins"))
    if width <= MAX_PAIRS:
        products, of_products = [free, Pairs(max_terms=PAIR_TERMS, unit_norm=False)], f"standard,pairs {OF_ANY_LENGTH}"
        found += [
            made(Logistic(), [unit, Pairs(max_terms=PAIR_TERMS)], 30.0, name="standard,pairs"),
            made(Logistic(), products, 3.0, name=of_products),
            made(Logistic(), products, name=of_products, forget=0.01),
            made(Logistic(), products, name=of_products, forget=0.03),
        ]
    else:
        found += [
            made(AROW(r=0.1), unit, name="standard"),
            made(Logistic(), unit, 3.0, name="standard"),
            made(Logistic(), free, name=alone, forget=0.01),
        ]
    medium, less = _kernel(MEDIUM, width), _kernel(MEDIUM, width, n=FEW_COSINES)
    found += [
        _widest(width, few, dtype, before),
        made(AROW(), medium, name="medium cosines", correlated=True),
        made(Logistic(), medium, name="medium cosines"),
        made(AROW(), less, name=f"{FEW_COSINES} cosines", correlated=True, forget=0.003),
        made(AROW(), _kernel(NARROW, width), name="narrow cosines", correlated=True),
    ]
    return found


def _of_trees(rows: int, d: int, n_classes: int, dtype: str, before: Categories | None = None) -> list[Plan]:
    """Return the members on trees, for so many first rows and columns."""
    made = partial(_gaussian, Logistic(), dtype=dtype, before=before)
    forests = trees_for(rows, d, 1 if n_classes <= 2 else n_classes)
    return [made(view, name=name)._replace(of_streams=of_streams) for name, view, of_streams in forests]


def _of_embeddings(dtype: str) -> list[Plan]:
    """Return the members for rows of unit norm whose columns have one scale: few, since rows are often few.

    Class means, which know a class after a few rows, and logistic with two prior variances of the weights, the smaller
    one on standardized columns.
    """
    means = Plan(ClassMeans.name, lambda n_classes, n_features, columns: ClassMeans(n_classes, n_features))
    correlated = _gaussian(Logistic(), "unit", 10.0, correlated=True, dtype=dtype)
    return [means, correlated, _gaussian(Logistic(), "standard", 3.0, dtype=dtype)]


def new_stack(
    n_classes: int = 2, n_features: int = 0, columns: Columns | None = None, dtype: str = "float64",
    multilabel: bool = False, trees: bool = True,
) -> Stack:  # fmt: skip
    """Return a stack whose members the first rows will choose; without ``trees``, these are not among them."""
    kind, chosen = (LabelStack, choose_for_labels) if multilabel else (Stack, choose)
    return kind((), partial(chosen_with(trees, chosen), dtype=dtype), n_classes, n_features, columns, dtype)


def chosen_with(trees: bool, choose: Choose) -> Choose:
    """Return what chooses members, without those on trees unless they are wanted."""
    return choose if trees else partial(_without_trees, choose)


def _without_trees(choose: Choose, *first: Any, **others: Any) -> list[Plan]:
    return [one for one in choose(*first, **others) if not one.is_on_trees]


def _are_indicators(values: np.ndarray, row: np.ndarray) -> bool:
    """Return whether the nonzero values of every row are the same: they say which features a row has."""
    first = np.searchsorted(row, row)
    return bool((values == values[first]).all())


def _gaussian(
    rule: Rule, view: str | View | Sequence[View | None], prior_variance: float = 1.0, *, dtype: str,
    name: str | None = None, correlated: bool = False, forget: float = 0.0, multilabel: bool = False,
    before: Categories | None = None,
) -> Plan:  # fmt: skip
    seen = [before, *([view] if isinstance(view, str | View) else view)]
    on = f"{name or view}{' by kind' if before is not None and before.outputs else ''}"
    how = f"{rule.name}{' with all covariances' if correlated else ''} on {on}"
    others = {"prior_variance": prior_variance, "dtype": dtype, "forget": forget}
    recipe = Recipe(
        rule,
        "shared" if correlated else "diag",
        view=make_view([part for part in seen if part is not None]),
        others=others,
    )
    return plan(recipe, f"{how}, forget {forget:g}" if forget else how, multilabel)
