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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .devices import namespace
from .state import TASKS, Settings, State

SPARSE_BELOW = 0.03  # share of values that are not 0 below which a sparse product is taken to beat a dense one
ROWS_PER_QUERY = 1024  # rows whose variances are computed at a time
SHARINGS = {"one-vs-rest": _core.Sharing.independent}


@dataclass
class Examples:
    """Rows to learn, and all that belongs to them, as :meth:`confidently.learner.learner.Learner.learn` takes it."""

    X: _core.Matrix
    labels: np.ndarray
    label_start: np.ndarray | None = None
    weight: np.ndarray | None = None
    class_weight: np.ndarray | None = None
    order: np.ndarray | None = None

    def __len__(self) -> int:
        return self.X.shape[0] if self.order is None else len(self.order)

    def block(self, first: int, last: int) -> Block:
        """Rows ``first`` to ``last - 1`` in the order of learning."""
        order = None if self.order is None else np.ascontiguousarray(self.order[first:last])
        rows = slice(first, last) if order is None else order
        labels, start = self.labels, None
        if self.label_start is None:
            labels = self.labels[rows]
        else:
            begins, sizes = self.label_start[:-1][rows], np.diff(self.label_start)[rows]
            start = np.concatenate([[0], np.cumsum(sizes)])
            labels = self.labels[np.repeat(begins - start[:-1], sizes) + np.arange(start[-1])]
        weight = None if self.weight is None else np.ascontiguousarray(self.weight[rows])
        return Block(self.X, order, first, last - first, labels, start, weight, self.class_weight)


@dataclass
class Block:
    """Some rows in the order of learning."""

    X: _core.Matrix
    order: np.ndarray | None
    first: int
    n: int
    labels: np.ndarray
    label_start: np.ndarray | None
    weight: np.ndarray | None
    class_weight: np.ndarray | None

    def dense(self, settings: Settings, width: int) -> np.ndarray:
        """The rows written out, the intercept first."""
        out = np.empty((self.n, width), dtype=settings.dtype)
        _core.fill_rows(self.X, self.order, self.first, settings.fit_intercept, out)
        return out


def learn(
    settings: Settings,
    state: State,
    examples: Examples,
    *,
    calibrate: bool,
    log_loss: np.ndarray | None,
    device: str | None,
    progress: Callable[[int], None] | None,
) -> None:
    """Learn checked rows; ``state`` is written to."""
    rows, _, columns = state["weights"].shape
    learner = BlockLearner(settings, state, device)
    size, n = settings.rows_per_block(rows, columns), len(examples)
    try:
        first = 0
        while first < n:
            first += learner.learn(examples.block(first, min(first + size, n)), calibrate, log_loss)
            if progress is not None:
                progress(first)
    finally:
        learner.close()


class BlockLearner:
    """The dense covariances of a state while rows are learned, on the device that does the products."""

    def __init__(self, settings: Settings, state: State, device: str | None = None) -> None:
        self.settings, self.state, self.xp = settings, state, namespace(device)
        self.sigma, self.pending = self.xp.put(state["covariance"]), self.xp.put(state["pending"])
        self.rows, _, self.columns = state["weights"].shape
        self.parts = state["covariance"].shape[1] // max(self.rows, 1)  # classes within one covariance
        sharing = SHARINGS.get(settings.task, getattr(_core.Sharing, "shared" if self._is_shared else "joint"))
        self.core = _core.ProductLearner(
            settings.rule.compiled, TASKS[settings.task], sharing, settings.prior_variance, settings.min_variance
        )

    @property
    def _is_shared(self) -> bool:
        return self.settings.geometry == "shared"

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


# --- answering ----------------------------------------------------------------------------------------------------


def variances(settings: Settings, state: State, X: _core.Matrix) -> np.ndarray:
    """Variance of each column's score, shape (n, columns); for sets of labels, of the score minus the threshold's."""
    rows, _, columns = state["weights"].shape
    out = np.empty((X.shape[0], columns))
    for block, A in _questions(settings, rows, X):
        into = out[block.first : block.first + block.n]
        if settings.geometry == "shared":
            into[:] = _quadratic(state, 0, A, 0)[:, None] * (2.0 if settings.task == "multilabel" else 1.0)
            continue
        for k in range(columns):
            if settings.task == "one-vs-rest":
                into[:, k] = _quadratic(state, k, A, 0)
            else:
                into[:, k] = _quadratic(state, 0, A, k, 0 if settings.task == "multilabel" else None)
    if settings.task == "multilabel":
        out[:, 0] = 0.0
    return out


def top_variances(settings: Settings, state: State, X: _core.Matrix, scores: np.ndarray) -> np.ndarray:
    """Variance of the difference between each row's two best scores, shape (n,)."""
    order = np.argsort(-scores, axis=1, kind="stable")
    first, second = order[:, 0], order[:, 1]
    if settings.task == "one-vs-rest":
        every, row = variances(settings, state, X), np.arange(len(scores))
        variance: np.ndarray = every[row, first] + every[row, second]
        return variance
    out = np.empty(X.shape[0])
    for block, A in _questions(settings, len(state["weights"]), X):
        into = out[block.first : block.first + block.n]
        if settings.geometry == "shared":
            into[:] = 2.0 * _quadratic(state, 0, A, 0)
            continue
        a, b = (side[block.first : block.first + block.n] for side in (first, second))
        for pair in np.unique(a * scores.shape[1] + b):
            chosen = a * scores.shape[1] + b == pair
            into[chosen] = _quadratic(state, 0, A[chosen], *divmod(int(pair), scores.shape[1]))
    return out


def _questions(settings: Settings, width: int, X: _core.Matrix) -> Iterator[tuple[Block, np.ndarray]]:
    examples = Examples(X, np.zeros(X.shape[0], dtype=np.int32))
    for first in range(0, X.shape[0], ROWS_PER_QUERY):
        block = examples.block(first, min(first + ROWS_PER_QUERY, X.shape[0]))
        yield block, block.dense(settings, width)


def _quadratic(state: State, learner: int, A: np.ndarray, plus: int, minus: int | None = None) -> np.ndarray:
    """z' Sigma z of each row x of A, with z = x in the share of class ``plus`` (and -x in that of ``minus``)."""
    rows, sigma = A.shape[1], state["covariance"][learner]
    pending = state["pending"][learner, : state["pending_rows"][0]]
    p = slice(plus * rows, (plus + 1) * rows)
    S, U = sigma[p, p], pending[:, p]
    if minus is not None:
        m = slice(minus * rows, (minus + 1) * rows)
        S, U = S + sigma[m, m] - sigma[p, m] - sigma[m, p], U - pending[:, m]
    v = np.einsum("ij,ij->i", A @ S, A, dtype=np.float64)
    if len(U):
        AU = A @ U.T
        v -= np.einsum("ij,ij->i", AU, AU, dtype=np.float64)
    variance: np.ndarray = np.maximum(v * state["scale"][learner], 0.0)
    return variance
