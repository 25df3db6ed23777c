"""Training on tables of other libraries, and export of predictors to other libraries."""

import pickle
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.inspection import permutation_importance

from confidently import OnlineClassifier

CASES = [
    ("binary", {}), ("binary", {"rule": "pa1", "average": True}), ("binary", {"calibration": None}),
    ("binary", {"rule": "logistic", "calibration": None}), ("binary", {"covariance": "full", "fit_intercept": False}),
    ("binary", {"covariance": "shared"}), ("classes", {"rule": "cw_stdev"}),
    ("classes", {"multiclass": "one-vs-rest", "dtype": "float32"}),
    ("classes", {"rule": "cellip", "fit_intercept": False}), ("classes", {"covariance": "shared"}),
    ("classes", {"forget": 0.01}), ("classes", {"rule": "logistic"}),
    ("classes", {"rule": "logistic", "covariance": "shared"}), ("classes", {"rule": "logistic", "calibration": None}),
    ("classes", {"covariance": "full"}), ("classes", {"rule": "logistic", "covariance": "full", "calibration": None}),
    ("classes", {"rule": "logistic", "covariance": "full", "multiclass": "softmax", "calibration": None}),
    ("labels", {}), ("labels", {"calibration": None}), ("labels", {"rule": "logistic", "calibration": None}),
    ("labels", {"multiclass": "joint"}), ("labels", {"multiclass": "joint", "covariance": "full"}),
]  # fmt: skip
NAMES = [f"{task}-{' '.join(f'{k}={v}' for k, v in settings.items())}" for task, settings in CASES]


