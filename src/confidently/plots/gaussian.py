"""The Gaussian over weights: ellipses, decisive weights, maps of the margin's mean and standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..learner.posterior import Marginal
from ..models.inspection import Naming
from ..wording import counted
from .base import Display, line_style, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MARGIN_QUANTITIES = {"mean": "mean", "standard_deviation": "std. deviation"}


class WeightEllipsesDisplay(Display):
    """Pairs of weights: their means, and ellipses of a number of standard deviations around them.

    Parameters
    ----------
    means : array of shape (n_pairs, 2)
    covariances : array of shape (n_pairs, 2, 2)
    names : sequence of str
        One per pair.
    n_std : float
        Size of the ellipses, in standard deviations.

    Examples
    --------
    >>> display = WeightEllipsesDisplay([[0.0, 1.0]], [[[1.0, 0.5], [0.5, 1.0]]], ["a, b"])
    >>> len(display.plot().patches)
    1
    """

    def __init__(self, means: Any, covariances: Any, names: Sequence[str], n_std: float = 1.0) -> None:
        self.means, self.covariances = np.asarray(means, dtype=float), np.asarray(covariances, dtype=float)
        self.names, self.n_std = list(names), n_std
        if self.covariances.shape != (len(self.names), 2, 2) or self.means.shape != (len(self.names), 2):
            raise ValueError(
                f"means and covariances of {len(self.names)} pairs must have shapes ({len(self.names)}, 2) and "
                f"({len(self.names)}, 2, 2); got {self.means.shape} and {self.covariances.shape}"
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, pairs: Sequence[tuple[int, int]] = ((0, 1),), *, column: int = 0, n_std: float = 1.0,
        names: Sequence[str] | None = None, ax: Axes | None = None, **options: Any,
    ) -> WeightEllipsesDisplay:  # fmt: skip
        """Create and draw from a fitted OnlineClassifier.

        Parameters
        ----------
        estimator : OnlineClassifier
        pairs : sequence of (int, int)
            Features.
        column : int
            The row of ``coef_`` that holds the weights.
        n_std, names
            As for the class; by default the numbers of the features.
        **options
            Passed to ``matplotlib.patches.Ellipse``.
        """
        gaussian = _marginal(estimator, column)
        names = [f"{a}, {b}" for a, b in pairs] if names is None else names
        means, covariances = (
            [gaussian.mean[list(pair)] for pair in pairs],
            [gaussian.covariance_of(pair) for pair in pairs],
        )
        return cls(means, covariances, names, n_std).drawn(ax, options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        from matplotlib.patches import Ellipse

        for k, (name, mean, sigma) in enumerate(zip(self.names, self.means, self.covariances, strict=True)):
            lengths, directions = Marginal(mean, sigma).principal_axes()
            width, height = 2 * self.n_std * lengths
            angle = np.degrees(np.arctan2(*directions[0, ::-1]))
            color = line_style(k)["color"]
            style = {"facecolor": "none", "edgecolor": color, "lw": 1.5} | options
            ax.add_patch(Ellipse(mean, width, height, angle=angle, **style))
            ax.plot(*mean, marker="o", ms=4, color=style["edgecolor"], linestyle="", label=name)
        ax.axhline(0, color="0.7", lw=0.8, zorder=0)
        ax.axvline(0, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel="first weight of the pair", ylabel="second weight", aspect="equal")
        ax.autoscale_view()
        tidy(ax, grid=False)
        if len(self.names) > 1:
            ax.legend(frameon=False, title="pair", fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


class DecisiveWeightsDisplay(Display):
    """The most decisive weights, those with the largest ``|mean|`` in standard deviations, with error bars.

    Parameters
    ----------
    mean, variance : array of shape (n,)
    names : sequence of str
    n_std : float
        Length of the bars on either side, in standard deviations.

    Examples
    --------
    >>> display = DecisiveWeightsDisplay([2.0, -1.0], [0.1, 0.4], ["good", "bad"])
    >>> [label.get_text() for label in display.plot().get_yticklabels()]
    ['good', 'bad']
    """

    def __init__(self, mean: Any, variance: Any, names: Sequence[str], n_std: float = 1.0) -> None:
        self.mean, self.variance = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
        self.names, self.n_std = list(names), n_std

    @classmethod
    def from_estimator(
        cls, estimator: Any, feature_names: Sequence[str] | None = None, *, top: int = 20, column: int = 0,
        n_std: float = 1.0, ax: Axes | None = None, **options: Any,
    ) -> DecisiveWeightsDisplay:  # fmt: skip
        """Create and draw from a fitted OnlineClassifier: the ``top`` weights of a row of ``coef_`` by ``|mean|/std``.

        ``feature_names`` are by default those of the training data, or the numbers of the columns; ``options`` are
        passed to ``ax.errorbar``.
        """
        gaussian, n = _marginal(estimator, column), estimator.coef_.shape[1]
        mean, variance = gaussian.mean[:n], gaussian.standard_deviation[:n] ** 2
        if feature_names is not None and len(feature_names) != len(mean):
            raise ValueError(
                f"feature_names must name {counted(len(mean), 'feature')}, got {counted(len(feature_names), 'name')}"
            )
        name_of = Naming(estimator.as_model()).of if feature_names is None else feature_names.__getitem__
        best = np.argsort(-np.abs(mean) / gaussian.standard_deviation[:n], kind="stable")[:top]
        return cls(mean[best], variance[best], [str(name_of(int(j))) for j in best], n_std).drawn(ax, options)

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        position = np.arange(len(self.mean))
        half = self.n_std * np.sqrt(self.variance)
        for side, color in ((self.mean >= 0, "C0"), (self.mean < 0, "C3")):
            style: dict[str, Any] = {"fmt": "o", "color": color, "ms": 4, "capsize": 2, "lw": 1} | options
            ax.errorbar(self.mean[side], position[side], xerr=half[side], **style)
        ax.axvline(0, color="0.6", lw=0.8)
        ax.set_yticks(position, self.names)
        ax.set_ylim(len(position) - 0.4, -0.6)
        ax.set_xlabel(f"weight, ± {self.n_std:g} standard deviation{'s' if self.n_std != 1 else ''}")
        tidy(ax)


class DecisionMapDisplay(Display):
    """Map of the margin over two features: its mean in color, its standard deviation in contour lines.

    Parameters
    ----------
    x, y : array of shape (n_x,), (n_y,)
        The grid.
    mean, standard_deviation : array of shape (n_y, n_x)
    quantity : {"mean", "standard_deviation"}
        Which of the two is shown in color; with "standard_deviation", the line mean = 0 is drawn over it.
    samples : array of shape (n_samples, n_y, n_x)
        Margins of classifiers drawn from the posterior; thin lines show where they are 0.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from confidently import OnlineClassifier
    >>> X, y = make_moons(random_state=0)
    >>> display = DecisionMapDisplay.from_estimator(OnlineClassifier("arow", "full").fit(X, y), X, y)
    >>> display.mean.shape
    (120, 120)
    """

    def __init__(
        self, x: Any, y: Any, mean: Any, standard_deviation: Any, quantity: str = "mean", samples: Any = ()
    ) -> None:
        if quantity not in MARGIN_QUANTITIES:
            raise ValueError(f"unknown quantity {quantity!r}; expected one of {', '.join(MARGIN_QUANTITIES)}")
        self.x, self.y, self.quantity = x, y, quantity
        self.mean, self.standard_deviation = np.asarray(mean), np.asarray(standard_deviation)
        self.samples = np.asarray(samples)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, quantity: str = "mean", resolution: int = 120,
        padding: float = 0.1, samples: int = 0, random_state: int | np.random.Generator | None = None,
        ax: Axes | None = None, **options: Any,
    ) -> DecisionMapDisplay:  # fmt: skip
        """Create and draw from a fitted classifier of two classes and two features.

        Parameters
        ----------
        estimator : classifier with ``margin_distribution``
        X : array of shape (n, 2)
            Rows, which determine the range of the map; with ``y`` they are drawn on it.
        resolution : int
            Points of the grid in each direction.
        padding : float
            Margin around the rows, as a fraction of their range.
        samples : int
            Number of classifiers to draw from the posterior (of an OnlineClassifier without a kernel); lines show where
            their margins are 0.
        random_state
            Seed of the draws.
        **options
            Passed to ``ax.pcolormesh``.
        """
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(f"a map needs rows with two features, got shape {X.shape}")
        low, high = X.min(axis=0), X.max(axis=0)
        low, high = low - padding * (high - low), high + padding * (high - low)
        x, y_grid = np.linspace(low[0], high[0], resolution), np.linspace(low[1], high[1], resolution)
        points = np.column_stack([a.ravel() for a in np.meshgrid(x, y_grid)])
        mean, variance = estimator.margin_distribution(points)
        if mean.ndim != 1:
            raise ValueError("a map needs a classifier of two classes, got one with more")
        shape = (resolution, resolution)
        drawn = (
            _margins(estimator.sample_weights(samples, random_state), points) if samples else np.empty((0, len(mean)))
        )
        display = cls(
            x, y_grid, mean.reshape(shape), np.sqrt(variance).reshape(shape), quantity, drawn.reshape(-1, *shape)
        )
        display.plot(ax, **options)
        if y is not None:
            positive = np.asarray(y) == estimator.classes_[1]
            for side, marker, color in ((positive, "o", "#b2182b"), (~positive, "s", "#2166ac")):
                display.ax_.plot(
                    X[side, 0], X[side, 1], marker, color=color, ms=3.5, mec="white", mew=0.4, linestyle=""
                )
        return display

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        style: dict[str, Any] = {"shading": "gouraud", "rasterized": True}
        if self.quantity == "mean":
            limit = np.abs(self.mean).max()
            style |= {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit} | options
            colors = ax.pcolormesh(self.x, self.y, self.mean, **style)
            lines = ax.contour(self.x, self.y, self.standard_deviation, levels=6, colors="0.25", linewidths=0.7)
            ax.clabel(lines, fontsize=7, fmt="%.2g")
        else:
            style |= {"cmap": "viridis"} | options
            colors = ax.pcolormesh(self.x, self.y, self.standard_deviation, **style)
        for margin in self.samples:
            ax.contour(self.x, self.y, margin, levels=[0.0], colors="0.4", linewidths=0.5, alpha=0.7)
        ax.contour(self.x, self.y, self.mean, levels=[0.0], colors="black" if self.quantity == "mean" else "white")
        ax.figure.colorbar(colors, ax=ax, label=f"{MARGIN_QUANTITIES[self.quantity]} of the margin")
        ax.set(xlabel="first feature", ylabel="second feature")
        tidy(ax, grid=False)


def _marginal(estimator: Any, column: int) -> Marginal:
    """Return the Gaussian over the weights of a row of ``coef_``."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if not 0 <= column < (rows := len(estimator.coef_)):
        raise ValueError(f"column must be in 0 to {rows - 1}, a row of coef_, got {column}")
    return estimator.marginal(estimator.classes_[column])


def _margins(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the margins of points with two features under drawn weights of two classes: (draws, points)."""
    own = weights[:, 0]
    return own[:, :2] @ points.T + own[:, 2:].sum(axis=1, keepdims=True)
