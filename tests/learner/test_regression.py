"""The compiled regression against a plain twin: predictions, weights, statistics of targets."""

import numpy as np
import pytest

from confidently import OnlineRegressor, make_rule, step
from confidently.data.memory.matrix import as_matrix
from confidently.tasks.targets import Targets, error_limits, shortage
from tests.twins.intervals import Intervals, limits
from tests.twins.regression import Twin

RULES = [
    make_rule("ridge", r=0.7), make_rule("arow_eps", r=0.5, epsilon=0.3), make_rule("pa_reg", epsilon=0.2),
    make_rule("pa1_reg", C=0.3), make_rule("pa2_reg", C=0.4), make_rule("poisson"),
    make_rule("quantile", tau=0.7, c=2.0),
]  # fmt: skip
N, D = 150, 4  # of a weight above 128, where the offset stops


def data(counts=False, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(N, D)) * (generator.random((N, D)) < 0.7) + [3.0, 0.0, 0.0, -1.0]
    mean = X @ [0.5, -1.0, 0.3, 0.0] * (0.3 if counts else 1.0)
    y = generator.poisson(np.exp(mean)).astype(float) if counts else 20.0 + mean + generator.normal(size=N)
    return X, y, generator.choice([0.5, 1.0, 2.0], size=N)


def twin_of(rule, covariance, fit_intercept, prior):
    centered = fit_intercept and rule.name == "ridge" and covariance != "diag"
    return Twin(
        step=lambda s, v, y, w: (step(rule, s, v, target=y, weight=w) or (0.0, 0.0))[:2],
        noise=rule.noise_variance(), prior=prior, diagonal=covariance == "diag", intercept=fit_intercept,
        centered=centered, counts=rule.counts, fixed=not rule.learns_precision,
    )  # fmt: skip


