"""Log-loss of probabilities after one pass, compared with batch logistic regression and calibrated SGD.

Our rules run with the parameters of RULES_COMPARED, a diagonal covariance and their default multiclass update, in one
pass. "progressive" is what ``predict_proba`` returns: calibrated online during training. "uncalibrated" is the
posterior probability Phi(m/sqrt(v)), and for logistic that of its likelihood. Batch LogisticRegression (C=10) and
CalibratedClassifierCV of an SGDClassifier (hinge, its default settings) make as many passes as they need; their fit
times are multiples of AROW's. Preprocessing is the same for all: ``tests/data_sets.py``.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from harness import arguments, have_data, load, machine, markdown, table, write_json
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss

from confidently import AROW, GibbsPA, Logistic, OnlineClassifier, Probit

SETS = ("a9a", "spambase", "phishing", "w8a", "letter", "usps", "shuttle", "newsgroups", "enron1", "books", "avazu",
        "ssa_names")  # fmt: skip
RULES_COMPARED = {"arow": AROW(r=0.1), "gibbs_pa": GibbsPA(c=8.0), "probit": Probit(noise=0.3), "logistic": Logistic()}
PEERS = {
    "LogisticRegression": lambda: LogisticRegression(C=10.0, max_iter=200),
    "calibrated SGD": lambda: CalibratedClassifierCV(SGDClassifier(random_state=0)),
}


def fitted(classifier: Any, X: Any, y: np.ndarray) -> tuple[Any, float]:
    """Fit a classifier; return it and the seconds this took."""
    start = time.perf_counter()
    classifier.fit(X, y)
    return classifier, time.perf_counter() - start


def losses(name: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return test log-loss and seconds of fitting by column of the table."""
    X, y, X_test, y_test = load(name)
    loss, seconds = {}, {}

    def judge(column: str, classifier: Any) -> None:
        loss[column] = float(log_loss(y_test, classifier.predict_proba(X_test), labels=classifier.classes_))

    for rule_name, rule in RULES_COMPARED.items():
        classifier, seconds[rule_name] = fitted(OnlineClassifier(rule, view=None), X, y)
        judge(f"{rule_name} progressive", classifier)
        judge(f"{rule_name} uncalibrated", classifier.set_params(calibration=None))
    for peer_name, make in PEERS.items():
        classifier, seconds[peer_name] = fitted(make(), X, y)
        judge(peer_name, classifier)
    return loss, seconds


def main() -> None:
    options = arguments(__doc__, ("--markdown", {"metavar": "FILE", "help": "write the table as Markdown"}))
    if not have_data():
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    results: dict[str, Any] = {}
    rows = []
    for name in SETS:
        loss, seconds = losses(name)
        results[name] = {"log_loss": loss, "fit_seconds": seconds}
        times = [f"{seconds[peer] / seconds['arow']:.0f}x" for peer in PEERS]
        rows.append([name, *(f"{value:.3f}" for value in loss.values()), *times])
        print(f"done: {name}", flush=True)
    header = ["test log-loss", *loss, *(f"fit time, {peer}" for peer in PEERS)]
    print(machine(), table(header, rows), sep="\n")
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write(markdown(header, rows))
    write_json(options.json, results)


if __name__ == "__main__":
    main()
