"""Probabilities of classes where the shares of the classes differ from those of training.

If rows of each class are as in training, p(class | row) changes by the ratio of the shares (Saerens, Latinne &
Decaestecker, Neural Computation 14, 2002)::

    p'_k = p_k pi'_k / pi_k / sum_j p_j pi'_j / pi_j

The shares pi' of rows without labels are those with the largest likelihood, sum_i log sum_k p_ik pi'_k / pi_k, which
expectation maximization finds: pi' is the mean of p' over the rows, from pi on.
"""

from __future__ import annotations

import numpy as np

STEPS, TOLERANCE = 10_000, 1e-9  # of any share


def corrected(p: np.ndarray, shares: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the probabilities, shape (n, K), where classes have these shares, given ``own``, those of training."""
    ratio = np.divide(shares, own, out=np.zeros_like(own), where=own > 0.0)
    found = p * ratio
    total = found.sum(axis=1, keepdims=True)
    return np.divide(found, total, out=np.broadcast_to(shares, p.shape).copy(), where=total > 0.0)


def shares(p: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the shares of the classes among rows with these probabilities, shape (n, K)."""
    found = own
    for _ in range(STEPS):
        before, found = found, corrected(p, found, own).mean(axis=0)
        if np.abs(found - before).max() < TOLERANCE:
            break
    return found
