"""What all displays share: an Axes to draw on, and one look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

COLOURS = 10  # of matplotlib's cycle; what comes after them is dashed


class Display:
    """Numbers, and how to draw them.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        Where it was drawn last.
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
            Handed to the artist that draws the data.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_, options)
        return self.ax_

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        raise NotImplementedError


def new_axes() -> Axes:
    """The axes of a new figure of pyplot's."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'confidently[plots]'") from error
    return pyplot.subplots(layout="constrained")[1]


def tidy(ax: Axes, grid: bool = True) -> None:
    """No frame above and on the right, a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(alpha=0.3)
        ax.set_axisbelow(True)


def line_style(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th learner, the same in every picture."""
    return {"color": f"C{k % COLOURS}", "linestyle": ("-", "--", ":")[k // COLOURS % 3]}
