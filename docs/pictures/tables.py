"""Draw the log-loss of several models by their time of training, of benchmarks/mixed.py --json FILE, light and dark.

Each small point is a table: its log-loss relative to that of the best model there, and the seconds to train and
predict. The large points are geometric means over all tables. Run it as python docs/pictures/tables.py FILE.
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from front import FOLDER, LOOKS, save_small
from matplotlib.axes import Axes

MOST = 2.0  # times the best log-loss, above which points are drawn at the edge
MODELS = ("AutoClassifier", "CatBoost", "LightGBM", "LogisticRegression")
MORE = "#3f9a6b"  # the color of the last one


def draw(ax: Axes, tables: dict[str, dict[str, list[float]]], look: dict) -> None:
    """Draw all tables of every model, and their mean."""
    ax.set_facecolor(look["paper"])
    best = {table: min(found[model][0] for model in MODELS) for table, found in tables.items()}
    for model, color in zip(MODELS, (*look["ends"], MORE), strict=True):
        losses = np.array([found[model][0] / best[table] for table, found in tables.items()])
        seconds = np.array([found[model][1] for found in tables.values()])
        ax.plot(seconds, np.minimum(losses, MOST), "o", markersize=3.5, color=color, alpha=0.35, markeredgewidth=0)
        mean = [float(np.exp(np.log(values).mean())) for values in (seconds, losses)]
        ax.plot(*mean, "o", markersize=9, color=color)
        where, side = ((7, -3), "left") if model == MODELS[0] else ((0, 8), "center")
        ax.annotate(model, mean, where, textcoords="offset points", color=color, fontweight="bold", ha=side)
    ax.set(xscale="log", ylim=(0.97, MOST + 0.03), xlabel="seconds to train and predict")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set_title(f"log-loss on {len(tables)} mixed tables, times the best", loc="left", color=look["ink"], fontsize=10)
    ax.tick_params(colors=look["faint"], which="both")
    ax.xaxis.label.set_color(look["faint"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(look["faint"])


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    tables = {name: of for name, of in found.items() if name != "machine"}
    plt.rcParams.update({"svg.fonttype": "none"})
    for name, look in LOOKS.items():
        plt.rcParams["svg.hashsalt"] = name  # the same file each time
        figure, ax = plt.subplots(figsize=(3.9, 3.3), layout="constrained", facecolor=look["paper"])
        draw(ax, tables, look)
        save_small(figure, FOLDER / f"tables-{name}.svg")
