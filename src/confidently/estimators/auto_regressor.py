"""The regressor with nothing to tune: several regressions on different views of the same rows, and their mixture."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..covariances.settings import DTYPES
from ..covariances.table import kind_of
from ..data.features import Features
from ..learner.recipe import automatic_covariance
from ..models.model import Model
from ..rules.ranges import check_choice
from ..stack.members import WEIGHTS, Plan, plan
from ..stack.number_choice import new_number_stack
from ..stack.number_stack import NumberStack
from ..views.columns import ZERO, Columns
from ..views.table import make_view
from .base_regressor import BaseOnlineRegressor
from .fitted import regressor_of
from .parameters import check_passes, check_shuffle, plain_training, recipe_of
from .regressor import OnlineRegressor
from .stack_members import check_members, take_columns

AUTO = "auto"


class AutoRegressor(BaseOnlineRegressor[NumberStack]):
    """Several online regressions on different views of the same rows, and a mixture of these; nothing to tune.

    With m_g the prediction of member g, sum_g w_g m_g is predicted. The members learn every row, each as its view shows
    it; the weights w_g, which add up to 1, are those with the least squared error of the predictions made before the
    targets were used, and forget rows older than about 5000. One pass is enough, and training can continue at any time.

    Parameters
    ----------
    members : "auto" or list of OnlineRegressor, default="auto"
        The members. "auto" chooses them by the columns of the first rows, at most 1000. All are ridge regressions: on
        the rows as they are; for tables of up to 1000 columns on 400 random cosines of the standardized columns, for
        three widths of a Gaussian kernel, and on products of two columns, for up to 64; for more than 1000 columns on
        rows of unit norm and on ``idf``. Of an OnlineRegressor, its rule, covariance and view count.
    passes : int, default=1
        Number of passes of :meth:`fit` over the rows; calibration and weights are learned in the first.
    shuffle : "auto" or bool, default="auto"
        Whether :meth:`fit` visits the rows in a new random order in each pass. "auto" is yes: the rows of an array are
        all there, and may be sorted. Use False for rows in the order of time, of which the last count most.
        ``partial_fit`` and streams are never shuffled.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling: with the same one, the same rows give the same model. None: another order each time.
    dtype : {"float64", "float32"}, default="float64"
        Type of the members' states.

    Attributes
    ----------
    members_ : dict of str to OnlineRegressor
        The members by name, as they are now. The ``coef_`` of "ridge on rows" are weights of the columns; of other
        members they are weights of what their view makes of a row: of products of two columns, which
        ``confidently inspect`` names, and of cosines, each of all columns.
    weights_ : ndarray of shape (n_members,)
        What each contributes to the mixture. They need not be positive.
    rmse_, mae_ : float
        Progressive validation: root mean squared and mean absolute error of the predictions made in training, each
        before its target was used.
    n_seen_ : int
        Rows trained on, in all passes.
    n_features_in_, feature_names_in_
        As in any scikit-learn estimator.
    source_, features_
        After training from files: how their rows were read, and the names of the features.

    Notes
    -----
    With "auto", the rows of the first call choose the members: give it a few hundred. The time per row does not depend
    on the number of rows; that of a table is about that of four regressions with 400 columns each.

    References
    ----------
    Wolpert, Stacked generalization, Neural Networks 5, 1992; Breiman, Stacked regressions, Machine Learning 24, 1996;
    Rahimi & Recht, Random features for large-scale kernel machines, NIPS 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(2000, noise=1.0, random_state=0)
    >>> model = AutoRegressor().fit(X[:1500], y[:1500])
    >>> round(model.score(X[1500:], y[1500:]), 2)
    0.9
    >>> list(model.members_)[:2]
    ['ridge on rows', 'ridge on products']
    """

    calibration = "progressive"

    def __init__(
        self,
        members: str | Sequence[OnlineRegressor] = AUTO,
        *,
        passes: int = 1,
        shuffle: bool | str = AUTO,
        random_state: int | np.random.RandomState | None = 0,
        dtype: str = "float64",
    ) -> None:
        self.members = members
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.dtype = dtype

    # --- the stack -----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_choice("dtype", self.dtype, DTYPES)
        check_passes(self.passes)
        check_shuffle(self.shuffle)
        if not isinstance(self.members, str) or self.members != AUTO:
            _check_members(self.members)

    def _new_learner(self, n_features: int, n_outputs: int, n_columns: int | None = None) -> NumberStack:
        if n_outputs != 1:
            raise ValueError(
                f"AutoRegressor predicts one number per row, got {n_outputs}; use one per number, or OnlineRegressor"
            )
        names = getattr(self, "feature_names_in_", None)
        columns = Columns.alike(n_features, ZERO, None if names is None else list(names))
        if isinstance(self.members, str):
            return new_number_stack(n_features, columns, self.dtype)
        seen = n_features if n_columns is None else n_columns
        plans = [_plan(k, member, seen, self.dtype) for k, member in enumerate(self.members)]
        return NumberStack(plans, n_features=n_features, columns=columns, dtype=self.dtype)

    def _follow_parameters(self) -> None:
        if self.dtype != self.learner_.dtype:
            raise ValueError(
                f"dtype cannot change after training has begun, from {self.learner_.dtype} to {self.dtype}; call fit "
                "to train from scratch, or restore it"
            )

    @property
    def members_(self) -> dict[str, OnlineRegressor]:
        return {name: self._as_regressor(k) for k, name in enumerate(self._fitted.names)}

    @property
    def weights_(self) -> NDArray[np.float64]:
        return self._fitted.state[WEIGHTS].copy()

    def _as_regressor(self, k: int) -> OnlineRegressor:
        learner: Any = copy(self.learner_.members[k])
        learner.state = {name: array.copy() for name, array in learner.state.items()}
        regressor = regressor_of(Model(learner, [0], None, {"calibration": "progressive"}))
        regressor.learner_, regressor._one_dimensional = learner, True
        take_columns(regressor, self)
        return regressor

    # --- files ---------------------------------------------------------------------------------------------------

    def as_model(self) -> Model:
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        estimator = plain_training(self) | ({"members": AUTO} if isinstance(self.members, str) else {})
        return Model(self.learner_, [0], features, estimator, getattr(self, "source_", {}))


def _check_members(members: Any) -> None:
    """Raise an error unless these may be the members of a stack."""
    check_members(members, OnlineRegressor)
    for member in members:
        member._check_parameters()
        if member.covariance != "auto" and kind_of(member.covariance).keeps_examples:
            raise ValueError(f"members: covariance={member.covariance!r} is not supported in a stack")


def _plan(k: int, member: OnlineRegressor, n_columns: int, dtype: str) -> Plan:
    """Return how to make member k, whose state has the type of the whole."""
    recipe = recipe_of(member, make_view(member.view), dtype, targets=True)
    if recipe.is_undecided:
        recipe = replace(recipe, covariance=automatic_covariance(n_columns))
    names = "rows" if recipe.view is None else ",".join(part.name for part in recipe.view.views)
    return plan(recipe, f"{k + 1}. {recipe.rule.name} on {names}")
