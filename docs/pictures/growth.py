"""Draw the picture of rounds on many partitions from their table in docs/distributed.md: docs/pictures/growth.py."""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "distributed.md"
LOOKS = {
    "light": {"paper": "#ffffff", "ink": "#222222", "faint": "#555555", "ends": ("#3b74b8", "#c9503f")},
    "dark": {"paper": "#131416", "ink": "#eeeeee", "faint": "#bbbbbb", "ends": ("#4a86cf", "#d9604e")},
}


def numbers() -> dict[str, list[tuple[float, float, float]]]:
    """Return partitions, seconds with a tree and seconds without one, by learner."""
    [lines] = re.findall(r"\| learner \| partitions .*\n\|.*\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"))
    found: dict[str, list[tuple[float, float, float]]] = {}
    for line in lines.splitlines():
        name, n, *_, with_tree, without = (cell.strip() for cell in line.split("|")[1:-1])
        found.setdefault(name, []).append((float(n.replace(",", "")), float(with_tree), float(without)))
    return found


def draw(name: str, look: dict) -> None:
    """Draw the picture for pages of one look."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, facecolor=look["paper"])
    for ax, (learner, rows) in zip(axes, numbers().items(), strict=True):
        partitions, with_tree, without = zip(*rows, strict=True)
        ax.loglog(partitions, without, "o-", color=look["ends"][1], markersize=4)
        ax.loglog(partitions, with_tree, "o-", color=look["ends"][0], markersize=4)
        ax.text(partitions[2], 1.7 * without[2], "merged by the driver", color=look["ends"][1], ha="right")
        ax.text(partitions[-1], 0.2 * with_tree[-1], "in a tree", color=look["ends"][0], ha="right")
        ax.set_title(learner, color=look["ink"], fontsize=11, loc="left")
        ax.set(facecolor=look["paper"], xticks=partitions, xticklabels=[f"{n:,.0f}" for n in partitions])
        ax.set_xlabel("partitions", color=look["faint"])
        ax.minorticks_off()
        ax.yaxis.set_major_formatter("{x:g} s")
        ax.tick_params(colors=look["faint"])
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(look["faint"])
    figure.tight_layout()
    figure.savefig(FOLDER / f"growth-{name}.svg", facecolor=look["paper"], metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    plt.rcParams["svg.hashsalt"] = "growth"
    for name, look in LOOKS.items():
        draw(name, look)


if __name__ == "__main__":
    main()
