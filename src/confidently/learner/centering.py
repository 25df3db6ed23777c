"""Probabilities of two classes whose mean over rows in random order is the share of the class.

The offset of a calibration follows the last 2,000 rows, of which few are of a rare class: 100 leave its probabilities
wrong by a tenth. Where all rows are there and their order says nothing, the offset is that of a logistic regression on
their log-odds: the mean probability is then the share among all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Matrix

ROWS = 4000  # that are predicted, at most
HALVINGS = 40
MAX_OFFSET = 4.0
PRIOR_CURVATURE = 1.0  # of the offset, as in the core


def rows_to_center(n: int) -> np.ndarray:
    """Return the numbers of rows that are predicted, of n: at even distances, since files are often sorted."""
    return np.arange(n) if n <= ROWS else np.arange(ROWS) * (n - 1) // (ROWS - 1)


def center(learner: Any, X: Matrix, labels: np.ndarray, weight: np.ndarray, share: float) -> None:
    """Move the log-odds of a learner of two classes, so that their mean probability is right.

    Parameters
    ----------
    learner : Learner or Stack
    X : matrix
        Some of the rows.
    labels : array of shape (n,)
        Their classes, 0 or 1.
    weight : array of shape (n,)
    share : float
        The share of class 1 among all rows.
    """
    p, offset = learner.probabilities(X)[:, 1], 0.0
    target = _target(p, labels, weight, share)
    for step in range(1 + learner.corrects):
        p = learner.probabilities(X)[:, 1] if step else p
        more = _more(p, weight, target, offset)
        learner.shift(more)
        offset += more
    learner.centered += offset


def _target(p: np.ndarray, labels: np.ndarray, weight: np.ndarray, share: float) -> float:
    """Return what the mean probability is to be.

    With the mean S of p(1 - p) over the rows relative to that of a share m, S/(m(1 - m)), predictions say little where
    it is 1, and the mean probability is to be the share among all rows; where it is 0, that among these rows. Between,
    the mean of both has the least variance.
    """
    total = weight.sum()
    own = float(weight @ labels / total)
    least = max(own * (1.0 - own), share * (1.0 - share))
    doubt = min(float(weight @ (p * (1.0 - p)) / total) / least, 1.0) if least > 0.0 else 1.0
    return own + doubt * (share - own)


def _more(p: np.ndarray, weight: np.ndarray, target: float, offset: float) -> float:
    """Return what is to be added to log-odds, which have had an offset, so that the mean probability is the target."""
    odds = np.log(p) - np.log1p(-p)
    low, high = -MAX_OFFSET, MAX_OFFSET
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        above = weight @ (target - 1.0 / (1.0 + np.exp(-odds - middle))) > PRIOR_CURVATURE * (offset + middle)
        low, high = (middle, high) if above else (low, middle)
    return 0.5 * (low + high)
