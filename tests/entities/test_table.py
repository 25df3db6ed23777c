"""The compiled entities do what their reference implementation does."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from confidently.data.memory.matrix import as_matrix
from confidently.entities.table import EntityTable
from tests.twins.entities import Entities

PRIORS = [0.05, 0.7]
KINDS = ["two classes", "three classes", "numbers"]


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Sparse rows, and keys of which some are frequent."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6)) * (random.random((n, 6)) < 0.5)
    return X, [f"user {k}" for k in random.zipf(1.7, n) % 9]


def examples(kind: str, n: int, seed: int = 0) -> tuple[int, np.ndarray, np.ndarray]:
    """Number of outputs, offsets and labels or targets."""
    random = np.random.default_rng(seed + 1)
    outputs = 3 if kind == "three classes" else 1
    offsets = random.normal(size=(n, outputs))
    y = random.normal(size=n) * 2 if kind == "numbers" else random.integers(0, max(outputs, 2), n).astype(np.int32)
    return outputs, offsets, y


def new_table(kind: str, outputs: int, **limits: int) -> EntityTable:
    table = EntityTable(PRIORS, 1, kind == "numbers", limits.get("max_entities"), limits.get("max_age"))
    table.lose_exactness()  # the exact posterior of numbers is tested in test_hierarchy.py
    table.grow(outputs)
    return table


def learn(
    table: EntityTable, X: Any, keys: list[str], offsets: Any, y: Any, first: int = 0, weight: Any = None
) -> None:
    labels, targets = (None, y) if table.regression else (y, None)
    table.learn(keys, as_matrix(X), offsets, labels, targets, weight, first)


def as_dict(row: np.ndarray) -> dict[int, float]:
    return {0: 1.0, **{j + 1: float(value) for j, value in enumerate(row) if value}}


def loss(twin: Entities, key: str, x: dict[int, float], offsets: list[float], y: float) -> tuple[float, ...]:
    """One row, and both of its losses before it is learned."""
    if twin.regression:
        error = y - twin.number(key, x, offsets[0])[0]
        return 1, error**2, abs(error)
    p = twin.probability(key, x, offsets)
    truth = p[int(y)] if len(p) > 1 else p[0] if y == 1 else 1 - p[0]
    return 1, -np.log(truth), truth < (max(p) if len(p) > 1 else 0.5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_core_learns_as_its_reference_does(kind: str, weighted: bool) -> None:
    n = 300
    X, keys = rows(n)
    outputs, offsets, y = examples(kind, n)
    weight = np.random.default_rng(5).choice([0.0, 0.5, 1.0, 3.0], n) if weighted else None
    table, twin = new_table(kind, outputs), Entities(PRIORS, outputs, kind == "numbers")
    learn(table, X, keys, offsets, y, weight=weight)
    losses = np.zeros(3)
    for i in range(n):
        if weight is None or weight[i]:
            losses += loss(twin, keys[i], as_dict(X[i]), offsets[i].tolist(), y[i])
            twin.learn(keys[i], as_dict(X[i]), offsets[i].tolist(), y[i], 1.0 if weight is None else weight[i])
    assert table.weights == pytest.approx(twin.shares(), rel=1e-4, abs=1e-12)
    np.testing.assert_allclose(table.state()["losses"], losses, rtol=1e-4)
    for key, own in twin.weights.items():
        found = table.one(key)
        assert found.features.tolist() == sorted(own)
        expected = np.array([own[j] for j in sorted(own)]).reshape(len(own), outputs, len(PRIORS), 2)
        np.testing.assert_allclose(found.mean, expected[..., 0], rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(found.variance, expected[..., 1], rtol=2e-5)
    mean, variance, squares = table.scores([*keys[:50], "stranger"], as_matrix(X[:51]), n)
    for i, key in enumerate([*keys[:50], "stranger"]):
        expected = twin.score(key, as_dict(X[i]))
        assert squares[i] == pytest.approx(1 + X[i] @ X[i])
        for (k, g), (m, v) in expected.items():
            assert (mean[i, k, g], variance[i, k, g]) == pytest.approx((m, v), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_training_in_parts_and_from_arrays_gives_the_same_bits(kind: str) -> None:
    X, keys = rows(200)
    outputs, offsets, y = examples(kind, 200)
    whole, parts = new_table(kind, outputs), new_table(kind, outputs)
    learn(whole, X, keys, offsets, y)
    for first in range(0, 200, 37):
        cut = slice(first, first + 37)
        learn(parts, X[cut], keys[cut], offsets[cut], y[cut], first)
        parts = pickle.loads(pickle.dumps(parts)) if first % 2 else parts.copied()
    assert parts.keys == whole.keys
    for name, array in whole.state().items():
        np.testing.assert_array_equal(parts.state()[name], array, err_msg=name)


def test_an_entity_is_forgotten_when_it_is_too_old() -> None:
    X, keys = rows(100)
    _, offsets, y = examples("two classes", 100)
    table = new_table("two classes", 1, max_age=30)
    learn(table, X[:1], ["old"], offsets[:1], y[:1])
    learn(table, X[1:30], keys[1:30], offsets[1:30], y[1:30], 1)
    known = table.scores(["old"], as_matrix(X[:1]), 30)[0]
    assert known.any()
    assert not table.scores(["old"], as_matrix(X[:1]), 31)[0].any()
    learn(table, X[31:32], ["old"], offsets[31:32], y[31:32], 31)
    assert table.one("old").rows == 1
    learn(table, X[32:100], keys[32:100], offsets[32:100], y[32:100], 32)
    learn(table, X[:1], ["new"], offsets[:1], y[:1], 100)
    assert "old" not in table.slots
    assert len(table.core) == len(table.slots)


def test_the_entities_that_were_seen_last_are_kept() -> None:
    X, _ = rows(40)
    _, offsets, y = examples("two classes", 40)
    table, sizes = new_table("two classes", 1, max_entities=16), [0]
    for i in range(40):
        learn(table, X[i : i + 1], ["first" if i % 3 == 0 else f"user {i}"], offsets[i : i + 1], y[i : i + 1], i)
        sizes.append(len(table))
    assert max(sizes) == 16 and {after for size, after in pairwise(sizes) if after < size} == {14}  # without an eighth
    assert "first" in table.slots
    assert table.keys[-1] == "user 38" and "user 1" not in table.slots


def test_a_third_class_keeps_what_two_have_learned() -> None:
    X, keys = rows(60)
    _, offsets, y = examples("two classes", 60)
    table = new_table("two classes", 1)
    learn(table, X, keys, offsets, y)
    before = table.one(keys[0])
    table.grow(3)
    after = table.one(keys[0])
    np.testing.assert_array_equal(after.mean[:, 1], before.mean[:, 0])
    np.testing.assert_array_equal(after.mean[:, 0], -before.mean[:, 0])
    assert not after.mean[:, 2].any()
    np.testing.assert_allclose(after.variance[:, 2], np.broadcast_to(PRIORS, after.mean[:, 2].shape), rtol=1e-6)


def test_damaged_arrays_are_refused() -> None:
    X, keys = rows(20)
    _, offsets, y = examples("two classes", 20)
    table = new_table("two classes", 1)
    learn(table, X, keys, offsets, y)
    state = table.state()
    for name, wrong in (
        ("size", state["size"] + 1), ("features", state["features"][::-1].copy()), ("cells", state["cells"][1:]),
        ("cells", np.full_like(state["cells"], np.nan)), ("last", state["last"][1:]),
        ("evidence", state["evidence"][1:]),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            new_table("two classes", 1).restore(table.keys, state | {name: wrong})
    with pytest.raises(ValueError, match="keys do not fit"):
        new_table("two classes", 1).restore(table.keys[1:], state)
