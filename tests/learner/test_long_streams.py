"""Rounding errors do not accumulate: 20,000 rows against a twin that refactors its matrix every thousand rows.

``benchmarks/long_streams.py`` does the same with a million rows of 200 features.
"""

import numpy as np
import pytest

from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.rules import make_rule
from tests.twins.slow_twin import RefactoredTwin, correlated_stream, distances

STREAMS = [("arow", {"r": 0.1}, 0.1, 1000.0), ("cw_stdev", {"phi": 1.0}, 0.0, 10.0)]


@pytest.mark.long("20,000 rows of 60 columns and a slow twin")
@pytest.mark.few(1)
@pytest.mark.parametrize(("rule", "parameters", "noise", "spread"), STREAMS)
@pytest.mark.parametrize("rows_per_product", [None, 32])
def test_a_long_stream_stays_definite_and_close_to_its_twin(rule, parameters, noise, spread, rows_per_product):
    d, twin = 60, RefactoredTwin(rule, 60, **parameters)
    options = {"fit_intercept": False, "rows_per_product": rows_per_product}
    learners = {
        dtype: Learner(Settings(twin.rule_with_parameters(), "full", dtype=dtype, **options), n_features=d)
        for dtype in ("float64", "float32")
    }
    for X, y in correlated_stream(20_000, d, noise, spread=spread):
        twin.learn(X, y)
        for dtype, learner in learners.items():
            learner.learn(as_matrix(X.astype(dtype)), y, calibrate=False)
    double, single = (distances(learner, twin) for learner in learners.values())
    assert double["mistakes"][0] == double["mistakes"][1] > 200
    assert double["updates"][0] == double["updates"][1] > 500
    assert single["updates"][0] == pytest.approx(single["updates"][1], rel=0.01)
    for found, covariance, worst in ((double, 1e-11, 1e-9), (single, 1e-4, 2e-2)):
        assert found["least eigenvalue"] > 0
        assert found["covariance"] < covariance
        assert found["worst direction"] < worst
        assert found["mean"] < covariance


def textbook_cw_stdev(X, y, phi):
    """Return mistakes, updates, mean and Sigma of CW-Stdev in long double (Crammer et al. 2008, eqs. 9 to 11)."""
    mean, sigma = np.zeros(X.shape[1], np.longdouble), np.eye(X.shape[1], dtype=np.longdouble)
    psi, xi, mistakes, updates = 1 + phi**2 / 2, 1 + phi**2, 0, 0
    for x, sign in zip(X.astype(np.longdouble), 2 * y - 1, strict=True):
        direction = sigma @ x
        m, v = sign * (mean @ x), x @ direction
        mistakes += m <= 0
        if m >= phi * np.sqrt(v):
            continue
        updates += 1
        alpha = (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi)
        root = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
        mean += sign * alpha * direction
        sigma -= alpha * phi / (root + v * alpha * phi) * np.outer(direction, direction)
    return mistakes, updates, mean, sigma


@pytest.mark.parametrize("rows_per_product", [None, 32])
def test_contradicting_labels_break_cw_stdev_in_long_double_too(rows_per_product):
    """Sigma vanishes and mistakes are five times the flipped labels, in double as in long double."""
    X, y = next(correlated_stream(600, 20, noise=0.05, spread=10.0))
    learner = Learner(
        Settings(make_rule("cw_stdev", phi=1.0), "full", fit_intercept=False, rows_per_product=rows_per_product),
        n_features=20,
    )
    learner.learn(as_matrix(X), y, calibrate=False)
    mistakes, updates, mean, sigma = textbook_cw_stdev(X, y, np.longdouble(1.0))
    assert (learner.mistakes, learner.updates) == (mistakes, updates)
    assert mistakes > 3 * 0.05 * 600
    assert sigma.diagonal().max() < 1e-5
    np.testing.assert_allclose(learner.mean()[0], mean.astype(float), atol=1e-5 * np.abs(mean).max())
    np.testing.assert_allclose(learner.covariance_matrix()[0], sigma.astype(float), atol=float(1e-5 * sigma.max()))
