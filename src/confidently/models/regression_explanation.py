"""Explanations of a predicted number: the contribution of each feature to its mean and variance."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..data import Batch
from ..tasks.targets import Targets, standard_deviation, variance_factor
from .explanation import Contribution, SeenRow
from .model import Model, calibration_of


@dataclass(frozen=True)
class NumberExplanation:
    """A predicted number, and the contributions of the features.

    Attributes
    ----------
    predicted, std : float
        The prediction, and the standard deviation of the target around it.
    offset, mean : float
        The prediction is ``offset + mean``, where ``mean`` is the sum of the contributions; with the rule "poisson", it
        is exp(offset + mean + variance/2).
    variance : float
        Of ``mean``, the sum of the contributions' variances, in squared units of the targets; without the noise of the
        target.
    contributions : list of Contribution
        Sorted by absolute mean, the largest first. Where the model centers its rows, values are less their means.
    """

    predicted: float
    std: float
    offset: float
    mean: float
    variance: float
    contributions: list[Contribution]


def explain_number(model: Model, batch: Batch) -> NumberExplanation:
    """Return the contribution of each feature of a row to the prediction.

    Parameters
    ----------
    model : RegressionModel
        Of one number per row.
    batch : Batch
        One row, as :func:`confidently.data.open_stream` yields it.

    Raises
    ------
    ValueError
        If there is not exactly one row, or the model predicts several numbers or has no weights of features (kernels).
    """
    if (n := model.learner.n_classes) > 1:
        raise ValueError(f"explanations are of models of one number per row, got {n}")
    row, settings = SeenRow(model, batch), model.learner.settings
    targets = Targets.of(model.learner.state["calibration"])
    found = row.learner.number_distribution(row.matrix)
    calibrated = calibration_of(model.estimator) is not None
    unit = 1.0 if settings.rule.counts else float(variance_factor(settings.rule, targets, calibrated)[0])
    contributions = [replace(one, variance=unit * one.variance) for one in row.contributions(0, None)]
    return NumberExplanation(
        predicted=float(found.mean[0, 0]),
        std=float(standard_deviation(settings.rule, targets, found, calibrated)[0, 0]),
        offset=float(settings.task.offset(settings.rule, targets)[0]),
        mean=sum(one.mean for one in contributions),
        variance=sum(one.variance for one in contributions),
        contributions=contributions,
    )
