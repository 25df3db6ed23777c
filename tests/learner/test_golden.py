"""Golden numbers: counts of the decisions of every rule on real data, after one pass with default parameters.

``golden.csv`` has one line per data set, covariance and rule: progressive mistakes and updates on the training rows,
and wrong predictions on the test rows. If a number changes, an algorithm has changed. For a new rule or an intended
change, ``python -m tests.learner.test_golden`` writes the file again; give the reason in the commit message.
"""

import csv
from pathlib import Path

import numpy as np
import pytest

from confidently import RULES, OnlineClassifier, make_rule
from tests.data_sets import load

FILE = Path(__file__).parents[1] / "tables" / "golden.csv"
COLUMNS = ("data", "covariance", "rule", "train_rows", "test_rows", "mistakes", "updates", "test_errors")

# (data set, covariance): maximum numbers of (training rows, test rows), so that all takes less than a minute.
RUNS = {
    ("a9a", "diag"): (10000, 5000), ("w8a", "diag"): (10000, 5000), ("phishing", "diag"): (None, None),
    ("spambase", "diag"): (None, None), ("letter", "diag"): (4000, 1000), ("usps", "diag"): (2000, 1000),
    ("shuttle", "diag"): (5000, 2000), ("newsgroups", "diag"): (1500, 500), ("scene", "diag"): (None, None),
    ("spambase", "full"): (None, None), ("letter", "full"): (500, 1000), ("letter", "shared"): (2000, 1000),
    ("shuttle", "full"): (5000, 2000), ("shuttle", "shared"): (5000, 2000), ("spambase", "kernel"): (400, 500),
    ("usps", "kernel"): (200, 500),
}  # fmt: skip


def counted(name, covariance, rule):
    """Return the line of golden.csv for the current code."""
    X, y, X_test, y_test = load(name, *RUNS[name, covariance])
    multiclass = make_rule(rule).multiclass if y.ndim == 1 else None  # chosen, so that "full" is of all weights
    classifier = OnlineClassifier(rule, covariance, multiclass=multiclass, view=None).fit(X, y)
    wrong = classifier.predict(X_test) != y_test
    errors = int(np.sum(wrong if wrong.ndim == 1 else wrong.any(axis=1)))
    return {
        "data": name, "covariance": covariance, "rule": rule, "train_rows": len(y), "test_rows": len(y_test),
        "mistakes": classifier.mistakes_, "updates": classifier.updates_, "test_errors": errors,
    }  # fmt: skip


def golden_lines():
    with FILE.open(newline="") as file:
        lines = [{key: int(v) if v.isdigit() else v for key, v in line.items()} for line in csv.DictReader(file)]
    return {(line["data"], line["covariance"], line["rule"]): line for line in lines}


def test_golden_file_is_complete():
    lines = {(name, covariance, rule) for name, covariance in RUNS for rule in RULES}
    assert set(golden_lines()) == lines, "run python -m tests.learner.test_golden"


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("name", "covariance"), RUNS)
def test_decisions_are_golden(name, covariance, rule):
    assert counted(name, covariance, rule) == golden_lines()[name, covariance, rule]


def write_golden():
    """Write golden.csv."""
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(counted(name, covariance, rule) for name, covariance in RUNS for rule in RULES)


if __name__ == "__main__":
    write_golden()
