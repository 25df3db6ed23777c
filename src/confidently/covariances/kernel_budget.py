"""The budget of a kernel learner: which support rows to drop, and the posterior without them."""

from __future__ import annotations

import warnings

import numpy as np

from .kernel_model import KernelModel
from .kernel_support import ROWS, append_rows
from .support_inverse import SupportInverse, lower_factor


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
    if model.inverse is None:
        k = model.kernel(model.support, model.support)
        model.inverse = SupportInverse(k * (model.signs @ model.signs.T), model.arrays)
    dual, noise = _in_support_basis(model)
    keep = np.sort(np.argsort(model.inverse.cost(dual[:, 0], model.prior), kind="stable")[size - budget :])
    model.state["dropped"][0] += size - budget
    _cut(model, keep, model.inverse.drop(keep, dual), noise)


def _in_support_basis(model: KernelModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of the means of the support rows, and the diagonals of T + diag(1/zeta)."""
    from scipy.linalg import solve_triangular

    dual, gained = model.state["dual"].copy(), model.state["gained"]
    noise = np.zeros_like(gained)
    for learner in range(len(gained) if model.settings.rule.learns_precision else 0):
        informative, triangle = gained[learner] > 0, model.state["triangle"][learner]
        if not informative.any():
            continue
        dual[:, :, learner] = solve_triangular(
            triangle, dual[:, :, learner], lower=True, trans=1, unit_diagonal=True, check_finite=False
        )
        share = np.divide(1.0, gained[learner], out=np.zeros(len(informative)), where=informative)
        noise[learner] = np.einsum("ju,ju,u->j", triangle, triangle, share) + share
    return dual, noise


def _cut(model: KernelModel, keep: np.ndarray, dual: np.ndarray, noise: np.ndarray) -> None:
    """Keep some support rows only, with means that are already projected onto them; drop the others' precision."""
    assert model.inverse is not None
    state = {"dual": dual, "gained": model.state["gained"][:, keep]}
    precise, learners = model.settings.rule.learns_precision, len(model.prior)
    state["triangle"] = np.zeros((learners, len(keep), len(keep)) if precise else (learners, 0, 0))
    for learner in range(learners if precise else 0):
        points = np.flatnonzero(state["gained"][learner] > 0)
        if not len(points):
            continue
        every, triangle = len(points) == len(keep), state["triangle"][learner]
        noisy = model.prior[learner] * (model.inverse.kernel if every else model.inverse.kernel[np.ix_(points, points)])
        diagonal = np.arange(len(points))
        noisy[diagonal, diagonal] = noise[learner][keep[points]]
        factor = lower_factor(noisy)
        roots = factor.diagonal().copy()
        factor /= roots
        factor[diagonal, diagonal] = 0.0
        triangle[slice(None) if every else np.ix_(points, points)] = factor
        state["gained"][learner, points] = 1.0 / roots**2
        dual[:, :, learner] += triangle.T @ dual[:, :, learner]
    arrays = append_rows(None, tuple(model.state[name] for name in ROWS), keep)
    model.state.update(state, **dict(zip(ROWS, arrays, strict=True)))
    model.state["support.sides"] = model.state["support.sides"][keep]
    model.reload()
