"""Multilabel data: a joint learner compared with one-vs-rest, by the usual measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import coverage_error, f1_score, label_ranking_average_precision_score, label_ranking_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize

from confidently.estimators.classifier import OnlineClassifier
from confidently.rules import make_rule

from ..report import Report
from .examples import read_examples

MULTILABEL_SETS = ("yeast", "scene", "bibtex")
MEASURES = ("ranking loss", "one-error", "coverage", "average precision", "micro-F1")
LEARNERS: dict[str, tuple[str, dict[str, float], float]] = {  # rule, parameters, prior variance
    "PA": ("pa1", {"C": 0.1}, 1.0),
    "IELLIP": ("iellip", {"gamma": 0.1, "b": 0.3, "c": 0.1}, 0.1),
    "CW-Stdev": ("cw_stdev", {"eta": 0.75}, 1.0),
    "AROW": ("arow", {"r": 1.0}, 1.0),
    "BayesPA-Gibbs": ("gibbs_pa", {"c": 2.0}, 1.0),
}
EPOCHS = 3


def read_labeled(file: Path, n_labels: int) -> tuple[csr_array, np.ndarray]:
    """Return the rows, and the indicator matrix of their labels."""
    found = read_examples(file, multilabel=True)
    Y = np.zeros((found.X.shape[0], n_labels), dtype=int)
    Y[np.repeat(np.arange(len(Y)), np.diff(found.label_start)), found.names.astype(int)[found.labels]] = 1
    return found.X, Y


def data_set(name: str, data: Path) -> tuple[csr_array, np.ndarray, csr_array, np.ndarray]:
    """Return training and test part, with rows of unit norm."""
    n_labels = len((data / name / "labels.txt").read_text(encoding="utf-8").splitlines())
    X, Y = read_labeled(data / name / "train.svm.gz", n_labels)
    X_test, Y_test = read_labeled(data / name / "test.svm.gz", n_labels)
    d = max(X.shape[1], X_test.shape[1])
    X.resize(X.shape[0], d)
    X_test.resize(X_test.shape[0], d)
    return normalize(X), Y, normalize(X_test), Y_test


def measured(name: str, data: Path, seed: int, learner: str, joint: bool) -> dict[str, float]:
    """Return the five measures on the test part."""
    X, Y, X_test, Y_test = data_set(name, data)
    rule, parameters, prior = LEARNERS[learner]
    model: Any = OnlineClassifier(
        make_rule(rule, **parameters), prior_variance=prior, passes=EPOCHS, shuffle=True, random_state=seed, view=None
    )
    if not joint:
        learnable = Y.any(axis=0) & ~Y.all(axis=0)  # labels that some training rows have and others lack
        scores = np.full(Y_test.shape, -np.inf)
        found = OneVsRestClassifier(model).fit(X, Y[:, learnable])
        scores[:, learnable] = found.decision_function(X_test)
        scores[:, ~learnable] = np.where(Y[:, ~learnable].any(axis=0), np.inf, -np.inf)
        scores = np.nan_to_num(scores, posinf=1e9, neginf=-1e9)
    else:
        scores = model.set_params(multiclass="joint").fit(X, Y).decision_function(X_test)
    return dict(zip(MEASURES, measures(Y_test, scores), strict=True))


def measures(Y: np.ndarray, scores: np.ndarray) -> tuple[float, ...]:
    """Return ranking loss, one-error, coverage (from 0), average precision, and micro-F1 of the scores above 0."""
    some = Y.any(axis=1)
    return (
        float(label_ranking_loss(Y, scores)),
        float(1 - Y[some, scores[some].argmax(axis=1)].mean()),
        float(coverage_error(Y[some], scores[some]) - 1),
        float(label_ranking_average_precision_score(Y[some], scores[some])),
        float(f1_score(Y, scores > 0, average="micro")),
    )


def experiment(run: Any, sets: tuple[str, ...]) -> dict[tuple[str, str, bool], dict[str, float]]:
    """Run every rule on every set, joint and one-vs-rest."""
    keys = [(name, learner, joint) for name in sets for learner in LEARNERS for joint in (True, False)]
    found = run.each(
        "multilabel", measured, [(name, run.data, run.seed, learner, joint) for name, learner, joint in keys]
    )
    return dict(zip(keys, found, strict=True))


def add(report: Report, run: Any, sets: tuple[str, ...]) -> None:
    """Report multilabel data, which the paper's Section 2.4 describes without experiments."""
    found = experiment(run, sets)
    report.section(
        "Multilabel data",
        "The joint learner (the relevant label with the lowest score against the other one with the highest, and a "
        "calibration label that splits the ranking) compared with one binary learner per label; three epochs, diagonal "
        "covariance, rows of unit L2 norm, test parts as published. Parameters are the same for both and were not "
        "tuned.",
    )
    header = ["data", "rule", "learner", *MEASURES]
    rows = [[s, rule, "joint" if joint else "one-vs-rest", *m.values()] for (s, rule, joint), m in found.items()]
    report.table("labels", "Higher is better for average precision and micro-F1, lower for the others.", header, rows)
    better = {
        measure: sum(
            (found[s, rule, True][measure] < found[s, rule, False][measure]) ^ (measure in MEASURES[3:])
            for s in sets
            for rule in LEARNERS
        )
        for measure in MEASURES
    }
    report.text(
        f"Of {len(sets) * len(LEARNERS)} pairs of a rule and a data set, the joint learner is better by "
        + ", ".join(f"{measure} {n} times" for measure, n in better.items())
        + ". It makes two updates per row; one-vs-rest makes one per label."
    )
    report.numbers["labels"] = {f"{s}, {rule}, {joint}": m for (s, rule, joint), m in found.items()}
