"""Confidence intervals of means of independent terms, and of ratios of such means."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .betting import lower_bound

Floats = NDArray[np.float64]
METHODS = ("normal", "bootstrap", "likelihood", "bernstein", "betting")
CHUNK = 1 << 22  # numbers of a bootstrap held at a time


class Interval(NamedTuple):
    """An estimate with a confidence interval."""

    value: float
    low: float
    high: float

    def within(self, low: float, high: float) -> Interval:
        """Return the same, no number of which is outside of a range."""
        return Interval(*(min(max(number, low), high) for number in self))


def normal_interval(value: float, influence: Floats, alpha: float) -> Interval:
    """Return value +- z sqrt(sum of squares)/n, of n terms of mean zero whose mean is the error of the value."""
    n = len(influence)
    deviation = math.sqrt(float(influence @ influence) / (n * max(n - 1, 1)))
    reach = float(ndtri(1.0 - alpha / 2.0)) * deviation
    return Interval(value, value - reach, value + reach)


def bootstrap_interval(
    value: float, numerator: Floats, denominator: Floats | None, alpha: float, n_samples: int, random_state: int | None
) -> Interval:
    """Return the percentiles of mean(numerator)/mean(denominator) over samples of the terms with replacement."""
    random, n = np.random.default_rng(random_state), len(numerator)
    found = []
    for first in range(0, n_samples, max(1, CHUNK // n)):
        rows = random.integers(n, size=(min(max(1, CHUNK // n), n_samples - first), n))
        top = numerator[rows].mean(axis=1)
        if denominator is not None:
            below = denominator[rows].mean(axis=1)
            top, below = top[below > 0], below[below > 0]
            top = top / below
        found.append(top)
    low, high = np.quantile(np.concatenate(found), [alpha / 2.0, 1.0 - alpha / 2.0])
    return Interval(value, float(low), float(high))


def bernstein_interval(terms: Floats, low: float, high: float, alpha: float) -> Interval:
    """Return the empirical Bernstein interval of the mean of terms that must lie in [low, high]; it holds for every n.

    With L = log(4/alpha), range R and sample variance V::

        |mean - expectation| <= sqrt(2 V L/n) + 7 R L/(3 (n - 1))

    (Maurer & Pontil, COLT 2009, Theorem 4, on both sides).
    """
    n, level = len(terms), math.log(4.0 / alpha)
    value = float(terms.mean())
    if n < 2:
        return Interval(value, low, high)
    reach = math.sqrt(2.0 * float(terms.var(ddof=1)) * level / n) + 7.0 * (high - low) * level / (3.0 * (n - 1))
    return Interval(value, max(value - reach, low), min(value + reach, high))


def betting_interval(value: float, below: Floats, above: Floats, low: float, high: float, alpha: float) -> Interval:
    """Return limits of an expectation v in [low, high] by bets, which hold for every n (:func:`lower_bound`).

    The terms ``below`` are >= 0 and have the expectation (v - low)/(high - low), those ``above`` 1 minus that.
    """
    least, rest = (lower_bound(terms, alpha / 2.0) for terms in (below, above))
    return Interval(value, low + (high - low) * least, high - (high - low) * rest)
