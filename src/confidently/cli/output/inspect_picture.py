"""Pictures of ``confidently inspect``: decisive weights with their uncertainty; what a row's features add."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from ...models.explanation import Explanation
from ...models.inspection import ClassView
from ...models.model import Model
from .bars import Panel, draw_bars, draw_panels

MAX_CLASSES = 9
LONGEST_NAME = 28


def draw_model(model: Model, views: list[ClassView]) -> Figure:
    """The most decisive weights of each class, a bar each, with two standard deviations to either side."""
    shown = [view for view in views if view.decisive][:MAX_CLASSES]
    panels = [
        Panel(
            view.name,
            [_short(_called(weight.feature)) for weight in view.decisive],
            [weight.mean for weight in view.decisive],
            [weight.std for weight in view.decisive],
        )
        for view in shown
    ]
    return draw_panels(model, panels, len(views) - len(shown), "Most decisive weights", most_columns=3, width=4.3)


def draw_row(found: Explanation, top: int) -> Figure:
    """What the features of a row add to the margin, the largest on top, with two standard deviations of each."""
    shown, rest = found.contributions[:top], found.contributions[top:]
    names = [_short(f"{_called(c.feature)} = {c.value:.3g}") for c in shown]
    means, variances = [c.mean for c in shown], [c.variance for c in shown]
    if rest:
        names.append(f"{len(rest):,} others")
        means.append(sum(c.mean for c in rest))
        variances.append(sum(c.variance for c in rest))
    names, means, variances = [*names, "margin"], [*means, found.mean], [*variances, found.variance]
    figure = Figure(figsize=(7.5, 1.2 + 0.27 * len(names)), layout="constrained")
    axes = figure.subplots()
    draw_bars(axes, names, means, [2.0 * math.sqrt(max(v, 0.0)) for v in variances])
    axes.axhline(len(names) - 1.5, color="0.7", linewidth=0.8)
    against = "" if found.rival is None else f" (right) against {found.rival} (left)"
    axes.set_title(f"What the row's features say for {found.supported}{against}", loc="left", fontsize=11)
    return figure


def _called(feature: str | int) -> str:
    return f"feature {feature}" if isinstance(feature, int) else feature


def _short(name: str) -> str:
    # a dollar sign would begin a formula
    return (name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…").replace("$", r"\$")
