"""Classes are sorted, and so are scores, probabilities and coefficients, whatever path trained a classifier."""

import json

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from confidently import OnlineClassifier
from confidently.data import open_stream
from confidently.data.class_order import ClassOrder, sorted_numbers

NAMES = {2: ["spam", "ham"], 3: ["c", "a", "b"], "ones": [1, 2], "numbers": [10, 2, 3]}
SETTINGS = [
    {}, {"covariance": "full"}, {"covariance": "shared"}, {"multiclass": "one-vs-rest"},
    {"covariance": "full", "multiclass": "joint"}, {"covariance": "full", "multiclass": "one-vs-rest"},
    {"rule": "logistic"}, {"rule": "logistic", "calibration": None}, {"average": True},
]  # fmt: skip


def data(n, names, seed=0):
    """Rows of binary fractions, which files hold exactly; the first rows bring the classes in the order of names."""
    random = np.random.default_rng(seed)
    X = random.integers(-8, 9, (n, 5)) / 8
    number = (X[:, : len(names)] + random.normal(0, 0.2, (n, len(names)))).argmax(axis=1)
    number[: len(names)] = range(len(names))
    return X, np.array(names)[number]


def csv(path, X, y):
    lines = (",".join([*map(repr, map(float, row)), str(label)]) for row, label in zip(X, y, strict=True))
    path.write_text("\n".join(["a,b,c,d,e,label", *lines]) + "\n")
    return path


@pytest.fixture
def files(tmp_path):
    def make(names):
        (X, y), (X_test, y_test) = data(400, names), data(100, names, seed=1)
        stream = open_stream(csv(tmp_path / "train.csv", X, y), label="label", normalize="none", zeros=True)
        return X, y, X_test, y_test, stream

    return make


@pytest.mark.few(1)
@pytest.mark.parametrize("names", NAMES.values(), ids=str)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_stream_is_presented_as_the_matrix_is(settings, names, files):
    X, y, X_test, y_test, stream = files(names)
    # a third class that appears late is learned otherwise than one known from the start
    of_stream = OnlineClassifier(**settings).fit_stream(stream, classes=names if len(names) > 2 else None)
    fitted = OnlineClassifier(**settings).fit(X, y)
    assert of_stream.classes_.tolist() == fitted.classes_.tolist() == sorted(names)
    for quantity in ("coef_", "intercept_", "variance_", "intercept_variance_"):
        np.testing.assert_allclose(getattr(of_stream, quantity), getattr(fitted, quantity), rtol=1e-6, atol=1e-9)
    for method in ("decision_function", "predict_proba"):
        one, other = (getattr(model, method)(X_test) for model in (of_stream, fitted))
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    for one, other in zip(of_stream.margin_distribution(X_test), fitted.margin_distribution(X_test), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    assert of_stream.predict(X_test).tolist() == fitted.predict(X_test).tolist()
    p, q = of_stream.predict_proba(X_test), fitted.predict_proba(X_test)
    assert log_loss(y_test, p, labels=of_stream.classes_) == pytest.approx(log_loss(y_test, q, labels=fitted.classes_))
    if len(names) == 2:
        scores = [roc_auc_score(y_test, each[:, 1]) for each in (p, q)]
        assert scores[0] == scores[1] > 0.8


@pytest.mark.few(1)
@pytest.mark.parametrize("names", [["c", "a", "b"], [10, 2, 3]], ids=str)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_everything_has_the_order_of_the_classes(settings, names, files):
    _, _, X, _, stream = files(names)
    model = OnlineClassifier(**settings, view=None).fit_stream(stream)
    assert model.classes_.tolist() == sorted(names)
    scores, p = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(scores, X @ model.coef_.T + model.intercept_, rtol=1e-6, atol=1e-9)
    best = model.classes_[scores.argmax(axis=1)]
    assert model.predict(X).tolist() == best.tolist()
    assert (model.classes_[p.argmax(axis=1)] == best).mean() > 0.98
    assert model.score(X, model.predict(X)) == 1.0
    extended = np.column_stack([X, np.ones(len(X))])
    draws = model.sample_weights(20_000, random_state=0)
    mean, error = np.column_stack([model.coef_, model.intercept_]), np.sqrt(model.variance_.max() / 2e4)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=6 * error)
    covariance = model.covariance_
    covariance = covariance.toarray() if hasattr(covariance, "toarray") else covariance
    for k, label in enumerate(model.classes_):
        marginal = model.marginal(label)
        np.testing.assert_allclose(marginal.mean[:-1], model.coef_[k])
        np.testing.assert_allclose(marginal.standard_deviation[:-1] ** 2, model.variance_[k], rtol=1e-6)
        block = covariance[k] if covariance.ndim == 3 else covariance
        if covariance.ndim == 2 and len(covariance) > extended.shape[1]:
            block = covariance[6 * k : 6 * k + 6, 6 * k : 6 * k + 6]
        np.testing.assert_allclose(np.diagonal(block), marginal.standard_deviation**2, rtol=1e-6)
        variance = ((extended @ block) * extended).sum(axis=1)
        np.testing.assert_allclose(model.margin_distribution(X)[1][:, k], variance, rtol=1e-5)


