"""Merging estimators that were trained separately."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from sklearn.base import clone

from ..models.merged_learner import HOW
from ..models.stack_merging import merge_all
from ..rules.ranges import check_choice
from .base_classifier import BaseOnlineClassifier
from .base_regressor import BaseOnlineRegressor

MERGED = (BaseOnlineClassifier, BaseOnlineRegressor)
AnyOnline = TypeVar("AnyOnline", bound=BaseOnlineClassifier[Any] | BaseOnlineRegressor[Any])


def merge(models: Iterable[AnyOnline], base: AnyOnline | None = None, how: str = "product") -> AnyOnline:
    """Merge estimators that were trained separately, each on its fraction of the rows, into one.

    With precisions P = Sigma^-1 and the common starting point N(mean_0, P_0^-1)::

        P = P_0 + s sum_i (P_i - P_0),     P mean = P_0 mean_0 + s sum_i (P_i mean_i - P_0 mean_0)

    where s is 1 for the product, so that evidence adds and the starting point counts once, and 1/n for the mean.

    Parameters
    ----------
    models : iterable of OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor
        Fitted, all of one kind, with the same rule, covariance and view. Features are aligned by name, or by column
        where they have none; classes by name. A class that a model does not know is at the prior in that model.
    base : OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor, optional
        The estimator from which all of them continued; by default each started at the prior.
    how : {"product", "mean"}, default="product"
        Add what each has learned, or average it. A rule that keeps Sigma at its prior has its changes of the mean added
        or averaged.

    Returns
    -------
    OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor
        A new one, with the settings of the first; ``partial_fit`` continues it. Rows, mistakes and updates are added.

    Raises
    ------
    MergeError
        If the models differ in what must be the same, or do not come from the base; a ``ValueError``.
    TypeError
        If an argument is not a fitted estimator of these.

    Notes
    -----
    Training one classifier on all rows is better than merging, where it is possible. The ellipsoid rules multiply Sigma
    in every update; these factors are multiplied. Probabilities are calibrated by the margins in the merged models,
    which differ a little from the merged classifier's until its training continues.

    The order of the models changes predictions by rounding only. Sums are computed, and classes and features numbered,
    in the order of the models, so that the bytes of saved files differ.

    Regressions with the rule "ridge" and a full or shared covariance are merged exactly: weights, intercept, variances
    and the estimated noise are those of one pass over all rows, whatever the parts. Intervals are made of the errors of
    the parts.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from confidently import OnlineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> quarters = [OnlineClassifier("arow", view=None).fit(X[k:400:4], y[k:400:4]) for k in range(4)]
    >>> whole = merge(quarters)
    >>> whole.n_seen_, round(whole.score(X[400:], y[400:]), 2)
    (400, 0.98)
    """
    check_choice("how", how, HOW)
    models = list(models)
    for model in [*models, *([] if base is None else [base])]:
        if not isinstance(model, MERGED):
            raise TypeError(f"merge takes fitted classifiers or regressors, got {type(model).__name__}")
        if not hasattr(model, "learner_"):
            raise TypeError("merge takes fitted estimators, got one that is not fitted; call fit first")
    names = [f"model {k}" for k in range(1, len(models) + 1)]
    start = None if base is None else base.as_model()
    merged = merge_all([model.as_model() for model in models], names, start, "the base", how)
    whole: AnyOnline = clone(models[0])
    return whole._take_model(merged)
