"""Products of features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..rules.parametric import parameter
from ..rules.ranges import Range, check_integer
from .columns import Columns
from .graph import Graph, unit_rows
from .room import appended, joined
from .view import COUNT, KIND, NUMBER, Arrays, Labelled, Placed, SeenRows, Shapes, View

FIRST, SECOND, SIZE, SLOTS, GROUP, CROSSED = (
    f"pairs.{name}" for name in ("first", "second", "size", "slots", "group", "crossed")
)
NO_FEATURE = -1  # the second feature of a term that is a feature
UNSEEN = "terms not seen in training"
MAX_TERMS = 2**30
LEAST_ROOM = 64  # terms


class Pairs(View):
    """A row's features, their squares and their products, scaled so that rows have unit L2 norm.

    x/||x|| becomes [x_i; x_i^2; sqrt(2) x_i x_j for i < j]/sqrt(2): a linear learner of these terms is a quadratic one
    of the features. For rows of at most a few dozen numbers and categories; of longer ones, pair chosen columns.

    Every term is a column of its own, without hashing. Terms are numbered in the order in which training brings them,
    so the learner has weights only for terms that occur. A feature with the value 0 does not occur, and a row of weight
    0 does not count. A term that has not occurred counts towards a row's length, and its weight has mean 0 and the
    prior variance, with which it adds to the variance of a prediction.

    Parameters
    ----------
    columns : sequence of pairs of str or int, optional
        The columns to multiply: (a, b) for all products of a feature of a and one of b, (a, a) for those of a with
        itself, squares included. A column is the name of a feature up to the first ``=``, ``:`` or ``^`` (the column of
        a category, of a word, the namespace), or a number where columns have none: from 0 in arrays, and in files as
        they have it. ``user`` is also all columns within it, such as ``user.age``, unless they are named themselves.
        By default, all features are multiplied by all.
    max_terms : int, default=2**20
        Training adds no product beyond this number of terms; a merged model has those of all its models.
    unit_norm : bool, default=True
        Whether rows are scaled to unit L2 norm, before and after. Without, the terms are those of x.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently import OnlineClassifier
    >>> X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]] * 5)
    >>> y = X[:, 0] * X[:, 1]  # exclusive or
    >>> float(OnlineClassifier(view="pairs").fit(X, y).score(X, y))
    1.0
    """

    name = "pairs"
    formula = "[x_i; x_i^2; sqrt(2) x_i x_j] of x with unit L2 norm, then unit L2 norm"
    keeps_columns = False
    comes_last = True

    columns: Any = parameter(None, "pairs of columns to multiply; by default all", default=None)
    max_terms: int = parameter(
        Range(1, MAX_TERMS, closed_low=True, closed_high=True), "largest number of terms", default=2**20
    )
    unit_norm: bool = parameter(None, "whether rows have unit L2 norm", default=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("Pairs", "max_terms", self.max_terms, 1)
        if self.columns is not None:
            pairs = tuple(_pair(pair) for pair in self.columns)
            if pairs != self.columns:
                self.__dict__["columns"] = pairs

    @property
    def takes_names(self) -> bool:
        return self.columns is not None

    # --- which columns --------------------------------------------------------------------------------------------

    @property
    def _groups(self) -> list[str]:
        """The names of the columns to multiply, each once; without a choice one group has all features."""
        return [""] if self.columns is None else list(dict.fromkeys(name for pair in self.columns for name in pair))

    def _group_of(self, new: Columns, known: int) -> np.ndarray:
        if self.columns is None:
            return np.zeros(len(new), dtype=NUMBER)
        number = {name: k for k, name in enumerate(self._groups)}
        groups = (_number_of(column_of(name), number) for name in new.given_names(known))
        return np.fromiter(groups, dtype=NUMBER, count=len(new))

    def _crossed(self) -> np.ndarray:
        crossed = np.ones((1, 1), dtype=KIND)
        if self.columns is not None:
            number = {name: k for k, name in enumerate(self._groups)}
            crossed = np.zeros((len(number), len(number)), dtype=KIND)
            for a, b in self.columns:
                crossed[number[a], number[b]] = crossed[number[b], number[a]] = 1
        return crossed

    # --- the arrays -----------------------------------------------------------------------------------------------

    def new_arrays(self, n_classes: int) -> Arrays:
        empty = np.empty(0, dtype=NUMBER)
        return _indexed({FIRST: empty, SECOND: empty, SIZE: np.zeros(1, COUNT), GROUP: empty, CROSSED: self._crossed()})

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        groups = joined(state[GROUP], self._group_of(new, len(state[GROUP])))
        return self.arrays(state) | {GROUP: groups}

    def n_known(self, state: Arrays) -> int:
        return len(state[GROUP])

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        if column >= self.n_columns(state, 0):
            return UNSEEN
        first, second = int(state[FIRST][column]), int(state[SECOND][column])
        return name_of(first) if second == NO_FEATURE else f"{name_of(first)} * {name_of(second)}"

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        found = np.zeros(self.n_known(state) + 1)  # the last is that of no feature
        for features in self.terms(state):
            np.maximum.at(found, features, sizes)
        return found[:-1]

    def n_columns(self, state: Arrays, n_features: int) -> int:
        return int(state[SIZE][0])

    def terms(self, state: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Return both features of every term; the second is -1 for a feature itself."""
        n = self.n_columns(state, 0)
        return state[FIRST][:n], state[SECOND][:n]

    def packed(self, state: Arrays, n_features: int) -> Arrays:
        first, second = self.terms(state)
        return {FIRST: first.copy(), SECOND: second.copy(), GROUP: state[GROUP]}

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        size = np.array([len(packed[FIRST])], dtype=COUNT)
        return _indexed({**packed, SIZE: size, CROSSED: self._crossed()})

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        n = len(packed[FIRST])
        return {FIRST: ((n,), NUMBER), SECOND: ((n,), NUMBER), GROUP: ((n_features,), NUMBER)}

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        n_features, n_groups = len(packed[GROUP]), len(self._groups)
        yield FIRST, packed[FIRST], Range(0, n_features, closed_low=True)
        yield SECOND, packed[SECOND], Range(NO_FEATURE, n_features, closed_low=True)
        yield GROUP, packed[GROUP], Range(-1, n_groups, closed_low=True)

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        group = np.full(n_features, -1, dtype=NUMBER)
        for part in (base, *parts):
            group[part.features] = part.arrays[GROUP]
        terms = np.concatenate([_terms_in(part) for part in (base, *parts)], axis=1)
        _, appearance = np.unique(_keys(*terms), return_index=True)
        first, second = terms.take(np.sort(appearance), axis=1)
        return {FIRST: first, SECOND: second, GROUP: group}

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        keys = _keys(merged[FIRST], merged[SECOND])
        order = np.argsort(keys)
        return order[np.searchsorted(keys, _keys(*_terms_in(part)), sorter=order)]

    # --- rows -----------------------------------------------------------------------------------------------------

    def see(self, state: Arrays, X: _core.Matrix, first: int, n: int) -> SeenRows:
        """Return what the view makes of n rows, those of their terms that are unseen as one column behind the others.

        The column's value is the root of the sum of their squares, and its weight is at the prior, as theirs are.
        """
        seen = SeenRows(*_core.see(self.name, self.unit_norm, state, X, first, n, self.max_terms))
        width = self.n_columns(state, 0)
        return seen._replace(unseen=bool(len(seen.columns)) and int(seen.columns.max()) >= width)

    def learn(self, state: Arrays, rows: Labelled, undo: _core.UndoLog | None) -> tuple[Arrays, SeenRows]:
        return super().learn(state | self._with_terms(state, rows, undo), rows, undo)

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        """Add the terms, and the sum of squares of those that are unseen as ``graph.unseen``."""
        x = unit_rows(graph, x) if self.unit_norm else x
        terms = self._exported_terms(graph, x, state, None)
        # A difference of sums of squares; in double precision, since mostly nothing is left of them.
        wide = graph.cast(x, np.float64)
        whole = self._exported_squares(graph, wide, state, np.float64)
        unseen = self._exported_unseen(graph, wide, whole, state)
        if not self.unit_norm:
            graph.unseen = graph.cast(unseen)
            return terms
        whole = graph.add("Max", whole, graph.constant([1.0], np.float64))  # 0 for an empty row, otherwise more than 1
        graph.unseen = graph.cast(graph.add("Div", unseen, whole))
        return graph.add("Div", terms, graph.cast(graph.add("Sqrt", whole)))

    def _exported_terms(self, graph: Graph, x: str, state: Arrays, dtype: Any) -> str:
        first, second = self.terms(state)
        product, square = second != NO_FEATURE, first == second
        left, right = (
            graph.add("Gather", x, graph.constant(np.maximum(of, 0), np.int64), axis=1) for of in (first, second)
        )
        right = graph.add(
            "Add", graph.add("Mul", right, graph.constant(product, dtype)), graph.constant(~product, dtype)
        )
        factor = graph.constant(np.where(product & ~square, np.sqrt(2.0), 1.0), dtype)
        return graph.add("Mul", graph.add("Mul", left, right), factor)

    def _exported_squares(self, graph: Graph, x: str, state: Arrays, dtype: Any) -> str:
        """Add the squared length of all terms: |x|^2 + sum_ab C_ab s_a s_b, s_a: that of the features of group a."""
        squares = graph.add("Mul", x, x)
        of_group = state[GROUP][:, None] == np.arange(len(self._groups))
        s = graph.add("MatMul", squares, graph.constant(of_group, dtype))
        of_pairs = graph.add("Mul", graph.add("MatMul", s, graph.constant(state[CROSSED], dtype)), s)
        return graph.add("Add", _row_sums(graph, squares), _row_sums(graph, of_pairs))

    def _exported_unseen(self, graph: Graph, x: str, whole: str, state: Arrays) -> str:
        """Add the sum of squares of the terms without a number, once there are ``max_terms`` of the features only."""
        first, second = self.terms(state)
        if len(first) >= self.max_terms:
            missing = np.ones(self.n_known(state))
            missing[first[second == NO_FEATURE]] = 0.0
            left = graph.add("Mul", x, graph.constant(missing, np.float64))
            return _row_sums(graph, graph.add("Mul", left, left))
        known = self._exported_terms(graph, x, state, np.float64)
        rest = graph.add("Sub", whole, _row_sums(graph, graph.add("Mul", known, known)))
        return graph.add("Max", rest, graph.constant([0.0], np.float64))

    def _with_terms(self, state: Arrays, rows: Labelled, undo: _core.UndoLog | None) -> Arrays:
        """Return the arrays with the terms of rows; as long as there is room, in those given, which ``undo`` notes."""
        arrays, done = self.arrays(state) | {SIZE: state[SIZE].copy()}, 0
        while (done := self._meet(arrays, rows, done, undo)) < rows.n:
            more = len(arrays[FIRST]) + LEAST_ROOM
            arrays = _indexed(arrays | {name: appended(arrays[name], more) for name in (FIRST, SECOND)})
            undo = None  # an error drops these
        return arrays

    def _meet(self, arrays: Arrays, rows: Labelled, done: int, undo: _core.UndoLog | None) -> int:
        """Number the terms of rows from ``done`` on; return the first row for which there is no room."""
        return _core.meet_pairs(
            arrays, rows.X, rows.order, rows.first, rows.n, rows.labels, rows.weight, rows.class_weight, done,
            self.max_terms, undo,
        )  # fmt: skip


