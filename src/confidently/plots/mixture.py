"""How the mixture of a stack moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..wording import counted
from .base import Display, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..evaluation.progressive import MixtureCurve, ProgressiveCurve

QUANTITIES = {"shares": "share of the windows", "weights": "fraction of the members' weights"}
SHORT, LONG = 0.9, 0.25  # of the color map: the first and the last memory


class MixtureDisplay(Display):
    """Shares of a stack's windows, or weights of its members by how much they forget, by rows seen.

    Both are stacked, the shortest memory at the bottom, and add up to 1. Of the weights, the fraction of the absolute
    ones is drawn. A bar on top marks the rows in which the mixture had moved to shorter memories.

    Parameters
    ----------
    curve : MixtureCurve
    quantity : {"shares", "weights"}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from confidently import AutoClassifier, progressive_validation
    >>> curve = progressive_validation(AutoClassifier(), *load_iris(return_X_y=True), permutations=1)
    >>> MixtureDisplay.from_curve(curve).ax_.get_ylabel()
    'share of the windows'
    """

    def __init__(self, curve: MixtureCurve, quantity: str = "shares") -> None:
        if quantity not in QUANTITIES:
            raise ValueError(f"unknown quantity {quantity!r}; expected one of {', '.join(QUANTITIES)}")
        self.curve, self.quantity = curve, quantity

    @classmethod
    def from_curve(
        cls, curve: ProgressiveCurve, *, quantity: str = "shares", run: int = 0, ax: Axes | None = None, **options: Any
    ) -> MixtureDisplay:
        """Create and draw a run of a progressive curve; ``options`` are passed to ``ax.stackplot``."""
        if curve.mixtures is None:
            raise ValueError("the curve has no mixture; only an AutoClassifier of one class per row has")
        return cls(curve.mixtures[run], quantity).drawn(ax, options)

    def _parts(self) -> dict[str, Any]:
        """Return what is stacked, the shortest memory first, by its name in the legend."""
        curve = self.curve
        if self.quantity == "shares":
            return {counted(rows, "row"): share for rows, share in zip(curve.windows, curve.shares.T, strict=True)}
        return {f"forget {f:g}" if f else "forget nothing": part for f, part in curve.by_memory().items()}

    def _draw(self, ax: Axes, options: dict[str, Any]) -> None:
        from matplotlib import colormaps

        parts, curve = self._parts(), self.curve
        steps = max(len(parts) - 1, 1)
        colors = [colormaps["YlGnBu"](SHORT + (LONG - SHORT) * k / steps) for k in range(len(parts))]
        ax.stackplot(curve.rows, *parts.values(), labels=list(parts), **{"colors": colors} | options)
        for first, end in curve.moves:
            ax.plot([first, curve.rows[-1] if end is None else end], [1.03, 1.03], color="tab:red", linewidth=3)
        ax.set(xlabel="rows seen", ylabel=QUANTITIES[self.quantity], ylim=(0, 1.06), xlim=(0, curve.rows[-1]))
        tidy(ax, grid=False)
        handles, labels = ax.get_legend_handles_labels()
        ax.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
