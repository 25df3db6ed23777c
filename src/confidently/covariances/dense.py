"""The base of the covariances that store matrices: how they learn and merge, and their variances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from .. import _core
from . import dense_forgetting, normal_equations, open_block
from .covariance import Covariance, NaturalParameters, Placement, draws, intercept_last
from .dense_matrices import flushed_matrices, leading, leading_rows, rows_in_use
from .dense_state import PENDING, DenseState
from .examples import Block, Examples, Progressive
from .host_arrays import NumpyArrays
from .identity import Identity
from .settings import MANY_COLUMNS, Settings
from .state import REAL, Size, State
from .threads import crew

ROWS_PER_CALL = 4096  # of the compiled loop: an interruption waits for a call
ROWS_PER_VARIANCE_BLOCK = 1024  # rows whose scores or variances are computed at a time
DENSE = 4  # rows with at least this fraction of their values, 1/4, are multiplied as dense ones


def _from(first: int, progress: Callable[[int], None] | None) -> Callable[[int], None] | None:
    """Return a callable for the rows done after the first ones."""
    return None if progress is None else lambda done: progress(first + done)


def _leave(state: State, log: _core.UndoLog | None) -> None:
    """Continue with copies of arrays whose changes are logged."""
    if log is not None:
        state.update({name: state[name].copy() for name in PENDING})


class Dense(DenseState):
    """Base of the covariances that store matrices.

    Sigma <- scale (Sigma - zeta/(1 + zeta v) (Sigma z)(Sigma z)').
    """

    scoring_name = "identity"
    couples_features = True
    by_products = True

    @classmethod
    def of(cls, settings: Settings) -> Covariance:
        return cls(settings) if settings.rule.learns_precision else Identity(settings, cls)

    # --- training -----------------------------------------------------------------------------------------------------

    def is_row_by_row(self, state: State, device: str | None) -> bool:
        rows, _, columns = state["weights"].shape
        return device is None and self._is_small(rows, columns) and not self.settings.forget

    def row_scorer(self, state: State) -> _core.Learner:
        rows, _, columns = state["weights"].shape
        if self.is_pending(rows, columns, None):
            return self._pending
        is_small = self.is_row_by_row(state, None) and not state["pending_rows"][0]
        return self.compiled() if is_small else self._scorer

    @cached_property
    def _pending(self) -> _core.Learner:
        """The compiled learner of matrices whose changes are pending."""
        return self._compiled(self.compiled_name, pending=True)

    def learn(
        self, state: State, examples: Examples, size: Size, *, device: str | None, calibrate: bool,
        progressive: Progressive, progress: Callable[[int], None] | None, log: _core.UndoLog | None = None,
    ) -> State:  # fmt: skip
        state = dict(state)
        state["weights"] = np.ascontiguousarray(state["weights"])  # without columns to spare
        rows = len(state["weights"])
        first, n, used = 0, len(examples), min(max(rows_in_use(state, rows), 1), rows)
        if used > rows_in_use(state, rows):
            self._use(state, used)
        while first < n:
            last, wider = n, used
            if used < rows:
                intercept = self.settings.fit_intercept
                last, wider = _core.wider_row(examples.X, examples.order, first, n, used - intercept)
                wider += intercept
            if last > first:
                part = examples if last - first == n else examples.part(first, last)
                own = progressive.block(first, last)
                learn = self._learn_forgetting if self.settings.forget else self._learn_part
                log = learn(state, used, part, device, calibrate, own, _from(first, progress), log)
                first = last
            if wider > used:
                used = wider
                self._use(state, used)
        return state

    def _learn_forgetting(
        self, state: State, used: int, examples: Examples, device: str | None, calibrate: bool,
        progressive: Progressive, progress: Callable[[int], None] | None, log: _core.UndoLog | None,
    ) -> _core.UndoLog | None:  # fmt: skip
        """Train as :meth:`_learn_part`; forget after the rows at which it is time, wherever a call ends."""
        forget, first, n = self.settings.forget, 0, len(examples)
        while first < n:
            last, aged = dense_forgetting.next_step(forget, float(state["aged"][0]), examples, first)
            part, own = examples.part(first, last), progressive.block(first, last)
            log = self._learn_part(state, used, part, device, calibrate, own, _from(first, progress), log)
            state["aged"][0], first = aged, last
            if aged >= dense_forgetting.half_life(forget):
                _leave(state, log)
                log = None
                self._forget(state, used)
        return log

    def _forget(self, state: State, used: int) -> None:
        """Take away what the rows since the last time are to take away; matrices are replaced."""
        forget, prior = self.settings.forget, self.settings.prior_variance
        kept = dense_forgetting.kept(forget, float(state["aged"][0]))
        state["aged"] = np.zeros(1)
        if normal_equations.applies(self.settings):
            work = self._of_used(state, used, REAL)
            normal_equations.forget(work, used, kept, prior)
            self.solve(work)
            self._put_used(state, work, used)
            return
        rows, _, columns = state["weights"].shape
        state["covariance"] = flushed_matrices(state)
        self._clear_pending(state, rows, columns)
        state.update(open_block.closed(used, self.settings.dtype))
        scaled = state["scale"] * state["folded"]
        left = kept + (1.0 - kept) * scaled  # so that weights of unseen features stay as stored
        state["scale"] = state["scale"] / left
        into = leading(state["covariance"], rows, used)
        with crew() as threads:
            for k, matrices in enumerate(into):
                d = into.shape[1] * used
                sigma, own = matrices.reshape(d, d).astype(REAL, copy=False), prior * float(state["folded"][k])
                found = dense_forgetting.forgotten(sigma, kept / float(left[k]), own, NumpyArrays(threads))
                matrices[:] = found.reshape(matrices.shape)

    def _learn_part(
        self, state: State, used: int, examples: Examples, device: str | None, calibrate: bool,
        progressive: Progressive, progress: Callable[[int], None] | None, log: _core.UndoLog | None,
    ) -> _core.UndoLog | None:  # fmt: skip
        """Train on rows whose features are all in use; the entries of the state are replaced or written to.

        Return the log of changes, unless arrays have been replaced: what they were before is then all that counts.
        """
        least_squares = normal_equations.applies(self.settings)
        if not least_squares and self._learns_rows(used, state["weights"].shape[2], device):
            self._learn_rows(state, used, examples, calibrate, progressive, progress, log)
            return log
        work = self._of_used(state, used, self.settings.dtype)
        try:
            if least_squares:
                return self._learn_least_squares(work, examples, device, calibrate, progressive, progress, log)
            self._learn_blocks(work, examples, device, calibrate, progressive, progress)
        finally:
            self._put_used(state, work, used)
        return log

    def _learns_rows(self, used: int, columns: int, device: str | None) -> bool:
        """Return whether the compiled loop learns rows, without products of matrices."""
        return device is None and (self._is_small(used, columns) or self.is_pending(used, columns, device))

    def _learn_rows(
        self, state: State, used: int, examples: Examples, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None, log: _core.UndoLog | None,
    ) -> None:  # fmt: skip
        core, n = self.compiled() if self._is_small(used, state["weights"].shape[2]) else self._pending, len(examples)
        intercept = self.settings.fit_intercept
        if state["block.products"].size:  # as blocks of earlier versions leave them
            state.update(open_block.closed(used, self.settings.dtype))
        for first in range(0, n, ROWS_PER_CALL):
            last = min(first + ROWS_PER_CALL, n)
            X, rows = examples.X, examples.compiled(first, last, calibrate, progressive)
            if X.shape[1] + intercept > len(state["weights"]):  # of features in use only
                block = examples.block(first, last)
                X = _core.dense(np.ascontiguousarray(block.dense(self.settings, used)[:, intercept:]))
                rows = block.compiled(calibrate, progressive.block(first, last))
            if core.learn(state, X, rows, undo=log) is not None:
                raise OverflowError("a row takes the learner out of range")
            if progress is not None:
                progress(last)

    def _learn_blocks(
        self, state: State, examples: Examples, device: str | None, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        from .batch_products import learn  # imported here since it is slow and only products need it

        used, _, columns = state["weights"].shape
        block = learn(
            self.settings, self.sharing, state, open_block.OpenBlock.of(state), examples,
            rows_per_block=self.rows_per_block(used, columns), device=device, calibrate=calibrate,
            progressive=progressive, progress=progress,
        )  # fmt: skip
        state.update(block.entries(used, self.settings.dtype))

    def _learn_least_squares(
        self, state: State, examples: Examples, device: str | None, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None, log: _core.UndoLog | None,
    ) -> _core.UndoLog | None:  # fmt: skip
        used, _, columns = state["weights"].shape
        by_rows = self._learns_rows(used, columns, device)
        first, n, in_place = 0, len(examples), not by_rows
        while first < n:
            rows_until_due = normal_equations.rows_until_due(state)
            due, last = int(state["counters"][0]) + rows_until_due, min(first + rows_until_due, n)
            part, evidence = examples.part(first, last), np.zeros((last - first, 1 + columns))
            own = replace(progressive.block(first, last), evidence=evidence)
            if by_rows:
                self._learn_rows(state, used, part, calibrate, own, None, log)
            else:
                self._learn_blocks(state, part, device, calibrate, own, None)
            with crew() as threads:
                normal_equations.add(state, part, evidence, self.settings, NumpyArrays(threads), in_place)
            if state["counters"][0] == due:
                normal_equations.add_held(state, used, in_place)
                _leave(state, log)
                log = None
                self.solve(state)
            first = last
            if progress is not None:
                progress(first)
        return log

    def _of_used(self, state: State, used: int, dtype: str) -> State:
        """Return the state without what belongs to features that are not in use: the same arrays, or copies."""
        rows = len(state["weights"])
        work = state | {"covariance": state["covariance"].astype(dtype, copy=False)}
        if used == rows:
            return work
        matrices = leading(work["covariance"], rows, used)
        work["covariance"] = np.ascontiguousarray(matrices).reshape(len(matrices), matrices.shape[1] * used, -1)
        pending = leading_rows(state["pending"], rows, used)
        work["pending"] = np.ascontiguousarray(pending).reshape(*pending.shape[:2], -1)
        work["weights"] = state["weights"][:used]
        if normal_equations.applies(self.settings):
            work["precision"] = np.ascontiguousarray(state["precision"][:used, :used])
            work["shift"] = state["shift"][:used]
        return work

    def _put_used(self, state: State, work: State, used: int) -> None:
        """Write what :meth:`_of_used` has returned, after training, to the state."""
        rows, own = len(state["weights"]), work["covariance"]
        if own.shape == state["covariance"].shape and own.dtype == state["covariance"].dtype:
            state["covariance"] = own  # the same, or a new one after a block
        else:
            into = leading(state["covariance"], rows, used)
            into[:] = own.reshape(into.shape)
        if work["pending"] is not state["pending"]:
            into = leading_rows(state["pending"], rows, used)
            into[:] = work["pending"].reshape(into.shape)
        replaced: tuple[str, ...] = (open_block.PREFIX, normal_equations.PREFIX, "pending_rows")
        if normal_equations.applies(self.settings):
            if used == rows:
                replaced = (*replaced, *normal_equations.SUMS)
            else:
                state["precision"][:used, :used], state["shift"][:used] = work["precision"], work["shift"]
        state.update({name: array for name, array in work.items() if name.startswith(replaced)})

    def solve(self, state: State) -> None:
        """Compute Sigma and the mean again, from the normal equations."""
        with crew():  # whose BLAS has one thread: others would spin after such a short call
            found = normal_equations.solve(state, self.settings.prior_variance)
        if found is not None:
            state["covariance"], state["weights"][:, 0] = np.ascontiguousarray(found[0])[None], found[1]
            state["pending"][:] = 0.0
            state["pending_rows"][:] = 0
            state.update(open_block.closed(len(state["weights"]), self.settings.dtype))

    # --- scores -------------------------------------------------------------------------------------------------------

    def scores(self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0) -> np.ndarray:
        """Return the scores; those of dense rows in many columns by products, whose rounding depends on the rows."""
        rows, _, columns = state["weights"].shape
        if columns <= MANY_COLUMNS or X.stored * DENSE < X.shape[0] * rows:
            return super().scores(state, X, size, largest)
        mean = state["weights"][:, 0].astype(REAL, copy=False)
        if self.settings.average and state["counters"][0]:
            mean = mean - state["weights"][:, -1] / float(state["counters"][0])
        out = np.empty((X.shape[0], columns))
        with crew() as threads:
            arrays = NumpyArrays(threads)
            for block, A in self._blocks(X, rows):
                at = slice(block.first, block.first + block.n)
                arrays.multiply([(A.astype(REAL, copy=False), mean, out[at])])
        return out

    def variances(self, state: State, X: _core.Matrix, size: Size) -> np.ndarray:
        threshold = self.settings.task.has_threshold
        rows, _, columns = state["weights"].shape
        out = np.empty((X.shape[0], columns))
        with crew() as threads:
            arrays = NumpyArrays(threads)
            for block, A in self._blocks(X, rows):
                self._block_variances(state, A, threshold, out[block.first : block.first + block.n], arrays)
        if threshold:
            out[:, 0] = 0.0
        return out

    def _block_variances(
        self, state: State, A: np.ndarray, threshold: bool, into: np.ndarray, arrays: NumpyArrays
    ) -> None:
        """Write the variances of the scores of rows A, intercept first, into an array (rows, columns)."""
        raise self._undefined("_block_variances")

    def top_variances(self, state: State, X: _core.Matrix, scores: np.ndarray, size: Size) -> np.ndarray:
        row, others = np.arange(len(scores)), scores.copy()
        first = scores.argmax(axis=1)
        others[row, first] = -np.inf
        second = others.argmax(axis=1)
        if self.settings.independent:
            every = self.variances(state, X, size)
            return every[row, first] + every[row, second]
        out = np.empty(X.shape[0])
        with crew() as threads:
            arrays = NumpyArrays(threads)
            for block, A in self._blocks(X, len(state["weights"])):
                at = slice(block.first, block.first + block.n)
                self._pair_variances(state, A, first[at], second[at], out[at], arrays)
        return out

    def _pair_variances(
        self, state: State, A: np.ndarray, first: np.ndarray, second: np.ndarray, into: np.ndarray,
        arrays: NumpyArrays,
    ) -> None:  # fmt: skip
        """Write the variance of the difference between two columns' scores, per row of A."""
        raise self._undefined("_pair_variances")

    def _blocks(self, X: _core.Matrix, rows: int) -> Iterator[tuple[Block, np.ndarray]]:
        examples = Examples(X, np.zeros(X.shape[0], dtype=np.int32))
        for first in range(0, X.shape[0], ROWS_PER_VARIANCE_BLOCK):
            block = examples.block(first, min(first + ROWS_PER_VARIANCE_BLOCK, X.shape[0]))
            yield block, block.dense(self.settings, rows)

    # --- marginals ----------------------------------------------------------------------------------------------------

    def _diagonals(self, state: State) -> np.ndarray:
        """Return the diagonals of Sigma, shape (learners, D)."""
        pending = state["pending"][:, : state["pending_rows"][0]]
        stored = np.diagonal(state["covariance"], axis1=1, axis2=2) - np.einsum("lud,lud->ld", pending, pending)
        least = self.settings.floor
        return np.maximum(stored * state["scale"][:, None], least)

    def stored_variances(self, state: State, size: Size) -> np.ndarray:
        return self._diagonals(state).reshape(-1, self._shape(size)[0]).T

    def matrix(self, state: State, size: Size) -> np.ndarray:
        sigma = flushed_matrices(state) * state["scale"][:, None, None]
        positions = np.arange(sigma.shape[1]).reshape(-1, self._shape(size)[0])
        order = intercept_last(positions.T, self.settings.fit_intercept).T.ravel()
        return sigma[:, order][:, :, order]

    def noise(self, state: State, size: Size, n: int, generator: np.random.Generator) -> np.ndarray:
        sigma, columns = self.matrix(state, size), self.settings.task.columns(size.n_classes)
        return np.stack([draws(sigma[k % len(sigma)], n, generator) for k in range(columns)], axis=1)

    def score_covariance(self, state: State, size: Size) -> np.ndarray:
        if not self.settings.task.regression and not self._one_matrix_suffices():
            raise ValueError(
                f'with covariance="{self.name}" and more than two classes, or multilabel, probabilities depend on the '
                'covariances of all classes, which are not exported; use "diag" (or "shared", for classes)'
            )
        return self.matrix(state, size)

    def _one_matrix_suffices(self) -> bool:
        return not (self.settings.task.several or self.settings.task.multilabel)

    def _entries(self, state: State, learner: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return some rows and columns of a learner's Sigma."""
        pending = state["pending"][learner, : state["pending_rows"][0]].astype(np.float64)
        stored = state["covariance"][learner][np.ix_(rows, columns)].astype(np.float64)
        return (stored - pending[:, rows].T @ pending[:, columns]) * state["scale"][learner]

    # --- merging ------------------------------------------------------------------------------------------------------

    def flushed(self, state: State, n_features: int) -> State:
        flushed = super().flushed(state, n_features)
        if self.settings.forget:
            flushed |= {name: flushed[name].copy() for name in ("weights", "pending", "pending_rows")}
            self._forget(flushed, rows_in_use(flushed, len(flushed["weights"])))
        return flushed

    def forgetting(self, state: State, size: Size, new: Covariance) -> State:
        assert isinstance(new, Dense)
        found = super().forgetting(state, size, new)
        self.flush(found)
        rows, _, columns = found["weights"].shape
        new._clear_pending(found, rows, columns)  # of which a covariance that forgets has fewer
        return found

    def left_prior(self, state: State) -> np.ndarray:
        moved = super().left_prior(state)
        sigma = flushed_matrices(state)[0]
        prior = (self.settings.prior_variance * state["folded"]).astype(sigma.dtype)
        moved |= (np.diagonal(sigma) != prior) | (np.count_nonzero(sigma, axis=1) > 1)
        return moved

    def _split_own(self, state: State, fraction: float, multiclass: Covariance) -> None:
        untouched = np.flatnonzero(~self.left_prior(state))
        super()._split_own(state, fraction, multiclass)
        assert isinstance(multiclass, Dense)
        whole = flushed_matrices(state)[0]
        sigma = fraction * whole
        sigma[untouched, untouched] = whole[untouched, untouched]
        used = rows_in_use(state, len(sigma))
        state["covariance"] = multiclass.of_two_classes(sigma).astype(multiclass._stored_type(used, 2), copy=False)
        multiclass._clear_pending(state, len(sigma), 2)
        state.update(open_block.closed(used, self.settings.dtype))

    def of_two_classes(self, sigma: np.ndarray) -> np.ndarray:
        """Return the matrices of two independent classes that each have this covariance."""
        raise self._undefined("of_two_classes")

    def placed(self, state: State, placement: Placement) -> np.ndarray:
        rows, d = placement.rows, self.matrix_size(self.settings, placement.rows, placement.columns)
        found = np.zeros((placement.learners, d, d))
        found[:, np.arange(d), np.arange(d)] = self.settings.prior_variance
        parts = placement.at_columns if d > rows else [0]
        positions = (np.asarray(parts)[:, None] * rows + np.arange(rows)[placement.at_rows]).ravel()
        sigma = flushed_matrices(state) / state["folded"][:, None, None]
        found[np.ix_(placement.at_learners, positions, positions)] = sigma
        return found

    def grouped(self, mean: np.ndarray) -> np.ndarray:
        columns, rows = mean.shape
        return mean.reshape(1, -1) if self.matrix_size(self.settings, rows, columns) > rows else mean

    def put(self, state: State, merged: NaturalParameters) -> None:
        state["covariance"][:] = merged.covariance
        if normal_equations.applies(self.settings):
            rows, columns = state["shift"].shape
            state["precision"][:] = merged.precision[0] - np.eye(rows) / self.settings.prior_variance
            state["shift"][:] = merged.shift.reshape(columns, rows).T
