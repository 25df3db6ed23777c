"""predict_set and abstain: real data in every form, the order of classes, files, and clear errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import train_test_split

from confidently import AutoClassifier, OnlineClassifier
from confidently.data import DataWarning, open_stream

KINDS = [OnlineClassifier, pytest.param(AutoClassifier, marks=pytest.mark.long("stacks of digits"))]


def digits():
    return train_test_split(*load_digits(return_X_y=True), random_state=0)


def test_what_is_asked_of_files_is_checked(tmp_path):
    X, X_new, y, y_new = digits()
    for name, rows, labels in (("old.csv", X, y), ("new.csv", X_new, y_new)):
        names = [f"p{k}" for k in range(X.shape[1])]
        pd.DataFrame(rows, columns=names).assign(label=labels).to_csv(tmp_path / name, index=False)
    model = OnlineClassifier().fit_stream(open_stream(tmp_path / "old.csv", zeros=True, normalize="none"))
    with pytest.warns(DataWarning, match="abstain: every row is left unanswered"):
        assert next(model.predict_stream(tmp_path / "new.csv", "abstain", risk=1e-6)).all()
    with pytest.warns(DataWarning, match="predict_set: sets have every class"):
        next(model.predict_stream(tmp_path / "new.csv", "predict_set", coverage=0.9999))


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_leave_every_class_and_one_warning_says_why(kind, by_class):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    model = kind().fit(X[order[:20]], y[order[:20]])
    with pytest.warns(DataWarning, match="coverage 0.95 needs 19 rows") as caught:
        found = model.predict_set(X, 0.95, by_class=by_class)
    assert found.all() and len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model.fit(X[order], y[order]).predict_set(X, 0.95, by_class=by_class).all()


def test_every_row_is_left_unanswered_until_enough_answers_were_right():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(DataWarning, match="none of the answers before are known to be wrong in at most 0.01"):
        assert OnlineClassifier(shuffle=True, random_state=0).fit(X, y).abstain(X).all()