def column_of(feature: str) -> str:
    """Return the column or namespace of a feature of this name."""
    ends = [end for end in map(feature.find, "=:^") if end >= 0]
    return feature[: min(ends)] if ends else feature


def _number_of(column: str, number: dict[str, int]) -> int:
    """Return the number of a column, or of the object that it is in; -1 if neither has one."""
    while (found := number.get(column)) is None and "." in column:
        column = column.rpartition(".")[0]
    return -1 if found is None else found


def _row_sums(graph: Graph, x: str) -> str:
    return graph.add("ReduceSum", x, graph.constant([1], np.int64), keepdims=1)


def _terms_in(part: Placed) -> np.ndarray:
    """Return both features of the terms of a part, by their numbers in the merged model, the smaller one first."""
    number = np.append(part.features, NO_FEATURE).astype(NUMBER)  # -1 is the number of no feature in both
    ends = np.stack([number[part.arrays[FIRST]], number[part.arrays[SECOND]]])
    product = ends[1] != NO_FEATURE
    ends[:, product] = np.sort(ends[:, product], axis=0)
    return ends


def _keys(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return a number for each term."""
    return first.astype(np.int64) << 32 | second.astype(np.int64) + 1


def _pair(pair: Sequence[Any]) -> tuple[str, str]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"Pairs: columns must be pairs of columns, such as [('age', 'income')], got {pair!r}")
    return str(pair[0]), str(pair[1])


def _indexed(arrays: Arrays) -> Arrays:
    """Return the arrays with a hash table for as many terms as there is room for."""
    slots = 2 ** int(2 * len(arrays[FIRST]) + 1).bit_length()
    arrays = {**arrays, SLOTS: np.empty(slots, dtype=NUMBER)}
    _core.index_pairs(arrays)
    return arrays
