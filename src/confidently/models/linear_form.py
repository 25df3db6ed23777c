"""What a linear classifier or regression predicts with, for predictors that run without the learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.class_order import ClassOrder
from ..learner.learner import Learner
from ..rules.rule import Rule
from ..tasks.calibration import INITIAL_TEMPERATURE
from ..tasks.conformal import CONFORMAL
from ..tasks.targets import Targets
from ..tasks.task import Task
from ..views.center import MEAN


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
    """The parameters of a linear classifier's or regression's predictions.

    Attributes
    ----------
    coef : array of shape (columns, d)
        One row for two classes, otherwise one per class, label or number; d counts the columns that the view makes.
    intercept : array of shape (columns,)
        Of the score, without the offset of targets.
    rule : Rule
    task : Task
    calibrated : bool
        Whether probabilities, or deviations and intervals, are made of the errors in training.
    calibration : array, optional
        Of classes, that of :mod:`confidently.tasks.calibration`, for scores that are moderated unless labels are ranked
        jointly. Without one: the uncalibrated posterior probability sum_i weight_i Phi(f/sqrt(v + noise_i)). Of
        numbers, the statistics of the targets.
    conformal : ConformalSets or ConformalIntervals
    spread : Spread, optional
        Parameters of the variances, if predictions depend on them; without them, scores are not moderated.
    classes : array, optional
        The classes or labels, unless numbers are predicted.
    center : array of shape (d,), optional
        What the view "center" subtracts from rows, where the parameters are for rows before it.
    """

    coef: np.ndarray
    intercept: np.ndarray
    rule: Rule
    task: Task
    calibrated: bool
    calibration: np.ndarray | None
    conformal: Any
    spread: Spread | None
    classes: np.ndarray | None = None
    center: np.ndarray | None = None

    @property
    def targets(self) -> Targets:
        """What is known about the targets of a regression."""
        assert self.calibration is not None  # which every regression has
        return Targets.of(self.calibration)

    @property
    def whole_intercept(self) -> np.ndarray:
        """The intercept, and the offset of targets."""
        return self.intercept + self.task.offset(self.rule, self.targets) if self.task.regression else self.intercept


def linear_form(
    learner: Learner, calibration: str | None, order: ClassOrder | None = None, centered: bool = False
) -> LinearForm:
    """Return the parameters of a learner's predictions, for the rows that its view makes.

    Parameters
    ----------
    learner : Learner
    calibration : {"progressive", None}
        What probabilities, or deviations and intervals, are made of.
    order : ClassOrder, optional
        The classes or labels, in whose order the parameters are.
    centered : bool
        Whether the parameters are for the rows before the view "center", whose means become part of the intercept.

    Raises
    ------
    ValueError
        For a kernel, and where probabilities need more parameters: a full covariance with three or more classes or
        multilabel, and uncalibrated probabilities with three or more classes, except those of softmax.
    """
    settings, task = learner.settings, learner.task
    learner.require("export")
    kept = _calibration(learner, order, calibration)
    mean = learner.mean() if order is None else order.scores(learner.mean().T, task.binary).T
    coef = mean[:, : learner.width].copy()
    intercept = mean[:, -1].copy() if settings.fit_intercept else np.zeros(len(mean))
    moderated = calibration is not None and not task.has_threshold
    spread = _spread(learner, order) if kept is None or moderated or task.regression else None
    by = learner.state[MEAN][: learner.width].copy() if centered else None
    if by is not None and spread is not None:
        found = spread.weights
        intercept -= coef @ by
        found[-1, :-1] = found[:-1, -1] = -found[:-1, :-1] @ by
        found[-1, -1] = by @ found[:-1, :-1] @ by
    classes = None if order is None else order.classes
    repeated = learner.moved is not None and learner.moved.repeats
    known = learner.task.conformal(learner.state[CONFORMAL].copy(), repeated=repeated, centered=learner.centered)
    return LinearForm(coef, intercept, settings.rule, task, calibration is not None, kept, known, spread, classes, by)


def _calibration(learner: Learner, order: ClassOrder | None, calibration: str | None) -> np.ndarray | None:
    """Return the calibration in the order of the classes, and of numbers always, since it has their offset."""
    task, state = learner.task, learner.state["calibration"]
    if order is None:
        return state.copy()
    if calibration is not None:
        return task.placed_calibration(state, np.argsort(order.numbers), len(order.numbers)).copy()
    if task.likely_by_scores:
        return np.array(INITIAL_TEMPERATURE)
    if task.several:
        raise ValueError(
            "uncalibrated probabilities (calibration=None) of three or more classes are integrals, which cannot be "
            'exported; train with calibration="progressive"'
        )
    return None


def _spread(learner: Learner, order: ClassOrder | None) -> Spread:
    settings = learner.settings
    found, unseen = learner.covariance.score_covariance(learner.state, learner.size), learner.unseen_variances()
    is_matrix = found.ndim == 3
    if is_matrix:
        found, unseen = found[0], unseen[:1]
    elif order is not None and not learner.task.binary:
        found, unseen = order.columns(found.T).T, order.columns(unseen)
    if not settings.fit_intercept:
        found = np.pad(found, (0, 1) if is_matrix else ((0, 0), (0, 1)))
    return Spread(found, is_matrix, settings.prior_variance, unseen)
