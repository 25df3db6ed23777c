"""The exact posterior of numbers of entities: its definition, resuming, forgetting, merging, and what it promises."""

from __future__ import annotations

import pickle
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from confidently import OnlineRegressor, _core
from confidently.data.memory.matrix import as_matrix
from confidently.entities import EntityModels, merge_entities
from confidently.entities.hierarchy import deviations, recentered, unpacked, weights_of
from confidently.entities.table import NEVER
from tests.twins.hierarchy import Hierarchy, exact

FOREVER = NEVER


def rows(n: int, entities: int = 12, d: int = 3, seed: int = 0, noise: float = 0.5) -> tuple[Any, Any, Any]:
    """Columns of several sizes and means, keys, and numbers of entities whose weights differ."""
    random = np.random.default_rng(seed)
    Z, key = random.normal(size=(n, d)), random.integers(0, entities, n).astype(np.int32)
    own = random.normal(size=(entities, d + 1))
    y = 3 + own[key, 0] + (Z * (1 + own[key, 1:])).sum(axis=1) + random.normal(0, noise, n)
    return Z * 10.0 ** np.arange(d) + np.arange(d), key, y


def core_of(X: Any, key: Any, y: Any, w: Any = None, max_age: int = FOREVER) -> _core.Hierarchy:
    core = _core.Hierarchy(max_age)
    core.add(int(key.max()) + 1)
    assert core.learn(np.ascontiguousarray(key), as_matrix(X), None, np.ascontiguousarray(y), w, 0, 0) == len(y)
    return core


def expected(core: _core.Hierarchy, X: Any, key: Any, now: int) -> tuple[Any, Any]:
    mean, variance = np.empty((2, len(X)))
    core.predict(key, as_matrix(X), None, now, mean, variance)
    return mean, variance


def check_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


# --- the definition ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_core_is_the_posterior_of_all_rows_so_far(weighted: bool) -> None:
    X, key, y = rows(70)
    w = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(y)) if weighted else np.ones(len(y))
    core, twin, squared = _core.Hierarchy(FOREVER), Hierarchy(3), 0.0
    core.add(13)
    for i in range(len(y)):
        squared += (y[i] - (twin.number(int(key[i]), X[i])[0] if i else y[0])) ** 2
        core.learn(key[i : i + 1], as_matrix(X[i : i + 1]), None, y[i : i + 1], w[i : i + 1], 0, i)
        twin.learn(int(key[i]), X[i], y[i], w[i])
        if i in (0, 1, 2, 6, 19, 20, 69):
            for one in (int(key[0]), 12):  # a known entity, and one without rows
                found = [array[0] for array in expected(core, X[3:4], np.array([one], np.int32), i + 1)]
                assert found == pytest.approx(twin.number(one, X[3]), rel=1e-6)
            assert core.noise == pytest.approx(twin.noise, rel=1e-5)
    state = core.state()
    np.testing.assert_allclose(state["variances"], twin.G, rtol=1e-5)
    np.testing.assert_allclose(state["start"], twin.start, rtol=1e-5)
    assert state["losses"][:2] == pytest.approx([len(y), squared], rel=1e-6)


