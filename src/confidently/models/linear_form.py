"""A classifier as the few numbers that its answers are made of, for predictors that run without the learner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..learner.learner import Learner


@dataclass(frozen=True)
class Spread:
    """Variances of the scores of rows x.

    Attributes
    ----------
    weights : array
        Variances of the weights, the intercept's last, shape (columns, d + 1): the variance of score k is
        sum_j x_j^2 weights_kj. Or, if there is a matrix, of shape (d + 1, d + 1), the covariance of one score's
        weights, which is half that of any two scores' difference.
    matrix : bool
        Which of the two.
    prior : float
        The prior variance, beside which a variance is large or small.
    """

    weights: np.ndarray
    matrix: bool
    prior: float


@dataclass(frozen=True)
class LinearForm:
    """What a linear classifier answers with.

    Attributes
    ----------
    coef : array of shape (columns, d)
        One column for two classes, else one a class or label.
    intercept : array of shape (columns,)
    task : {"binary", "joint", "one-vs-rest", "multilabel"}
    classes : array
    slope, offset : array
        Calibration: p = sigmoid(slope f + offset), or softmax(slope f), f the score, moderated unless labels are sets.
        No slope: the vote of the Gaussian, Phi(f/sqrt(v)).
    spread : Spread, optional
        Where probabilities depend on variances.
    """

    coef: np.ndarray
    intercept: np.ndarray
    task: str
    classes: np.ndarray
    slope: np.ndarray | None
    offset: np.ndarray
    spread: Spread | None

    @property
    def several(self) -> bool:
        """Whether one class of three or more is chosen."""
        return self.task in ("joint", "one-vs-rest")


def linear_form(learner: Learner, classes: np.ndarray, calibration: str | None) -> LinearForm:
    """Return what a classifier predicts with.

    Parameters
    ----------
    learner : Learner
    classes : array
        Names of the classes or labels.
    calibration : {"progressive", None}
        Of the probabilities.

    Raises
    ------
    ValueError
        For a kernel, and where probabilities need more than these numbers: a full covariance of three or more classes
        or of labels, and the uncalibrated probabilities of three or more classes.
    """
    settings, state = learner.settings, learner.state["calibration"]
    learner.covariance.require("export")
    several = settings.task in ("joint", "one-vs-rest")
    slope: np.ndarray | None = None
    offset = np.zeros(1)
    if calibration is not None:
        slope = state[:1] if several else state.reshape(-1, 5)[:, 0]
        offset = np.zeros(1) if several else state.reshape(-1, 5)[:, 1]
    elif several:
        raise ValueError(
            "the uncalibrated probabilities of three or more classes (calibration=None) are integrals, which cannot be "
            'exported; train with calibration="progressive"'
        )
    mean = learner.mean()
    intercept = mean[:, -1].copy() if settings.fit_intercept else np.zeros(len(mean))
    needs_variances = slope is None or settings.task != "multilabel"
    spread = _spread(learner) if needs_variances else None
    return LinearForm(mean[:, : learner.n_features], intercept, settings.task, classes, slope, offset, spread)


def _spread(learner: Learner) -> Spread:
    settings = learner.settings
    found = learner.covariance.score_covariance(learner.state, learner.size)
    is_matrix = found.ndim == 3
    if is_matrix:
        found = found[0]
    if not settings.fit_intercept:
        found = np.pad(found, (0, 1) if is_matrix else ((0, 0), (0, 1)))
    return Spread(found, is_matrix, settings.prior_variance)
