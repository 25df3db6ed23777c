"""What is said of single predictions holds on ordinary data: the short form of benchmarks/promises.py."""

import warnings

import numpy as np
import pytest

from confidently import AutoClassifier, OnlineClassifier
from confidently.data import DataWarning
from tests.ordinary_rows import KINDS, NULL, four_kinds, null_stream, rare_class

RULES = ["arow", "logistic"]


@pytest.mark.filterwarnings("ignore:predict_set. 1 of 2 classes")  # the rare one, of ten rows
@pytest.mark.parametrize("rows", [10, 30, 90, 300])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
def test_a_rare_class_is_in_its_sets(rule, kind, rows):
    found = []
    for seed in range(4):
        X, y, X_new, y_new = rare_class(kind, rows, np.random.default_rng(seed))
        sets = OnlineClassifier(rule, view="auto").fit(X, y).predict_set(X_new)
        found.append([sets[y_new == k, k].mean() for k in (0, 1)])
    frequent, rare = np.mean(found, axis=0)
    assert rare > 0.86 and frequent > 0.86, (rare, frequent)
    if rows >= 90 and kind == "continuous":
        assert rare < 0.97 and frequent < 0.97, (rare, frequent)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_rows_of_few_kinds_are_covered(rule, coverage):
    low = []
    for seed in range(6):
        X, y = four_kinds(np.random.default_rng(seed), 9000)
        sets = OnlineClassifier(rule).fit(X[:3000], y[:3000]).predict_set(X[3000:], coverage)
        low += [sets[y[3000:] == k, k].mean() < coverage - 0.05 for k in (0, 1)]
    assert sum(low) <= 1


@pytest.mark.parametrize("kind", NULL)
@pytest.mark.parametrize("rule", RULES)
def test_rows_in_random_order_raise_no_alarm(rule, kind):
    for seed in range(8):
        X, y = null_stream(kind, np.random.default_rng(seed))
        assert OnlineClassifier(rule).partial_fit(X, y, classes=np.unique(y)).alarms_ == 0


@pytest.mark.parametrize("kind", ["noise", "categories", "several classes"])
def test_stacks_raise_no_alarm_in_random_order(kind):
    X, y = null_stream(kind, np.random.default_rng(0), 1500)
    assert AutoClassifier().partial_fit(X, y, classes=np.unique(y)).alarms_ == 0


@pytest.mark.parametrize("kind", ["categories", "signal", "several classes"])
@pytest.mark.parametrize("make", [lambda: OnlineClassifier(), lambda: OnlineClassifier("logistic"), AutoClassifier])
def test_turned_labels_are_found_soon(make, kind):
    for seed in range(1 if make is AutoClassifier else 4):
        X, y = null_stream(kind, np.random.default_rng(seed), 1300)
        if kind == "categories":  # more certain ones, of which half the labels turn
            y = (X[:, 0] + X[:, 3] > X[:, 2] + X[:, 5]).astype(np.int64)
            y[::6] = 1 - y[::6]
        K = y.max() + 1
        model = make().partial_fit(X[:1000], y[:1000], classes=range(K))
        assert model.alarms_ == 0
        model.partial_fit(X[1000:], (y[1000:] + 1) % K)
        assert model.alarms_ >= 1 and model.learner_.conformal.last_alarm > 1000


ODD = {
    "two rows": ([[0.0, 1.0], [1.0, 0.0]], [0, 1]),
    "one row of a class": (np.random.default_rng(0).normal(size=(8, 2)), [0, 0, 0, 1, 0, 0, 0, 0]),
    "equal rows": (np.ones((8, 3)), [0, 1] * 4),
}


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("make", [OnlineClassifier, AutoClassifier])
@pytest.mark.parametrize("case", ODD)
def test_too_few_rows_leave_every_class_and_warn_once(case, make, coverage):
    X, y = map(np.array, ODD[case])
    model = make().fit(X, y)
    needed = 1.0 / (1.0 - coverage) - 1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sets = model.predict_set(X, coverage)
    if needed > len(y):
        assert sets.all() and [one.category for one in caught] == [DataWarning]
    assert len(caught) <= 1 and all("predict_set:" in str(one.message) for one in caught)
