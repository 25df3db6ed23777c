"""Test error after one pass: all rules compared with scikit-learn's online and batch linear classifiers.

Preprocessing is the same for every learner (``tests/data_sets.py``): text as hashed binary words and word pairs,
measurements standardized on the training rows, every row of unit L2 norm. Rows have one order, the same for all;
online learners see each row once. Rules run with a diagonal covariance and the joint multiclass update.

Every learner has one setting for all data sets, chosen on training rows only: the first SELECTION_ROWS training rows of
each set are split 4 : 1, each setting of the learner's grid is trained on the four parts and tested on the fifth, and
the setting with the smallest error, averaged over the sets, is kept. The peers' C, eta0 and alpha are chosen in the
same way, from five or six values each; rules with two parameters have up to 21 settings. Then each learner is trained
on all training rows once and tested.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from harness import arguments, have_data, load, machine, markdown, table, write_json
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.svm import LinearSVC

from confidently import RULES, OnlineClassifier, make_rule

SETS = ("a9a", "w8a", "phishing", "spambase", "letter", "usps", "shuttle", "mnist", "newsgroups", "enron1", "books")
SELECTION_ROWS = 10_000

Setting = dict[str, float]


def grid(**values: tuple[float, ...]) -> list[Setting]:
    """Return all combinations."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


STEPS = (0.01, 0.03, 0.1, 0.3, 1.0)
CONFIDENCES = (0.55, 0.65, 0.75, 0.85, 0.9, 0.95, 0.98)
CELLIP_GRID = [
    {**setting, "prior_variance": 1 + setting["gamma"] * (1 - setting["a"])}  # as Theorem 1 requires
    for setting in grid(gamma=(0.01, 0.03, 0.1, 0.3), a=(0.0, 0.5, 1.0))
]
IELLIP_GRID = [
    {"b": b, "c": c, "prior_variance": 0.1}  # 0.1 as in the paper's experiments; b + c < 1; gamma only sets the scale
    for b, c in ((0.3, 0.1), (0.3, 0.5), (0.5, 0.4), (0.9, 0.05), (0.9, 0.09), (0.99, 0.009), (0.999, 0.0009))
]
GRIDS: dict[str, list[Setting]] = {
    "pa1": grid(C=STEPS),
    "pa2": grid(C=STEPS),
    "sop": grid(prior_variance=(0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)),
    "cw_stdev": grid(eta=CONFIDENCES),
    "cw_var": grid(eta=CONFIDENCES),
    "arow": grid(r=(0.03, 0.1, 0.3, 1.0, 3.0)),
    "scw1": grid(eta=CONFIDENCES, C=(0.1, 1.0, 10.0)),
    "scw2": grid(eta=CONFIDENCES, C=(0.1, 1.0, 10.0)),
    "nherd": grid(C=(0.03, 0.1, 0.3, 1.0, 3.0)),
    "cellip": CELLIP_GRID,
    "iellip": IELLIP_GRID,
    "bayespa": grid(c=tuple(step / 2 for step in STEPS)),
    "gibbs_pa": grid(c=(0.5, 1.0, 2.0, 4.0, 8.0, 16.0)),
    "gibbs_pa_exact": grid(c=(0.5, 1.0, 2.0, 4.0, 8.0, 16.0)),
    "probit": grid(noise=(0.03, 0.1, 0.3, 1.0, 3.0)),
}


@dataclass(frozen=True)
class Entrant:
    """A learner, and the settings from which one is chosen."""

    name: str
    make: Callable[..., Any]
    settings: list[Setting]


def rule_entrant(name: str) -> Entrant:
    """Return the entrant of one of our rules."""

    def make(prior_variance: float = 1.0, **parameters: float) -> OnlineClassifier:
        return OnlineClassifier(make_rule(name, **parameters), prior_variance=prior_variance, view=None)

    return Entrant(name, make, GRIDS.get(name, [{}]))


