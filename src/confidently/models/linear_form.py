"""The coefficients that a linear classifier predicts with, for predictors that run without the learner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.class_order import ClassOrder
from ..learner.learner import Learner
from ..tasks.calibration import INITIAL_LABEL, INITIAL_TEMPERATURE, mirrored
from ..tasks.task import Task


@dataclass(frozen=True)
class Spread:
    """Parameters of the variances of scores.

    Attributes
    ----------
    weights : array
        If not ``matrix``: variances of the weights, the intercept's last, shape (columns, d + 1); the variance of
        score k of a row x is sum_j x_j^2 weights_kj. If ``matrix``: the covariance of one score's weights, shape
        (d + 1, d + 1), which is half that of the difference between any two scores.
    matrix : bool
    prior : float
        The prior variance, with which variances are compared.
    unseen : array of shape (columns,), or (1,) with a matrix
        The variance of a weight that has not been learned.
    """

    weights: np.ndarray
    matrix: bool
    prior: float
    unseen: np.ndarray


@dataclass(frozen=True)
class LinearForm:
    """The parameters of a linear classifier's predictions.

    Attributes
    ----------
    coef : array of shape (columns, d)
        One row for two classes, otherwise one per class or label; d counts the columns that the view makes.
    intercept : array of shape (columns,)
    task : Task
    classes : array
    calibration : array, optional
        Of :mod:`confidently.tasks.calibration`, for scores that are moderated unless labels are ranked jointly.
        Without one: the uncalibrated posterior probability sum_i weight_i Phi(f/sqrt(v + noise_i)).
    spread : Spread, optional
        Parameters of the variances, if probabilities depend on them; without them, scores are not moderated.
    noise : sequence of pairs of float
        The weights and variances of the noise, of :meth:`confidently.rules.rule.Rule.score_noise`.
    """

    coef: np.ndarray
    intercept: np.ndarray
    task: Task
    classes: np.ndarray
    calibration: np.ndarray | None
    spread: Spread | None
    noise: tuple[tuple[float, float], ...]


def linear_form(learner: Learner, order: ClassOrder, calibration: str | None) -> LinearForm:
    """Return the parameters of a classifier's predictions.

    Parameters
    ----------
    learner : Learner
    order : ClassOrder
        The classes or labels, in whose order the parameters are.
    calibration : {"progressive", None}
        Calibration of the probabilities.

    Raises
    ------
    ValueError
        For a kernel, and where probabilities need more parameters: a full covariance with three or more classes or
        multilabel, and uncalibrated probabilities with three or more classes, except those of softmax.
    """
    settings, state = learner.settings, learner.state["calibration"]
    learner.require("export")
    several, binary = settings.task.several, settings.task.binary
    found: np.ndarray | None = None
    if calibration is not None and several:
        found = state.copy()
    elif calibration is not None and binary:
        found = state.copy() if order.numbers[0] == 0 else mirrored(state)
    elif calibration is not None:
        found = order.columns(state.reshape(-1, len(INITIAL_LABEL)).T).T.ravel()
    elif settings.task.likely_by_scores:
        found = np.array(INITIAL_TEMPERATURE)
    elif several:
        raise ValueError(
            "uncalibrated probabilities (calibration=None) of three or more classes are integrals, which cannot be "
            'exported; train with calibration="progressive"'
        )
    mean = order.scores(learner.mean().T, binary).T
    intercept = mean[:, -1].copy() if settings.fit_intercept else np.zeros(len(mean))
    moderated = calibration is not None and not settings.task.has_threshold
    spread = _spread(learner, order) if found is None or moderated else None
    coef, noise = mean[:, : learner.width], settings.rule.score_noise()
    return LinearForm(coef, intercept, settings.task, order.classes, found, spread, noise)


def _spread(learner: Learner, order: ClassOrder) -> Spread:
    settings = learner.settings
    found, unseen = learner.covariance.score_covariance(learner.state, learner.size), learner.unseen_variances()
    is_matrix = found.ndim == 3
    if is_matrix:
        found, unseen = found[0], unseen[:1]
    elif not learner.task.binary:
        found, unseen = order.columns(found.T).T, order.columns(unseen)
    if not settings.fit_intercept:
        found = np.pad(found, (0, 1) if is_matrix else ((0, 0), (0, 1)))
    return Spread(found, is_matrix, settings.prior_variance, unseen)
