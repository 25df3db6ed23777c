"""The interface of views to the learner and its model file.

A view turns a row into the row that a learner sees, by statistics of the rows before. It is an immutable object of
parameters, as a rule is; what it has learned are arrays in the learner's state, whose names begin with the view's. Each
view is one file of this folder, one row of :data:`confidently.views.table.VIEWS` and one file of ``core/views/``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from .. import _core
from ..rules.parametric import Parametric
from ..rules.ranges import Range, check_choice
from .columns import PLAIN, Columns
from .graph import Graph

Arrays: TypeAlias = "dict[str, np.ndarray]"
Shapes = dict[str, tuple[tuple[int, ...], str]]  # and types, by name
REAL, COUNT, NUMBER, KIND = "float64", "int64", "int32", "int8"
LARGEST = 2.0  # above the values of rows of unit norm and of cosines; others are bounded, too, and need no check
COUNTED = Range(0.0, 1e30, closed_low=True)  # total weights of rows
MAX_MEAN = 1e100  # of the values of a column
MAX_FILLED = 10_000  # columns of a row that become nonzero, since 0 is not their mean


class SeenRows(NamedTuple):
    """Rows that a view made, as CSR arrays with ascending columns.

    ``unseen``: whether there is one more column than the view makes, for all that has no weight so far.
    """

    values: np.ndarray
    columns: np.ndarray
    start: np.ndarray
    unseen: bool = False

    def matrix(self, n_columns: int) -> _core.Matrix:
        """Return them as a matrix of the core, whose rows need no check; ``n_columns``: those that the view makes."""
        matrix = _core.csr(self.values, self.columns, self.start, n_columns + self.unseen)
        matrix.checked = LARGEST
        return matrix

    @classmethod
    def joined(cls, parts: Sequence[SeenRows]) -> SeenRows:
        """Return rows that were made in parts, of which there is one at least."""
        if len(parts) == 1:
            return parts[0]
        lengths = np.concatenate([np.diff(part.start) for part in parts])
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        values, columns = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "columns"))
        return cls(values, columns, start, parts[0].unseen)


class Labelled(NamedTuple):
    """Rows of a matrix in the order of training, with their labels and weights.

    Attributes
    ----------
    X : matrix
    order : int64 array, optional
        Numbers of its rows in the order of training; by default as they come.
    first : int
        Position of the first row in that order.
    labels, label_start, weight : arrays
        Of these rows; ``label_start`` and ``weight`` may be None.
    class_weight : array, optional
        Factors of the weights, by class.
    n_classes : int
    targets : array of shape (n, numbers), optional
        Of these rows of a regression.
    """

    X: _core.Matrix
    order: np.ndarray | None
    first: int
    labels: np.ndarray
    label_start: np.ndarray | None
    weight: np.ndarray | None
    class_weight: np.ndarray | None
    n_classes: int
    targets: np.ndarray | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.labels if self.label_start is None else self.label_start[1:])

    def of(self, X: _core.Matrix) -> Labelled:
        """Return the same labels with other rows, which are in the order of training."""
        return self._replace(X=X, order=None, first=0)


class Placed(NamedTuple):
    """What a view has learned in one of the models to merge.

    Attributes
    ----------
    arrays : dict of arrays
        The view's arrays, packed.
    features, classes : int arrays
        Numbers of the model's features and classes in the merged model.
    """

    arrays: Arrays
    features: np.ndarray
    classes: np.ndarray


class View(Parametric):
    """Base of all views; a method that a view does not define raises ``NotImplementedError``.

    Attributes
    ----------
    name : str
        Its name, with which the names of its arrays begin.
    formula : str
        The row it makes of a row x.
    keeps_columns : bool
        Whether a column of its rows stands for the same column of the rows given.
    mixes_columns : bool
        Whether every column of its rows is made of all columns of the rows given.
    takes_values : bool
        Whether the values of rows must not have been scaled before, and zeros count.
    has_scale : bool
        Whether values of numeric columns are of the size 1 in its rows, but for the scaling of rows to unit norm.
    sees_labels : bool
        Whether its rows tell labels where these have been learned before, as in later passes.
    passes_values : bool
        Whether numbers stay as they are, zeros included.
    rows_foreseen : int
        How many rows to come ``foreseen`` looks at.
    comes_first, comes_last : bool
        Whether only views that pass values may come before it, because it tells 0 from a missing value, or none after
        it, because its columns depend on rows.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    keeps_columns: ClassVar[bool] = True
    mixes_columns: ClassVar[bool] = False
    takes_values: ClassVar[bool] = False
    has_scale: ClassVar[bool] = False
    sees_labels: ClassVar[bool] = False
    passes_values: ClassVar[bool] = False
    rows_foreseen: ClassVar[int] = 0
    comes_first: ClassVar[bool] = False
    comes_last: ClassVar[bool] = False

    @property
    def takes_names(self) -> bool:
        """Whether the names of features determine what the view makes of them."""
        return self.takes_values

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit_norm", getattr(self, "unit_norm", True), (True, False))

    # --- the arrays -----------------------------------------------------------------------------------------------

    def arrays(self, state: Mapping[str, np.ndarray]) -> Arrays:
        """Return the view's own arrays among those of a learner."""
        return {name: state[name] for name in _with_prefixes(tuple(state), self.prefixes)}

    @property
    def prefixes(self) -> tuple[str, ...]:
        """What the names of the view's arrays begin with."""
        return (f"{self.name}.",)

    def new_arrays(self, n_classes: int) -> Arrays:
        """Return the arrays before any column is known."""
        raise NotImplementedError

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        """Return the arrays with more columns, or for more classes; those given stay unchanged."""
        raise NotImplementedError

    def n_known(self, state: Arrays) -> int:
        """Return the number of columns that rows may have."""
        raise NotImplementedError

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        """Return what a column of the rows that the view makes is called; ``name_of`` are the names of features."""
        return name_of(column)

    def factors(self, state: Arrays) -> np.ndarray | float:
        """Return what the values of a column are multiplied by, apart from the scaling of rows to unit norm."""
        return 1.0

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        """Return for each feature the largest of the ``sizes`` of the columns that the view makes of it."""
        return sizes

    def divided(self, state: Arrays, X: _core.Matrix) -> np.ndarray | None:
        """Return what each column of one row adds to each column that the view makes of it, if it mixes columns.

        Shape (made, given); ``None``: nothing is known of that. The given ones of several views are those of the last.
        """
        return None

    def taken_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        """Return what a column of the rows that the view takes, or the last of several, is called."""
        return name_of(column)

    def n_columns(self, state: Arrays, n_features: int) -> int:
        """Return the number of columns of the rows that the view makes."""
        return n_features

    def made_columns(self, new: Columns, state: Arrays, grown: Arrays) -> Columns:
        """Return the columns that the view makes of new ones; ``grown``: the arrays with these."""
        return new

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        """Return the arrays for a model file, without what :meth:`unpacked` can restore."""
        return self.arrays(state)

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        """Return the arrays of packed ones, which have been checked."""
        return packed

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        """Return shape and type of every packed array."""
        raise NotImplementedError

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        """Yield name, numbers and allowed range of packed arrays."""
        yield from ()

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        """Return the packed arrays of a merged model: the base's, and what each part has gained since the base.

        Raises
        ------
        ValueError
            If the parts cannot be merged, or have not continued from the base.
        """
        raise NotImplementedError

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        """Return the numbers, in the merged model, of the columns of the rows that the view of a part makes."""
        return part.features

    # --- rows -----------------------------------------------------------------------------------------------------

    def see(self, state: Arrays, X: _core.Matrix, first: int, n: int) -> SeenRows:
        """Return what the view makes of n rows."""
        return SeenRows(*_core.see(self.name, self._has_unit_norm, state, X, first, n))

    def learn(self, state: Arrays, rows: Labelled, undo: _core.UndoLog | None) -> tuple[Arrays, SeenRows]:
        """Return the arrays, and what the view makes of rows, each of which is counted in after it was seen.

        Arrays that must grow are replaced; others are written to, which ``undo`` notes.
        """
        seen = _core.see_and_learn(
            self.name, self._has_unit_norm, state, rows.X, rows.order, rows.first, rows.labels, rows.label_start,
            rows.weight, rows.class_weight, rows.n_classes, undo,
        )  # fmt: skip
        return self.arrays(state), SeenRows(*seen)

    def foreseen(self, state: Arrays, X: _core.Matrix, order: np.ndarray) -> Arrays:
        """Return arrays that change before training on these rows in random order: what does not depend on labels."""
        return {}

    def settled(self, state: Arrays, regression: bool) -> Arrays:
        """Return arrays that change when training on rows in random order has ended."""
        return {}

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        """Add what the view makes of dense rows to a graph, and return its name."""
        raise NotImplementedError

    @property
    def pauses(self) -> bool:
        """Whether :meth:`learns_row` can be false."""
        return False

    def learns_row(self, state: Arrays) -> bool:
        """Return whether the core can make and count in the next row, so that :meth:`learn` need not be called."""
        return True

    @property
    def _has_unit_norm(self) -> bool:
        """Whether rows are scaled to unit L2 norm, where a parameter ``unit_norm`` decides that."""
        return bool(getattr(self, "unit_norm", True))

    # --- as plain data --------------------------------------------------------------------------------------------

    @property
    def views(self) -> tuple[View, ...]:
        """The views that make a row, one after the other."""
        return (self,)

    @cached_property
    def key(self) -> str:
        """What two views have in common that are equal."""
        return repr(self)

    @cached_property
    def steps(self) -> list[tuple[str, bool, int]]:
        """The views as the core takes them: name, whether rows have unit norm, and the largest number of terms."""
        return [(view.name, view._has_unit_norm, getattr(view, "max_terms", -1)) for view in self.views]

    def header(self) -> list[dict[str, Any]]:
        """Return these views as plain data, for a model file."""
        return [{"name": view.name, "parameters": _saved(view.get_params())} for view in self.views]


