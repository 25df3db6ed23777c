"""Every rule that has an objective minimizes it, as a generic optimizer confirms in three dimensions."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import norm

from confidently import step

D = 3
LOWER = np.tril_indices(D)
SEEDS = range(4)


def problem(seed, wanted_margin):
    """A Gaussian and an example x (label +1) with this margin in standard deviations, and a variance of 1 to 3."""
    rng = np.random.default_rng(seed)
    root = np.eye(D) + 0.4 * rng.normal(size=(D, D))
    sigma, x, mean, v = root @ root.T, rng.normal(size=D), rng.normal(size=D), rng.uniform(1, 3)
    x *= np.sqrt(v / (x @ sigma @ x))
    return mean + x * (wanted_margin * np.sqrt(v) - mean @ x) / (x @ x), sigma, x


def after_step(answer, mean, sigma, x):
    """The new Gaussian by the one update."""
    alpha, zeta, scale = answer
    return mean + alpha * sigma @ x, np.linalg.inv((np.linalg.inv(sigma) + zeta * np.outer(x, x)) / scale)


class Whitened:
    """Gaussians as one vector of numbers: mean and Cholesky factor in coordinates where the old one is N(0, I)."""

    def __init__(self, mean, sigma, x):
        self.mean, self.root = mean, np.linalg.cholesky(sigma)
        self.z, self.m = self.root.T @ x, x @ mean

    def split(self, numbers):
        factor = np.zeros((D, D))
        factor[LOWER] = numbers[D:]
        return numbers[:D], factor

    def gaussian(self, numbers):
        mean, factor = self.split(numbers)
        half = self.root @ factor
        return self.mean + self.root @ mean, half @ half.T

    def margin(self, numbers):
        """Mean of the margin, its variance, and their gradients."""
        mean, factor = self.split(numbers)
        q = factor.T @ self.z
        of_mean = np.concatenate([self.z, np.zeros(len(LOWER[0]))])
        of_variance = np.concatenate([np.zeros(D), 2 * np.outer(self.z, q)[LOWER]])
        return self.m + self.z @ mean, q @ q, of_mean, of_variance

    def divergence(self, numbers):
        """KL(new || old) and its gradient."""
        mean, factor = self.split(numbers)
        diagonal = np.diag(factor)
        value = 0.5 * ((factor**2).sum() + mean @ mean - D) - np.log(np.abs(diagonal)).sum()
        return value, np.concatenate([mean, (factor - np.diag(1 / diagonal))[LOWER]])


def hardness(name, phi):
    """The constraint margin >= phi sqrt(v) or phi v, with its gradient."""

    def constraint(at):
        m, v, of_m, of_v = at
        if name == "cw_var":
            return m - phi * v, of_m - phi * of_v
        return m - phi * np.sqrt(v), of_m - phi * of_v / (2 * np.sqrt(v))

    return constraint


def solve(name, gaussians, p, seed):
    """The Gaussian of the optimizer. Soft losses get a slack variable, the last, so that everything is smooth."""
    rng = np.random.default_rng(100 + seed)
    start = np.concatenate([np.zeros(D), np.eye(D)[LOWER], [0.0]]) + 0.1 * rng.normal(size=D + len(LOWER[0]) + 1)
    constraint = hardness(name, p.get("phi", 0.0))
    soft = name in ("scw1", "scw2", "arow")

    def objective(numbers):
        value, gradient = gaussians.divergence(numbers[:-1])
        gradient, slack = np.append(gradient, 0.0), numbers[-1]
        if name == "scw1":
            value, gradient[-1] = value + p["C"] * slack, p["C"]
        elif name == "scw2":
            value, gradient[-1] = value + p["C"] * slack**2, 2 * p["C"] * slack
        elif name == "arow":
            _, v, _, of_v = gaussians.margin(numbers[:-1])
            value += (slack**2 + v) / (2 * p["r"])
            gradient += np.append(of_v / (2 * p["r"]), slack / p["r"])
        else:
            gradient[-1], value = slack, value + slack**2 / 2
        return value, gradient

    def short(numbers):
        m, *rest = gaussians.margin(numbers[:-1])
        value = m - 1 if name == "arow" else constraint((m, *rest))[0]
        return value + soft * numbers[-1]

    def short_gradient(numbers):
        at = gaussians.margin(numbers[:-1])
        return np.append(at[2] if name == "arow" else constraint(at)[1], float(soft))

    constraints = [{"type": "ineq", "fun": short, "jac": short_gradient}]
    if soft:
        last = np.eye(len(start))[-1]
        constraints.append({"type": "ineq", "fun": lambda numbers: numbers[-1], "jac": lambda numbers: last})
    for _ in range(3):  # a fresh start where the last one stopped sharpens the optimum
        options = {"ftol": 1e-16, "maxiter": 1000}
        start = minimize(objective, start, jac=True, method="SLSQP", constraints=constraints, options=options).x
    return gaussians.gaussian(start[:-1])


OBJECTIVES = [
    ("cw_stdev", {"phi": 1.3}), ("cw_stdev", {"phi": norm.ppf(0.7)}), ("cw_var", {"phi": 1.3}),
    ("cw_var", {"phi": 0.4}), ("scw1", {"phi": 1.3, "C": 0.1}), ("scw1", {"phi": 1.3, "C": 20.0}),
    ("scw2", {"phi": 1.3, "C": 0.1}), ("scw2", {"phi": 0.5, "C": 5.0}), ("arow", {"r": 0.1}), ("arow", {"r": 5.0}),
]  # fmt: skip


@pytest.mark.few
@pytest.mark.parametrize("margin", [-1.5, -0.2, 0.3])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "p"), OBJECTIVES)
def test_minimizes_its_objective(name, p, seed, margin):
    mean, sigma, x = problem(seed, margin)
    answer = step(name, mean @ x, x @ sigma @ x, **p)
    assert answer is not None
    new_mean, new_sigma = after_step(answer, mean, sigma, x)
    best_mean, best_sigma = solve(name, Whitened(mean, sigma, x), p, seed)
    np.testing.assert_allclose(new_mean, best_mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(new_sigma, best_sigma, rtol=0, atol=1e-6)


def passive_aggressive(name, C, mean, sigma, x):
    """min (w - mean)' Sigma^-1 (w - mean)/2 + C slack (pa1) or + C slack^2 (pa2), w.x >= 1 - slack, slack >= 0."""
    inverse, free = np.linalg.inv(sigma), np.append(x, float(name != "pa"))

    def objective(numbers):
        gap, slack = numbers[:D] - mean, numbers[D]
        linear, square = (0.0, C) if name == "pa2" else (C, 0.0)
        value = gap @ inverse @ gap / 2 + linear * slack + square * slack**2
        return value, np.append(inverse @ gap, linear + 2 * square * slack)

    constraint = {"type": "ineq", "fun": lambda numbers: free @ numbers - 1, "jac": lambda numbers: free}
    bounds, options = [(None, None)] * D + [(0, None)], {"ftol": 1e-16, "maxiter": 1000}
    numbers = np.append(mean, 0.5)
    for _ in range(3):
        numbers = minimize(
            objective, numbers, jac=True, method="SLSQP", bounds=bounds, constraints=[constraint], options=options
        ).x
    return numbers[:D]


