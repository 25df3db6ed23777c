"""The settings of a learner that predicts numbers, and its view; the covariance may follow from the first rows."""

from __future__ import annotations

from typing import Any

from ..covariances.names import DIAGONAL
from ..covariances.settings import Settings
from ..covariances.table import kind_of
from ..data.classes import ClassTable
from ..rules.regression import RegressionRule
from ..views.center import Center
from ..views.table import make_view
from ..views.view import View
from ..wording import counted

MAX_FULL = 1000  # columns up to which "auto" stores the covariances of all weights
ROWS_TO_CHOOSE = 1000  # of a stream, whose columns decide


def one_output() -> ClassTable:
    """Return the classes of a learner that predicts one number per row."""
    return ClassTable([0], multilabel=True, closed=True)


def automatic_covariance(n_columns: int) -> str:
    """Return the covariance that "auto" stands for, for rows with so many columns."""
    return "full" if n_columns <= MAX_FULL else DIAGONAL


def regression_settings(
    rule: RegressionRule, covariance: str, fit_intercept: bool, view: View | None, n_outputs: int, **others: Any
) -> tuple[Settings, View | None]:
    """Return the settings of a learner, and its view.

    With squared loss and a covariance that couples features, rows are centered instead of having a constant feature.

    Parameters
    ----------
    rule : RegressionRule
    covariance : str
        Its name; with several outputs, that of the covariance which they share.
    fit_intercept : bool
    view : View, optional
    n_outputs : int
        Numbers per row.
    others
        The other settings.

    Raises
    ------
    ValueError
        If the settings do not fit together.
    """
    kind = kind_of(covariance)
    if n_outputs > 1 and kind.keeps_examples:
        raise ValueError(
            f'covariance="{covariance}" predicts one number per row, got {counted(n_outputs, "column")} of targets; '
            'use "full" or "diag", or one regressor per column'
        )
    if n_outputs > 1 and kind.for_classes is not None:
        covariance = kind.for_classes
        kind = kind_of(covariance)
    own_centers = view is not None and any(isinstance(one, Center) for one in view.views)
    centered = fit_intercept and kind.couples_features and not kind.keeps_examples and rule.squared_loss
    centered = centered and (view is None or view.keeps_columns)
    if centered and not own_centers:
        view = make_view([*(() if view is None else view.views), Center()])
    task = "centered-regression" if centered else "offset-regression" if fit_intercept else "regression"
    chosen = others | {"rule": rule, "covariance": covariance, "task": task}
    return Settings(**chosen, fit_intercept=fit_intercept and not centered), view
