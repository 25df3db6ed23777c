"""Plots that commands draw: weights with their uncertainty, learning curves. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ...data.sources.whole_files import new_file
from ...models.stack_explanation import NumberStackExplanation, StackExplanation
from ...plots.abstention import RiskCoverageDisplay
from ...printable import printable
from ...stack.number_stack import NumberStack
from ...stack.stack import Stack
from ...wording import counted
from .text import class_names, parameters_text

if TYPE_CHECKING:
    from ...evaluation.abstention import RiskCoverage
    from ...evaluation.comparison import Comparison, Trial
    from ...models.explanation import Explanation, NumberExplanation
    from ...models.inspection import ClassView
    from ...models.model import Model
    from ...topics.model import TopicModel
    from ...topics.views import TopicsOfClass, TopicView

MIN_WIDTH = 6.5  # inches of a figure, for its title
POSITIVE_COLOR, NEGATIVE_COLOR = "tab:blue", "tab:red"
MAX_CLASSES, MAX_TOPIC_CLASSES = 9, 6
MAX_NAME, MAX_MEMBER_NAME, MAX_TOPIC_NAME = 28, 60, 56  # characters of a bar's name
WORDS_PER_TOPIC = 6
COLORS = 10  # of matplotlib's cycle; further lines are dashed
FIRST_ROW = 100  # earlier errors are averages of too few rows to mean much
FIRST_POINT = 5  # the same for the demo's short curves


class Panel(NamedTuple):
    """The weights of one class: the class, and the name, mean and standard deviation of each weight."""

    of: Any
    bars: list[tuple[str, float, float]]


def save_plot(figure: Figure, path: str) -> None:
    """Write a figure in the format of the file's suffix."""
    FigureCanvasAgg(figure)
    with new_file(path) as temporary:
        figure.savefig(temporary, dpi=120, format=Path(path).suffix.lower()[1:])


# --- weights ---------------------------------------------------------------------------------------------------------


def plot_model(model: Model, views: list[ClassView]) -> Figure:
    """Plot the first weights of each class with two standard deviations to either side."""
    shown = [view for view in views if view.top][:MAX_CLASSES]
    panels = [
        Panel(view.name, [(_shortened(_feature_name(one.feature)), one.mean, one.std) for one in view.top])
        for view in shown
    ]
    return _plot_panels(model, panels, len(views) - len(shown), "Weights", max_columns=3, width=4.3)


def plot_topics(model: TopicModel, views: list[TopicsOfClass]) -> Figure:
    """Plot the weight of each topic with two standard deviations to either side; one panel per class."""
    shown = views[:MAX_TOPIC_CLASSES]
    panels = [Panel(view.name, [(_topic_name(one), one.mean, one.std) for one in view.topics]) for view in shown]
    return _plot_panels(model, panels, len(views) - len(shown), "Weights of topics", max_columns=2, width=9.5)


def plot_explanation(model: Model, found: Any, top: int) -> Figure:
    """Plot what each feature of a row, and each member of a stack, adds to the prediction, the largest on top."""
    if hasattr(found, "members"):
        return plot_stack_row(found, top)
    if model.learner.task.regression:
        counts = model.learner.settings.rule.counts
        of = f"log rate, exp({found.offset:.4g} + sum + variance/2)" if counts else f"prediction {found.predicted:.4g}"
        return _plot_contributions(found, top, "sum", f"Contributions to the {of}")
    return _plot_contributions(found, top, "margin", f"Contributions to the {_margin(found)}")


def _margin(found: Explanation | StackExplanation) -> str:
    against = "" if found.rival is None else f" (right) against {_class_name(found.rival)} (left)"
    return f"margin of {_class_name(found.supported)}{against}"


def _plot_contributions(found: Explanation | NumberExplanation, top: int, total: str, title: str) -> Figure:
    shown, rest = found.contributions[:top], found.contributions[top:]
    names = [_shortened(f"{_feature_name(c.feature)} = {c.value:.3g}") for c in shown]
    means, variances = [c.mean for c in shown], [c.variance for c in shown]
    if rest:
        names.append(counted(len(rest), "other"))
        means.append(sum(c.mean for c in rest))
        variances.append(sum(c.variance for c in rest))
    names, means, variances = [*names, total], [*means, found.mean], [*variances, found.variance]
    figure = Figure(figsize=(7.5, 1.2 + 0.27 * len(names)), layout="constrained")
    axes = figure.subplots()
    _draw_bars(axes, names, means, [2.0 * math.sqrt(max(v, 0.0)) for v in variances])
    axes.axhline(len(names) - 1.5, color="0.7", linewidth=0.8)
    axes.set_title(title, loc="left", fontsize=11)
    return figure


