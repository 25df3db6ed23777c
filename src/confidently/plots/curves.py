"""Errors by rows seen, by updates and by labels, and of several learners compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import COLORS, Display, line_style, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..evaluation.progressive import ProgressiveCurve

BANDS = ("standard_deviation", "none")
MARKERS = ("o", "s", "^")  # for learners beyond the number of colors
QUANTITIES = {
    "error": "progressive validation error",
    "mistakes": "mistakes so far",
    "updates": "updates so far",
    "log_loss": "log-loss so far",
}


class LearningCurveDisplay(Display):
    """Progressive validation error (or mistakes, updates, log-loss) by rows seen, with a band over the runs.

    Parameters
    ----------
    curves : mapping of str to ProgressiveCurve
        By name.
    quantity : {"error", "mistakes", "updates", "log_loss"}
    band : float or {"standard_deviation", "none"}
        A confidence in (0, 1), for the confidence interval of the mean over row orders; or
        ``"standard_deviation"``, for one standard deviation of a run on either side.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from confidently import OnlineClassifier, progressive_validation
    >>> X, y = load_iris(return_X_y=True)
    >>> curves = {r: progressive_validation(OnlineClassifier(r), X, y, permutations=4) for r in ("arow", "pa")}
    >>> LearningCurveDisplay.from_curves(curves).ax_.get_xlabel()
    'rows seen'
    """

    def __init__(
        self, curves: Mapping[str, ProgressiveCurve], quantity: str = "error", band: float | str = 0.95
    ) -> None:
        if quantity not in QUANTITIES:
            raise ValueError(f"unknown quantity {quantity!r}; expected one of {', '.join(QUANTITIES)}")
        if band not in BANDS and not (isinstance(band, float) and 0 < band < 1):
            raise ValueError(f"band must be a confidence between 0 and 1, 'standard_deviation' or 'none'; got {band!r}")
        self.curves, self.quantity, self.band = dict(curves), quantity, band

    @classmethod
    def from_curves(
        cls, curves: Mapping[str, ProgressiveCurve], *, quantity: str = "error", band: float | str = 0.95,
        ax: Axes | None = None, **options: Any,
    ) -> LearningCurveDisplay:  # fmt: skip
        """Create and draw; the parameters are those of the class, ``options`` are passed to ``ax.plot``."""
        return cls(curves, quantity, band).drawn(ax, options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        for k, (name, curve) in enumerate(self.curves.items()):
            style = line_style(k) | options
            ax.plot(curve.rows, curve.mean(self.quantity), label=name, **style)
            edges = self._edges(curve)
            if edges is not None:
                ax.fill_between(curve.rows, *edges, color=style["color"], alpha=0.18, linewidth=0)
        ax.set(xlabel="rows seen", ylabel=QUANTITIES[self.quantity])
        ax.set_ylim(bottom=0)
        tidy(ax)
        ax.legend(frameon=False)

    def _edges(self, curve: ProgressiveCurve) -> tuple[np.ndarray, np.ndarray] | None:
        if self.band == "none" or len(curve.mistakes) < 2:
            return None
        if self.band == "standard_deviation":
            mean, deviation = curve.mean(self.quantity), curve.standard_deviation(self.quantity)
            return mean - deviation, mean + deviation
        return curve.band(self.quantity, float(self.band))


class UpdatesDisplay(Display):
    """Error against the number of updates, one line per learner.

    Parameters
    ----------
    updates, errors : mapping of str to array of shape (n_points,)
        By name; the points of a learner are joined in their order, and the last one is marked.

    Examples
    --------
    >>> display = UpdatesDisplay.from_points({"pa": [900, 1700]}, {"pa": [0.2, 0.15]})
    >>> display.ax_.get_ylabel()
    'error'
    """

    def __init__(self, updates: Mapping[str, Any], errors: Mapping[str, Any]) -> None:
        if list(updates) != list(errors):
            raise ValueError(f"updates and errors must have the same learners, got {list(updates)} and {list(errors)}")
        self.updates = {name: np.atleast_1d(np.asarray(u, dtype=float)) for name, u in updates.items()}
        self.errors = {name: np.atleast_1d(np.asarray(e, dtype=float)) for name, e in errors.items()}

    @classmethod
    def from_points(
        cls, updates: Mapping[str, Any], errors: Mapping[str, Any], *, ax: Axes | None = None, **options: Any
    ) -> UpdatesDisplay:
        """Create and draw; ``options`` are passed to ``ax.plot``."""
        return cls(updates, errors).drawn(ax, options)

    @classmethod
    def from_curves(
        cls, curves: Mapping[str, ProgressiveCurve], *, ax: Axes | None = None, **options: Any
    ) -> UpdatesDisplay:
        """Create and draw from progressive curves, by the means over their runs."""
        means = {q: {name: c.mean(q) for name, c in curves.items()} for q in ("updates", "error")}
        return cls.from_points(means["updates"], means["error"], ax=ax, **options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        for k, name in enumerate(self.updates):
            style = line_style(k) | options
            x, y = self.updates[name], self.errors[name]
            ax.plot(x, y, **style)
            ax.plot(x[-1:], y[-1:], label=name, **style | {"marker": MARKERS[k // COLORS % len(MARKERS)]})
        ax.set(xlabel="updates", ylabel="error")
        ax.set_xlim(left=0)
        tidy(ax)
        ax.legend(frameon=False)


class LabelsDisplay(Display):
    """Test error against the number of labels requested, per strategy, with a band of one standard deviation.

    Parameters
    ----------
    labels : array of shape (n_points,)
        Numbers of labels, ascending.
    errors : mapping of str to array of shape (n_points,) or (n_runs, n_points)
        Fractions, by strategy, as :func:`confidently.active.simulate` returns them.
    all_labels : float, optional
        Error of a classifier trained on all labels, drawn as a horizontal line.

    Examples
    --------
    >>> errors = {"confidence": [[0.3, 0.1], [0.2, 0.1]], "random": [[0.3, 0.2], [0.3, 0.2]]}
    >>> LabelsDisplay.from_errors([20, 40], errors).ax_.get_xlabel()
    'labels requested'
    """

    def __init__(self, labels: Any, errors: Mapping[str, Any], all_labels: float | None = None) -> None:
        self.labels = np.asarray(labels)
        self.errors = {name: np.atleast_2d(np.asarray(e, dtype=float)) for name, e in errors.items()}
        self.all_labels = all_labels
        for name, e in self.errors.items():
            if e.ndim != 2 or e.shape[1] != len(self.labels):
                raise ValueError(f"errors of {name} must be {len(self.labels)} numbers per run, got shape {e.shape}")

    @classmethod
    def from_errors(
        cls, labels: Any, errors: Mapping[str, Any], *, all_labels: float | None = None, ax: Axes | None = None,
        **options: Any,
    ) -> LabelsDisplay:  # fmt: skip
        """Create and draw; ``options`` are passed to ``ax.plot``."""
        return cls(labels, errors, all_labels).drawn(ax, options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        for k, (name, errors) in enumerate(self.errors.items()):
            style, mean = line_style(k) | options, errors.mean(axis=0)
            ax.plot(self.labels, mean, label=name, **style)
            if len(errors) > 1:
                edges = mean - errors.std(axis=0, ddof=1), mean + errors.std(axis=0, ddof=1)
                ax.fill_between(self.labels, *edges, color=style["color"], alpha=0.18, linewidth=0)
        if self.all_labels is not None:
            ax.axhline(self.all_labels, color="0.4", linestyle=":", label="all labels")
        ax.set(xlabel="labels requested", ylabel="test error")
        ax.set_ylim(bottom=0)
        tidy(ax)
        ax.legend(frameon=False)


class ErrorBarsDisplay(Display):
    """Errors of several learners as bars, with one standard deviation over their runs, and each run as a dot.

    Parameters
    ----------
    errors : mapping of str to array of shape (n_runs,)
        Fractions, by learner.
    label : str
        Name of the errors, for the axis.

    Examples
    --------
    >>> ErrorBarsDisplay.from_errors({"arow": [0.1, 0.12], "pa": [0.2, 0.22]}).ax_.get_xlabel()
    'test error (%)'
    """

    def __init__(self, errors: Mapping[str, Any], label: str = "test error") -> None:
        self.errors = {name: np.atleast_1d(np.asarray(e, dtype=float)) for name, e in errors.items()}
        self.label = label

    @classmethod
    def from_errors(
        cls, errors: Mapping[str, Any], *, label: str = "test error", ax: Axes | None = None, **options: Any
    ) -> ErrorBarsDisplay:
        """Create and draw; ``options`` are passed to ``ax.barh``."""
        return cls(errors, label).drawn(ax, options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        mean = [100 * e.mean() for e in self.errors.values()]
        deviation = [100 * e.std(ddof=1) if len(e) > 1 else 0.0 for e in self.errors.values()]
        position = np.arange(len(mean))
        colors = [line_style(k)["color"] for k in range(len(mean))]
        style: dict[str, Any] = {"color": colors, "alpha": 0.75, "error_kw": {"lw": 1.2}} | options
        ax.barh(position, mean, xerr=deviation, **style)
        right = max(m + d for m, d in zip(mean, deviation, strict=True))
        for k, (m, d) in enumerate(zip(mean, deviation, strict=True)):
            ax.text(m + d + 0.015 * right, k, f"{m:.1f}", va="center", fontsize=9)
        ax.set_yticks(position, list(self.errors))
        ax.invert_yaxis()
        ax.set_xlim(0, 1.1 * right)
        ax.set_xlabel(f"{self.label} (%)")
        tidy(ax)
        ax.grid(visible=False, axis="y")
