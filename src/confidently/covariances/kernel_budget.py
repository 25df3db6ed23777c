"""A bounded support: which rows a kernel learner can best do without, and what it knows without them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from .kernel_model import KernelModel
from .kernel_support import ROWS, append_rows

MIN_NOISE = 1e-6  # share of its kernel by which a support row is smoothed when means are projected


def keep_budget(model: KernelModel) -> None:
    """Drop the support rows without which the means can be expressed best."""
    budget = model.settings.budget
    there = len(model.share)
    if budget is None or there <= budget:
        return
    if not model.state["dropped"][0]:
        warnings.warn(
            f"the kernel's budget of {budget} support rows is full: from here on the least important ones are "
            "dropped; raise budget if memory and time allow",
            UserWarning,
            stacklevel=2,
        )
    k = model.kernel(model.support, model.support)
    k *= model.share @ model.share.T
    models = [_in_the_plain_basis(model, learner, k) for learner in range(len(model.prior))]
    cost = np.sum([removal for *_, removal in models], axis=0)
    keep = np.sort(np.argsort(cost, kind="stable")[there - budget :])
    model.state["dropped"][0] += there - budget
    _cut(model, keep, k, models)


def _in_the_plain_basis(model: KernelModel, learner: int, k: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A learner's mean in the support, its T + diag(1/zeta), and what the removal of each row changes."""
    from scipy.linalg import solve_triangular

    t, gained = model.prior[learner] * k, model.state["gained"][learner]
    dual, noisy, there = model.state["dual"][:, :, learner], t.copy(), gained > 0
    if there.any():
        unit = model.state["triangle"][learner] + np.eye(len(t))
        dual = solve_triangular(unit, dual, lower=True, trans=1, unit_diagonal=True)
        noisy[there, there] = ((unit * unit)[:, there] @ (1.0 / gained[there]))[there]
    root = solve_triangular(np.linalg.cholesky(_smoothed(t)), np.eye(len(t)), lower=True)
    return dual, noisy, dual[:, 0] ** 2 / np.einsum("ij,ij->j", root, root)


def _cut(model: KernelModel, keep: np.ndarray, k: np.ndarray, models: Sequence[tuple[np.ndarray, ...]]) -> None:
    """Keep some support rows only. The mean is projected on them; the precision of the others is forgotten."""
    from scipy.linalg import cho_solve

    gone = np.setdiff1d(np.arange(len(k)), keep)
    state = {"dual": model.state["dual"][keep], "gained": model.state["gained"][:, keep]}
    state["triangle"] = np.zeros((len(models), len(keep), len(keep)))
    for learner, (dual, noisy, _) in enumerate(models):
        c, there = dual[keep], model.state["gained"][learner][keep] > 0
        t = model.prior[learner] * k[keep]
        factor = np.linalg.cholesky(_smoothed(t[:, keep]))
        c += cho_solve((factor, True), t[:, gone] @ dual[gone])
        if there.any():
            points = keep[there]
            factor = np.linalg.cholesky(noisy[np.ix_(points, points)])
            unit = factor / factor.diagonal()
            unit[np.arange(len(points)), np.arange(len(points))] = 0.0
            state["triangle"][learner][np.ix_(there, there)] = unit
            state["gained"][learner, there] = 1.0 / factor.diagonal() ** 2
        unit = state["triangle"][learner]
        state["dual"][:, :, learner] = c + unit.T @ c
    if not model.settings.rule.learns_precision:
        state["triangle"] = np.zeros((len(models), 0, 0))
    arrays = append_rows(None, tuple(model.state[name] for name in ROWS), keep)
    model.state.update(state, **dict(zip(ROWS, arrays, strict=True)))
    model.state["support.sides"] = model.state["support.sides"][keep]
    model.reload()


def _smoothed(t: np.ndarray) -> np.ndarray:
    """A kernel matrix that can be inverted even where rows are alike."""
    return t + np.diag(MIN_NOISE * t.diagonal().max(initial=0.0) * np.ones(len(t)))