def plot_importances(found: dict[str | int, float]) -> Figure:
    """Plot the importance of features, the largest on top."""
    figure = Figure(figsize=(7.5, 1.2 + 0.27 * max(len(found), 1)), layout="constrained")
    axes = figure.subplots()
    _draw_bars(axes, [_shortened(_feature_name(name)) for name in found], list(found.values()), [0.0] * len(found))
    axes.set_title("Importance of the features", loc="left", fontsize=11)
    return figure


def plot_members(stack: Stack | NumberStack) -> Figure:
    """Plot the weight of each member of a stack with two standard deviations to either side."""
    figure = Figure(figsize=(7.5, 1.2 + 0.27 * len(stack.names)), layout="constrained")
    axes = figure.subplots()
    names = [_shortened(name, MAX_MEMBER_NAME) for name in stack.names]
    _draw_bars(axes, names, stack.member_weights.tolist(), (2.0 * stack.weight_deviations()).tolist())
    axes.set_title("Weights of the members: mean ± two standard deviations", loc="left", fontsize=11)
    return figure


def plot_stack_row(found: StackExplanation | NumberStackExplanation, top: int) -> Figure:
    """Plot what each member and, below, each feature of a row adds to the margin or number, the largest on top."""
    if isinstance(found, NumberStackExplanation):
        total, std, about = ("prediction", found.predicted), found.std, f"prediction {found.predicted:.4g}"
    else:
        total, std, about = ("margin", found.mean), math.sqrt(max(found.variance, 0.0)), _margin(found)
    shown, rest = found.features[:top], found.features[top:]
    features = [(_shortened(_feature_name(part.feature)), part.mean) for part in shown]
    if rest:
        features.append((counted(len(rest), "other"), sum(part.mean for part in rest)))
    members = [(_shortened(part.name, MAX_MEMBER_NAME), part.mean) for part in found.members]
    lists = {"Members": members, "Features": features}
    bars = [1 + len(parts) for parts in lists.values()]
    figure = Figure(figsize=(7.5, 1.8 + 0.27 * sum(bars)), layout="constrained")
    for axes, (title, parts) in zip(figure.subplots(2, 1, sharex=True, height_ratios=bars), lists.items(), strict=True):
        names, means = zip(*parts, total, strict=True)
        _draw_bars(axes, list(names), list(means), [0.0] * len(parts) + [2.0 * std])
        axes.axhline(len(parts) - 0.5, color="0.7", linewidth=0.8)
        axes.set_title(title, loc="left", fontsize=10)
    figure.suptitle(f"Contributions to the {about}", fontsize=12)
    return figure


