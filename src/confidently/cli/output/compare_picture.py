"""The picture of ``confidently compare``: learning curves of every rule."""

from __future__ import annotations

from matplotlib.figure import Figure

from ...evaluation.comparison import Comparison, Trial

COLOURS = 10  # of matplotlib's cycle; lines beyond them are dashed
FIRST_ROW = 100  # before it the error means little


def draw(found: Comparison) -> Figure:
    """Progressive error of the best trial of every rule as rows come, the best rule on top of the legend."""
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    axes = figure.subplots()
    trials = found.best_by_rule()
    for k, trial in enumerate(trials):
        rows, error = zip(*(point for point in trial.curve if point[0] >= min(FIRST_ROW, trial.rows)), strict=True)
        axes.plot(
            rows, [100 * e for e in error], color=f"C{k % COLOURS}", linestyle="-" if k < COLOURS else "--",
            linewidth=2.2 if k == 0 else 1.2, label=_label(trial), zorder=len(trials) - k + 2,
        )  # fmt: skip
    axes.set(xlabel="rows seen", ylabel="progressive error (%)", xscale="log")
    axes.set_title("Share of rows predicted wrongly before they were learned", loc="left")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _label(trial: Trial) -> str:
    return f"{100 * trial.error:.2f} %  {described(trial)}"


def described(trial: Trial) -> str:
    """A rule's name with its parameters."""
    parameters = ", ".join(f"{name}={value:g}" for name, value in trial.parameters.items())
    return f"{trial.rule.name}({parameters})" if parameters else trial.rule.name
