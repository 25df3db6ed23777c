"""Confidence limits by the empirical likelihood of distributions of weights and terms whose mean weight is 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from .betting import Floats

STEPS = 40  # of the bisection
NEWTON_STEPS = 60
BARRIER = 1e-6  # observations at each corner
ENOUGH = 1e-9  # of the expected gain of a Newton step
EXACT = 1 << 9  # observations; of more, those that are nearly equal are taken together
CELLS = 16  # per mean size of w and of x, and per factor e of what is larger


def likelihood_limits(
    w: Floats, x: Floats, corners: Sequence[tuple[float, float]], alpha: float
) -> tuple[float, float]:
    """Return limits of the expectation v in [0, 1] of x, given weights w whose expectation is 1.

    They enclose all v that some distribution with these expectations has, whose likelihood is not too far below the
    largest one. It may have points that were not observed, such as the largest weight. By duality::

        log L_max - log L(v) = F(v) - min over v of F(v),
        F(v) = max over (b, c) of sum_i log(1 + b (w_i - 1) + c (x_i - v)),

    over all (b, c) for which no possible (w, x) makes the logarithm's argument negative. The limits are where the
    difference is t^2/2, for the quantile t of Student's distribution: the quantile of its chi-squared limit, a little
    wider for few rows.

    Parameters
    ----------
    w, x : array of shape (n,)
    corners : sequence of pairs
        Of the convex hull of all possible (w, x).

    References
    ----------
    Owen, Biometrika 75, 1988; Karampatziakis, Langford & Mineiro, ICML 2020.
    """
    points, count = _counted(np.column_stack([w, x]))
    center = float(x.sum() / w.sum()) if w.any() else 0.5
    center = min(max(center, 0.0), 1.0)
    allowed = float(stdtrit(max(len(w) - 1, 1), 1.0 - alpha / 2.0)) ** 2 / 2.0

    def loss(v: float, both: bool = True) -> float:
        """Return F(v); with ``both`` false, for c = 0, which is its minimum over v."""
        return _largest_gain(points - [1.0, v], count, np.asarray(corners) - [1.0, v], both)

    least = loss(center, both=False)
    limits = []
    for end in (0.0, 1.0):
        inside, outside = center, end
        if loss(end) - least <= allowed:
            limits.append(end)
            continue
        for _ in range(STEPS):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if loss(middle) - least <= allowed else (inside, middle)
        limits.append(outside)
    return limits[0], limits[1]


def _counted(rows: Floats) -> tuple[Floats, Floats]:
    """Return the different rows and how often they occur; of many rows the means of cells, which keep the mean of all.

    Within a cell the standard deviation is about 1/55 of the size, by whose square, 1/3000, the variance is too small.
    """
    if len(rows) <= EXACT:
        points, count = np.unique(rows, axis=0, return_counts=True)
        return points, count.astype(np.float64)
    size = np.abs(rows).mean(axis=0)
    cells = np.rint(CELLS * np.arcsinh(rows / np.where(size > 0, size, 1.0))).astype(np.int64)
    _, cell, count = np.unique(cells[:, 0] * (1 << 32) + cells[:, 1], return_inverse=True, return_counts=True)
    return np.column_stack([np.bincount(cell, column) / count for column in rows.T]), count.astype(np.float64)


def _largest_gain(rows: Floats, count: Floats, corners: Floats, both: bool) -> float:
    """Return the maximum of sum_i count_i log(1 + rows_i t) over t with 1 + corners t >= 0, by Newton's method.

    A few millionths of observations at the corners keep t inside; without ``both``, the second element of t is 0.
    """
    keep = slice(None) if both else slice(1)
    every = np.concatenate([rows, corners])[:, keep]
    weight = np.concatenate([count, np.full(len(corners), BARRIER)])
    t = np.zeros(every.shape[1])
    value = 0.0
    for _ in range(NEWTON_STEPS):
        inside = 1.0 + every @ t
        scaled = every / inside[:, None]
        gradient = weight @ scaled
        hessian = (scaled * weight[:, None]).T @ scaled
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        gain = float(gradient @ step)
        if gain < ENOUGH:
            break
        move = every @ step
        falling = move < 0
        length = min(1.0, 0.99 * float((inside[falling] / -move[falling]).min(initial=math.inf)))
        while length > 1e-12:
            found = float(weight @ np.log(inside + length * move))
            if found >= value + 1e-4 * length * gain:
                break
            length *= 0.5
        else:
            break
        t, value = t + length * step, found
    return float(count @ np.log(1.0 + rows[:, keep] @ t))
