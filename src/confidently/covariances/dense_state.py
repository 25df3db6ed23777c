"""The state of the covariances that store matrices: over all weights (full) or over the features (shared).

=============  ================  ===================================================================================
covariance     (L, D, D) real    S, symmetric to the last bit
pending        (L, P, D) real    rows U whose U'U is still to be subtracted from S
pending_rows   (1,) int64        number of these rows
aged           (1,) float64      only with forgetting: weight of the rows that are still to take evidence away
                                 (:mod:`confidently.covariances.dense_forgetting`)
=============  ================  ===================================================================================

Sigma = scale (S - U'U). D is K F for a full joint covariance, otherwise F. P is the maximum number of updates per block
and half of it. Large matrices train on blocks of rows by matrix products
(:mod:`confidently.covariances.batch_products`), small ones row by row, in double precision. A block may continue in the
next call (:mod:`confidently.covariances.open_block`).

Which features there is room for depends on how a stream is cut into calls, but what is learned must not. So the sizes
of blocks and of products follow from the features in the rows so far, which are the first ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import _core
from ..memory import require_memory
from ..rules.ranges import Range
from . import dense_forgetting, normal_equations, open_block, triangles
from .dense_matrices import leading, leading_rows, rows_in_use, subtract_pending
from .examples import Examples
from .state import COUNT, MAX_MEAN, MAX_PRECISION, MAX_VARIANCE, REAL, Shapes, Size, State, within
from .weights import WeightCovariance

# Rows per product by default: D / BLOCK_FRACTION, within these bounds. MAX_PAIRS limits the pairs of a row and a class
# within one matrix, so that their Gram matrix stays small.
BLOCK_FRACTION, MIN_BLOCK, MAX_BLOCK, MAX_PAIRS = 8, 64, 256, 1024
SMALL = 96  # D up to which every row changes the matrices
MEDIUM = 700  # D up to which changes wait in rows beside them; larger ones need products of matrices
PENDING = ("covariance", "pending")


class DenseState(WeightCovariance):
    """What the covariances that store matrices keep, and its sizes."""

    # --- sizes --------------------------------------------------------------------------------------------------------

    def rows_per_block(self, rows: int, columns: int) -> int:
        """Return the number of rows per product, given the numbers of features (with the intercept) and columns."""
        size = self.matrix_size(self.settings, rows, columns)
        chosen = self.settings.rows_per_product or min(max(size // BLOCK_FRACTION, MIN_BLOCK), MAX_BLOCK)
        if self.settings.forget:  # which ends a block
            chosen = min(chosen, dense_forgetting.rows_at_a_time(self.settings.forget))
        return max(1, min(chosen, MAX_PAIRS * rows // max(size, 1)))

    @property
    def sharing(self) -> _core.Sharing:
        """Which columns of weights share a matrix."""
        return _core.Sharing.independent if self.settings.independent else _core.Sharing.joint

    def _pending_room(self, rows: int, columns: int) -> int:
        """Return the maximum number of pending rows, those of a block included."""
        return self._may_wait(rows, columns) + self.rows_per_block(rows, columns) * self.settings.task.updates_per_row

    def _may_wait(self, rows: int, columns: int) -> int:
        """Return the most pending rows with which a block may begin: keeping more would cost more time."""
        return self.rows_per_block(rows, columns) * self.settings.task.updates_per_row // 2

    def _is_small(self, rows: int, columns: int) -> bool:
        """Return whether matrices over so many features (with the intercept) are trained row by row."""
        small = self.settings.rows_per_product is None and self.matrix_size(self.settings, rows, columns) <= SMALL
        return small and not normal_equations.applies(self.settings)

    def _stored_type(self, used: int, columns: int) -> str:
        """Return the type of the matrices: float32, rounded after every row, would lose three digits in thousands."""
        return REAL if self._is_small(used, columns) else self.settings.dtype

    def is_pending(self, rows: int, columns: int, device: str | None) -> bool:
        """Return whether matrices are trained row by row, with changes that wait in rows beside them."""
        one = self.matrix_size(self.settings, rows, columns) == rows  # over the features
        return device is None and one and rows <= MEDIUM and not self._is_small(rows, columns)

    # --- the state ----------------------------------------------------------------------------------------------------

    def own_shapes(self, size: Size, arrays: State | None) -> Shapes:
        rows, columns = self._shape(size)
        learners, d = self.settings.learners(size.n_classes), self.matrix_size(self.settings, rows, columns)
        real, used = self.settings.dtype, rows_in_use(arrays, rows)
        found = super().own_shapes(size, arrays) | {
            "covariance": ((learners, d, d), self._stored_type(used, columns)),
            "pending": ((learners, self._pending_room(rows, columns), d), real),
            "pending_rows": ((1,), COUNT),
            **open_block.shapes(
                real, arrays, learners=learners, parts=d // max(rows, 1), planes=self.planes, columns=columns
            ),
        }
        if normal_equations.applies(self.settings):
            found |= normal_equations.shapes(rows, columns)
        return found | ({"aged": ((1,), REAL)} if self.settings.forget else {})

    def add_entries(self, state: State, size: Size) -> None:
        super().add_entries(state, size)
        rows, columns = self._shape(size)
        state |= open_block.closed(rows, self.settings.dtype)
        state["covariance"] = self._prior_matrices(state, rows, columns, self._stored_type(rows, columns))
        self._clear_pending(state, rows, columns)
        if normal_equations.applies(self.settings):
            state.update(normal_equations.grown(state, rows, columns))
        if self.settings.forget:
            state["aged"] = np.zeros(1)

    def _prior_matrices(self, state: State, rows: int, columns: int, dtype: str) -> np.ndarray:
        learners, d = len(state["scale"]), self.matrix_size(self.settings, rows, columns)
        require_memory(
            learners * d * d * np.dtype(dtype).itemsize,
            f'covariance="{self.name}" over {d} weights',
            'use covariance="diag", hash the features into fewer columns or, with many classes, use '
            'covariance="shared"',
        )
        matrices = np.zeros((learners, d, d), dtype=dtype)
        matrices[:, np.arange(d), np.arange(d)] = self.settings.prior_variance * state["folded"][:, None]
        return matrices

    def _clear_pending(self, state: State, rows: int, columns: int) -> None:
        learners, d, _ = state["covariance"].shape
        state["pending"] = np.zeros((learners, self._pending_room(rows, columns), d), dtype=self.settings.dtype)
        state["pending_rows"] = np.zeros(1, dtype=np.int64)

    def room(self, n_features: int, room: int) -> int:
        return n_features

    def grow_features(self, state: State, n_features: int) -> None:
        old_rows, _, columns = state["weights"].shape
        rows = n_features + self.settings.fit_intercept
        self._embed(state, old_rows, rows, columns)
        if normal_equations.applies(self.settings):
            state.update(normal_equations.grown(state, rows, columns))
        super().grow_features(state, n_features)

    def _embed(self, state: State, old_rows: int, rows: int, columns: int) -> None:
        """Copy the old matrices and pending rows into larger ones, at the positions of their weights.

        Pending rows are not subtracted, since room may be made at any row, before the features are used.
        """
        old, pending, count = state["covariance"], state["pending"], state["pending_rows"]
        used = rows_in_use(state, old_rows)
        new = state["covariance"] = self._prior_matrices(state, rows, columns, self._stored_type(used, columns))
        self._clear_pending(state, rows, columns)
        if old_rows == 0:
            return
        old_parts = old.shape[1] // old_rows
        leading(new, rows, old_rows, old_parts)[: len(old)] = old.reshape(
            len(old), old_parts, old_rows, old_parts, old_rows
        )
        n = int(count[0])
        if n > state["pending"].shape[1]:  # more columns, so fewer rows per block
            self._subtract(state, used, leading_rows(pending, old_rows, used)[:, :n])
            return
        target = leading_rows(state["pending"], rows, old_rows, old_parts)
        target[: len(old), :n] = leading_rows(pending, old_rows, old_rows)[:, :n]
        state["pending_rows"] = count.copy()

    def grow_classes(self, state: State, n_classes: int) -> None:
        state.update(open_block.closed(rows_in_use(state, len(state["weights"])), self.settings.dtype))
        super().grow_classes(state, n_classes)

    def flush(self, state: State) -> None:
        """Subtract what is pending, and end the block; all features count as used from now on."""
        rows, _, columns = state["weights"].shape
        used = rows_in_use(state, rows)
        if normal_equations.applies(self.settings):
            normal_equations.add_held(state, used, in_place=True)
        if state["pending_rows"][0]:
            pending = state["pending"][:, : state["pending_rows"][0]]
            self._subtract(state, used, leading_rows(pending, rows, used))
            self._clear_pending(state, rows, columns)
        state.update(open_block.closed(rows, self.settings.dtype))
        dtype = self._stored_type(rows, columns)
        state["covariance"] = state["covariance"].astype(dtype, copy=False)

    def begin_rows(self, state: State, examples: Examples) -> None:
        if state["pending_rows"][0]:
            self.flush(state)
        rows, intercept, at = len(state["weights"]), self.settings.fit_intercept, 0
        used = before = min(max(rows_in_use(state, rows), intercept), rows)
        while used < rows and at < len(examples):
            at, wider = _core.wider_row(examples.X, examples.order, at, len(examples), used - intercept)
            used = wider + intercept
        if used > before or state["block.products"].size:
            self._use(state, used)

    def is_ready(self, state: State) -> bool:
        rows, _, columns = state["weights"].shape
        if state["block.products"].size:
            return False
        small = self.is_row_by_row(state, None) and not state["pending_rows"][0]
        return small or self.is_pending(rows, columns, None)

    def most_seen(self, state: State) -> int:
        if not normal_equations.applies(self.settings):
            return super().most_seen(state)
        return int(state["counters"][0]) + normal_equations.rows_until_due(state)

    @property
    def most_aged(self) -> float:
        return dense_forgetting.half_life(self.settings.forget) if self.settings.forget else super().most_aged

    def _use(self, state: State, used: int) -> None:
        """Count more features as used, which ends the block."""
        before, columns = rows_in_use(state, used), state["weights"].shape[2]
        if normal_equations.applies(self.settings):
            normal_equations.add_held(state, before, in_place=True)
        state.update(open_block.closed(used, self.settings.dtype))
        dtype = self._stored_type(used, columns)
        state["covariance"] = state["covariance"].astype(dtype, copy=False)

    def _subtract(self, state: State, used: int, pending: np.ndarray) -> None:
        """Subtract pending rows, shape (learners, n, parts, used), from the matrices of a state."""
        subtract_pending(state["covariance"], len(state["weights"]), used, pending)

    def packed(self, state: State, n_features: int) -> State:
        packed = super().packed(state, n_features)
        packed["pending"] = np.ascontiguousarray(packed["pending"][:, : state["pending_rows"][0]])
        if not state["block.products"].size:
            rows = n_features + self.settings.fit_intercept
            optional = [name for name in packed if name.startswith(open_block.PREFIX)]
            for name in optional if rows_in_use(state, rows) == rows else optional[1:]:
                del packed[name]
        packed = normal_equations.packed(packed, rows_in_use(state, n_features + self.settings.fit_intercept))
        in_order = [name for name in self.shapes(Size(n_features, 2)) if name in packed]  # trained, grown or loaded
        return triangles.packed({name: packed[name] for name in (*in_order, *packed.keys() - in_order)})

    def unpacked(self, arrays: State, size: Size) -> State:
        """Return the state; files hold only the pending rows in use, and those of format 1 none."""
        rows, columns = self._shape(size)
        arrays = triangles.unpacked(super().unpacked(arrays, size), self.matrix_size(self.settings, rows, columns))
        for name, array in open_block.closed(rows, self.settings.dtype).items():
            arrays.setdefault(name, array)
        if normal_equations.applies(self.settings):
            arrays = normal_equations.unpacked(arrays, rows, columns)
        shapes = self.own_shapes(size, arrays)
        if arrays["covariance"].dtype == self.settings.dtype:  # of an earlier version
            arrays["covariance"] = arrays["covariance"].astype(shapes["covariance"][1], copy=False)
        shape, dtype = shapes["pending"]
        found = arrays.pop("pending", np.zeros((shape[0], 0, shape[2]), dtype))
        count = arrays.setdefault("pending_rows", np.zeros(1, dtype=np.int64))
        fits = (
            found.ndim == 3 and found.shape[::2] == shape[::2] and found.dtype == dtype and found.shape[1] <= shape[1]
        )
        if not fits or count.tolist() != [found.shape[1]]:
            raise ValueError(f"pending is {found.dtype}{list(found.shape)}, not {dtype}{list(shape)}")
        arrays["pending"] = np.zeros(shape, dtype)
        arrays["pending"][:, : found.shape[1]] = found
        return arrays

    def own_values(self, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield from super().own_values(state)
        largest = MAX_VARIANCE[self.settings.dtype] / max(float(state["scale"].max(initial=0.0)), 1.0)
        yield "covariance", state["covariance"], within(largest)
        yield "pending", state["pending"], within(largest**0.5)
        yield from open_block.values(state, MAX_MEAN)
        if normal_equations.applies(self.settings):
            yield "precision", state["precision"], within(MAX_PRECISION)
            yield "shift", state["shift"], within(MAX_PRECISION)
            yield from normal_equations.held_values(state)
        if self.settings.forget:
            yield "aged", state["aged"], Range(0.0, dense_forgetting.half_life(self.settings.forget), closed_low=True)

    def check_values(self, state: State, size: Size) -> None:
        super().check_values(state, size)
        rows, columns = self._shape(size)
        used = rows_in_use(state, rows)
        means = columns if self.sharing == _core.Sharing.shared else 1
        open_block.check(state, rows, self.rows_per_block(used, columns), self._may_wait(used, columns), means)

    def changed_in_place(self, state: State, device: str | None) -> State:
        replaced: tuple[str, ...] = (open_block.PREFIX,)
        if self.logged_matrices(state, device):
            replaced = (*replaced, *normal_equations.SUMS)
        return {name: array for name, array in state.items() if not name.startswith(replaced)}

    def logged_matrices(self, state: State, device: str | None) -> tuple[str, ...]:
        rows, _, columns = state["weights"].shape
        return PENDING if rows_in_use(state, rows) == rows and self.is_pending(rows, columns, device) else ()
