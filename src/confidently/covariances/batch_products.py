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
from typing import Any

import numpy as np

from .. import _core
from .devices import namespace
from .examples import Block, Examples, Progressive
from .settings import TASKS, Settings
from .state import State
from .threads import suitable_threads

SPARSE_BELOW = 0.03  # fraction of nonzero values below which a sparse product is assumed to be faster than a dense one


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
    learner, n = ProductLearner(settings, sharing, state, device), len(examples)
    try:
        with suitable_threads(2.0 * rows_per_block * state["covariance"].shape[1] ** 2):
            first = 0
            while first < n:
                last = min(first + rows_per_block, n)
                first += learner.learn(examples.block(first, last), calibrate, progressive.block(first, last))
                if progress is not None:
                    progress(first)
    finally:
        learner.close()


class ProductLearner:
    """The dense covariances of a state during training, on the device that computes the products."""

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
        gram = np.stack([self.xp.get(gram) for _, gram in products])
        start = (A @ self.state["weights"][:, 0]).astype(np.float64, order="C", copy=False)
        done, found = self.core.learn(
            self.state, gram, start, np.einsum("ij,ij->i", A, A, dtype=np.float64), block.labels, block.label_start,
            block.weight, block.class_weight, calibrate, progressive.log_loss,
            progressive.logits,
        )  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            moved = [self._move_mean(learner, products[learner][0], found[learner]) for learner in range(len(products))]
        if not (np.abs(self.state["weights"]) <= _core.largest_weight(self.settings.dtype == "float32")).all():
            raise OverflowError("a weight is too large")
        self._subtract(moved, done == block.n)
        return done

    def _products(self, block: Block, A: np.ndarray) -> list[tuple[Any, Any]] | None:
        """Return :meth:`_product` of every learner, or None if it is None for one of them."""
        found = []
        for learner in range(len(self.sigma)):
            product = self._product(learner, block, A)
            if product is None:
                return None
            found.append(product)
        return found

    def _product(self, learner: int, block: Block, A: np.ndarray) -> tuple[Any, Any] | None:
        """Return G = (positions) S and their Gram matrix, positions x D and positions x positions.

        Return None if too many digits would cancel, so that pending updates must be subtracted first.
        """
        n, rows, parts = block.n, self.rows, self.parts
        sigma, count = self.sigma[learner], int(self.state["pending_rows"][0])
        rows_on_device = self.xp.put(A)
        if self._is_sparse(block):
            G = np.empty((parts, n, parts * rows), dtype=A.dtype)
            for part in range(parts):
                _core.multiply_rows(
                    block.X, block.order, block.first, self.settings.fit_intercept,
                    sigma[part * rows : (part + 1) * rows], G[part],
                )  # fmt: skip
        else:
            G = rows_on_device @ sigma.reshape(parts, rows, parts * rows)
        if count:
            pending = self.pending[learner, :count]
            projections = rows_on_device @ pending.reshape(count, parts, rows).swapaxes(0, 1).swapaxes(1, 2)
            G -= projections @ pending
        gram = (G.reshape(parts * n * parts, rows) @ rows_on_device.T).reshape(parts * n, parts * n)
        if count:
            left, lost = gram.diagonal(), (projections * projections).sum(2).reshape(-1)
            if bool((left < _core.min_fraction * (left + lost)).any()):
                return None
        return G.reshape(parts * n, parts * rows), gram

    def _is_sparse(self, block: Block) -> bool:
        n, d = block.X.shape
        return isinstance(self.sigma, np.ndarray) and block.X.stored < SPARSE_BELOW * n * d

    def _move_mean(self, learner: int, G: Any, learned: dict[str, Any]) -> Any:
        """Update a learner's mean; return the rows whose Gram matrix is to be subtracted from its covariance."""
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
        for learner in range(len(self.sigma) if count else 0):
            self.xp.subtract_gram(self.sigma[learner], self.pending[learner, :count])
        for learner, rows in enumerate(subtracted):
            if len(rows):
                self.xp.subtract_gram(self.sigma[learner], rows)
        self.pending[:, :count] = 0.0  # so that equal states are equal bit for bit
        self.state["pending_rows"][0] = 0