def test_with_the_true_variances_it_is_the_joint_gaussian() -> None:
    X, key, y = rows(80)
    core = core_of(X, key, y)
    state = core.state()
    noise, T = 0.3, 0.3 * state["variances"]
    centered = np.column_stack([np.ones(len(y)), X - state["center"][1:4]])
    prior = 0.3 / state["start"]
    mean, covariance, own = exact(centered, y - state["center"][4], key.tolist(), T, noise, prior)
    # learned rows since the last refit were folded in one by one; the shared Gaussian must be that of all of them
    np.testing.assert_allclose(state["shared"], mean, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(noise * state["covariance"].reshape(4, 4), covariance, rtol=1e-6, atol=1e-12)
    found, variance = expected(core, X[:20], key[:20], len(y))
    for i in range(20):
        m, V = own[int(key[i])]
        assert found[i] == pytest.approx(state["center"][4] + centered[i] @ m, rel=1e-8)
        assert noise * variance[i] == pytest.approx(centered[i] @ V @ centered[i], rel=1e-6)


def test_weights_are_those_of_rows_as_they_are() -> None:
    X, key, y = rows(200)
    core = core_of(X, key, y)
    shared, slot = weights_of(core.state_of_columns(), None), int(key[0])
    own = weights_of(core.state_of_columns(), core.one(slot)[0])
    x = np.append(1.0, X[0])
    mean, variance = expected(core, X[:1], key[:1], 200)
    assert x @ (shared[0] + own[0]) == pytest.approx(mean[0])
    unknown = expected(core, X[:1], np.array([-1], np.int32), 200)
    assert x @ shared[0] == pytest.approx(unknown[0][0])
    assert x @ own[1] @ x < unknown[1][0] and variance[0] < unknown[1][0]
    state = core.state_of_columns()
    z = x - np.append(0.0, state["center"][1:4])
    _, [of_own], [between] = deviations(state, unpacked(core.one(slot)[0], 4, 4))
    whole = state["covariance"].reshape(4, 4) + of_own + between + between.T
    assert z @ whole @ z == pytest.approx(variance[0])


# --- what it gains ----------------------------------------------------------------------------------------------------


def hierarchical(seed: int, entities: int = 60, n: int = 15, d: int = 4, noise: float = 0.5) -> tuple[Any, ...]:
    random = np.random.default_rng(seed)
    w, own = random.normal(size=d + 1), random.normal(size=(entities, d + 1))

    def drawn(k: int) -> tuple[Any, Any, Any]:
        key = random.permutation(np.repeat(np.arange(entities), k))
        X = np.column_stack([np.ones(len(key)), random.normal(size=(len(key), d))])
        return X, key, (X * (w + own[key])).sum(axis=1) + random.normal(0, noise, len(key))

    return drawn(n), drawn(10)


@pytest.mark.long("eight models against exact posteriors")
@pytest.mark.parametrize("d", [4, 8])
def test_errors_and_deviations_are_those_of_known_variances(d: int) -> None:
    errors, stated, inside = [], [], []
    for seed in range(4):
        (X, key, y), (X_new, new, y_new) = hierarchical(seed, d=d)
        model = EntityModels(shared=OnlineRegressor()).fit(X[:, 1:], y, key=key)
        mean, std = model.predict(X_new[:, 1:], key=new, return_std=True)
        _, _, own = exact(X, y, key.tolist(), np.ones(d + 1), 0.25, np.full(d + 1, 1e4))
        best = np.array([x @ own[k][0] for x, k in zip(X_new, new, strict=True)])
        spread = np.sqrt([0.25 + x @ own[k][1] @ x for x, k in zip(X_new, new, strict=True)])
        errors.append(np.sqrt(np.mean((mean - y_new) ** 2) / np.mean((best - y_new) ** 2)))
        stated.append(np.mean(std / spread))
        low, high = model.predict_interval(X_new[:, 1:], key=new).T
        inside.append(np.mean((low <= y_new) & (y_new <= high)))
    assert np.mean(errors) < 1.01 and max(errors) < 1.02
    assert np.mean(stated) == pytest.approx(1.0, abs=0.03) and np.ptp(stated) < 0.12
    assert np.mean(inside) == pytest.approx(0.9, abs=0.015)


@pytest.mark.long("eighty models")
def test_intervals_of_few_rows_cover_or_are_infinite() -> None:
    inside: dict[int, list[float]] = {k: [] for k in (1, 4, 12, 25)}
    for seed in range(20):
        X, key, y = rows(max(inside) + 40, entities=5, d=2, seed=seed)
        for n, found in inside.items():
            model = EntityModels(shared=OnlineRegressor()).fit(X[:n], y[:n], key=key[:n])
            with warnings.catch_warnings():
                warnings.simplefilter("error" if n >= 12 else "ignore")
                low, high = model.predict_interval(X[-40:], key=key[-40:]).T
            assert np.isfinite(low).all() == (n >= 12)
            found.append(np.mean((low <= y[-40:]) & (y[-40:] <= high)))
    assert all(np.mean(found) > 0.86 for found in inside.values()), {n: np.mean(f) for n, f in inside.items()}
    with pytest.warns(UserWarning, match=r"too few rows.*1 row"):
        EntityModels(shared=OnlineRegressor()).fit(X[:1], y[:1], key=key[:1]).predict_interval(X[:1], key=key[:1])


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{}, {"max_age": 40}])
def test_any_division_into_calls_gives_the_same_bits(limits: dict[str, int]) -> None:
    X, key, y = rows(150)
    whole = EntityModels(shared=OnlineRegressor(), **limits).fit(X, y, key=key)
    for n in (1, 7):
        parts = EntityModels(shared=OnlineRegressor(), **limits)
        for first in range(0, 150, n):
            cut = slice(first, first + n)
            parts.partial_fit(X[cut], y[cut], key=key[cut])
            if first % 5 == 0:
                parts = pickle.loads(pickle.dumps(parts))
        mine, other = whole._table.state(), parts._table.state()
        np.testing.assert_array_equal(
            whole.predict(X, key=key, return_std=True), parts.predict(X, key=key, return_std=True)
        )
        check_same({**mine, "swept": 0}, {**other, "swept": 0})


