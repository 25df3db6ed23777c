"""The budget of a kernel learner: which support rows to drop, and the posterior without them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from .kernel_model import KernelModel
from .kernel_support import ROWS, append_rows

MIN_NOISE = 1e-6  # added to the diagonal when means are projected, as a fraction of the largest kernel value


def keep_budget(model: KernelModel) -> None:
    """Drop the support rows whose removal changes the means least."""
    budget = model.settings.budget
    size = len(model.signs)
    if budget is None or size <= budget:
        return
    if not model.state["dropped"][0]:
        warnings.warn(
            f"the kernel's budget of {budget} support rows is full: the least important ones are dropped from now on; "
            "raise budget if memory and time allow",
            UserWarning,
            stacklevel=2,
        )
    k = model.kernel(model.support, model.support)
    k *= model.signs @ model.signs.T
    models = [_in_support_basis(model, learner, k) for learner in range(len(model.prior))]
    cost = np.sum([removal for *_, removal in models], axis=0)
    keep = np.sort(np.argsort(cost, kind="stable")[size - budget :])
    model.state["dropped"][0] += size - budget
    _cut(model, keep, k, models)


def _in_support_basis(model: KernelModel, learner: int, k: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients of a learner's mean, its T + diag(1/zeta), and the change that removing each row causes."""
    from scipy.linalg import solve_triangular

    t, gained = model.prior[learner] * k, model.state["gained"][learner]
    dual, noisy, informative = model.state["dual"][:, :, learner], t.copy(), gained > 0
    if informative.any():
        unit = model.state["triangle"][learner] + np.eye(len(t))
        dual = solve_triangular(unit, dual, lower=True, trans=1, unit_diagonal=True)
        noisy[informative, informative] = ((unit * unit)[:, informative] @ (1.0 / gained[informative]))[informative]
    root = solve_triangular(np.linalg.cholesky(_smoothed(t)), np.eye(len(t)), lower=True)
    return dual, noisy, dual[:, 0] ** 2 / np.einsum("ij,ij->j", root, root)


def _cut(model: KernelModel, keep: np.ndarray, k: np.ndarray, models: Sequence[tuple[np.ndarray, ...]]) -> None:
    """Keep some support rows only: the mean is projected onto them, and the precision of the others is dropped."""
    from scipy.linalg import cho_solve

    dropped = np.setdiff1d(np.arange(len(k)), keep)
    state = {"dual": model.state["dual"][keep], "gained": model.state["gained"][:, keep]}
    state["triangle"] = np.zeros((len(models), len(keep), len(keep)))
    for learner, (dual, noisy, _) in enumerate(models):
        c, informative = dual[keep], model.state["gained"][learner][keep] > 0
        t = model.prior[learner] * k[keep]
        factor = np.linalg.cholesky(_smoothed(t[:, keep]))
        c += cho_solve((factor, True), t[:, dropped] @ dual[dropped])
        if informative.any():
            points = keep[informative]
            factor = np.linalg.cholesky(noisy[np.ix_(points, points)])
            unit = factor / factor.diagonal()
            unit[np.arange(len(points)), np.arange(len(points))] = 0.0
            state["triangle"][learner][np.ix_(informative, informative)] = unit
            state["gained"][learner, informative] = 1.0 / factor.diagonal() ** 2
        unit = state["triangle"][learner]
        state["dual"][:, :, learner] = c + unit.T @ c
    if not model.settings.rule.learns_precision:
        state["triangle"] = np.zeros((len(models), 0, 0))
    arrays = append_rows(None, tuple(model.state[name] for name in ROWS), keep)
    model.state.update(state, **dict(zip(ROWS, arrays, strict=True)))
    model.state["support.sides"] = model.state["support.sides"][keep]
    model.reload()


def _smoothed(t: np.ndarray) -> np.ndarray:
    """Return a kernel matrix that is invertible even if rows are equal."""
    return t + np.diag(MIN_NOISE * t.diagonal().max(initial=0.0) * np.ones(len(t)))
