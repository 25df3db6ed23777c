"""Training on dicts, one by one: features and classes are numbered in the order in which they first appear.

A row is one call into compiled code (core/bindings/dicts.cpp), except with large dense covariances, and with views of
regressions and of trees, which train on matrices of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy, deepcopy
from math import isfinite
from typing import Any

import numpy as np

from .. import _core
from ..covariances.state import out_of_range
from ..covariances.table import kind_of
from ..data.class_order import sorted_numbers
from ..data.classes import ClassTable
from ..data.features import Features, Strings
from ..data.memory.matrix import MAX_COLUMNS, as_matrix, check_weight, largest_value
from ..data.request import EXACT
from ..exclusive import ConcurrentUse, Exclusive
from ..rules.ranges import UNIT, Range, check_choice, check_number
from ..views.center import Center
from ..views.columns import PLAIN, Columns
from .recipe import Recipe, one_output

HASH_BITS = Range(1, 31, closed_low=True, closed_high=True)
MAX_BOUND = 256  # rows of a dense covariance up to which the compiled loop over dicts is faster than products
Row = Mapping[Hashable, Any]


class DictRows:
    """A learner that trains on dicts.

    Parameters
    ----------
    recipe : Recipe
    calibration : {"progressive", None}
    bits : int, optional
        Hash the names of features to this many bits.
    multilabel : bool
        Whether a row has any number of labels instead of one class.
    """

    growing = False

    def __init__(self, recipe: Recipe, calibration: str | None, bits: int | None, multilabel: bool = False) -> None:
        kind_of(recipe.covariance).require("stream")
        self.multiclass, self.calibration = recipe.multiclass, calibration
        check_choice("calibration", self.calibration, ("progressive", None))
        self.bits = check_bits(bits)
        self.table = one_output() if recipe.targets else ClassTable(multilabel=multilabel)
        self.learner: Any = recipe.learner(len(self.table), multilabel)
        view = self.learner.view
        if view is not None and view.takes_names and self.bits != EXACT:
            raise ValueError(f"the view {view.name} needs names of features, which hash_bits drops; use hash_bits=None")
        centers = recipe.targets and isinstance(view, Center)  # which the compiled loop does in a small matrix
        self.zeros = view is not None and view.takes_values and not centers
        self.only_matrices = view is not None and not self._binds_views(centers)
        self.as_matrices = True  # until the compiled loop is bound
        self.fewer_than_two = True  # classes so far
        self._order: list[int] = []
        self.largest = largest_value(self.learner.dtype)
        self.core = _core.DictLearner(self.bits, MAX_COLUMNS, self.zeros)
        self._make_room()

    def _binds_views(self, centers: bool) -> bool:
        """Return whether the compiled loop makes what the views do of a row."""
        if centers:
            return bool(self.learner.covariance.couples_features)
        one_class = self.learner.task.one_class and self.learner.covariance.is_diagonal
        return bool(one_class and not self.learner.view.pauses)

    # --- training ----------------------------------------------------------------------------------------------------

    def learn(self, x: Row, y: Any, weight: float = 1.0) -> None:
        """Train on a row of one class."""
        if weight != 1.0:
            check_weight(weight)
        try:
            if not self.growing and self.core.learn(x, y, weight):  # the usual case
                return
            number = self.table.get(y)
        except OverflowError:  # which leaves everything as it was
            self._make_room()
            raise out_of_range(self.learner.dtype) from None
        except TypeError:
            if not isinstance(y, dict):
                raise
            labels = f"a row has one class, got {y!r}; use OnlineMultiLabelClassifier for several labels"
            raise TypeError(labels) from None
        if number is None:
            self.core.row(x, False, self.largest)  # an invalid row must not add a class
            with self._undone_on_error():
                self._learn(x, self._class(y), weight)
        else:
            self._learn(x, number, weight)

    def _learn(self, x: Row, number: int, weight: float) -> None:
        if self.as_matrices:
            self._learn_matrix(x, np.array([number], dtype=np.int32), None, weight)
        else:
            self._learn_dict(self.core.learn_class, x, number, weight)

    def _learn_dict(self, learn: Callable[..., bool], x: Row, labels: Any, weight: float) -> None:
        """Train in the compiled loop, for which room is made first where it needs that."""
        known, before = self.core.size, self.learner
        try:
            if self.growing:  # no other thread can start growing between this line and the call
                raise ConcurrentUse
            if not learn(x, labels, weight):
                before = copy(before)
                self._make_room()
                if not learn(x, labels, weight):
                    if self.learner.view is None:
                        raise ConcurrentUse
                    self._learn_matrix(x, np.array([labels], dtype=np.int32), None, weight)  # which the views grow with
                    self._make_room()
        except OverflowError:  # which leaves the learner as it was
            self.core.forget(known)
            self.learner = before
            self._make_room()
            raise out_of_range(self.learner.dtype) from None

    def learn_labels(self, x: Row, y: Mapping[Any, bool]) -> None:
        """Train on a row of any number of labels."""
        numbers = self.table.numbers
        if len(self.table) and all(name in numbers for name in y):
            self._learn_relevant(x, y)
        else:
            self.core.row(x, False, self.largest)  # an invalid row must not add a label
            with self._undone_on_error():
                self._learn_relevant(x, y)

    def _learn_relevant(self, x: Row, y: Mapping[Any, bool]) -> None:
        relevant = sorted(number for number, yes in [(self._class(name), yes) for name, yes in y.items()] if yes)
        if not len(self.table):
            return
        if self.as_matrices:
            start = np.array([0, len(relevant)])
            self._learn_matrix(x, np.array(relevant, dtype=np.int32), start, 1.0)
        else:
            self._learn_dict(self.core.learn_labels, x, relevant, 1.0)

    def _learn_matrix(
        self, x: Row, labels: np.ndarray, start: np.ndarray | None, weight: float, **targets: np.ndarray
    ) -> None:
        with self._alone():
            known = self.core.size
            row = self.core.row(x, True, self.largest)
            with nullcontext() if self.core.size == known else self._undone_on_error(known):
                if self.core.size > self.learner.n_features:
                    self.grow_features()
                self._learn_values(*row, labels, start, weight, **targets)

    def _learn_values(
        self, values: np.ndarray, columns: np.ndarray, labels: np.ndarray, start: np.ndarray | None, weight: float,
        **targets: np.ndarray,
    ) -> None:  # fmt: skip
        """Train on a row, for whose features there is room."""
        matrix, weights = self._matrix(values, columns, self.learner.n_features), np.array([float(weight)])
        calibrate = self.calibration is not None
        self.learner.learn(matrix, labels, start, weight=weights, calibrate=calibrate, **targets)

    def _class(self, name: Any) -> int:
        """Return the number of a class; make room in the learner for a new one."""
        name = python_value(name)
        number = self.table.get(name)
        if number is not None:
            return number
        if name is None:
            raise ValueError("a class cannot be None")
        with self._alone():
            number = self.table.number(name)
            self._count_classes()
            if len(self.table) > self.learner.n_classes:
                self.learner.grow(n_classes=len(self.table), multiclass=self.multiclass)
                self._make_room()
        return number

    def _count_classes(self) -> None:
        self._order = []
        self.fewer_than_two = len(self.table.names) < 2 or None in self.table.names[:2]  # later ones have names

    def grow_features(self) -> None:
        """Make room in the learner for all features so far."""
        known = self.learner.n_features
        columns = None
        if self.learner.wants_columns and self.core.size > known:
            names = list(self.features(known).names) if self.bits == EXACT else None
            more = self.core.size - known
            columns = Columns.alike(more, PLAIN) if names is None else Columns.named(names)
        self.learner.grow(n_features=self.core.size, columns=columns)

    def _make_room(self) -> None:
        """Make room for all features and one for those unseen, and bind the compiled loop to the arrays."""
        with self._alone():
            self.grow_features()
            if self.only_matrices:
                return
            covariance = self.learner.covariance
            dense = covariance.couples_features
            large = covariance.by_products and not self._is_small()
            self.as_matrices = large or not covariance.binds_rows or not self.learner.task.compiled_rows
            if self.as_matrices:
                self.core.unbind()
                return
            if not dense and self.learner.view is None:  # a matrix would grow by a row and a column
                self.learner.grow(n_features=self.core.size + 1)
                self.learner.n_features = self.core.size
            self.learner.make_writable()
            covariance.flush(self.learner.state)
            progressive = self.calibration is not None
            view, spare = self.learner.view, not dense and self.learner.view is None
            self.core.bind(
                covariance.compiled(), self.learner.state, progressive, self.largest, spare, self.table.numbers,
                [] if view is None else view.steps,
            )  # fmt: skip

    def _is_small(self) -> bool:
        """Return whether rows are trained on one by one within the matrices, which must have double precision."""
        size, settings = self.learner.state["covariance"].shape[1], self.learner.settings
        return bool(size <= MAX_BOUND) and settings.dtype == "float64" and not settings.forget

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads from training while arrays are replaced, or rows are learned without the global lock."""
        with Exclusive(self):
            before, self.growing = self.growing, True
            try:
                yield
            finally:
                self.growing = before

    @contextmanager
    def _undone_on_error(self, features: int | None = None, in_pieces: bool = False) -> Iterator[None]:
        """Forget new features and classes if the block raises a ``ValueError``; the learner itself undoes its call.

        ``features`` were known before, by default those of now. With ``in_pieces`` there may be several such calls.
        """
        features = self.core.size if features is None else features
        classes, first_two = len(self.table.names), self.table.names[:2]
        learner = deepcopy(self.learner) if in_pieces else copy(self.learner)
        try:
            yield
        except ValueError:
            self.core.forget(features)
            # the first two classes may have been named meanwhile; copying all names beforehand would cost too much
            names = [*first_two, *self.table.names[2:classes]]
            self.table = ClassTable(names, self.table.multilabel, self.table.closed)
            self.learner = learner
            self._count_classes()
            self._make_room()
            raise

    # --- classes in order --------------------------------------------------------------------------------------------

    def _named(self, values: Sequence[Any]) -> dict[Any, Any]:
        """Return values by class, given by class number, as a dict sorted by class."""
        names = self.table.names
        return {names[k]: values[k] for k in self.order()}

    def order(self) -> list[int]:
        """Return the numbers of the classes, sorted by class."""
        if len(self._order) != len(self.table.names):
            self._order = sorted_numbers(self.table.names)
        return self._order

    def _sign(self) -> float:
        """Return the sign of two classes' margin: it is positive for the one that is sorted last, or seen second."""
        return 1.0 if self.fewer_than_two or self.order()[1] == 1 else -1.0

    # --- predicting --------------------------------------------------------------------------------------------------

    def only_class(self) -> list[Any] | None:
        """Return the list of classes seen if there are fewer than two; otherwise None."""
        return [name for name in self.table.names if name is not None] if self.fewer_than_two else None

    def predict(self, x: Row) -> Any:
        """Return the best class; None before the first."""
        if self.fewer_than_two:
            return next(iter(self.only_class() or []), None)
        if self.as_matrices:
            return self.table.names[int(self._predict_row(x, "predict", self.calibration)[0])]
        if self.learner.decides_by_probability(self.calibration):
            first, second = self.core.probabilities(x) or self._python_probabilities(x)
            return self.table.names[second > first]
        best = self.core.best(x)
        return self.table.names[int(self._predict_row(x, "predict", self.calibration)[0]) if best < 0 else best]

    def probabilities(self, x: Row) -> dict[Any, float]:
        """Return the probability of every class."""
        only = self.only_class()
        if only is not None:
            return dict.fromkeys(only, 1.0)
        if self.as_matrices or self.calibration is None:
            return self._named(self._python_probabilities(x))
        return self._named(self.core.probabilities(x) or self._python_probabilities(x))

    def _python_probabilities(self, x: Row) -> list[float]:
        return self._predict_row(x, "probabilities", self.calibration)[0].tolist()

    def predict_labels(self, x: Row) -> dict[Any, bool]:
        """Return whether each label is relevant."""
        if self.as_matrices:
            found = self._predict_row(x, "predict", self.calibration)[0].tolist() if len(self.table) else []
        elif len(self.table) and self.learner.decides_by_probability(self.calibration):
            threshold = self.learner.label_threshold
            found = [p > threshold for p in self.core.probabilities(x) or self._python_probabilities(x)]
        else:
            scores = list(self.core.scores(x))
            threshold = scores.pop(0) if self.learner.settings.task.has_threshold else 0.0
            found = [score > threshold for score in scores]
        return self._named(found)

    def label_probabilities(self, x: Row) -> dict[Any, float]:
        """Return the probability that each label is relevant."""
        if not len(self.table):
            return {}
        if self.as_matrices or self.calibration is None:
            return self._named(self._python_probabilities(x))
        return self._named(self.core.probabilities(x) or self._python_probabilities(x))

    def predict_set(self, x: Row, coverage: float) -> set[Any]:
        """Return the classes or labels that cannot be excluded: all of them until enough rows were learned."""
        check_number("predict_set_one", "coverage", coverage, UNIT)
        self._check_calibrated("predict_set_one")
        if not self.table.multilabel and (only := self.only_class()) is not None:
            return set(only)
        found = self.label_probabilities(x) if self.table.multilabel else self.probabilities(x)
        if not found:
            return set()
        names = self.table.names
        p = np.array([[found[name] for name in names]])
        [inside] = self.learner.conformal.sets(p, coverage, by_class=True).tolist()
        return {name for name, is_inside in zip(names, inside, strict=True) if is_inside}

    def abstains(self, x: Row, risk: float) -> bool:
        """Return whether to leave a row unanswered, so that at most a fraction of the answers is wrong."""
        check_number("abstain_one", "risk", risk, UNIT)
        self._check_calibrated("abstain_one")
        if self.fewer_than_two:
            return True
        least: float = self.learner.conformal.least_probability(risk)
        return max(self.probabilities(x).values()) < least

    def novelty(self, x: Row) -> float:
        """Return the p-value of a row as one of those before; 1 until there is something to compare it with."""
        self._check_calibrated("novelty_one")
        if not self.learner.n_seen:
            return 1.0
        return float(self._predict_row(x, "novelty")[0])

    def _check_calibrated(self, method: str) -> None:
        if self.calibration is None:
            raise ValueError(f"{method}: calibration=None has calibrated nothing; use calibration='progressive'")

    def margin_distribution(self, x: Row) -> tuple[dict[Any, float], dict[Any, float]]:
        """Return mean and variance of each class's score; with two, of the margin of the one that is sorted last."""
        if self.only_class() is not None:
            return {}, {}
        mean, variance = (np.ravel(found).tolist() for found in self._predict_row(x, "margin_distribution"))
        if self.learner.task.binary:
            name = self.table.names[self.order()[1]]
            return {name: self._sign() * mean[0]}, {name: variance[0]}
        return self._named(mean), self._named(variance)

    def _predict_row(self, x: Row, method: str, *arguments: Any) -> Any:
        values, columns = self.core.row(x, False, self.largest)
        width = self.core.size + bool(len(columns) and columns[-1] == self.core.size)
        return getattr(self._of_width(width), method)(self._matrix(values, columns, width), *arguments)

    def _matrix(self, values: np.ndarray, columns: np.ndarray, width: int) -> _core.Matrix:
        """Return a row, which was checked when it was read, as a matrix."""
        matrix = _core.csr(values, columns, np.array([0, len(values)]), width)
        matrix.checked = self.largest
        return matrix

    def _predict_rows(self, rows: Any, method: str, *arguments: Any) -> Any:
        """Call a method of the learner on rows whose last column represents all unseen features."""
        width = self.core.size + bool(rows[:, -1].nnz)
        return getattr(self._of_width(width), method)(as_matrix(rows[:, :width], self.learner.dtype), *arguments)

    def _of_width(self, width: int) -> Any:
        """Return the learner with so many features, which it may not have met yet."""
        if self.learner.n_features == width:
            return self.learner
        learner = copy(self.learner)
        learner.n_features = self.core.size
        learner.grow(n_features=width)
        return learner

    # --- the posterior -----------------------------------------------------------------------------------------------

    def features(self, first: int = 0) -> Features:
        """Return names and keys of the features from one on."""
        if self.bits != EXACT:
            raise ValueError("the names of features are not kept with hash_bits; use hash_bits=None")
        keys, (text, start) = self.core.features(first)
        return Features(keys, np.arange(len(keys), dtype=np.int32), Strings(text, start))

    def weights(self, quantity: str) -> dict[Any, Any]:
        """Return each class's ``"mean"`` or ``"variance"`` of the weights, by the names of features."""
        names = list(self.features().names)
        self.grow_features()
        by_class = getattr(self.learner, quantity)()
        binary = self.learner.task.binary
        if binary and quantity == "mean":
            by_class = self._sign() * by_class
        by_name = [dict(zip(names, row[: len(names)].tolist(), strict=True)) for row in by_class]
        return by_name[0] if binary else self._named(by_name)

    # --- pickling ----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in ("core", "growing", "_order")}
        keys, (text, start) = self.core.features()
        state["known"] = keys.copy(), text.copy(), start.copy()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = state.pop("known")
        vars(self).update(state, _order=[])
        self.core = _core.DictLearner(self.bits, MAX_COLUMNS, self.zeros)
        self.core.restore(*known)
        self._make_room()


def check_bits(bits: int | None) -> int:
    """Return the number of bits to which names are hashed, ``EXACT`` for None."""
    if bits is None:
        return EXACT
    check_number("hash_bits", "hash_bits", bits, HASH_BITS)
    return int(bits)


def python_value(name: Any) -> Any:
    """Return NumPy's booleans, numbers and strings as Python's."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, float) and not isfinite(name):
        raise ValueError(f"a class cannot be {name}")
    return name
