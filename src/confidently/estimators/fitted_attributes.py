"""What a classifier has learned, as attributes and methods in scikit-learn's manner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array
from sklearn.utils.validation import check_is_fitted

from ..learner.learner import Learner
from ..learner.marginals import Marginal, marginal, sample_weights


class FittedAttributes:
    """Base of :class:`confidently.OnlineClassifier`, whose docstring lists the attributes."""

    learner_: Learner
    classes_: np.ndarray

    @property
    def coef_(self) -> NDArray[np.float64]:
        return self._fitted.mean()[:, : self._fitted.n_features]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        return self._intercept_of(self._fitted.mean())

    @property
    def variance_(self) -> NDArray[np.float64]:
        return self._fitted.variance()[:, : self._fitted.n_features]

    @property
    def intercept_variance_(self) -> NDArray[np.float64]:
        return self._intercept_of(self._fitted.variance())

    def _intercept_of(self, weights: np.ndarray) -> NDArray[np.float64]:
        return weights[:, -1].copy() if self._fitted.settings.fit_intercept else np.zeros(len(weights))

    @property
    def covariance_(self) -> Any:
        if self._fitted.settings.covariance == "diag":
            return diags_array(self._fitted.column_variances().ravel())
        covariance = self._fitted.covariance()
        return covariance if self._fitted.settings.task == "one-vs-rest" else covariance[0]

    def marginal(self, label: Any = None) -> Marginal:
        """The Gaussian over one class's weights: deviations, correlations, principal axes, samples.

        Parameters
        ----------
        label : object, optional
            One of ``classes_``; left out for two classes, which share their weights.

        Returns
        -------
        Marginal
            Weights in the order of ``coef_``, the intercept last; for sets of labels, minus the calibration label's.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> from confidently import OnlineClassifier
        >>> marginal = OnlineClassifier("arow", "full").fit(X / X.std(axis=0), y).marginal()
        >>> round(marginal.correlation(0, 3), 2)  # mean radius and mean area: the two can stand in for each other
        -0.31
        """
        if self._fitted.settings.task == "binary":
            return marginal(self._fitted, 0)
        places = [k for k, known in enumerate(self.classes_) if known == label]
        if not places:
            raise ValueError(f"label must be one of {list(self.classes_)}, got {label!r}")
        return marginal(self._fitted, places[0])

    def sample_weights(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> np.ndarray:
        """Classifiers drawn from the posterior: (n, 1 or n_classes, n_features + intercept), the intercept last."""
        check_is_fitted(self)
        return sample_weights(self.learner_, n, np.random.default_rng(random_state))

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        return self._fitted.dual()[0]

    @property
    def support_vectors_(self) -> Any:
        return self._fitted.dual()[1]

    @property
    def n_seen_(self) -> int:
        return self._fitted.n_seen

    @property
    def mistakes_(self) -> int:
        return self._fitted.mistakes

    @property
    def updates_(self) -> int:
        return self._fitted.updates

    @property
    def infeasible_(self) -> int:
        return self._fitted.infeasible

    @property
    def _fitted(self) -> Learner:
        if "learner_" not in vars(self):
            raise AttributeError("the classifier has learned nothing yet: call fit or partial_fit")
        return self.learner_
