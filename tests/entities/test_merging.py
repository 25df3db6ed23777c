"""Merging models of entities keeps the laws of merging: order, grouping and a base do not matter."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from confidently import MergeError, OnlineClassifier, OnlineRegressor
from confidently.entities import EntityModels, merge_entities
from confidently.entities.merging import DECAY, DECAYING
from tests.entities.test_models import numbers, people, taste


def same(one: EntityModels, other: EntityModels) -> None:
    """Check that the entities of two models are the same, by the names of features and of classes."""
    assert sorted(one.keys_) == sorted(other.keys_) and one.n_seen_ == other.n_seen_
    for name in ("variance_weights_", "entity_variance_"):
        if hasattr(one, name):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-5, abs=1e-9)
    for key in one.keys_:
        a, b = one.deviation(key), other.deviation(key)
        assert a.rows == b.rows and sorted(map(str, a.features)) == sorted(map(str, b.features))
        order = [b.features.index(name) for name in a.features]
        np.testing.assert_allclose(a.mean, b.mean[order], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(a.variance, b.variance[order], rtol=1e-4, atol=1e-6)


@pytest.mark.long("three models of each kind, merged six times")
@pytest.mark.parametrize("kind", ["two", "four", "numbers"])
def test_order_and_grouping_do_not_matter(kind: str) -> None:
    X, y, key = numbers() if kind == "numbers" else people(classes=2 if kind == "two" else 4)
    shared = OnlineRegressor() if kind == "numbers" else OnlineClassifier("logistic")
    a, b, c = (EntityModels(shared=shared).fit(X[k::3], y[k::3], key=key[k::3]) for k in range(3))
    whole = merge_entities([a, b, c])
    same(whole, merge_entities([c, a, b]))
    same(whole, merge_entities([merge_entities([a, b]), c]))
    assert whole.score(X, y, key=key) > max(one.score(X, y, key=key) for one in (a, b, c))


def test_what_only_one_model_has_seen_is_taken_over() -> None:
    X, y, key = people()
    parts = [EntityModels().fit(X[key % 2 == k], y[key % 2 == k], key=key[key % 2 == k]) for k in range(2)]
    whole = merge_entities(parts)
    for k, part in enumerate(parts):
        for one in part.keys_[:5]:
            assert one % 2 == k
            np.testing.assert_allclose(whole._table.one(one).mean, part._table.one(one).mean, atol=1e-6)
            assert (whole.deviation(one).rows, whole.deviation(one).age) == (
                part.deviation(one).rows,
                part.deviation(one).age,
            )


def test_a_base_counts_once() -> None:
    X, y, key = people()
    base = EntityModels().fit(X[:1000], y[:1000], key=key[:1000])
    parts = [
        deepcopy(base).partial_fit(X[first : first + 1000], y[first : first + 1000], key=key[first : first + 1000])
        for first in (1000, 2000)
    ]
    whole = merge_entities(parts, base)
    assert whole.n_seen_ == 3000
    same(merge_entities([base, base], base), base)
    same(merge_entities([parts[0], base], base), parts[0])
    assert whole.score(X, y, key=key) >= parts[0].score(X, y, key=key)
    assert whole._table.one(key[0]).rows == int((key == key[0]).sum())
    start, one, other, found = (model._table.state() for model in (base, *parts, whole))
    left = DECAY**1000  # of the base, in each
    for name in DECAYING:
        expected = left * left * start[name] + sum(part[name] - left * start[name] for part in (one, other))
        np.testing.assert_allclose(found[name], np.maximum(expected, 0.0) if name == "noise" else expected, rtol=1e-12)


@pytest.mark.long("24,000 rows in sixteen parts")
@pytest.mark.parametrize("kind", ["two", "numbers"])
def test_what_decays_of_a_base_is_taken_from_each_part_once(kind: str) -> None:
    """Of many parts each has lost some of the base's evidence; their sum without the lost part would turn its sign."""
    X, y, key = numbers(24_000) if kind == "numbers" else people(24_000)
    shared = OnlineRegressor() if kind == "numbers" else OnlineClassifier()
    base = EntityModels(shared=shared).fit(X[:8000], y[:8000], key=key[:8000])
    mine = [np.flatnonzero((key % 16 == k) & (np.arange(24_000) >= 8000)) for k in range(16)]
    parts = [deepcopy(base).partial_fit(X[rows], y[rows], key=key[rows]) for rows in mine]
    whole, one = merge_entities(parts, base), EntityModels(shared=shared).fit(X, y, key=key)
    same(whole, merge_entities([merge_entities(parts[:5], base), merge_entities(parts[5:], base)], base))
    assert whole.score(X, y, key=key) > one.score(X, y, key=key) - 0.02
    if kind == "numbers":
        assert whole.noise_variance_ == pytest.approx(one.noise_variance_, rel=1e-3)
    else:
        assert whole.variance_weights_[0.0] < 1e-3


def test_entities_of_the_base_that_a_part_forgot_keep_their_rows() -> None:
    X, y, key = people(600, users=30)
    base = EntityModels(max_entities=24).fit(X[:300], y[:300], key=key[:300])
    parts = [deepcopy(base).partial_fit(X[k::2], y[k::2], key=key[k::2] + 100 * k) for k in (0, 1)]
    whole = merge_entities(parts, base)
    for one in whole.keys_:
        own = [part._table.one(one).rows for part in parts if one in part.keys_]
        before = base._table.one(one).rows if one in base.keys_ else 0
        assert whole._table.one(one).rows == before + sum(rows - before for rows in own) > 0


def test_parts_with_one_class() -> None:
    X, y, key = people()
    names = np.where(y == 1, "no", "yes")
    one = EntityModels().partial_fit(X[:500], names[:500], classes=["yes", "no"], key=key[:500])
    other = EntityModels().partial_fit(X[500:], names[500:], classes=["no", "yes"], key=key[500:])
    same(merge_entities([one, other]), merge_entities([other, one]))


def test_features_and_classes_are_matched_by_name() -> None:
    rows, y = taste()
    one = EntityModels("user").fit(rows[:200], y[:200])
    turned = sorted(range(200, 400), key=lambda i: (y[i] == y[0], rows[i]["genre"]))
    with pytest.warns(UserWarning, match="sorted"):
        other = EntityModels("user").fit([rows[i] for i in turned], [y[i] for i in turned])
    assert list(one.shared_.learner_.state) and one.deviation("u1").features != other.deviation("u1").features
    same(merge_entities([one, other]), merge_entities([other, one]))


def test_models_that_do_not_fit_are_refused() -> None:
    X, y, key = people(200)
    one = EntityModels().fit(X, y, key=key)
    for other, message in (
        (EntityModels(entity_variance=0.5).fit(X, y, key=key), "entity_variance"),
        (EntityModels(shared=OnlineClassifier("scw1")).fit(X, y, key=key), "rule"),
        (EntityModels(shared=OnlineRegressor()).fit(X, y.astype(float), key=key), "shared"),
    ):
        with pytest.raises(MergeError, match=message):
            merge_entities([one, other])
    views = [EntityModels(shared=OnlineClassifier(view="standard,pairs")).fit(X, y, key=key) for _ in range(2)]
    with pytest.raises(MergeError, match="view"):
        merge_entities(views)
    with pytest.raises(TypeError, match="integers"):
        merge_entities([one, EntityModels().fit(X, y, key=[str(k) for k in key])])
    with pytest.raises(TypeError, match="fitted"):
        merge_entities([one, EntityModels()])
    with pytest.raises(MergeError, match="at least one"):
        merge_entities([])
