"""The regressor with one Gaussian: its parameters, its learner, its predictions and what is known about its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..covariances.names import AUTO
from ..covariances.settings import DTYPES, Settings
from ..covariances.table import kind_of, resolved
from ..data import Stream
from ..data.column_advice import warn_of_array_columns
from ..data.features import Features
from ..data.memory.labels import example_weights, training_of
from ..data.memory.matrix import UnsortedColumns, as_matrix
from ..data.selection import columns_of_first
from ..learner.learner import Learner
from ..learner.posterior import Marginal
from ..learner.regression import Prediction, Targets, interval, offset, standard_deviation
from ..learner.regression_settings import ROWS_TO_CHOOSE, automatic_covariance, one_output, regression_settings
from ..learner.streams import StreamLearner
from ..models.regression import RegressionModel
from ..rules import REGRESSION_RULES, RegressionRule, make_rule
from ..rules.ranges import UNIT, check_choice, check_number
from ..rules.rule import Rule
from ..views.center import MEAN, Center
from ..views.columns import ZERO, Columns
from ..views.table import make_view
from ..views.view import View
from .estimator import OnlineEstimator
from .parameters import (
    REGRESSION_SHARED,
    check_passes,
    check_unchanged,
    nested_params,
    saved_regression,
    set_nested,
)
from .streams import batches_of, check_stream, check_values_kept

if TYPE_CHECKING:
    from onnx import ModelProto

    from .frozen_regressor import LinearRegressionPredictor

STREAM_METHODS = ("predict", "predict_std", "predict_interval", "margin_distribution")


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
        1, and the mean of the first 128 targets is subtracted from all.
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
        rule, name = make_rule(self.rule), automatic if self.covariance == AUTO else self.covariance
        assert isinstance(rule, RegressionRule)  # as was checked
        others = {name: getattr(self, name) for name in REGRESSION_SHARED}
        return regression_settings(rule, name, self.fit_intercept, make_view(self.view), n_outputs, **others)

    def _new_learner(self, n_features: int, n_outputs: int, n_columns: int | None = None) -> Learner:
        """Return an untrained learner; ``n_columns``: of the first rows of a stream, whose features are not known."""
        names = getattr(self, "feature_names_in_", None)
        columns = Columns.alike(n_features, ZERO, None if names is None else list(names))
        automatic = automatic_covariance(n_features if n_columns is None else n_columns)
        settings, view = self._settings(automatic, n_outputs)
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
            for name in ("learner_", "source_", "features_"):
                self.__dict__.pop(name, None)
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

    # --- training on files ---------------------------------------------------------------------------------------

    def fit_stream(self, stream: Stream, progress: bool = False) -> Self:
        """Train from scratch, in one pass over a stream.

        With ``covariance="auto"`` the columns of the first 1,000 rows decide.

        Parameters
        ----------
        stream : Stream
            Of :func:`confidently.data.open_stream` with ``targets=True``, from which nothing has been read. Tables of
            numbers are read as they are, with ``normalize="none", zeros=True``.
        progress : bool
            Show a progress bar on standard error or, in a notebook, below the cell.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError
            For invalid data, with its location; the estimator is then unchanged.
        ValueError, TypeError
            For invalid parameters, or something else than a stream of targets.

        Examples
        --------
        >>> import tempfile
        >>> from confidently.data import open_stream
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("label,a\\n" + "".join(f"{2.5 * a + 1},{a}\\n" for a in range(50)))
        ...     file.flush()
        ...     model = OnlineRegressor(prior_variance=1e6).fit_stream(
        ...         open_stream(file.name, targets=True, normalize="none", zeros=True)
        ...     )
        ...     [found] = model.predict_stream(file.name)
        >>> found[:3].round(3).tolist()
        [1.0, 3.5, 6.0]
        """
        with training_of(self):
            self._check_parameters()
            check_stream(stream, self.passes)
            if not stream.targets:
                raise ValueError("the stream has classes, not targets; open it with targets=True")
            for name in ("learner_", "source_", "features_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            features = Features(bounded=not stream.reading.vocabulary) if stream.reading.named else None
            return self._learn_stream(stream, None, features, progress)

    def partial_fit_stream(self, paths: Any, *, progress: bool = False, **options: Any) -> Self:
        """Train on more files, which are read as those of :meth:`fit_stream` were.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known.
        progress : bool
            As for :meth:`fit_stream`.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data; the estimator is then unchanged.
        """
        check_is_fitted(self)
        if self.learner_.n_classes > 1:
            raise ValueError(f"rows of files have one target, the regressor has {self.learner_.n_classes} outputs")
        with training_of(self), self._open(paths, targets=True, **options) as stream:
            self._check_parameters()
            self._follow_parameters()
            features = deepcopy(getattr(self, "features_", None))
            return self._learn_stream(stream, deepcopy(self.learner_), features, progress)

    def predict_stream(
        self, paths: Any, method: str = "predict", *, strict: bool = False, **options: Any
    ) -> Iterator[Any]:
        """Predict the rows of files batch by batch, in memory that does not grow with the files.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known. Labels are
            ignored.
        method : {"predict", "predict_std", "predict_interval", "margin_distribution"}
            What to compute: predictions, pairs of predictions and standard deviations, 90 % intervals, or mean and
            variance of scores. The weights of unseen features have mean 0 and the prior variance.
        strict : bool
            Formats with named columns: whether files must have the columns of training, as in
            :meth:`OnlineClassifier.predict_stream`.

        Yields
        ------
        array, or pair of arrays
            What the method returns for the next rows.

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data.
        """
        check_is_fitted(self)
        check_choice("method", method, STREAM_METHODS)

        def answer(matrix: Any, learner: Learner) -> Any:
            if method == "margin_distribution":
                return self._centered_scores(learner.score_distribution(matrix))
            found = learner.number_distribution(matrix)
            if method == "predict_interval":
                return self._intervals(found, 0.9)
            mean = self._shaped(found.mean)
            return mean if method == "predict" else (mean, self._shaped(self._deviations(found)))

        yield from self._predict_stream(paths, answer, strict, options)

    def _learn_stream(self, stream: Stream, learner: Learner | None, features: Features | None, progress: bool) -> Self:
        with batches_of(stream, progress) as batches:
            if learner is None:
                n_columns, batches = columns_of_first(batches, ROWS_TO_CHOOSE)
                learner = self._new_learner(0, 1, n_columns)
                check_values_kept(learner.view, stream.reading)
                self._one_dimensional = True
            learning = StreamLearner(learner, one_output(), None, features, stream.reading)
            for _ in learning.learn(batches):
                pass
        learner.undoes = True
        return self._keep_stream(stream, learning)

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
        return self._shaped(found.mean), self._shaped(self._deviations(found))

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
        return self._intervals(self._predicted(X), coverage)

    def margin_distribution(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of the scores of a regression drawn from the Gaussian over weights.

        Returns
        -------
        mean, variance : ndarray of shape (n,) or (n, n_outputs)
            The mean without the noise of targets; with a log link, of the logarithm of the rate. The variance is in the
            units of the rule.
        """
        return self._centered_scores(self._answer(lambda matrix: self.learner_.score_distribution(matrix), X))

    def _centered_scores(self, found: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        scores, variances = found
        return self._shaped(scores + offset(self._settled(), self._targets())), self._shaped(variances)

    def _deviations(self, found: Prediction) -> NDArray[np.float64]:
        return standard_deviation(self._settled(), self._targets(), found, self.calibration is not None)

    def _intervals(self, found: Prediction, coverage: float) -> NDArray[np.float64]:
        limits = interval(self._settled(), self._targets(), found, coverage, self.calibration is not None)
        return limits[:, 0] if self._is_one_dimensional() else limits

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

    # --- export --------------------------------------------------------------------------------------------------

    def to_sklearn(self) -> LinearRegressionPredictor:
        """Return a frozen copy of the coefficients, without the state that training needs.

        Returns
        -------
        LinearRegressionPredictor
            With ``coef_``, ``intercept_``, ``predict`` and ``predict_interval`` that agree with this regressor's.

        Raises
        ------
        ValueError
            For a kernel, and with a view other than the centering of rows.
        """
        from ..models.regression_form import regression_form  # only here, to save start-up time
        from .frozen_regressor import LinearRegressionPredictor

        check_is_fitted(self)
        view = self.learner_.view
        if view is not None and not isinstance(view, Center):
            views = ",".join(one.name for one in view.views)
            raise ValueError(
                f"the view {views} changes rows before they are scored, which coefficients cannot; use to_onnx, or "
                "save and load the model"
            )
        form = regression_form(self.learner_, centered=view is not None)
        names = getattr(self, "feature_names_in_", None)
        return LinearRegressionPredictor(form, self.calibration is not None, self._is_one_dimensional(), names)

    def to_onnx(self, dtype: str = "float32") -> ModelProto:
        """Return the predictor as an ONNX graph (opset 17), for any runtime; needs ``pip install confidently[onnx]``.

        Parameters
        ----------
        dtype : {"float32", "float64"}
            Of the input ``X``, shape (n, n_features), of all numbers within, and of the outputs.

        Returns
        -------
        onnx.ModelProto
            With the outputs ``variable``, the predictions, and ``std``, their standard deviations; both have the shape
            (n, n_outputs).

        Raises
        ------
        ImportError
            If ONNX is not installed.
        ValueError
            For a kernel.
        """
        from ..models.regression_form import regression_form  # only here, to save start-up time
        from ..models.regression_onnx import regression_to_onnx

        check_is_fitted(self)
        known = self.learner_.settings.rule.get_params().get("r", 1.0) is not None
        factor = self._targets().noise_factor()
        factor = np.ones_like(factor) if known and self.calibration is None else factor
        form = regression_form(self.learner_)
        return regression_to_onnx(self.learner_, form, factor, self._feature_names(), dtype)

    def as_model(self) -> RegressionModel:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        estimator = saved_regression(self) | {"one_dimensional": self._is_one_dimensional()}
        outputs = list(range(self.learner_.n_classes))
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        return RegressionModel(self.learner_, outputs, features, estimator, getattr(self, "source_", {}))