def test_a_forgotten_entity_takes_its_rows_with_it() -> None:
    """After the next refit, what is shared is that of the other entities."""
    X, key, y = rows(400, entities=10)
    key[:100] %= 5
    key[100:] = 5 + key[100:] % 5
    core = _core.Hierarchy(50)
    core.add(10)
    done = 0
    while done < 400:  # it stops where entities are to be dropped
        done = core.learn(key, as_matrix(X), None, y, None, done, 0)
    assert core.forgot and (core.last[:5] == -1).all() and (core.last[5:] >= 0).all()
    seen, following = core.state()["schedule"]
    assert seen == 400 and following <= 450
    sums = core.state()["sums"].reshape(10, -1)
    assert not sums[:5].any() and sums[5:, 0].sum() == 300
    assert core.state()["totals"][1] == 300
    unknown = expected(core, X[:1], key[:1], 400), expected(core, X[:1], np.array([-1], np.int32), 400)
    np.testing.assert_array_equal(*unknown)


def test_a_returning_entity_starts_again() -> None:
    X, key, y = rows(60, entities=3)
    core = core_of(X, key % 2, y, max_age=20)
    core.add(1)
    last = np.array([2], np.int32)
    core.learn(last, as_matrix(X[:1]), None, y[:1], None, 0, 60)
    assert core.one(2)[0][0] == 1.0
    core.learn(last, as_matrix(X[1:2]), None, y[1:2], None, 0, 90)
    assert (core.one(2)[0][0], core.one(2)[2]) == (1.0, 1)