@pytest.mark.parametrize("names", NAMES.values(), ids=str)
def test_exports_have_the_order_of_the_classes(names, files):
    _, _, X_test, _, stream = files(names)
    for settings in ({}, {"rule": "logistic"}, {"multiclass": "one-vs-rest"}):
        model = OnlineClassifier(**settings, view=None).fit_stream(stream)
        frozen = model.to_sklearn()
        assert frozen.classes_.tolist() == sorted(names)
        np.testing.assert_allclose(frozen.decision_function(X_test), model.decision_function(X_test))
        np.testing.assert_allclose(frozen.predict_proba(X_test), model.predict_proba(X_test), rtol=1e-6)
        assert frozen.predict(X_test).tolist() == model.predict(X_test).tolist()
        stream = files(names)[-1]
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.to_onnx().SerializeToString())
    labels, p = session.run(["label", "probabilities"], {"X": X_test.astype(np.float32)})
    assert labels.tolist() == model.predict(X_test).tolist()
    np.testing.assert_allclose(p, model.predict_proba(X_test), atol=1e-5)


def test_labels_are_sorted_in_every_column(tmp_path):
    random = np.random.default_rng(0)
    X = random.integers(-8, 9, (400, 5)) / 8
    names = np.array(["zebra", "ant", "moth"])
    Y = (X[:, :3] > 0.1).astype(int)
    Y[0] = 1
    lines = [
        {"labels": names[row > 0].tolist(), **dict(zip("abcde", map(float, x), strict=True))}
        for row, x in zip(Y, X, strict=True)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    sorted_columns = Y[:, np.argsort(names)]
    for multiclass in ("one-vs-rest", "joint"):
        stream = open_stream(path, label="labels", multilabel=True, normalize="none", zeros=True)
        model = OnlineClassifier(multiclass=multiclass, view=None).fit_stream(stream)
        assert model.classes_.tolist() == ["ant", "moth", "zebra"]
        assert (model.predict(X) == sorted_columns).mean() > 0.9
        assert ((model.predict_proba(X) > 0.5) == sorted_columns).mean() > 0.85
        np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-9)
        stacked = [model.marginal(label).mean[:-1] for label in model.classes_]
        np.testing.assert_allclose(stacked, model.coef_)
        before = model.decision_function(X)
        model.partial_fit(X, sorted_columns)
        assert (model.predict(X) == sorted_columns).mean() > 0.9
        assert np.abs(model.decision_function(X) - before).max() < 3
        frozen = model.to_sklearn()
        np.testing.assert_array_equal(frozen.predict(X), model.predict(X))
        np.testing.assert_allclose(frozen.predict_proba(X), model.predict_proba(X), rtol=1e-6)


def test_numbers_come_before_names_by_size():
    names = ["b", 10, None, "a", 2, "1.5", "nan", True]
    assert [names[k] for k in sorted_numbers(names)] == [True, "1.5", 2, 10, "a", "b", "nan", None]


def test_labels_that_mix_numbers_and_names_continue(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n" + "1,7\n-1,no\n" * 30)
    model = OnlineClassifier(view=None).fit_stream(open_stream(path, label="label"))
    assert model.classes_.tolist() == ["7", "no"]
    model.partial_fit_stream(path)
    assert model.classes_.tolist() == ["7", "no"] and model.n_seen_ == 120


def test_orders_of_classes():
    order = ClassOrder(["b", "c", "a"])
    assert order.classes.tolist() == ["a", "b", "c"] and order.numbers.tolist() == [2, 0, 1]
    indicators = np.array([[1, 0, 0], [0, 1, 1]])
    assert order.labels_by_number(indicators).tolist() == [[0, 0, 1], [1, 1, 0]]
    assert order == ClassOrder(["b", "c", "a"]) != ClassOrder(["a", "b", "c"])


def test_of_two_classes_the_second_in_sorted_order_is_positive(tmp_path, ok):
    file, model = csv(tmp_path / "rows.csv", *data(300, ["spam", "ham"])), tmp_path / "model.cw"
    ok("train", file, "--label", "label", "--rule", "arow", "-o", model, "-q")
    assert "positive weights favor spam, negative ham" in ok("inspect", model)
    (view,) = json.loads(ok("inspect", model, "--json"))["weights"]
    first = {entry["feature"]: entry["mean"] for entry in view["top"]}["a"]
    assert first > 0.5  # the first column is large for spam
