"""AutoRegressor: the choice of members, exact continuation, intervals, streams, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1

from confidently import AutoRegressor, OnlineRegressor

GIVEN = [OnlineRegressor(prior_variance=10.0), OnlineRegressor("quantile", view="standard")]


def friedman(rows=1500, seed=0):
    return make_friedman1(rows, n_features=6, noise=1.0, random_state=seed)


def test_rows_in_random_order_need_no_members_that_forget():
    X, y = friedman()
    shuffled, model = (AutoRegressor(shuffle=shuffle).fit(X, y) for shuffle in ("auto", False))
    forgetting = [name for name in model.members_ if "forget" in name or "last" in name]
    assert len(forgetting) == 3
    assert set(shuffled.members_) & set(forgetting) == set()
    assert len(shuffled.members_) == len(model.members_) - 1  # trees of all rows, and what forgot forgets nothing
    of_targets = ["of the rest" not in name for name in model.members_]
    assert model.weights_[of_targets].sum() == pytest.approx(1.0)
    predictions = [member.predict(X) for member in model.members_.values()]
    np.testing.assert_allclose(model.predict(X), model.weights_ @ predictions, rtol=1e-9, atol=1e-9)


def test_it_learns_what_no_linear_regression_can_and_covers():
    X, y = friedman(4000)
    auto, linear = AutoRegressor().fit(X[:3000], y[:3000]), OnlineRegressor().fit(X[:3000], y[:3000])
    errors = [np.sqrt(np.mean((model.predict(X[3000:]) - y[3000:]) ** 2)) for model in (auto, linear)]
    assert errors[0] < 1.25  # of which 1 is noise
    assert errors[1] > 2.2
    assert auto.mae_ < auto.rmse_ < linear.rmse_
    for coverage in (0.5, 0.9):
        low, high = auto.predict_interval(X[3000:], coverage).T
        assert np.mean((low <= y[3000:]) & (y[3000:] <= high)) == pytest.approx(coverage, abs=0.04)
    mean, std = auto.predict(X[3000:], return_std=True)
    assert (mean == auto.predict(X[3000:])).all()
    assert np.sqrt(np.mean(((y[3000:] - mean) / std) ** 2)) == pytest.approx(1.0, abs=0.15)


def test_a_linear_table_is_predicted_as_well_as_by_its_linear_member():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2500, 8))
    y = X @ generator.normal(size=8) + generator.normal(size=2500)
    models = [model.fit(X[:2000], y[:2000]) for model in (AutoRegressor(), OnlineRegressor())]
    errors = [np.mean((model.predict(X[2000:]) - y[2000:]) ** 2) for model in models]
    assert errors[0] < 1.02 * errors[1]


def test_units_of_columns_and_targets_do_not_matter():
    X, y = friedman()
    one = AutoRegressor().fit(X[:1000], y[:1000]).predict(X[1000:])
    scaled = X * [1e6, 1e-3, 1.0, 50.0, 2.0, 7.0]
    other = AutoRegressor().fit(scaled[:1000], 1e9 * y[:1000] + 1e10).predict(scaled[1000:])
    assert np.sqrt(np.mean((other / 1e9 - 10.0 - one) ** 2)) < 0.05 * y.std()


def test_passes_shuffling_and_single_precision():
    X, y = load_diabetes(return_X_y=True)
    order = np.argsort(y)
    model = AutoRegressor(passes=2, shuffle=True, random_state=0).fit(X[order], y[order])
    assert model.n_seen_ == 2 * len(y)
    assert model.score(X, y) > 0.4
    single = AutoRegressor(dtype="float32").fit(X, y)
    assert {member.dtype for member in single.members_.values()} == {"float32"}
    assert single.score(X, y) > 0.4


def test_later_passes_change_neither_weights_nor_measures():
    X, y = friedman(400)
    once, twice = AutoRegressor().fit(X, y), AutoRegressor(passes=2).fit(X, y)
    assert (once.weights_ == twice.weights_).all()
    assert once.rmse_ == twice.rmse_
    assert twice.n_seen_ == 2 * len(y)
    assert (once.predict(X) != twice.predict(X)).any()


def several(X, y):
    return np.column_stack([y, X[:, 0] * X[:, 1], 1e3 - 1e2 * y])


def test_several_numbers_are_learned_as_one_by_one():
    X, y = friedman(1000)
    Y = several(X, y)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(y))
    together = AutoRegressor(passes=2, trees=False).fit(X[:800], Y[:800], weight[:800])
    assert together.weights_.shape == (3, len(together.members_))
    (mean, std), limits = together.predict(X[800:], return_std=True), together.predict_interval(X[800:], 0.8)
    assert (mean == together.predict(X[800:])).all()
    for k in range(3):
        alone = AutoRegressor(passes=2, trees=False).fit(X[:800], Y[:800, k], weight[:800])
        assert list(alone.members_) == list(together.members_)
        np.testing.assert_allclose(together.weights_[k], alone.weights_, rtol=1e-6, atol=1e-9)
        expected = (*alone.predict(X[800:], return_std=True), alone.predict_interval(X[800:], 0.8))
        for found, own in zip((mean, std, limits), expected, strict=True):
            np.testing.assert_allclose(found[:, k], own, rtol=1e-6)
        assert (together.rmse_[k], together.mae_[k]) == (pytest.approx(alone.rmse_), pytest.approx(alone.mae_))
    predictions = np.array([member.predict(X[800:]) for member in together.members_.values()])
    mixed = np.einsum("kg,gnk->nk", together.weights_, predictions)
    least = np.where(Y[:800].min(axis=0) >= 0.0, 0.0, -np.inf)  # what was never negative is not predicted to be
    np.testing.assert_allclose(mean, np.maximum(mixed, least), rtol=1e-9, atol=1e-9)


def test_files_have_one_number_per_row(tmp_path):
    X, y = friedman(100)
    (tmp_path / "rows.svm").write_text("1 1:1\n0 2:1\n")
    with pytest.raises(ValueError, match="rows of files have one target, the regressor has 3 outputs"):
        AutoRegressor().fit(X, several(X, y)).partial_fit_stream(tmp_path / "rows.svm")


def test_members_continue_by_themselves():
    X, y = friedman(300)
    model = AutoRegressor(GIVEN).fit(X, y)
    alone = clone(GIVEN[0]).fit(X, y)
    member = model.members_["1. ridge on rows"]
    np.testing.assert_allclose(member.predict(X), alone.predict(X), rtol=1e-9)
    assert list(model.members_) == ["1. ridge on rows", "2. quantile on standard"]
    member.partial_fit(X, y)
    assert (model.members_["1. ridge on rows"].predict(X) != member.predict(X)).any()


def test_sorted_targets_are_learned_as_well_as_others():
    X, y = friedman(1200)
    order = np.argsort(y[:1000])
    models = [AutoRegressor(shuffle=shuffle).fit(X[order], y[order]) for shuffle in ("auto", False)]
    shuffled, in_order = (model.score(X[1000:], y[1000:]) for model in models)
    assert shuffled > 0.85
    assert shuffled > in_order


def test_it_follows_a_stream_that_moves():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 5))
    weights = np.where(np.arange(2000)[:, None] // 1000 % 2 == 0, [1.0, 2.0, 0.0, 0.0, 1.0], [-2.0, 0.0, 1.0, 1.0, 0.0])
    y = (X * weights).sum(axis=1) + 0.3 * generator.normal(size=2000)
    model = AutoRegressor(shuffle=False).partial_fit(X[:1400], y[:1400])
    still = OnlineRegressor().partial_fit(X[:1400], y[:1400])
    errors = [np.sqrt(np.mean((one.predict(X[1400:]) - y[1400:]) ** 2)) for one in (model, still)]
    assert errors[0] < 0.5  # of which .3 is noise
    assert errors[1] > 1.5
