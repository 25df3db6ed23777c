"""OnlineRegressor compared with batch solutions, and its predictive distributions."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import t as student
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.metrics import mean_pinball_loss

from confidently import REGRESSION_RULES, OnlineRegressor, Quantile
from confidently import Ridge as RidgeRule
from confidently.data import DataWarning, open_stream
from confidently.rules import make_rule


def tall(n=400, d=12, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d)) * generator.uniform(0.2, 4.0, d) + generator.normal(size=d) * 3.0
    return X, X @ generator.normal(size=d) + generator.normal(size=n) - 50.0


def relative(a, b):
    return np.abs(np.asarray(a) - b).max() / np.abs(b).max()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [1, 12, 130])
@pytest.mark.parametrize("sparse", [False, True])
def test_ridge_with_a_full_covariance_is_batch_ridge(sparse, d, fit_intercept):
    X, y = tall(d=d)
    if sparse:
        X = csr_matrix(np.where(np.abs(X) > 2.0, X, 0.0))
    for r, prior in ((1.0, 1.0), (0.3, 20.0)):
        batch = Ridge(alpha=r / prior, fit_intercept=fit_intercept)
        if sparse:
            batch.fit(X.toarray(), y)
        else:
            batch.fit(X, y)
        model = OnlineRegressor(
            RidgeRule(r=r), "full", prior_variance=prior, fit_intercept=fit_intercept, rows_per_product=None
        )
        for first in (0, 1, 5, 200):  # in four parts
            last = {0: 1, 1: 5, 5: 200, 200: X.shape[0]}[first]
            model.partial_fit(X[first:last], y[first:last])
        assert relative(model.coef_, batch.coef_) < 1e-9
        assert model.intercept_ == pytest.approx(batch.intercept_, rel=1e-9, abs=1e-12)
        rows = X.toarray() if sparse else X
        assert relative(model.predict(X), batch.predict(rows)) < 1e-9


def test_weights_are_repetitions():
    X, y = tall(n=60)
    weights = np.random.default_rng(1).integers(0, 4, size=60)
    model = OnlineRegressor().fit(X, y, sample_weight=weights)
    batch = Ridge().fit(X, y, sample_weight=weights)
    assert relative(model.coef_, batch.coef_) < 1e-10
    assert model.intercept_ == pytest.approx(batch.intercept_)
    repeated = OnlineRegressor().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert relative(model.coef_, repeated.coef_) < 1e-10


@pytest.mark.parametrize("prior", [1.0, 1e6])
def test_columns_of_very_different_units_lose_no_digits(prior):
    generator = np.random.default_rng(3)
    units = np.array([1e-6, 1.0, 1e6, 1e3, 1e-2])
    X = (generator.normal(size=(3000, 5)) + 4.0) * units
    y = X @ (np.array([1.0, -2.0, 0.5, 3.0, 1.0]) / units) + generator.normal(size=3000)
    model = OnlineRegressor(prior_variance=prior).fit(X, y)
    centered = X - X.mean(axis=0)
    precision = centered.T @ centered + np.eye(5) / prior
    exact = np.linalg.solve(precision / np.outer(units, units), (centered.T @ (y - y.mean())) / units) / units
    np.testing.assert_allclose(model.coef_, exact, rtol=1e-9)


@pytest.mark.parametrize("prior", [1.0, 1e6])
def test_predictions_in_training_lose_none_either(prior):
    generator = np.random.default_rng(3)
    units = np.array([1e-6, 1.0, 1e6, 1e3, 1e-2])
    X = (generator.normal(size=(200, 5)) + 4.0) * units
    y = X @ (np.array([1.0, -2.0, 0.5, 3.0, 1.0]) / units) + generator.normal(size=200)
    errors = []
    for t in range(1, 200):
        center, middle = X[:t].mean(axis=0), y[:t].mean()
        penalty = np.diag(1.0 / units) / np.sqrt(prior)
        rows = np.vstack([(X[:t] - center) / units, penalty])
        weights = np.linalg.lstsq(rows, np.append(y[:t] - middle, np.zeros(5)), rcond=None)[0]
        errors.append(y[t] - middle - (X[t] - center) / units @ weights)
    model = OnlineRegressor(prior_variance=prior).fit(X, y)
    assert model.rmse_ == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-2)


def test_unknown_noise_is_the_normal_inverse_gamma_posterior():
    X, y = tall(n=50, d=3)
    model = OnlineRegressor(RidgeRule(r=None), "full", prior_variance=2.0, fit_intercept=False, calibration=None)
    model.fit(X, y)
    precision = X.T @ X + np.eye(3) / 2.0
    mean = np.linalg.solve(precision, X.T @ y)
    a, b = 25.0, 0.5 * (y @ y - mean @ precision @ mean)
    assert relative(model.coef_, mean) < 1e-12
    np.testing.assert_allclose(model.variance_, np.linalg.inv(precision).diagonal(), rtol=1e-10)
    assert model.noise_variance_ == pytest.approx(b / a, rel=1e-10)
    x = np.array([[0.3, -2.0, 5.0]])
    scale = np.sqrt(b / a * (1.0 + x[0] @ np.linalg.solve(precision, x[0])))
    limits = student(df=2 * a, loc=x[0] @ mean, scale=scale).ppf([0.025, 0.975])
    np.testing.assert_allclose(model.predict_interval(x, 0.95)[0], limits, rtol=1e-9)


def test_the_standard_deviation_of_unknown_noise_is_that_of_the_student_t_distribution():
    X, y = tall(n=40, d=3)
    for n in (1, 2, 3, 5, 40):
        model = OnlineRegressor(RidgeRule(r=None), fit_intercept=False, calibration=None).fit(X[:n], y[:n])
        _, std = model.predict(X[:4], return_std=True)
        # The half-width of an interval is a quantile times the scale of the distribution.
        low, high = model.predict_interval(X[:4], 0.5).T
        scale = 0.5 * (high - low) / student(df=n).ppf(0.75)
        np.testing.assert_allclose(std, student(df=n, scale=scale).std() if n > 2 else np.full(4, np.inf), rtol=1e-9)


def test_known_noise_gives_normal_intervals():
    X, y = tall(n=50, d=3)
    model = OnlineRegressor(RidgeRule(r=4.0), "full", prior_variance=2.0, fit_intercept=False, calibration=None)
    mean, std = model.fit(X, y).predict(X[:4], return_std=True)
    sigma = np.linalg.inv(X.T @ X / 4.0 + np.eye(3) / 2.0)
    spread = 4.0 + np.einsum("ij,jk,ik->i", X[:4], sigma, X[:4])
    np.testing.assert_allclose(std**2, np.mean(y**2) * spread, rtol=1e-10)  # r is in units of the targets
    limits = model.predict_interval(X[:4], 0.6826894921370859)
    np.testing.assert_allclose(limits, np.stack([mean - std, mean + std], axis=1), rtol=1e-9)


@pytest.mark.parametrize("calibration", ["progressive", None])
@pytest.mark.parametrize("rule", [rule for rule in REGRESSION_RULES if rule != "poisson"])
def test_a_change_of_the_unit_of_the_targets_changes_nothing(rule, calibration):
    X, y = tall(n=300, d=4)
    one = OnlineRegressor(rule, calibration=calibration).fit(X, y)
    for unit in (1e-3, 1e5):
        other = OnlineRegressor(rule, calibration=calibration).fit(X, unit * y)
        for found, expected in zip(other.predict(X, return_std=True), one.predict(X, return_std=True), strict=True):
            np.testing.assert_allclose(found, unit * expected, rtol=1e-6)
        np.testing.assert_allclose(other.predict_interval(X), unit * one.predict_interval(X), rtol=1e-6)
        np.testing.assert_allclose(other.margin_distribution(X)[1], one.margin_distribution(X)[1], rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("rule", ["ridge", "arow_eps"])
def test_intervals_of_the_model_cover_if_the_model_is_right(rule, unit):
    generator = np.random.default_rng(4)
    X = generator.normal(size=(4000, 6))
    y = unit * (X @ generator.normal(size=6) + 2.0 * generator.normal(size=4000) + 7.0)
    share = 4.0 / np.var(y[:2000] / unit)  # of the noise in the variance of the targets
    model = OnlineRegressor(rule, prior_variance=100.0, calibration=None).set_params(rule=make_rule(rule, r=share))
    model.fit(X[:2000], y[:2000])
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[2000:], coverage).T
        assert np.mean((low <= y[2000:]) & (y[2000:] <= high)) == pytest.approx(coverage, abs=0.03)


@pytest.mark.parametrize("noise", ["normal", "skewed", "heavy"])
@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_intervals_cover_what_they_promise(noise, covariance):
    generator = np.random.default_rng(5)
    X = generator.normal(size=(6000, 8))
    draw = {
        "normal": lambda n: generator.normal(size=n),
        "skewed": lambda n: generator.exponential(size=n),
        "heavy": lambda n: generator.standard_t(2.5, size=n),
    }[noise]
    y = X @ generator.normal(size=8) + 3.0 * draw(6000) + 10.0
    model = OnlineRegressor(covariance=covariance).fit(X[:3000], y[:3000])
    for coverage in (0.5, 0.8, 0.9, 0.98):
        low, high = model.predict_interval(X[3000:], coverage).T
        inside = np.mean((low <= y[3000:]) & (y[3000:] <= high))
        assert inside == pytest.approx(coverage, abs=0.03)
    if noise == "skewed":  # the limits are not symmetric about the mean, which normal ones would be
        below, above = model.predict(X[3000:]) - low, high - model.predict(X[3000:])
        assert (above > 1.5 * below).all()


def test_a_kernel_is_kernel_ridge():
    X, y = make_friedman1(150, random_state=0)
    model = OnlineRegressor(
        covariance="kernel", kernel="rbf", kernel_params={"gamma": 0.5}, prior_variance=10.0, fit_intercept=False
    ).fit(X, y)
    batch = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(X, y)
    assert relative(model.predict(X[:40] + 0.01), batch.predict(X[:40] + 0.01)) < 1e-9


def test_a_budget_keeps_a_kernel_small():
    X, y = make_friedman1(900, random_state=0, noise=0.5)
    options = {"covariance": "kernel", "kernel_params": {"gamma": 0.3}, "prior_variance": 100.0}
    whole = OnlineRegressor(**options).fit(X, y)
    with pytest.warns(UserWarning, match="the kernel's budget of 200 support rows is full"):
        small = OnlineRegressor(**options, budget=200).fit(X, y)
    Z, t = make_friedman1(500, random_state=1)
    assert len(small.learner_.dual()[0][0]) <= 200 < len(whole.learner_.dual()[0][0])
    assert small.score(Z, t) > 0.8 * whole.score(Z, t)


@pytest.mark.long("thousands of rows by linear programming")
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_quantiles_are_near_those_of_linear_programming(tau):
    generator = np.random.default_rng(6)
    X = generator.normal(size=(4000, 3))
    y = X @ [1.0, -2.0, 0.5] + np.exp(0.4 * X[:, 0]) * generator.exponential(size=4000)
    model = OnlineRegressor(Quantile(tau=tau), "full").fit(X[:3000], y[:3000])
    batch = QuantileRegressor(quantile=tau, alpha=0.0).fit(X[:3000], y[:3000])
    losses = [mean_pinball_loss(y[3000:], one.predict(X[3000:]), alpha=tau) for one in (model, batch)]
    assert losses[0] < 1.03 * losses[1]
    assert np.mean(y[3000:] < model.predict(X[3000:])) == pytest.approx(tau, abs=0.06)


@pytest.mark.parametrize("rule", [Quantile(tau=0.5), "arow_eps"])
def test_the_intercept_follows_targets_that_drift_as_a_constant_column_does(rule):
    generator = np.random.default_rng(8)
    X = generator.normal(size=(3000, 3))
    rows = np.column_stack([X, np.ones(3000)])
    y = X @ [1.0, -2.0, 0.5] + np.linspace(0.0, 3.0, 3000) + generator.normal(size=3000)
    own = OnlineRegressor(rule, "full", prior_variance=10.0)
    column = OnlineRegressor(rule, "full", prior_variance=10.0, fit_intercept=False)
    for first in range(0, 3000, 500):
        part = slice(first, first + 500)
        own.partial_fit(X[part], y[part])
        column.partial_fit(rows[part], y[part])
        if first:
            assert np.abs(own.predict(X) - column.predict(rows)).mean() < 0.07


def test_counts_are_learned_by_their_logarithm():
    generator = np.random.default_rng(7)
    X = generator.normal(size=(4000, 4))
    rate = np.exp(X @ [0.4, -0.3, 0.0, 0.1] + 0.7)
    y = generator.poisson(rate)
    model = OnlineRegressor("poisson", "full").fit(X[:3000], y[:3000])
    assert np.corrcoef(model.predict(X[3000:]), rate[3000:])[0, 1] > 0.995
    np.testing.assert_allclose(model.coef_, [0.4, -0.3, 0.0, 0.1], atol=0.04)
    assert model.intercept_ == pytest.approx(0.7, abs=0.05)
    low, high = model.predict_interval(X[3000:], 0.9).T
    assert (low >= 0.0).all()
    assert (low == np.rint(low)).all() and (high == np.rint(high)).all()
    # limits are rounded outward, so that these are between those before
    assert np.mean(((low < y[3000:]) | (low == 0.0)) & (y[3000:] < high)) == pytest.approx(0.9, abs=0.05)
    with pytest.raises(ValueError, match="the rule poisson needs targets >= 0, got -1"):
        OnlineRegressor("poisson").fit(X[:2], [-1.0, 2.0])


def test_the_default_covariance_depends_on_the_number_of_columns():
    X = csr_matrix(np.eye(3, 1000))
    assert OnlineRegressor().fit(X, [1.0, 2.0, 3.0]).learner_.settings.covariance == "full"
    X = csr_matrix(np.eye(3, 1001))
    model = OnlineRegressor().fit(X, [1.0, 2.0, 3.0])
    assert model.learner_.settings.covariance == "diag"
    model.partial_fit(X, [1.0, 2.0, 3.0])


@pytest.mark.long("a thousand columns")
@pytest.mark.few(1)
@pytest.mark.parametrize("chunk_bytes", [300, 1 << 20])
@pytest.mark.parametrize("columns, covariance", [(1000, "full"), (1001, "diag")])
def test_the_first_rows_choose_the_covariance(tmp_path, columns, covariance, chunk_bytes):
    first = [f"0.5 {columns}:1\n", *(f"{k % 7} {k % 900 + 1}:1\n" for k in range(999))]
    (tmp_path / "rows.svm").write_text("".join([*first, "0.5 5000:1\n"]))
    with open_stream(tmp_path / "rows.svm", targets=True, chunk_bytes=chunk_bytes) as stream:
        model = OnlineRegressor().fit_stream(stream)
    assert model.learner_.settings.covariance == covariance
    assert model.n_features_in_ == 5000


def test_progressive_errors_are_those_of_the_predictions_before():
    X, y = load_diabetes(return_X_y=True)
    model, errors = OnlineRegressor(prior_variance=100.0), []
    for k in range(len(y)):
        if k:
            errors.append(y[k] - model.predict(X[k : k + 1])[0])
        model.partial_fit(X[k : k + 1], y[k : k + 1])
    assert model.rmse_ == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert model.mae_ == pytest.approx(np.mean(np.abs(errors)))


def test_views_come_before_the_centering():
    X, y = tall()
    model = OnlineRegressor(view="unit").fit(X, y)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    batch = Ridge().fit(rows, y)
    assert relative(model.coef_, batch.coef_) < 1e-9
    assert [view.name for view in model.learner_.view.views] == ["unit", "center"]
    pairs = OnlineRegressor(view="pairs").fit(X, y)  # makes columns of its own
    assert pairs.learner_.settings.task.name == "offset-regression"


def test_equal_targets_and_single_rows_have_predictions():
    X, _ = tall(n=20)
    for covariance in ("full", "diag", "kernel"):
        model = OnlineRegressor(covariance=covariance).fit(X, np.full(20, 7.0))
        np.testing.assert_allclose(model.predict(X), 7.0)
        assert np.isfinite(model.predict_interval(X)).all()
        one = OnlineRegressor(covariance=covariance).partial_fit(X[:1], [3.0])
        assert one.predict(X[:1])[0] == pytest.approx(3.0)
        with pytest.warns(
            DataWarning, match="coverage 0.9 needs 9 errors of predictions, and those learned count as 0"
        ):
            assert (one.predict_interval(X) == [-np.inf, np.inf]).all()
