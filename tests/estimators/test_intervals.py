"""What intervals of numbers promise: few rows, nested levels, the noise of a row, bounds of targets, alarms."""

import warnings

import numpy as np
import pytest

from confidently import AutoRegressor, OnlineRegressor, load
from confidently.data import DataWarning

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)


def inside(limits, y):
    return (limits[..., 0] <= y) & (y <= limits[..., 1])


def linear(n, seed=0, d=3, noise=1.0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    return X, 5.0 + X @ np.arange(1.0, d + 1.0) + noise * generator.normal(size=n)


# --- few rows --------------------------------------------------------------------------------------------------------


@pytest.mark.long("840 trainings")
@pytest.mark.parametrize("n", [2, 9, 13, 16, 22, 30, 60])
@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_intervals_of_few_rows_cover_or_are_infinite_with_one_warning(n, coverage):
    found = []
    for seed in range(60):
        X, y = linear(n + 100, seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            limits = OnlineRegressor().fit(X[:n], y[:n]).predict_interval(X[n:], coverage)
        infinite = np.isinf(limits).any(axis=1)
        assert infinite.all() or not infinite.any()
        assert len(caught) == infinite.all() and all(issubclass(one.category, DataWarning) for one in caught)
        found.append(inside(limits, y[n:]).mean())
    assert np.mean(found) > coverage - 0.02
    # the first three rows have no standardized error, and old errors count a little less
    assert infinite.all() == (0.999 * (n - 3) < 1.0 / (1.0 - coverage) - 1.0)


def test_intervals_of_few_rows_of_a_stack_cover_or_are_infinite():
    for n, finite in ((3, False), (20, False), (30, True)):
        found = []
        for seed in range(5):
            X, y = linear(n + 100, seed)
            model = AutoRegressor().fit(X[:n], y[:n])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                limits = model.predict_interval(X[n:], 0.9)
            assert np.isfinite(limits).all() == finite == (not caught)
            found.append(inside(limits, y[n:]).mean())
        assert np.mean(found) > 0.87


@pytest.mark.parametrize("n", [4, 15, 25, 300])
@pytest.mark.parametrize("kind", ["normal", "counts", "skewed"])
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_limits_are_nested_and_enclose_the_prediction(n, kind):
    generator = np.random.default_rng(n)
    X, y = linear(n, n)
    if kind == "counts":
        y = generator.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    elif kind == "skewed":
        y = generator.exponential(size=n) ** 3
    for model in (OnlineRegressor(), OnlineRegressor(covariance="diag"), OnlineRegressor("pa_reg")):
        model.partial_fit(X, y)
        rows = 3.0 * generator.normal(size=(50, X.shape[1]))
        low, high = np.moveaxis([model.predict_interval(rows, level) for level in LEVELS], 2, 0)
        mean = model.predict(rows)
        assert (low <= mean).all() and (mean <= high).all()
        assert (low[1:] <= low[:-1]).all() and (high[1:] >= high[:-1]).all()


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
@pytest.mark.parametrize("kind", [OnlineRegressor, AutoRegressor])
def test_bad_rows_have_intervals(kind):
    X, y = linear(40)
    limits = kind().fit(X, np.full(40, 7.0)).predict_interval(X)
    np.testing.assert_allclose(limits, 7.0)
    for rows, targets in ((np.ones((40, 3)), y), (X[:2], y[:2]), (np.hstack([X, np.ones((40, 1))]), y)):
        low, high = kind().fit(rows, targets).predict_interval(rows, 0.8).T
        assert (low <= high).all()
    weight = np.repeat([1.0, 0.0], 20)
    two = kind(shuffle=False).fit(X, y, sample_weight=weight), kind(shuffle=False).fit(X[:20], y[:20])
    np.testing.assert_allclose(*(model.predict_interval(X, 0.5) for model in two), rtol=1e-6)


# --- the noise of a row ----------------------------------------------------------------------------------------------


def noisy(kind, n, seed, d=5):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d)) * 2.0 ** np.arange(d) + 3.0
    z = (X[:, 1] - 3.0) / 2.0
    scale = {"jump": np.where(z > 0, 5.0, 1.0), "both sides": 0.3 + np.abs(z), "growing": np.exp(0.8 * z)}[kind]
    return X, X @ 2.0 ** -np.arange(d) + scale * generator.normal(size=n), scale


def fifths(model, X, y, scale):
    limits = model.predict_interval(X, 0.9)
    order = np.argsort(scale, kind="stable")
    return [inside(limits, y)[part].mean() for part in np.array_split(order, 5)]


@pytest.mark.parametrize("covariance", ["full", "diag", "kernel"])
@pytest.mark.parametrize("kind", ["jump", "both sides", "growing"])
def test_intervals_adapt_to_noise_that_depends_on_a_column(kind, covariance):
    n = 600 if covariance == "kernel" else 4000
    X, y, scale = noisy(kind, n + 4000, 1)
    X = (X - 3.0) / 2.0 ** np.arange(5) if covariance != "full" else X
    model = OnlineRegressor(covariance=covariance, prior_variance=10.0).fit(X[:n], y[:n])
    found = fifths(model, X[n:], y[n:], scale[n:])
    least, most = (0.8, 0.99) if covariance == "kernel" else (0.83, 0.96)  # of 600 and of 4,000 rows
    assert least < min(found) and max(found) < most


@pytest.mark.long("stacks of thousands of rows")
@pytest.mark.parametrize("kind", ["jump", "both sides", "growing"])
def test_intervals_of_a_stack_adapt_to_noise_that_depends_on_a_column(kind):
    X, y, scale = noisy(kind, 8000, 1)
    found = fifths(AutoRegressor().fit(X[:4000], y[:4000]), X[4000:], y[4000:], scale[4000:])
    assert min(found) > 0.83 and max(found) < 0.97


