"""Training of a kernel learner within a budget of support rows.

What follows from the support rows is kept as matrices while rows come and go, and the state is written when training
ends. With T the kernel of the rows, times the prior variance, and N = 1/zeta on the diagonal::

    A^-1 = (T + N)^-1    the posterior: variance = t(x, x) - t(x)' A^-1 t(x)
    P = (K + noise)^-1   of the kernel alone: what dropping rows does to the means
    c                    coefficients of the means: score = c' t(x)

The rows that matter least for the means, by c_j^2 / P_jj, are dropped; the means are projected onto the others, and the
precision of the dropped rows is forgotten.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .examples import Block, Progressive
from .kernel_model import KernelModel
from .kernel_support import ROWS, csr_rows
from .new_support import NewRows, signs_of
from .settings import Settings
from .support_inverse import SupportInverse, inverse_root, lower_factor
from .support_rows import CsrArrays, SupportRows

MIN_NOISE = 1e-6  # added to the diagonal, as a fraction of the largest kernel value: rows may be equal
# An inverse is computed anew when the residual of a solution by it is above DRIFT, relative to the right side. One in
# CHECK blocks is checked, and P is kept for at least REFRESH blocks: with rows that are nearly equal, a new one is no
# more exact.
DRIFT, CHECK, REFRESH = 1e-9, 4, 16
LEAST_CAPACITY = 256  # slots to begin with
NONE = -1  # the column of no pair


class KernelWithinBudget:
    """A kernel learner whose support is at its budget, or will be after a block."""

    def __init__(self, model: KernelModel) -> None:
        self.model, self.settings, self.arrays = model, model.settings, model.arrays
        state, size = model.state, len(model.signs)
        self.budget: int = model.settings.budget or size
        capacity = max(size, min(self.budget, LEAST_CAPACITY))
        self.order = np.arange(size)  # the slots of the support rows, in the order of the state
        self.rows = SupportRows(model.kernel, (state[ROWS[0]], state[ROWS[1]], state[ROWS[2]]), capacity)
        self.sides = np.full((capacity, 2), -1, dtype=np.int32)
        self.sides[:size] = state["support.sides"]
        self.signs = signs_of(self.sides, model.parts)
        self.precise = self.settings.rule.learns_precision
        self.dual = np.zeros((capacity, *state["dual"].shape[1:]))
        self.diagonal = np.zeros((len(model.prior), capacity))  # of A; 0 where no precision was gained
        self.dual[:size], self.diagonal[:, :size] = in_support_basis(model)
        self.kernel = np.zeros((capacity, capacity))
        k = model.kernel(model.support, model.support)
        self.kernel[:size, :size] = 0.5 * (k + k.T) * (model.signs @ model.signs.T)
        self.posterior = [SupportInverse(capacity, self.arrays) for _ in model.prior] if self.precise else []
        self.blocks = 0  # learned so far
        self.of_kernel: SupportInverse | None = None  # from the first row that is dropped
        for learner in range(len(self.posterior)):
            self._renew_posterior(learner)

    def _make_room(self, rows: int) -> None:
        """Add slots so that there are enough for some more rows, or for the budget."""
        old, needed = len(self.kernel), min(len(self.order) + rows, self.budget)
        if needed <= old:
            return
        more = min(max(2 * old, needed), self.budget) - old
        self.rows.grow(more)
        self.sides = np.pad(self.sides, ((0, more), (0, 0)), constant_values=-1)
        self.signs = np.pad(self.signs, ((0, more), (0, 0)))
        self.dual = np.pad(self.dual, ((0, more), (0, 0), (0, 0)))
        self.diagonal = np.pad(self.diagonal, ((0, 0), (0, more)))
        self.kernel = np.pad(self.kernel, (0, more))
        for inverse in self.posterior:
            inverse.matrix = np.pad(inverse.matrix, (0, more))

    # --- a block of rows ----------------------------------------------------------------------------------------------

    def learn(self, block: Block, calibrate: bool, progressive: Progressive) -> int:
        """Train on the first rows of a block, on all of them if one Gram matrix suffices; return how many."""
        model = self.model
        arrays = csr_rows(block)
        self._make_room(block.n * self.settings.task.updates_per_row)
        rows = model.kernel.rows(*arrays)
        k, own = model.kernel(self.rows.matrix(), rows), model.kernel(rows, rows)
        own = 0.5 * (own + own.T)
        examples = np.ascontiguousarray(own.diagonal()), block.compiled(calibrate, progressive)
        self.blocks += 1
        prior = model.prior  # before the recursion may fold scales into it
        if model.parts > 1:
            done, found = self._learn_joint(block, k, own, examples)
        else:
            done, found = self._learn_whole(k, own, examples)
        new = NewRows(not model.independent, self.signs, self.dual, found, k, own)
        for learner, learned in enumerate(found):
            self._take(learner, learned, new, prior[learner])
        if len(new):
            self._replace(new, arrays)
        return done

    def _learn_whole(self, k: np.ndarray, own: np.ndarray, examples: Any) -> Any:
        """Train where every row is one direction, whatever its label."""
        prior = self.model.prior
        start = (k * self.signs).T @ self.dual[:, 0] * prior
        gram = prior[:, None, None] * own
        solved = []
        for learner, inverse in enumerate(self.posterior):
            t = prior[learner] * (k * self.signs)
            solved.append(inverse.times(np.ascontiguousarray(t.T)))
            gram[learner] -= solved[-1] @ t
            gram[learner] = 0.5 * (gram[learner] + gram[learner].T)
        done, found = self.model.core.learn(self.model.state, gram, np.ascontiguousarray(start), *examples)
        for learner, learned in enumerate(found):
            learned["solved"] = solved[learner][learned["plus"]] if solved else None
        return done, found

    def _learn_joint(self, block: Block, k: np.ndarray, own: np.ndarray, examples: Any) -> Any:
        """Train where a row is a direction together with its class and the rival class."""
        prior, parts, n = self.model.prior[0], self.model.parts, block.n
        k, own = prior * k, prior * own
        start = k.T @ (self.dual[:, 0] * self.signs)
        plus, minus = _likely_pairs(self.settings, start, block)
        row = np.arange(len(plus)) % n
        solved, along = np.zeros((len(plus), len(k))), np.zeros((len(plus), parts, n))
        if self.precise:
            t = (self.signs.T[plus] - self.signs.T[minus]) * k.T[row]
            solved = self.posterior[0].times(t)
            for part in range(parts):
                slots = np.flatnonzero(self.signs[:, part])
                along[:, part] = -(solved[:, slots] * self.signs[slots, part]) @ k[slots]
        every = np.arange(len(plus))
        along[every, plus] += own[row]
        along[every, minus] -= own[row]
        known = (plus >= 0) & (minus >= 0)
        done, found = self.model.core.learn_support(
            self.model.state, self.posterior[0].matrix if self.precise else None, k, own, self.sides,
            np.where(known, plus * n + row, -1).astype(np.int32), np.where(known, minus * n + row, -1).astype(np.int32),
            solved, along.reshape(len(plus), parts * n), start, *examples,
        )  # fmt: skip
        found[0]["solved"] = found[0]["solved"].reshape(-1, len(k))
        return done, found

    def _take(self, learner: int, learned: dict[str, Any], new: NewRows, prior: float) -> None:
        """Apply the updates of a learner: means to coefficients, and what the new rows add to A."""
        n, by, at = len(learned["plus"]), learned["factor"], new.at[learner]
        if by != 1.0:
            self.dual[:, :, learner] /= by
            self.diagonal[learner] *= by
            if self.precise:
                self.posterior[learner].matrix /= by
        mean = learned["mean"][:, None]
        if self.settings.average:
            mean = np.concatenate([mean, mean * learned["age"][:, None]], axis=1)
        if not self.precise:
            new.dual[at, :, learner] = mean
            return
        from scipy.linalg import solve_triangular

        unit, solved = learned["share"].reshape(n, n) + np.eye(n), learned["solved"]
        gained = np.flatnonzero(learned["weight"] > 0.0)
        if n:
            mean = solve_triangular(unit, mean, lower=True, trans=1, unit_diagonal=True, check_finite=False)
            new.dual[at, :, learner] = mean
            self.dual[:, :, learner] -= solved.T @ mean
        unit, at = unit[np.ix_(gained, gained)], at[gained]
        new.rest.append((unit / learned["weight"][gained]) @ unit.T)
        new.solved.append(solved[gained])
        t = prior * new.between[at]
        new.diagonal[learner, at] = new.rest[-1].diagonal() + by * np.einsum("ij,ij->i", t, new.solved[-1])
        new.at[learner] = at
        checked = self.blocks % CHECK == 0 and len(at) > 0
        new.drifted.append(checked and self._has_drifted(learner, by * t[-1], new.solved[-1][-1]))

    # --- the support --------------------------------------------------------------------------------------------------

    def _replace(self, new: NewRows, arrays: CsrArrays) -> None:
        """Add the new rows to the support, and drop those that matter least."""
        size, over = len(self.order), len(self.order) + len(new) - self.budget
        keep, projected, rest = np.arange(size + len(new)), new.between[:0], new.own[:0]
        if over > 0:
            self._warn()
            self.model.state["dropped"][0] += over
        if over > 0 or self.of_kernel is not None:
            projected, rest = self._project_new(new)
        if over > 0:
            keep = np.sort(np.argsort(self._cost(new, projected, rest), kind="stable")[over:])
        kept, added = self.order[keep[keep < size]], keep[keep >= size] - size
        dropped, left = np.setdiff1d(self.order, kept), np.setdiff1d(np.arange(len(new)), added)
        toward = self._toward(new, dropped, left, added)
        slots = np.setdiff1d(np.arange(len(self.kernel)), kept)[: len(added)]
        known = [dropped[self.diagonal[learner, dropped] > 0.0] for learner in range(len(self.posterior))]
        self._put(new, arrays, slots, added, dropped)
        self.order = np.concatenate([kept, slots])
        for learner in range(len(self.posterior)):
            self._update_posterior(learner, new, known[learner], added, slots)
        if self.of_kernel is not None:
            self._update_of_kernel(dropped, slots, projected[added], rest[np.ix_(added, added)])
        if over > 0:
            target, target[slots] = toward
            self._project(target)

    def _project_new(self, new: NewRows) -> tuple[np.ndarray, np.ndarray]:
        """Return the new rows of K @ P, and their block of K less what follows from the support rows."""
        noise = self._least_noise(new.own.diagonal())
        if self.of_kernel is None or noise != self.noise:
            self._renew_of_kernel(noise)
        projected = self._inverse_of_kernel.times(new.between)
        rest = new.own + self.noise * np.eye(len(new)) - projected @ new.between.T
        if self.updates % CHECK == 0:
            residual = self.kernel @ projected[-1] + self.noise * projected[-1] - new.between[-1]
            drift = np.abs(residual[self.order]).max(initial=0.0)
            self.drifted = bool(drift > DRIFT * np.abs(new.between[-1]).max(initial=0.0))
        return projected, rest

    def _warn(self) -> None:
        if not self.model.state["dropped"][0]:
            warnings.warn(
                f"the kernel's budget of {self.budget} support rows is full: the least important ones are dropped from "
                "now on; raise budget if memory and time allow",
                UserWarning,
                stacklevel=2,
            )

    def _cost(self, new: NewRows, projected: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return what dropping each row does to the means: support rows, then new ones."""
        try:
            root = inverse_root(rest)
            of_old = (
                self._inverse_of_kernel.matrix.diagonal()[self.order] + ((root @ projected) ** 2).sum(0)[self.order]
            )
            diagonal = np.concatenate([of_old, (root**2).sum(0)])
        except np.linalg.LinAlgError:  # rounding: the new rows follow from the old ones
            old, between = self.kernel[np.ix_(self.order, self.order)], new.between[:, self.order]
            every = np.block([[old, between.T], [between, new.own]])
            root = inverse_root(every + self.noise * np.eye(len(every)))
            diagonal = (root**2).sum(0)
        dual = np.concatenate([self.dual[self.order, 0], new.dual[:, 0]])
        return (dual**2 @ self.model.prior) / diagonal

    def _toward(
        self, new: NewRows, dropped: np.ndarray, left: np.ndarray, added: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what the means lose with the dropped rows, at the slots and at the added rows."""
        width = self.dual[0].size
        of_old, of_new = self.dual[dropped].reshape(-1, width), new.dual[left].reshape(-1, width)
        at_slots = self.kernel[dropped].T @ of_old + new.between[left].T @ of_new
        at_added = new.between[np.ix_(added, dropped)] @ of_old + new.own[np.ix_(added, left)] @ of_new
        at_slots[dropped] = 0.0
        return at_slots, at_added

    def _put(self, new: NewRows, arrays: CsrArrays, slots: np.ndarray, added: np.ndarray, dropped: np.ndarray) -> None:
        """Put added rows into their slots, and clear those of the dropped ones."""
        self.dual[dropped] = 0.0
        self.diagonal[:, dropped] = 0.0
        self.signs[dropped] = 0.0
        self.sides[dropped] = -1
        self.dual[slots], self.diagonal[:, slots] = new.dual[added], new.diagonal[:, added]
        self.signs[slots], self.sides[slots] = new.signs[added], new.sides[added]
        self.rows.put(slots, arrays, new.rows[added])
        rows = new.between[added]
        rows[:, slots] = new.own[np.ix_(added, added)]
        self.kernel[slots] = rows
        self.kernel[:, slots] = rows.T

    def _project(self, toward: np.ndarray) -> None:
        """Project what the means lose onto the rows that are left."""
        inverse = self._inverse_of_kernel.matrix
        moved = inverse @ toward
        # one correction, so that the projection does not have the rounding of the inverse
        moved += inverse @ (toward - self.kernel @ moved - self.noise * moved)
        self.dual += moved.reshape(self.dual.shape)

    # --- inverses -----------------------------------------------------------------------------------------------------

    def _least_noise(self, more: np.ndarray) -> float:
        largest = max(self.kernel.diagonal()[self.order].max(initial=0.0), more.max(initial=0.0))
        return float(MIN_NOISE * largest)

    @property
    def _inverse_of_kernel(self) -> SupportInverse:
        assert self.of_kernel is not None
        return self.of_kernel

    def _renew_of_kernel(self, noise: float) -> None:
        if self.of_kernel is None:
            self.of_kernel = SupportInverse(len(self.kernel), self.arrays)
        self.noise, self.updates, self.drifted = noise, 0, False
        kernel = self.kernel[np.ix_(self.order, self.order)]
        kernel[np.diag_indices(len(kernel))] += noise
        self.of_kernel.renew(kernel, self.order)

    def _update_of_kernel(
        self, dropped: np.ndarray, slots: np.ndarray, projected: np.ndarray, rest: np.ndarray
    ) -> None:
        noise = self._least_noise(np.zeros(0))
        self.updates += 1
        try:
            if noise != self.noise or (self.drifted and self.updates >= REFRESH):
                raise np.linalg.LinAlgError("the inverse is of no use any more")
            self._inverse_of_kernel.replace(dropped, slots, projected, rest)
        except np.linalg.LinAlgError:
            self._renew_of_kernel(noise)

    def _renew_posterior(self, learner: int) -> None:
        slots, noisy = self._posterior_block(learner)
        self.posterior[learner].renew(noisy, slots)

    def _posterior_block(self, learner: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the slots of a learner's A, in the order of the support, and A."""
        slots = self.order[self.diagonal[learner, self.order] > 0.0]
        noisy = self.model.prior[learner] * self.kernel[np.ix_(slots, slots)]
        noisy[np.diag_indices(len(slots))] = self.diagonal[learner, slots]
        return slots, noisy

    def _has_drifted(self, learner: int, t: np.ndarray, solved: np.ndarray) -> bool:
        """Return whether A^-1 t is far from A^-1 t."""
        prior, known = self.model.prior[learner], self.diagonal[learner] > 0.0
        noise = self.diagonal[learner] - prior * self.kernel.diagonal()
        rest = (prior * (self.kernel @ solved) + noise * solved - t)[known]
        return bool(np.abs(rest).max(initial=0.0) > DRIFT * np.abs(t).max(initial=0.0))

    def _update_posterior(
        self, learner: int, new: NewRows, dropped: np.ndarray, added: np.ndarray, slots: np.ndarray
    ) -> None:
        of_added = np.isin(new.at[learner], added)
        at = slots[np.searchsorted(added, new.at[learner][of_added])]
        try:
            if new.drifted[learner]:
                raise np.linalg.LinAlgError("rounding has accumulated")
            rest = new.rest[learner][np.ix_(of_added, of_added)]
            self.posterior[learner].replace(dropped, at, new.solved[learner][of_added], rest)
        except np.linalg.LinAlgError:
            self._renew_posterior(learner)

    # --- the state ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write the support to the state."""
        model, size = self.model, len(self.order)
        learners = len(model.prior)
        gained, dual = np.zeros((learners, size)), self.dual[self.order]
        triangles = np.zeros((learners, size, size) if self.precise else (learners, 0, 0))
        for learner in range(len(self.posterior)):
            points = np.flatnonzero(self.diagonal[learner, self.order] > 0.0)
            if not len(points):
                continue
            factor = lower_factor(self._posterior_block(learner)[1])
            roots = factor.diagonal().copy()
            factor /= roots
            factor[np.diag_indices(len(points))] = 0.0
            triangles[learner][np.ix_(points, points)] = factor
            gained[learner, points] = 1.0 / roots**2
            dual[:, :, learner] += triangles[learner].T @ dual[:, :, learner]
        model.state.update(zip(ROWS, self.rows.csr(self.order), strict=True))
        model.state.update(dual=dual, gained=gained, triangle=triangles)
        model.state["support.sides"] = self.sides[self.order]


def in_support_basis(model: KernelModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of the means of the support rows, and the diagonals of A, 0 where nothing was gained."""
    from scipy.linalg import solve_triangular

    dual, gained = model.state["dual"].copy(), model.state["gained"]
    diagonal = np.zeros_like(gained)
    for learner in range(len(gained) if model.settings.rule.learns_precision else 0):
        informative, triangle = gained[learner] > 0, model.state["triangle"][learner]
        if not informative.any():
            continue
        dual[:, :, learner] = solve_triangular(
            triangle, dual[:, :, learner], lower=True, trans=1, unit_diagonal=True, check_finite=False
        )
        share = np.divide(1.0, gained[learner], out=np.zeros(len(informative)), where=informative)
        squares = np.einsum("ju,ju,u->j", triangle, triangle, share) + share
        diagonal[learner, informative] = squares[informative]
    return dual, diagonal


def _likely_pairs(settings: Settings, scores: np.ndarray, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns that each row of a block is likely to be trained on, by the scores at the start of the block.

    The pairs are those of core/tasks/joint.hpp and labels.hpp; ``NONE`` stands for no pair. Multilabel rows have two
    pairs: the first of all rows come before the second of all rows.
    """
    if not settings.task.multilabel:
        others = scores.copy()
        others[np.arange(block.n), block.labels] = -np.inf
        return block.labels.astype(np.intp), others.argmax(axis=1)
    assert block.label_start is not None
    relevant = np.zeros(scores.shape, dtype=bool)
    relevant[np.repeat(np.arange(block.n), np.diff(block.label_start)), block.labels + 1] = True
    worst, best = np.where(relevant, scores, np.inf), np.where(relevant, -np.inf, scores)
    worst[:, 0], best[:, 0] = np.inf, -np.inf  # the threshold
    lowest, highest = worst.min(axis=1), best.max(axis=1)
    w = np.where(np.isfinite(lowest), worst.argmin(axis=1), NONE)
    b = np.where(np.isfinite(highest), best.argmax(axis=1), NONE)
    both = (w != NONE) & (b != NONE)
    middle = scores[:, 0]
    upper = np.where(both, lowest - middle <= middle - highest, b == NONE)
    first, second = (np.where(both, k, NONE) for k in (w, b))
    return np.concatenate([first, np.where(upper, w, 0)]), np.concatenate([second, np.where(upper, 0, b)])
