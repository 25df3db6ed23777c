"""The Gaussian over weights: ellipses, decisive weights, maps of the margin's mean and standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..learner.marginals import Marginal, marginal
from .base import Display, line_style, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class WeightEllipsesDisplay(Display):
    """Pairs of weights: their means, and the ellipse that many standard deviations around.

    Parameters
    ----------
    means : array of shape (n_pairs, 2)
    covariances : array of shape (n_pairs, 2, 2)
    names : sequence of str
        One a pair.
    deviations : float
        Size of the ellipses.

    Examples
    --------
    >>> display = WeightEllipsesDisplay([[0.0, 1.0]], [[[1.0, 0.5], [0.5, 1.0]]], ["a, b"])
    >>> len(display.plot().patches)
    1
    """

    def __init__(self, means: Any, covariances: Any, names: Sequence[str], deviations: float = 1.0) -> None:
        self.means, self.covariances = np.asarray(means, dtype=float), np.asarray(covariances, dtype=float)
        self.names, self.deviations = list(names), deviations
        if self.covariances.shape != (len(self.names), 2, 2) or self.means.shape != (len(self.names), 2):
            raise ValueError(
                f"means and covariances of {len(self.names)} pairs must have shapes ({len(self.names)}, 2) and "
                f"({len(self.names)}, 2, 2); got {self.means.shape} and {self.covariances.shape}"
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, pairs: Sequence[tuple[int, int]] = ((0, 1),), *, column: int = 0, deviations: float = 1.0,
        names: Sequence[str] | None = None, ax: Axes | None = None, **options: Any,
    ) -> WeightEllipsesDisplay:  # fmt: skip
        """From a fitted OnlineClassifier.

        Parameters
        ----------
        estimator : OnlineClassifier
        pairs : sequence of (int, int)
            Features.
        column : int
            The row of ``coef_`` whose weights are meant.
        deviations, names
            As of the class; by default the features' numbers.
        **options
            Handed to ``matplotlib.patches.Ellipse``.
        """
        about = _about(estimator, column)
        names = [f"{a}, {b}" for a, b in pairs] if names is None else names
        means, covariances = [about.mean[list(pair)] for pair in pairs], [about.covariance_of(pair) for pair in pairs]
        display = cls(means, covariances, names, deviations)
        display.plot(ax, **options)
        return display

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        from matplotlib.patches import Ellipse

        for k, (name, mean, sigma) in enumerate(zip(self.names, self.means, self.covariances, strict=True)):
            lengths, directions = Marginal(mean, sigma).principal_axes()
            width, height = 2 * self.deviations * lengths
            angle = np.degrees(np.arctan2(*directions[0, ::-1]))
            style = line_style(k)
            look = {"facecolor": "none", "edgecolor": style["color"], "lw": 1.5} | options
            ax.add_patch(Ellipse(mean, width, height, angle=angle, **look))
            ax.plot(*mean, marker="o", ms=4, color=look["edgecolor"], linestyle="", label=name)
        ax.axhline(0, color="0.7", lw=0.8, zorder=0)
        ax.axvline(0, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel="first weight of the pair", ylabel="second weight", aspect="equal")
        ax.autoscale_view()
        tidy(ax, grid=False)
        if len(self.names) > 1:
            ax.legend(frameon=False, title="pair", fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


class DecisiveWeightsDisplay(Display):
    """The weights that decide most, the largest ``|mean|``, with bars of some standard deviations.

    Parameters
    ----------
    mean, variance : array of shape (n,)
    names : sequence of str
    deviations : float
        Length of the bars to either side.

    Examples
    --------
    >>> display = DecisiveWeightsDisplay([2.0, -1.0], [0.1, 0.4], ["good", "bad"])
    >>> [label.get_text() for label in display.plot().get_yticklabels()]
    ['good', 'bad']
    """

    def __init__(self, mean: Any, variance: Any, names: Sequence[str], deviations: float = 1.0) -> None:
        self.mean, self.variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
        self.names, self.deviations = list(names), deviations

    @classmethod
    def from_estimator(
        cls, estimator: Any, feature_names: Sequence[str] | None = None, *, top: int = 20, column: int = 0,
        deviations: float = 1.0, ax: Axes | None = None, **options: Any,
    ) -> DecisiveWeightsDisplay:  # fmt: skip
        """From a fitted OnlineClassifier: the ``top`` weights of a row of ``coef_``.

        ``feature_names`` are by default those of the data frame it learned, or the columns' numbers; ``options`` go to
        ``ax.errorbar``.
        """
        about, n = _about(estimator, column), estimator.coef_.shape[1]
        mean, variance = about.mean[:n], about.standard_deviation[:n] ** 2
        known = getattr(estimator, "feature_names_in_", np.arange(len(mean)).astype(str))
        names = known if feature_names is None else feature_names
        if len(names) != len(mean):
            raise ValueError(f"feature_names must name {len(mean)} features, got {len(names)} names")
        best = np.argsort(-np.abs(mean), kind="stable")[:top]
        display = cls(mean[best], variance[best], [str(names[j]) for j in best], deviations)
        display.plot(ax, **options)
        return display

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        place = np.arange(len(self.mean))
        half = self.deviations * np.sqrt(self.variance)
        for side, colour in ((self.mean >= 0, "C0"), (self.mean < 0, "C3")):
            look: dict[str, Any] = {"fmt": "o", "color": colour, "ms": 4, "capsize": 2, "lw": 1} | options
            ax.errorbar(self.mean[side], place[side], xerr=half[side], **look)
        ax.axvline(0, color="0.6", lw=0.8)
        ax.set_yticks(place, self.names)
        ax.set_ylim(len(place) - 0.4, -0.6)
        ax.set_xlabel(f"weight, ± {self.deviations:g} standard deviation{'s' if self.deviations != 1 else ''}")
        tidy(ax)


class DecisionMapDisplay(Display):
    """The margin over two features as a map: its mean in colours and, in contour lines, its standard deviation.

    Parameters
    ----------
    x, y : array of shape (n_x,), (n_y,)
        The grid.
    mean, deviation : array of shape (n_y, n_x)
    what : {"mean", "deviation"}
        Which of the two is in colours. With "deviation" the line mean = 0 is drawn over it.
    samples : array of shape (n_samples, n_y, n_x)
        Margins of classifiers drawn from the posterior, whose lines of 0 are drawn thinly.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from confidently import OnlineClassifier
    >>> X, y = make_moons(random_state=0)
    >>> display = DecisionMapDisplay.from_estimator(OnlineClassifier("arow", "full").fit(X, y), X, y)
    >>> display.mean.shape
    (120, 120)
    """

    def __init__(self, x: Any, y: Any, mean: Any, deviation: Any, what: str = "mean", samples: Any = ()) -> None:
        if what not in ("mean", "deviation"):
            raise ValueError(f"what must be 'mean' or 'deviation', got {what!r}")
        self.x, self.y, self.mean, self.deviation, self.what = x, y, np.asarray(mean), np.asarray(deviation), what
        self.samples = np.asarray(samples)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, what: str = "mean", resolution: int = 120, room: float = 0.1,
        samples: int = 0, random_state: int | np.random.Generator | None = None, ax: Axes | None = None, **options: Any,
    ) -> DecisionMapDisplay:  # fmt: skip
        """From a fitted classifier of two classes and two features.

        Parameters
        ----------
        estimator : classifier with ``margin_distribution``
        X : array of shape (n, 2)
            Rows: the map reaches as far as they do, and ``room`` times as much beyond; with ``y`` they are drawn on it.
        resolution : int
            Points of the grid in each direction.
        samples : int
            So many classifiers are drawn from the posterior (an OnlineClassifier's, not a kernel's) and shown by the
            lines on which they are undecided.
        random_state
            Seed of the draws.
        **options
            Handed to ``ax.pcolormesh``.
        """
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(f"a map needs rows of two features, got shape {X.shape}")
        low, high = X.min(axis=0), X.max(axis=0)
        low, high = low - room * (high - low), high + room * (high - low)
        x, y_grid = np.linspace(low[0], high[0], resolution), np.linspace(low[1], high[1], resolution)
        points = np.column_stack([a.ravel() for a in np.meshgrid(x, y_grid)])
        mean, variance = estimator.margin_distribution(points)
        if mean.ndim != 1:
            raise ValueError("a map shows the margin of two classes; the classifier has more")
        shape = (resolution, resolution)
        drawn = (
            _margins(estimator.sample_weights(samples, random_state), points) if samples else np.empty((0, len(mean)))
        )
        display = cls(x, y_grid, mean.reshape(shape), np.sqrt(variance).reshape(shape), what, drawn.reshape(-1, *shape))
        display.plot(ax, **options)
        if y is not None:
            positive = np.asarray(y) == estimator.classes_[1]
            for side, marker, colour in ((positive, "o", "#b2182b"), (~positive, "s", "#2166ac")):
                display.ax_.plot(
                    X[side, 0], X[side, 1], marker, color=colour, ms=3.5, mec="white", mew=0.4, linestyle=""
                )
        return display

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        look: dict[str, Any] = {"shading": "gouraud", "rasterized": True}
        if self.what == "mean":
            limit = np.abs(self.mean).max()
            look |= {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit} | options
            colours = ax.pcolormesh(self.x, self.y, self.mean, **look)
            lines = ax.contour(self.x, self.y, self.deviation, levels=6, colors="0.25", linewidths=0.7)
            ax.clabel(lines, fontsize=7, fmt="%.2g")
        else:
            look |= {"cmap": "viridis"} | options
            colours = ax.pcolormesh(self.x, self.y, self.deviation, **look)
        for margin in self.samples:
            ax.contour(self.x, self.y, margin, levels=[0.0], colors="0.4", linewidths=0.5, alpha=0.7)
        ax.contour(self.x, self.y, self.mean, levels=[0.0], colors="black" if self.what == "mean" else "white")
        ax.figure.colorbar(colours, ax=ax, label=f"{'mean' if self.what == 'mean' else 'std. deviation'} of the margin")
        ax.set(xlabel="first feature", ylabel="second feature")
        tidy(ax, grid=False)


def _about(estimator: Any, column: int) -> Marginal:
    """The Gaussian over the weights of a row of ``coef_``."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    return marginal(estimator.learner_, column)


def _margins(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Of points of two features under drawn weights of two classes: (draws, points)."""
    own = weights[:, 0]
    margins: np.ndarray = own[:, :2] @ points.T + own[:, 2:].sum(axis=1, keepdims=True)
    return margins
