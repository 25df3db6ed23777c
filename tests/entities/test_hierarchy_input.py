"""The exact posterior of numbers of entities: unusual rows, weights, files of before, and arrays that are damaged."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confidently import OnlineRegressor, _core
from confidently.entities import EntityModels
from tests.entities.test_hierarchy import FOREVER, check_same, core_of, expected, rows


@pytest.mark.parametrize("make", [
    lambda X, key, y: (X[:2], key[:2], y[:2]), lambda X, key, y: (X, key * 0, y),
    lambda X, key, y: (np.column_stack([X, np.ones(len(X)), np.zeros(len(X))]), key, y),
    lambda X, key, y: (X[:1].repeat(50, axis=0), key[:50], y[:1].repeat(50)),
    lambda X, key, y: (np.column_stack([X[:, :1]] * 3), key, 2 * X[:, 0]), lambda X, key, y: (X * 1e60, key, y * 1e40),
    lambda X, key, y: (X * 1e-60, key, y * 1e-40), lambda X, key, y: (X + 1e9, key, y + 1e9),
])  # fmt: skip
def test_unusual_rows_have_numbers(make: Any) -> None:
    X, key, y = make(*rows(100))
    model = EntityModels(shared=OnlineRegressor()).fit(X, y, key=key)
    mean, std = model.predict(np.vstack([X, X]), key=[*key.tolist(), *[99] * len(key)], return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0).all()
    again = pickle.loads(pickle.dumps(model))
    check_same(again._table.state(), model._table.state())
    if len(y) > 2:
        error = np.sqrt(np.mean((mean[: len(y)] - y) ** 2))
        assert error <= 0.8 * max(np.std(y), 1e-6 * abs(y).max(), 1e-300)


def test_heavy_rows_of_equal_columns() -> None:
    X, key, y = rows(200)
    w = 10.0 ** np.random.default_rng(0).uniform(0, 25, 200)
    core = core_of(X[:, [0, 0, 1, 1]], key, y, w)
    assert all(np.isfinite(array).all() for array in core.state().values()) and core.noise > 0
    assert np.isfinite(expected(core, X[:, [0, 0, 1, 1]], key, 200)).all()


def test_rows_of_weight_0_and_invalid_targets() -> None:
    X, key, y = rows(50)
    w = np.where(np.arange(50) % 2, 1.0, 0.0)
    model = EntityModels(shared=OnlineRegressor()).fit(X, y, key=key, sample_weight=w)
    half = core_of(X[1::2], key[1::2], y[1::2])
    np.testing.assert_allclose(model._table.core.state()["shared"], half.state()["shared"], rtol=1e-9)
    before = model._table.state()
    bad = y.copy()
    bad[3] = np.nan
    with pytest.raises(ValueError, match=r"targets|NaN"):
        model.partial_fit(X, bad, key=key)
    check_same(before, model._table.state())


def test_files_with_moments_of_numbers_continue(tmp_path: Path) -> None:
    """Rows that the exact posterior does not suit have ended it."""
    X, key, y = rows(200)
    model = EntityModels(shared=OnlineRegressor()).fit(X[:1], y[:1], key=key[:1])
    model._table.lose_exactness()
    model.partial_fit(X, y, key=key)
    model.save(tmp_path / "old")
    read = EntityModels.load(tmp_path / "old")
    assert not hasattr(read, "entity_variance_") and read.variance_weights_ == model.variance_weights_
    np.testing.assert_array_equal(
        read.partial_fit(X, y, key=key).predict(X, key=key), model.partial_fit(X, y, key=key).predict(X, key=key)
    )


def test_intervals_are_for_numbers() -> None:
    X, key, y = rows(50)
    assert not hasattr(EntityModels().fit(X, y > 3, key=key), "predict_interval")
    with pytest.raises(ValueError, match="coverage"):
        EntityModels(shared=OnlineRegressor()).fit(X, y, key=key).predict_interval(X, 1.5, key=key)


def test_damaged_arrays_are_refused() -> None:
    X, key, y = rows(30)
    core = core_of(X, key, y)
    state = core.state()
    for name, wrong in (
        ("sums", state["sums"][1:]), ("sums", -state["sums"]), ("rows", state["rows"][1:]), ("shared", np.ones(9)),
        ("variances", -state["variances"]), ("covariance", np.full(16, np.nan)), ("totals", np.zeros(3)),
        ("schedule", state["schedule"][1:]), ("losses", np.ones(2)), ("variances", np.ones(17)),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            _core.Hierarchy(FOREVER).restore(state | {name: wrong})
