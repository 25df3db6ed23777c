"""One variance per weight, of which only the weights that rows have moved are stored, in lists by feature.

========  ===============  ==========================================================================================
entry     shape, type      meaning
========  ===============  ==========================================================================================
lists     (F, 2) int64     where the list of each feature starts, and the number of its columns
column    (n,) int32       at each place of a list: the column of weights
mean      (n,) real        the mean of this weight
variance  (n,) real        its variance
drift     (n,) real        only with averaging: the sum over updates of (rows seen before) x (change of the mean)
extent    (2,) int64       places that lists have taken, and columns of weights
========  ===============  ==========================================================================================

All weights without a place have a mean of 0 and the prior variance. A list has room for the next power of two of
columns; when that is full, it moves behind all others (core/covariances/sparse_weights.hpp). When the n places are
taken, the arrays are replaced by ones twice as long, with the lists in the order of features and without gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from .. import _core
from ..memory import require_memory
from ..rules.ranges import Range
from ..tasks.conformal import COUNTS as NUMBERS_PER_CLASS
from ..tasks.task import Task
from ..wording import counted
from .covariance import Covariance, NaturalParameters, Placement, draws, intercept_last
from .settings import Settings
from .sparse_lists import Entries, laid_out, places
from .state import (
    COUNT,
    COUNTS,
    MAX_MEAN,
    MAX_SUMMED,
    MAX_VARIANCE,
    InvalidRows,
    Shapes,
    Size,
    State,
    check_rows,
    grow_common,
    split_common,
    within,
)

REMEDY = "ask for one class (inspect --class), or for fewer features"


class Sparse(Covariance):
    """One variance per weight, stored where a row has moved the weight.

    What is learned is what ``"diag"`` learns, to the bit; probabilities differ by rounding.
    """

    name = "sparse"
    is_diagonal = True
    checks_rows = True
    binds_rows = False
    finds_best = True
    multiclass = "joint"
    unsupported = {  # noqa: RUF012 (a mapping that is never written to)
        "distribute": 'covariance="sparse" trains in one process; merge models of parts of the data, or use "diag"',
        "forget": 'covariance="sparse" cannot forget, which moves weights that no row has; use "diag" or forget=0',
    }

    # --- what is allowed ----------------------------------------------------------------------------------------------

    @classmethod
    def check_task(cls, task: Task) -> None:
        if not (task.binary or (task.several and not task.own_gaussians)):
            remedy = "use another covariance" if task.multilabel else 'use multiclass="joint", or another covariance'
            raise ValueError(
                f'covariance="sparse" moves the two columns of a pair of classes, which the task {task.name} does not; '
                + remedy
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the arrays of numbers of a weight."""
        return "mean", "variance", *(["drift"] if self.settings.average else [])

    @property
    def logged(self) -> tuple[str, ...]:
        return "lists", "column", *self.numbers

    # --- the state ----------------------------------------------------------------------------------------------------

    def _shape(self, size: Size) -> tuple[int, int]:
        return size.n_features + self.settings.fit_intercept, self.settings.task.columns(size.n_classes)

    def own_shapes(self, size: Size, arrays: State | None) -> Shapes:
        n = 0 if arrays is None else len(arrays["column"])
        return {
            "lists": ((self._shape(size)[0], 2), COUNT),
            "column": ((n,), "int32"),
            "extent": ((2,), COUNT),
            **dict.fromkeys(self.numbers, ((n,), self.settings.dtype)),
        }

    def new_state(self, size: Size) -> State:
        what = f"what is counted of {counted(size.n_classes, 'class', 'classes')}"
        require_memory(size.n_classes * NUMBERS_PER_CLASS * 8, what, "merge rare classes")
        return super().new_state(size)

    def add_entries(self, state: State, size: Size) -> None:
        rows, columns = self._shape(size)
        state["lists"] = np.zeros((rows, 2), COUNT)
        state["column"] = np.zeros(0, np.int32)
        state["extent"] = np.array([0, columns])
        state |= {name: np.zeros(0, self.settings.dtype) for name in self.numbers}

    def grown(self, state: State, old: Size, new: Size, several: Covariance | None = None) -> tuple[Settings, State]:
        state, grown = dict(state), self
        room = len(state["lists"]) - self.settings.fit_intercept
        if new.n_features > room:
            n = max(new.n_features, 2 * room) + self.settings.fit_intercept
            lists = np.zeros((n, 2), COUNT)
            lists[: len(state["lists"])] = state["lists"]
            state["lists"] = lists
        if new.n_classes > old.n_classes:
            if several is not None:
                assert isinstance(several, Sparse)
                self.split(state, several)
                grown = several
            grow_common(grown.settings, state, new.n_classes)
            state["extent"] = np.array([state["extent"][0], grown.settings.task.columns(new.n_classes)])
        return grown.settings, state

    def with_room(self, state: State, needed: int) -> State:
        """Return a state with room for so many more places, and as many as the lists take."""
        state, (start, size) = dict(state), np.ascontiguousarray(state["lists"].T)
        self._place(state, {name: state[name] for name in ("column", *self.numbers)}, start, size, needed)
        return state

    def entries(self, state: State, rows: np.ndarray | slice = slice(None)) -> Entries:
        """Return what is stored of these rows, whose first one is 0 in the entries."""
        size, at = state["lists"][rows, 1], places(state["lists"][rows])
        numbers = {name: state[name][at] for name in self.numbers}
        return Entries(np.repeat(np.arange(len(size)), size), state["column"][at], numbers)

    def _store(self, state: State, entries: Entries) -> None:
        """Replace the lists by others."""
        size, dtype = np.bincount(entries.rows, minlength=len(state["lists"])), self.settings.dtype
        arrays = {"column": entries.columns.astype(np.int32, copy=False)}
        arrays |= {name: array.astype(dtype, copy=False) for name, array in entries.numbers.items()}
        self._place(state, arrays, np.cumsum(size) - size, size)

    def _place(
        self, state: State, arrays: dict[str, np.ndarray], start: np.ndarray, size: np.ndarray, spare: int = 0
    ) -> None:
        """Replace the lists by those that are in these arrays."""
        found, lists, used = laid_out(arrays, start, size, spare)
        state |= found | {"lists": lists, "extent": np.array([used, state["extent"][1]])}

    def bytes_per_feature(self, state: State) -> int:
        return int(state["lists"][:1].nbytes) or 16

    # --- model files --------------------------------------------------------------------------------------------------

    def packed(self, state: State, n_features: int) -> State:
        """Return the state with the lists one after the other, and the sizes of those that have columns."""
        entries = self.entries(state)
        size = state["lists"][: n_features + self.settings.fit_intercept, 1]
        known = np.flatnonzero(size)
        own = {
            "lists": size[known],
            "lists.rows": known.astype(COUNT),
            "column": entries.columns,
            "extent": np.array([len(entries.rows), state["extent"][1]]),
        }
        return {name: np.ascontiguousarray(array) for name, array in (state | own | entries.numbers).items()}

    def unpacked(self, arrays: State, size: Size) -> State:
        arrays = dict(arrays)
        known, sizes, (rows, columns) = arrays.pop("lists.rows"), arrays["lists"], self._shape(size)
        check_rows(known, rows)
        column, n = arrays["column"], len(arrays["column"])
        if str(sizes.dtype) != COUNT or sizes.shape != known.shape or (sizes < 1).any() or sizes.sum() != n:
            raise ValueError("the sizes of the lists of weights do not fit the weights")
        if str(column.dtype) != "int32" or not _core.lists_are_distinct(sizes, column, columns):
            raise ValueError(f"a list of weights must have columns from 0 to {columns - 1}, each once")
        numbers = {name: arrays[name] for name in self.numbers}
        if any(array.shape != (n,) or str(array.dtype) != self.settings.dtype for array in numbers.values()):
            raise ValueError(f"the numbers of weights must be {n} of {self.settings.dtype}")
        if arrays["extent"].tolist() != [n, columns]:
            raise ValueError("the extent does not fit the weights")
        entries = Entries(np.repeat(known, sizes), column, numbers)
        arrays["lists"] = np.zeros((rows, 2), COUNT)
        self._store(arrays, entries)
        return arrays

    def own_values(self, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield "weights", state["mean"], within(MAX_MEAN)
        largest = MAX_VARIANCE["float64"] / max(max(state["scale"].tolist(), default=0.0), 1.0)
        allowed = Range(0.0, largest, closed_low=True, closed_high=True)
        yield "the variances of weights", state["variance"], allowed
        yield "lists", state["lists"], COUNTS
        if self.settings.average:
            yield "the sums of weights", state["drift"], within(MAX_MEAN * MAX_SUMMED)

    # --- training and scores ------------------------------------------------------------------------------------------

    def compiled(self) -> _core.Learner:
        return self._learner

    @cached_property
    def _learner(self) -> _core.Learner:
        settings = self.settings
        return _core.Learner(
            settings.rule.compiled,
            self.name,
            settings.task.compiled,
            independent=False,
            intercept=settings.fit_intercept,
            average=settings.average,
            moments=settings.projection == "moments",
            prior_variance=settings.prior_variance,
            min_variance=settings.min_variance,
            forget=0.0,
        )

    def _table(self, X: _core.Matrix, size: Size) -> np.ndarray:
        n, columns = X.shape[0], self._shape(size)[1]
        what = f"a table of {counted(n, 'row')} by {counted(columns, 'score')}"
        require_memory(8 * n * columns, what, "predict fewer rows at a time, or only the classes")
        return np.zeros((n, columns))

    def scores(self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0) -> np.ndarray:
        found = self._table(X, size)
        _raise(self.compiled().scores(state, X, found, largest))
        return found

    def best(self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0) -> np.ndarray:
        found = np.zeros(X.shape[0], np.int32)
        _raise(self.compiled().best(state, X, found, largest))
        return found

    def moderated(
        self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        scores, found = self._table(X, size), self._table(X, size)
        _raise(self.compiled().moderated(state, X, scores, found, largest))
        return scores, found

    def variances(self, state: State, X: _core.Matrix, size: Size) -> np.ndarray:
        found = self._table(X, size)
        self.compiled().variances(state, X, found)
        return found

    def top_variances(self, state: State, X: _core.Matrix, scores: np.ndarray, size: Size) -> np.ndarray:
        found = np.empty(X.shape[0])
        self.compiled().top_variances(state, X, scores, found)
        return found

    def logged_per_entry(self, state: State) -> int:
        return (2 + len(self.numbers)) * self.settings.task.changed_columns(int(state["extent"][1]))

    # --- marginals ----------------------------------------------------------------------------------------------------

    def _prior(self, state: State) -> np.floating:
        """Return the stored variance of a weight that is not stored."""
        settings = self.settings
        stored = settings.prior_variance * max(float(state["folded"][0]), settings.min_variance)
        return np.dtype(settings.dtype).type(stored)

    def _scaled(self, state: State, stored: np.ndarray) -> np.ndarray:
        return np.maximum(stored.astype(np.float64) * state["scale"], self.settings.floor)

    def weights(self, state: State, n_features: int) -> np.ndarray:
        """Return mean, stored variance and, with averaging, drift of all weights, shape (F, 2 or 3, columns).

        Raises
        ------
        MemoryError
            If they are too many.
        """
        return self.some_weights(state, np.arange(n_features + self.settings.fit_intercept))

    def some_weights(self, state: State, rows: np.ndarray) -> np.ndarray:
        columns, dtype, planes = int(state["extent"][1]), np.dtype(self.settings.dtype), len(self.numbers)
        what = f"a table of {counted(len(rows), 'feature')} by {counted(columns, 'column')}, one per class,"
        require_memory(planes * len(rows) * columns * dtype.itemsize, what, REMEDY)
        found = np.zeros((len(rows), planes, columns), dtype)
        found[:, 1] = self._prior(state)
        entries = self.entries(state, rows)
        for plane, name in enumerate(self.numbers):
            found[entries.rows, plane, entries.columns] = entries.numbers[name]
        return found

    def largest_columns(self, state: State, n: int) -> np.ndarray:
        stored = np.bincount(self.entries(state).columns, minlength=int(state["extent"][1]))
        return np.argsort(-stored, kind="stable")[:n]

    def of_columns(self, state: State, columns: np.ndarray) -> State:
        entries, found = self.entries(state), dict(state)
        number = np.full(int(state["extent"][1]), -1, np.int32)
        number[columns] = np.arange(len(columns), dtype=np.int32)
        own = number[entries.columns] >= 0
        numbers = {name: array[own] for name, array in entries.numbers.items()}
        found["extent"] = np.array([0, len(columns)])
        self._store(found, Entries(entries.rows[own], number[entries.columns[own]], numbers))
        return found

    def largest_means(self, state: State, n_features: int) -> np.ndarray:
        found = np.zeros(len(state["lists"]))
        entries = self.entries(state)
        np.maximum.at(found, entries.rows, np.abs(entries.numbers["mean"]))
        return found[self.settings.fit_intercept :][:n_features]

    def column_variances(self, state: State, size: Size) -> np.ndarray:
        stored = self.weights(state, size.n_features)[:, 1]
        return intercept_last(self._scaled(state, stored), self.settings.fit_intercept).T

    def matrix(self, state: State, size: Size) -> np.ndarray:
        return np.diag(self.column_variances(state, size).ravel())[None]

    def marginal(self, state: State, size: Size, column: int) -> np.ndarray:
        return self.column_variances(state, size)[column]

    def noise(self, state: State, size: Size, n: int, generator: np.random.Generator) -> np.ndarray:
        variances = self.column_variances(state, size)
        return draws(variances.ravel(), n, generator).reshape(n, *variances.shape)

    def score_covariance(self, state: State, size: Size) -> np.ndarray:
        return self.column_variances(state, size)

    # --- explanations -------------------------------------------------------------------------------------------------

    def unseen_variances(self, state: State) -> np.ndarray:
        return self._scaled(state, np.full(int(state["extent"][1]), self._prior(state)))

    def contributions(
        self, state: State, rows: np.ndarray, x: np.ndarray, plus: int | None, minus: int | None
    ) -> np.ndarray:
        stored = self.some_weights(state, rows)[:, 1]
        sides = [self._scaled(state, stored[:, column]) for column in (plus, minus) if column is not None]
        return sum(sides) * x**2

    # --- merging ------------------------------------------------------------------------------------------------------

    def _moved(self, state: State, numbers: dict[str, np.ndarray]) -> np.ndarray:
        """Return which of the stored weights are not at the prior."""
        moved: np.ndarray = numbers["variance"] != self._prior(state)
        for name in numbers.keys() - {"variance"}:
            moved |= numbers[name] != 0
        return moved

    def flushed(self, state: State, n_features: int) -> State:
        return {**state, "lists": state["lists"][: n_features + self.settings.fit_intercept]}

    def left_prior(self, state: State) -> np.ndarray:
        rows, _, numbers = self.entries(state)
        found = np.zeros(len(state["lists"]), dtype=bool)
        found[rows[self._moved(state, numbers)]] = True
        return found

    def split(self, state: State, multiclass: Covariance) -> None:
        fraction = multiclass.settings.task.share_of_two
        rows, columns, numbers = self.entries(state)
        moved = self._moved(state, numbers)
        pairs = {name: np.repeat(fraction * array, 2) for name, array in numbers.items()}
        for name in pairs.keys() - {"variance"}:
            pairs[name][::2] = 0 - pairs[name][1::2]  # not -0
        # a feature at the prior stays there, as in weights.py
        pairs["variance"] = np.repeat(np.where(moved, fraction, 1.0) * numbers["variance"], 2)
        state["extent"] = np.array([0, 2])
        both = np.tile(np.arange(2, dtype=np.int32), len(columns))
        self._store(state, Entries(np.repeat(rows, 2), both, pairs))
        split_common(state, multiclass.settings)

    def cells(self, state: State, placement: Placement) -> np.ndarray:
        rows, columns, _ = self.entries(state)
        at_rows = np.arange(placement.rows)[placement.at_rows]
        return at_rows[rows] * placement.columns + placement.at_columns[columns]

    def _placed(self, state: State, numbers: np.ndarray, elsewhere: float, placement: Placement) -> np.ndarray:
        assert placement.cells is not None
        found = np.full((1, len(placement.cells)), elsewhere)
        found[0, np.searchsorted(placement.cells, self.cells(state, placement))] = numbers
        return found

    def placed(self, state: State, placement: Placement) -> np.ndarray:
        stored = self.entries(state).numbers["variance"].astype(np.float64)
        variances = np.maximum(stored, self.settings.floor / state["scale"]) / state["folded"]
        return self._placed(state, variances, self.settings.prior_variance, placement)

    def placed_plane(self, state: State, plane: int, placement: Placement) -> np.ndarray:
        return self._placed(state, self.entries(state).numbers[self.numbers[plane]], 0.0, placement)

    def grouped(self, mean: np.ndarray) -> np.ndarray:
        return mean

    def put_means(self, state: State, mean: np.ndarray, drift: np.ndarray | None, cells: np.ndarray | None) -> None:
        assert cells is not None
        rows, columns = np.divmod(cells, int(state["extent"][1]))
        numbers = {"mean": mean[0], "variance": np.full(len(cells), self._prior(state))}
        self._store(state, Entries(rows, columns, numbers | ({} if drift is None else {"drift": drift[0]})))

    def put(self, state: State, merged: NaturalParameters) -> None:
        prior = self.settings.prior_variance
        untouched = merged.precision[0] == 1.0 / prior
        state["variance"][places(state["lists"])] = np.where(untouched, prior, merged.covariance[0])


def _raise(fault: tuple[str, int, int, float] | None) -> None:
    if fault is not None:
        raise InvalidRows(fault)
