"""The regressor with one Gaussian: its parameters, its learner, its predictions and what is known about its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..covariances.names import AUTO, RANK
from ..covariances.table import COVARIANCES, kind_of
from ..learner.learner import Learner
from ..learner.posterior import Marginal
from ..models.model import Model
from ..rules import REGRESSION_RULES, make_rule
from ..rules.ranges import check_choice
from ..rules.rule import Rule
from ..similar import hinting
from ..tasks.targets import Bounds, check_bounds
from ..views.center import MEAN, Center
from ..views.view import View
from .base_regressor import BaseOnlineRegressor
from .gaussian import GaussianEstimator
from .parameters import saved_training

if TYPE_CHECKING:
    from onnx import ModelProto

    from .frozen import LinearRegressionPredictor


class OnlineRegressor(GaussianEstimator, BaseOnlineRegressor[Learner]):
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
        matrix for all numbers per row, "low_rank" a diagonal and the ``rank`` directions about which most is known, and
        "kernel" coefficients of the training examples. By default "full" for up to 1,000 columns, otherwise "diag".
        With several numbers per row, "full" is "shared".
    prior_variance : float, default=1.0
        Variance of every weight before training; > 0. With ``rule="ridge"``, in units of the variance of the noise
        divided by ``r``.
    fit_intercept : bool, default=True
        Learn an intercept. With squared loss and a full or shared covariance, rows and targets are centered by their
        running means, which is exact and without a prior on the intercept. Otherwise, and with ``forget``, every row
        has a constant feature 1, and the mean of the first 128 targets is subtracted from all.
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
        its target was used, or the noise that the rule assumes, in units of the standard deviation of the targets:
        ``r`` times their variance. ``Ridge(r=None)`` with None gives the exact Student t distribution of Bayesian
        regression with unknown noise.
    rows_per_product, device, kernel, kernel_params, budget, forget, projection, rank
        As in :class:`OnlineClassifier`.
    view : str, View or list of these, optional
        What the learner sees of a row, as in :class:`OnlineClassifier`, but not "auto". By default rows are learned as
        they are, as ``confidently train --rule ridge`` does: least squares with a full covariance centers them, and
        rows of unit norm, which suit classes, would lose the length on which numbers depend.
    bounds : tuple of float or None, optional
        The least and the largest possible target, such as ``(0, 1)`` for shares, ``(0, None)`` for prices or
        ``(None, None)`` for none. Predictions and limits stay within; a target beyond them is an error. By default, no
        prediction or limit is negative as long as no target was.
    coverage_by : str or int, optional
        The column by whose values :meth:`predict_interval` covers: intervals of rows with each value contain the target
        as often as is asked for. Its name; or its number in an array. Up to 256 values have errors of their own; rows
        with others, or with values of few rows, are compared with all of these together.
    encoder : str, object or callable, optional
        What makes a vector of a text; ``X`` is then a list of texts or a column of a frame. An object with ``encode``
        or ``embed`` of a list of texts, as those of sentence-transformers, model2vec and wordllama, a function of one,
        or "wordllama", which an extra installs. Arrays are taken for its vectors. The vectors of the last texts are
        kept; a blank text is a row of zeros. A model file has its name and answers by which it is recognized.
    verbose : bool, default=False
        Whether training shows a bar of the rows done, on standard error or in the notebook.

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
    feature_importances_ : ndarray of shape (n_features,)
        The part of each feature in the squared effects on scores, (mean of the weight)^2 times the precision that rows
        have added; they add up to 1. Of tables read by columns, one per column.
    alarms_, rows_since_alarm_ : int
        How often the errors said that the order of the rows matters, at level .01, and the rows since the last time.
    alarm_columns_ : list or None
        The columns that moved near the last drift alarm, by name or number; empty if none did, so that what depends on
        the columns changed, not these. None: there was no alarm, or the columns are not known (yet).
    moved_columns_ : dict or None
        The row at which each column moved last, of those that did. If rows come in random order, any does with a
        probability of about .01. None: there are more than 256 columns, or the model is merged.
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
    of every group of them; with ``coverage_by``, of those with each value of a column.

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

    stream_methods = (*BaseOnlineRegressor.stream_methods, "margin_distribution")

    @hinting
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
        rank: int = RANK,
        view: str | View | Sequence[str | View] | None = None,
        bounds: Bounds | None = None,
        coverage_by: str | int | None = None,
        encoder: Any = None,
        verbose: bool = False,
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
        self.rank = rank
        self.view = view
        self.bounds = bounds
        self.coverage_by = coverage_by
        self.encoder = encoder
        self.verbose = verbose

    # --- the learner ---------------------------------------------------------------------------------------------

    def _check_parameters(self, partial: bool) -> None:
        rule = make_rule(self.rule)
        if not rule.predicts_numbers:
            raise ValueError(
                f"the rule {rule.name!r} predicts classes; expected one of {', '.join(REGRESSION_RULES)}, or use "
                "OnlineClassifier"
            )
        check_choice("covariance", self.covariance, (AUTO, *COVARIANCES))
        check_bounds(self.bounds)
        super()._check_parameters(partial)

    def _follow_parameters(self) -> None:
        self._check_bounds()
        super()._follow_parameters()

    def _saved_parameters(self) -> dict[str, Any]:
        own = {"covariance": self.covariance, "calibration": self.calibration, **saved_training(self)}
        return own | {"one_dimensional": self._one_dimensional}

    def _take_model(self, model: Model) -> Self:
        """Continue with the learner of a model; ``ValueError``: it is not what these parameters train."""
        super()._take_model(model)
        self._check_parameters(partial=False)
        self._follow_parameters()
        wanted, _ = self._wanted(model.learner)
        if wanted.task != model.learner.task:
            raise ValueError(f"the task {model.learner.task.name!r} where {wanted.task.name!r} is trained")
        return self

    # --- scores --------------------------------------------------------------------------------------------------

    def margin_distribution(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of the scores of a regression drawn from the Gaussian over weights.

        Returns
        -------
        mean, variance : ndarray of shape (n,) or (n, n_outputs)
            The mean without the noise of targets; with a log link, of the logarithm of the rate. The variance is in the
            units of the rule.
        """
        found = self._answer(lambda matrix: self._learner_for(matrix).score_distribution(matrix), X)
        return self._centered_scores(found)

    def _centered_scores(self, found: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        (scores, variances), settings = found, self._fitted.settings
        return self._shaped(scores + settings.task.offset(settings.rule, self._targets())), self._shaped(variances)

    def _apply(
        self, method: str, matrix: Any, learner: Learner, coverage: float, values: list[str] | None = None
    ) -> Any:
        if method == "margin_distribution":
            return self._centered_scores(learner.score_distribution(matrix))
        return super()._apply(method, matrix, learner, coverage, values)

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
        mean, found = learner.mean(), learner.settings.task.offset(learner.settings.rule, self._targets())
        if learner.task.centered:
            found = found - mean @ learner.state[MEAN][: learner.width]
        elif learner.settings.fit_intercept:
            found = found + mean[:, -1]
        return self._of_outputs(found)

    @property
    def noise_variance_(self) -> Any:
        return self._of_outputs(self._targets().noise_factor() * self._fitted.settings.rule.noise_variance())

    def _weights(self, numbers: NDArray[np.float64]) -> NDArray[np.floating]:
        """Return numbers of all weights without those of the intercept, in the type of the state."""
        return self._of_outputs(self._as_stored(numbers[:, : self._fitted.width]))

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
            For a kernel, and with a view other than the centering of rows; with ``coverage_by``, whose intervals need
            the values of rows.
        """
        from .frozen import LinearRegressionPredictor, not_linear  # only here, to save start-up time

        check_is_fitted(self)
        if self.learner_.groups is not None:
            raise ValueError("to_sklearn: intervals by the values of a column are not exported; use coverage_by=None")
        view = self.learner_.view
        if view is not None and not isinstance(view, Center):
            raise not_linear(view)
        form = self._linear_form(centered=view is not None)
        return LinearRegressionPredictor(form, self._one_dimensional, getattr(self, "feature_names_in_", None))

    def to_onnx(self, dtype: str = "float32") -> ModelProto:
        """Return the predictor as an ONNX graph (opset 17), for any runtime; needs the extra ``onnx``.

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
        return self._graph(dtype)
