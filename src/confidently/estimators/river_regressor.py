"""The regressor for River's pipelines and metrics."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from river import base, proba

from ..learner.dict_numbers import NumberRows
from ..models.model import Model
from ..rules.ranges import check_choice
from ..rules.rule import Rule
from ..views.table import make_view
from ..views.view import View
from .parameters import recipe_of

if TYPE_CHECKING:
    import pandas as pd


class OnlineRegressor(base.MiniBatchRegressor):
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
    forget, projection, view, hash_bits
        As of :class:`OnlineClassifier`.

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
        view: str | View | Sequence[str | View] | None = None,
        hash_bits: int | None = None,
    ) -> None:
        self.rule = rule
        self.covariance = covariance
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.average = average
        self.min_variance = min_variance
        self.dtype = dtype
        self.calibration = calibration
        self.forget = forget
        self.projection = projection
        self.view = view
        self.hash_bits = hash_bits
        check_choice("calibration", calibration, ("progressive", None))
        self._rows = NumberRows(recipe_of(self, make_view(view), targets=True), calibration is not None, hash_bits)

    # --- one row ---------------------------------------------------------------------------------------------------

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
            For values that are not numbers, strings or None, or not finite; the regressor is then unchanged.
        """
        self._rows.learn(x, y, w)

    def predict_one(self, x: Mapping[Hashable, Any], with_dist: bool = False, **kwargs: Any) -> Any:
        """Return the expected number of a row; with ``with_dist`` a :class:`river.proba.Gaussian` around it."""
        if not with_dist:
            return self._rows.predict(x)
        mean, variance = self._rows.distribution(x)
        return proba.Gaussian._from_state(n=1, m=mean, var=variance, ddof=0)

    # --- several rows ----------------------------------------------------------------------------------------------

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Train on the rows of a data frame in their order; the result is that of ``learn_one`` on each."""
        self._rows.learn_frame(X, y)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the expected number of each row."""
        return self._rows.predict_frame(X)

    # --- what was learned --------------------------------------------------------------------------------------------

    @property
    def weights(self) -> dict[Any, float]:
        """Mean of every feature's weight by name."""
        return self._rows.weights("mean")

    @property
    def variances(self) -> dict[Any, float]:
        """Variance of every one of ``weights``, in the units of the rule."""
        return self._rows.weights("variance")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which :func:`confidently.load` reads.

        Its features are those seen, in the order of their appearance (``feature_names_in_``).

        Raises
        ------
        ValueError
            If names were hashed.
        """
        rows = self._rows
        rows.grow_features()
        estimator = {"covariance": self.covariance, "calibration": self.calibration}
        Model(rows.learner, [0], rows.features(), estimator).save(path)
