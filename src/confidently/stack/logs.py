"""What members of a stack of regressions predict that learn the logarithms of the targets.

Such a member learns log max(y, floor). With m what it predicts of that, the prediction of y is::

    c exp(min(m, largest + log 2)),    c = sum y / sum exp(min(m, largest + log 2)), within [1/2, 2]

where ``largest`` is the largest logarithm so far, so that no row is predicted far beyond all targets before, and c is
the smearing factor of the rows before: the mean of y is larger than the exponential of the mean of its logarithm (Duan,
Smearing Estimate, JASA 78, 1983). The standard deviation of y is that of the logarithm times the prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..covariances.state import within
from ..rules.ranges import Range
from ..tasks.targets import MAX_TARGET

FLOOR, LARGEST, SUMS = 0, 1, 2  # then for each member the sums of the targets and of what it predicted without c
BEYOND = np.log(2.0)
MAX_LOG, MAX_SUM = 1000.0, 1e130  # of any targets, and some
FACTORS = (0.5, 2.0)
MIN_FLOOR = float(np.finfo(np.float64).tiny)
SKEWED = 0.25  # skewness of targets from which on their logarithms may be learned


def size(members: int) -> int:
    """Return how many numbers are kept for each number to predict."""
    return SUMS + 2 * members if members else 0


def are_worth_learning(targets: np.ndarray | None) -> bool:
    """Return whether the first targets, shape (n, numbers), are positive and skewed, and their logarithms less so.

    Some may be 0, such as counts.
    """
    if targets is None or len(targets) < 2:
        return False
    return all(
        y.min() >= 0.0 and np.count_nonzero(y) > len(y) / 2 and abs(_skewness(_logs(y, _floor(y)))) < _skewness(y)
        and _skewness(y) > SKEWED
        for y in targets.T
    )  # fmt: skip


def begun(y: np.ndarray, members: int) -> np.ndarray:
    """Return what is kept for a number before training, given its first targets."""
    own = np.zeros(size(members))
    own[FLOOR] = _floor(y)
    own[LARGEST] = np.log(own[FLOOR])
    return own


def learned(own: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the logarithms that the members learn."""
    return _logs(targets, own[FLOOR])


def take(own: np.ndarray, outputs: np.ndarray, targets: np.ndarray, weight: np.ndarray | None) -> None:
    """Replace what the members have predicted of logarithms by predictions of the targets, and learn these rows.

    Parameters
    ----------
    own : array
        What is kept for the number.
    outputs : array of shape (members, n, 2)
        Mean and variance of every row, before it was learned.
    targets, weight : arrays of shape (n,)
        Rows of weight 0 are not learned.
    """
    weight = np.ones(len(targets)) if weight is None else weight
    logs = np.where(weight > 0.0, _logs(targets, own[FLOOR]), own[LARGEST])
    largest = np.maximum.accumulate([own[LARGEST], *logs])
    for sums, predicted in zip(own[SUMS:].reshape(-1, 2), outputs, strict=True):
        exponentials = np.exp(np.minimum(predicted[:, 0], largest[:-1] + BEYOND))
        # added one after the other, so that sums do not depend on how rows are cut into calls
        added = np.stack([weight * targets, weight * exponentials], axis=1)
        after = np.cumsum(np.concatenate([sums[None], added]), axis=0)
        predicted[:, 0] = _factor(*after[:-1].T) * exponentials
        predicted[:, 1] *= predicted[:, 0] ** 2
        sums[:] = after[-1]
    own[LARGEST] = largest[-1]


def numbers(own: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the predictions of targets, given those of logarithms, shape (members, n)."""
    limit, factors = limit_and_factors(own)
    return factors[:, None] * np.exp(np.minimum(means, limit))


def limit_and_factors(own: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the largest logarithm that is predicted, and c of every member."""
    sums = own[SUMS:].reshape(-1, 2)
    return float(own[LARGEST] + BEYOND), _factor(sums[:, 0], sums[:, 1])


def merged(parts: Sequence[np.ndarray], base: np.ndarray | None) -> np.ndarray:
    """Return what is kept of stacks together; the sums of a common base count once."""
    found: np.ndarray = np.sum(parts, axis=0) - (0.0 if base is None else (len(parts) - 1) * base)
    found[FLOOR], found[LARGEST] = np.min(parts, axis=0)[FLOOR], np.max(parts, axis=0)[LARGEST]
    return found


def values(own: np.ndarray) -> Iterator[tuple[str, np.ndarray, Range]]:
    """Yield name, numbers and allowed range of what a file keeps."""
    yield "mixture.logs", own[:1], Range(0.0, MAX_TARGET, closed_high=True)
    yield "mixture.logs", own[1:2], within(MAX_LOG)
    yield "mixture.logs", own[SUMS:], within(MAX_SUM)


def _floor(y: np.ndarray) -> float:
    """Return half of the smallest positive target."""
    return max(float(y[y > 0.0].min()) / 2.0, MIN_FLOOR)


def _logs(y: np.ndarray, floor: float) -> np.ndarray:
    return np.log(np.maximum(y, floor))


def _factor(of_targets: np.ndarray, of_exponentials: np.ndarray) -> np.ndarray:
    known = of_exponentials > 0.0
    ratio = np.divide(of_targets, of_exponentials, out=np.ones_like(of_exponentials), where=known)
    return np.clip(ratio, *FACTORS)


def _skewness(y: np.ndarray) -> float:
    deviations = y - y.mean()
    spread = float(np.sqrt(np.mean(deviations**2)))
    return float(np.mean((deviations / spread) ** 3)) if spread > 0.0 else 0.0
