"""Predicted probabilities against observed frequencies; the confidence loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..rules.theory import confidence_loss
from .base import Display, line_style, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ReliabilityDisplay(Display):
    """Observed frequency of events against their predicted probability, in bins; perfect ones are on the diagonal.

    With three or more classes, each class of each row counts as one prediction.

    Parameters
    ----------
    probabilities : mapping of str to array of shape (n,)
        By learner.
    truth : array of shape (n,)
        Whether each event happened.
    bins : int
        Number of bins of equal width.

    Examples
    --------
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], {"mine": [0.1, 0.2, 0.7, 0.9]}, bins=2)
    >>> display.frequency["mine"]
    array([0., 1.])
    """

    def __init__(self, probabilities: Mapping[str, Any], truth: Any, bins: int = 10) -> None:
        if bins < 1:
            raise ValueError(f"bins must be at least 1, got {bins}")
        self.truth, self.bins = np.asarray(truth).astype(bool), bins
        self.predicted: dict[str, np.ndarray] = {}
        self.frequency: dict[str, np.ndarray] = {}
        self.rows: dict[str, np.ndarray] = {}
        for name, p in probabilities.items():
            p = np.asarray(p, dtype=float)
            if p.shape != self.truth.shape or not ((p >= 0) & (p <= 1)).all():
                raise ValueError(f"{name}: expected {len(self.truth)} probabilities between 0 and 1")
            number = np.minimum((p * bins).astype(int), bins - 1)
            rows = np.bincount(number, minlength=bins)
            occupied = rows > 0
            self.rows[name] = rows[occupied]
            self.predicted[name] = np.bincount(number, p, minlength=bins)[occupied] / rows[occupied]
            self.frequency[name] = np.bincount(number, self.truth, minlength=bins)[occupied] / rows[occupied]

    @classmethod
    def from_predictions(
        cls, truth: Any, probabilities: Mapping[str, Any], *, bins: int = 10, ax: Axes | None = None, **options: Any
    ) -> ReliabilityDisplay:
        """Create and draw; ``options`` are passed to ``ax.plot``."""
        return cls(probabilities, truth, bins).drawn(ax, options)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[str, Any], X: Any, y: Any, *, bins: int = 10, ax: Axes | None = None, **options: Any
    ) -> ReliabilityDisplay:
        """Create and draw from the predictions of fitted classifiers for rows with known classes."""
        probabilities, truth = {}, None
        for name, estimator in estimators.items():
            is_class = np.asarray(y)[:, None] == estimator.classes_
            binary = is_class.shape[1] == 2
            truth = is_class[:, 1] if binary else is_class.ravel()
            p = estimator.predict_proba(X)
            probabilities[name] = p[:, 1] if binary else p.ravel()
        return cls.from_predictions(truth, probabilities, bins=bins, ax=ax, **options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        ax.plot([0, 1], [0, 1], color="0.6", lw=1)
        for k, name in enumerate(self.predicted):
            style = line_style(k) | {"marker": "o", "ms": 4} | options
            ax.plot(self.predicted[name], self.frequency[name], label=name, **style)
        ax.set(xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        tidy(ax)
        ax.legend(frameon=False, loc="upper left")


class ConfidenceLossDisplay(Display):
    """The confidence loss for several phi, compared with the 0-1 loss and the squared hinge loss.

    Parameters
    ----------
    phis : sequence of float
        Required margins in standard deviations, > 0.
    limits : (float, float)
        Range of the margins, in standard deviations.

    Examples
    --------
    >>> len(ConfidenceLossDisplay.from_phis([0.5, 1.0]).ax_.lines)
    4
    """

    def __init__(self, phis: Sequence[float], limits: tuple[float, float] = (-2.0, 3.0)) -> None:
        self.phis = list(phis)
        self.margins = np.linspace(*limits, 401)
        self.losses = {phi: confidence_loss(self.margins, phi) for phi in self.phis}

    @classmethod
    def from_phis(
        cls, phis: Sequence[float] = (0.5, 1.0, 1.645), *, limits: tuple[float, float] = (-2.0, 3.0),
        ax: Axes | None = None, **options: Any,
    ) -> ConfidenceLossDisplay:  # fmt: skip
        """Create and draw; ``options`` are passed to ``ax.plot``."""
        return cls(phis, limits).drawn(ax, options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        t = self.margins
        for k, (phi, loss) in enumerate(self.losses.items()):
            ax.plot(t, loss, label=f"confidence loss, φ = {phi:g}", **line_style(k) | options)
        ax.plot(t, np.maximum(0, 1 - t) ** 2, color="0.35", ls="--", lw=1.2, label="squared hinge loss")
        ax.plot(t, (t < 0).astype(float), color="0.35", ls=":", lw=1.5, label="0-1 loss")
        ax.set(xlabel="margin in standard deviations", ylabel="loss", ylim=(0, 10), xlim=(t[0], t[-1]))
        tidy(ax)
        ax.legend(frameon=False)
