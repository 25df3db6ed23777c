"""A covariance in the space of a kernel: mean and Sigma are coefficients of training examples.

Instead of weights of features, the state has (core/covariances/gram.hpp, Crammer et al. 2008, Theorem 2):

================  ===============  =================================================================================
support.values    (nnz,) float64   the support rows, as CSR arrays with ``support.columns`` and ``support.start``
support.sides     (S, 2) int32     the positive and the negative class of a support row; -1: none
dual              (S, P, L) real   coefficients of the mean and, with averaging, of its sum over rows
gained            (L, S) real      precision gained along each support row
triangle          (L, S, S) real   the unit lower triangle of :mod:`confidently.covariances.kernel_model`
dropped           (1,) int64       support rows dropped for the budget
================  ===============  =================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from .. import _core, memory
from ..rules.ranges import Range
from .covariance import Covariance
from .examples import Examples, Progressive
from .kernel_functions import KernelFunction, check_kernel, resolved_parameters
from .kernel_support import check_support, grow_learners, new_entries, shapes
from .names import RANK
from .settings import Settings
from .state import COUNTS, OutOfRange, Shapes, Size, State, common_shapes, grow_common, within
from .threads import crew

ROWS_PER_PRODUCT = 64  # by default
MAX_COEFFICIENT = 1e230  # of a row as short as 1e-100: the inverse of its variance, times products of other rows
NO_WEIGHTS = "a kernel model keeps coefficients of examples, not weights of features"


def refuse_infinite(compute: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the function with an error for numbers that kernels of large values have taken out of range."""

    @wraps(compute)
    def checked(*arguments: Any) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            found = compute(*arguments)
        if not np.isfinite(found).all():
            raise OutOfRange("the kernel of the rows is out of range; rescale their values")
        return found

    return checked


