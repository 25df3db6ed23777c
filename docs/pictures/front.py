"""Draw the pictures of the front page, light and dark, and that of links to the site: python docs/pictures/front.py.

The label says whether a point lies in a disc, and from row CHANGE on whether it lies on one side of a line; a tenth of
the labels is wrong. AutoClassifier predicts each batch before it learns it. Boosted trees learned the rows before the
picture begins, and have sets by split conformal prediction.
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
from sklearn.ensemble import HistGradientBoostingClassifier

from confidently import AutoClassifier

FOLDER = Path(__file__).parent
CARD = FOLDER.parent / "site" / "static" / "card.png"
LOOKS = {
    "light": {"paper": "#ffffff", "ink": "#222222", "faint": "#555555", "ends": ("#3b74b8", "#c9503f")},
    "dark": {"paper": "#131416", "ink": "#eeeeee", "faint": "#bbbbbb", "ends": ("#4a86cf", "#d9604e")},
}
ROWS, TRAINED, SHOWN, CHANGE, BATCH, WINDOW, COVERAGE = 10_000, 2_000, 3_000, 6_000, 10, 300, 0.9
Found = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]  # what learning and at_rest return
NAMES = ("AutoClassifier, learning on", "boosted trees, trained before")


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


def at_rest(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of a model that does not learn on."""
    model = HistGradientBoostingClassifier(random_state=0).fit(X[:TRAINED], y[:TRAINED])
    p, held_out = model.predict_proba(X), np.arange(TRAINED, SHOWN)
    scores = np.sort(p[held_out, y[held_out]])
    least = scores[int((1.0 - COVERAGE) * (len(scores) + 1)) - 1]
    return p.argmax(axis=1) != y, p[np.arange(ROWS), y] >= least


def panel(ax: Axes, lines: list[np.ndarray], title: str, look: dict) -> None:
    """Draw means of the last rows."""
    at = np.arange(SHOWN, ROWS + 1, 40)
    for line, color, width in zip(lines, look["ends"], (2.4, 1.6), strict=True):
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
    ax.text(CHANGE - 80, 57, "the rule behind the\nlabels changes", color=look["faint"], ha="right", va="top")
    for at, label, color in zip((20, 36), NAMES, look["ends"], strict=True):
        ax.text(CHANGE + 700, at, label, color=color, va="bottom", fontweight="bold")


def sets(ax: Axes, found: Found, look: dict) -> None:
    """Draw how many sets have the true class."""
    panel(ax, [covered for _, covered in found], "90 % sets with the true class", look)
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
    found = learning(X, y), at_rest(X, y)
    for name, look in LOOKS.items():
        plt.rcParams["svg.hashsalt"] = name  # the same file each time
        for draw in (errors, sets):
            figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained", facecolor=look["paper"])
            draw(ax, found, look)
            save_small(figure, FOLDER / f"front-{draw.__name__}-{name}.svg")
    draw_card(found)
