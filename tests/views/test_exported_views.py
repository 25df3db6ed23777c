"""ONNX graphs of models with views: the rows that views make, in a runtime that knows nothing of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from confidently import OnlineClassifier
from confidently.data import open_stream
from confidently.views.cosines import Cosines
from confidently.views.first import First
from confidently.views.pairs import Pairs
from confidently.views.standard import Standard
from confidently.views.table import VIEWS

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

EVERY = [*VIEWS, "standard,pairs", "standard,cosines", "idf,pairs"]
ANY_NORM = [
    [Standard(unit_norm=False), Pairs(unit_norm=False)],
    [Standard(unit_norm=False), Cosines(n=20, scale=0.1, unit_norm=False)],
]
N, D = 240, 6


def rows():
    """Rows with a column far from 0, one of equal values, one that is always 0, absent values and an empty row."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N, D)) * [1.0, 100.0, 0.01, 1.0, 0.0, 0.0] + [0.0, 5.0, 0.0, 1e6, 3.0, 0.0]
    X[generator.random((N, D)) < 0.2] = 0.0
    X[:, 4] = 3.0
    X[-5] = 0.0
    X[-3:, 4] = [2.0, 3.0, 4.0]
    X[-2:, 5] = [1.0, -1.0]
    y = generator.integers(0, 3, N)
    return X, np.where(X[:, 0] > 0.5, 0, y)


def session_of(model, dtype="float32"):
    graph = model.to_onnx(dtype)
    return runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.long("a graph of each view")
@pytest.mark.few
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "settings",
    [
        {}, {"covariance": "shared"}, {"fit_intercept": False, "multiclass": "one-vs-rest"},
        {"rule": "logistic", "calibration": None},
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("view", [*EVERY, First(n=3), Pairs(columns=[(0, 1), (3, 3)])], ids=str)
def test_the_graph_predicts_the_same(view, settings, dtype):
    X, y = rows()
    model = OnlineClassifier(view=view, **settings).fit(X[:200], y[:200])
    X = X.astype(dtype)
    label, p = session_of(model, dtype).run(["label", "probabilities"], {"X": X})
    near = 1e-4 if dtype == "float32" else 1e-6 if view == "trees" else 1e-9
    assert np.allclose(p, model.predict_proba(X), rtol=0.0, atol=near)
    scores = np.sort(model.decision_function(X), axis=1)
    certain = scores[:, -1] - scores[:, -2] > near
    assert np.array_equal(label[certain], model.predict(X)[certain])


@pytest.mark.parametrize("view", [*EVERY, *ANY_NORM], ids=str)
def test_two_classes_and_labels(view):
    X, y = rows()
    for labels in (y > 0, np.column_stack([y == 0, y == 1])):
        model = OnlineClassifier(view=view).fit(X[:200], labels[:200])
        _, p = session_of(model, "float64").run(["label", "probabilities"], {"X": X})
        near = 1e-6 if view == "trees" else 1e-9  # sums of leaves are in single precision there
        assert np.allclose(p, model.predict_proba(X), rtol=near, atol=1e-12)


@pytest.mark.parametrize("view", ["standard", "standard,pairs"])
def test_nan_is_a_missing_value(view, tmp_path):
    generator, path = np.random.default_rng(0), tmp_path / "rows.jsonl"
    X = generator.normal(size=(N, 3)) * [1.0, 50.0, 0.1] + [5.0, 0.0, 1.0]
    X[generator.random(X.shape) < 0.2] = np.nan
    towns, y = generator.choice(["Rome", "Oslo"], size=N), generator.integers(0, 2, N)
    lines = []
    for x, town, label in zip(X, towns, y, strict=True):
        row = {name: value for name, value in zip("abc", x.tolist(), strict=True) if value == value}
        lines.append(json.dumps(row | {"town": town, "label": int(label)}) + "\n")
    path.write_text("".join(lines))
    stream = open_stream(path, vocabulary=True, normalize="none", zeros=True)
    model = OnlineClassifier(view=view).fit_stream(stream)
    columns = dict(zip("abc", X.T, strict=True)) | {f"town={town}": towns == town for town in ("Rome", "Oslo")}
    dense = np.column_stack([columns[name] for name in model.features_.names]).astype(float)
    _, p = session_of(model, "float64").run(["label", "probabilities"], {"X": dense})
    expected = np.concatenate(list(model.predict_stream(path, "predict_proba")))
    assert np.allclose(p, expected, rtol=1e-9, atol=1e-12)


def test_long_and_short_rows_keep_their_direction():
    """No square of a value overflows or becomes 0."""
    X, y = rows()
    model = OnlineClassifier(view="unit").fit(X[:200], y[:200])
    unit = np.float32([[1.0, -2.0, 3.0, 0.0, 1.0, 0.0]])
    sizes = np.float32([[1e-25], [1.0], [1e25]])
    _, p = session_of(model).run(["label", "probabilities"], {"X": sizes * unit})
    assert np.allclose(p, p[1], atol=1e-6)


@pytest.mark.parametrize("view", EVERY)
def test_coefficients_alone_are_refused(view):
    X, y = rows()
    with pytest.raises(ValueError, match=f"the view {view} changes rows .* which coefficients cannot; use to_onnx"):
        OnlineClassifier(view=view).fit(X, y).to_sklearn()


@pytest.mark.parametrize("unit_norm", [True, False])
def test_values_are_limited_as_in_training(unit_norm):
    """A value that is many standard deviations from the mean is 1,000, and 5 in rows that are not scaled."""
    X, y = rows()
    X = X[:200, :3]
    model = OnlineClassifier(view=Standard(unit_norm=unit_norm)).fit(X, y[:200])
    far = np.tile(X[:1], (7, 1))
    far[:, 0] = X[:, 0].mean() + X[:, 0].std() * np.array([-1e6, -900.0, -4.0, 4.0, 6.0, 900.0, 1e6])
    _, p = session_of(model, "float64").run(["label", "probabilities"], {"X": far})
    expected = model.predict_proba(far)
    assert np.allclose(p, expected, rtol=1e-9, atol=1e-12)
    limited = 1 if unit_norm else 2  # which of them the limit makes alike
    assert np.array_equal(expected[-1], expected[-2]) == (not unit_norm)
    assert not np.array_equal(expected[limited], expected[limited + 1])