def test_the_entities_seen_last_are_kept() -> None:
    X, key, y = rows(300, entities=100)
    model = EntityModels(shared=OnlineRegressor(), max_entities=16).fit(X, y, key=key)
    assert model.n_entities_ <= 16 and int(key[-1]) in model.keys_
    assert model.deviation(int(key[-1])).rows >= 1
    assert np.isfinite(model.predict(X, key=key)).all()
    passing = EntityModels(shared=OnlineRegressor(), max_age=50).fit(X, y, key=np.arange(300) // 5)
    assert passing.n_entities_ <= 20 and passing.keys_[-1] == 59


def test_columns_that_come_later_are_those_that_were_zero() -> None:
    X, key, y = rows(90)
    X[:40, 2] = 0.0
    late, early = core_of(X, key, y).state(), core_of(X[:, ::-1], key, y).state()
    for name in ("shared", "variances", "start"):
        np.testing.assert_allclose(late[name][1:], early[name][:0:-1], rtol=1e-9, err_msg=name)
    X[40:, 2] += 1e6
    named = [{"user": int(k), "a": x[0], "b": x[1], "c": x[2]} for x, k in zip(X, key, strict=True)]
    named[:40] = [{name: row[name] for name in ("user", "a", "b")} for row in named[:40]]
    model = EntityModels("user", OnlineRegressor()).fit(named[:40], y[:40])
    with pytest.warns(UserWarning, match="new column"):
        model.partial_fit(named[40:], y[40:])
    np.testing.assert_allclose(model.predict(named)[40:], core_of(X[40:], key[40:], y[40:]).state()["mean"][-1], atol=9)


def test_a_column_without_values_so_far_is_at_any_center() -> None:
    X, key, y = rows(40)
    X[:20, 2] = 0.0  # absent
    before, after = core_of(X[:, :2], key, y), _core.Hierarchy(FOREVER)
    after.add(12)
    missing = np.ones(3, np.int8)
    after.learn(key, as_matrix(X), missing, y, None, 0, 0)
    sums = unpacked(recentered(before.state(), after.state())["sums"], 4, 4)
    assert not sums[:, 3].any() and sums[:, 0, 0].sum() == 40
    assert sums[:, 1:3, 0].sum(axis=0) == pytest.approx(unpacked(after.state()["sums"], 4, 4)[:, 1:3, 0].sum(axis=0))


def test_absent_numbers_of_tables_are_at_their_mean() -> None:
    X, key, y = rows(60, d=2)
    missing, gone = np.array([0, 1], np.int8), X.copy()
    gone[::3, 1] = 0.0  # absent
    core = _core.Hierarchy(FOREVER)
    core.add(12)
    core.learn(key, as_matrix(gone), missing, y, None, 0, 0)
    present = X[gone[:, 1] != 0, 1]
    state = core.state()
    assert state["count"].tolist() == [0, 60, 40, 60] and state["mean"][2] == pytest.approx(present.mean())
    at = np.array([[X[0, 0], 0.0], [X[0, 0], state["center"][2]]])
    mean = np.empty((2, 2))
    core.predict(np.array([1, 1], np.int32), as_matrix(at), missing, 60, mean[0], mean[1])
    assert mean[0, 0] == pytest.approx(mean[0, 1]) and mean[1, 0] == pytest.approx(mean[1, 1])


def test_more_columns_than_it_suits_continue_with_moments() -> None:
    X, key, y = rows(600, d=4, entities=20)
    named = [{"user": int(k), **{f"c{j}": v for j, v in enumerate(x)}} for x, k in zip(X, key, strict=True)]
    model = EntityModels("user", OnlineRegressor()).fit(named, y)
    mean, before = model.predict(named, return_std=True)
    shared = model.deviation(int(key[0]))
    wide = {"user": int(key[0]), **{f"d{j}": 1.0 for j in range(20)}}
    model.partial_fit([wide], [3.0])
    assert not hasattr(model, "entity_variance_") and not hasattr(model, "noise_variance_") and model.n_entities_ == 20
    low, high = model.predict_interval(named).T
    assert np.mean((low <= y) & (y <= high)) > 0.8
    after, std = model.predict(named, return_std=True)
    assert np.corrcoef(mean, after)[0, 1] > 0.9 and np.median(std / before) < 2
    at_once = EntityModels("user", OnlineRegressor()).fit([*named[:570], wide, *named[570:]], [*y[:570], 3.0, *y[570:]])
    for one in (model, at_once):
        assert [one.deviation(k).rows - (k == key[0]) for k in range(20)] == np.bincount(key, minlength=20).tolist()
    assert len(shared.mean) == 5
    assert EntityModels(shared=OnlineRegressor()).fit(np.ones((9, 20)), y[:9], key=key[:9])._table.exact is False
    assert EntityModels(shared=OnlineRegressor(forget=0.01)).fit(X, y, key=key)._table.exact is False
    assert EntityModels(shared=OnlineRegressor("pa1_reg")).fit(X, y, key=key)._table.exact is False


# --- merging ----------------------------------------------------------------------------------------------------------


def test_merged_parts_are_one_stream() -> None:
    """However rows are divided, with or without a base, and with columns in another order."""
    X, key, y = rows(900, entities=30)
    named = [{"user": int(k), "a": x[0], "b": x[1], "c": x[2]} for x, k in zip(X, key, strict=True)]
    turned = [dict(reversed(row.items())) for row in named]

    def fit(data: Any, part: Any, model: EntityModels | None = None) -> EntityModels:
        model = EntityModels("user", OnlineRegressor()) if model is None else deepcopy(model)
        return model.partial_fit([data[i] for i in part], y[part])

    def order(model: EntityModels) -> list[int]:
        return [1 + model.deviation(0).features[1:].index(name) for name in ("a", "b", "c")]

    whole, halves = fit(named, range(900)), [fit(named, range(0, 900, 2)), fit(turned, range(1, 900, 2))]
    base = fit(named, range(300))
    rest = [fit(named, range(first, 900, 2), base) for first in (300, 301)]
    alone = merge_entities([whole, EntityModels("user", OnlineRegressor()).partial_fit(named[:1], y[:1] * 0)])
    assert alone.n_seen_ == 901
    whole._table.settle(900)
    for merged in (merge_entities(halves), merge_entities(rest, base)):
        assert merged.n_seen_ == 900
        assert merged.noise_variance_ == pytest.approx(whole.noise_variance_, rel=1e-5)
        assert merged.entity_variance_ == pytest.approx(whole.entity_variance_, rel=1e-4)
        for name in ("count", "mean", "squares", "center"):
            mine, other = merged._table.state()[name], whole._table.state()[name]
            np.testing.assert_allclose(mine[[0, *order(merged), 4]], other, rtol=1e-9, err_msg=name)
        found, expected = merged.predict(named, return_std=True), whole.predict(named, return_std=True)
        np.testing.assert_allclose(found, expected, rtol=1e-4)
        for one in whole.keys_:
            assert merged.deviation(one).rows == whole.deviation(one).rows


def test_a_column_that_a_part_lacks_is_at_its_mean() -> None:
    X, key, y = rows(80, entities=4)
    named = [{"user": int(k), "a": x[0], "b": x[1], "z": x[2] + 1e3} for x, k in zip(X, key, strict=True)]
    lacking = [{name: row[name] for name in ("user", "a", "b")} for row in named if row["user"] < 2]
    parts = [
        EntityModels("user", OnlineRegressor()).fit(lacking, y[key < 2]),
        EntityModels("user", OnlineRegressor()).fit([row for row in named if row["user"] > 1], y[key > 1]),
    ]
    whole = merge_entities(parts)
    z = 1 + whole.deviation(0).features[1:].index("z")
    sums = unpacked(whole._table.state()["sums"], 4, 4)
    for one in range(4):
        assert sums[whole._table.slots[one], z].any() == (one > 1)
