"""Draw the bars of docs/benchmarks.md from its tables: python docs/pictures/bars.py."""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "benchmarks.md"
OURS, THEIRS = "#3b74b8", "#9a9a9a"


def table(header: str) -> list[list[str]]:
    """Return the rows of the table whose header begins so."""
    text = PAGE.read_text(encoding="utf-8").partition(f"| {header}")[2]
    lines = re.match(r".*\n\|.*\n((?:\|.*\n)+)", text)[1].splitlines()
    return [re.split(r" *\| *", line)[1:-1] for line in lines]


def bars(name: str, found: dict[str, float], label: str, color: dict[str, str], digits: int, line: float = 0) -> None:
    """Draw horizontal bars with their values, the first on top."""
    figure, ax = plt.subplots(figsize=(7.2, 0.27 * len(found) + 0.7), layout="constrained")
    drawn = ax.barh(list(found), list(found.values()), color=[color[key] for key in found])
    ax.bar_label(drawn, [f"{value:.{digits}f}" for value in found.values()], padding=3, fontsize=8)
    ax.margins(x=0.09, y=0.01)
    ax.invert_yaxis()
    ax.set(xlabel=label)
    ax.tick_params(labelsize=8.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.axvline(line, color="0.4", lw=1)
    figure.savefig(FOLDER / f"{name}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def test_errors() -> None:
    """Draw the mean test error of every learner, sorted."""
    header = re.search(r"\| test error in % .*", PAGE.read_text(encoding="utf-8"))[0]
    column = re.split(r" *\| *", header)[1:-1].index("mean")
    found = {cells[0]: float(cells[column]) for cells in table("test error in %")}
    [auto] = [cells[2] for cells in table("set | AROW | AutoClassifier") if cells[0] == "mean of eleven"]
    found["AutoClassifier"] = float(auto.partition(" ")[0])
    theirs = re.compile("SGDClassifier|Perceptron|LinearSVC|LogisticRegression")
    color = {name: THEIRS if theirs.match(name) else OURS for name in found}
    found = dict(sorted(found.items(), key=lambda item: item[1]))
    bars("test-errors", found, "mean test error over eleven data sets, % (gray: scikit-learn)", color, digits=2)


if __name__ == "__main__":
    test_errors()
