"""Two classes: should the sign of the margin decide, or the calibrated probability?

The probability is sigmoid(a m/sqrt(1 + v/prior) + b): its offset b moves the decision. Decisions of the same learner
in the same pass are compared: the sign, the probability, and a probability whose offset has a stronger prior,
OFFSET_PRIOR instead of 1. Progressive validation error, error on held-out rows, and progressive error in River's
pipelines. Rules with their default parameters and a diagonal covariance; one order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log
from typing import Any

import numpy as np
from drift import rows as elec2_stream
from harness import FOLDER, arguments, have_data, load, machine, markdown, table, write_json
from river import datasets, preprocessing
from views import raw_table

from confidently import OnlineClassifier
from confidently.data.memory.labels import class_numbers
from confidently.data.memory.matrix import as_matrix
from confidently.estimators.river import OnlineClassifier as RiverClassifier
from confidently.papers.experiments.text import TEXT_TASKS, rows_of

SETS = ("a9a", "w8a", "spambase", "phishing", "enron1", "imdb", "avazu", "ssa_names")
TABLES = ("skin", "elec2")  # as they come, with the view "standard"; shuffled
TEXT_ROWS = 2000  # of each of the tasks of the paper of 2008
RULES = ("perceptron", "pa1", "cw_stdev", "arow", "scw1", "nherd", "gibbs_pa_exact", "probit", "logistic")
MIN_PROBABILITY = 1e-15
CLEAR = 0.05  # difference of two errors in percent
MAX_ROWS = 20_000  # of training, because they are trained on one by one
OFFSET_PRIOR = 64.0  # curvature of the log-loss in b before the first row; that of the package is 1
DECAY, MAX_STEP = 1.0 - 1.0 / 2000.0, 0.5  # as in the package
PARTS = ("progressive", "held out", "River", "log-loss")
Errors = tuple[float, ...]  # of the sign, of the probability, and of the probability with a prior of the offset
Results = dict[str, dict[str, Errors]]  # by set and rule


class Calibration:
    """The online calibration of two classes, as docs/mathematics.md has it, with any prior of the offset."""

    def __init__(self, offset_prior: float) -> None:
        self.a, self.b, self.H, self.offset_prior = 1.0, 0.0, [0.0, 0.0, 0.0], offset_prior

    def probability(self, f: float) -> float:
        return 1.0 / (1.0 + exp(-min(max(self.a * f + self.b, -500.0), 500.0)))

    def learn(self, f: float, y: bool) -> None:
        p = self.probability(f)
        g, h = p - y, p * (1.0 - p)
        self.H = [DECAY * old + h * new for old, new in zip(self.H, (f * f, f, 1.0), strict=True)]
        aa, ab, bb = self.a**2 * self.H[0] + 1.0, self.a * self.H[1], self.H[2] + self.offset_prior
        scale = g / (aa * bb - ab * ab)
        u, step = scale * (self.a * f * bb - ab), scale * (aa - ab * self.a * f)
        shrink = min(1.0, MAX_STEP / max(abs(u), abs(step), 1e-300))
        self.a = max(self.a * (2.0 - shrink * u) / (2.0 + shrink * u), 1e-3)
        self.b -= shrink * step


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
    """Return the errors of every decision; the log-loss of both probabilities, progressive."""
    X, y = X[:MAX_ROWS], y[:MAX_ROWS]
    classes, n = np.unique(y), len(y) - 1
    model = OnlineClassifier(rule, view=view).partial_fit(X[:1], y[:1], classes=classes)
    learner, labels, loss = model.learner_, class_numbers(y, classes), np.zeros(1)
    matrix, start, strong = as_matrix(X, learner.settings.dtype), learner.mistakes, Calibration(OFFSET_PRIOR)
    wrong, losses = np.zeros(2), np.zeros(2)
    for row in range(1, n + 1):
        slope, offset = learner.state["calibration"].ravel()[:2]
        loss[0] = 0.0
        learner.learn(matrix, labels, order=np.array([row]), log_loss=loss)
        p, positive = min(max(exp(-loss[0]), MIN_PROBABILITY), 1.0 - MIN_PROBABILITY), labels[row] == 1
        score = ((log(p) - log(1.0 - p)) * (1.0 if positive else -1.0) - offset) / slope
        other = strong.probability(score) if positive else 1.0 - strong.probability(score)
        wrong += p <= 0.5, other <= 0.5
        losses -= log(p), log(max(other, MIN_PROBABILITY))
        strong.learn(score, positive)
    p = model.predict_proba(X_test)[:, 1]
    slope, offset = learner.state["calibration"].ravel()[:2]
    score = (np.log(p) - np.log1p(-p) - offset) / slope
    decisions = model.predict(X_test) == classes[1], p > 0.5, strong.a * score + strong.b > 0
    return {
        "progressive": ((learner.mistakes - start) / n, *(wrong / n).tolist()),
        "held out": tuple(float(np.mean(decision != (y_test == classes[1]))) for decision in decisions),
        "log-loss": (float("nan"), *(losses / n).tolist()),
    }


def streams() -> Iterable[tuple[str, list[tuple[dict[str, float], bool]]]]:
    """Yield the streams for River, in their order."""
    yield "Phishing", list(datasets.Phishing())
    yield "Bananas", list(datasets.Bananas())
    yield "Elec2", elec2_stream()


def errors_in_river(rule: str, stream: Iterable[tuple[dict[str, float], bool]]) -> Errors:
    """Return the progressive errors of every decision behind a StandardScaler."""
    scaler, model, rows = preprocessing.StandardScaler(), RiverClassifier(rule), 0
    wrong, strong = np.zeros(3), Calibration(OFFSET_PRIOR)
    for x, y in stream:
        scaler.learn_one(x)
        seen = scaler.transform_one(x)
        p = model.predict_proba_one(seen)
        if len(p) == 2:
            slope, offset = model._rows.learner.state["calibration"].ravel()[:2]
            score = (log(p[True]) - log(p[False]) - offset) / slope
            wrong += model.predict_one(seen) != y, (p[True] > 0.5) != y, (strong.probability(score) > 0.5) != y
            strong.learn(score, y)
            rows += 1
        model.learn_one(seen, y)
    return tuple((wrong / rows).tolist())


def comparison(found: Results) -> list[list[str]]:
    """Return for every rule on how many sets each probability is better and worse than the sign."""
    lines = []
    for rule in RULES:
        of_sets = 100 * np.array([of[rule] for of in found.values()])
        gains = [of_sets[:, 0] - of_sets[:, k] for k in (1, 2)]
        lines.append([rule, *(f"{(gain > CLEAR).sum()} : {(gain < -CLEAR).sum()}" for gain in gains)])
    return lines


def means(found: dict[str, Results]) -> list[list[str]]:
    """Return for every rule the mean errors in percent of every decision, and the log-loss of both probabilities."""
    lines = []
    for rule in RULES:
        mean = {part: np.mean([of[rule] for of in found[part].values()], axis=0) for part in PARTS}
        errors_ = [f"{100 * x:.2f}" for part in PARTS[:3] for x in mean[part]]
        lines.append([rule, *errors_, *(f"{x:.4f}" for x in mean["log-loss"][1:])])
    return lines


def main() -> None:
    options = arguments(__doc__ or "")
    if not have_data():
        return
    print(machine())
    found: dict[str, Results] = {part: {} for part in PARTS}
    for name, *rows in sets():
        both = {rule: errors(rule, *rows) for rule in RULES}
        for part in ("progressive", "held out", "log-loss"):
            found[part][name] = {rule: of[part] for rule, of in both.items()}
        print(f"done: {name}", flush=True)
    for name, stream in streams():
        found["River"][name] = {rule: errors_in_river(rule, stream) for rule in RULES}
    both = "probability", f"prior {OFFSET_PRIOR:.0f}"
    for part in PARTS[:3]:
        print(table([f"{part}, better : worse than the sign", *both], comparison(found[part])), end="\n\n")
    header = [f"{part}, {name}" for part in PARTS[:3] for name in ("sign", *both)]
    header = ["rule", *header, *(f"log-loss, {name}" for name in both)]
    print(table(header, means(found)), markdown(header, means(found)), sep="\n\n")
    write_json(options.json, found)


if __name__ == "__main__":
    main()
