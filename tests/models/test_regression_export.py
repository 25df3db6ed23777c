"""Frozen regressions and ONNX graphs predict what the regressor does."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge as BatchRidge

from confidently import OnlineRegressor, Quantile, Ridge

X, Y = load_diabetes(return_X_y=True)
X = X / 0.05 + 10.0
COUNTS = np.floor(Y / 25.0)
BOTH = np.column_stack([COUNTS, 3.0 - X[:, 0] + 0.1 * COUNTS])

CASES = {
    "auto": ({}, 1), "auto of two": ({}, 2), "diag": ({"covariance": "diag"}, 1),
    "diag of two": ({"covariance": "diag"}, 2), "no intercept": ({"fit_intercept": False}, 1),
    "not calibrated": ({"calibration": None, "covariance": "full"}, 1),
    "unknown noise": ({"rule": Ridge(r=None), "calibration": None}, 1),
    "quantile": ({"rule": Quantile(tau=0.9), "covariance": "full"}, 1), "passive-aggressive": ({"rule": "pa1_reg"}, 1),
    "averaged": ({"rule": "pa1_reg", "average": True}, 2), "counts": ({"rule": "poisson", "prior_variance": 1e-3}, 1),
    "counts of two": ({"rule": "poisson", "covariance": "diag", "prior_variance": 1e-3}, 2),
    "float32": ({"dtype": "float32"}, 1),
}  # fmt: skip
VIEWS = {
    "standard": ({"view": "standard"}, 1),
    "pairs": ({"view": ["standard", "pairs"], "covariance": "full"}, 1),
    "cosines": ({"view": ["standard", "cosines"]}, 2),
}


def fitted(name):
    parameters, n = {**CASES, **VIEWS}[name]
    y = COUNTS if n == 1 else np.abs(BOTH)
    return OnlineRegressor(**parameters).fit(X[:300], y[:300])


@pytest.mark.parametrize("name", CASES)
def test_frozen_regressors_predict_the_same(name):
    regressor = fitted(name)
    frozen = pickle.loads(pickle.dumps(regressor.to_sklearn()))
    tolerance = 1e-5 if name == "float32" else 1e-9
    rows = X[300:]
    for one in (rows, csr_matrix(rows)):
        for found, expected in zip(frozen.predict(one, True), regressor.predict(rows, return_std=True), strict=True):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=tolerance)
        np.testing.assert_allclose(frozen.predict_interval(one), regressor.predict_interval(rows), rtol=tolerance)
    np.testing.assert_allclose(frozen.coef_, regressor.coef_, rtol=tolerance)
    np.testing.assert_allclose(frozen.intercept_, regressor.intercept_, rtol=tolerance)
    assert clone(frozen).fit(rows).score(rows, frozen.predict(rows)) == 1.0


def test_a_frozen_ridge_has_the_coefficients_of_scikit_learns():
    frozen, batch = OnlineRegressor().fit(X, BOTH).to_sklearn(), BatchRidge(alpha=1.0).fit(X, BOTH)
    np.testing.assert_allclose(frozen.coef_, batch.coef_, rtol=1e-8)
    np.testing.assert_allclose(frozen.intercept_, batch.intercept_, rtol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*CASES, *VIEWS])
def test_graphs_predict_the_same(name, dtype):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    regressor, rows = fitted(name), X[300:].astype(dtype)
    session = runtime.InferenceSession(regressor.to_onnx(dtype).SerializeToString())
    assert [output.name for output in session.get_outputs()] == ["variable", "std"]
    single = dtype == "float32" or name == "float32"
    tolerance = {"rtol": 2e-3, "atol": 1e-3} if single else {"rtol": 1e-8, "atol": 0.0}
    for found, expected in zip(session.run(None, {"X": rows}), regressor.predict(rows, return_std=True), strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected.reshape(len(rows), -1), **tolerance)


def test_what_cannot_be_exported():
    with pytest.raises(ValueError, match="the view standard,center changes rows"):
        fitted("standard").to_sklearn()
    kernel = OnlineRegressor(covariance="kernel").fit(X[:50], Y[:50])
    for export in (kernel.to_sklearn, kernel.to_onnx):
        with pytest.raises(ValueError, match="kernel"):
            export()
    with pytest.raises(ValueError, match="dtype"):
        fitted("diag").to_onnx("float16")
