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

Where a block begins and ends depends on the rows alone. A call that ends within a block leaves it open
(:mod:`confidently.covariances.open_block`). Products are those of a whole tile of a block, with zeros for the rows that
a call does not have, so that their rounding is the same however rows are cut into calls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .. import _core
from .devices import namespace
from .examples import Examples, Progressive
from .host_arrays import BlockUpdate
from .open_block import OpenBlock
from .settings import MANY_COLUMNS, Settings
from .state import State
from .threads import TILE, Crew, crew


def learn(
    settings: Settings,
    sharing: _core.Sharing,
    state: State,
    block: OpenBlock,
    examples: Examples,
    *,
    rows_per_block: int,
    calibrate: bool,
    progressive: Progressive,
    device: str | None,
    progress: Callable[[int], None] | None,
) -> OpenBlock:
    """Train on checked rows, ``rows_per_block`` per block; ``state`` is updated in place.

    Return the block that the next rows continue, given the one that these do.
    """
    first, n = 0, len(examples)
    with crew() if device is None else nullcontext() as threads:
        learner = ProductLearner(settings, sharing, state, rows_per_block, block, device, threads)
        try:
            while first < n:
                first += learner.learn(examples, first, calibrate, progressive)
                if progress is not None:
                    progress(first)
        finally:
            learner.close()
        return learner.block


