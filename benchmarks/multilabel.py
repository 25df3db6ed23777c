"""Labels: one binary learner per label and a joint ranking, after one pass, compared with batch logistic regression.

Micro-F1 on the test rows of AROW (r = 0.1, a diagonal covariance) in one pass over the training rows, means over ORDERS
orders. A label is predicted where its probability is above half of the progressive F1, which is what ``predict`` does;
where its margin is positive; or where its probability is above .5. Logistic regression is scikit-learn's, one per
label, with its defaults and the threshold .5. Preprocessing is the same for all: ``tests/data_sets.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from harness import arguments, have_data, load, machine, markdown, table, write_json
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from confidently import RULES, OnlineClassifier

ORDERS = 6
SETS = ("yeast", "scene", "bibtex", "goemotions_labels")
WAYS = {"one-vs-rest (default)": None, "joint": "joint"}
PROBABLE, POSITIVE = "p > .5", "margin > 0"
BATCH = "LogisticRegression, batch, one-vs-rest"


def micro_f1(y: np.ndarray, predicted: Any) -> float:
    """Return the F1 of all decisions about a label of a row."""
    return float(f1_score(y, predicted, average="micro"))


def measured(name: str, rule: str) -> dict[str, float]:
    """Return the micro-F1 of every learner on a data set."""
    X, y, X_test, y_test = load(name)
    found: dict[str, list[float]] = {}
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(X.shape[0])
        for way, multiclass in WAYS.items():
            model = OnlineClassifier(rule, multiclass=multiclass, view=None).fit(X[order], y[order])
            found.setdefault(way, []).append(micro_f1(y_test, model.predict(X_test)))
            probable = model.predict_proba(X_test) > 0.5
            found.setdefault(f"{way}, {PROBABLE}", []).append(micro_f1(y_test, probable))
            positive = model.decision_function(X_test) > 0
            found.setdefault(f"{way}, {POSITIVE}", []).append(micro_f1(y_test, positive))
    batch = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    means = {way: float(np.mean(values)) for way, values in found.items()}
    return means | {BATCH: micro_f1(y_test, batch.predict(X_test))}


def main() -> None:
    options = arguments(__doc__ or "", ("--rule", {"choices": list(RULES), "default": "arow", "help": "update rule"}))
    if not have_data():
        return
    warnings.filterwarnings("ignore", "Label not")  # of scikit-learn: a label that no training row has
    found = {name: measured(name, options.rule) for name in SETS}
    header = ["micro-F1", *SETS]
    rows = [[learner, *(f"{found[name][learner]:.3f}" for name in SETS)] for learner in found[SETS[0]]]
    print(machine(), table(header, rows), markdown(header, rows), sep="\n\n")
    write_json(options.json, found)


if __name__ == "__main__":
    main()
