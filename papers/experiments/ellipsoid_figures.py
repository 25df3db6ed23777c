"""Figures 1 and 2 of Yang et al. 2009, for any learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from confidently.plots.base import line_style, tidy

from ..report import new_figure
from .ellipsoids import DECAYS, EPOCHS, Epochs, mean_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTITIES = ("error", "updates")


def epoch_curves(results: dict[str, dict[str, list[Epochs]]], learners: Sequence[str]) -> Figure:
    """Draw online error and updates by epoch, one column of panels per data set."""
    figure, panels = new_figure(len(results), 2, width=4.6, height=3.6, squeeze=False)
    for column, (name, by) in enumerate(results.items()):
        for k, learner in enumerate(learners):
            for ax, quantity, factor in zip(panels[:, column], QUANTITIES, (100, 1), strict=True):
                values = factor * mean_of(by[learner], quantity)
                ax.plot(range(1, EPOCHS + 1), values, marker="o", label=learner, **line_style(k))
        panels[0, column].set(title=name, ylabel="online error (%)")
        panels[1, column].set(xlabel="epoch", ylabel="updates")
    for ax in panels.flat:
        ax.set_xticks(range(1, EPOCHS + 1))
        ax.set_ylim(bottom=0)
        tidy(ax)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def relative_to_mira(by: dict[str, list[Epochs]], name_of: Callable[[float], str]) -> dict[str, list[float]]:
    """Return error and updates in the last epoch relative to those of MIRA, for every b."""
    mira = {quantity: mean_of(by["MIRA"], quantity)[-1] for quantity in QUANTITIES}
    return {q: [float(mean_of(by[name_of(b)], q)[-1] / mira[q]) for b in DECAYS] for q in QUANTITIES}


def ratio_bars(ratios: dict[str, dict[str, dict[str, list[float]]]]) -> Figure:
    """Draw error and updates relative to MIRA's for every b, by learner (rows) and data set (columns)."""
    columns = max(map(len, ratios.values()))
    figure, panels = new_figure(columns, len(ratios), width=4.2, height=3.4, squeeze=False)
    for row, (learner, sets) in zip(panels, ratios.items(), strict=True):
        for ax, (name, by) in zip(row, sets.items(), strict=True):
            for k, (quantity, values) in enumerate(by.items()):
                positions = np.arange(len(DECAYS)) + 0.38 * k
                ax.bar(positions, values, width=0.36, label=quantity, color=f"C{k}", alpha=0.8)
            ax.axhline(1, color="0.4", lw=0.8)
            ax.set_xticks(np.arange(len(DECAYS)) + 0.19, [f"{b:g}" for b in DECAYS])
            ax.set(title=name, xlabel="b", ylabel=f"{learner} / MIRA")
            tidy(ax)
            ax.grid(visible=False, axis="x")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure
