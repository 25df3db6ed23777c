"""Golden numbers of stacks: their members, weights, probabilities and errors on fixed data, after one pass.

``golden_stacks.csv`` has one line per number. If one changes, a member, the choice of members or the mixture has
changed. For an intended change, ``python -m tests.stack.test_golden_stacks`` writes the file again; give the reason in
the commit message. Probabilities and weights have a tolerance, since mathematical libraries round differently.
"""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss

from confidently import AutoClassifier
from tests.data_sets import load
from tests.estimators.test_auto_classifier import words

FILE = Path(__file__).parents[1] / "tables" / "golden_stacks.csv"
COLUMNS = ("data", "quantity", "of", "value")
ROWS = 5  # whose probabilities are kept
TOLERANCE = 1e-6
EXACT = ("mistakes", "updates", "test_errors")


def in_order(X, y, train, test):
    """Rows in a random order, divided."""
    order = np.random.default_rng(0).permutation(len(y))[: train + test]
    return X[order[:train]], y[order[:train]], X[order[train:]], y[order[train:]]


RUNS = {
    "cancer: dense, two classes": lambda: in_order(*load_breast_cancer(return_X_y=True), 400, 150),
    "digits: dense, ten classes": lambda: in_order(*load_digits(return_X_y=True), 600, 400),
    "words: sparse, two classes": lambda: in_order(*words(2, 500), 300, 200),
    "words: sparse, three classes": lambda: in_order(*words(3, 500), 300, 200),
    "a9a: sparse, two classes": lambda: load("a9a", 3000, 1000),
    "usps: pixels, ten classes": lambda: load("usps", 500, 500),
    "newsgroups: sparse, many classes": lambda: load("newsgroups", 800, 400),
    "scene: dense, label sets": lambda: load("scene", 600, 300),
    "bibtex: sparse, label sets": lambda: load("bibtex", 600, 300),
}


def numbers(run):
    """Return the numbers of a run by quantity and what they are of."""
    X, y, X_test, y_test = RUNS[run]()
    model = AutoClassifier().fit(X, y)
    p = model.predict_proba(X_test)
    found = {("mistakes", ""): model.mistakes_, ("updates", ""): model.learner_.updates}
    found["test_errors", ""] = int(np.sum(model.predict(X_test) != y_test))
    if y.ndim == 2:
        found["test_log_loss", ""] = float(-np.log(np.where(y_test, p, 1.0 - p)).sum(axis=1).mean())
        own = p[:, 0]  # of the first label
    else:
        found["test_log_loss", ""] = float(log_loss(y_test, p, labels=model.classes_))
        own = p[np.arange(len(p)), np.searchsorted(model.classes_, y_test)]
    weights = model.learner_.member_weights.tolist()
    found |= {("weight", name): w for name, w in zip(model.members_, weights, strict=True)}
    found |= {("probability", f"test row {i}"): float(own[i]) for i in range(ROWS)}
    return found


def golden():
    """Return the numbers of every run that the file has."""
    found = {}
    with FILE.open(newline="") as file:
        for line in csv.DictReader(file):
            number = int if line["quantity"] in EXACT else float
            found.setdefault(line["data"], {})[line["quantity"], line["of"]] = number(line["value"])
    return found


def test_the_file_is_complete():
    assert list(golden()) == list(RUNS), "run python -m tests.stack.test_golden_stacks"


LONG = ("usps", "newsgroups", "bibtex")


@pytest.mark.parametrize("run", [
    pytest.param(run, marks=pytest.mark.long("many rows")) if run.startswith(LONG) else run for run in RUNS
])  # fmt: skip
def test_stacks_are_golden(run):
    found, expected = numbers(run), golden()[run]
    assert list(found) == list(expected)  # the same members in the same order
    for name, value in found.items():
        same = value if name[0] in EXACT else pytest.approx(value, rel=TOLERANCE, abs=TOLERANCE)
        assert expected[name] == same, name


def write_golden():
    """Write golden_stacks.csv."""
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for run in RUNS:
            for (quantity, of), value in numbers(run).items():
                writer.writerow([run, quantity, of, value if quantity in EXACT else f"{value:.10g}"])


if __name__ == "__main__":
    write_golden()