def one_epoch(cls: type, **fixed: Any) -> Callable[..., Any]:
    """Return a scikit-learn online learner that makes one pass in the given order."""
    return lambda **setting: cls(max_iter=1, tol=None, shuffle=False, **fixed, **setting)


ALPHAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
COSTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
PEERS = [
    Entrant("SGDClassifier hinge, 1 epoch", one_epoch(SGDClassifier, loss="hinge"), grid(alpha=ALPHAS)),
    Entrant("SGDClassifier log_loss, 1 epoch", one_epoch(SGDClassifier, loss="log_loss"), grid(alpha=ALPHAS)),
    Entrant(
        "SGDClassifier pa1, 1 epoch", one_epoch(SGDClassifier, learning_rate="pa1", penalty=None), grid(eta0=STEPS)
    ),
    Entrant(
        "SGDClassifier pa2, 1 epoch", one_epoch(SGDClassifier, learning_rate="pa2", penalty=None), grid(eta0=STEPS)
    ),
    Entrant("Perceptron, 1 epoch", one_epoch(Perceptron), [{}]),
    Entrant("LinearSVC, batch", LinearSVC, grid(C=COSTS)),
    Entrant("LogisticRegression, batch", LogisticRegression, grid(C=(1.0, 3.0, 10.0, 30.0, 100.0))),
]


def error(entrant: Entrant, setting: Setting, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> float:
    """Return the fraction of test rows predicted wrongly."""
    return 1.0 - float(entrant.make(**setting).fit(X, y).score(X_test, y_test))


def validation_errors(entrants: list[Entrant], name: str) -> dict[str, list[float]]:
    """Return by entrant the error of each of its settings on the fifth part of the training rows."""
    X, y, _, _ = load(name)
    n = min(len(y), SELECTION_ROWS)
    cut = n * 4 // 5
    parts = (X[:cut], y[:cut], X[cut:n], y[cut:n])
    return {e.name: [error(e, s, *parts) for s in e.settings] if len(e.settings) > 1 else [0.0] for e in entrants}


def choose(entrants: list[Entrant]) -> dict[str, Setting]:
    """Choose one setting per entrant for all sets."""
    by_set = []
    for name in SETS:
        by_set.append(validation_errors(entrants, name))
        print(f"chose on {name}", flush=True)
    means = {e.name: np.mean([errors[e.name] for errors in by_set], axis=0) for e in entrants}
    return {e.name: e.settings[int(means[e.name].argmin())] for e in entrants}


def test_errors(entrants: list[Entrant], chosen: dict[str, Setting]) -> dict[str, dict[str, float]]:
    """Return the errors by entrant and set, trained on all training rows."""
    errors: dict[str, dict[str, float]] = {e.name: {} for e in entrants}
    for name in SETS:
        split = load(name)
        for e in entrants:
            errors[e.name][name] = error(e, chosen[e.name], *split)
        print(f"tested on {name}", flush=True)
    return errors


def main() -> None:
    options = arguments(
        __doc__,
        ("--markdown", {"metavar": "FILE", "help": "write the table as Markdown"}),
        ("--only", {"metavar": "NAME", "nargs": "+", "help": "only learners whose names begin with this"}),
    )
    if not have_data():
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    entrants = [*map(rule_entrant, RULES), *PEERS]
    if options.only:
        entrants = [e for e in entrants if e.name.startswith(tuple(options.only))]
    chosen = choose(entrants)
    errors = test_errors(entrants, chosen)
    header = ["test error in %", *SETS, "mean", "setting"]
    rows = [
        [
            name,
            *(f"{100 * by_set[s]:.1f}" for s in SETS),
            f"{100 * np.mean(list(by_set.values())):.2f}",
            ", ".join(f"{key}={value:g}" for key, value in chosen[name].items()),
        ]
        for name, by_set in errors.items()
    ]
    print(machine(), table(header, rows), sep="\n")
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write(markdown(header, rows))
    write_json(options.json, {"chosen": chosen, "test_errors": errors})


if __name__ == "__main__":
    main()
