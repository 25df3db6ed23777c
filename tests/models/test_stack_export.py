"""Stacks as ONNX graphs predict what they do: views, covariances, naive Bayes, classes, label sets and numbers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import random_array

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor
from confidently.data import open_stream
from confidently.stack.naive_bayes import NaiveBayes
from tests.estimators import test_auto_regressor as regressions
from tests.estimators.test_auto_classifier import data
from tests.estimators.test_auto_labels import GIVEN, label_sets

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


FULL = [OnlineClassifier(covariance="full"), OnlineClassifier("logistic", view="standard,pairs")]
CASES = {
    "two classes": lambda: (AutoClassifier(), *data("cancer")),
    "three classes": lambda: (AutoClassifier(), *data("iris")),
    "pixels": lambda: (AutoClassifier(), *data("digits")),
    "words": lambda: (AutoClassifier(), *data("words")),
    "words of three classes": lambda: (AutoClassifier(), *data("words of 3")),
    "label sets": lambda: (AutoClassifier(), *label_sets()),
    "label sets, one of them ranked": lambda: (AutoClassifier(GIVEN), *label_sets()),
    "full covariances": lambda: (AutoClassifier(FULL), *data("iris")),
}


def assert_predicts_alike(model, X, dtype):
    rows = (X.toarray() if hasattr(X, "toarray") else X).astype(dtype)
    session = runtime.InferenceSession(model.to_onnx(dtype).SerializeToString())
    label, probabilities = session.run(None, {"X": rows})
    tolerance = 1e-6 if dtype == "float64" else 1e-4  # leaves of trees are in single precision
    assert probabilities == pytest.approx(model.predict_proba(X), abs=tolerance)
    assert np.mean(label == model.predict(X)) > (1.0 - 1e-12 if dtype == "float64" else 0.99)


@pytest.mark.long("sixteen stacks")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_a_graph_predicts_what_the_stack_does(case, dtype):
    model, X, y = CASES[case]()
    n = X.shape[0] * 3 // 4
    assert_predicts_alike(model.fit(X[:n], y[:n]), X, dtype)


def test_a_class_that_comes_later_and_is_sorted_first():
    X, y = data("words of 3")
    y = np.array(["b", "a", "c"])[y]
    model = AutoClassifier().partial_fit(X[y != "a"], y[y != "a"], classes=["b", "c"])
    model.partial_fit(X, y, classes=["a", "b", "c"])
    assert_predicts_alike(model, X, "float64")


@pytest.mark.long("a stack and its graph")
@pytest.mark.parametrize("rows", ["words", pytest.param("numbers", marks=pytest.mark.long("a second stack"))])
def test_two_classes_of_which_the_second_is_sorted_first(rows, tmp_path):
    """As streams bring them: the scores of the learner are those of the class that came second."""
    X, Y = label_sets()
    names = ["b" if one else "a" for one in Y[:, 0]]
    names[0] = "b"
    path = tmp_path / "rows.txt"
    if rows == "numbers":
        path.write_text(
            "\n".join(json.dumps({"label": k, **dict(enumerate(x))}) for k, x in zip(names, X, strict=True))
        )
        how = {"format": "jsonl", "normalize": "none", "zeros": True}
    else:
        X = np.hstack([X > 0, np.random.default_rng(0).random((len(X), 300)) < 0.05]).astype(float)
        lines = (" ".join(f"{j + 1}:1" for j in np.flatnonzero(x)) for x in X)
        path.write_text("\n".join(f"{'12'[k == 'b']} {line}" for k, line in zip(names, lines, strict=True)))
        how = {"format": "svmlight", "normalize": "none"}
    with open_stream(str(path), **how) as stream:
        model = AutoClassifier().fit_stream(stream)
    assert model._class_order.numbers.tolist() == [1, 0]
    assert any(isinstance(member, NaiveBayes) for member in model.learner_.members) == (rows == "words")
    assert_predicts_alike(model, X[:, : model.n_features_in_], "float64")


def test_members_with_equal_views_share_its_rows():
    X, y = data("cancer")
    model = AutoClassifier().fit(X, y)
    nodes = [node.op_type for node in model.to_onnx().graph.node]
    assert nodes.count("Cos") == len({name for name in model.members_ if "arow" in name and "cosines" in name})


# --- regressions ------------------------------------------------------------------------------------------------------

OTHERS = [
    OnlineRegressor("quantile", view="standard"), OnlineRegressor("poisson", prior_variance=1e-3),
    OnlineRegressor("pa1_reg", average=True),
]  # fmt: skip


def words():
    X = random_array((400, 3000), density=0.01, random_state=np.random.default_rng(0), format="csr")
    return X, X @ np.random.default_rng(1).normal(size=3000) + 5.0


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("numbers", [1, 3])
@pytest.mark.parametrize("rows", ["table", "words", "other rules"])
def test_a_graph_predicts_what_the_regressor_does(rows, numbers, dtype):
    X, y = words() if rows == "words" else regressions.friedman()
    Y = np.abs(regressions.several(X.toarray() if rows == "words" else X, y)[:, :numbers])
    n = X.shape[0] * 3 // 4
    model = AutoRegressor(OTHERS if rows == "other rules" else "auto").fit(X[:n], Y[:n])
    some = X[n - 60 : n + 60]  # learned and new, of which a graph of full covariances takes 10 ms each
    given = (some.toarray() if rows == "words" else some).astype(dtype)
    session = runtime.InferenceSession(model.to_onnx(dtype).SerializeToString())
    assert [output.name for output in session.get_outputs()] == ["variable", "std"]
    for found, expected in zip(session.run(None, {"X": given}), model.predict(given, return_std=True), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, dtype)
        if dtype == "float64":
            np.testing.assert_allclose(found, expected, rtol=1e-4)  # leaves are in single precision
        else:  # but for values that meet another bin
            assert np.mean(np.isclose(found, expected, rtol=1e-3)) > 0.99


def test_names_of_columns_are_exported():
    X, y = regressions.friedman(200)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    properties = AutoRegressor().fit(frame, y).to_onnx().metadata_props
    assert [(one.key, one.value) for one in properties] == [("feature_names", "a\nb\nc\nd\ne\nf")]


def test_what_cannot_be_exported_is_one_error():
    X, y = data("iris")
    kept = [OnlineClassifier(covariance="full", multiclass="joint"), OnlineClassifier()]
    with pytest.raises(ValueError, match="which are not exported"):
        AutoClassifier(kept).fit(X, y).to_onnx()
    with pytest.raises(ValueError, match="dtype"):
        AutoClassifier().fit(X, y).to_onnx("int8")
    for model in (AutoClassifier(), AutoRegressor()):
        with pytest.raises(ValueError, match="not fitted"):
            model.to_onnx()
