"""MIRA: every step against a general optimiser, the learner against a plain loop."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from confidently import MIRA, _core


def objective(tau, scores, truth, norm2, gamma):
    other = np.arange(len(scores)) != truth
    return norm2 * (tau**2).sum() / 2 + (tau * (scores + gamma * other)).sum()


def optimum(scores, truth, norm2, gamma, C):
    """The same problem, by SLSQP."""
    caps = np.where(np.arange(len(scores)) == truth, C, 0.0)
    found = minimize(
        objective, np.zeros(len(scores)), args=(scores, truth, norm2, gamma), method="SLSQP",
        bounds=[(None, None if math.isinf(cap) else cap) for cap in caps],
        constraints={"type": "eq", "fun": lambda tau: tau.sum(), "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize("C", [0.05, 1.0, math.inf])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("n", [2, 3, 7])
def test_step_is_the_optimum(n, gamma, C):
    rng = np.random.default_rng(n)
    for _ in range(10):
        scores, truth, norm2 = rng.standard_normal(n), int(rng.integers(n)), float(rng.uniform(0.2, 4))
        tau = np.array(_core.mira_step(scores, truth, norm2, gamma, C))
        expected = optimum(scores, truth, norm2, gamma, C)
        assert abs(tau.sum()) < 1e-12
        assert tau[truth] <= C
        assert (np.delete(tau, truth) <= 0).all()
        np.testing.assert_allclose(tau, expected, atol=2e-6)
        case = (scores, truth, norm2, gamma)
        assert objective(tau, *case) <= objective(expected, *case) + 1e-9


def test_step_without_cap_reaches_the_margin():
    scores = np.array([0.2, 0.9, -3.0, 0.7])
    after = scores + 2.0 * np.array(_core.mira_step(scores, 0, 2.0, 0.5, math.inf))
    assert after[0] - after[1] == pytest.approx(0.5)
    assert after[0] - after[3] == pytest.approx(0.5)
    assert after[2] == scores[2]


def test_learner_is_the_plain_loop():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)), rng.integers(4, size=200)
    W, mistakes, updates = np.zeros((4, 6)), 0, 0
    for x, label in zip(np.column_stack([X, np.ones(200)]), y, strict=True):
        scores = W @ x
        mistakes += scores[label] <= np.delete(scores, label).max()
        tau = np.array(_core.mira_step(scores, label, x @ x, 0.3, 0.2))
        updates += bool(tau.any())
        W += np.outer(tau, x)
    for rows in (X, csr_matrix(X)):
        model = MIRA(gamma=0.3, C=0.2).fit(rows, y)
        assert (model.mistakes_, model.updates_, model.n_seen_) == (mistakes, updates, 200)
        np.testing.assert_allclose(model.coef_, W[:, :5], atol=1e-12)
        np.testing.assert_allclose(model.intercept_, W[:, 5], atol=1e-12)
    parts = MIRA(gamma=0.3, C=0.2)
    for first in range(0, 200, 70):
        parts.partial_fit(X[first : first + 70], y[first : first + 70], classes=range(4))
    np.testing.assert_array_equal(parts.coef_, model.coef_)
    assert (parts.mistakes_, parts.updates_, parts.n_seen_) == (mistakes, updates, 200)


def test_a_class_may_come_late():
    X, y = np.eye(3), np.array([0, 1, 2])
    model = MIRA().partial_fit(X[:2], y[:2], classes=[0, 1])
    assert model.decision_function(X).shape == (3,)
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert (model.predict(X) == y).all()


@pytest.mark.parametrize(
    ("parameters", "message"), [({"gamma": 0.0}, "gamma"), ({"C": -1.0}, "C must"), ({"passes": 0}, "passes")]
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        MIRA(**parameters).fit(np.eye(2), [0, 1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("names", [np.array([3, 7]), np.array(["a", "b", "c"])], ids=["two", "three"])
def test_an_onnx_graph_predicts_alike(names, dtype):
    onnxruntime = pytest.importorskip("onnxruntime")
    X = np.random.default_rng(0).normal(size=(90, 4))
    model = MIRA().fit(X, names[np.digitize(X[:, 0], [-0.4, 0.4]) % len(names)])
    session = onnxruntime.InferenceSession(model.to_onnx(dtype).SerializeToString())
    label, scores = session.run(None, {"X": X.astype(dtype)})
    assert (label == model.predict(X)).all()
    assert scores.squeeze() == pytest.approx(model.decision_function(X), abs=1e-5 if dtype == "float32" else 1e-12)


def test_rows_that_take_the_weights_out_of_range_are_one_error_and_undone():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 3
    model = MIRA(gamma=1.0, C=np.inf).fit(X, y)
    before = model.coef_.copy(), model.n_seen_
    model.set_params(gamma=1e300)
    for train in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="out of the range of float64"):
            train(X * 1e-100, y)
        assert np.array_equal(model.coef_, before[0])
        assert model.n_seen_ == before[1]
