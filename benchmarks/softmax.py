"""The softmax of the rule logistic after one pass, compared with one-vs-rest, joint AROW and batch logistic regression.

Data sets of three or more classes, a diagonal covariance. For every prior variance: progressive error in percent, and
log-loss on the test rows of the uncalibrated probabilities (the softmax of the scores). One-vs-rest and joint logistic
(prior variance 3) and joint AROW (r = 0.1) are calibrated online. Batch LogisticRegression (C=10) makes as many passes
as it needs and has no progressive error. Preprocessing is the same for all: ``tests/data_sets.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from harness import arguments, have_data, load, machine, markdown, table, write_json
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from confidently import OnlineClassifier

SETS = ("letter", "usps", "shuttle", "newsgroups", "stackoverflow", "tweet_emoji", "goemotions")
PRIOR_VARIANCES = (0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
LEARNERS = {
    **{
        f"softmax, prior variance {v:g}": {"rule": "logistic", "prior_variance": v, "calibration": None}
        for v in PRIOR_VARIANCES
    },
    "softmax, prior variance 3, calibrated": {"rule": "logistic", "prior_variance": 3.0},
    "one-vs-rest, prior variance 3": {"rule": "logistic", "prior_variance": 3.0, "multiclass": "one-vs-rest"},
    "joint, prior variance 3": {"rule": "logistic", "prior_variance": 3.0, "multiclass": "joint"},
    "arow, joint": {"rule": "arow"},
}
BATCH = "LogisticRegression, batch"


def measured(classifier: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> dict[str, float]:
    """Return progressive error, test error and test log-loss."""
    classifier.fit(X, y)
    return {
        "progressive": getattr(classifier, "mistakes_", np.nan) / len(y),
        "error": float(np.mean(classifier.predict(X_test) != y_test)),
        "log_loss": float(log_loss(y_test, classifier.predict_proba(X_test), labels=classifier.classes_)),
    }


def main() -> None:
    options = arguments(
        __doc__,
        ("--markdown", {"metavar": "FILE", "help": "write the table as Markdown"}),
        ("--no-batch", {"action": "store_true", "help": "leave out batch LogisticRegression, which takes longest"}),
    )
    if not have_data():
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    results: dict[str, dict[str, dict[str, float]]] = {}
    for name in SETS:
        split = load(name)
        found = {
            learner: measured(OnlineClassifier(**settings, view=None), *split) for learner, settings in LEARNERS.items()
        }
        if not options.no_batch:
            found[BATCH] = measured(LogisticRegression(C=10.0, max_iter=200), *split)
        results[name] = found
        print(f"done: {name}", flush=True)
    header = ["progressive error in %, test error in %, test log-loss", *SETS]
    rows = [
        [learner, *(" / ".join(_cells(results[name][learner])) for name in SETS)] for learner in results[SETS[0]]
    ]  # fmt: skip
    print(machine(), table(header, rows), sep="\n")
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write(markdown(header, rows))
    write_json(options.json, results)


def _cells(found: dict[str, float]) -> list[str]:
    progressive = "-" if np.isnan(found["progressive"]) else f"{100 * found['progressive']:.1f}"
    return [progressive, f"{100 * found['error']:.1f}", f"{found['log_loss']:.3f}"]


if __name__ == "__main__":
    main()
