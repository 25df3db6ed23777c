"""Regressors of dicts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from river import base, proba

from ...covariances.names import RANK
from ...learner.dict_numbers import NumberRows
from ...rules.ranges import check_choice
from ...rules.rule import Rule
from ...similar import hinting
from ...stack.dict_rows import NumberStackRows
from ...tasks.targets import Bounds, check_bounds
from ...views.table import make_view
from ...views.view import View
from ..parameters import recipe_of
from .rows import OnDicts, StackOnDicts, WeightsByName


class DictRegressor(OnDicts, base.MiniBatchRegressor):
    """Base of the regressors of one number per row."""

    _rows: NumberRows | NumberStackRows

    def learn_one(self, x: Mapping[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Train on one row.

        Parameters
        ----------
        x : dict
            Features by name.
        y : float
            The row's number.
        w : float
            Weight >= 0 of the row; 0 has the same effect as leaving out the row.

        Raises
        ------
        ValueError
            For values that are not numbers, strings, dates or None, or infinite; the regressor is then unchanged.
        """
        self._rows.learn(x, y, w)

    def predict_one(self, x: Mapping[Hashable, Any], with_dist: bool = False, **kwargs: Any) -> Any:
        """Return the expected number of a row; with ``with_dist`` a :class:`river.proba.Gaussian` around it."""
        if not with_dist:
            return self._rows.predict(x)
        mean, variance = self._rows.distribution(x)
        return proba.Gaussian._from_state(n=1, m=mean, var=variance, ddof=0)

    def predict_interval_one(self, x: Mapping[Hashable, Any], coverage: float = 0.9) -> tuple[float, float]:
        """Return the limits between which the number of a row lies with a probability of ``coverage``.

        See :meth:`confidently.OnlineRegressor.predict_interval`. Until enough rows were learned, they are infinite.

        Raises
        ------
        ValueError, TypeError
            For a coverage outside (0, 1).
        """
        return self._rows.interval(x, coverage)


class OnlineRegressor(WeightsByName, DictRegressor):
    """Online linear regression with a Gaussian over its weights, for River.

    See :class:`confidently.OnlineRegressor`, which learns the same from arrays. With ``covariance="full"`` and the rule
    "ridge" it is ridge regression on all rows so far, exactly, with an intercept that has no prior.

    Parameters
    ----------
    rule : str or Rule, default="ridge"
        Update rule: a name in ``confidently.REGRESSION_RULES`` or a rule such as ``Quantile(tau=0.9)``.
    covariance : str, default="diag"
        How Sigma is stored: "diag" for any number of features, "full" for up to some hundred. Not "kernel".
    prior_variance : float, default=1.0
        Variance of every weight before training; > 0.
    fit_intercept : bool, default=True
        Learn an intercept.
    average : bool, default=False
        Predict with the mean of the weights over all rows seen.
    min_variance : float, default=1e-12
        Lower bound of every variance, as a fraction of the prior variance; in [1e-20, 1).
    dtype : {"float64", "float32"}, default="float64"
        Type of the state.
    calibration : {"progressive", None}, default="progressive"
        Variances of predictions by the errors made in training, or by the noise that the rule assumes.
    forget, projection, rank, view, hash_bits
        As of :class:`OnlineClassifier`.
    bounds
        As of :class:`confidently.OnlineRegressor`.

    Raises
    ------
    ValueError, TypeError
        At construction, for invalid parameters.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | OnlineRegressor(covariance="full")
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.891071
    """

    _rows: NumberRows

    @hinting
    def __init__(
        self,
        rule: str | Rule = "ridge",
        covariance: str = "diag",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        average: bool = False,
        min_variance: float = 1e-12,
        dtype: str = "float64",
        calibration: str | None = "progressive",
        forget: float = 0.0,
        projection: str | None = None,
        rank: int = RANK,
        view: str | View | Sequence[str | View] | None = None,
        hash_bits: int | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.bounds = bounds
        super().__init__(
            rule, covariance, prior_variance, fit_intercept, None, average, min_variance, dtype, calibration, forget,
            projection, rank, view, hash_bits,
        )  # fmt: skip

    def _new_rows(self) -> NumberRows:
        check_choice("calibration", self.calibration, ("progressive", None))
        recipe = recipe_of(self, make_view(self.view), targets=True)
        return NumberRows(recipe, self.calibration is not None, self.hash_bits)

    def _estimator(self) -> dict[str, Any]:
        return {"covariance": self.covariance, "calibration": self.calibration}


class AutoRegressor(StackOnDicts, DictRegressor):
    """Several online regressions on different views of the same rows, and a mixture of these; nothing to tune.

    See :class:`confidently.AutoRegressor`, which learns the same from arrays. Rows and the choice of members are as for
    :class:`AutoClassifier`.

    Parameters
    ----------
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.
    bounds
        As of :class:`confidently.OnlineRegressor`.
    trees : bool, default=True
        Whether there are members on boosted trees, where these can help. See :class:`confidently.Trees`.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), AutoRegressor(), metrics.MAE())
    MAE: 0.291691
    """

    _rows: NumberStackRows
    _kind = NumberStackRows

    @hinting
    def __init__(self, dtype: str = "float64", bounds: Bounds | None = None, trees: bool = True) -> None:
        self.bounds = bounds
        super().__init__(dtype, trees)

    def _new_rows(self) -> NumberStackRows:
        return NumberStackRows(self.dtype, bounds=check_bounds(self.bounds), trees=self.trees)
