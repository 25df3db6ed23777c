"""Calls that skip checks, of inputs and parameters known to be sound, do what those with all checks do."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_array, csr_matrix

from confidently import AROW, CWStdev, OnlineClassifier, OnlineRegressor, Ridge
from confidently.data.memory.plain import is_plain_labels, is_plain_matrix, is_plain_targets

RNG = np.random.default_rng(0)
X = np.where(RNG.random((60, 5)) < 0.4, 0.0, RNG.normal(size=(60, 5)))
T = (X @ RNG.normal(size=5)).astype(np.float32).astype(np.float64)
Y = (X @ RNG.normal(size=5) > 0).astype(int)
WAYS = {  # of the same rows; the first are taken as they are
    "array": np.asarray,
    "float32": lambda rows: rows.astype(np.float32),
    "csr": csr_matrix,
    "csr array": csr_array,
    "list": np.ndarray.tolist,
    "csc": csc_matrix,
    "columns in memory": np.asfortranarray,
}


@pytest.mark.long("200 calls for each form of rows")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "labels", [Y, Y.astype(np.int8), Y.tolist(), np.array(["no", "yes"])[Y]], ids=["int64", "int8", "list", "strings"]
)
def test_every_form_of_a_row_is_learned_and_predicted_alike(way, labels):
    rows = X.astype(np.float32).astype(np.float64)
    classes = np.unique(labels)
    expected = OnlineClassifier("arow", view=None).partial_fit(rows, np.asarray(labels), classes)
    found = OnlineClassifier("arow", view=None)
    for k in range(0, 60, 4):
        found.partial_fit(WAYS[way](rows[k : k + 4]), labels[k : k + 4], classes if k == 0 else None)
    for name, array in expected.learner_.state.items():
        np.testing.assert_array_equal(found.learner_.state[name], array, err_msg=name)
    for method in ("predict", "predict_proba", "decision_function"):
        answers = [getattr(found, method)(WAYS[way](rows[k : k + 1])) for k in range(60)]
        np.testing.assert_array_equal(np.concatenate(answers), getattr(expected, method)(rows))


LABELS = [
    (X[:, :4], Y), (X[:0], Y[:0]), (X[:3], Y[:2]), (np.full((3, 5), "a"), Y[:3]),
    (np.full((1, 5), np.nan), Y[:1]), (np.full((1, 5), 1e101), Y[:1]), (X[:3], [None, 1, 0]),
    (X[:3], np.array([0.0, np.nan, 1.0])), (X[:3], Y[:3].astype(str)), (X[0], Y[:1]),
]  # fmt: skip
TARGETS = [
    (X[:, :4], T), (X[:0], T[:0]), (X[:3], T[:2]), (X[:3], np.array([1.0, np.nan, 0.0])), (X[0], T[:1]),
    (X[:3], np.array([1.0, np.inf, 0.0])), (X[:3], np.array([1.0, 1e60, 0.0])), (X[:3], np.ones((3, 2))),
    (X[:3], ["a", "b", "c"]), (np.full((1, 5), np.nan), T[:1]),
]  # fmt: skip
BEGUN = {
    OnlineClassifier: lambda: OnlineClassifier("arow").partial_fit(X, Y, [0, 1]),
    OnlineRegressor: lambda: OnlineRegressor().partial_fit(X, T),
}


@pytest.mark.parametrize(
    ("kind", "rows", "y"), [(OnlineClassifier, *one) for one in LABELS] + [(OnlineRegressor, *one) for one in TARGETS]
)
def test_wrong_rows_are_refused_in_every_call(kind, rows, y):
    model = BEGUN[kind]().partial_fit(X, Y if kind is OnlineClassifier else T)
    before = {name: array.copy() for name, array in model.learner_.state.items()}
    with pytest.raises(ValueError, match=r".") as first:
        BEGUN[kind]().partial_fit(rows, y)
    with pytest.raises(ValueError, match=r".") as later:
        model.partial_fit(rows, y)
    assert str(later.value) == str(first.value)
    for name, array in model.learner_.state.items():
        np.testing.assert_array_equal(array, before[name])


def test_names_of_columns_are_still_compared():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = OnlineClassifier("arow").partial_fit(frame, Y, [0, 1])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X[:1])


OTHERS = {
    OnlineClassifier: (("prior_variance", 2.0), ("passes", True), ("class_weight", "balanced"), ("dtype", "float16")),
    OnlineRegressor: (("prior_variance", 2.0), ("passes", True), ("covariance", "diag"), ("rule", "arow")),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_parameters_that_change_between_calls_are_seen(kind):
    y, rule = (Y, AROW(r=3.0)) if kind is OnlineClassifier else (T, Ridge(r=3.0))
    model = BEGUN[kind]().partial_fit(X, y).set_params(rule=rule).partial_fit(X, y)
    assert model.learner_.settings.rule == rule
    if kind is OnlineClassifier:
        model.rule = CWStdev()
        assert model.partial_fit(X, y).learner_.settings.rule == CWStdev()
    for name, wrong in OTHERS[kind]:
        right = getattr(model, name)
        setattr(model, name, wrong)
        for _ in range(2):
            with pytest.raises(ValueError, match=r"."):
                model.partial_fit(X, y)
        setattr(model, name, right)
        model.partial_fit(X, y)


def test_parameters_that_change_in_place_are_seen():
    kernel = {"gamma": 0.5}
    model = OnlineClassifier("arow", "kernel", kernel_params=kernel).partial_fit(X, Y, [0, 1]).partial_fit(X, Y)
    kernel["gamma"] = 2.0
    with pytest.raises(ValueError, match="cannot change"):
        model.partial_fit(X, Y)
    weights = {0: 1.0, 1: 1.0}
    model = OnlineClassifier("arow", class_weight=weights).partial_fit(X, Y, [0, 1]).partial_fit(X, Y)
    weights[1] = -1.0
    with pytest.raises(ValueError, match="class weights"):
        model.partial_fit(X, Y)


def test_another_learner_follows_its_own_parameters():
    model = OnlineClassifier("arow").partial_fit(X, Y, [0, 1]).partial_fit(X, Y)
    model.set_params(prior_variance=2.0).fit(X, Y)
    model.set_params(prior_variance=1.0)
    with pytest.raises(ValueError, match="prior_variance"):
        model.partial_fit(X, Y)


def test_what_is_plain():
    assert is_plain_matrix(X)
    assert is_plain_matrix(csr_matrix(X))
    for other in (X.astype(int), X.astype(">f8"), np.ma.array(X), csc_matrix(X), X[0], X[:0], X[:, :0], X.tolist()):
        assert not is_plain_matrix(other)
    assert is_plain_labels(Y, 60)
    for other in (Y.tolist(), Y[:, None], Y[:5], Y.astype(float), Y.astype(object)):
        assert not is_plain_labels(other, 60)
    assert is_plain_targets(T, 60)
    for other in (T.tolist(), T[:, None], T[:5], T.astype(np.float32), Y, np.where(Y, np.nan, T)):
        assert not is_plain_targets(other, 60)
