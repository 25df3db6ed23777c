"""Kernel covariance: mean and Sigma kept as coefficients of the examples learned (Crammer et al. 2008, Theorem 2).

With t(x) the kernel's values (times the prior variance, plus one for the intercept) between x and the support, and for
each learner a unit lower triangle I + L, weights d and g::

    p = (I + L)^-1 t(x),      score = g'p,      variance = scale (t(x, x) - sum_u d_u p_u^2)

so that (I + L) diag(1/d) (I + L)' = T + diag(1/zeta), as in a Gaussian process whose noise the rule chose. Rows are
learned in blocks by the recursion of core/covariances/gram.hpp, which hands over the next rows of L. One-vs-rest:
a triangle a class over one support. Otherwise a support row stands for z = x in the share of one class and -x in that
of another, and its kernel with x in the share of class c is T, -T or 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _core
from .blocks import Block, Examples
from .kernel_budget import keep_budget
from .kernel_functions import Kernel
from .kernel_support import ROWS, append_rows, shapes, taken
from .state import TASKS, Settings, State, memory_bytes, updates_per_row

ROWS_PER_BLOCK = 64
ROWS_PER_QUERY = 256  # answered at a time; every row's kernel with all others of them is computed for its own


class KernelModel:
    """A kernel learner's state, ready to be asked and to learn blocks of rows."""

    def __init__(self, settings: Settings, state: State, n_features: int, n_classes: int) -> None:
        self.settings, self.state, self.columns = settings, state, settings.columns(n_classes)
        self.independent = settings.task == "one-vs-rest"
        self.parts = 1 if self.independent else self.columns
        self.kernel = Kernel(settings, n_features)
        self.reload()

    def reload(self) -> None:
        """Take over the support as it is in the state now."""
        self.support = self.kernel.rows(*(self.state[name] for name in ROWS))
        sides = self.state["support.sides"]
        self.share = np.zeros((len(sides), self.parts))  # of z_u, by class
        rows = np.arange(len(sides))
        self.share[rows, sides[:, 0]] += 1.0
        two = sides[:, 1] >= 0
        self.share[rows[two], sides[two, 1]] -= 1.0

    @property
    def prior(self) -> np.ndarray:
        """What the kernel is multiplied by, one number a learner."""
        return self.settings.prior_variance * self.state["folded"]

    # --- asking ---------------------------------------------------------------------------------------------------

    def along(self, learner: int, k: np.ndarray) -> np.ndarray:
        """p of every class's share of some rows, support x (parts x rows), from the kernel support x rows."""
        t: np.ndarray = self.prior[learner] * (self.share[:, :, None] * k[:, None, :]).reshape(
            len(k), self.parts * k.shape[1]
        )
        if not self.settings.rule.learns_precision or not len(k):
            return t
        from scipy.linalg import solve_triangular

        p: np.ndarray = solve_triangular(
            self.state["triangle"][learner], t, lower=True, unit_diagonal=True, check_finite=False, overwrite_b=True
        )
        return p

    def scores(self, ps: list[np.ndarray], n: int, plane: int = 0) -> np.ndarray:
        """(rows, columns), from each learner's :meth:`along`."""
        dual = self.state["dual"][:, plane]
        if self.independent:
            return np.stack([dual[:, learner] @ p for learner, p in enumerate(ps)], axis=1)
        scores: np.ndarray = dual[:, 0] @ ps[0]
        return scores.reshape(self.parts, n).T

    def questions(self, X: _core.Matrix) -> Iterator[tuple[slice, np.ndarray, list[np.ndarray]]]:
        """Some rows at a time: which, their kernel with themselves, and :meth:`along` for each learner."""
        examples = Examples(X, np.zeros(X.shape[0], dtype=np.int32))
        for first in range(0, X.shape[0], ROWS_PER_QUERY):
            block = examples.block(first, min(first + ROWS_PER_QUERY, X.shape[0]))
            rows = self.kernel.rows(*taken(block))
            k = self.kernel(self.support, rows)
            ps = [self.along(learner, k) for learner in range(len(self.prior))]
            yield slice(first, first + block.n), self.kernel(rows, rows).diagonal(), ps

    def variance(self, learner: int, own: np.ndarray, p: np.ndarray, plus: Any, minus: Any = None) -> np.ndarray:
        """Of the score of class ``plus`` (minus that of ``minus``): numbers, or one a row."""
        n = len(own)
        p = p.reshape(len(p), self.parts, n)
        at = np.arange(n)
        q, sides = p[:, plus, at], 1.0
        if minus is not None:
            q, sides = q - p[:, minus, at], 2.0
        v = sides * self.prior[learner] * own - self.state["gained"][learner] @ (q * q)
        variance: np.ndarray = np.maximum(v * self.state["scale"][learner], 0.0)
        return variance

    # --- learning -------------------------------------------------------------------------------------------------

    def learn(self, block: Block, calibrate: bool, log_loss: np.ndarray | None) -> int:
        """Learn the first rows of a block, all of them if one Gram matrix serves; return how many."""
        arrays = taken(block)
        rows, n = self.kernel.rows(*arrays), block.n
        k, own = self.kernel(self.support, rows), self.kernel(rows, rows)
        own = 0.5 * (own + own.T)
        ps = [self.along(learner, k) for learner in range(len(self.prior))]
        places = self.parts * n
        gram = np.stack([np.kron(np.eye(self.parts), self.prior[learner] * own) for learner in range(len(ps))])
        for learner, p in enumerate(ps):
            if self.settings.rule.learns_precision:
                gram[learner] -= (p * self.state["gained"][learner][:, None]).T @ p
        sharing = _core.Sharing.independent if self.independent else _core.Sharing.joint
        core = _core.ProductLearner(
            self.settings.rule.compiled, TASKS[self.settings.task], sharing,
            self.settings.prior_variance, self.settings.min_variance,
        )  # fmt: skip
        done, found = core.learn(
            self.state, gram.reshape(len(ps), places, places), np.ascontiguousarray(self.scores(ps, n)),
            np.ascontiguousarray(own.diagonal()), block.labels, block.label_start, block.weight, block.class_weight,
            calibrate, log_loss,
        )  # fmt: skip
        self._append(arrays, n, ps, found)
        return done

    def _append(
        self, arrays: tuple[np.ndarray, ...], n: int, ps: list[np.ndarray], found: list[dict[str, Any]]
    ) -> None:
        """Add the rows that moved the Gaussian to the support."""
        row_of = [learned["plus"] % n for learned in found]
        new = np.unique(np.concatenate(row_of)) if self.independent else row_of[0]
        if not len(new):
            return
        place_of = [np.searchsorted(new, rows) if self.independent else np.arange(len(rows)) for rows in row_of]
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
        for learner, (learned, at) in enumerate(zip(found, place_of, strict=True)):
            self._append_learner(learner, learned, m + at, ps[learner], old, state)
        state |= dict(zip(ROWS, support, strict=True))
        state["support.sides"] = np.concatenate([self.state["support.sides"], sides])
        self.state.update(state)
        self.reload()
        keep_budget(self)

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