def test_noise_that_does_not_depend_on_columns_is_alike_everywhere():
    X, y = linear(4000, d=20)
    low, high = OnlineRegressor().fit(X, y).predict_interval(X, 0.9).T
    width = high - low
    assert np.std(width) < 0.15 * np.mean(width)


def test_the_frozen_predictor_has_the_same_intervals():
    X, y, _ = noisy("growing", 500, 3)
    for covariance in ("full", "diag"):
        model = OnlineRegressor(covariance=covariance).fit(X, y)
        np.testing.assert_allclose(model.to_sklearn().predict_interval(X), model.predict_interval(X), rtol=1e-6)


# --- bounds of targets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [OnlineRegressor, AutoRegressor])
def test_what_was_never_negative_is_never_predicted_negative(kind):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 3))
    y = generator.poisson(np.exp(X[:, 0])).astype(float)
    model, far = kind().fit(X, y), 5.0 * X
    mean, std = model.predict(far, return_std=True)
    low, high = model.predict_interval(far, 0.95).T
    assert mean.min() == 0.0 == model.predict(far).min() and low.min() == 0.0 and (std > 0).all()
    assert (low == np.floor(low)).all() and (high == np.ceil(high)).all()
    model.partial_fit(X[:1], [-0.5])
    assert model.predict(far).min() < 0.0 and model.predict_interval(far, 0.95).min() < 0.0
    assert (model.predict_interval(far, 0.95) % 1.0 != 0.0).any()  # nor are all targets integers any more


def test_few_targets_do_not_say_that_none_is_negative():
    """After n of them the next one is with a probability of up to 1/(n + 1), which must not be more than a tail."""
    X, y = linear(60, 4)
    for n, least in ((8, -np.inf), (9, 0.0), (60, 0.0)):
        model = OnlineRegressor().partial_fit(X[:n], np.abs(y[:n]))
        low = model.predict_interval(4.0 * X, 0.8)[:, 0]
        assert (low.min() < 0.0) == (least < 0.0) and model.predict(4.0 * X).min() == 0.0


@pytest.mark.parametrize("kind", [OnlineRegressor, AutoRegressor])
def test_bounds_that_are_said_hold_and_are_kept(kind, tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 3))
    y = 1.0 / (1.0 + np.exp(-2.0 * X[:, 0] + 0.3 * generator.normal(size=300)))
    model = kind(bounds=(0.0, 1.0)).fit(X, y)
    found = [model.predict(4.0 * X), model.predict_interval(4.0 * X, 0.99)]
    assert all(one.min() == 0.0 and one.max() == 1.0 for one in found)
    with pytest.raises(ValueError, match=r"targets must be in 0 to 1, their bounds, got 1\.5 in row 1"):
        model.partial_fit(X[:2], [0.5, 1.5])
    model.save(tmp_path / "m.cw")
    again = load(tmp_path / "m.cw")
    assert again.get_params()["bounds"] == (0.0, 1.0)
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    with pytest.raises(ValueError, match="bounds cannot change after training has begun"):
        again.set_params(bounds=None).partial_fit(X, y)
    free = kind(bounds=(None, None)).fit(X, y)
    assert free.predict(4.0 * X).min() < 0.0 and free.predict_interval(X).min() < 0.0
    above = kind(bounds=(0.0, None)).fit(X, 10.0 * y)
    assert above.predict(4.0 * X).min() == 0.0 and above.predict(4.0 * X).max() > 10.0


def test_exported_predictions_keep_the_bounds():
    runtime = pytest.importorskip("onnxruntime")
    X, y = linear(300)
    y = np.abs(y)
    for model in (OnlineRegressor().fit(X, y), AutoRegressor().fit(X, y), OnlineRegressor(bounds=(3.0, 9.0))):
        if not hasattr(model, "learner_"):
            model.fit(X, np.clip(y, 3.0, 9.0))
        session = runtime.InferenceSession(model.to_onnx("float64").SerializeToString())
        exported = session.run(["variable"], {"X": 4.0 * X})[0][:, 0]
        assert exported.min() == model.predict(4.0 * X).min()
        np.testing.assert_allclose(exported, model.predict(4.0 * X), rtol=1e-6, atol=1e-9)


# --- alarms ----------------------------------------------------------------------------------------------------------


def stream(kind, n, seed):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 4))
    y = X[:, 0] + generator.normal(size=n)
    if kind == "two kinds of rows":
        X[:], y = 0.0, (generator.random(n) < 0.5).astype(float)
    elif kind == "few integers":
        y = np.rint(y / 2.0)
    elif kind == "constant column and noise":
        X[:, 3], y = 1.0, X[:, 0] + np.exp(X[:, 1]) * generator.normal(size=n)
    return X, y


@pytest.mark.parametrize("kind", ["two kinds of rows", "few integers", "constant column and noise"])
def test_rows_in_random_order_ring_no_alarm(kind):
    assert sum(OnlineRegressor().partial_fit(*stream(kind, 600, seed)).alarms_ > 0 for seed in range(30)) == 0


@pytest.mark.parametrize("change", ["mean", "noise"])
def test_a_change_rings_an_alarm(change):
    for seed in range(5):
        X, y = stream("plain", 1200, seed)
        model = OnlineRegressor().partial_fit(X[:800], y[:800])
        assert model.alarms_ == 0
        after = y[800:] + 2.0 if change == "mean" else X[800:, 0] + 3.0 * (y[800:] - X[800:, 0])
        assert model.partial_fit(X[800:], after).alarms_ > 0
