"""Theorem 2 of Crammer et al. 2008: CW-Stdev with a kernel, exactly, over the examples it has seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.metrics.pairwise import rbf_kernel

from ..classifier import OnlineClassifier
from ..rules import Rule


class KernelOnline:
    """An online learner in the span of its training rows under a Gaussian kernel.

    With K = LL' the kernel of the training rows, row i has the features L_i, whose inner products are K. A mean that is
    a combination of examples and a covariance that is the prior less such combinations (Theorem 2) are what a full
    covariance over these features holds. A new row has the features L^-1 k(X, x); what of it lies outside the span
    stands at the prior and adds k(x, x) - |L^-1 k(X, x)|^2 to the variance.

    Parameters
    ----------
    rule : Rule
    gamma : float
        Of the kernel exp(-gamma |x - x'|^2).
    """

    JITTER = 1e-10  # added to the kernel's diagonal, so that it has a Cholesky factor

    def __init__(self, rule: Rule, gamma: float) -> None:
        self.rule, self.gamma = rule, gamma

    def fit(self, X: np.ndarray, y: Any) -> KernelOnline:
        """Learn the rows once, in order."""
        self.rows = np.asarray(X, dtype=float)
        K = rbf_kernel(self.rows, gamma=self.gamma)
        self.factor = np.linalg.cholesky(K + self.JITTER * np.eye(len(K)))
        self.linear = OnlineClassifier(self.rule, "full", fit_intercept=False).fit(self.factor, y)
        self.classes_ = self.linear.classes_
        return self

    def margin_distribution(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the margin."""
        features = solve_triangular(self.factor, rbf_kernel(self.rows, X, gamma=self.gamma), lower=True).T
        mean, variance = self.linear.margin_distribution(features)
        return mean, variance + np.maximum(1.0 - (features**2).sum(axis=1), 0.0)
