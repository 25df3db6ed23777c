"""Frozen regressors with what scikit-learn's linear models have: coefficients and intercepts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import validate_data

from ..models.regression_form import RegressionForm
from ..rules.ranges import UNIT, check_number
from ..tasks.targets import Prediction, interval, standard_deviation
from .frozen import score_variances


class LinearRegressionPredictor(RegressorMixin, BaseEstimator):
    """Frozen linear regression, created by :meth:`confidently.OnlineRegressor.to_sklearn`.

    Like scikit-learn's ``FrozenEstimator`` it does not change: ``fit`` does nothing, and a clone is the predictor
    itself. It pickles without the state that training needs.

    Parameters
    ----------
    form : RegressionForm
        The coefficients, of ``confidently.models.regression_form.regression_form``.
    calibrated : bool
        Whether deviations and intervals are made of the errors of the predictions in training.
    one_dimensional : bool
        Whether targets have one dimension.
    feature_names : sequence of str, optional

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn's linear regressions.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from confidently import OnlineRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> regressor = OnlineRegressor().fit(X, y)
    >>> predictor = regressor.to_sklearn()
    >>> predictor.coef_.shape, bool(np.allclose(predictor.predict(X), regressor.predict(X)))
    ((10,), True)
    """

    def __init__(
        self, form: RegressionForm, calibrated: bool = True, one_dimensional: bool = True, feature_names: Any = None
    ) -> None:
        self.form = form
        self.calibrated = calibrated
        self.one_dimensional = one_dimensional
        self.feature_names = feature_names
        whole = form.intercept + form.settings.task.offset(form.settings.rule, form.targets)
        self.coef_ = form.coef[0] if one_dimensional else form.coef
        self.intercept_ = float(whole[0]) if one_dimensional else whole
        self.n_features_in_ = form.coef.shape[1]
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)

    def fit(self, X: Any, y: Any = None) -> LinearRegressionPredictor:
        """Do nothing and return the predictor."""
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected targets; with ``return_std`` also the standard deviations around them."""
        found = self._predicted(X)
        if not return_std:
            return self._shaped(found.mean)
        return self._shaped(found.mean), self._shaped(self._deviation(found))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return central intervals that contain the targets with a probability, shape (n, 2) or (n, n_outputs, 2)."""
        check_number("predict_interval", "coverage", coverage, UNIT)
        form = self.form
        limits = interval(form.settings.rule, form.targets, self._predicted(X), coverage, self.calibrated)
        return limits[:, 0] if self.one_dimensional else limits

    def _predicted(self, X: Any) -> Prediction:
        rows, form = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False), self.form
        scores = np.asarray(rows @ form.coef.T) + form.intercept
        v = np.broadcast_to(score_variances(form.spread, rows), scores.shape)
        return form.settings.task.prediction(form.settings.rule, form.targets, scores, v)

    def _deviation(self, found: Prediction) -> np.ndarray:
        return standard_deviation(self.form.settings.rule, self.form.targets, found, self.calibrated)

    def _shaped(self, numbers: np.ndarray) -> np.ndarray:
        return numbers[:, 0] if self.one_dimensional else numbers

    def __sklearn_clone__(self) -> LinearRegressionPredictor:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags
