"""A precision of a diagonal and a matrix of low rank: what is sure along few directions, and each weight alone.

============  ======================  =================================================================================
entry         shape, type             meaning
============  ======================  =================================================================================
diagonal      (L, F) float64          the diagonal D of the precision P = D + W W'
factors       (L, F, 2 rank) real     the columns of W, those in use first, 0 beyond
inner         (L, 2, 2 rank, 2 rank)  G = W' D^-1 W and (I + G)^-1, 0 beyond the columns in use; float64
factors_used  (L,) int64              columns of W in use
============  ======================  =================================================================================

Sigma = scale P^-1. Every update adds a column to W; when none is left, W returns to its rank
(core/covariances/low_rank.hpp). Training is row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..memory import require_memory
from ..rules.ranges import Range
from .covariance import Covariance, NaturalParameters, Placement, intercept_last
from .identity import Identity
from .settings import Settings
from .state import COUNT, MAX_PRECISION, REAL, Shapes, Size, State, put_rows, within
from .weights import WeightCovariance


class LowRank(WeightCovariance):
    """P = D + W W', of all classes together or, with one-vs-rest, of each.

    The rank is that of W after it was reduced; Sigma is exact up to the first reduction.
    """

    name = "low_rank"
    compiled_name = "low_rank"
    scoring_name = "identity"
    couples_features = True
    unsupported = {  # noqa: RUF012 (a mapping that is never written to)
        "forget": 'covariance="low_rank" cannot forget, since its parts would have to be computed again after every '
        'row; use "diag", "full" or "shared", or forget=0',
    }

    @classmethod
    def of(cls, settings: Settings) -> Covariance:
        return cls(settings) if settings.rule.learns_precision else Identity(settings, cls)

    @classmethod
    def matrix_size(cls, settings: Settings, rows: int, columns: int) -> int:
        return rows

    @classmethod
    def resolved(cls, settings: Settings, n_features: int) -> Settings:
        return replace(super().resolved(settings, n_features), rank=settings.rank)

    # --- the state ----------------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        return 2 * self.settings.rank

    def own_shapes(self, size: Size, arrays: State | None) -> Shapes:
        (rows, _), learners, room = self._shape(size), self.settings.learners(size.n_classes), self._room
        return super().own_shapes(size, arrays) | {
            "diagonal": ((learners, rows), REAL),
            "factors": ((learners, rows, room), self.settings.dtype),
            "inner": ((learners, 2, room, room), REAL),
            "factors_used": ((learners,), COUNT),
        }

    def add_entries(self, state: State, size: Size) -> None:
        super().add_entries(state, size)
        self._add_precisions(state, len(state["weights"]))

    def _add_precisions(self, state: State, rows: int) -> None:
        """Add precisions at the prior."""
        learners, room = len(state["scale"]), self._room
        require_memory(
            learners * (rows * (8 + room * np.dtype(self.settings.dtype).itemsize) + 16 * room**2),
            f'covariance="low_rank" of rank {self.settings.rank} over {rows} weights',
            'use a smaller rank, covariance="diag", or hash the features into fewer columns',
        )
        prior = 1.0 / (self.settings.prior_variance * state["folded"])
        state["diagonal"] = np.repeat(prior[:, None], rows, axis=1)
        state["factors"] = np.zeros((learners, rows, room), self.settings.dtype)
        state["inner"] = np.zeros((learners, 2, room, room))
        state["factors_used"] = np.zeros(learners, COUNT)

    def grow_features(self, state: State, n_features: int) -> None:
        super().grow_features(state, n_features)
        self._regrow(state)

    def grow_classes(self, state: State, n_classes: int) -> None:
        super().grow_classes(state, n_classes)
        self._regrow(state)

    def _regrow(self, state: State) -> None:
        """Make room in the precisions for new features and classes, at the prior."""
        old = {name: state[name] for name in ("diagonal", "factors", "inner", "factors_used")}
        self._add_precisions(state, len(state["weights"]))
        for name, array in old.items():
            state[name][tuple(slice(n) for n in array.shape)] = array

    def bytes_per_feature(self, state: State) -> int:
        return super().bytes_per_feature(state) + state["diagonal"][:, :1].nbytes + state["factors"][:, :1].nbytes

    def packed(self, state: State, n_features: int) -> State:
        """Return the state, without features at the prior where that is smaller, and without unused columns."""
        packed = super().packed(state, n_features)
        rows = n_features + self.settings.fit_intercept
        diagonal, columns = packed["diagonal"][:, :rows], int(state["factors_used"].max(initial=0))
        factors = packed["factors"][:, :rows, :columns]
        prior = 1.0 / (self.settings.prior_variance * state["folded"])
        moved = np.flatnonzero((diagonal != prior[:, None]).any(axis=0) | (factors != 0).any(axis=(0, 2)))
        packed["inner"] = packed["inner"][:, :, :columns, :columns]
        if 2 * len(moved) < rows:
            packed["diagonal.rows"] = moved.astype(COUNT)
            diagonal, factors = diagonal[:, moved], factors[:, moved]
        packed["diagonal"], packed["factors"] = diagonal, factors
        return {name: np.ascontiguousarray(array) for name, array in packed.items()}

    def unpacked(self, arrays: State, size: Size) -> State:
        arrays = super().unpacked(arrays, size)
        moved, whole = arrays.pop("diagonal.rows", None), dict(arrays)
        if not (whole["folded"] > 0.0).all():
            raise ValueError("factors of precisions that are not above 0")
        self._add_precisions(whole, self._shape(size)[0])
        n = whole["diagonal"].shape[1] if moved is None else len(moved)
        rows = np.arange(n) if moved is None else moved
        columns = arrays["factors"].shape[2] if arrays["factors"].ndim == 3 else 0
        if columns > self._room:
            raise ValueError(f"factors have {columns} columns, more than twice the rank")
        put_rows(whole["diagonal"].T, rows, arrays["diagonal"].T, "diagonal")
        put_rows(whole["factors"][:, :, :columns].swapaxes(0, 1), rows, arrays["factors"].swapaxes(0, 1), "factors")
        inner = whole["inner"][:, :, :columns, :columns]
        put_rows(inner, np.arange(len(inner)), arrays["inner"], "inner")
        return arrays | {name: whole[name] for name in ("diagonal", "factors", "inner")}

    def own_values(self, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield from super().own_values(state)
        yield "diagonal", state["diagonal"], Range(0.0, MAX_PRECISION)
        yield "factors", state["factors"], within(MAX_PRECISION**0.5)
        yield "inner", state["inner"], within(MAX_PRECISION)
        yield "factors_used", state["factors_used"], Range(0, self._room - 1, closed_low=True, closed_high=True)

    # --- marginals ----------------------------------------------------------------------------------------------------

    def _times(self, state: State, learner: int, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return Sigma x, x and the result of rows of the weights, shapes (n,) or (n, columns)."""
        d, w = state["diagonal"][learner, rows], state["factors"][learner, rows].astype(np.float64)
        scaled = x.T / d
        found: np.ndarray = scaled - (scaled @ w) @ state["inner"][learner, 1] @ (w.T / d)
        return found.T * state["scale"][learner]

    def _variances(self, state: State) -> np.ndarray:
        """Return the variances of the weights of each learner, shape (learners, F)."""
        found = np.empty(state["diagonal"].shape)
        for learner, d in enumerate(state["diagonal"]):
            w = state["factors"][learner] / d[:, None]
            found[learner] = 1.0 / d - np.einsum("fa,fa->f", w @ state["inner"][learner, 1], w)
        return np.maximum(found * state["scale"][:, None], self.settings.floor)

    def stored_variances(self, state: State, size: Size) -> np.ndarray:
        rows, columns = self._shape(size)
        return np.broadcast_to(self._variances(state)[:, :rows].T, (rows, columns))

    def matrix(self, state: State, size: Size) -> np.ndarray:
        rows, learners = self._shape(size)[0], len(state["scale"])
        self._require_matrices(learners, rows)
        order = intercept_last(np.arange(rows), self.settings.fit_intercept)
        every = [self._times(state, k, order, np.eye(rows)) for k in range(learners)]
        return np.stack([(sigma + sigma.T) / 2 for sigma in every])

    def _require_matrices(self, learners: int, rows: int) -> None:
        what = f'Sigma of covariance="low_rank" over {rows} weights as a matrix'
        require_memory(8 * learners * rows**2, what, "only its variances and samples are available")

    def marginal(self, state: State, size: Size, column: int) -> np.ndarray:
        sides = 2.0 if self.settings.task.has_threshold else 1.0
        return sides * self.matrix(state, size)[self.learner_of(column)]

    def noise(self, state: State, size: Size, n: int, generator: np.random.Generator) -> np.ndarray:
        """Return P^-1 (D^1/2 a + W b) for standard normal a and b, whose covariance is P^-1 P P^-1."""
        rows, columns = self._shape(size)
        order = intercept_last(np.arange(rows), self.settings.fit_intercept)
        drawn = np.empty((n, columns, rows))
        for column in range(columns):
            k = self.learner_of(column)
            d, w, scale = state["diagonal"][k, order], state["factors"][k, order], state["scale"][k]
            of_precision = generator.normal(size=(n, rows)) * np.sqrt(d) + generator.normal(size=(n, self._room)) @ w.T
            drawn[:, column] = self._times(state, k, order, of_precision.T).T / np.sqrt(scale)
        return drawn

    def score_covariance(self, state: State, size: Size) -> np.ndarray:
        task = self.settings.task
        if len(state["scale"]) > 1 or task.multilabel:
            raise ValueError(
                f'with covariance="{self.name}" of each class or label, probabilities depend on the covariances of '
                'all, which are not exported; use "diag", or multiclass="joint" for classes'
            )
        return self.matrix(state, size)

    def contributions(
        self, state: State, rows: np.ndarray, x: np.ndarray, plus: int | None, minus: int | None
    ) -> np.ndarray:
        sides = [self._times(state, self.learner_of(c), rows, x) for c in (plus, minus) if c is not None]
        return x * sum(sides)

    # --- a third class ------------------------------------------------------------------------------------------------

    def left_prior(self, state: State) -> np.ndarray:
        prior = 1.0 / (self.settings.prior_variance * state["folded"][0])
        moved: np.ndarray = super().left_prior(state) | (state["diagonal"][0] != prior)
        moved |= (state["factors"][0] != 0).any(axis=1)
        return moved

    def _split_own(self, state: State, fraction: float, multiclass: Covariance) -> None:
        """Divide the precisions of features that have left the prior by the fraction that is left of Sigma."""
        moved = self.left_prior(state)
        super()._split_own(state, fraction, multiclass)
        learners = multiclass.settings.learners(2)
        state["diagonal"] = np.repeat(state["diagonal"] / np.where(moved, fraction, 1.0), learners, axis=0)
        factors = (state["factors"] / np.sqrt(fraction)).astype(self.settings.dtype, copy=False)
        state["factors"] = np.repeat(factors, learners, axis=0)
        state["inner"] = np.repeat(state["inner"], learners, axis=0)
        state["factors_used"] = np.repeat(state["factors_used"], learners)

    # --- merging ------------------------------------------------------------------------------------------------------

    def flushed(self, state: State, n_features: int) -> State:
        flushed = super().flushed(state, n_features)
        return flushed | {name: flushed[name][:, : len(flushed["weights"])] for name in ("diagonal", "factors")}

    def placed(self, state: State, placement: Placement) -> np.ndarray:
        rows = placement.rows
        self._require_matrices(placement.learners, rows)
        found = np.zeros((placement.learners, rows, rows))
        found[:, np.arange(rows), np.arange(rows)] = self.settings.prior_variance
        own, positions = np.arange(state["diagonal"].shape[1]), np.arange(rows)[placement.at_rows]
        for k, learner in enumerate(placement.at_learners):
            sigma = self._times(state, k, own, np.eye(len(own))) / (state["scale"][k] * state["folded"][k])
            found[learner][np.ix_(positions, positions)] = (sigma + sigma.T) / 2
        return found

    def put(self, state: State, merged: NaturalParameters) -> None:
        """Store a precision, of which the eigenvectors stay that add most to the prior's, and the rest's diagonal."""
        prior = 1.0 / self.settings.prior_variance
        self._add_precisions(state, len(state["weights"]))
        for k, whole in enumerate(merged.precision):
            added = whole - prior * np.eye(len(whole))
            moved = np.flatnonzero((added != 0).any(axis=0))
            values, vectors = np.linalg.eigh(added[np.ix_(moved, moved)])
            columns = min(self.settings.rank, len(values))
            w = vectors[:, len(values) - columns :] * np.sqrt(np.maximum(values[len(values) - columns :], 0.0))
            d = np.diagonal(whole)[moved] - (w**2).sum(axis=1)
            gram = w.T @ (w / d[:, None])
            state["diagonal"][k, moved], state["factors"][k, moved, :columns] = d, w
            state["inner"][k, :, :columns, :columns] = gram, np.linalg.inv(np.eye(columns) + gram)
            state["factors_used"][k] = columns
