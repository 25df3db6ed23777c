"""Pictures of ``confidently inspect``: decisive weights with their uncertainty; what a row's features add."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.figure import Figure

from ..explanation import Explanation
from ..inspection import ClassView
from ..model_file import Model

MOST_CLASSES = 9
LONGEST_NAME = 28
SPEAKS_FOR, SPEAKS_AGAINST = "tab:blue", "tab:red"


def draw_model(model: Model, views: list[ClassView]) -> Figure:
    """The most decisive weights of each class, a bar each, with two standard deviations to either side."""
    shown = [view for view in views if view.decisive][:MOST_CLASSES]
    columns = min(3, max(1, len(shown)))
    rows = max(1, math.ceil(len(shown) / columns))
    bars = max([len(view.decisive) for view in shown], default=1)
    figure = Figure(figsize=(max(6.5, 4.3 * columns), 1.2 + rows * (0.8 + 0.24 * bars)), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, view in zip(panels, shown, strict=False):
        draw_bars(
            axes,
            [_short(_called(weight.feature)) for weight in view.decisive],
            [weight.mean for weight in view.decisive],
            [2.0 * weight.std for weight in view.decisive],
        )
        axes.set_title(_title(model, view), loc="left", fontsize=10)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    more = f" ({len(views) - len(shown)} classes more)" if len(shown) < len(views) else ""
    figure.suptitle(f"Most decisive weights: mean, and two standard deviations to either side{more}", fontsize=12)
    return figure


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


def draw_bars(axes: Any, names: list[str], means: list[float], spread: list[float]) -> None:
    """Bars to the right or left of 0, from the top, each with its name and ``spread`` to either side."""
    colours = [SPEAKS_FOR if mean >= 0 else SPEAKS_AGAINST for mean in means]
    places = range(len(names))
    axes.barh(places, means, xerr=spread, color=colours, alpha=0.8, error_kw={"ecolor": "0.25", "elinewidth": 0.9})
    axes.set_yticks(places, names, fontsize=9)
    axes.invert_yaxis()
    axes.axvline(0.0, color="0.3", linewidth=0.8)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _title(model: Model, view: ClassView) -> str:
    if model.learner.settings.task == "binary":
        return f"{view.name} (right) against {model.classes[0]} (left)"
    return str(view.name)


def _called(feature: str | int) -> str:
    return f"feature {feature}" if isinstance(feature, int) else feature


def _short(name: str) -> str:
    # a dollar sign would begin a formula
    return (name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…").replace("$", r"\$")
