"""A kernel learner's state, ready for queries and for learning blocks of rows (Crammer et al. 2008, Theorem 2).

With t(x) the kernel's values (times the prior variance, plus one for the intercept) between x and the support, and for
each learner a unit lower triangle I + L, weights d and g::

    p = (I + L)^-1 t(x),      score = g'p,      variance = scale (t(x, x) - sum_u d_u p_u^2)

so that (I + L) diag(1/d) (I + L)' = T + diag(1/zeta), as in a Gaussian process whose noise the rule chooses. The
recursion of core/covariances/gram.hpp trains on blocks of rows and returns the next rows of L. One-vs-rest and softmax
have one triangle per class over a common support. Otherwise a support row represents a vector z with x at one class and
-x at another, and its kernel with a row x at class c is T, -T or 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from .examples import Block, Examples, Progressive
from .host_arrays import BlockUpdate, NumpyArrays
from .kernel_functions import KernelFunction
from .kernel_support import ROWS, append_rows, csr_rows, shapes
from .settings import Settings
from .state import Size, State
from .threads import Crew

ROWS_PER_QUERY = 256  # predicted at a time; their kernel with each other is computed only for its diagonal


class KernelModel:
    """A kernel learner's state, ready for queries and for training on blocks of rows."""

    def __init__(self, settings: Settings, state: State, size: Size, threads: Crew) -> None:
        self.settings, self.state, self.columns = settings, state, settings.task.columns(size.n_classes)
        self.arrays = NumpyArrays(threads)
        self.independent = settings.independent
        self.parts = 1 if self.independent else self.columns
        self.kernel = KernelFunction(settings, size.n_features)
        self.core = _core.ProductLearner(
            settings.rule.compiled, settings.task.compiled,
            _core.Sharing.independent if self.independent else _core.Sharing.joint,
            settings.prior_variance, settings.min_variance,
        )  # fmt: skip
        self.reload()

    def reload(self) -> None:
        """Read the support from the state again."""
        self.support = self.kernel.rows(*(self.state[name] for name in ROWS))
        sides = self.state["support.sides"]
        self.signs = np.zeros((len(sides), self.parts))  # of x in z_u, by class
        rows = np.arange(len(sides))
        self.signs[rows, sides[:, 0]] += 1.0
        two = sides[:, 1] >= 0
        self.signs[rows[two], sides[two, 1]] -= 1.0

    @property
    def prior(self) -> np.ndarray:
        """Factor of the kernel, one number per learner."""
        return self.settings.prior_variance * self.state["folded"]

    # --- queries --------------------------------------------------------------------------------------------------

    def projections(self, k: np.ndarray) -> list[np.ndarray]:
        """Return each learner's p of rows at every class, support x (parts x rows), from the kernel support x rows.

        The next call reuses the arrays.
        """
        n = len(k)
        t = (self.signs[:, :, None] * k[:, None, :]).reshape(n, self.parts * k.shape[1])
        ts = [prior * t for prior in self.prior]
        if not self.settings.rule.learns_precision or not n:
            return ts
        every, none, one, unmoved = np.arange(n), np.empty((0, n)), np.ones(n), np.empty((t.shape[1], 0))
        triangles = self.state["triangle"]
        updates = [BlockUpdate(t, every, None, triangles[learner], none, one, unmoved) for learner, t in enumerate(ts)]
        return self.arrays.update(updates)

    def scores(self, ps: list[np.ndarray], n: int, plane: int = 0) -> np.ndarray:
        """Return scores, shape (rows, columns), from each learner's :meth:`projections`."""
        dual = self.state["dual"][:, plane]
        if self.independent:
            return np.stack([dual[:, learner] @ p for learner, p in enumerate(ps)], axis=1)
        scores: np.ndarray = dual[:, 0] @ ps[0]
        return scores.reshape(self.parts, n).T

    def queries(self, X: _core.Matrix) -> Iterator[tuple[slice, np.ndarray, list[np.ndarray]]]:
        """Yield chunks of rows: their numbers, kernel with themselves, and :meth:`projections` for each learner."""
        examples = Examples(X, np.zeros(X.shape[0], dtype=np.int32))
        for first in range(0, X.shape[0], ROWS_PER_QUERY):
            block = examples.block(first, min(first + ROWS_PER_QUERY, X.shape[0]))
            rows = self.kernel.rows(*csr_rows(block))
            k = self.kernel(self.support, rows)
            ps = self.projections(k)
            yield slice(first, first + block.n), self.kernel(rows, rows).diagonal(), ps

    def variance(self, learner: int, own: np.ndarray, p: np.ndarray, plus: Any, minus: Any = None) -> np.ndarray:
        """Return the variance of the score of ``plus`` minus that of ``minus``, each one class or one class per row."""
        n = len(own)
        p = p.reshape(len(p), self.parts, n)
        at = np.arange(n)
        q, sides = p[:, plus, at], 1.0
        if minus is not None:
            q, sides = q - p[:, minus, at], 2.0
        v = sides * self.prior[learner] * own - self.state["gained"][learner] @ (q * q)
        return np.maximum(v * self.state["scale"][learner], 0.0)

    # --- training -------------------------------------------------------------------------------------------------

    def may_exceed_budget(self, rows: int) -> bool:
        """Return whether training on some rows may make the support larger than the budget."""
        budget, most = self.settings.budget, len(self.signs) + rows * self.settings.task.updates_per_row
        return budget is not None and most > budget

    def close(self) -> None:
        """End training; the state is up to date."""

    def learn(self, block: Block, calibrate: bool, progressive: Progressive) -> int:
        """Train on the first rows of a block, on all of them if one Gram matrix suffices; return how many."""
        arrays = csr_rows(block)
        rows, n = self.kernel.rows(*arrays), block.n
        k, own = self.kernel(self.support, rows), self.kernel(rows, rows)
        own = 0.5 * (own + own.T)
        ps = self.projections(k)
        positions = self.parts * n
        with np.errstate(over="ignore", invalid="ignore"):  # the core rejects numbers that are not finite
            gram = np.stack([np.kron(np.eye(self.parts), self.prior[learner] * own) for learner in range(len(ps))])
            if self.settings.rule.learns_precision:
                roots = np.sqrt(self.state["gained"])[:, :, None]
                self.arrays.subtract_gram([(g, p * root) for g, p, root in zip(gram, ps, roots, strict=True)])
        done, found = self.core.learn(
            self.state, gram.reshape(len(ps), positions, positions), np.ascontiguousarray(self.scores(ps, n)),
            np.ascontiguousarray(own.diagonal()), block.compiled(calibrate, progressive),
        )  # fmt: skip
        self._append(arrays, n, ps, found)
        return done

    def _append(
        self, arrays: tuple[np.ndarray, ...], n: int, ps: list[np.ndarray], found: list[dict[str, Any]]
    ) -> None:
        """Add the rows that updated the Gaussian to the support."""
        row_of = [learned["plus"] % n for learned in found]
        new = np.unique(np.concatenate(row_of)) if self.independent else row_of[0]
        if not len(new):
            return
        position_of = [np.searchsorted(new, rows) if self.independent else np.arange(len(rows)) for rows in row_of]
        support = append_rows([self.state[name] for name in ROWS], arrays, new)
        sides = np.full((len(new), 2), -1, dtype=np.int32)
        sides[:, 0] = 0
        if not self.independent:
            minus = found[0]["minus"]
            sides[:, 0] = found[0]["plus"] // n
            sides[:, 1] = np.where(minus >= 0, minus // n, -1)
        old = {name: self.state[name] for name in ("dual", "gained", "triangle")}
        m = len(old["dual"])
        state = {name: np.zeros(shape) for name, (shape, _) in shapes(
            self.settings, old["dual"].shape[2], m + len(new), 0).items() if name in old
        }  # fmt: skip
        for learner, (learned, at) in enumerate(zip(found, position_of, strict=True)):
            self._append_learner(learner, learned, m + at, ps[learner], old, state)
        state |= dict(zip(ROWS, support, strict=True))
        state["support.sides"] = np.concatenate([self.state["support.sides"], sides])
        self.state.update(state)
        self.reload()

    def _append_learner(
        self, learner: int, learned: dict[str, Any], at: np.ndarray, p: np.ndarray, old: State, state: State
    ) -> None:
        m, n, by = len(old["dual"]), len(at), learned["factor"]
        state["dual"][:m, :, learner] = old["dual"][:, :, learner] / by
        state["gained"][learner, :m] = old["gained"][learner] / by
        state["gained"][learner, at] = learned["weight"]
        state["dual"][at, 0, learner] = learned["mean"]
        if self.settings.average:
            state["dual"][at, -1, learner] = learned["mean"] * learned["age"]
        if not self.settings.rule.learns_precision:
            return
        triangle = state["triangle"][learner]
        triangle[:m, :m] = old["triangle"][learner]
        if n:
            z = p[:, learned["plus"]]
            if learned["minus"][0] >= 0:
                z = z - p[:, learned["minus"]]
            triangle[at, :m] = (z * old["gained"][learner][:, None]).T
            triangle[np.ix_(at, at)] = learned["share"].reshape(n, n)