class Kernel(Covariance):
    """Mean and Sigma as coefficients of examples; time and memory grow with the square of their number."""

    name = "kernel"
    by_products = True
    keeps_examples = True
    unsupported = {  # noqa: RUF012 (a mapping that is never written to)
        "export": "a kernel classifier is not linear in its features, so it cannot be exported",
        "merge": f"{NO_WEIGHTS}, so it cannot be merged",
        "explain": f"{NO_WEIGHTS}, so its predictions cannot be explained by features",
        "sample": f"{NO_WEIGHTS}, so classifiers cannot be drawn from it",
        "distribute": f"{NO_WEIGHTS}, so it cannot be merged; use another covariance",
        "forget": 'forget needs a covariance of weights; with "kernel" the examples kept would have to be weighted '
        'again; use "diag", "full" or "shared", or forget=0',
        "stream": 'covariance="kernel" keeps examples, without end on a stream; use another covariance, such as "diag"',
    }

    @classmethod
    def resolved(cls, settings: Settings, n_features: int) -> Settings:
        kernel = settings.kernel or "rbf"
        check_kernel(kernel)
        super().resolved(settings, n_features)
        return replace(
            settings,
            kernel=kernel,
            kernel_params=resolved_parameters(kernel, settings.kernel_params, n_features),
            projection="precision",
            rank=RANK,
        )

    # --- the state ----------------------------------------------------------------------------------------------------

    def own_shapes(self, size: Size, arrays: State | None) -> Shapes:
        if arrays is None:
            return shapes(self.settings, size.n_classes, 0, 0)
        return shapes(self.settings, size.n_classes, len(arrays["support.start"]) - 1, len(arrays["support.values"]))

    def add_entries(self, state: State, size: Size) -> None:
        state.update(new_entries(self.settings, size.n_classes))

    def grown(self, state: State, old: Size, new: Size, several: Covariance | None = None) -> tuple[Settings, State]:
        """Return settings and state; support rows are 0 in new features, and their pairs of classes stay valid."""
        if new.n_classes <= old.n_classes:
            return self.settings, state
        if several is not None:
            raise ValueError(
                "a kernel learner of two classes cannot get a third; name all classes before the first row"
            )
        state = dict(state)
        grow_learners(state, grow_common(self.settings, state, new.n_classes))
        return self.settings, state

    def changed_in_place(self, state: State, device: str | None) -> State:
        return {name: state[name] for name in (*common_shapes(self.settings, 0), "dropped")}

    def bytes_per_feature(self, state: State) -> int:
        return 0

    def packed(self, state: State, n_features: int) -> State:
        return {name: np.ascontiguousarray(array) for name, array in state.items()}

    def unpacked(self, arrays: State, size: Size) -> State:
        return arrays

    def check_values(self, state: State, size: Size) -> None:
        super().check_values(state, size)
        check_support(state, size, 1 if self.settings.independent else self.settings.task.columns(size.n_classes))
        # parameters of other kernels are errors, which the first row shows, however many features it does not have
        row = np.append(state["support.values"][: state["support.start"][:2][-1]], 0.0)[None]
        KernelFunction(self.settings, size.n_features)(row, row)

    def own_values(self, state: State) -> Iterator[tuple[str, np.ndarray, Range]]:
        yield "support.values", state["support.values"], within(MAX_COEFFICIENT)
        yield "dual", state["dual"], within(MAX_COEFFICIENT)
        yield "gained", state["gained"], within(MAX_COEFFICIENT)
        yield "triangle", state["triangle"], within(MAX_COEFFICIENT)
        yield "dropped", state["dropped"], COUNTS

    # --- training -----------------------------------------------------------------------------------------------------

    def is_row_by_row(self, state: State, device: str | None) -> bool:
        return False

    def learn(
        self, state: State, examples: Examples, size: Size, *, device: str | None, calibrate: bool,
        progressive: Progressive, progress: Callable[[int], None] | None, log: _core.UndoLog | None = None,
    ) -> State:  # fmt: skip
        from .kernel_budget import KernelWithinBudget  # imported here since only kernels need them
        from .kernel_model import KernelModel

        n = len(examples)
        self._check_memory(state, n)
        state = dict(state)  # arrays that grow are replaced
        rows, first = self.settings.rows_per_product or ROWS_PER_PRODUCT, 0
        with crew() as threads:
            learner: KernelModel | KernelWithinBudget = KernelModel(self.settings, state, size, threads)
            while first < n:
                last = min(first + rows, n)
                if isinstance(learner, KernelModel) and learner.may_exceed_budget(n - first):
                    learner = KernelWithinBudget(learner)
                first += learner.learn(examples.block(first, last), calibrate, progressive.block(first, last))
                if progress is not None:
                    progress(first)
            learner.close()
        return state

    def _check_memory(self, state: State, n: int) -> None:
        """Raise ``MemoryError`` before training if the rows could make the support too large."""
        settings = self.settings
        learners, support, _ = state["triangle"].shape if settings.rule.learns_precision else (0, 0, 0)
        most = support + n * settings.task.updates_per_row
        copies = 3 * learners  # the triangle, its successor and temporary arrays
        if settings.budget is not None:
            most = min(most, settings.budget + ROWS_PER_PRODUCT * settings.task.updates_per_row)
            copies += 3 * (learners > 0)  # the kernel of the support rows, its inverse and temporary arrays
        bytes_per_pair = 8 * max(copies, 1)
        fits = (
            int((memory.available_bytes() / bytes_per_pair) ** 0.5) - ROWS_PER_PRODUCT * settings.task.updates_per_row
        )
        memory.require_memory(
            8 * copies * most**2,
            f'covariance="kernel" with up to {most:,} support rows',
            f"use a budget of at most {fits} support rows, fewer rows, or another covariance",
        )

    # --- scores -------------------------------------------------------------------------------------------------------

    @refuse_infinite
    def scores(self, state: State, X: _core.Matrix, size: Size, largest: float = 0.0) -> np.ndarray:
        seen = int(state["counters"][0])
        with self._model(state, size) as model:
            out = np.empty((X.shape[0], model.columns))
            for at, own, ps in model.queries(X):
                out[at] = model.scores(ps, len(own))
                if self.settings.average and seen:
                    out[at] -= model.scores(ps, len(own), -1) / seen
        return out

    @refuse_infinite
    def variances(self, state: State, X: _core.Matrix, size: Size) -> np.ndarray:
        against = 0 if self.settings.task.has_threshold else None
        with self._model(state, size) as model:
            out = np.zeros((X.shape[0], model.columns))
            for at, own, ps in model.queries(X):
                for c in range(against is not None, model.columns):
                    learner, plus = (c, 0) if model.independent else (0, c)
                    out[at, c] = model.variance(learner, own, ps[learner], plus, against)
        return out

    @refuse_infinite
    def top_variances(self, state: State, X: _core.Matrix, scores: np.ndarray, size: Size) -> np.ndarray:
        best, out = np.argsort(-scores, axis=1, kind="stable"), np.empty(X.shape[0])
        with self._model(state, size) as model:
            for at, own, ps in model.queries(X):
                first, second = best[at, 0], best[at, 1]
                if not model.independent:
                    out[at] = model.variance(0, own, ps[0], first, second)
                    continue
                every = np.stack([model.variance(learner, own, p, 0) for learner, p in enumerate(ps)], axis=1)
                rows = np.arange(len(own))
                out[at] = every[rows, first] + every[rows, second]
        return out

    @contextmanager
    def _model(self, state: State, size: Size) -> Iterator[Any]:
        """Return a context with the model, which computes in threads of its own."""
        from .kernel_model import KernelModel

        with crew() as threads:
            yield KernelModel(self.settings, state, size, threads)

    # --- marginals ----------------------------------------------------------------------------------------------------

    def weights(self, state: State, n_features: int) -> np.ndarray:
        raise AttributeError("a kernel learner has no weights of features; use dual for coefficients of its support")

    def matrix(self, state: State, size: Size) -> np.ndarray:
        raise AttributeError("the covariance of a kernel learner is in the space of its kernel, not of the features")

    def n_examples(self, state: State) -> int:
        return len(state["support.start"]) - 1

    def dual(self, state: State, size: Size) -> tuple[np.ndarray, Any]:
        with self._model(state, size) as found:
            model: Any = found
        coefficients, seen = np.zeros((model.columns, len(model.signs))), int(state["counters"][0])
        for learner, prior in enumerate(model.prior):
            c = state["dual"][:, 0, learner].copy()
            if self.settings.average and seen:
                c -= state["dual"][:, -1, learner] / seen
            if self.settings.rule.learns_precision and len(c):
                from scipy.linalg import solve_triangular  # imported here since SciPy is slow to import

                c = solve_triangular(state["triangle"][learner], c, lower=True, trans=1, unit_diagonal=True)
            if model.independent:
                coefficients[learner] = prior * c
            else:
                coefficients += prior * c * model.signs.T
        return coefficients, model.support
