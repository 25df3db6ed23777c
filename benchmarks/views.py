"""What views change in one pass: tables as they come, and text.

Tables: the progressive validation error of raw rows, of rows that were standardized by the moments of the whole set and
scaled to unit L2 norm, and of views of the raw rows; every set shuffled once. Text: the test error of one pass.
Merged: the error on the last fifth of the rows of one learner of the others, of the product of four learners of a
quarter of them each, and the mean of these. One setting of each learner for all sets.
"""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from harness import FOLDER, arguments, have_data, load, machine, markdown, table, write_json
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file

from confidently import AROW, Logistic, OnlineClassifier, merge
from tests.data_sets import standardized, unit_rows

SEED = 20090614
TABLES = ("spambase", "letter", "shuttle", "skin", "elec2")
TEXT = ("newsgroups", "enron1", "books", "imdb")
MERGED = [
    *(f"{name}, `{view}`" for name in TABLES for view in ("standard", "standard,pairs")),
    *(f"{name}, `{view}`" for name in TEXT for view in ("none", "idf", "nb")),
]
AROW_01, AROW_03 = AROW(r=0.1), AROW(r=0.3)


def raw_table(name: str, shuffled: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return a table as it comes, shuffled or in its order."""
    if name == "elec2":
        with gzip.open(FOLDER / name / "elec2.csv.gz", "rt") as file:
            rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
        X = np.array([[value for key, value in row.items() if key != "class"] for row in rows])
        y = np.array([row["class"] for row in rows])
    else:
        part = "train" if name == "shuttle" else name
        X, y = load_svmlight_file(str(FOLDER / name / f"{part}.svm.gz"))
        X = X.toarray()
    order = np.random.default_rng(SEED).permutation(len(y)) if shuffled else np.arange(len(y))
    return X[order], y[order]


def progressive(model: OnlineClassifier, X: object, y: np.ndarray) -> float:
    """Return the progressive validation error of one pass."""
    model.fit(X, y)
    return model.mistakes_ / model.n_seen_


def of_table(name: str) -> dict[str, float]:
    """Return the progressive validation error of every way to see a table."""
    X, y = raw_table(name)
    standard = unit_rows(standardized(X, X)[0])
    return {
        "raw rows": progressive(OnlineClassifier(AROW_01, view=None), X, y),
        "standardized before": progressive(OnlineClassifier(AROW_01, view=None), standard, y),
        "`standard`": progressive(OnlineClassifier(AROW_01, view="standard"), X, y),
        "`ranks`": progressive(OnlineClassifier(AROW_01, view="ranks"), X, y),
        "`bins`": progressive(OnlineClassifier(AROW_01, view="bins"), X, y),
        "`standard,pairs`": progressive(OnlineClassifier(AROW_01, view="standard,pairs"), X, y),
        "`ranks,pairs`": progressive(OnlineClassifier(AROW_01, view="ranks,pairs"), X, y),
        "`standard,pairs`, logistic": progressive(
            OnlineClassifier(Logistic(), prior_variance=30.0, view="standard,pairs"), X, y
        ),
    }


def of_file(name: str) -> dict[str, float]:
    """Return the progressive validation error of the command line on a table in CSV, as it comes and made before."""
    X, y = raw_table(name)
    with TemporaryDirectory() as folder:
        raw, made = (write_csv(Path(folder) / f"{k}.csv", rows, y) for k, rows in enumerate((X, standardized(X, X)[0])))
        return {
            "`--view none`": of_command_line(raw, "--view", "none"),
            "standardized before": of_command_line(made, "--view", "none"),
            "default": of_command_line(raw),
        }


def write_csv(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    """Write a table; its columns are c0, c1, ..."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", *(f"c{j}" for j in range(X.shape[1]))])
        writer.writerows([f"{label:g}", *map(repr, row)] for label, row in zip(y.tolist(), X.tolist(), strict=True))
    return path


def of_command_line(path: Path, *options: str) -> float:
    """Return the progressive validation error of ``confidently train --rule arow``."""
    train = [sys.executable, "-W", "ignore", "-m", "confidently", "train", "--rule", "arow"]
    command = [*train, str(path), "-q", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["error"])


def of_text(name: str) -> dict[str, float]:
    """Return the test error of every way to see text."""
    X, y, X_test, y_test = load(name)
    found = {}
    for rule, view in ((AROW_01, None), (AROW_03, None), (AROW_03, "idf"), (AROW_03, "nb")):
        model = OnlineClassifier(rule, view=view).fit(X, y)
        title = f"r = {rule.r:g}" + (f", `{view}`" if view else "")
        found[title] = float(np.mean(model.predict(X_test) != y_test))
    return found


def of_merged(title: str) -> dict[str, float]:
    """Return the test error of one learner, of merged learners of a quarter of the rows each, and of these."""
    name, view = title.split(", ", 1)
    if name in TABLES:
        X, y = raw_table(name)
        last = len(y) * 4 // 5
        X, y, X_test, y_test = X[:last], y[:last], X[last:], y[last:]
    else:
        X, y, X_test, y_test = load(name)
    model = OnlineClassifier(AROW_01 if name in TABLES else AROW_03, view=view.strip("`"))
    quarters = [clone(model).fit(X[k::4], y[k::4]) for k in range(4)]
    models = [model.fit(X, y), merge(quarters), *quarters]
    errors = [float(np.mean(one.predict(X_test) != y_test)) for one in models]
    return {"all rows": errors[0], "four merged": errors[1], "one of the four": float(np.mean(errors[2:]))}


PARTS = {
    "tables": (TABLES, of_table),
    "files": (TABLES, of_file),
    "text": (TEXT, of_text),
    "merged": (MERGED, of_merged),
}


def main() -> None:
    options = arguments(__doc__ or "", ("--part", {"choices": list(PARTS), "help": "only this part"}))
    if not have_data():
        return
    print(machine())
    result = {}
    for part, (names, errors) in PARTS.items():
        if options.part not in (None, part):
            continue
        found = {name: errors(name) for name in names}
        result[part] = found
        header = [part, *next(iter(found.values()))]
        rows = [[name, *(f"{100 * value:.2f}" for value in of.values())] for name, of in found.items()]
        print(table(header, rows), markdown(header, rows), sep="\n\n")
    write_json(options.json, result)


if __name__ == "__main__":
    main()
