"""Any input a user could pass: the right result or one clear error, and an unchanged state."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor
from confidently.covariances.settings import Settings
from confidently.data.memory import matrix
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.stack.members import parts_of
from tests.covariance_cases import OVER_WEIGHTS

X = np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, -2.0], [-0.25, 1.0]])
Y = np.array([1, 0, 1, 0])


def sparse(values, columns, start, width):
    """A CSR matrix built without SciPy's checks."""
    result = csr_matrix((len(start) - 1, width))
    result.data, result.indices = np.array(values, dtype=float), np.array(columns)
    result.indptr = np.array(start)
    return result


def changed(i, j, value):
    result = X.copy()
    result[i, j] = value
    return result


BAD_ROWS = {
    "nan": (changed(2, 1, np.nan), r"X contains NaN in row 2, column 1.*finite"),
    "infinity": (changed(3, 0, -np.inf), r"X contains infinity in row 3, column 0"),
    "too large": (changed(0, 0, 1e200), r"X contains 1e\+200 in row 0, column 0.*at most 1e\+100"),
    "sparse nan": (csr_matrix(changed(1, 0, np.nan)), r"X contains NaN in row 1, column 0"),
    "one dimension": (X[0], "Expected 2D array"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], r"0 feature\(s\)"),
    "too many columns": (np.hstack([X, X]), r"X has 4 features, but \w+ is expecting 2"),
    "words": (np.array([["a", "b"]] * 4), "could not convert|dtype='numeric'|string"),
    "complex": (X + 1j, "Complex data not supported"),
    "column out of range": (
        sparse([1.0, 1.0], [0, 7], [0, 1, 2, 2, 2], 2),
        r"row 1 of X has column 7, expected 0 to 1",
    ),
    "negative column": (sparse([1.0, 1.0], [0, -1], [0, 1, 2, 2, 2], 2), r"column -1"),
}


KINDS = [OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor]


@pytest.mark.long("each estimator with each kind of bad rows")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(case, kind):
    rows, message = BAD_ROWS[case]
    model = kind().fit(X, Y)
    before = copy.deepcopy(vars(model))
    y = Y[: len(rows)] if case in ("no rows", "one dimension") else Y
    asked = ("novelty", "predict_interval" if kind in KINDS[2:] else "predict_proba")
    for method in ("partial_fit", "fit", "predict", *asked):
        if method == "fit" and case == "too many columns":
            continue  # fit learns the width again
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(rows, *([y] if "fit" in method else []))
        assert_unchanged(model, before)
    if case != "too many columns":
        first = kind()
        for train in (
            first.fit,
            lambda *given: first.partial_fit(*given, **({"classes": [0, 1]} if kind in KINDS[:2] else {})),
        ):
            with pytest.raises(ValueError, match=message):
                train(rows, y)
            assert not hasattr(first, "learner_")


BAD_TARGETS = {
    "nan": (np.array([1, 2, np.nan, 0]), "NaN"), "infinity": ([1, 2, 3, np.inf], "infinity"),
    "too large": ([1.0, 2, 3, 1e60], r"targets must be finite and at most 1e\+50"),
    "words": (["a", "b", "c", "d"], "could not convert|string"),
    "another number": (np.eye(4, 3), "y has 3 numbers per row, the regressor was trained on 1"),
    "too few": ([1.0, 2.0], "inconsistent"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TARGETS)
@pytest.mark.parametrize("kind", KINDS[2:])
def test_bad_targets(kind, case):
    y, message = BAD_TARGETS[case]
    model = kind().fit(X, Y)
    before = copy.deepcopy(vars(model))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)
    assert_unchanged(model, before)


