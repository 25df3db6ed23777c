"""Abstention: the error that is left where only the most certain predictions are made; NumPy only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.5)  # of tables
ROUNDING = 1e-12  # relative, of sums of weights


@dataclass(frozen=True)
class RiskCoverage:
    """Error by coverage, the fraction of rows that are predicted, when the least certain rows are left out.

    There is one point per distinct certainty t: the rows with certainty >= t are predicted.

    Attributes
    ----------
    coverage : array of shape (n_points,)
        Fraction of the rows predicted, ascending; the last one is 1.
    error : array of shape (n_points,)
        Fraction of the rows predicted whose prediction is wrong; the last one is the error without abstention.
    threshold : array of shape (n_points,)
        The smallest certainty of the rows predicted, descending.
    """

    coverage: np.ndarray
    error: np.ndarray
    threshold: np.ndarray

    @cached_property
    def area(self) -> float:
        """Area under :meth:`error_at` from coverage 0 to 1; the mean error over all coverages."""
        a, b = np.append(0.0, self.coverage[:-1]), self.coverage
        wrong = np.append(0.0, self._wrong[:-1])
        slope = (self._wrong - wrong) / (b - a)
        logarithm = np.log(b[1:] / a[1:])  # the first group starts at 0, where its error is constant
        return float((slope * (b - a)).sum() + ((wrong - slope * a)[1:] * logarithm).sum())

    def error_at(self, coverage: Any) -> Any:
        """Return the error where a given fraction of the rows is predicted.

        Of equally certain rows, which no threshold separates, all are predicted with the same probability: the error
        is the expected one, and does not depend on the order of the rows.

        Parameters
        ----------
        coverage : float or array
            In (0, 1].

        Returns
        -------
        float or array
        """
        c = _checked_coverage(coverage)
        found = np.interp(c, np.append(0.0, self.coverage), np.append(0.0, self._wrong)) / c
        return float(found) if np.ndim(coverage) == 0 else found

    def threshold_at(self, coverage: Any) -> Any:
        """Return the largest threshold at which at least a given fraction of the rows is predicted.

        Parameters
        ----------
        coverage : float or array
            In (0, 1].

        Returns
        -------
        float or array
        """
        c = _checked_coverage(coverage)
        found = self.threshold[np.searchsorted(self.coverage, c * (1.0 - ROUNDING))]
        return float(found) if np.ndim(coverage) == 0 else found

    @property
    def _wrong(self) -> np.ndarray:
        """The rows predicted wrongly at each point, as a fraction of all rows."""
        return self.coverage * self.error


def risk_coverage(y_true: Any, y_pred: Any, certainty: Any, sample_weight: Any = None) -> RiskCoverage:
    """Compute the error by coverage when the least certain predictions are left out.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        True and predicted classes.
    certainty : array of shape (n,)
        Of each prediction, in any unit: higher values are predicted first. For example the probability of the
        predicted class, or :func:`confidently.active.certainty`. Infinite values are valid, NaN is not.
    sample_weight : array of shape (n,), optional
        Weights >= 0. A row of weight 2 counts as two equal rows.

    Returns
    -------
    RiskCoverage

    Raises
    ------
    ValueError
        If an array does not have one entry per row, as for multilabel data, or an invalid one; if no row has a
        positive weight.

    Examples
    --------
    The two most certain predictions are right; of the next two, which are equally certain, one is.

    >>> curve = risk_coverage([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.8, 0.6, 0.6])
    >>> curve.coverage, curve.error, curve.threshold
    (array([0.25, 0.5 , 1.  ]), array([0.  , 0.  , 0.25]), array([0.9, 0.8, 0.6]))
    >>> round(curve.error_at(0.75), 3), curve.threshold_at(0.5), round(curve.area, 3)
    (0.167, 0.8, 0.077)

    References
    ----------
    El-Yaniv & Wiener, On the foundations of noise-free selective classification, JMLR 2010. Geifman & El-Yaniv,
    Selective classification for deep neural networks, NeurIPS 2017.
    """
    truth, predicted, certain = np.asarray(y_true), np.asarray(y_pred), np.asarray(certainty, dtype=np.float64)
    weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    for name, values in (("y_true", truth), ("y_pred", predicted), ("certainty", certain), ("sample_weight", weight)):
        if values.shape != (len(truth),):
            raise ValueError(f"{name}: expected one entry per row, shape ({len(truth)},); got shape {values.shape}")
    if np.isnan(certain).any():
        raise ValueError(f"certainty: entry {np.isnan(certain).argmax()} is NaN")
    invalid = ~(np.isfinite(weight) & (weight >= 0.0))
    if invalid.any():
        raise ValueError(f"sample_weight: expected finite weights >= 0, got {weight[invalid][0]}")
    seen = weight > 0.0
    if not seen.any():
        raise ValueError("expected at least one row of positive weight")
    wrong = (truth != predicted) & seen
    threshold, group = np.unique(-certain[seen], return_inverse=True)
    total = np.bincount(group, weight[seen]).cumsum()
    mistaken = np.bincount(group, (weight * wrong)[seen]).cumsum()
    return RiskCoverage(total / total[-1], mistaken / total, -threshold)


def _checked_coverage(coverage: Any) -> np.ndarray:
    c: np.ndarray = np.asarray(coverage, dtype=np.float64)
    if not ((c > 0.0) & (c <= 1.0)).all():
        raise ValueError(f"coverage must be a fraction of the rows, in (0, 1]; got {coverage!r}")
    return c
