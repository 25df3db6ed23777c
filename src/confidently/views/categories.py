"""Categories of many values as statistics of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..rules.parametric import parameter
from ..rules.ranges import Range, check_integer
from .columns import PLAIN, Columns, key_of
from .graph import Graph
from .pairs import column_of
from .room import appended, joined
from .view import (
    COUNT,
    COUNTED,
    KIND,
    NUMBER,
    REAL,
    Arrays,
    Labelled,
    OtherRows,
    Placed,
    SeenRows,
    Shapes,
    View,
    gained,
    spread,
)  # fmt: skip

PLACE, CATEGORY, FIRST, KEYS, SIZE, ROWS, WEIGHT, SUMS, REPEATS, AGREEMENT = (
    f"categories.{name}"
    for name in ("place", "category", "first", "key", "size", "rows", "count", "sums", "repeats", "agreement")
)  # fmt: skip
DOUBT, LEAST_PRIOR = 10.0, 0.5  # as in core/views/categories.hpp
MAX_SUM = Range(-1e230, 1e230, closed_low=True, closed_high=True)  # of weights times products of targets
MARK = "="  # in the name of a feature between a category and its value


class Categories(View):
    """Numbers, and categories as statistics of the rows before with the same value: for ids, names and cities.

    A category is a column whose features are named ``column=value``. It becomes a number, whatever the number of its
    values: by how much the mean target, or the share of a class, of the rows before with the same value differs from
    that of all. With s_v the sum of the targets (1 for the class) of the n_v rows with the value v, and m and sd mean
    and standard deviation of all::

        (s_v - n_v m)/((n_v + a) sd),    a = (sd^2 - t)/t, at least 1/2

    where t, the variance between values, is the mean of (y - m)(s_v/n_v - m) over the rows whose value had come before,
    with 10 products that are 0 besides: empirical Bayes. A category that tells nothing has about 0, as new values have.
    It is not standardized: its unit is its worth.

    Every row is seen before its label is counted in, so that the statistic does not know the label (ordered target
    statistics: Prokhorenkova et al., NeurIPS 2018). In later passes it would; train in one.

    Besides, the first ``n`` values of categories keep their indicators. Numbers stay as they are, and all other
    features, such as words, are left out.

    Parameters
    ----------
    n : int, default=16
        Number of indicators of a category. A merged model has those of all its models.
    shown : sequence of str, optional
        The categories that have indicators; by default all.
    outputs : int, default=1
        Number of statistics of a category: one, of the second of two classes, or those of the first classes or numbers;
        0 leaves statistics out.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from confidently import Categories, OnlineClassifier, make_view
    >>> generator = np.random.default_rng(0)
    >>> who = generator.integers(0, 300, 4000)
    >>> X, y = pd.DataFrame({"who": [f"n{k}" for k in who]}), who % 7 < 3
    >>> model = OnlineClassifier(view=make_view([Categories(n=1), "standard"])).fit(X[:3000], y[:3000])
    >>> bool(model.score(X[3000:], y[3000:]) > 0.97)
    True
    """

    name = "categories"
    formula = "numbers, and of each category the shrunk deviation of the mean target of the rows with its value"
    keeps_columns = False
    takes_values = True
    sees_labels = True
    passes_values = True

    n: int = parameter(Range(0, 2**20, closed_low=True, closed_high=True), "indicators of a category", default=16)
    shown: Any = parameter(None, "categories that have indicators; by default all", default=None)
    outputs: int = parameter(
        Range(0, 64, closed_low=True, closed_high=True), "number of statistics of a category", default=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("Categories", "n", self.n, 0)
        check_integer("Categories", "outputs", self.outputs, 0)
        if self.shown is not None and not isinstance(self.shown, tuple):
            if isinstance(self.shown, str):
                raise ValueError(f"Categories: shown must be a list of categories, got {self.shown!r}")
            self.__dict__["shown"] = tuple(map(str, self.shown))

    # --- the arrays -----------------------------------------------------------------------------------------------

    def new_arrays(self, n_classes: int) -> Arrays:
        none = np.zeros(0, NUMBER)
        return {
                PLACE: none, CATEGORY: none, FIRST: none, KEYS: np.zeros(0, COUNT), SIZE: np.zeros(1, COUNT),
                ROWS: np.zeros(1 + 2 * self.outputs), WEIGHT: np.zeros(0), SUMS: np.zeros((0, self.outputs)),
                REPEATS: np.zeros(0), AGREEMENT: np.zeros((0, self.outputs)),
            }  # fmt: skip

    def grown(self, state: Arrays, new: Columns, n_classes: int) -> Arrays:
        if not len(new):
            return self.arrays(state)
        number = {key: c for c, key in enumerate(state[KEYS].tolist())}
        first, size, left = state[FIRST].tolist(), int(state[SIZE][0]), list[int]()
        place, category = np.full(len(new), -1, NUMBER), np.full(len(new), -1, NUMBER)
        names = new.given_names(len(state[PLACE])) if new.names is not None else [""] * len(new)
        for j, (kind, name) in enumerate(zip(new.kind.tolist(), names, strict=True)):
            if kind == PLAIN and MARK not in name:
                continue
            if kind == PLAIN:
                column = column_of(name)
                c = category[j] = number.setdefault(key_of(column), len(number))
                if c == len(first):
                    first.append(size)
                    size += self.outputs
                if not (self.shown is None or column in self.shown):
                    continue
                left = left or (self.n - self._indicators(state)).tolist()
                left += [self.n] * (len(first) - len(left))
                if not left[c]:
                    continue
                left[c] -= 1
            place[j], size = size, size + 1
        return {
            PLACE: joined(state[PLACE], place), CATEGORY: joined(state[CATEGORY], category),
            FIRST: np.array(first, NUMBER), KEYS: np.array(list(number), COUNT), SIZE: np.array([size], COUNT),
            ROWS: state[ROWS], WEIGHT: appended(state[WEIGHT], len(new)), SUMS: appended(state[SUMS], len(new)),
            REPEATS: appended(state[REPEATS], len(first) - len(state[FIRST])),
            AGREEMENT: appended(state[AGREEMENT], len(first) - len(state[FIRST])),
        }  # fmt: skip

    @staticmethod
    def _indicators(state: Arrays) -> np.ndarray:
        """Return how many indicators each category has."""
        shown = (state[CATEGORY] >= 0) & (state[PLACE] >= 0)
        return np.bincount(state[CATEGORY][shown], minlength=len(state[FIRST]))

    def n_known(self, state: Arrays) -> int:
        return len(state[PLACE])

    def n_columns(self, state: Arrays, n_features: int) -> int:
        return int(state[SIZE][0])

    def column_name(self, state: Arrays, column: int, name_of: Callable[[int], str]) -> str:
        if len(found := np.flatnonzero(state[PLACE] == column)):
            return name_of(int(found[0]))
        c = int(np.flatnonzero((state[FIRST] <= column) & (column < state[FIRST] + self.outputs))[0])
        return self._statistic(name_of(int(np.argmax(state[CATEGORY] == c))), column - int(state[FIRST][c]))

    def _statistic(self, feature: str, k: int) -> str:
        """Return what a statistic of the category of a feature is called."""
        return f"{column_of(feature)} by statistic" + (f" {k}" if self.outputs > 1 else "")

    def by_feature(self, state: Arrays, sizes: np.ndarray) -> np.ndarray:
        found, place, category = np.zeros(self.n_known(state)), state[PLACE], state[CATEGORY]
        found[place >= 0] = sizes[place[place >= 0]]
        of_values = category >= 0
        values = np.bincount(category[of_values], minlength=1)  # among which a statistic is divided
        for k in range(self.outputs):
            number = category[of_values]
            found[of_values] += sizes[state[FIRST][number] + k] / values[number]
        return found

    def made_columns(self, new: Columns, state: Arrays, grown: Arrays) -> Columns:
        known, size = self.n_known(state), int(state[SIZE][0])
        kind = np.full(int(grown[SIZE][0]) - size, PLAIN, KIND)
        names = [""] * len(kind)
        for j, name in enumerate(new.given_names(known)):
            if (at := int(grown[PLACE][known + j]) - size) >= 0:
                kind[at], names[at] = new.kind[j], name
            c = int(grown[CATEGORY][known + j])
            for k in range(self.outputs) if c >= len(state[FIRST]) else ():
                names[int(grown[FIRST][c]) + k - size] = self._statistic(name, k)
        return Columns(kind, names)

    def unpacked(self, packed: Arrays, n_features: int) -> Arrays:
        place, first = packed[PLACE], packed[FIRST]
        columns = [place[place >= 0], *(first + k for k in range(self.outputs))]
        if not np.array_equal(np.sort(np.concatenate(columns)), np.arange(packed[SIZE][0])):
            raise ValueError("the columns of categories are not those of their values and statistics")
        return packed

    def shapes(self, packed: Arrays, n_features: int, n_classes: int) -> Shapes:
        n = len(packed[FIRST])
        return {
            PLACE: ((n_features,), NUMBER), CATEGORY: ((n_features,), NUMBER), FIRST: ((n,), NUMBER),
            KEYS: ((n,), COUNT), SIZE: ((1,), COUNT), ROWS: ((1 + 2 * self.outputs,), REAL),
            WEIGHT: ((n_features,), REAL), SUMS: ((n_features, self.outputs), REAL),
            REPEATS: ((n,), REAL), AGREEMENT: ((n, self.outputs), REAL),
        }  # fmt: skip

    def values(self, packed: Arrays) -> Iterator[tuple[str, np.ndarray, Range]]:
        size, n = int(packed[SIZE][0]), len(packed[FIRST])
        yield PLACE, packed[PLACE], Range(-1, size, closed_low=True)
        yield CATEGORY, packed[CATEGORY], Range(-1, n, closed_low=True)
        yield FIRST, packed[FIRST], Range(0, size, closed_low=True, closed_high=not self.outputs)
        yield SIZE, packed[SIZE], Range(0, 2**31, closed_low=True)
        yield ROWS, packed[ROWS][:1], COUNTED
        yield WEIGHT, packed[WEIGHT], COUNTED
        yield REPEATS, packed[REPEATS], COUNTED
        yield ROWS, packed[ROWS][1:], MAX_SUM
        yield SUMS, packed[SUMS], MAX_SUM
        yield AGREEMENT, packed[AGREEMENT], MAX_SUM

    # --- merging --------------------------------------------------------------------------------------------------

    def merged(self, parts: Sequence[Placed], base: Placed, n_features: int, n_classes: int) -> Arrays:
        place, category = np.full(n_features, -1, NUMBER), np.full(n_features, -1, NUMBER)
        number, first, size = dict[int, int](), list[int](), 0
        for part in (base, *parts):
            self._check_classes(part)
            own, features = part.arrays, part.features
            for j, of in _in_order(own):
                if of >= 0:
                    c = number.setdefault(int(own[KEYS][of]), len(number))
                    if c == len(first):
                        first.append(size)
                        size += self.outputs
                elif place[features[j]] < 0:
                    place[features[j]], size = size, size + 1
            known = own[CATEGORY] >= 0
            numbers = np.array([number[key] for key in own[KEYS].tolist()], NUMBER)
            category[features[known]] = numbers[own[CATEGORY][known]]
        how = {ROWS: _added, WEIGHT: gained, SUMS: _added, REPEATS: gained, AGREEMENT: _added}
        start, *each = (_counts(part, n_features, number) for part in (base, *parts))
        counts = {name: add([own[name] for own in each], start[name]) for name, add in how.items()}
        keys = np.array(list(number), COUNT)
        return {
            PLACE: place, CATEGORY: category, FIRST: np.array(first, NUMBER), KEYS: keys, SIZE: np.array([size], COUNT),
            **counts,
        }  # fmt: skip

    def _check_classes(self, part: Placed) -> None:
        """Raise ``OtherRows`` if statistics are not of the same classes in the merged model."""
        known = part.classes[: max(self.outputs, 2)]
        if (known != np.arange(len(known))).any():
            raise OtherRows(
                "the statistics of categories are of other classes in one of the models; merge models whose classes "
                "came in the same order, or that have continued from a common base"
            )

    def columns_in(self, merged: Arrays, part: Placed) -> np.ndarray:
        own = part.arrays
        number = {key: c for c, key in enumerate(merged[KEYS].tolist())}
        found = np.empty(int(own[SIZE][0]), np.int64)
        shown = own[PLACE] >= 0
        found[own[PLACE][shown]] = merged[PLACE][part.features[shown]]
        for first, key in zip(own[FIRST].tolist(), own[KEYS].tolist(), strict=True):
            found[first : first + self.outputs] = merged[FIRST][number[key]] + np.arange(self.outputs)
        return found

    # --- rows -----------------------------------------------------------------------------------------------------

    def learn(self, state: Arrays, rows: Labelled, undo: _core.UndoLog | None) -> tuple[Arrays, SeenRows]:
        seen = _core.see_and_learn(
            self.name, True, state, rows.X, rows.order, rows.first, rows.labels, rows.label_start, rows.weight,
            rows.class_weight, rows.n_classes, undo, rows.targets,
        )  # fmt: skip
        return self.arrays(state), SeenRows(*seen)

    def statistics(self, state: Arrays) -> np.ndarray:
        """Return the statistics of every feature, shape (features, outputs); 0 of those that are no values."""
        found, known = np.zeros_like(state[SUMS]), np.flatnonzero((state[WEIGHT] > 0.0) & (state[CATEGORY] >= 0))
        if not len(known):
            return found
        category, n, sums = state[CATEGORY][known], state[WEIGHT][known, None], state[SUMS][known]
        total, (of_outputs, squares) = state[ROWS][0], state[ROWS][1:].reshape(2, -1)
        mean = of_outputs / total
        variance = squares / total - mean * mean
        between = (state[AGREEMENT] / (state[REPEATS] + DOUBT)[:, None])[category]
        tells = (between > 0.0) & (variance > 0.0)
        between = np.where(tells, between, 1.0)
        prior = np.maximum((variance - between) / between, LEAST_PRIOR)
        statistics = (sums - n * mean) / (n + prior) / np.sqrt(np.where(variance > 0.0, variance, 1.0))
        found[known] = np.where(tells, statistics, 0.0)
        return found

    def exported(self, graph: Graph, x: str, state: Arrays) -> str:
        values, shown = np.flatnonzero(state[CATEGORY] >= 0), np.flatnonzero(state[PLACE] >= 0)
        if not len(values) or not self.outputs:
            return graph.add("Gather", x, graph.constant(shown[np.argsort(state[PLACE][shown])], np.int64), axis=1)
        kept = graph.add("Gather", x, graph.constant(shown, np.int64), axis=1)
        own = graph.add("Gather", x, graph.constant(values, np.int64), axis=1)
        there = graph.add("Abs", graph.add("Sign", own))
        table = np.zeros((len(values), len(state[FIRST]), self.outputs))
        table[np.arange(len(values)), state[CATEGORY][values]] = self.statistics(state)[values]
        found = graph.add("MatMul", there, graph.constant(table.reshape(len(values), -1)))
        columns = [state[PLACE][shown], (state[FIRST][:, None] + np.arange(self.outputs)).ravel()]
        joined = graph.add("Concat", kept, found, axis=1)
        return graph.add("Gather", joined, graph.constant(np.argsort(np.concatenate(columns)), np.int64), axis=1)


def _in_order(own: Arrays) -> Iterator[tuple[int, int]]:
    """Yield feature and -1, or -1 and category, in the order of the columns that are made of them."""
    features = np.flatnonzero(own[PLACE] >= 0)
    columns = np.concatenate([own[PLACE][features], own[FIRST]])
    of_feature = np.concatenate([features, np.full(len(own[FIRST]), -1)])
    category = np.concatenate([np.full(len(features), -1), np.arange(len(own[FIRST]))])
    for k in np.argsort(columns).tolist():
        yield int(of_feature[k]), int(category[k])


def _counts(part: Placed, n_features: int, number: dict[int, int]) -> Arrays:
    """Return what a part has counted, of the features and categories of the merged model."""
    own = part.arrays
    categories, outputs = np.array([number[key] for key in own[KEYS].tolist()], np.int64), own[SUMS].shape[1]
    each, by_category = np.arange(outputs), (len(number), outputs)
    return {
        ROWS: own[ROWS],
        WEIGHT: spread(own[WEIGHT], (n_features,), part.features),
        SUMS: spread(own[SUMS], (n_features, outputs), part.features, each),
        REPEATS: spread(own[REPEATS], by_category[:1], categories),
        AGREEMENT: spread(own[AGREEMENT], by_category, categories, each),
    }


def _added(sums: Sequence[np.ndarray], base: np.ndarray) -> np.ndarray:
    """Return the sums of a base and what each part has added since; of numbers, they may be smaller."""
    return base + sum(own - base for own in sums)
