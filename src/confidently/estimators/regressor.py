"""The regressor with one Gaussian: its parameters, its learner, its predictions and what is known about its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..covariances.settings import DTYPES, Settings
from ..covariances.table import kind_of, resolved
from ..data.column_advice import warn_of_array_columns
from ..data.features import Features
from ..data.memory.labels import example_weights, training_of
from ..data.memory.matrix import UnsortedColumns, as_matrix
from ..learner.learner import Learner
from ..learner.posterior import Marginal
from ..learner.regression import Prediction, Targets, deviation, interval, offset
from ..models.regression import RegressionModel
from ..rules import REGRESSION_RULES, RegressionRule, make_rule
from ..rules.ranges import UNIT, check_choice, check_number
from ..rules.rule import Rule
from ..views.center import MEAN, Center
from ..views.columns import ZERO, Columns
from ..views.table import make_view
from ..views.view import View
from ..wording import counted
from .estimator import OnlineEstimator
from .parameters import (
    REGRESSION_SHARED,
    check_passes,
    check_unchanged,
    nested_params,
    saved_regression,
    set_nested,
)

MAX_FULL = 1000  # columns up to which covariance="auto" stores the covariances of all weights
AUTO = "auto"


class OnlineRegressor(RegressorMixin, OnlineEstimator[Learner]):
    """Online linear regression with a Gaussian over its weights, and predictive intervals.

    For every example (x, y) the update *rule* maps the score s = mean.x, its variance v = x' Sigma x and the target y
    to (alpha, zeta), and the Gaussian moves::

        mean     <-  mean + alpha Sigma x
        Sigma^-1 <-  Sigma^-1 + zeta x x'

    With the rule "ridge" and a full covariance this is ridge regression: after any number of rows, in any cut of the
    stream, ``coef_`` and ``intercept_`` are those of scikit-learn's ``Ridge(alpha=r/prior_variance)`` on all of them.

    Parameters
    ----------
    rule : str or Rule, default="ridge"
        Update rule: a name in ``confidently.REGRESSION_RULES`` or a rule such as ``Quantile(tau=0.9)``. Its parameters
        are available as ``rule__r`` and so on. They are in units of the standard deviation of the targets so far, which
        is learned with them.
    covariance : str, default="auto"
        How Sigma is stored: "full" has the covariances of all weights, "diag" one variance per weight, "shared" one
        matrix for all numbers per row, and "kernel" coefficients of the training examples. By default "full" for up to
        1,000 columns, otherwise "diag". With several numbers per row, "full" is "shared".
    prior_variance : float, default=1.0
        Variance of every weight before training; > 0. With ``rule="ridge"``, in units of the variance of the noise
        divided by ``r``.
    fit_intercept : bool, default=True
        Learn an intercept. With squared loss and a full or shared covariance, rows and targets are centered by their
        running means, which is exact and without a prior on the intercept. Otherwise every row has a constant feature
        1, and the mean of the targets before is subtracted from them.
    passes : int, default=1
        Number of passes of :meth:`fit` over the rows.
    shuffle : bool, default=False
        Whether :meth:`fit` visits the rows in a new random order in each pass, or in the given order.
    average : bool, default=False
        Predict with the mean of the weights over all rows seen.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    dtype : {"float64", "float32"}, default="float64"
        Type of the state, and of ``coef_`` and the other attributes about the Gaussian.
    calibration : {"progressive", None}, default="progressive"
        What intervals and standard deviations are made of: the errors of the predictions made in training, each before
        its target was used, or the noise that the rule assumes. ``Ridge(r=None)`` with None gives the exact Student t
        distribution of Bayesian regression with unknown noise.
    rows_per_product, device, kernel, kernel_params, budget, forget, projection
        As in :class:`OnlineClassifier`.
    view : str, View or list of these, optional
        What the learner sees of a row, as in :class:`OnlineClassifier`. By default rows are learned as they are.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Mean of the weights.
    intercept_ : float or ndarray of shape (n_outputs,)
        What is predicted for a row of zeros; with ``rule="poisson"`` its logarithm.
    variance_ : ndarray of the shape of ``coef_``
        Variance of the weights, in the units of the rule.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        Estimated variance of targets around their prediction, without the uncertainty of the weights.
    rmse_, mae_ : float or ndarray of shape (n_outputs,)
        Progressive validation: root mean squared and mean absolute error of the predictions made in training, each
        before its target was used.
    n_seen_, updates_ : int
        Rows trained on, in all passes, and updates of the Gaussian.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.

    Notes
    -----
    Intervals are calibrated marginally: of all rows like those of the stream, the fraction ``coverage`` is inside, not
    of every group of them.

    References
    ----------
    Plackett (Biometrika 1950) on recursive least squares; Crammer et al. (JMLR 2006) on passive-aggressive regression;
    Kuleshov, Fenner & Ermon (ICML 2018) on calibrated regression; each rule names its own.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OnlineRegressor(prior_variance=100.0).fit(X[:400], y[:400])
    >>> mean, std = model.predict(X[400:], return_std=True)
    >>> round(model.score(X[400:], y[400:]), 2)
    0.69
    >>> low, high = model.predict_interval(X[400:], 0.9).T
    >>> round(float(np.mean((low <= y[400:]) & (y[400:] <= high))), 2)
    1.0
    """

    def __init__(
        self,
        rule: str | Rule = "ridge",
        covariance: str = AUTO,
        *,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        random_state: int | np.random.RandomState | None = None,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        rows_per_product: int | None = None,
        device: str | None = None,
        kernel: str | Callable[..., Any] = "rbf",
        kernel_params: dict[str, Any] | None = None,
        budget: int | None = None,
        forget: float = 0.0,
        projection: str | None = None,
        view: str | View | Sequence[str | View] | None = None,
    ) -> None:
        self.rule = rule
        self.covariance = covariance
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.shuffle = shuffle
        self.average = average
        self.random_state = random_state
        self.dtype = dtype
        self.calibration = calibration
        self.rows_per_product = rows_per_product
        self.device = device
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.budget = budget
        self.forget = forget
        self.projection = projection
        self.view = view

    # --- the learner ---------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        rule = make_rule(self.rule)
        if not isinstance(rule, RegressionRule):
            raise ValueError(
                f"the rule {rule.name!r} predicts classes; expected one of {', '.join(REGRESSION_RULES)}, or use "
                "OnlineClassifier"
            )
        if self.covariance != AUTO:
            kind_of(self.covariance)
        check_choice("dtype", self.dtype, DTYPES)
        check_choice("calibration", self.calibration, ("progressive", None))
        check_passes(self.passes)

    def _settings(self, automatic: str, n_outputs: int) -> tuple[Settings, View | None]:
        """Return the settings of a learner, and its view; ``automatic`` is the covariance for "auto"."""
        rule, view = make_rule(self.rule), make_view(self.view)
        name = automatic if self.covariance == AUTO else self.covariance
        kind = kind_of(name)
        if n_outputs > 1 and kind.keeps_examples:
            raise ValueError(
                f'covariance="{name}" predicts one number per row, got {counted(n_outputs, "column")} of targets; use '
                '"full" or "diag", or one regressor per column'
            )
        if n_outputs > 1 and kind.for_classes is not None:
            name = kind.for_classes
            kind = kind_of(name)
        own_centers = view is not None and any(isinstance(one, Center) for one in view.views)
        centered = self.fit_intercept and kind.couples_features and not kind.keeps_examples
        centered = centered and isinstance(rule, RegressionRule) and rule.squared_loss
        centered = centered and (view is None or view.keeps_columns)
        if centered and not own_centers:
            view = make_view([*(() if view is None else view.views), Center()])
        task = "centered-regression" if centered else "offset-regression" if self.fit_intercept else "regression"
        chosen = {name: getattr(self, name) for name in REGRESSION_SHARED}
        chosen |= {"rule": rule, "covariance": name, "task": task, "fit_intercept": self.fit_intercept and not centered}
        return Settings(**chosen), view

    def _new_learner(self, n_features: int, n_outputs: int) -> Learner:
        names = getattr(self, "feature_names_in_", None)
        columns = Columns.alike(n_features, ZERO, None if names is None else list(names))
        settings, view = self._settings("full" if n_features <= MAX_FULL else "diag", n_outputs)
        learner = Learner(settings, n_outputs, n_features, view=view, columns=columns, device=self.device)
        learner.undoes = False
        return learner

    def _follow_parameters(self) -> None:
        """Continue with a rule that was changed after the last call; nothing else can change."""
        learner = self.learner_
        settings, view = self._settings(learner.settings.covariance, learner.n_classes)
        wanted = resolved(settings, learner.n_features)
        followed = check_unchanged(learner.settings, wanted, learner.view == view)
        if wanted.rule != learner.settings.rule:
            self.learner_ = copy(learner)
            self.learner_.settings = followed

    # --- training ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch, in ``passes`` passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Finite numbers.
        y : array of shape (n,) or (n, n_outputs)
            Finite numbers; counts >= 0 for ``rule="poisson"``.
        sample_weight : array of shape (n,), optional
            Weights >= 0, which multiply the loss; 0 has the same effect as leaving out the row. With "ridge", a row of
            weight 2 counts as two equal rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input; the estimator is then unchanged.

        Warns
        -----
        confidently.data.DataWarning
            If a column looks like an id or a timestamp, or makes up nearly all of the squared length of the rows.
        """
        with training_of(self):
            self.__dict__.pop("learner_", None)
            return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on more rows, in one pass and in the given order.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input; the estimator is then unchanged.
        """
        with training_of(self):
            return self._learn(X, y, sample_weight, first=not hasattr(self, "learner_"), partial=True)

    def _learn(self, X: Any, y: Any, sample_weight: Any, first: bool, partial: bool = False) -> Self:
        self._check_parameters()
        X, y = self._validated(X, y, reset=first, multi_output=True, y_numeric=True)
        if y.ndim == 2 and y.shape[1] == 1 and not self.__sklearn_tags__().target_tags.multi_output:
            y = column_or_1d(y, warn=True)
        targets = np.ascontiguousarray(y, dtype=np.float64).reshape(len(y), -1)
        matrix = as_matrix(X, self.dtype, check=False)
        weight = None if sample_weight is None else example_weights(sample_weight, matrix.shape[0], partial)
        if first:
            self.learner_ = self._new_learner(matrix.shape[1], targets.shape[1])
            self._one_dimensional = y.ndim == 1
            names = getattr(self, "feature_names_in_", None)
            warn_of_array_columns(X, names, viewed=self.learner_.wants_columns)
        else:
            self._follow_parameters()
            if targets.shape[1] != self.learner_.n_classes:
                expected = self.learner_.n_classes
                raise ValueError(f"y has {targets.shape[1]} numbers per row, the regressor was trained on {expected}")
        generator = check_random_state(self.random_state)
        for number in range(1 if partial else self.passes):
            order = generator.permutation(matrix.shape[0]) if self.shuffle and not partial else None
            options: dict[str, Any] = {"weight": weight, "order": order, "calibrate": number == 0, "targets": targets}
            labels = np.zeros(matrix.shape[0], dtype=np.int32)
            try:
                self.learner_.learn(matrix, labels, **options)
            except UnsortedColumns:
                matrix = as_matrix(X, self.dtype)
                if not self.learner_.undoes:
                    self.learner_ = self._new_learner(matrix.shape[1], targets.shape[1])
                self.learner_.learn(matrix, labels, **options)
        self.learner_.undoes = True
        return self

    # --- prediction ----------------------------------------------------------------------------------------------

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> NDArray[np.float64]: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(
        self, X: Any, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected target of each row.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        return_std : bool
            Whether to return standard deviations too.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, n_outputs)
        std : ndarray of the same shape, if ``return_std``
            Standard deviation of the target around it: noise and uncertainty of the weights.
        """
        if not return_std:
            settings = self._settled()
            if not settings.rule.counts:
                return self._shaped(self._answer(lambda matrix: self.learner_.numbers(matrix), X))
        found = self._predicted(X)
        if not return_std:
            return self._shaped(found.mean)
        targets = self._targets()
        if self.calibration is None and self._settled().rule.get_params().get("r", 1.0) is not None:
            return self._shaped(found.mean), self._shaped(np.sqrt(found.spread))
        return self._shaped(found.mean), self._shaped(deviation(found, targets))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Return central intervals that contain the targets with a probability.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        coverage : float
            The probability, in (0, 1).

        Returns
        -------
        ndarray of shape (n, 2) or (n, n_outputs, 2)
            Lower and upper limits.

        Notes
        -----
        With ``calibration="progressive"``, they are quantiles of the standardized errors of the predictions made in
        training, the last few thousand of which count most.
        """
        check_number("predict_interval", "coverage", coverage, UNIT)
        found = self._predicted(X)
        limits = interval(self._settled(), self._targets(), found, coverage, self.calibration is not None)
        return limits[:, 0] if self._is_one_dimensional() else limits

    def margin_distribution(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of the scores of a regression drawn from the Gaussian over weights.

        Returns
        -------
        mean, variance : ndarray of shape (n,) or (n, n_outputs)
            The mean without the noise of targets; with a log link, of the logarithm of the rate. The variance is in the
            units of the rule.
        """
        scores, variances = self._answer(lambda matrix: self.learner_.score_distribution(matrix), X)
        center = scores + offset(self._settled(), self._targets())
        return self._shaped(center), self._shaped(variances)

    def _predicted(self, X: Any) -> Prediction:
        found: Prediction = self._answer(lambda matrix: self.learner_.number_distribution(matrix), X)
        return found

    def _answer(self, answer: Callable[[Any], Any], X: Any) -> Any:
        """Return what a function gives for rows, which are checked while they are scored where that is possible."""
        X = self._validated_rows(X)
        try:
            return answer(as_matrix(X, self.dtype, check=False))
        except UnsortedColumns:
            return answer(as_matrix(X, self.dtype))

    def _settled(self) -> Settings:
        check_is_fitted(self)
        return self.learner_.settings

    def _targets(self) -> Targets:
        return Targets.of(self._fitted.state["calibration"])

    def _is_one_dimensional(self) -> bool:
        return bool(getattr(self, "_one_dimensional", True)) and self._fitted.n_classes == 1

    def _shaped(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return numbers (n, n_outputs) in the shape of the targets."""
        return numbers[:, 0] if self._is_one_dimensional() else numbers

    # --- the Gaussian --------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> NDArray[np.floating]:
        return self._weights(self._fitted.mean())

    @property
    def variance_(self) -> NDArray[np.floating]:
        return self._weights(self._fitted.variance())

    @property
    def intercept_(self) -> Any:
        learner = self._fitted
        mean, found = learner.mean(), offset(learner.settings, self._targets())
        if learner.settings.task == "centered-regression":
            found = found - mean @ learner.state[MEAN][: learner.width]
        elif learner.settings.fit_intercept:
            found = found + mean[:, -1]
        return self._of_outputs(found)

    @property
    def noise_variance_(self) -> Any:
        rule = self._fitted.settings.rule
        assert isinstance(rule, RegressionRule)
        return self._of_outputs(self._targets().noise_factor() * rule.noise_variance())

    @property
    def rmse_(self) -> Any:
        targets = self._targets()
        return self._of_outputs(np.sqrt(targets.squared_errors / np.maximum(targets.predicted, 1.0)))

    @property
    def mae_(self) -> Any:
        targets = self._targets()
        return self._of_outputs(targets.absolute_errors / np.maximum(targets.predicted, 1.0))

    @property
    def updates_(self) -> int:
        return self._fitted.updates

    def _weights(self, numbers: NDArray[np.float64]) -> NDArray[np.floating]:
        """Return numbers of all weights without those of the intercept, in the type of the state."""
        found = numbers[:, : self._fitted.width].astype(self._fitted.dtype, copy=False)
        weights: NDArray[np.floating] = self._of_outputs(found)
        return weights

    def _of_outputs(self, numbers: NDArray[Any]) -> Any:
        """Return one entry per output in the shape of one target: of one output, the entry itself."""
        if not self._is_one_dimensional():
            return numbers
        return float(numbers[0]) if numbers.ndim == 1 else numbers[0]

    def marginal(self, output: int = 0) -> Marginal:
        """Return the Gaussian over one output's weights: standard deviations, correlations, principal axes, samples."""
        return self._fitted.marginal(output)

    def sample_weights(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> np.ndarray:
        """Draw regressions from the Gaussian: (n, n_outputs, n_features + intercept), the intercept last."""
        check_is_fitted(self)
        return self.learner_.sample_weights(n, np.random.default_rng(random_state))

    # --- scikit-learn --------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.covariance == AUTO or not kind_of(self.covariance).keeps_examples
        tags.target_tags.positive_only = make_rule(self.rule).counts
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``rule__r=0.1`` changes one of the rule's, ``view__n=500`` one of the view's."""
        super().set_params(**set_nested(self, params))
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also the rule's and the view's, as ``rule__...``."""
        params: dict[str, Any] = super().get_params(deep=False)
        return params | (nested_params(self) if deep else {})

    # --- files ---------------------------------------------------------------------------------------------------

    def as_model(self) -> RegressionModel:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        estimator = saved_regression(self) | {"one_dimensional": self._is_one_dimensional()}
        outputs = list(range(self.learner_.n_classes))
        features = None if names is None else Features.named(list(names))
        return RegressionModel(self.learner_, outputs, features, estimator)
