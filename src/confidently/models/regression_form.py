"""What a linear regression predicts with, for predictors that run without the learner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..covariances.settings import Settings
from ..learner.learner import Learner
from ..tasks.targets import Targets
from ..views.center import MEAN
from .linear_form import Spread


@dataclass(frozen=True)
class RegressionForm:
    """The parameters of a regression's predictions.

    Attributes
    ----------
    coef : array of shape (K, d)
        d counts the columns that the view makes.
    intercept : array of shape (K,)
        Of the score, without the offset of the targets.
    spread : Spread
        Parameters of the variances of scores.
    settings : Settings
    targets : Targets
        With which the task makes predictions of scores.
    """

    coef: np.ndarray
    intercept: np.ndarray
    spread: Spread
    settings: Settings
    targets: Targets


def regression_form(learner: Learner, centered: bool = False) -> RegressionForm:
    """Return the parameters of a regression's predictions, for the rows that its view makes.

    ``centered``: for the rows before the view "center", whose means become part of the intercept.

    Raises
    ------
    ValueError
        For a kernel.
    """
    settings, state = learner.settings, learner.state
    learner.require("export")
    mean = learner.mean()
    coef, intercept = mean[:, : learner.width].copy(), np.zeros(len(mean))
    found = learner.covariance.score_covariance(state, learner.size)
    matrix = found.ndim == 3
    unseen = learner.unseen_variances()
    if matrix:
        found, unseen = found[0], unseen[:1]
    if settings.fit_intercept:
        intercept = mean[:, -1].copy()
    else:
        found = np.pad(found, (0, 1) if matrix else ((0, 0), (0, 1)))
    if centered:
        by = state[MEAN][: learner.width]
        intercept -= coef @ by
        found[-1, :-1] = found[:-1, -1] = -found[:-1, :-1] @ by
        found[-1, -1] = by @ found[:-1, :-1] @ by
    spread = Spread(found, matrix, settings.prior_variance, unseen)
    return RegressionForm(coef, intercept, spread, settings, Targets.of(state["calibration"].copy()))
