"""The common part of covariances over weights of features: mean, growing, splitting and packing.

Only :class:`UncorrelatedWeights` assumes a form of Sigma.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

import numpy as np

from .. import _core
from ..memory import require_memory
from ..rules.ranges import Range
from ..wording import counted
from .covariance import Covariance, Placement, draws, intercept_last
from .settings import Settings
from .state import (
    MAX_MEAN,
    MAX_SUMMED,
    PLACES,
    InvalidRows,
    Shapes,
    Size,
    State,
    grow_common,
    put_places,
    put_rows,
    split_common,
    within,
    without_base,
)

LARGE = 2**28  # bytes of weights, beyond which memory is looked for first: it may not be there when it is written to
COLUMNS_PER_SPARE = 8  # columns of weights for each that is kept to spare


class WeightCovariance(Covariance):
    """Base of the covariances whose state has the entry ``weights``: (F, planes, K), the mean in plane 0.

    Attributes
    ----------
    compiled_name : str
        Name in the core's table of covariances, for training row by row.
    scoring_name : str, optional
        Name in that table for computing scores, which need only the mean; by default the same.
    has_variances : bool
        Whether plane 1 has the variances of weights.
    """

    compiled_name: ClassVar[str]
    scoring_name: ClassVar[str | None] = None
    has_variances: ClassVar[bool] = False

    @property
    def planes(self) -> int:
        """Numbers per weight: the mean and, with averaging, its sum over rows."""
        return 1 + self.settings.average

    @classmethod
    def matrix_size(cls, settings: Settings, rows: int, columns: int) -> int:
        """Return D, the size of Sigma, for the numbers of features (with the intercept) and columns."""
        return rows if settings.independent else rows * columns

    def _shape(self, size: Size) -> tuple[int, int]:
        return size.n_features + self.settings.fit_intercept, self.settings.task.columns(size.n_classes)

    # --- the state ----------------------------------------------------------------------------------------------------

    def own_shapes(self, size: Size, arrays: State | None) -> Shapes:
        rows, columns = self._shape(size)
        return {"weights": ((rows, self.planes, columns), self.settings.dtype)}

    def add_entries(self, state: State, size: Size) -> None:
        state["weights"] = self.prior_weights(state, *self._shape(size))

    def prior_weights(self, state: State, rows: int, columns: int) -> np.ndarray:
        """Return weights at the prior, equal to those that exist from the start and are never updated.

        So the scale of the ellipsoid rules applies to them too.
        """
        size = rows * self.planes * columns * np.dtype(self.settings.dtype).itemsize
        if size > LARGE:
            require_memory(
                size,
                f"the weights of {counted(rows, 'feature')} in {counted(columns, 'column')}, one per class,",
                "hash the features into fewer columns, merge rare classes or use float32",
            )
        return np.zeros((rows, self.planes, columns), self.settings.dtype)

    def grown(self, state: State, old: Size, new: Size, several: Covariance | None = None) -> tuple[Settings, State]:
        state, grown = dict(state), self
        room = len(state["weights"]) - self.settings.fit_intercept
        if new.n_features > room:
            self.grow_features(state, self.room(new.n_features, room))
        if new.n_classes > old.n_classes:
            if several is not None:
                assert isinstance(several, WeightCovariance)
                self.split(state, several)
                grown = several
            grown.grow_classes(state, new.n_classes)
        return grown.settings, state

    def room(self, n_features: int, room: int) -> int:
        """Return the number of features to make room for, which doubles so that a growing stream is copied rarely."""
        return max(n_features, 2 * room)

    def grow_features(self, state: State, n_features: int) -> None:
        """Add features at the prior."""
        old = state["weights"]
        weights = self.prior_weights(state, n_features + self.settings.fit_intercept, old.shape[2])
        weights[: len(old)] = old
        state["weights"] = weights

    def grow_classes(self, state: State, n_classes: int) -> None:
        """Append classes or labels at the prior."""
        grow_common(self.settings, state, n_classes)
        old, columns = state["weights"], self.settings.task.columns(n_classes)
        weights = state["weights"] = widened(old, columns)
        weights[:, :, old.shape[2] :] = self.prior_weights(state, 1, columns)[:, :, old.shape[2] :]

    def bytes_per_feature(self, state: State) -> int:
        return state["weights"][:1].nbytes or 8 * self.planes

    # --- model files --------------------------------------------------------------------------------------------------

    def packed(self, state: State, n_features: int) -> State:
        """Return the state; if that is smaller, without rows at the prior and with the others' numbers, and of these
        without numbers at the prior and with the places of the others.

        The entry ``weights.rows`` has the numbers of rows; ``weights.places`` has places among those of these rows.
        """
        packed = {name: np.ascontiguousarray(array) for name, array in state.items()}
        weights = packed["weights"] = np.ascontiguousarray(self.weights(state, n_features))
        if len(weights):
            prior = self.prior_weights(state, 1, weights.shape[2])
            moved = _core.moved_rows(weights, prior)
            if len(moved) * (weights[:1].nbytes + moved.itemsize) < weights.nbytes:
                rows = np.zeros((len(moved), *weights.shape[1:]), self.settings.dtype)
                _core.copy_rows(weights, moved, rows)
                packed["weights"], packed["weights.rows"] = rows, moved
            if weights.shape[2] > 2:
                packed |= without_base("weights", packed["weights"], prior)
        return packed

    def unpacked(self, arrays: State, size: Size) -> State:
        arrays = dict(arrays)
        moved, (rows, columns) = arrays.pop("weights.rows", None), self._shape(size)
        if "weights" + PLACES in arrays:
            stored = self.prior_weights(arrays, rows if moved is None else len(moved), columns)
            put_places(stored, arrays, "weights")
        if moved is not None:
            whole = self.prior_weights(arrays, *self._shape(size))
            put_rows(whole, moved, arrays["weights"], "weights")
            arrays["weights"] = whole
        return arrays

    def own_values(self, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield "weights", state["weights"][:, 0], within(MAX_MEAN)
        if self.settings.average:
            yield "the sums of weights", state["weights"][:, -1], within(MAX_MEAN * MAX_SUMMED)

    # --- training and scores ------------------------------------------------------------------------------------------

    @property
    def forget_per_row(self) -> float:
        """The fraction of the precision that the compiled loop takes away with every row."""
        return 0.0

    def compiled(self) -> _core.Learner:
        return self._learner

    @cached_property
    def _learner(self) -> _core.Learner:
        return self._compiled(self.compiled_name)

    @cached_property
    def _scorer(self) -> _core.Learner:
        return self._learner if self.scoring_name is None else self._compiled(self.scoring_name)

    def _compiled(self, name: str, pending: bool = False) -> _core.Learner:
        settings = self.settings
        return _core.Learner(
            settings.rule.compiled,
            name,
            settings.task.compiled,
            independent=settings.independent,
            intercept=settings.fit_intercept,
            average=settings.average,
            moments=settings.projection == "moments",
            prior_variance=settings.prior_variance,
            min_variance=settings.min_variance,
            forget=self.forget_per_row,
            pending=pending,
        )

    def logged_per_entry(self, state: State) -> int:
        columns: int = state["weights"].shape[2]
        return self.planes * self.settings.task.changed_columns(columns)

    def scores(self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0) -> np.ndarray:
        found = np.zeros((X.shape[0], self.settings.task.columns(size.n_classes)))
        fault = self._scorer.scores(state, X, found, largest)
        if fault is not None:
            raise InvalidRows(fault)
        return found

    def variances(self, state: State, X: _core.Matrix, size: Size) -> np.ndarray:
        found = np.zeros((X.shape[0], self.settings.task.columns(size.n_classes)))
        self.compiled().variances(state, X, found)
        return found

    def top_variances(self, state: State, X: _core.Matrix, scores: np.ndarray, size: Size) -> np.ndarray:
        found = np.empty(X.shape[0])
        self.compiled().top_variances(state, X, scores, found)
        return found

    # --- marginals ----------------------------------------------------------------------------------------------------

    def weights(self, state: State, n_features: int) -> np.ndarray:
        return state["weights"][: n_features + self.settings.fit_intercept]

    def some_weights(self, state: State, rows: np.ndarray) -> np.ndarray:
        return state["weights"][rows]

    def largest_means(self, state: State, n_features: int) -> np.ndarray:
        by_class = np.abs(self.weights(state, n_features)[self.settings.fit_intercept :, 0])
        return by_class[:, 0] if by_class.shape[1] == 1 else by_class.max(axis=1, initial=0.0)

    def stored_variances(self, state: State, size: Size) -> np.ndarray:
        """Return the variance of every weight in the order of the state, shape (features, columns)."""
        raise self._undefined("stored_variances")

    def column_variances(self, state: State, size: Size) -> np.ndarray:
        return intercept_last(self.stored_variances(state, size), self.settings.fit_intercept).T

    def label_variances(self, state: State, size: Size) -> np.ndarray:
        variances = self.stored_variances(state, size)
        return intercept_last(variances[:, 1:] + variances[:, :1], self.settings.fit_intercept).T

    # --- explanations -------------------------------------------------------------------------------------------------

    def unseen_variances(self, state: State) -> np.ndarray:
        columns = state["weights"].shape[2]
        return self.scaled(state, np.broadcast_to(self.settings.prior_variance * state["folded"], columns))

    def scaled(self, state: State, stored: np.ndarray) -> np.ndarray:
        """What stored variances of shape (..., columns) mean: times their learner's scale, at least the lower bound."""
        settings = self.settings
        return np.maximum(stored * state["scale"], settings.floor)

    def learner_of(self, column: int) -> int:
        """Return the number of the Gaussian that a column of weights belongs to."""
        return column if self.settings.independent else 0

    # --- merging ------------------------------------------------------------------------------------------------------

    def flushed(self, state: State, n_features: int) -> State:
        return {**state, "weights": self.weights(state, n_features)}

    def left_prior(self, state: State) -> np.ndarray:
        return (state["weights"] != self.prior_weights(state, 1, 1)).any(axis=(1, 2))

    def split(self, state: State, multiclass: Covariance) -> None:
        """Convert the state, in place, into one of ``multiclass`` with the same beliefs.

        Joint and softmax: the classes' means become -w/2 and w/2 and their covariances Sigma/2 each, which preserves
        the mean and variance of the margin between them. One-vs-rest: -w and w, with Sigma each. A covariance that
        stays at its prior is not halved. Neither are features at their prior, since later features start there too and
        room made in advance must not change the result.
        """
        fraction = multiclass.settings.task.share_of_two
        self._split_own(state, fraction, multiclass)
        split_common(state, multiclass.settings)

    def _split_own(self, state: State, fraction: float, multiclass: Covariance) -> None:
        old = np.ascontiguousarray(state["weights"])
        pair = np.zeros((*old.shape[:2], 2), self.settings.dtype)
        _core.split_column(old, self.prior_weights(state, 1, 1), fraction, self.has_variances, pair)
        state["weights"] = pair

    def grouped(self, mean: np.ndarray) -> np.ndarray:
        return mean

    def placed_plane(self, state: State, plane: int, placement: Placement) -> np.ndarray:
        found = np.zeros((placement.columns, placement.rows))
        for own, column in enumerate(placement.at_columns):
            found[column, placement.at_rows] = state["weights"][:, plane, own]
        return found

    def put_means(self, state: State, mean: np.ndarray, drift: np.ndarray | None, cells: np.ndarray | None) -> None:
        state["weights"][:, 0] = mean.T
        if drift is not None:
            state["weights"][:, -1] = drift.T


