"""Confidence bounds of means by betting: they need no bound of the terms and hold for any number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LARGEST_STAKE = 0.99  # of the fractions that are bet
STEPS = 60  # of the bisection, which ends when no number lies between
EXACT = 1 << 13  # terms; of more, those that are nearly equal are counted together
CELLS = 4096  # per mean, and per factor e of larger terms; of many terms, each is thereby smaller by less than one
STEPS_OF_MANY = 24


def lower_bound(terms: Floats, alpha: float) -> float:
    """Return a number in [0, 1] that the expectation of terms >= 0 exceeds with probability 1 - alpha.

    Against the claim that the expectation is m, a gambler who stakes the fraction f of a fortune on every term owns::

        K_f(m) = prod over i of (1 - f + f x_i/m)

    times the initial fortune after n of them. If the expectation is m or less, no such game is expected to win, and a
    mean of K_f(m) over several f ever reaches 1/alpha with a probability of at most alpha (Ville's inequality). It
    decreases in m, and the bound is where it is 1/alpha. The fractions .99 / 2^k have the weights 1/((k + 1)(k + 2)),
    which sum to 1; those below about 1/n are left out, which only lowers the mean.

    The terms need no bound. They need not be independent, if each has this expectation given those before it. The
    bounds of the first n terms hold for all n at once, so one may look at every n and stop at any.

    References
    ----------
    Waudby-Smith & Ramdas (JRSS B 86, 2024); Karampatziakis, Mineiro & Ramdas (ICML 2021) for terms that are weights
    times rewards.
    """
    value, count = _counted(terms)
    stakes = LARGEST_STAKE * 0.5 ** np.arange(1 + math.ceil(math.log2(len(terms))))
    k = np.arange(len(stakes))
    log_weights, wanted = -np.log((k + 1.0) * (k + 2.0)), -math.log(alpha)

    def won(m: float) -> bool:
        logs = log_weights + [count @ np.log1p(f * (value / m - 1.0)) for f in stakes]
        top = logs.max()
        return bool(top + math.log(np.exp(logs - top).sum()) >= wanted)

    if not value.any():
        return 0.0
    if won(1.0):
        return 1.0
    low, high = 0.0, 1.0  # the bound is between
    for _ in range(STEPS if len(terms) <= EXACT else STEPS_OF_MANY):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if won(middle) else (low, middle)
    return low


def _counted(terms: Floats) -> tuple[Floats, Floats]:
    """Return different terms and how many there are of each; of many, terms are rounded down."""
    if len(terms) > EXACT and (mean := float(terms.mean())):
        cells, count = np.unique(np.floor(CELLS * np.arcsinh(terms / mean)), return_counts=True)
        return mean * np.sinh(cells / CELLS), count.astype(np.float64)
    value, count = np.unique(terms, return_counts=True)
    return value, count.astype(np.float64)
