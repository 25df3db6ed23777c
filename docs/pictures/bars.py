"""Draw the bars of docs/benchmarks.md from its tables: python docs/pictures/bars.py."""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "benchmarks.md"
sys.path.append(str(FOLDER.parents[1] / "benchmarks"))

from page_pictures import bars  # noqa: E402


def table(header: str) -> list[list[str]]:
    """Return the rows of the table whose header begins so."""
    text = PAGE.read_text(encoding="utf-8").partition(f"| {header}")[2]
    lines = re.match(r".*\n\|.*\n((?:\|.*\n)+)", text)[1].splitlines()
    return [re.split(r" *\| *", line)[1:-1] for line in lines]


def test_errors() -> None:
    """Draw the mean test error of every learner, sorted."""
    header = re.search(r"\| test error in % .*", PAGE.read_text(encoding="utf-8"))[0]
    column = re.split(r" *\| *", header)[1:-1].index("mean")
    found = {cells[0]: float(cells[column]) for cells in table("test error in %")}
    [auto] = [cells[2] for cells in table("set | AROW | AutoClassifier") if cells[0] == "mean of eleven"]
    found["AutoClassifier"] = float(auto.partition(" ")[0])
    found = dict(sorted(found.items(), key=lambda item: item[1]))
    label = "mean test error over eleven data sets, % (gray: scikit-learn)"
    bars(FOLDER / "test-errors.png", found, label, digits=2)


if __name__ == "__main__":
    test_errors()
