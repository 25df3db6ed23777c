"""The base of all displays: an Axes to draw on, and one style."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ..extras import install

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

COLORS = 10  # of matplotlib's cycle; further lines are dashed


class Display:
    """Data and the way to draw them.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where the display was drawn last.
    figure_ : matplotlib.figure.Figure
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw on ``ax``, by default in a new figure.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        **options
            Passed to the artist that draws the data.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, options)
        return self.ax_

    def drawn(self, ax: Axes | None, options: dict[str, Any]) -> Self:
        """Draw, and return the display."""
        self.plot(ax, **options)
        return self

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        raise NotImplementedError


def new_axes() -> Axes:
    """Return the axes of a new pyplot figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(f"plots need matplotlib; run {install('plots')}") from error
    return pyplot.subplots(layout="constrained")[1]


def tidy(ax: Axes, grid: bool = True) -> None:
    """Remove the frame at the top and on the right; add a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(alpha=0.3)
        ax.set_axisbelow(True)


def line_style(k: int) -> dict[str, Any]:
    """Return color and dashes of the k-th learner, the same in every plot."""
    return {"color": f"C{k % COLORS}", "linestyle": ("-", "--", ":")[k // COLORS % 3]}