def widened(old: np.ndarray, columns: int) -> np.ndarray:
    """Return an array of weights with more columns, whose values are undefined, after the old ones.

    It is a view of an array with columns to spare, which the next call takes, so that a growing number of classes is
    copied rarely. The first number of a spare column is NaN until the column is taken: an
    array that two learners share is extended for one of them only.
    """
    taken = old.shape[2]
    whole = old.base if isinstance(old.base, np.ndarray) else old
    fits = (
        whole.ndim == 3
        and whole.shape[:2] == old.shape[:2]
        and whole.shape[2] >= columns
        and whole.strides == old.strides
        and whole.ctypes.data == old.ctypes.data
        and whole.flags.writeable
        and np.isnan(whole[:1, :1, taken:columns]).all()
    )
    if not fits:
        whole = np.empty((*old.shape[:2], columns + columns // COLUMNS_PER_SPARE), dtype=old.dtype)
        whole[..., :taken] = old
        whole[:1, :1, columns:] = np.nan
    whole[:1, :1, taken:columns] = 0.0
    return whole[..., :columns]


class UncorrelatedWeights(WeightCovariance):
    """Base of the covariances without entries off Sigma's diagonal."""

    checks_rows = True

    def moderated(
        self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        shape = (X.shape[0], self.settings.task.columns(size.n_classes))
        scores, found = np.zeros(shape), np.zeros(shape)
        fault = self.compiled().moderated(state, X, scores, found, largest)
        if fault is not None:
            raise InvalidRows(fault)
        return scores, found

    def matrix(self, state: State, size: Size) -> np.ndarray:
        by_learner = self.column_variances(state, size).reshape(self.settings.learners(size.n_classes), -1)
        return np.stack([np.diag(variances) for variances in by_learner])

    def marginal(self, state: State, size: Size, column: int) -> np.ndarray:
        threshold = self.settings.task.has_threshold
        return (self.label_variances if threshold else self.column_variances)(state, size)[column]

    def noise(self, state: State, size: Size, n: int, generator: np.random.Generator) -> np.ndarray:
        variances = self.column_variances(state, size)
        return draws(variances.ravel(), n, generator).reshape(n, *variances.shape)

    def score_covariance(self, state: State, size: Size) -> np.ndarray:
        threshold = self.settings.task.has_threshold
        return (self.label_variances if threshold else self.column_variances)(state, size)
