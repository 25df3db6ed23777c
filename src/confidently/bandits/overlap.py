"""How much a log says about a policy, by the weights of its rounds."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

from .betting import Floats

MIN_EFFECTIVE = 50.0  # rounds, below which the central limit theorem says little about weighted means
MAX_DEVIATIONS = 4.0  # of the mean weight from 1, in standard errors


class OverlapWarning(UserWarning):
    """The log says too little about the policy for an interval by the central limit theorem or the bootstrap."""


class Overlap(NamedTuple):
    """How much a log says about a policy.

    Attributes
    ----------
    rounds : int
    effective_rounds : float
        (sum of w)^2/(sum of w^2): the number of rounds with equal weights that would say as much.
    largest_weight : float
    mean_weight : float
        Its expectation is 1 with the right propensities, unless weights are clipped.
    """

    rounds: int
    effective_rounds: float
    largest_weight: float
    mean_weight: float


def overlap_of(w: Floats) -> Overlap:
    """Return the overlap of rounds with these weights."""
    squares = float(w @ w)
    return Overlap(len(w), float(w.sum()) ** 2 / squares if squares else 0.0, float(w.max()), float(w.mean()))


def problem_of(w: Floats, unclipped: Floats | None) -> str | None:
    """Return why rounds with these weights say little, or that the mean of the unclipped ones differs from 1."""
    found = overlap_of(w)
    if found.effective_rounds < MIN_EFFECTIVE:
        return (
            f"{found.rounds:,} rounds say as much about the policy as {found.effective_rounds:.1f} of equal weight, "
            f"with a largest weight of {found.largest_weight:.4g}"
        )
    if unclipped is not None and _mean_is_off(unclipped):
        return (
            f"the mean weight is {unclipped.mean():.3g}, expected 1: propensities are wrong, or rounds of large weight "
            "are missing"
        )
    return None


def warn_of_little_overlap(estimator: str, problem: str | None) -> None:
    """Warn of a problem that :func:`problem_of` found."""
    if problem is not None:
        advice = "the interval may cover far less than it promises; use method='betting', or more rounds"
        warnings.warn(f"{estimator}: {problem}; {advice}", OverlapWarning, stacklevel=3)


def _mean_is_off(w: Floats) -> bool:
    return bool(abs(w.mean() - 1.0) > MAX_DEVIATIONS * w.std() / math.sqrt(len(w)))
