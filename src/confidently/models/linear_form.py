"""The coefficients that a linear classifier predicts with, for predictors that run without the learner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..covariances.settings import MULTICLASS, MULTILABEL
from ..data.class_order import ClassOrder
from ..learner.calibration import UNCALIBRATED
from ..learner.learner import Learner


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
    task : str
        Of :class:`confidently.covariances.settings.Settings`.
    classes : array
    slope, offset : array
        Calibration: p = sigmoid(slope f + offset), or softmax(slope f), for the score f, moderated unless labels are
        ranked jointly.
        Without a slope: the uncalibrated posterior probability sum_i weight_i Phi(f/sqrt(v + noise_i)).
    spread : Spread, optional
        Parameters of the variances, if probabilities depend on them; without them, scores are not moderated.
    noise : sequence of pairs of float
        The weights and variances of the noise, of :meth:`confidently.rules.rule.Rule.score_noise`.
    """

    coef: np.ndarray
    intercept: np.ndarray
    task: str
    classes: np.ndarray
    slope: np.ndarray | None
    offset: np.ndarray
    spread: Spread | None
    noise: tuple[tuple[float, float], ...]

    @property
    def several(self) -> bool:
        """Whether the task is to choose one of several classes."""
        return self.task in MULTICLASS

    @property
    def multilabel(self) -> bool:
        """Whether the task is to choose any number of labels."""
        return self.task in MULTILABEL


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
    several, binary = settings.several, settings.task == "binary"
    slope: np.ndarray | None = None
    offset = np.zeros(1)
    if calibration is not None and several:
        slope = state[:1]
    elif calibration is not None:
        slope, offset = state.reshape(-1, 5)[:, :2].T
        slope, offset = slope if binary else order.columns(slope), order.scores(offset, binary)
    elif settings.task == "softmax":
        slope = np.array(UNCALIBRATED)
    elif several:
        raise ValueError(
            "uncalibrated probabilities (calibration=None) of three or more classes are integrals, which cannot be "
            'exported; train with calibration="progressive"'
        )
    mean = order.scores(learner.mean().T, binary).T
    intercept = mean[:, -1].copy() if settings.fit_intercept else np.zeros(len(mean))
    moderated = calibration is not None and not settings.has_threshold
    spread = _spread(learner, order) if slope is None or moderated else None
    noise = settings.rule.score_noise()
    return LinearForm(mean[:, : learner.width], intercept, settings.task, order.classes, slope, offset, spread, noise)


def _spread(learner: Learner, order: ClassOrder) -> Spread:
    settings = learner.settings
    found, unseen = learner.covariance.score_covariance(learner.state, learner.size), learner.unseen_variances()
    is_matrix = found.ndim == 3
    if is_matrix:
        found, unseen = found[0], unseen[:1]
    elif learner.task != "binary":
        found, unseen = order.columns(found.T).T, order.columns(unseen)
    if not settings.fit_intercept:
        found = np.pad(found, (0, 1) if is_matrix else ((0, 0), (0, 1)))
    return Spread(found, is_matrix, settings.prior_variance, unseen)
