"""Frozen predictors with what scikit-learn's linear models have: coefficients, intercepts and classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ..data.memory.matrix import as_matrix
from ..data.memory.validation import validated
from ..models.linear_form import LinearForm, Spread
from ..rules.ranges import UNIT, check_number
from ..tasks import calibration
from ..tasks.intervals import INPUTS
from ..tasks.targets import Prediction, interval, standard_deviation
from ..views.view import View


class FrozenLinear(BaseEstimator):
    """Base of the frozen predictors."""

    form: LinearForm
    coef_: Any
    intercept_: Any

    def _freeze(self, form: LinearForm, feature_names: Any) -> None:
        self.form, self.feature_names = form, feature_names
        self.coef_, self.intercept_ = form.coef, form.whole_intercept
        self.n_features_in_ = form.coef.shape[1]
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing and return the predictor."""
        return self

    def _rows(self, X: Any) -> Any:
        return validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _scores(self, rows: Any) -> np.ndarray:
        return np.asarray(rows @ self.form.coef.T) + self.form.intercept

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearPredictor(ClassifierMixin, FrozenLinear):
    """Frozen linear classifier, created by :meth:`confidently.OnlineClassifier.to_sklearn`.

    Like scikit-learn's ``FrozenEstimator`` it does not change: ``fit`` does nothing, and a clone is the predictor
    itself. It pickles without the state that training needs.

    Parameters
    ----------
    form : LinearForm
        The coefficients, of ``confidently.models.linear_form.linear_form``.
    feature_names : sequence of str, optional

    Attributes
    ----------
    classes_, coef_, intercept_
        As in scikit-learn's linear classifiers: one row of ``coef_`` for two classes, otherwise one per class.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from confidently import OnlineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = OnlineClassifier("arow", view=None).fit(X / X.max(axis=0), y)
    >>> predictor = classifier.to_sklearn()
    >>> predictor.coef_.shape, bool((predictor.predict(X) == classifier.predict(X)).all())
    ((1, 30), True)
    """

    def __init__(self, form: LinearForm, feature_names: Any = None) -> None:
        self._freeze(form, feature_names)
        self.classes_: Any = form.classes

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: shape (n,) for two classes, positive for ``classes_[1]``; otherwise (n, n_classes)."""
        return self._shaped(self._scores(self._rows(X)))

    def predict(self, X: Any) -> np.ndarray:
        """Return what the classifier predicts: classes, or in multilabel data an indicator matrix."""
        form, task = self.form, self.form.task
        by_probability = form.calibration is not None and task.decides_by_probability(form.calibration)
        p = self.predict_proba(X) if by_probability else None
        decided = task.decided(None if by_probability else self.decision_function(X), p, form.calibration)
        return decided.astype(int) if task.multilabel else self.classes_[decided]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, (n, n_classes); in multilabel data, of each label by itself."""
        rows, form, task, spread = self._rows(X), self.form, self.form.task, self.form.spread
        scores = self._scores(rows)
        if form.calibration is None:
            assert spread is not None  # on which uncalibrated probabilities depend
            return task.likely(
                self._shaped(scores), lambda: self._shaped(score_variances(spread, rows)), form.rule.score_noise()
            )
        if spread is not None:
            variances = score_variances(spread, rows)
            variances = _of_the_best_two(scores, variances) if task.several else variances
            scores = calibration.moderated(scores, variances, spread.prior)
        return task.probabilities(self._shaped(scores), form.calibration)

    def _shaped(self, scores: np.ndarray) -> np.ndarray:
        return scores[:, 0] if self.form.task.binary else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.form.task.multilabel
        return tags


class LinearRegressionPredictor(RegressorMixin, FrozenLinear):
    """Frozen linear regression, created by :meth:`confidently.OnlineRegressor.to_sklearn`.

    Like scikit-learn's ``FrozenEstimator`` it does not change: ``fit`` does nothing, and a clone is the predictor
    itself. It pickles without the state that training needs.

    Parameters
    ----------
    form : LinearForm
        The coefficients, of ``confidently.models.linear_form.linear_form``.
    one_dimensional : bool, default=True
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

    def __init__(self, form: LinearForm, one_dimensional: bool = True, feature_names: Any = None) -> None:
        self._freeze(form, feature_names)
        self.one_dimensional = one_dimensional
        if one_dimensional:
            self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected targets; with ``return_std`` also the standard deviations around them."""
        form, found = self.form, self._predicted(X)
        if not return_std:
            return self._shaped(found.mean)
        return self._shaped(found.mean), self._shaped(
            standard_deviation(form.rule, form.targets, found, form.calibrated)
        )

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return central intervals that contain the targets with a probability, shape (n, 2) or (n, n_outputs, 2)."""
        check_number("predict_interval", "coverage", coverage, UNIT)
        form, found = self.form, self._predicted(X)
        errors = form.conformal.error_limits(form.targets, coverage) if form.calibrated else None
        limits = interval(form.rule, form.targets, found, coverage, errors)
        return self._shaped(limits)

    def _predicted(self, X: Any) -> Prediction:
        rows, form = self._rows(X), self.form
        assert form.spread is not None  # which every regression has
        scores = self._scores(rows)
        variances = np.broadcast_to(score_variances(form.spread, rows), scores.shape)
        found = form.task.prediction(form.rule, form.targets, scores, variances)
        return found._replace(size=form.conformal.sizes(found.centers, self._seen(rows)))

    def _seen(self, rows: Any) -> Any:
        """Return the columns of rows that the noise depends on, as the learner has seen them."""
        columns = rows[:, : INPUTS - 1]
        columns = np.asarray(columns.toarray() if sparse.issparse(columns) else columns, np.float64)
        center = self.form.center
        return as_matrix(columns if center is None else columns - center[: INPUTS - 1])

    def _shaped(self, numbers: np.ndarray) -> np.ndarray:
        return numbers[:, 0] if self.one_dimensional else numbers

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def not_linear(view: View) -> ValueError:
    """Return the error that rows which this view changes have no coefficients."""
    names = ",".join(one.name for one in view.views)
    return ValueError(
        f"the view {names} changes rows before they are scored, which coefficients cannot; use to_onnx, save and load "
        "the model, or train with view=None"
    )


def score_variances(spread: Spread, rows: Any) -> np.ndarray:
    """Return the variance of every score, (n, columns); with a matrix, half that of any difference, (n, 1)."""
    if not spread.matrix:
        squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
        return np.asarray(squares @ spread.weights[:, :-1].T) + spread.weights[:, -1]
    matrix = spread.weights
    linear = np.asarray(rows @ matrix[:-1, :-1]) + 2.0 * matrix[-1, :-1]
    product = rows.multiply(linear).sum(axis=1) if sparse.issparse(rows) else (rows * linear).sum(axis=1)
    return np.maximum(np.asarray(product).reshape(-1, 1) + matrix[-1, -1], 0.0)


def _of_the_best_two(scores: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the variance of the difference between each row's two best scores."""
    if variances.shape[1] == 1:
        variances = np.repeat(variances, 2, axis=1)
    else:
        variances = np.take_along_axis(variances, np.argsort(-scores, axis=1, kind="stable")[:, :2], axis=1)
    return variances.sum(axis=1)
