"""Pictures of weights: a bar each, with its uncertainty; a panel a class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from ...models.model import Model
from ...topics.model import TopicModel

NARROWEST = 6.5  # a picture, for its title
SPEAKS_FOR, SPEAKS_AGAINST = "tab:blue", "tab:red"


class Panel(NamedTuple):
    """The weights of one class: the class, and of every weight its name, mean and standard deviation."""

    of: Any
    names: list[str]
    means: list[float]
    stds: list[float]


def draw_panels(
    model: Model | TopicModel, panels: Sequence[Panel], left_out: int, what: str, most_columns: int, width: float
) -> Figure:
    """Panels side by side, so many in a row and each so wide, under a title; ``left_out`` classes are not shown."""
    columns = min(most_columns, max(1, len(panels)))
    rows = max(1, math.ceil(len(panels) / columns))
    bars = max([len(panel.names) for panel in panels], default=1)
    figure = Figure(figsize=(max(NARROWEST, width * columns), 1.2 + rows * (0.8 + 0.24 * bars)), layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, panel in zip(places, panels, strict=False):
        draw_bars(axes, panel.names, panel.means, [2.0 * std for std in panel.stds])
        axes.set_title(_title(model, panel.of), loc="left", fontsize=10)
    for axes in places[len(panels) :]:
        axes.set_visible(False)
    more = f" ({left_out} classes more)" if left_out else ""
    figure.suptitle(f"{what}: mean, and two standard deviations to either side{more}", fontsize=12)
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


def _title(model: Model | TopicModel, name: Any) -> str:
    if model.learner.settings.task == "binary":
        return f"{name} (right) against {model.classes[0]} (left)"
    return str(name)