BAD_LABELS = {
    "not announced": (
        {"y": [0, 1, 2, 1], "classes": [0, 1]}, r"y has classes that are not in classes=: 2; there are 0, 1; pass all",
    ),
    "of another kind": ({"y": ["a", "b", "a", "b"]}, "classes mix strings and numbers: 'a', 'b' and 0, 1"),
    "indicator instead of classes": ({"y": np.eye(4, dtype=int)}, "one class per row"),
    "too few": ({"y": [0, 1, 1]}, "inconsistent numbers of samples"),
    "nan": ({"y": [0, 1, np.nan, 1]}, "NaN"), "measurements": ({"y": [0.1, 0.7, 0.3, 1.5]}, "Unknown label type"),
    "none": ({"y": [0, None, 1, 1]}, "y: row 1 has no label, got None; leave out the row or label it"),
    "none among strings": ({"y": pd.Series(["a", "b", None, "a"])}, "y: row 2 has no label, got (None|nan)"),
    "missing strings": ({"y": pd.Series(["a", "b", None, "a"], dtype="string")}, "y: row 2 has no label, got <NA>"),
    "nan among strings": ({"y": np.array(["a", np.nan, "b", "a"], dtype=object)}, "y: row 1 has no label, got nan"),
    "mixed": ({"y": np.array(["a", 1, "b", 2], dtype=object)}, "y: labels mix strings and numbers; use one type"),
    "tuples of labels": (
        {"y": [("a", "b"), ("a",), (), ("b",)]},
        r"y: expected one label per row, got \('a', 'b'\) in row 0; .* use sklearn.preprocessing.MultiLabelBinarizer",
    ),
    "lists of numbers": ({"y": [[1], [2, 3], [], [1]]}, r"y: expected one label per row, got \[1\] in row 0"),
    "sets of labels": ({"y": [{"a"}, {"b"}, set(), {"b"}]}, r"y: expected one label per row, got \{'a'\} in row 0"),
    "lists of as many": ({"y": [[1, 2], [2, 3], [1, 3], [1, 4]]}, "Unknown label type: .*MultiLabelBinarizer makes"),
    "negative weight": ({"y": Y, "sample_weight": [1, 1, -1, 1]}, r"sample_weight must be finite and >= 0, got -1.0 i"),
    "nan weight": ({"y": Y, "sample_weight": [1, np.nan, 1, 1]}, "got nan in row 1"),
    "too few weights": ({"y": Y, "sample_weight": [1, 1]}, r"shape \(4,\)"),
}  # fmt: skip


@pytest.mark.long("each estimator with each kind of bad labels")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels_and_weights(case, kind):
    given, message = BAD_LABELS[case]
    if kind in KINDS[2:] and "sample_weight" not in given:
        return  # targets: above
    model = kind().fit(X, Y)
    before = copy.deepcopy(vars(model))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, **given)
    assert_unchanged(model, before)


def test_bad_rule_parameters_name_the_range():
    classifier = OnlineClassifier("cw_stdev").fit(X, Y)
    before = copy.deepcopy(vars(classifier))
    with pytest.raises(ValueError, match=r"CWStdev: eta must be in \(0.5, 1\), got 2"):
        classifier.set_params(rule__eta=2)
    assert_unchanged(classifier, before)


LEARNER_INPUT = {
    "weights too few": ({"weight": np.ones(2)}, r"weight must have shape \(4,\)"),
    "weights too large": ({"weight": np.full(4, 1e300)}, "at most 1e\\+09"),
    "class weights": ({"class_weight": np.ones(3)}, r"class_weight must have shape \(2,\)"),
    "order": ({"order": np.array([0, 4])}, "order must hold rows 0 to 3, got 0 to 4"),
    "labels out of range": ({"labels": np.array([0, 1, 2, 0], dtype=np.int32)}, "labels must be in 0 to 1"),
    "labels too few": ({"labels": np.array([0, 1], dtype=np.int32)}, "which do not match"),
    "lists of labels": ({"label_start": np.arange(5)}, "multilabel tasks need lists of labels"),
    "too many columns": ({"X": np.ones((4, 5))}, "X has 5 columns, the learner 2 features; grow it first"),
}


@pytest.mark.parametrize("case", LEARNER_INPUT)
def test_learner_refuses_what_does_not_fit(case):
    given, message = LEARNER_INPUT[case]
    learner = Learner(Settings("arow"), n_features=2)
    learner.grow(n_features=3)  # the room grows beyond what is needed
    learner.n_features = 2
    given = {"labels": Y.astype(np.int32), "X": X} | given
    with pytest.raises(ValueError, match=message):
        learner.learn(as_matrix(given.pop("X")), given.pop("labels"), **given)
    assert learner.n_seen == 0


def test_parts_whose_weights_are_all_zero_teach_nothing():
    classifier = OnlineClassifier().partial_fit(X, Y, classes=[0, 1], sample_weight=np.zeros(4))
    assert classifier.n_seen_ == 0