@lru_cache(1024)
def _with_prefixes(names: tuple[str, ...], prefixes: tuple[str, ...]) -> list[str]:
    return [name for name in names if name.startswith(prefixes)]


def _saved(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters without what earlier versions do not know, where it changes nothing."""
    usual = {"unit_norm": True, "max_columns": None}
    return {name: value for name, value in parameters.items() if name not in usual or value != usual[name]}


def check_filled(what: str, filled: int) -> None:
    """Raise ``ValueError`` if too many columns of a row would differ from 0."""
    if filled > MAX_FILLED:
        raise ValueError(
            f"{what} makes sparse rows dense: all {filled:,} columns of a row would differ from 0, at most "
            f"{MAX_FILLED:,} are allowed; use another view, such as idf, or none"
        )


def spread(own: np.ndarray, shape: tuple[int, ...], *at: np.ndarray) -> np.ndarray:
    """Return an array of this shape that has ``own`` at these positions along its axes, and 0 elsewhere."""
    found = np.zeros(shape, dtype=own.dtype)
    found[np.ix_(*at)] = own
    return found


def gained(counts: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    """Return the base's counts and what each part has counted since.

    Raises
    ------
    ValueError
        If a part has counted less than the base.
    """
    if any((own < base).any() for own in counts):
        raise ValueError("the view of the base has counted rows that a model has not; merge the models without a base")
    return base + sum(own - base for own in counts)


class OtherRows(ValueError):
    """Models whose views depend on their own first rows or classes, which cannot be merged."""


def column_kinds(parts: Sequence[Placed], name: str, n_features: int) -> np.ndarray:
    """Return the kind of every column, an array of this name, which is the same in every part that has the column."""
    kind = np.full(n_features, PLAIN, dtype=KIND)
    for part in parts:
        kind[part.features] = part.arrays[name]
    for part in parts:
        if (kind[part.features] != part.arrays[name]).any():
            raise ValueError("a column is a number in one of the models and not in another")
    return kind
