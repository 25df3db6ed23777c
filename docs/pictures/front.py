"""Draw the pictures of the front page, light and dark, and that of links to the site: python docs/pictures/front.py.

The label says whether a point lies in a disc, and from row CHANGE on whether it lies on one side of a line; a tenth of
the labels is wrong. Every rival learns on: AutoClassifier and River's adaptive random forest predict rows before they
learn them, boosted trees are trained again every RETRAINED rows on the last TRAINED, a third of which split conformal
prediction holds out for their sets.
"""

import io
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from river.forest import ARFClassifier
from sklearn.ensemble import HistGradientBoostingClassifier

from confidently import AutoClassifier

FOLDER = Path(__file__).parent
CARD = FOLDER.parent / "site" / "static" / "card.png"
LOOKS = {
    "light": {"paper": "#ffffff", "ink": "#222222", "faint": "#555555", "ends": ("#3b74b8", "#c9503f", "#8a6d1d")},
    "dark": {"paper": "#131416", "ink": "#eeeeee", "faint": "#bbbbbb", "ends": ("#4a86cf", "#d9604e", "#c0a04a")},
}
ROWS, TRAINED, RETRAINED, SHOWN, CHANGE, BATCH, WINDOW, COVERAGE = 10_000, 2_000, 500, 3_000, 6_000, 10, 300, 0.9
Found = list[tuple[np.ndarray, np.ndarray | None]]  # of each learner, which predictions are wrong and which sets right
NAMES = ("AutoClassifier", "boosted trees, trained\nagain every 500", "River's adaptive forest")


def stream() -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels."""
    random = np.random.default_rng(1)
    X = random.normal(size=(ROWS, 4))
    disc, line = (X[:, :2] ** 2).sum(axis=1) < 1.4, X[:, 2] + X[:, 3] > 0
    wrong = random.random(ROWS) < 0.1
    return X, np.where(np.arange(ROWS) < CHANGE, disc, line).astype(int) ^ wrong


def learning(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each row is predicted wrongly, and whether its set has its class, each before it is learned."""
    model = AutoClassifier().partial_fit(X[:BATCH], y[:BATCH], classes=[0, 1])
    wrong, covered = np.zeros(ROWS, bool), np.ones(ROWS, bool)
    for first in range(BATCH, ROWS, BATCH):
        rows = np.arange(first, first + BATCH)
        wrong[rows] = model.predict(X[rows]) != y[rows]
        covered[rows] = model.predict_set(X[rows], COVERAGE)[np.arange(BATCH), y[rows]]
        model.partial_fit(X[rows], y[rows])
    return wrong, covered


