"""The remaining error when only the most certain predictions are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.abstention import RiskCoverage, risk_coverage
from ..evaluation.active import certainty as certainty_of
from ..rules.ranges import check_choice
from .base import Display, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CERTAINTIES = ("probability", "confidence", "margin")
POINTS = 1000  # of a curve; its own are added if they are not more


class RiskCoverageDisplay(Display):
    """Error of the predictions that are made, by coverage: the fraction of the rows that are predicted.

    The rows left out are those with the least certain predictions. Several curves are drawn on the same ``ax``.

    Parameters
    ----------
    curve : RiskCoverage
        As :func:`confidently.evaluation.risk_coverage` returns it.
    name : str, optional
        For the legend, which also shows the area under the curve.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from confidently import OnlineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = OnlineClassifier(view="standard").fit(X[:300], y[:300])
    >>> display = RiskCoverageDisplay.from_estimator(classifier, X[300:], y[300:], name="probability")
    >>> display.curve.error_at(0.8) < display.curve.error_at(1.0)
    True
    >>> display = RiskCoverageDisplay.from_estimator(
    ...     classifier, X[300:], y[300:], certainty="confidence", name="|m|/sd", ax=display.ax_
    ... )
    """

    def __init__(self, curve: RiskCoverage, name: str | None = None) -> None:
        self.curve, self.name = curve, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, certainty: str = "probability", sample_weight: Any = None,
        name: str | None = None, ax: Axes | None = None, **options: Any,
    ) -> RiskCoverageDisplay:  # fmt: skip
        """Create and draw from the predictions of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            With ``predict_proba`` for "probability"; otherwise an :class:`~confidently.OnlineClassifier`.
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
            True classes. Classes that the estimator does not know count as errors.
        certainty : {"probability", "confidence", "margin"}
            The probability of the predicted class, or a strategy of :func:`confidently.active.certainty`.
        sample_weight : array of shape (n,), optional
        name : str, optional
            Default: the name of the estimator's class.
        ax : matplotlib.axes.Axes, optional
        **options
            Passed to ``ax.plot``.
        """
        check_choice("certainty", certainty, CERTAINTIES)
        predicted = np.asarray(estimator.predict(X))
        if predicted.ndim != 1:
            raise ValueError("risk by coverage needs a classifier of one class per row; this one is multilabel")
        if certainty == "probability":
            number = (predicted[:, None] == estimator.classes_).argmax(axis=1)
            certain = estimator.predict_proba(X)[np.arange(len(number)), number]
        elif hasattr(getattr(estimator, "learner_", None), "top_margins"):
            certain = certainty_of(estimator, X, certainty)
        else:
            raise TypeError(f"certainty={certainty!r} needs an OnlineClassifier, got {type(estimator).__name__}")
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, predicted, certain, sample_weight=sample_weight, name=name, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, certainty: Any, *, sample_weight: Any = None, name: str | None = None,
        ax: Axes | None = None, **options: Any,
    ) -> RiskCoverageDisplay:  # fmt: skip
        """Create and draw from classes and certainties; ``options`` are passed to ``ax.plot``.

        The other parameters are those of :func:`confidently.evaluation.risk_coverage`.
        """
        return cls(risk_coverage(y_true, y_pred, certainty, sample_weight), name).drawn(ax, options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        area = f"area {self.curve.area:.4f}"
        coverage = np.linspace(0.0, 1.0, POINTS + 1)[1:]
        if len(self.curve.coverage) <= POINTS:
            coverage = np.union1d(coverage, self.curve.coverage)
        label = area if self.name is None else f"{self.name} ({area})"
        ax.plot(coverage, self.curve.error_at(coverage), **{"label": label} | options)
        ax.set(xlabel="coverage: fraction of the rows predicted", ylabel="error of the rows predicted", xlim=(0, 1))
        ax.set_ylim(bottom=0)
        tidy(ax)
        ax.legend(frameon=False, loc="upper left")
