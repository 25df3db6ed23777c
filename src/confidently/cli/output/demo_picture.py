"""The demo's picture: learning curves, and the weights with their uncertainty as images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

FIRST = 5  # the curves begin where the error means something


def draw(path: Path, runs: list[dict[str, Any]], model: Any, stride: int) -> None:
    """Write a PNG: curves on top, ten images of weights, ten of their standard deviation.

    Every run has a point of its curve each ``stride`` rows.
    """
    figure = Figure(figsize=(10, 7.2), layout="constrained")
    FigureCanvasAgg(figure)
    curves, images = figure.subfigures(2, 1, squeeze=False, height_ratios=[3, 2.2]).ravel()
    _curves(curves, runs, stride)
    _weights(images, model)
    figure.savefig(path, dpi=120)


def _curves(figure: Any, runs: list[dict[str, Any]], stride: int) -> None:
    axes = figure.subplots()
    for run in runs:
        peer = "classifier" not in run
        rows = stride * np.arange(1, len(run["curve"]) + 1)
        axes.plot(
            rows[FIRST:], 100 * run["curve"][FIRST:], label=f"{run['name']} ({run['progressive_error']:.1%})",
            color="0.4" if peer else None, linestyle="--" if peer else "-",
        )  # fmt: skip
    axes.set(xlabel="digits seen", ylabel="progressive error (%)", ylim=(0, None))
    axes.set_title("Error of predicting each digit before learning it", loc="left")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, ncols=2)
    axes.spines[["top", "right"]].set_visible(False)


def _weights(figure: Any, model: Any) -> None:
    mean, deviation = model.coef_, np.sqrt(model.variance_)
    rows = figure.subplots(2, len(mean), gridspec_kw={"wspace": 0.05, "hspace": 0.05})
    for axes in rows.flat:
        axes.set(xticks=[], yticks=[])
    for k, (above, below) in enumerate(rows.T):
        limit = np.abs(mean).max()
        weights = above.imshow(mean[k].reshape(8, 8), cmap="RdBu", vmin=-limit, vmax=limit)
        deviations = below.imshow(deviation[k].reshape(8, 8), cmap="viridis", vmin=0, vmax=deviation.max())
        above.set_title(str(model.classes_[k]), fontsize=10)
    rows[0, 0].set_ylabel("mean")
    rows[1, 0].set_ylabel("std. deviation")
    figure.colorbar(weights, ax=rows[0].tolist(), shrink=0.8)
    figure.colorbar(deviations, ax=rows[1].tolist(), shrink=0.8)
    figure.suptitle("CW-Stdev's weights for each digit, and how uncertain they are", x=0.01, ha="left", fontsize=12)
