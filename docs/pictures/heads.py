"""Draw the picture of docs/heads.md from its table: python docs/pictures/heads.py."""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "heads.md"
OURS, THEIRS = "#3b74b8", "#9a9a9a"


def main() -> None:
    """Draw the errors of every set by rows per class."""
    lines = re.search(r"(\| rows per class .*\n)\|.*\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"))
    names, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in "".join(lines.groups()).splitlines())
    numbers = [int(row[0]) for row in rows]
    figure, axes = plt.subplots(1, len(names) - 1, figsize=(10, 2.8), sharey=True)
    for k, (name, axis) in enumerate(zip(names[1:], axes, strict=True), 1):
        ours, theirs = zip(*(map(float, row[k].split("/")) for row in rows), strict=True)
        axis.semilogx(numbers, theirs, color=THEIRS, linewidth=6, alpha=0.6, label="LogisticRegression, best C")
        axis.semilogx(numbers, ours, "o-", color=OURS, markersize=4, label="AutoClassifier")
        axis.set(title=name, xlabel="rows per class", xticks=numbers, xticklabels=map(str, numbers), ylim=(0, 100))
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("test error, %")
    axes[0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(FOLDER / "heads.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
