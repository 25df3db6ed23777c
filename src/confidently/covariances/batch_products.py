"""Full and shared covariances, learned a block of rows at a time by products of matrices.

Inside a block X of k rows the recursion lives in the rows' Gram matrix under the covariance S at the block's start
(core/covariances/gram.hpp). Around it, for binary and shared covariances::

    G = X S                      k x D, one product
    K = G X'                     the Gram matrix; the recursion runs over it
    (I + L) Q = G                L: what the recursion found; its updating rows only
    mean += Q' g
    S -= (sqrt(d) Q)' (sqrt(d) Q)    kept pending until enough of such rows have come together

One-vs-rest has an S a class. With a joint covariance a row stands for K places, x in the share of each class.
``covariance`` and ``pending`` of the state mean Sigma = scale (covariance - pending' pending).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .devices import namespace
from .examples import Block, Examples
from .settings import TASKS, Settings
from .state import State

SPARSE_BELOW = 0.03  # fraction of values that are not 0 below which a sparse product is assumed to beat a dense one


def learn(
    settings: Settings,
    sharing: _core.Sharing,
    state: State,
    examples: Examples,
    *,
    rows_per_block: int,
    calibrate: bool,
    log_loss: np.ndarray | None,
    device: str | None,
    progress: Callable[[int], None] | None,
) -> None:
    """Learn checked rows, so many per product; ``state`` is written to."""
    learner, n = ProductLearner(settings, sharing, state, device), len(examples)
    try:
        first = 0
        while first < n:
            first += learner.learn(examples.block(first, min(first + rows_per_block, n)), calibrate, log_loss)
            if progress is not None:
                progress(first)
    finally:
        learner.close()


class ProductLearner:
    """The dense covariances of a state while rows are learned, on the device that does the products."""

    def __init__(self, settings: Settings, sharing: _core.Sharing, state: State, device: str | None = None) -> None:
        self.settings, self.state, self.xp = settings, state, namespace(device)
        self.sigma, self.pending = self.xp.put(state["covariance"]), self.xp.put(state["pending"])
        self.rows, _, self.columns = state["weights"].shape
        self.parts = state["covariance"].shape[1] // max(self.rows, 1)  # classes within one covariance
        self.core = _core.ProductLearner(
            settings.rule.compiled, TASKS[settings.task], sharing, settings.prior_variance,
            settings.min_variance,
        )  # fmt: skip

    def close(self) -> None:
        """Bring everything home."""
        if not self.xp.shares_memory:
            self.state["covariance"][:] = self.xp.get(self.sigma)
            self.state["pending"][:] = self.xp.get(self.pending)

    def flush(self) -> None:
        """Take off the covariances what is pending."""
        self._lose([])

    def learn(self, block: Block, calibrate: bool, log_loss: np.ndarray | None) -> int:
        """Learn the first rows of a block, all of them if one Gram matrix serves; return how many."""
        A = block.dense(self.settings, self.rows)
        products = self._products(block, A)
        if products is None:
            self.flush()
            products = self._products(block, A)
            assert products is not None  # for nothing is pending
        gram = np.stack([self.xp.get(gram) for _, gram in products])
        start = (A @ self.state["weights"][:, 0]).astype(np.float64, order="C", copy=False)
        done, found = self.core.learn(
            self.state, gram, start, np.einsum("ij,ij->i", A, A, dtype=np.float64), block.labels, block.label_start,
            block.weight, block.class_weight, calibrate, log_loss,
        )  # fmt: skip
        self._lose(
            [self._move(learner, products[learner][0], found[learner]) for learner in range(len(products))],
            done == block.n,
        )
        return done

    def _products(self, block: Block, A: np.ndarray) -> list[tuple[Any, Any]] | None:
        """:meth:`_product` of every learner; None if one is."""
        found = []
        for learner in range(len(self.sigma)):
            product = self._product(learner, block, A)
            if product is None:
                return None
            found.append(product)
        return found

    def _product(self, learner: int, block: Block, A: np.ndarray) -> tuple[Any, Any] | None:
        """G = (places) S and their Gram matrix, places x D and places x places; None if too many digits cancel unless
        what is pending is taken off first."""
        n, rows, parts = block.n, self.rows, self.parts
        sigma, count = self.sigma[learner], int(self.state["pending_rows"][0])
        rows_there = self.xp.put(A)
        if self._is_sparse(block):
            G = np.empty((parts, n, parts * rows), dtype=A.dtype)
            for part in range(parts):
                _core.multiply_rows(
                    block.X, block.order, block.first, self.settings.fit_intercept,
                    sigma[part * rows : (part + 1) * rows], G[part],
                )  # fmt: skip
        else:
            G = rows_there @ sigma.reshape(parts, rows, parts * rows)
        if count:
            pending = self.pending[learner, :count]
            along = rows_there @ pending.reshape(count, parts, rows).swapaxes(0, 1).swapaxes(1, 2)
            G -= along @ pending
        gram = (G.reshape(parts * n * parts, rows) @ rows_there.T).reshape(parts * n, parts * n)
        if count:
            left, lost = gram.diagonal(), (along * along).sum(2).reshape(-1)
            if bool((left < _core.min_fraction * (left + lost)).any()):
                return None
        return G.reshape(parts * n, parts * rows), gram

    def _is_sparse(self, block: Block) -> bool:
        n, d = block.X.shape
        return isinstance(self.sigma, np.ndarray) and block.X.stored < SPARSE_BELOW * n * d

    def _move(self, learner: int, G: Any, learned: dict[str, Any]) -> Any:
        """Move a learner's mean; return the rows whose Gram matrix its covariance loses."""
        plus, minus, weight = learned["plus"], learned["minus"], learned["weight"]
        n, dtype = len(plus), self.state["weights"].dtype
        if n == 0:
            return G[:0]
        Q = G[self.xp.put(plus.astype(np.int64))]
        if minus[0] >= 0:
            Q = Q - G[self.xp.put(minus.astype(np.int64))]
        Q = self.xp.solve_unit_lower(self.xp.put(learned["share"].reshape(n, n).astype(dtype)), Q)
        if learned["factor"] != 1.0:
            Q = Q * learned["factor"]
            self.sigma[learner] *= learned["factor"]
            self.pending[learner] *= learned["factor"] ** 0.5
        mean = learned["mean"].reshape(-1, n)
        self._add(learner, 0, mean, Q)
        if self.settings.average:
            self._add(learner, -1, mean * learned["age"], Q)
        kept = np.flatnonzero(weight > 0.0)
        size = self.xp.put(np.sqrt(weight[kept]).astype(dtype)[:, None])
        return (Q if len(kept) == n else Q[self.xp.put(kept)]) * size

    def _add(self, learner: int, plane: int, mean: np.ndarray, Q: Any) -> None:
        change = self.xp.get(self.xp.put(mean.astype(self.state["weights"].dtype)) @ Q)
        if self.settings.task == "one-vs-rest":
            self.state["weights"][:, plane, learner] += change[0]
        else:
            self.state["weights"][:, plane] += change.reshape(-1, self.rows).T

    def _lose(self, lost: list[Any], may_wait: bool = False) -> None:
        """Take rows' Gram matrices off the covariances: now, or when more such rows have come together."""
        count, room = int(self.state["pending_rows"][0]), self.pending.shape[1]
        more = max((len(rows) for rows in lost), default=0)
        if may_wait and count + more <= room:
            for learner, rows in enumerate(lost):
                self.pending[learner, count : count + len(rows)] = rows
                self.pending[learner, count + len(rows) : count + more] = 0
            self.state["pending_rows"][0] = count + more
            return
        for learner in range(len(self.sigma) if count else 0):
            self.xp.subtract_gram(self.sigma[learner], self.pending[learner, :count])
        for learner, rows in enumerate(lost):
            if len(rows):
                self.xp.subtract_gram(self.sigma[learner], rows)
        self.pending[:, :count] = 0.0  # a state is the same to the bit however it came about
        self.state["pending_rows"][0] = 0
