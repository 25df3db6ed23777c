"""The budget of a kernel learner with every factor made anew: what kernel_budget.py keeps up to date."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from confidently.covariances.kernel_support import ROWS, append_rows

MIN_NOISE = 1e-6


def smoothed(t):
    return t + MIN_NOISE * t.diagonal().max(initial=0.0) * np.eye(len(t))


class KernelWithinBudget:
    """In place of the class in kernel_budget.py."""

    def __init__(self, model):
        self.model = model

    def learn(self, *block):
        done = self.model.learn(*block)
        keep_budget(self.model)
        return done

    def close(self):
        pass


def keep_budget(model):
    """Drop the support rows whose removal changes the means least."""
    budget, size, state = model.settings.budget, len(model.signs), model.state
    if budget is None or size <= budget:
        return
    k = model.kernel(model.support, model.support) * (model.signs @ model.signs.T)
    precise = model.settings.rule.learns_precision
    duals, noisy, cost = [], [], 0.0
    for learner, prior in enumerate(model.prior):
        dual, n = state["dual"][:, :, learner], prior * k
        if precise and (state["gained"][learner] > 0).any():
            unit, informative = state["triangle"][learner] + np.eye(size), state["gained"][learner] > 0
            dual = solve_triangular(unit, dual, lower=True, trans=1, unit_diagonal=True)
            n[informative, informative] = (unit[:, informative] ** 2 @ (1 / state["gained"][learner][informative]))[
                informative
            ]
        duals.append(dual)
        noisy.append(n)
        cost = cost + dual[:, 0] ** 2 / np.linalg.inv(smoothed(prior * k)).diagonal()
    keep = np.sort(np.argsort(cost, kind="stable")[size - budget :])
    dropped = np.setdiff1d(np.arange(size), keep)
    gained, triangle, kept = state["gained"][:, keep], np.zeros((len(duals), budget, budget)), state["dual"][keep]
    for learner, prior in enumerate(model.prior):
        t, points = prior * k, np.flatnonzero(gained[learner] > 0)
        c = duals[learner][keep]
        c = c + np.linalg.solve(smoothed(t[np.ix_(keep, keep)]), t[np.ix_(keep, dropped)] @ duals[learner][dropped])
        if len(points):
            factor = np.linalg.cholesky(noisy[learner][np.ix_(keep[points], keep[points])])
            unit = factor / factor.diagonal()
            triangle[learner][np.ix_(points, points)] = unit - np.eye(len(points))
            gained[learner, points] = 1 / factor.diagonal() ** 2
        kept[:, :, learner] = c + triangle[learner].T @ c
    state["dropped"][0] += size - budget
    arrays = append_rows(None, tuple(state[name] for name in ROWS), keep)
    triangle = triangle if precise else np.zeros((len(duals), 0, 0))
    state.update(zip(ROWS, arrays, strict=True), dual=kept, gained=gained, triangle=triangle)
    state["support.sides"] = state["support.sides"][keep]
    model.reload()