# --- what a learner calls -------------------------------------------------------------------------------------------


def check_memory(settings: Settings, state: State, n: int) -> None:
    """Refuse rows that could make the support too large, before any is learned."""
    learners, support, _ = state["triangle"].shape if settings.rule.learns_precision else (0, 0, 0)
    most = support + n * updates_per_row(settings)
    if settings.budget is not None:
        most = min(most, settings.budget + ROWS_PER_BLOCK * updates_per_row(settings))
    copies = 3  # the triangle, its successor, and room to work
    needed, there = copies * 8 * learners * most**2, memory_bytes()
    if needed > there:
        fits = int((there / (copies * 8 * learners)) ** 0.5) - ROWS_PER_BLOCK * updates_per_row(settings)
        raise MemoryError(
            f'covariance="kernel" with up to {most:,} support rows needs {needed:,} bytes and this machine has '
            f"{there:,}; give a budget of at most {fits} support rows, fewer rows, or another covariance"
        )


def learn(
    settings: Settings,
    state: State,
    examples: Examples,
    *,
    n_features: int,
    n_classes: int,
    calibrate: bool,
    log_loss: np.ndarray | None,
    progress: Callable[[int], None] | None,
) -> None:
    """Learn checked rows; ``state`` is written to."""
    check_memory(settings, state, len(examples))
    model, first, n = KernelModel(settings, state, n_features, n_classes), 0, len(examples)
    size = settings.block_size or ROWS_PER_BLOCK
    while first < n:
        first += model.learn(examples.block(first, min(first + size, n)), calibrate, log_loss)
        if progress is not None:
            progress(first)


def scores(settings: Settings, state: State, X: _core.Matrix, n_features: int, n_classes: int) -> np.ndarray:
    """Scores of the predicting mean, (n, columns)."""
    model = KernelModel(settings, state, n_features, n_classes)
    out, seen = np.empty((X.shape[0], model.columns)), int(state["counters"][0])
    for at, own, ps in model.questions(X):
        out[at] = model.scores(ps, len(own))
        if settings.average and seen:
            out[at] -= model.scores(ps, len(own), -1) / seen
    return out


def variances(settings: Settings, state: State, X: _core.Matrix, n_features: int, n_classes: int) -> np.ndarray:
    """Variance of each column's score, shape (n, columns); for sets of labels, of the score minus the threshold's."""
    model = KernelModel(settings, state, n_features, n_classes)
    out, against = np.zeros((X.shape[0], model.columns)), 0 if settings.task == "multilabel" else None
    for at, own, ps in model.questions(X):
        for c in range(against is not None, model.columns):
            learner, plus = (c, 0) if model.independent else (0, c)
            out[at, c] = model.variance(learner, own, ps[learner], plus, against)
    return out


def top_variances(
    settings: Settings, state: State, X: _core.Matrix, scores: np.ndarray, n_features: int, n_classes: int
) -> np.ndarray:
    """Variance of the difference between each row's two best scores, shape (n,)."""
    model = KernelModel(settings, state, n_features, n_classes)
    best = np.argsort(-scores, axis=1, kind="stable")
    out = np.empty(X.shape[0])
    for at, own, ps in model.questions(X):
        first, second = best[at, 0], best[at, 1]
        if not model.independent:
            out[at] = model.variance(0, own, ps[0], first, second)
            continue
        every = np.stack([model.variance(learner, own, p, 0) for learner, p in enumerate(ps)], axis=1)
        rows = np.arange(len(own))
        out[at] = every[rows, first] + every[rows, second]
    return out


def dual(settings: Settings, state: State, n_features: int, n_classes: int) -> tuple[np.ndarray, Any]:
    """Coefficients of the support rows in the predicting mean, (columns, support), and the rows."""
    model = KernelModel(settings, state, n_features, n_classes)
    coefficients, seen = np.zeros((model.columns, len(model.share))), int(state["counters"][0])
    for learner, prior in enumerate(model.prior):
        c = state["dual"][:, 0, learner].copy()
        if settings.average and seen:
            c -= state["dual"][:, -1, learner] / seen
        if settings.rule.learns_precision and len(c):
            from scipy.linalg import solve_triangular

            c = solve_triangular(state["triangle"][learner], c, lower=True, trans=1, unit_diagonal=True)
        if model.independent:
            coefficients[learner] = prior * c
        else:
            coefficients += prior * c * model.share.T
    return coefficients, model.support