def test_settings_changed_between_calls():
    """A rule may change as long as the state still fits; nothing else may, and nothing is ignored."""
    classifier = OnlineClassifier("arow").partial_fit(X, Y, classes=[0, 1])
    classifier.set_params(rule="cw_stdev").partial_fit(X, Y)
    assert classifier.learner_.settings.rule.name == "cw_stdev"
    for change in ({"rule": "pa"}, {"prior_variance": 2.0}, {"average": True}, {"covariance": "full"}):
        before = classifier.get_params()
        with pytest.raises(ValueError, match="cannot change after training has begun"):
            classifier.set_params(**change).partial_fit(X, Y)
        classifier.set_params(**{name: before[name] for name in change})
    with pytest.raises(ValueError, match="unknown parameter 'zzz'"):
        classifier.set_params(average=True, rule__zzz=1)
    assert classifier.average == "auto"


def test_a_bad_row_late_in_a_long_matrix_undoes_all_before_it():
    rows = np.tile(X, (5000, 1))
    rows[-1, 0] = np.nan
    learner = Learner(Settings("arow"), n_features=2)
    with pytest.raises(ValueError, match="NaN in row 19999, column 0"):
        learner.learn(as_matrix(rows, check=False), np.tile(Y, 5000).astype(np.int32))
    assert learner.n_seen == 0
    assert not learner.mean().any()


def test_duplicate_columns_are_summed():
    twice = sparse([1.0, 2.0, 4.0, 1.0], [1, 0, 1, 0], [0, 3, 4], 2)
    once = np.array([[2.0, 5.0], [1.0, 0.0]])
    learner = {}
    for name, rows in (("twice", twice), ("once", once)):
        learner[name] = OnlineClassifier("arow", view=None).fit(rows, [0, 1])
    np.testing.assert_array_equal(learner["twice"].coef_, learner["once"].coef_)
    np.testing.assert_array_equal(twice.data, [1.0, 2.0, 4.0, 1.0])  # the caller's matrix is not touched


def test_a_covariance_that_does_not_fit_is_refused_before_it_is_tried():
    rows = csr_matrix((2, 3_000_000))
    with pytest.raises(
        MemoryError, match=r'"full" over 3000001 weights needs 72,000,048,000,008 bytes and .* are available'
    ):
        OnlineClassifier("arow", "full").fit(rows, [0, 1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "rule", ["perceptron", "pa", "cw_stdev", "arow", "nherd", "gibbs_pa", "gibbs_pa_exact", "probit"]
)
def test_extreme_values_stay_finite(rule, dtype):
    """The largest and the smallest numbers let in, contradictory copies of a row, empty rows."""
    largest = matrix.MAX_VALUE[dtype]
    rows = np.array(
        [[largest, 0, 0], [0, 1 / largest, 1.0], [0, 0, 0], [1e-300, 1e-200, 0], [largest, largest, 1]] * 40
    )
    for fit_intercept in (True, False):
        learner = Learner(Settings(rule, dtype=dtype, fit_intercept=fit_intercept), n_features=3)
        labels = np.resize(np.array([0, 1, 1, 0], dtype=np.int32), len(rows))
        learner.learn(as_matrix(rows, dtype), labels)
        assert np.isfinite(learner.mean()).all()
        assert (learner.variance() > 0).all()
        assert np.isfinite(learner.probabilities(as_matrix(rows, dtype))).all()


@pytest.mark.parametrize("covariance", OVER_WEIGHTS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_contradictory_copies_of_a_row(covariance, dtype):
    """A hard constraint met both ways drives the variance along the row to its lower bound and no further."""
    learner = Learner(Settings("cw_stdev", covariance, dtype=dtype), n_features=2)
    rows = as_matrix(np.tile([[0.3, -1.2]], (1000, 1)), dtype)
    learner.learn(rows, np.resize(np.array([0, 1], dtype=np.int32), 1000))
    assert np.isfinite(learner.mean()).all()
    mean, variance = learner.margin_distribution(rows)
    assert np.isfinite(mean).all()
    assert (variance > 0).all()


def assert_unchanged(model, before):
    now = vars(model)
    assert now.keys() == before.keys()
    for name, value in before.items():
        if hasattr(value, "state"):
            parts = (
                zip(parts_of(value), parts_of(now[name]), strict=True)
                if hasattr(value, "members")
                else [(value, now[name])]
            )
            for ours, theirs in parts:
                for key, array in ours.state.items():
                    np.testing.assert_array_equal(array, theirs.state[key])
            assert not isinstance(value, Learner) or value.header() == now[name].header()
        else:
            np.testing.assert_array_equal(value, now[name])
