"""What more labels are expected to bring: the learning curve, continued."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

LOWER = 0.9  # of the present error
MIN_MISTAKES = 5  # of a part of the curve
MIN_PARTS = 3
SURE = 2.0  # standard errors by which the curve has to fall
MAX_TIMES = 100.0  # of the rows so far; nothing farther ahead is predicted


class Gain(NamedTuple):
    """This many more rows lower the error from one value to the other, if the curve continues as before."""

    rows: int
    error: float
    then: float


def expected_gain(curve: Sequence[Sequence[float]]) -> Gain | None:
    r"""Return how many more rows lower the error by a tenth.

    The error of row :math:`n` is taken to be :math:`a n^{-b}`, which learning curves follow over long ranges (Cortes et
    al. 1994). The rows are divided where their number doubles. The logarithm of the mistakes of a part has the variance
    1 / mistakes, so that weighted least squares gives :math:`b` and its standard error.

    Parameters
    ----------
    curve : sequence of (time, rows, mistakes, ...)
        Neighbouring parts of the rows so far.

    Returns
    -------
    Gain or None
        None while the curve is too short, or does not fall for sure.
    """
    parts = _doublings(curve)
    if len(parts) < MIN_PARTS:
        return None
    x = [math.log(middle) for middle, _, _ in parts]
    y = [math.log(mistakes / rows) for _, rows, mistakes in parts]
    weights = [mistakes for _, _, mistakes in parts]
    total = sum(weights)
    mean_x = sum(w * at for w, at in zip(weights, x, strict=True)) / total
    mean_y = sum(w * at for w, at in zip(weights, y, strict=True)) / total
    spread = sum(w * (at - mean_x) ** 2 for w, at in zip(weights, x, strict=True))
    slope = -sum(w * (a - mean_x) * b for w, a, b in zip(weights, x, y, strict=True)) / spread
    if slope * math.sqrt(spread) < SURE:
        return None
    n = sum(point[1] for point in curve)
    times = LOWER ** (-1.0 / slope)
    error = math.exp(mean_y - slope * (math.log(n) - mean_x))
    return Gain(math.ceil(n * (times - 1.0)), error, LOWER * error) if times <= MAX_TIMES else None


def _doublings(curve: Sequence[Sequence[float]]) -> list[tuple[float, float, float]]:
    """Return geometric middle, rows and mistakes of the parts, from the last one back to the first with mistakes."""
    parts, before = list[tuple[float, float, float]](), 0.0
    rows = mistakes = 0.0
    for _, more, wrong, *_ in curve:
        rows, mistakes = rows + more, mistakes + wrong
        if rows >= max(before, 1.0) and mistakes >= MIN_MISTAKES:
            parts.append((math.sqrt(max(before, 1.0) * (before + rows)), rows, mistakes))
            before, rows, mistakes = before + rows, 0.0, 0.0
    if mistakes >= MIN_MISTAKES:
        parts.append((math.sqrt(max(before, 1.0) * (before + rows)), rows, mistakes))
    return parts