@pytest.mark.long("a slow twin, row by row")
@pytest.mark.few(1)
@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_training_is_that_of_the_twin(rule, covariance, fit_intercept):
    X, y, weights = data(rule.counts)
    model = OnlineRegressor(rule, covariance, prior_variance=0.5, fit_intercept=fit_intercept)
    twin, conformal, seen = twin_of(rule, covariance, fit_intercept, 0.5), Intervals(), []
    for k in range(N):
        predicted = twin.predict(X[k])[0] if k else 0.0
        if k:
            mean, spread = zip(*(twin.predict(x) for x in X[k : k + 3]), strict=True)
            found = model.learner_.number_distribution(model._matrix(X[k : k + 3]))
            np.testing.assert_allclose(found.centers[:, 0], mean, rtol=1e-9, atol=1e-9)
            least = 0.0 if min(twin.targets) >= 0 else -np.inf
            np.testing.assert_array_equal(found.mean, np.maximum(found.centers, least))
            np.testing.assert_allclose(found.spread[:, 0], spread, rtol=1e-8, atol=1e-12)
        model.partial_fit(X[k : k + 1], y[k : k + 1], sample_weight=weights[k : k + 1])
        seen.append((predicted, twin.features(X[k])[: X.shape[1]]))
        twin.learn(X[k], y[k], weights[k])
    d = X.shape[1]
    np.testing.assert_allclose(model.coef_, twin.mean[:d], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.variance_, np.diag(twin.sigma)[:d], rtol=1e-8)
    targets = Targets.of(model.learner_.state["calibration"])
    assert targets.weight[0] == pytest.approx(weights.sum())
    assert targets.predicted[0] == len(twin.errors) and model.n_seen_ == N
    assert targets.noise_factor()[0] == pytest.approx(twin.noise_factor, rel=1e-8)
    errors = np.array([error for error, _ in twin.errors])
    assert model.rmse_ == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-9)
    assert model.mae_ == pytest.approx(np.mean(np.abs(errors)), rel=1e-9)
    standardized = twin.standardized()
    for (prediction, row), error in zip(seen[-len(standardized) :], standardized, strict=True):
        conformal.learn(prediction, row, error)
    counted = conformal.weights()
    np.testing.assert_allclose(targets.bins[0], counted, rtol=1e-6, atol=1e-9)
    found, predictions = model.learner_.conformal, np.linspace(-3.0, 3.0, 7)
    rows = np.array([row for _, row in seen[-7:]])
    expected = [np.exp(conformal.noise.log_size(one, row)) for one, row in zip(predictions, rows, strict=True)]
    np.testing.assert_allclose(found.sizes(predictions[:, None], as_matrix(rows))[:, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(found.error_limits(targets, 0.8), [limits(counted, 0.8)], atol=1.0)
    tails = [0.1 + level.said()[1] for level in (conformal.low, conformal.high)]
    np.testing.assert_allclose(found.tails(0.8)[0], tails, rtol=1e-6)


@pytest.mark.parametrize("covariance", ["diag", "full", "kernel"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_cut_of_the_rows_does_not_matter(rule, covariance):
    X, y, weights = data(rule.counts, seed=1)
    whole = OnlineRegressor(rule, covariance).fit(X, y, weights)
    parts = OnlineRegressor(rule, covariance)
    for first, last in ((0, 1), (1, 2), (2, 31), (31, N)):
        parts.partial_fit(X[first:last], y[first:last], weights[first:last])
    parts.learner_.settle()  # as after fit
    for name, array in whole.learner_.state.items():
        if not name.startswith("support"):
            np.testing.assert_allclose(parts.learner_.state[name], array, rtol=1e-6, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(parts.predict_interval(X), whole.predict_interval(X), rtol=1e-7)


@pytest.mark.parametrize("covariance", ["diag", "shared"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_several_numbers_are_several_regressions(rule, covariance):
    X, y, weights = data(rule.counts, seed=2)
    Y = np.stack([y, np.roll(y, 7), 2.0 * y], axis=1)
    together = OnlineRegressor(rule, covariance).fit(X, Y, weights)
    assert together.predict(X).shape == (N, 3) and together.predict_interval(X).shape == (N, 3, 2)
    if covariance == "shared" and rule.name != "ridge" and rule.learns_precision:
        return  # which averages the precision of the three
    for k in range(3):
        alone = OnlineRegressor(rule, "full" if covariance == "shared" else "diag").fit(X, Y[:, k], weights)
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), rtol=1e-9)
        np.testing.assert_allclose(together.coef_[k], alone.coef_, rtol=1e-8, atol=1e-11)
        assert together.intercept_[k] == pytest.approx(alone.intercept_, rel=1e-9)
        np.testing.assert_allclose(together.predict_interval(X)[:, k], alone.predict_interval(X), rtol=1e-8)
        assert together.rmse_[k] == pytest.approx(alone.rmse_)


def test_dense_and_sparse_rows_and_orders_are_alike():
    from scipy.sparse import csr_matrix

    X, y, _ = data(seed=3)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    for covariance in ("diag", "full", "kernel"):
        dense, sparse = (OnlineRegressor(covariance=covariance).fit(rows, y) for rows in (X, csr_matrix(X)))
        np.testing.assert_allclose(dense.predict(X), sparse.predict(csr_matrix(X)), rtol=1e-9)
        shuffled = OnlineRegressor(covariance=covariance, shuffle=True, random_state=5).fit(X, y)
        order = np.random.RandomState(5).permutation(N)
        np.testing.assert_allclose(
            shuffled.predict(X), OnlineRegressor(covariance=covariance).fit(X[order], y[order]).predict(X), rtol=1e-8
        )


@pytest.mark.parametrize("n", [5, 8, 9, 12, 18, 19, 25, 60, 500])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.999])
def test_limits_of_errors_are_those_of_the_twin(n, coverage):
    """Conformal quantiles of n errors, some of them equal, and the one to come."""
    generator = np.random.default_rng(n)
    errors = np.append(generator.standard_t(3, n - n // 3), generator.choice([-0.5, 0.25, 1.0], n // 3))
    counted = np.bincount(np.floor(np.arcsinh(errors) * 40.0).astype(int) + 256, minlength=512).astype(float)
    tails, known = np.full((1, 2), 0.5 * (1.0 - coverage)), np.array([float(n)])
    found, expected = error_limits(counted[None], known, coverage, tails)[0], limits(counted, coverage)
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    few = n < round(1.0 / (1.0 - coverage), 9) - 1
    assert np.isinf(found).all() == few == (shortage(known, coverage) is not None)
    if np.isfinite(expected).all():  # the search has steps of 1/64 bin
        np.testing.assert_allclose(np.arcsinh(found), np.arcsinh(expected), atol=2 / 64 / 40)
