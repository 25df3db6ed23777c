"""Two classes: should the sign of the margin decide, or the calibrated probability?

The same learner decides by the sign (``calibration=None``) and by the probability, which is what ``predict`` does by
default. Progressive validation error, error on held-out rows, and progressive error in River's pipelines. Rules with
their default parameters and a diagonal covariance; one order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from drift import rows as elec2_stream
from harness import FOLDER, arguments, have_data, load, machine, markdown, table, write_json
from river import datasets, preprocessing
from views import raw_table

from confidently import OnlineClassifier
from confidently.estimators.river import OnlineClassifier as RiverClassifier
from papers.experiments.text import TEXT_TASKS, rows_of

SETS = ("a9a", "w8a", "spambase", "phishing", "enron1", "imdb", "avazu", "ssa_names")
TABLES = ("skin", "elec2")  # as they come, with the view "standard"; shuffled
TEXT_ROWS = 2000  # of each of the tasks of the paper of 2008
RULES = (
    "perceptron",
    "pa1",
    "cw_stdev",
    "arow",
    "scw1",
    "nherd",
    "iellip_margin",
    "gibbs_pa_exact",
    "probit",
    "logistic",
)
CLEAR = 0.05  # difference of two errors in percent
MAX_ROWS = 20_000  # of training
PARTS = ("progressive", "held out", "River")
METHODS = {"sign": None, "probability": "progressive"}
Errors = tuple[float, float]  # of the sign, and of the probability
Results = dict[str, dict[str, Errors]]  # by set and rule


def sets() -> Iterable[tuple[str, Any, np.ndarray, Any, np.ndarray, str | None]]:
    """Yield name, training rows and labels, test rows and labels, and the view, of every set of two classes."""
    for name in SETS:
        yield name, *load(name), None
    for name in TABLES:
        X, y = raw_table(name)
        first = len(y) * 4 // 5
        yield name, X[:first], y[:first], X[first:], y[first:], "standard"
    for name in TEXT_TASKS:
        X, y = rows_of([name], FOLDER, TEXT_ROWS)[name]
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
        yield name, X[train], y[train], X[test], y[test], None


def errors(rule: str, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray, view: str | None) -> dict[str, Errors]:
    """Return the errors of both decisions."""
    models = [
        OnlineClassifier(rule, view=view, calibration=each).fit(X[:MAX_ROWS], y[:MAX_ROWS]) for each in METHODS.values()
    ]
    sign, probability = models
    return {
        "progressive": (sign.mistakes_ / sign.n_seen_, probability.mistakes_ / probability.n_seen_),
        "held out": (1.0 - sign.score(X_test, y_test), 1.0 - probability.score(X_test, y_test)),
    }


def streams() -> Iterable[tuple[str, list[tuple[dict[str, float], bool]]]]:
    """Yield the streams for River, in their order."""
    yield "Phishing", list(datasets.Phishing())
    yield "Bananas", list(datasets.Bananas())
    yield "Elec2", elec2_stream()


def errors_in_river(rule: str, stream: Iterable[tuple[dict[str, float], bool]]) -> Errors:
    """Return the progressive errors of both decisions behind a StandardScaler."""
    scaler, rows, wrong = preprocessing.StandardScaler(), 0, [0, 0]
    models = [RiverClassifier(rule, calibration=each) for each in METHODS.values()]
    for x, y in stream:
        scaler.learn_one(x)
        seen = scaler.transform_one(x)
        for k, model in enumerate(models):
            wrong[k] += model.predict_one(seen) != y
            model.learn_one(seen, y)
        rows += 1
    return wrong[0] / rows, wrong[1] / rows


def comparison(found: Results) -> list[list[str]]:
    """Return for every rule on how many sets the probability is better and worse than the sign."""
    lines = []
    for rule in RULES:
        sign, probability = 100 * np.array([of[rule] for of in found.values()]).T
        gain = sign - probability
        lines.append([rule, f"{(gain > CLEAR).sum()} : {(gain < -CLEAR).sum()}"])
    return lines


def means(found: dict[str, Results]) -> list[list[str]]:
    """Return for every rule the mean errors in percent of both decisions."""
    lines = []
    for rule in RULES:
        of_parts = [np.mean([of[rule] for of in found[part].values()], axis=0) for part in PARTS]
        lines.append([rule, *(f"{100 * x:.2f}" for mean in of_parts for x in mean)])
    return lines


def main() -> None:
    options = arguments(__doc__ or "")
    if not have_data():
        return
    print(machine())
    found: dict[str, Results] = {part: {} for part in PARTS}
    for name, *rows in sets():
        both = {rule: errors(rule, *rows) for rule in RULES}
        for part in PARTS[:2]:
            found[part][name] = {rule: of[part] for rule, of in both.items()}
        print(f"done: {name}", flush=True)
    for name, stream in streams():
        found["River"][name] = {rule: errors_in_river(rule, stream) for rule in RULES}
    for part in PARTS:
        print(table([f"{part}, better : worse than the sign", "probability"], comparison(found[part])), end="\n\n")
    header = ["rule", *(f"{part}, {name}" for part in PARTS for name in METHODS)]
    print(table(header, means(found)), markdown(header, means(found)), sep="\n\n")
    write_json(options.json, found)


if __name__ == "__main__":
    main()
