"""Training of full and shared covariances on blocks of rows by matrix products.

Within a block X of k rows, the recursion only needs the Gram matrix of the rows under the covariance S at the start of
the block (core/covariances/gram.hpp). Around it, for binary and shared covariances::

    G = X S                      k x D, one product
    K = G X'                     the Gram matrix that the recursion runs over
    (I + L) Q = G                L: result of the recursion, for the updating rows only
    mean += Q' g
    S -= (sqrt(d) Q)' (sqrt(d) Q)    pending until enough such rows have been collected

One-vs-rest has one S per class. With a joint covariance a row takes K positions: x as the features of each class.
The entries ``covariance`` and ``pending`` of the state represent Sigma = scale (covariance - pending' pending).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .. import _core
from .block_update import BlockUpdate
from .devices import namespace
from .examples import Block, Examples, Progressive
from .host_arrays import scipy_blas
from .settings import TASKS, Settings
from .state import State
from .threads import WORTHWHILE, Crew, crew

SPARSE_BELOW = 0.03  # fraction of nonzero values below which a sparse product is assumed to be faster than a dense one
ROWS_PER_CALL = 4096  # of the core, where it makes all products; an interrupt waits for a call


def learn(
    settings: Settings,
    sharing: _core.Sharing,
    state: State,
    examples: Examples,
    *,
    rows_per_block: int,
    calibrate: bool,
    progressive: Progressive,
    device: str | None,
    progress: Callable[[int], None] | None,
) -> None:
    """Train on checked rows, ``rows_per_block`` per product; ``state`` is updated in place."""
    first, n = 0, len(examples)
    with crew() if device is None else nullcontext() as threads:
        learner = ProductLearner(settings, sharing, state, device, threads)
        if device is None and learner.is_small(examples.X, rows_per_block):
            learner.learn_small(examples, rows_per_block, calibrate, progressive, progress)
            return
        try:
            while first < n:
                last = min(first + rows_per_block, n)
                first += learner.learn(examples.block(first, last), calibrate, progressive.block(first, last))
                if progress is not None:
                    progress(first)
        finally:
            learner.close()


class ProductLearner:
    """The dense covariances of a state during training, on the device that computes the products."""

    def __init__(
        self, settings: Settings, sharing: _core.Sharing, state: State, device: str | None = None,
        threads: Crew | None = None,
    ) -> None:  # fmt: skip
        self.settings, self.state, self.xp = settings, state, namespace(device, threads)
        self.dtype = state["weights"].dtype
        self.sigma, self.pending = self.xp.put(state["covariance"]), self.xp.put(state["pending"])
        self.rows, _, self.columns = state["weights"].shape
        self.parts = state["covariance"].shape[1] // max(self.rows, 1)  # classes within one covariance
        self.core: Any = _core.ProductLearner(  # whose overloads are too many for a checker
            settings.rule.compiled, TASKS[settings.task], sharing, settings.prior_variance,
            settings.min_variance,
        )  # fmt: skip

    def is_small(self, X: _core.Matrix, rows_per_block: int) -> bool:
        """Return whether the core makes all products: of one matrix over the features, too small to share."""
        operations = 2.0 * rows_per_block * self.rows**2
        whole = self.state["weights"].flags.c_contiguous  # not with columns to spare
        return self.parts == 1 and operations < WORTHWHILE and whole and not self._is_sparse(X)

    def learn_small(
        self, examples: Examples, rows_per_block: int, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        """Train on rows where the core makes all products, some blocks in one call."""
        n, rows = len(examples), rows_per_block * max(1, ROWS_PER_CALL // rows_per_block)
        for first in range(0, n, rows):
            last = min(first + rows, n)
            part = progressive.block(first, last)
            self.core.learn_blocks(
                self.state, self.state["weights"], self.sigma, self.pending, scipy_blas(), examples.X, examples.labels,
                examples.label_start, examples.weight, examples.class_weight, examples.order, first, last,
                rows_per_block, self.settings.fit_intercept, calibrate, part.log_loss, part.logits,
                examples.targets, part.evidence,
            )  # fmt: skip
            if progress is not None:
                progress(last)

    def close(self) -> None:
        """Copy everything back from the device."""
        if not self.xp.shares_memory:
            self.state["covariance"][:] = self.xp.get(self.sigma)
            self.state["pending"][:] = self.xp.get(self.pending)

    def flush(self) -> None:
        """Subtract everything pending from the covariances."""
        self._subtract([])

    def learn(self, block: Block, calibrate: bool, progressive: Progressive) -> int:
        """Train on the first rows of a block, on all of them if one Gram matrix suffices; return how many."""
        A = block.dense(self.settings, self.rows)
        products = self._products(block, A)
        if products is None:
            self.flush()
            products = self._products(block, A)
            assert products is not None  # since nothing is pending
        G, gram = products
        start = (A @ self.state["weights"][:, 0]).astype(np.float64, order="C", copy=False)
        done: int
        done, found = self.core.learn(
            self.state, self.xp.get(gram), start, np.einsum("ij,ij->i", A, A, dtype=np.float64), block.labels,
            block.label_start, block.weight, block.class_weight, calibrate, progressive.log_loss,
            progressive.logits, block.targets, progressive.evidence,
        )  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            subtracted = self._update(G, found)
        if not (np.abs(self.state["weights"]) <= _core.largest_weight(self.settings.dtype == "float32")).all():
            raise OverflowError("a weight is too large")
        self._subtract(subtracted, done == block.n)
        return done

    def _products(self, block: Block, A: np.ndarray) -> tuple[Any, Any] | None:
        """Return G = (positions) S and the Gram matrices: learners x positions x D, learners x positions x positions.

        Return None if too many digits would cancel, so that pending updates must be subtracted first.
        """
        n, rows, parts, learners = block.n, self.rows, self.parts, len(self.sigma)
        count, positions, rows_on_device = int(self.state["pending_rows"][0]), parts * n, self.xp.put(A)
        G = self.xp.empty("G", (learners, parts, n, parts * rows), A.dtype)
        gram = self.xp.empty("gram", (learners, positions, positions), A.dtype)
        sigmas = self.sigma.reshape(learners, parts, rows, parts * rows)
        each = [(learner, part) for learner in range(learners) for part in range(parts)]
        if self._is_sparse(block.X):
            for at in each:
                _core.multiply_rows(block.X, block.order, block.first, self.settings.fit_intercept, sigmas[at], G[at])
        else:
            self.xp.multiply([(rows_on_device, sigmas[at], G[at]) for at in each])
        G = G.reshape(learners, positions, parts * rows)
        if count:
            pending = self.pending[:, :count]
            projected = self.xp.empty("projections", (learners, parts, n, count), A.dtype)
            by_part = pending.reshape(learners, count, parts, rows)
            self.xp.multiply([(rows_on_device, by_part[k, :, part].T, projected[k, part]) for k, part in each])
            projected = projected.reshape(learners, positions, count)
            self.xp.multiply(list(zip(projected, pending, G, strict=True)), subtract=True)
        self.xp.multiply([
            (g.reshape(positions * parts, rows), rows_on_device.T, k.reshape(positions * parts, n))
            for g, k in zip(G, gram, strict=True)
        ])  # fmt: skip
        for k in range(learners if count else 0):
            left, lost = gram[k].diagonal(), (projected[k] * projected[k]).sum(1)
            if bool((left < _core.min_fraction * (left + lost)).any()):
                return None
        return G, gram

    def _is_sparse(self, X: _core.Matrix) -> bool:
        n, d = X.shape
        return isinstance(self.sigma, np.ndarray) and X.stored < SPARSE_BELOW * n * d

    def _update(self, G: Any, found: list[dict[str, Any]]) -> list[Any]:
        """Update the means; return the rows whose Gram matrices are to be subtracted from the covariances."""
        subtracted = [g[:0] for g in G]
        moved = [learner for learner, learned in enumerate(found) if len(learned["plus"])]
        updates = [self._block_update(G[learner], found[learner]) for learner in moved]
        for learner, (Q, change) in zip(moved, self.xp.update(updates), strict=True):
            learned = found[learner]
            if learned["factor"] != 1.0:
                self.sigma[learner] *= learned["factor"]
                self.pending[learner] *= learned["factor"] ** 0.5
            self._add(learner, 0, change[: len(change) // (1 + self.settings.average)])
            if self.settings.average:
                self._add(learner, -1, change[len(change) // 2 :])
            kept = learned["weight"] > 0.0
            subtracted[learner] = Q if kept.all() else Q[self.xp.put(np.flatnonzero(kept))]
        return subtracted

    def _block_update(self, G: Any, learned: dict[str, Any]) -> BlockUpdate:
        plus, minus, n = learned["plus"], learned["minus"], len(learned["plus"])
        lower, size = learned["share"].reshape(n, n), np.sqrt(np.maximum(learned["weight"], 0.0))
        mean = learned["mean"].reshape(-1, n)
        if learned["factor"] != 1.0:
            size, mean = size * learned["factor"], mean * learned["factor"]
        if self.settings.average:
            mean = np.concatenate([mean, mean * learned["age"]])
        both = minus[0] >= 0
        real = (array.astype(self.dtype, copy=False) for array in (lower, mean, size))
        return BlockUpdate(G, plus.astype(np.int64), minus.astype(np.int64) if both else None, *real)

    def _add(self, learner: int, plane: int, change: np.ndarray) -> None:
        if self.settings.independent:
            self.state["weights"][:, plane, learner] += change[0]
        else:
            self.state["weights"][:, plane] += change.reshape(-1, self.rows).T

    def _subtract(self, subtracted: list[Any], may_wait: bool = False) -> None:
        """Subtract the Gram matrices of rows from the covariances, now or when enough rows are pending."""
        count, room = int(self.state["pending_rows"][0]), self.pending.shape[1]
        more = max((len(rows) for rows in subtracted), default=0)
        if may_wait and count + more <= room:
            for learner, rows in enumerate(subtracted):
                self.pending[learner, count : count + len(rows)] = rows
                self.pending[learner, count + len(rows) : count + more] = 0
            self.state["pending_rows"][0] = count + more
            return
        if count:
            self.xp.subtract_gram([(sigma, rows[:count]) for sigma, rows in zip(self.sigma, self.pending, strict=True)])
        self.xp.subtract_gram([(self.sigma[learner], rows) for learner, rows in enumerate(subtracted) if len(rows)])
        self.pending[:, :count] = 0.0  # so that equal states are equal bit for bit
        self.state["pending_rows"][0] = 0
