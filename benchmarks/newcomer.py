"""What a newcomer finds: ten tables as they come, learners with their defaults, and LogisticRegression with a tuned C.

Four sets come with scikit-learn, three are made by it, and three are real ones of the optional data sets, at most ROWS
rows of each. Columns are as they come, but behind a StandardScaler for LogisticRegression, with C of GRID chosen by
cross-validation, for SVC and for neighbors. All others have their defaults. Errors
are means over FOLDS folds. Each fold is in the order of the set, which is that of the classes for iris and wine.
Seconds are those of processor time to train on one fold, tuning included.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import FOLDER, arguments, machine, markdown, table, write_json
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_svmlight_file,
    load_wine,
    make_classification,
    make_hastie_10_2,
    make_moons,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from confidently import AutoClassifier, OnlineClassifier

FOLDS, ROWS, GRID = 5, 10_000, (0.01, 0.1, 1.0, 10.0, 100.0)
REAL = {"spambase": "spambase/spambase", "phishing": "phishing/phishing", "letter": "letter/letter"}
LEARNERS = {
    "OnlineClassifier": OnlineClassifier(),
    "AutoClassifier": AutoClassifier(),
    "LogisticRegression": GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), {"logisticregression__C": GRID}, cv=3
    ),
    "boosted trees": HistGradientBoostingClassifier(random_state=0),
    "SVC": make_pipeline(StandardScaler(), SVC()),
    "5 neighbors": make_pipeline(StandardScaler(), KNeighborsClassifier()),
}


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, rows and labels."""
    bundled = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
    for name, read in bundled.items():
        yield name, *read(return_X_y=True)
    yield "two moons", *make_moons(2000, noise=0.3, random_state=0)
    yield "ball in ten columns", *make_hastie_10_2(4000, random_state=0)
    yield (
        "four classes in clusters",
        *make_classification(3000, 20, n_informative=8, n_classes=4, flip_y=0.05, random_state=0),
    )
    for name, file in REAL.items():
        path = FOLDER / f"{file}.svm.gz"
        if path.is_file():
            X, y = load_svmlight_file(str(path))
            kept = np.random.default_rng(0).permutation(len(y))[:ROWS]
            yield name, X[kept].toarray(), y[kept]


def measured(learner: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the mean error over the folds and the mean seconds of training."""
    errors, seconds = [], []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = clone(learner).fit(X[train], y[train])
        seconds.append(time.process_time() - start)
        errors.append(1.0 - fitted.score(X[test], y[test]))
    return float(np.mean(errors)), float(np.mean(seconds))


def main() -> None:
    options = arguments(__doc__)
    print(machine())
    found = {}
    for name, X, y in sets():
        found[name] = {learner: measured(made, X, y) for learner, made in LEARNERS.items()}
        found[name]["size"] = X.shape
        print(name, found[name], flush=True)
    columns = ["error in % / seconds", "rows", "columns", *LEARNERS]
    lines = [
        [
            name,
            *map("{:,}".format, of_set["size"]),
            *(f"{100 * of_set[k][0]:.1f} / {of_set[k][1]:.2f}" for k in LEARNERS),
        ]
        for name, of_set in found.items()
    ]
    means = (np.mean([of_set[k] for of_set in found.values()], axis=0) for k in LEARNERS)
    lines.append(["mean", "", "", *(f"{100 * error:.1f} / {seconds:.2f}" for error, seconds in means)])
    print(table(columns, lines), markdown(columns, lines), sep="\n\n")
    write_json(options.json, found)


if __name__ == "__main__":
    main()