@pytest.mark.parametrize("margin", [-1.5, -0.2])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "C"), [("pa", 1.0), ("pa1", 0.05), ("pa1", 50.0), ("pa2", 0.05), ("pa2", 5.0)])
def test_passive_aggressive_solves_its_quadratic_program(name, C, seed, margin):
    mean, sigma, x = problem(seed, margin)
    answer = step(name, mean @ x, x @ sigma @ x, **({} if name == "pa" else {"C": C}))
    best = passive_aggressive(name, C, mean, sigma, x)
    np.testing.assert_allclose(after_step(answer, mean, sigma, x)[0], best, rtol=0, atol=1e-6)


def smallest_ellipsoid(depth, d):
    """Centre and half-axes (along, across) of the smallest ellipsoid around the unit ball's part beyond a cut.

    By symmetry one number is to be found: the centre of an ellipsoid through the ball's top and the rim of the cut.
    """

    def half_axes(centre):
        along = 1 - centre
        return along, np.sqrt((1 - depth**2) / (1 - ((depth - centre) / along) ** 2))

    def log_volume(centre):
        along, across = half_axes(centre)
        return np.log(along) / d + np.log(across) * (d - 1) / d

    bounds = (depth, (1 + depth) / 2 - 1e-9)
    centre = minimize_scalar(log_volume, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    return centre, *half_axes(centre)


def cellip_of_unit_ball(depth):
    """Centre and half-axes after CELLIP cuts the unit ball at this depth."""
    alpha, zeta, scale = step("cellip", -depth, 1.0, gamma=1.0, a=0.0)
    return alpha, np.sqrt(scale / (1 + zeta)), np.sqrt(scale)


@pytest.mark.parametrize("depth", [0.05, 0.3, 0.8])
def test_cellip_is_the_smallest_ellipsoid_of_many_features(depth):
    np.testing.assert_allclose(cellip_of_unit_ball(depth), smallest_ellipsoid(depth, 1e8), rtol=0, atol=1e-6)
    along, across = smallest_ellipsoid(depth, D)[1:]  # of few features a smaller one exists, further in
    assert along * across ** (D - 1) < np.prod(cellip_of_unit_ball(depth)[1:]) * cellip_of_unit_ball(depth)[2]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("depth", [0.02, 0.3, 0.8])
def test_cellip_encloses_what_the_example_leaves_of_the_ellipsoid_and_touches_it(seed, depth):
    mean, sigma, x = problem(seed, -depth / 2)
    v = x @ sigma @ x
    new_mean, new_sigma = after_step(step("cellip", mean @ x, v, gamma=depth / 2 * np.sqrt(v), a=1.0), mean, sigma, x)
    root, rng = np.linalg.cholesky(sigma), np.random.default_rng(seed)
    along = root.T @ x / np.sqrt(v)
    across = np.linalg.qr(np.column_stack([along, rng.normal(size=(D, D - 1))]))[0][:, 1:]

    def reach(heights, radii):
        """Mahalanobis lengths, seen from the new ellipsoid, of points of the old one's unit ball."""
        angles = rng.normal(size=(len(heights), D - 1))
        angles /= np.linalg.norm(angles, axis=1, keepdims=True)
        points = mean + (heights[:, None] * along + radii[:, None] * (angles @ across.T)) @ root.T - new_mean
        return (points @ np.linalg.inv(new_sigma) * points).sum(axis=1)

    heights = rng.uniform(depth, 1, 500)
    assert reach(heights, np.sqrt(1 - heights**2)).max() <= 1 + 1e-9
    rim_and_top = np.array([depth, 1.0])
    np.testing.assert_allclose(reach(rim_and_top, np.sqrt(1 - rim_and_top**2)), 1, rtol=0, atol=1e-9)