def _plot_panels(
    model: Model | TopicModel, panels: Sequence[Panel], left_out: int, title: str, max_columns: int, width: float
) -> Figure:
    """Plot panels side by side, each ``width`` inches wide, under a title; ``left_out`` classes are not shown."""
    columns = min(max_columns, max(1, len(panels)))
    rows = max(1, math.ceil(len(panels) / columns))
    bars = max([len(panel.bars) for panel in panels], default=1)
    figure = Figure(figsize=(max(MIN_WIDTH, width * columns), 1.2 + rows * (0.8 + 0.24 * bars)), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        names, means, stds = map(list, zip(*panel.bars, strict=True))
        _draw_bars(axes, names, means, [2.0 * std for std in stds])
        axes.set_title(_panel_title(model, panel.of), loc="left", fontsize=10)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    more = f" ({left_out} more classes)" if left_out else ""
    figure.suptitle(f"{title}: mean ± two standard deviations{more}", fontsize=12)
    return figure


def _draw_bars(axes: Any, names: list[str], means: list[float], spread: list[float]) -> None:
    """Draw bars from 0 to the right or left, from top to bottom, each with its name and ``spread`` to either side."""
    colors = [POSITIVE_COLOR if mean >= 0 else NEGATIVE_COLOR for mean in means]
    positions = range(len(names))
    axes.barh(positions, means, xerr=spread, color=colors, alpha=0.8, error_kw={"ecolor": "0.25", "elinewidth": 0.9})
    axes.set_yticks(positions, names, fontsize=9)
    axes.invert_yaxis()
    axes.axvline(0.0, color="0.3", linewidth=0.8)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _panel_title(model: Model | TopicModel, name: Any) -> str:
    if model.learner.task.binary:
        return f"{_class_name(name)} (right) against {_class_name(class_names(model)[0])} (left)"
    return _class_name(name)


def _class_name(name: Any) -> str:
    return _shortened(str(name))


def _feature_name(feature: str | int) -> str:
    return f"feature {feature}" if isinstance(feature, int) else feature


def _shortened(name: str, most: int = MAX_NAME) -> str:
    name = printable(name)
    return _escaped(name if len(name) <= most else name[: most - 1] + "…")


def _topic_name(topic: TopicView) -> str:
    """A topic's number and as many of its words as fit."""
    text = f"{topic.number}:"
    for word in (printable(str(word)) for word in topic.words[:WORDS_PER_TOPIC]):
        if len(text) + len(word) >= MAX_TOPIC_NAME:
            break
        text += f" {word}"
    return _escaped(text)


def _escaped(text: str) -> str:
    return printable(text).replace("$", r"\$")  # a dollar sign would begin a formula


# --- learning curves -------------------------------------------------------------------------------------------------


def plot_comparison(found: Comparison) -> Figure:
    """Plot the progressive validation error of each rule's best trial; the best rule comes first in the legend."""
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    axes = figure.subplots()
    trials = found.best_by_rule()
    for k, trial in enumerate(trials):
        rows, error = zip(*(point for point in trial.curve if point[0] >= min(FIRST_ROW, trial.rows)), strict=True)
        axes.plot(
            rows, [100 * e for e in error], color=f"C{k % COLORS}", linestyle="-" if k < COLORS else "--",
            linewidth=2.2 if k == 0 else 1.2, label=_trial_name(trial), zorder=len(trials) - k + 2,
        )  # fmt: skip
    axes.set(xlabel="rows seen", ylabel="progressive validation error (%)", xscale="log")
    axes.set_title("Rows misclassified before training on them", loc="left")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _trial_name(trial: Trial) -> str:
    parameters = parameters_text(trial.parameters)
    return f"{100 * trial.error:.2f} %  {trial.name}" + (f"({parameters})" if parameters else "")


def plot_risk_coverage(curve: RiskCoverage, rows: int) -> Figure:
    """Plot the error of the predictions made, by the fraction of the rows that are predicted."""
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = RiskCoverageDisplay(curve).plot(figure.subplots())
    axes.set_title(f"Error when the least probable predictions of {counted(rows, 'row')} are left out", loc="left")
    return figure


def plot_demo(runs: list[dict[str, Any]], model: Any, stride: int) -> Figure:
    """Plot the demo's learning curves, and each class's weights with their standard deviations as images.

    Every run has one point of its curve per ``stride`` rows.
    """
    figure = Figure(figsize=(10, 7.2), layout="constrained")
    curves, images = figure.subfigures(2, 1, squeeze=False, height_ratios=[3, 2.2]).ravel()
    _draw_curves(curves, runs, stride)
    _draw_weights(images, model)
    return figure


def _draw_curves(figure: Any, runs: list[dict[str, Any]], stride: int) -> None:
    axes = figure.subplots()
    for run in runs:
        rows = stride * np.arange(1, len(run["curve"]) + 1)
        axes.plot(
            rows[FIRST_POINT:], 100 * run["curve"][FIRST_POINT:],
            label=f"{run['name']} ({run['progressive_error']:.1%})",
        )  # fmt: skip
    axes.set(xlabel="digits seen", ylabel="progressive validation error (%)", ylim=(0, None))
    axes.set_title("Digits misclassified before training on them", loc="left")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, ncols=2)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_weights(figure: Any, model: Any) -> None:
    mean, std = model.coef_, np.sqrt(model.variance_)
    rows = figure.subplots(2, len(mean), gridspec_kw={"wspace": 0.05, "hspace": 0.05})
    for axes in rows.flat:
        axes.set(xticks=[], yticks=[])
    for k, (above, below) in enumerate(rows.T):
        limit = np.abs(mean).max()
        weights = above.imshow(mean[k].reshape(8, 8), cmap="RdBu", vmin=-limit, vmax=limit)
        stds = below.imshow(std[k].reshape(8, 8), cmap="viridis", vmin=0, vmax=std.max())
        above.set_title(str(model.classes_[k]), fontsize=10)
    rows[0, 0].set_ylabel("mean")
    rows[1, 0].set_ylabel("std. deviation")
    figure.colorbar(weights, ax=rows[0].tolist(), shrink=0.8)
    figure.colorbar(stds, ax=rows[1].tolist(), shrink=0.8)
    figure.suptitle("CW-Stdev: weights of each digit and their uncertainty", x=0.01, ha="left", fontsize=12)
