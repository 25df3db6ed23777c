"""predict_set and abstain: real data in every form, the order of classes, files, and clear errors."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split

from confidently import AutoClassifier, OnlineClassifier
from confidently.data import DataWarning, open_stream

KINDS = [OnlineClassifier, pytest.param(AutoClassifier, marks=pytest.mark.long("stacks of digits"))]


def digits():
    return train_test_split(*load_digits(return_X_y=True), random_state=0)


def labels_of(y):
    """Parity, size, and being a 3."""
    return np.column_stack([y % 2 == 1, y > 4, y == 3]).astype(int)


@cache
def trained(kind):
    X, _, y, _ = digits()
    return kind().fit(X, y)


def covered(found, y):
    return found[np.arange(len(y)), y].mean()


@pytest.mark.parametrize("kind", KINDS)
def test_sets_have_the_digits_and_most_of_each(kind):
    _, X_new, _, y_new = digits()
    model = trained(kind)
    found = model.predict_set(X_new, 0.99)
    assert found.dtype == bool and found.shape == (len(X_new), 10)
    assert covered(found, y_new) > 0.975
    assert found.sum(axis=1).mean() < 3.0
    smaller = model.predict_set(X_new, 0.9)
    assert (smaller <= found).all() and smaller.sum() < found.sum()
    assert (model.predict_set(X_new, 0.9, by_class=False) != smaller).any()


@pytest.mark.parametrize("kind", KINDS)
def test_answers_that_are_given_are_right_more_often(kind):
    _, X_new, _, y_new = digits()
    model = trained(kind)
    leave, wrong = model.abstain(X_new, risk=0.03), model.predict(X_new) != y_new
    assert leave.dtype == bool and leave.shape == (len(X_new),)
    assert 0 < leave.mean() < 0.5
    assert wrong[~leave].mean() <= 0.03
    assert wrong[leave].mean() > wrong.mean()
    p = model.predict_proba(X_new).max(axis=1)
    assert p[leave].max() < p[~leave].min()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_in_the_order_of_classes(kind):
    """Classes that were seen in another order than the sorted one; without their scores, sets have the likeliest."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, names = X[order], np.array(["virginica", "setosa", "Other"])[y[order]]
    first = np.flatnonzero(names != "Other")[:50]
    model = kind().partial_fit(X[first], names[first], classes=["setosa", "virginica"])
    model.partial_fit(X, names, classes=["Other"])
    assert model.classes_.tolist() == ["Other", "setosa", "virginica"]
    by_class = model.predict_set(X, 0.8)
    assert covered(by_class, np.searchsorted(model.classes_, names)) > 0.75
    found, p = model.predict_set(X, 0.8, by_class=False), model.predict_proba(X)
    assert 0 < found.sum() < found.size
    assert p[found].min() >= p[~found & found.any(axis=1, keepdims=True)].max()


@pytest.mark.parametrize("kind", KINDS)
def test_sets_of_labels_have_the_relevant_ones(kind):
    X, X_new, y, y_new = digits()
    model = kind().fit(X, labels_of(y))
    found, relevant = model.predict_set(X_new, 0.95), labels_of(y_new) == 1
    assert found.shape == relevant.shape
    for k in range(3):
        assert found[relevant[:, k], k].mean() > 0.88
        assert found[~relevant[:, k], k].mean() < found[relevant[:, k], k].mean()
    with pytest.raises(ValueError, match="abstain: rows have several labels"):
        model.abstain(X_new)


def test_what_is_asked_of_files_is_checked(tmp_path):
    X, X_new, y, y_new = digits()
    for name, rows, labels in (("old.csv", X, y), ("new.csv", X_new, y_new)):
        names = [f"p{k}" for k in range(X.shape[1])]
        pd.DataFrame(rows, columns=names).assign(label=labels).to_csv(tmp_path / name, index=False)
    model = OnlineClassifier().fit_stream(open_stream(tmp_path / "old.csv", zeros=True, normalize="none"))
    for asked in ({"method": "abstain", "risk": 2}, {"coverage": 2}):
        with pytest.raises(ValueError, match=r"(risk|coverage) must be in \(0, 1\), got 2"):
            next(model.predict_stream(tmp_path / "new.csv", **asked))
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


@pytest.mark.filterwarnings("ignore:rows are sorted by label")
def test_nothing_is_promised_without_calibration_or_training():
    X, y = load_iris(return_X_y=True)
    model = OnlineClassifier(calibration=None)
    for method in (model.predict_set, model.abstain):
        with pytest.raises(NotFittedError):
            method(X)
    model.fit(X[40:60], y[40:60])
    for method in (model.predict_set, model.abstain):
        with pytest.raises(ValueError, match="calibration=None has calibrated nothing"):
            method(X)
    assert (model.alarms_, model.rows_since_alarm_) == (0, 0)
    with pytest.raises(AttributeError, match="not fitted"):
        _ = OnlineClassifier().alarms_


def test_alarms_count_what_was_not_in_random_order():
    """Digits, which have other names from some row on."""
    X, _, y, _ = digits()
    half = len(y) // 2
    renamed = np.where(np.arange(len(y)) < half, y, (y + 1) % 10)
    model = OnlineClassifier().partial_fit(X, renamed, classes=np.arange(10))
    assert model.alarms_ > 0 and 0 <= model.rows_since_alarm_ < len(y)
    last = model.learner_.conformal.last_alarm
    assert last == len(y) - model.rows_since_alarm_ and last > half
    calm = OnlineClassifier(shuffle=True, random_state=0).fit(X, y)
    assert (calm.alarms_, calm.rows_since_alarm_, calm.learner_.conformal.last_alarm) == (0, len(y), None)
