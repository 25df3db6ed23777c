"""Regressions of logarithms in stacks, which positive and skewed targets have. The twin is that of the stack."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import onnxruntime as runtime
import pytest
from sklearn.datasets import make_friedman1

from confidently import AutoRegressor, load, merge
from confidently.data import Batch
from confidently.data.memory.matrix import as_matrix
from confidently.models.stack_explanation import explain_number_stack
from confidently.river import AutoRegressor as RiverRegressor
from confidently.stack.logs import are_worth_learning
from confidently.stack.members import WEIGHTS
from confidently.stack.number_choice import new_number_stack
from confidently.stack.number_stack import LOGS
from confidently.views.columns import Columns
from tests.states import settled_state

X, Y = make_friedman1(2400, noise=1.0, random_state=1)
PRICES, N = np.exp(Y / 5), 1600
TARGETS = {
    "prices": (PRICES, True), "counts, some 0": (np.random.default_rng(0).poisson(PRICES / 5.0), True),
    "normal": (Y - Y.mean(), False), "skewed to the left": (PRICES.max() - PRICES, False),
    "one below 0": (np.append(-1e-9, PRICES), False),
    "nearly all 0": (np.where(np.arange(len(PRICES)) % 3, 0.0, PRICES), False), "all equal": (np.ones(50), False),
    "logarithms more skewed": (np.append(np.geomspace(1e-90, 1.0, 5), np.linspace(3.0, 7.0, 50) ** 2), False),
    "one": (PRICES[:1], False), "the smallest numbers": (5e-324 * np.round(PRICES), False),
    "large numbers": (1e49 * PRICES / PRICES.max(), True),
}  # fmt: skip


@pytest.mark.long("a stack of each kind of targets")
@pytest.mark.parametrize("name", TARGETS)
def test_logarithms_are_learned_of_positive_and_skewed_targets(name):
    y, expected = TARGETS[name]
    assert are_worth_learning(np.asarray(y, float)[:, None]) == expected
    if not expected and len(y) > 100:
        return
    model = AutoRegressor().fit(np.resize(X, (len(y), 10)), y)
    assert any("logarithms" in member for member in model.members_) == expected
    assert np.isfinite(model.predict(X[:20])).all()


def test_every_number_must_be_so():
    assert are_worth_learning(np.stack([PRICES, 1e-9 * PRICES**2], axis=1))
    assert not are_worth_learning(np.stack([PRICES, -PRICES], axis=1))
    assert not are_worth_learning(None)


def batch_of(row):
    return Batch(row, np.arange(10, dtype=np.int32), np.array([0, 10]), 10, np.empty(0, np.int32))


def errors(predicted):
    return np.sqrt(np.mean((predicted - PRICES[N:]) ** 2))


def test_they_lower_the_error_of_prices_by_a_seventh():
    model = AutoRegressor(trees=False).fit(X[:N], PRICES[:N])
    shifted = AutoRegressor(trees=False).fit(X[:N], PRICES[:N] - 1e3)  # has none
    assert errors(model.predict(X[N:])) < 6 / 7 * errors(shifted.predict(X[N:]) + 1e3)
    low, high = model.predict_interval(X[N:], 0.9).T
    assert np.mean((low <= PRICES[N:]) & (PRICES[N:] <= high)) == pytest.approx(0.9, abs=0.04)


def test_predictions_stay_within_twice_the_largest_target_so_far():
    model = AutoRegressor().fit(X[:N], PRICES[:N])
    (means,), _ = model.learner_.predictions(model._matrix(100.0 * X), uncertain=False)
    logs = [k for k in range(len(means)) if model.learner_.is_log(k)]
    assert len(logs) == 3
    assert means[logs].max() <= 2.0 * 2.0 * PRICES[:N].max() * (1 + 1e-12)  # and the smearing factor


@pytest.mark.long("two stacks of 1,100 rows")
@pytest.mark.parametrize("several", [False, pytest.param(True, marks=pytest.mark.long("stacks of two numbers"))])
def test_they_are_the_same_under_any_cut_and_after_any_file(several, tmp_path):
    y = np.stack([PRICES, PRICES**1.5], axis=1) if several else PRICES
    y = y * np.where(np.arange(len(y)) == 1100, -1.0, 1.0).reshape(
        -1, *[1] * several
    )  # later than the members are chosen
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0], len(y))
    whole = AutoRegressor(shuffle=False).fit(X[:N], y[:N], weight[:N])
    model = AutoRegressor().partial_fit(X[:1000], y[:1000], weight[:1000])
    for first, last in ((1000, 1001), (1001, 1100), (1100, 1101), (1101, N)):
        model.partial_fit(X[first:last], y[first:last], weight[first:last]).save(tmp_path / "m.cw")
        model = load(tmp_path / "m.cw")
    settled = settled_state(model)
    for name, array in settled_state(whole).items():
        np.testing.assert_array_equal(array, settled[name], err_msg=name)
    np.testing.assert_array_equal(whole.predict(X), model.predict(X))


def test_later_passes_learn_nothing_about_them():
    once, twice = (AutoRegressor(passes=passes).fit(X[:400], PRICES[:400]) for passes in (1, 2))
    np.testing.assert_array_equal(once.learner_.state[LOGS], twice.learner_.state[LOGS])


def test_a_failed_call_undoes_what_was_learned_about_them():
    model = AutoRegressor(dtype="float32").fit(X[:N], PRICES[:N])
    before = model.learner_.state[LOGS].copy()
    with pytest.raises(ValueError, match="out of the range of float32"):
        model.partial_fit(X[N:], np.append(PRICES[N:-1], 1e45))
    np.testing.assert_array_equal(model.learner_.state[LOGS], before)


@pytest.mark.long("four stacks")
def test_rows_of_parts_count_once_in_a_merged_stack():
    base = AutoRegressor().fit(X[:1000], PRICES[:1000])
    parts = [deepcopy(base).partial_fit(X[own], PRICES[own]) for own in (slice(1000, 1400), slice(1400, N))]
    merged = merge(parts, base=base)
    found, (one, two), start = (
        merged.learner_.state[LOGS], [part.learner_.state[LOGS] for part in parts], base.learner_.state[LOGS],
    )  # fmt: skip
    assert found[0] == start[0] == PRICES[:1000].min() / 2
    assert np.exp(found[1]) == pytest.approx(PRICES[:N].max())
    assert found[2::2] == pytest.approx(np.full(3, PRICES[:N].sum()))
    assert found[3::2] == pytest.approx((one + two - start)[3::2])
    assert errors(merged.predict(X[N:])) < 1.03 * errors(base.partial_fit(X[1000:N], PRICES[1000:N]).predict(X[N:]))


@pytest.mark.long("a stack and its graph")
@pytest.mark.parametrize("several", [False, pytest.param(True, marks=pytest.mark.long("stacks of two numbers"))])
def test_a_graph_and_an_explanation_say_the_same(several):
    y = np.stack([PRICES, PRICES**1.5], axis=1) if several else PRICES
    model = AutoRegressor().fit(X[:N], y[:N])
    rows = np.vstack([X[N : N + 40], 100.0 * X[:3]])  # of which a graph of three covariances takes 10 ms each
    found = runtime.InferenceSession(model.to_onnx("float64").SerializeToString()).run(None, {"X": rows})
    for output, expected in zip(found, model.predict(rows, return_std=True), strict=True):
        np.testing.assert_allclose(output.reshape(expected.shape), expected, rtol=1e-4)  # leaves: single precision
    for row, predicted in zip(rows[-5:], model.predict(rows[-5:]).reshape(5, -1)[:, 0], strict=True):
        explained = explain_number_stack(model.as_model(), batch_of(row), 0 if several else None)
        assert sum(part.mean for part in explained.features) == pytest.approx(predicted)
        assert sum(part.mean for part in explained.members) == pytest.approx(predicted)


def named(row):
    return {f"x{k}": x for k, x in enumerate(row.tolist())}


@pytest.mark.long("1,010 rows one by one")
def test_single_rows_are_those_of_the_stack():
    model = RiverRegressor()
    for x, y in zip(X[:1010], PRICES, strict=False):
        model.learn_one(named(x), float(y))
    assert sum("logarithms" in name for name in model.members) == 3
    stack = new_number_stack(1, 10, Columns.named(list(named(X[0]))))
    stack.prepare(as_matrix(X[:1000]), targets=PRICES[:1000, None])
    stack.learn(as_matrix(X[:1010]), np.zeros(1010, np.int32), targets=PRICES[:1010, None])
    assert list(model.members.values()) == pytest.approx(stack.state[WEIGHTS].tolist(), abs=1e-6)
    assert model.predict_one(named(X[-1])) == pytest.approx(stack.numbers(as_matrix(X[-1:]))[0, 0])