def trained_again(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of boosted trees that are trained again and again."""
    wrong, covered = np.zeros(ROWS, bool), np.ones(ROWS, bool)
    for first in range(TRAINED, ROWS, RETRAINED):
        before, rows = np.arange(first - TRAINED, first), np.arange(first, min(first + RETRAINED, ROWS))
        held_out = before % 3 == 0
        model = HistGradientBoostingClassifier(random_state=0).fit(X[before[~held_out]], y[before[~held_out]])
        kept, p = before[held_out], model.predict_proba(X[rows])
        scores = np.sort(model.predict_proba(X[kept])[np.arange(len(kept)), y[kept]])
        least = scores[int((1.0 - COVERAGE) * (len(scores) + 1)) - 1]
        wrong[rows], covered[rows] = p.argmax(axis=1) != y[rows], p[np.arange(len(rows)), y[rows]] >= least
    return wrong, covered


def forest(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, None]:
    """Return which rows an adaptive random forest predicts wrongly, each before it is learned; it has no sets."""
    model, wrong = ARFClassifier(seed=0), np.zeros(ROWS, bool)
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        features = dict(enumerate(row))
        wrong[i] = model.predict_one(features) != label
        model.learn_one(features, label)
    return wrong, None


def panel(ax: Axes, lines: list[np.ndarray], title: str, look: dict) -> None:
    """Draw means of the last rows."""
    at = np.arange(SHOWN, ROWS + 1, 40)
    for line, color, width in zip(lines, look["ends"], (2.4, 1.6, 1.6), strict=False):
        sums = np.concatenate([[0], np.cumsum(line)])
        ax.plot(at, 100.0 * (sums[at] - sums[at - WINDOW]) / WINDOW, color=color, linewidth=width)
    ax.axvline(CHANGE, color=look["faint"], linewidth=0.8, linestyle=":")
    ax.set_title(title, color=look["ink"], fontsize=12, loc="left")
    ax.set_facecolor(look["paper"])
    ax.set(xlim=(SHOWN, ROWS), xticks=range(4000, ROWS, 2000), xlabel="row")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:.0f} %")
    ax.tick_params(colors=look["faint"])
    ax.xaxis.label.set_color(look["faint"])
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(look["faint"])


def errors(ax: Axes, found: Found, look: dict) -> None:
    """Draw how many predictions are wrong."""
    panel(ax, [wrong for wrong, _ in found], "wrong predictions", look)
    ax.set_ylim(0, 60)
    ax.text(CHANGE - 80, 57, "the rule behind\nthe labels\nchanges", color=look["faint"], ha="right", va="top")
    for row, at, label, color in zip((3150, 6850, 6100), (3, 46, 3), NAMES, look["ends"], strict=True):
        ax.text(row, at, label, color=color, va="bottom", fontweight="bold")


def sets(ax: Axes, found: Found, look: dict) -> None:
    """Draw how many sets have the true class."""
    panel(ax, [covered for _, covered in found if covered is not None], "90 % sets with the true class", look)
    ax.set_ylim(40, 100)
    ax.axhline(100.0 * COVERAGE, color=look["faint"], linewidth=0.8, linestyle="--", zorder=0)


def save_small(figure: Figure, file: Path) -> None:
    """Save a figure as SVG, with texts as such and numbers of one decimal."""
    text = io.StringIO()
    figure.savefig(text, format="svg", facecolor=figure.get_facecolor(), metadata={"Date": None})
    short = re.sub(r"-?\d+\.\d\d+", lambda number: f"{float(number[0]):.1f}", text.getvalue())
    file.write_text(short.replace(".0 ", " "), encoding="utf-8")


def draw_card(found: Found) -> None:
    """Draw the picture that other sites show with a link, of 1200 by 630 pixels."""
    look = LOOKS["light"]
    figure = plt.figure(figsize=(10, 5.25), layout="constrained", facecolor=look["paper"])
    figure.get_layout_engine().set(rect=(0.02, 0.02, 0.96, 0.7))
    figure.text(0.035, 0.87, "confidently", color=look["ink"], fontsize=32, fontweight="bold")
    line = "learns from a stream in one pass, and says when not to trust it"
    figure.text(0.036, 0.78, line, color=look["faint"], fontsize=17)
    for ax, draw in zip(figure.subplots(1, 2), (errors, sets), strict=True):
        draw(ax, found, look)
    pixels = io.BytesIO()
    figure.savefig(pixels, dpi=120, facecolor=look["paper"])
    Image.open(pixels).convert("RGB").quantize(64).save(CARD, optimize=True)


if __name__ == "__main__":
    plt.rcParams.update({"svg.fonttype": "none", "path.simplify_threshold": 0.5})
    X, y = stream()
    found: Found = [learning(X, y), trained_again(X, y), forest(X, y)]
    for name, look in LOOKS.items():
        plt.rcParams["svg.hashsalt"] = name  # the same file each time
        for draw in (errors, sets):
            figure, ax = plt.subplots(figsize=(3.9, 3.3), layout="constrained", facecolor=look["paper"])
            draw(ax, found, look)
            save_small(figure, FOLDER / f"front-{draw.__name__}-{name}.svg")
    draw_card(found)