def data(task):
    """Return rows and classes: strings for two classes, numbers for three."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5)) * (rng.random((150, 5)) < 0.7)
    scores = X @ rng.normal(size=(5, 3)) + 0.3 * rng.normal(size=(150, 3))
    if task == "binary":
        return X, np.where(scores[:, 0] > 0, "spam", "ham")
    return X, scores.argmax(axis=1) * 10 if task == "classes" else (scores > 0).astype(int)


def fitted(task, settings):
    X, y = data(task)
    return OnlineClassifier(**settings, view=None).fit(X[:100], y[:100]), X[80:]


@pytest.mark.parametrize(("task", "settings"), CASES, ids=NAMES)
def test_the_frozen_predictor_predicts_the_same(task, settings):
    classifier, X = fitted(task, settings)
    predictor = pickle.loads(pickle.dumps(classifier.to_sklearn()))
    for rows in (X, csr_matrix(X)):
        np.testing.assert_array_equal(predictor.predict(rows), classifier.predict(rows))
        np.testing.assert_allclose(
            predictor.decision_function(rows), classifier.decision_function(rows), rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(predictor.predict_proba(rows), classifier.predict_proba(rows), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(predictor.coef_, classifier.coef_)
    np.testing.assert_array_equal(predictor.classes_, classifier.classes_)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("task", "settings"), CASES, ids=NAMES)
def test_the_onnx_graph_predicts_the_same(task, settings, dtype):
    runtime = pytest.importorskip("onnxruntime")
    classifier, X = fitted(task, settings)
    graph = classifier.to_onnx(dtype)
    assert [(entry.domain, entry.version) for entry in graph.opset_import] == [("", 17)]
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    label, p = session.run(["label", "probabilities"], {"X": X.astype(dtype)})
    expected = classifier.predict_proba(X.astype(dtype))
    single = dtype == "float32" or settings.get("calibration", "") is None  # whose error function has single precision
    np.testing.assert_allclose(p, expected, rtol=1e-3 if single else 1e-9, atol=1e-5 if single else 1e-12)
    near = np.abs(classifier.decision_function(X)) < 1e-5  # rounding decides ties
    certain = ~near if task != "classes" else np.ones(len(X), dtype=bool)
    np.testing.assert_array_equal(np.asarray(label)[certain], classifier.predict(X)[certain])


def test_an_onnx_graph_has_the_names_of_features():
    frame = pd.DataFrame(data("binary")[0], columns=list("abcde"))
    graph = OnlineClassifier(view=None).fit(frame, data("binary")[1]).to_onnx()
    assert {entry.key: entry.value for entry in graph.metadata_props} == {"feature_names": "a\nb\nc\nd\ne"}


@pytest.mark.parametrize(("task", "settings", "message"), [
    ("binary", {"covariance": "kernel"}, "not linear"),
    ("classes", {"covariance": "full", "multiclass": "joint"}, "covariances of all classes"),
    ("classes", {"calibration": None}, "are integrals"),
])  # fmt: skip
def test_what_cannot_be_exported(task, settings, message):
    classifier, _ = fitted(task, settings)
    for export in (classifier.to_sklearn, classifier.to_onnx):
        with pytest.raises(ValueError, match=message):
            export()
    with pytest.raises(ValueError, match="float16"):
        fitted("binary", {})[0].to_onnx("float16")


def test_an_onnx_graph_needs_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"needs the package onnx; run pip install '\.\[onnx\]' in a clone"):
        fitted("binary", {})[0].to_onnx()


def test_the_frozen_predictor_never_changes():
    X, y = load_iris(return_X_y=True)
    predictor = OnlineClassifier(shuffle=True, random_state=0, passes=3, view=None).fit(X, y).to_sklearn()
    assert clone(predictor) is predictor
    before = predictor.predict(X)
    np.testing.assert_array_equal(predictor.fit(X, 1 - y).predict(X), before)
    importance = permutation_importance(predictor, X, y, random_state=0).importances_mean
    assert importance.argmax() in (2, 3)  # the petals
    with pytest.raises(ValueError, match="features"):
        predictor.predict(X[:, :2])


# --- tables --------------------------------------------------------------------------------------------------------


def tables():
    """Return one table in the types of several libraries, with its classes."""
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": np.arange(60) % 3, "c": rng.random(60) > 0.5})
    y = np.where(frame["a"] > 0, "up", "down")
    return y, {
        "pandas": (frame, pd.Series(y)),
        "pandas with categories as classes": (frame, pd.Series(y, dtype="category")),
        "pandas on Arrow": (frame.convert_dtypes(dtype_backend="pyarrow"), pd.Series(y)),
        "pandas, sparse": (frame.astype(float).astype(pd.SparseDtype(float, 0.0)), y),
        "Polars": (polars.from_pandas(frame), polars.Series(y.tolist())),
        "Arrow table": (pa.Table.from_pandas(frame), pa.array(y.tolist())),
        "Arrow batch": (pa.RecordBatch.from_pandas(frame), pa.array(y.tolist())),
    }


def test_tables_train_like_arrays_and_keep_their_names():
    y, given = tables()
    X = given["pandas"][0].to_numpy(dtype=float)
    plain = OnlineClassifier(view=None).fit(X, y)
    for name, (table, labels) in given.items():
        classifier = OnlineClassifier(view=None).fit(table, labels)
        assert classifier.feature_names_in_.tolist() == ["a", "b", "c"], name
        np.testing.assert_array_equal(classifier.coef_, plain.coef_, err_msg=name)
        np.testing.assert_array_equal(classifier.predict(table), plain.predict(X), err_msg=name)
        parts = OnlineClassifier(view=None).partial_fit(table, labels, classes=["down", "up"])
        np.testing.assert_array_equal(parts.predict_proba(table), plain.predict_proba(X), err_msg=name)


def test_columns_must_have_the_same_names():
    y, given = tables()
    frame, _ = given["pandas"]
    classifier = OnlineClassifier(view=None).fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        classifier.predict(frame[["b", "a", "c"]])


def test_errors_about_values_are_those_of_arrays():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    classifier = OnlineClassifier(view=None).fit(frame, [0, 1])
    for method in (classifier.predict, lambda X: classifier.partial_fit(X, [0, 1])):
        with pytest.raises(ValueError, match="infinity in row 1, column 0"):
            method(frame.assign(a=[1.0, np.inf]))
    missing = frame.assign(a=[1.0, np.nan])
    sparse = csr_matrix(([1.0, 1.0, 2.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    plain = OnlineClassifier(view=None).fit(frame.to_numpy(), [0, 1])
    assert (classifier.decision_function(missing) == plain.decision_function(sparse)).all()
    classifier.partial_fit(missing, [0, 1])


def test_lazy_frames_must_be_collected():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0, 3.0]})
    classifier = OnlineClassifier(view=None).fit(frame, ["x", "y", "x"])
    for method in (classifier.predict, lambda X: OnlineClassifier(view=None).fit(X, ["x", "y", "x"])):
        with pytest.raises(ValueError, match=r"pass X\.collect\(\)"):
            method(frame.lazy())


def test_a_single_class_is_named_in_the_error():
    with pytest.raises(ValueError, match=r"got one class: 'x'$"):
        OnlineClassifier(view=None).fit(np.eye(3), np.array(["x"] * 3))
    with pytest.raises(ValueError, match=r"got one class: 1$"):
        OnlineClassifier(view=None).fit(np.eye(3), np.ones(3, dtype=int))
