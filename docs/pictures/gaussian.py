"""Draw the Gaussian of docs/how-it-works.md, for light and for dark pages: python docs/pictures/gaussian.py."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from front import FOLDER, LOOKS
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from scipy.special import ndtr

from confidently import AROW, OnlineClassifier

SEEN = (4, 20, 200)
EDGE = 3.2


def points() -> tuple[np.ndarray, np.ndarray]:
    """Return two clouds of points that overlap a little, and their labels."""
    random = np.random.default_rng(3)
    label = random.integers(0, 2, SEEN[-1])
    middle = np.where(label[:, None] == 1, [1.1, 0.8], [-1.1, -0.8])
    return middle + random.normal(size=(SEEN[-1], 2)) @ [[0.9, -0.2], [-0.2, 0.8]], label


def panel(ax: Axes, X: np.ndarray, y: np.ndarray, look: dict) -> None:
    """Draw the posterior after these rows: agreement of classifiers as color, some of the classifiers as lines."""
    classifier = OnlineClassifier(AROW(r=1.0), "full", view=None).fit(X, y)
    line = np.linspace(-EDGE, EDGE, 241)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    mean, variance = classifier.margin_distribution(grid)
    low, high = look["ends"]
    colors = LinearSegmentedColormap.from_list("votes", [low, look["paper"], high])
    vote = ndtr(mean / np.sqrt(variance)).reshape(line.size, line.size)
    ax.imshow(
        vote, extent=(-EDGE, EDGE) * 2, origin="lower", cmap=colors, vmin=-0.4, vmax=1.4, interpolation="bilinear"
    )
    drawn = classifier.sample_weights(25, random_state=0)
    for weights in np.asarray(drawn).reshape(25, -1):
        scores = grid @ weights[:-1] + weights[-1]
        ax.contour(line, line, scores.reshape(line.size, -1), [0], colors=look["faint"], linewidths=0.5, alpha=0.7)
    ax.contour(line, line, mean.reshape(line.size, -1), [0], colors=look["ink"], linewidths=2.2)
    for kind, color, marker in zip((0, 1), look["ends"], "so", strict=True):
        ax.scatter(*X[y == kind].T, s=20, c=color, marker=marker, edgecolors=look["paper"], linewidths=0.6, zorder=3)
    ax.set(xticks=[], yticks=[], xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE))
    ax.spines[:].set_visible(False)
    ax.set_title(f"after {len(X)} examples", color=look["ink"], fontsize=12)


def draw(name: str) -> None:
    look, (X, y) = LOOKS[name], points()
    figure, axes = plt.subplots(1, len(SEEN), figsize=(10, 3.6), layout="constrained", facecolor=look["paper"])
    figure.get_layout_engine().set(h_pad=0.12)
    for ax, seen in zip(axes, SEEN, strict=True):
        panel(ax, X[:seen], y[:seen], look)
    figure.savefig(FOLDER / f"gaussian-{name}.webp", dpi=120, facecolor=look["paper"], pil_kwargs={"quality": 85})


if __name__ == "__main__":
    for name in LOOKS:
        draw(name)