class ProductLearner:
    """The dense covariances of a state during training, on the device that computes the products."""

    def __init__(
        self, settings: Settings, sharing: _core.Sharing, state: State, rows_per_block: int = 1,
        block: OpenBlock | None = None, device: str | None = None, threads: Crew | None = None,
    ) -> None:  # fmt: skip
        self.settings, self.state, self.xp = settings, state, namespace(device, threads)
        self.dtype = state["weights"].dtype
        self.sigma, self.pending = self.xp.put(state["covariance"]), self.xp.put(state["pending"])
        self.rows, _, self.columns = state["weights"].shape
        self.parts = state["covariance"].shape[1] // max(self.rows, 1)  # classes within one covariance
        self.block, self.room = block or OpenBlock(), rows_per_block
        self.tile = -(-rows_per_block // max(1, rows_per_block // TILE))
        self.may_wait = most_pending(rows_per_block * settings.task.updates_per_row)
        self._products: Any = None
        self.core: Any = _core.ProductLearner(  # whose overloads are too many for a checker
            settings.rule.compiled, settings.task.compiled, sharing, settings.prior_variance,
            settings.min_variance,
        )  # fmt: skip

    def close(self) -> None:
        """Copy everything back from the device."""
        if not self.xp.shares_memory:
            self.state["covariance"][:] = self.xp.get(self.sigma)
            self.state["pending"][:] = self.xp.get(self.pending)

    def flush(self) -> None:
        """Subtract everything pending from the covariances."""
        count = int(self.state["pending_rows"][0])
        if count:
            self.xp.subtract_gram([(sigma, rows[:count]) for sigma, rows in zip(self.sigma, self.pending, strict=True)])
        self.pending[:, :count] = 0.0  # so that equal states are equal bit for bit
        self.state["pending_rows"][0] = 0

    def learn(self, examples: Examples, first: int, calibrate: bool, progressive: Progressive) -> int:
        """Train on the next rows of a block, from row ``first`` in the order of training on; return how many."""
        start, n = self.block.rows, len(examples)
        at = start % self.tile
        last = min(first + min(self.tile - at, self.room - start), n)
        rows = examples.block(first, last)
        if start == 0:
            self._begin()
        A = np.zeros((self.tile, self.rows), self.dtype)
        A[at : at + rows.n] = rows.dense(self.settings, self.rows)
        gram, precise = self._multiply(A, at, rows.n)
        if precise == 0 and start == 0:  # too many digits cancel
            self.flush()
            self.block.pending = 0
            gram, precise = self._multiply(A, at, rows.n)
        if precise == 0:
            self._end(ended=True)
            return 0
        if precise < rows.n:
            rows = examples.block(first, first + precise)
            parts = gram.reshape(len(gram), self.parts, -1, gram.shape[2])[:, :, :precise]
            gram = np.ascontiguousarray(parts).reshape(len(gram), self.parts * precise, -1)
        taken = slice(at, at + rows.n)
        scores = self._scores(A)[taken].astype(np.float64, order="C")
        own = rows.compiled(calibrate, progressive.block(first, first + rows.n))
        done: int
        done, found = self.core.learn(
            self.state, gram, scores, _core.row_squares(A)[taken].copy(), own, self.block.updates or None, start,
            self.room,
        )  # fmt: skip
        folded = any(learned["factor"] != 1.0 for learned in found)
        self.block.rows, self.block.updates = start + done, found
        ended = done < last - first or folded or self.block.rows == self.room
        if ended or first + done == n:
            self._end(ended)
        return done

    def _begin(self) -> None:
        """Begin a block."""
        if self.state["pending_rows"][0] > self.may_wait:
            self.flush()
        self.block = OpenBlock(0, int(self.state["pending_rows"][0]), self.state["weights"])

    def _end(self, ended: bool) -> None:
        """Write the weights and pending rows after the rows of the block so far; open another if it has ended."""
        before, weights = self.block.pending, self.state["weights"]
        if self.block.weights is not weights:
            weights[:] = self.block.weights
        elif not ended:  # otherwise nobody needs those before the block
            self.block.weights = weights.copy()
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are rejected
            subtracted = self._update(self.block.updates)
        more = max((len(rows) for rows in subtracted), default=0)
        for learner, rows in enumerate(subtracted):
            self.pending[learner, before : before + len(rows)] = rows
            self.pending[learner, before + len(rows) : before + more] = 0
        self.state["pending_rows"][0] = before + more
        if ended:
            self.block = OpenBlock()
        else:
            self.block.products = self.xp.get(self._of_block()[:, :, : self.block.rows]).copy()

    def _scores(self, A: np.ndarray) -> np.ndarray:
        """Return the scores of the rows of a tile by the weights before the block."""
        scores = self.xp.empty("scores", (len(A), self.columns), A.dtype)
        weights = np.ascontiguousarray(self.block.weights[:, 0])
        self.xp.multiply([(self.xp.put(A), self.xp.put(weights), scores)])
        return self.xp.get(scores)

    def _of_block(self) -> Any:
        """Return the products of the rows of the block, shape (learners, parts, rows of a block, D)."""
        if self._products is None:
            shape = (len(self.sigma), self.parts, self.room, self.parts * self.rows)
            whole = np.zeros(shape, self.dtype)
            if self.block.rows:
                whole[:, :, : self.block.rows] = self.block.products
            self._products = self.xp.put(whole)
        return self._products

    def _multiply(self, A: np.ndarray, at: int, n: int) -> tuple[np.ndarray, int]:
        """Compute products of n rows of a tile, from its row ``at`` on: with S - U'U, and with the block's products.

        Return the latter, shape (learners, parts x n, parts x rows of a block), and the number of rows before the first
        for which too many digits cancel.
        """
        tile, rows, parts, learners, start = self.tile, self.rows, self.parts, len(self.sigma), self.block.rows
        count, on_device, products = self.block.pending, self.xp.put(A), self._of_block()
        G = self.xp.empty("G", (learners, parts, tile, parts * rows), A.dtype)
        sigmas = self.sigma.reshape(learners, parts, rows, parts * rows)
        each = [(learner, part) for learner in range(learners) for part in range(parts)]
        new = slice(at, at + n)
        others = n
        for of in each if isinstance(self.sigma, np.ndarray) else []:
            others = _core.multiply_sparse_rows(A[new], sigmas[of], G[of][new])
        if others:
            self.xp.multiply([(on_device, sigmas[of], G[of]) for of in each])
        for of in each if 0 < others < n else []:
            _core.multiply_sparse_rows(A[new], sigmas[of], G[of][new])
        if not others:
            G[:, :, :at], G[:, :, at + n :] = 0.0, 0.0
        lost = np.zeros((learners, parts, n))
        if count:
            pending = self.pending[:, :count]
            projected = self.xp.empty("projections", (learners, parts, tile, count), A.dtype)
            by_part = pending.reshape(learners, count, parts, rows)
            self.xp.multiply([(on_device, by_part[k, :, part].T, projected[k, part]) for k, part in each])
            self.xp.multiply([
                (p.reshape(parts * tile, count), u, g.reshape(parts * tile, parts * rows))
                for p, u, g in zip(projected, pending, G, strict=True)
            ], subtract=True)  # fmt: skip
            kept = self.xp.get(projected)[:, :, new]
            lost = np.einsum("lpiu,lpiu->lpi", kept, kept, dtype=np.float64)
        products[:, :, start : start + n] = G[:, :, new]
        gram = self.xp.empty("gram", (learners, tile, parts * self.room * parts), A.dtype)
        self.xp.multiply([
            (on_device, p.reshape(parts * self.room * parts, rows).T, k) for p, k in zip(products, gram, strict=True)
        ])  # fmt: skip
        found = self.xp.get(gram).reshape(learners, tile, parts, self.room, parts)[:, new].transpose(0, 4, 1, 2, 3)
        precise = n
        if count:
            every = np.arange(n)
            left = np.stack([found[:, part, every, part, start + every] for part in range(parts)], axis=1)
            bad = (left < _core.min_fraction * (left + lost)).any(axis=(0, 1))
            precise = int(np.argmax(bad)) if bad.any() else n
        return np.ascontiguousarray(found).reshape(learners, parts * n, parts * self.room), precise

    def _update(self, found: list[dict[str, Any]]) -> list[Any]:
        """Update the means; return the rows whose Gram matrices are to be subtracted from the covariances."""
        G = self._of_block().reshape(len(self.sigma), self.parts * self.room, self.parts * self.rows)
        subtracted = [g[:0] for g in G]
        moved = [learner for learner, learned in enumerate(found) if len(learned["plus"])]
        columns = [self._moved_columns(found[learner], learner) for learner in moved]
        updates = [
            self._block_update(G[learner], found[learner], own) for learner, own in zip(moved, columns, strict=True)
        ]
        for learner, own, update, Q in zip(moved, columns, updates, self.xp.update(updates), strict=True):
            learned = found[learner]
            if learned["factor"] != 1.0:
                self.sigma[learner] *= learned["factor"]
                self.pending[learner] *= learned["factor"] ** 0.5
            self._put_weights(own, update.weights)
            kept = learned["weight"] > 0.0
            subtracted[learner] = Q if kept.all() else Q[self.xp.put(np.flatnonzero(kept))]
        return subtracted

    def _moved_columns(self, learned: dict[str, Any], learner: int) -> slice | np.ndarray:
        """Return the columns of weights that a block moves: of thousands of classes, those that compete."""
        if self.settings.independent:
            return slice(learner, learner + 1)
        if self.columns <= MANY_COLUMNS or self.parts > 1:
            return slice(None)
        moved = learned["mean"].reshape(self.columns, -1).any(axis=1)
        return slice(None) if moved.all() else np.flatnonzero(moved)

    def _block_update(self, G: Any, learned: dict[str, Any], columns: slice | np.ndarray) -> BlockUpdate:
        plus, minus, n = learned["plus"], learned["minus"], len(learned["plus"])
        lower, size = learned["share"].reshape(n, n), np.sqrt(np.maximum(learned["weight"], 0.0))
        mean = learned["mean"].reshape(-1, n)
        if isinstance(columns, np.ndarray):
            mean = mean[columns]
        if learned["factor"] != 1.0:
            size, mean = size * learned["factor"], mean * learned["factor"]
        if self.settings.average:
            mean = np.concatenate([mean, mean * learned["age"]])
        both = minus[0] >= 0
        lower, mean, size = (array.astype(self.dtype, copy=False) for array in (lower, mean, size))
        minus = minus.astype(np.int64) if both else None
        return BlockUpdate(G, plus.astype(np.int64), minus, lower, mean, size, self._weights_of(columns))

    def _weights_of(self, columns: slice | np.ndarray) -> np.ndarray:
        """Return the weights of some columns, one row per row of a matrix: those of the state if it has no others."""
        weights: np.ndarray = self.state["weights"]
        chosen = weights[:, :, columns] if self.parts == 1 else weights.transpose(2, 0, 1)
        return np.ascontiguousarray(chosen).reshape(self.parts * self.rows, -1)

    def _put_weights(self, columns: slice | np.ndarray, changed: np.ndarray) -> None:
        """Check and write what :meth:`_weights_of` has returned, after a change."""
        largest = _core.largest_weight(self.settings.dtype == "float32")
        if not (-largest <= changed.min(initial=0.0) and changed.max(initial=0.0) <= largest):  # nor NaN
            raise OverflowError("a weight is too large")
        weights = self.state["weights"]
        if self.parts > 1:
            weights.transpose(2, 0, 1)[:] = changed.reshape(self.parts, self.rows, -1)
        elif not np.may_share_memory(changed, weights):
            weights[:, :, columns] = changed.reshape(self.rows, weights.shape[1], -1)


def most_pending(updates: int) -> int:
    """Return the most pending rows with which a block of so many updates may begin: more would cost more time."""
    return updates // 2
