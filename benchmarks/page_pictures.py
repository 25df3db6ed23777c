"""The pictures of docs/benchmarks.md, from the results of the benchmarks of speed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from page_lines import files, text

OURS, THEIRS = "#3b74b8", "#9a9a9a"
PEERS = re.compile("VW|SGDClassifier|Perceptron|LinearSVC|LogisticRegression")  # whose bars are gray
Results = dict[str, dict[str, Any]]


def draw(found: Results, folder: Path) -> dict[str, str]:
    """Draw what there are results for; return the caption of every picture by file."""
    captions = {}
    if "vw" in found.get("files", {}):
        rates(found["files"]["vw"], folder / "speed-rates.png")
        captions["speed-rates.png"] = "Bars of rows per second by tool, from a file to a saved model"
    if "files" in found or "text" in found:
        ratios(found, folder / "speed.png")
        captions["speed.png"] = "Bars of the peer's time divided by ours"
    if "scaling" in found:
        for what, label in (("rows", "rows of the file"), ("features", "features, in memory")):
            times(found["scaling"][what], label, folder / f"time-by-{what}.png")
            captions[f"time-by-{what}.png"] = f"Time against the number of {what}, both axes logarithmic"
    return captions


def rates(vw: dict[str, Any], file: Path) -> None:
    """Draw the rows per second of the larger file, by tool."""
    values = {}
    for name, measured in vw.items():
        rows = max(measured["runs"], key=int)
        values[name] = int(rows) / measured["runs"][rows]["seconds"] / 1e3
    bars(file, values, "thousand rows of 63 features per second, whole processes", 0)


def ratios(found: Results, file: Path) -> None:
    """Draw how many times as fast the package is as its peers."""
    lines = files(found.get("files", {})) + text(found.get("text", {}))
    bars(file, {f"{line.work}\n{line.peer}": line.ratio for line in lines}, "the peer's time divided by ours", 1, 1)


def bars(file: Path, values: dict[str, float], label: str, digits: int, line: float = 0) -> None:
    """Draw horizontal bars with their values, the first on top."""
    height = 0.27 + 0.15 * max(name.count("\n") for name in values)
    figure, ax = plt.subplots(figsize=(7.2, height * len(values) + 0.7), layout="constrained")
    color = [THEIRS if PEERS.match(name) else OURS for name in values]
    ax.bar_label(ax.barh(list(values), list(values.values()), color=color), fmt=f"%.{digits}f", padding=3, fontsize=8)
    ax.margins(x=0.09, y=0.01)
    ax.invert_yaxis()
    ax.set(xlabel=label)
    ax.tick_params(labelsize=8.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.axvline(line, color="0.4", lw=1)
    _save(figure, file)


def times(by_tool: dict[str, dict[str, float]], label: str, file: Path) -> None:
    """Draw seconds against a size on logarithmic axes."""
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    blues = iter(["#9dc3e6", OURS, "#17375e"])
    for name, by in by_tool.items():
        color = next(blues) if name.startswith("confidently") else "#c05020"
        ax.plot([int(size) for size in by], list(by.values()), marker="o", markersize=4, color=color, label=name)
    ax.set(xscale="log", yscale="log", xlabel=label, ylabel="seconds")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        axis.set_minor_locator(NullLocator())
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8.5)
    _save(figure, file)


def _short(value: float) -> str:
    """Return a number with thousands as k and millions as M, so that labels do not touch."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def _save(figure: Any, file: Path) -> None:
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)
