"""Stacks for River, and sets, withheld answers and novelty of dicts: those of the same rows in arrays and files."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

pytest.importorskip("river", reason="River is not installed")

import pandas as pd
from river import checks
from sklearn.datasets import load_digits

import confidently
import confidently.river
from confidently import load
from confidently.data import open_stream
from confidently.data.memory.matrix import as_matrix
from confidently.river import (
    AutoClassifier,
    AutoRegressor,
    OnlineClassifier,
    OnlineMultiLabelClassifier,
    OnlineRegressor,
)
from confidently.stack.choice import new_stack
from confidently.stack.number_choice import new_number_stack
from confidently.views.columns import Columns

KINDS = [AutoClassifier, AutoRegressor]
EACH = pytest.mark.parametrize("kind", KINDS)
MOST = pytest.mark.parametrize(
    "kind", [AutoRegressor, pytest.param(AutoClassifier, marks=pytest.mark.long("a hundred dicts of a larger stack"))]
)
MANY_CHECKS = pytest.mark.long("dozens of checks of stacks")


def rows(kind, n=250, seed=0):
    """Rows whose class or number needs the product of two numbers of different sizes, and a category."""
    generator = np.random.default_rng(seed)
    for _ in range(n):
        a, b, town = generator.normal(), 1e6 * generator.normal(), str(generator.choice(["Rom", "Oslo"]))
        number = float(1e-6 * a * b + (town == "Rom") + 0.1 * generator.normal())
        yield (
            {"a": a, "b": b, "town": town, "zero": 0.0},
            number if kind is AutoRegressor else ("x" if a * b > 0 else "y"),
        )


def trained(model, pairs):
    for x, y in pairs:
        model.learn_one(x, y)
    return model


def said(model, x):
    return model.predict_one(x) if isinstance(model, AutoRegressor) else model.predict_proba_one(x)


# features are numbered as they appear, so that sums have another order, and ties are decided otherwise
NOT_HERE = "check_shuffle_features_no_impact"


@pytest.mark.long("checks of stacks")
@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=MANY_CHECKS) for first in range(1, 16))])
@MOST
def test_rivers_checks(kind, first):
    """Every sixteenth: so each check of some data set, and each data set in some check."""
    for check in [check for check in checks.yield_checks(kind()) if check.__name__ != NOT_HERE][first::16]:
        check(kind())


@pytest.mark.long("150 dicts of a stack")
@EACH
def test_it_is_the_stack_of_the_same_rows(kind):
    pairs = list(rows(kind, 150))
    model = trained(kind(), pairs)
    names = list(model._rows.features().names)
    X = np.zeros((len(pairs), len(names)))
    for i, (x, _) in enumerate(pairs):
        for name, value in x.items():
            column = names.index(f"{name}={value}" if isinstance(value, str) else name)
            X[i, column] = 1.0 if isinstance(value, str) else value
    if kind is AutoClassifier:
        labels = np.array([model._rows.table.get(y) for _, y in pairs], dtype=np.int32)
        stack = new_stack(2, len(names), Columns.named(names))
        stack.prepare(as_matrix(X))
        stack.learn(as_matrix(X), labels)
        assert list(model.members.values()) == pytest.approx(stack.state["mixture.weights"].tolist(), abs=0.05)
    else:
        y = np.array([y for _, y in pairs])
        stack = new_number_stack(1, len(names), Columns.named(names))
        stack.prepare(as_matrix(X[:100]))
        stack.learn(as_matrix(X), np.zeros(len(y), np.int32), targets=y[:, None])
        assert list(model.members.values()) == pytest.approx(stack.state["mixture.weights"].tolist(), abs=1e-6)
        found = model.predict_one(pairs[0][0], with_dist=True)
        assert found.mu == model.predict_one(pairs[0][0]) == pytest.approx(stack.numbers(as_matrix(X[:1]))[0, 0])
        deviation = stack.number_deviations(stack.number_distribution(as_matrix(X[:1])))[0, 0]
        assert found.sigma == pytest.approx(deviation, rel=1e-6)
    assert list(model.members) == stack.names


@pytest.mark.long("a thousand dicts of a stack")
@EACH
def test_of_more_than_a_thousand_rows_it_is_the_estimator_of_a_file(kind, tmp_path):
    """Whose members the first thousand choose, with views by quantiles."""
    pairs = list(rows(kind, 1010))
    here, there = trained(kind(), pairs), getattr(confidently, kind.__name__)()
    (tmp_path / "rows.jsonl").write_text(
        "".join(f"{json.dumps({'label': y} | x)}\n" for x, y in pairs), encoding="utf-8"
    )
    options = {"normalize": "none", "zeros": True, "label": "label", "targets": kind is AutoRegressor}
    with open_stream(str(tmp_path / "rows.jsonl"), **options) as stream:
        there.fit_stream(stream)
    assert any("bins" in name for name in here.members)
    assert list(here.members.items()) == list(zip(there.members_, there.weights_.tolist(), strict=True))


def test_words_as_names_are_text():
    generator, model = np.random.default_rng(0), AutoClassifier()
    for _ in range(110):
        k = int(generator.integers(0, 2))
        model.learn_one({f"w{2 * j + (k if j < 20 else 0)}": int(j % 3 + 1) for j in generator.integers(0, 400, 50)}, k)
    assert "naive Bayes" in model.members


@MOST
def test_frames_are_learned_and_predicted_as_their_rows(kind):
    pairs = list(rows(kind, 130))
    frame, targets = pd.DataFrame([x for x, _ in pairs]), pd.Series([y for _, y in pairs])
    one, many = trained(kind(), pairs), kind()
    if kind is AutoRegressor:
        assert many.predict_many(frame).tolist() == [0.0] * 130
        assert (many.predict_one({"a": 1.0}, with_dist=True).sigma, many.predict_one({})) == (1.0, 0.0)
    for part in (slice(0, 30), slice(30, 130)):
        many.learn_many(frame[part], targets[part])
    assert list(many.members.values()) == pytest.approx(list(one.members.values()))
    found, expected = many.predict_many(frame).tolist(), [one.predict_one(x) for x, _ in pairs]
    assert found == (pytest.approx(expected) if kind is AutoRegressor else expected)
    if kind is AutoClassifier:
        p = [one.predict_proba_one(x)["x"] for x, _ in pairs]
        assert many.predict_proba_many(frame)["x"].tolist() == pytest.approx(p)
        mean, variance = one.margin_distribution_one(pairs[0][0])
        assert list(mean) == list(variance) == [max(one._rows.table.names)]
    with pytest.raises(ValueError, match="X has 130 rows and y 129"):
        many.learn_many(frame, targets[1:])


@pytest.mark.long("200 dicts of stacks")
@MOST
def test_copies_and_files_continue(kind, tmp_path):
    late = {"a": 1.0, "b": 1.0, "town": "Bonn", "zero": 2.0}, "z" if kind is AutoClassifier else 3.0
    pairs = [*rows(kind, 60), late, *rows(kind, 50, seed=1)]
    model = trained(kind(), pairs[:40])
    others = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for one in (model, *others):
        trained(one, pairs[40:])
    probe = pairs[0][0]
    assert said(model, probe) == said(others[0], probe) == said(others[1], probe)
    assert kind is AutoRegressor or set(said(model, probe)) == {"x", "y", "z"}
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert isinstance(loaded, getattr(confidently, kind.__name__)) and list(loaded.members_) == list(model.members)


@MOST
@pytest.mark.parametrize("n", [0, 5, 110])
def test_a_refused_row_leaves_the_stack_unchanged(kind, n):
    model, label = trained(kind(), rows(kind, n)), "other" if kind is AutoClassifier else 1.0
    before, known = said(model, {"a": 1.0}), model._rows.core.size
    refused = [({"a": float("inf"), "new": 1.0}, label), ({"new": [1]}, label), ({"new": 1e101}, label)]
    for bad, y in refused + ([({"new": 1.0}, float("inf"))] if kind is AutoRegressor else []):
        with pytest.raises(ValueError):
            model.learn_one(bad, y)
    with pytest.raises(ValueError, match="weight"):
        model.learn_one({"new": 1.0}, label, w=-1.0)
    assert said(model, {"a": 1.0}) == before and model._rows.core.size == known
    with pytest.raises(ValueError, match="dtype: expected one of"):
        kind(dtype="int")


# --- sets, withheld answers, novelty ---------------------------------------------------------------------------------

NAMES = np.array([f"d{k}" for k in (3, 1, 4, 0, 5, 9, 2, 6, 8, 7)])


def digits(n):
    """Rows of a few columns, the first n and a hundred more, as dicts."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order][: n + 100, 10:60:4], y[order][: n + 100]
    names = [f"p{k}" for k in range(X.shape[1])]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    return rows[:n], rows[n:], y[:n]


PROMISED = [
    (OnlineClassifier, 1200), (OnlineRegressor, 400), (AutoRegressor, 120),
    pytest.param(AutoClassifier, 150, marks=pytest.mark.long("a stack of digits")),
]  # fmt: skip


@pytest.mark.parametrize("kind, n", PROMISED)
def test_what_is_promised_of_dicts_is_what_is_of_arrays(kind, n, tmp_path):
    rows, rows_new, y = digits(n)
    model, predicts_numbers = kind(), kind in (OnlineRegressor, AutoRegressor)
    assert model.novelty_one(rows[0]) == 1.0
    trained(model, zip(rows, y.astype(float).tolist() if predicts_numbers else NAMES[y].tolist(), strict=True))
    model.save(tmp_path / "m.cw")
    same = load(tmp_path / "m.cw")
    asked = [*rows_new, *({name: 50.0 * value + 9.0 for name, value in x.items()} for x in rows_new[:2])]
    table = pd.DataFrame(asked)[list(same.feature_names_in_)]
    np.testing.assert_allclose([model.novelty_one(x) for x in asked], same.novelty(table), rtol=1e-9)
    if predicts_numbers:
        assert kind().predict_interval_one(asked[0], 0.5) == (-math.inf, math.inf)
        for coverage in (0.5, 0.9):
            found = [model.predict_interval_one(x, coverage) for x in asked]
            np.testing.assert_array_equal(found, same.predict_interval(table, coverage))
            assert np.isfinite(found).all()
        with pytest.raises(ValueError, match=r"predict_interval_one: coverage must be in \(0, 1\), got 90"):
            model.predict_interval_one(asked[0], 90)
        return
    sets, leave = same.predict_set(table, 0.9), same.abstain(table, 0.3)
    assert not sets.all() and 0 < leave.mean() < 1
    for x, inside, left in zip(asked, sets, leave, strict=True):
        assert model.predict_set_one(x, coverage=0.9) == set(same.classes_[inside])
        assert model.abstain_one(x, risk=0.3) is bool(left)


def test_sets_of_labels_are_those_of_arrays():
    rows, rows_new, y = digits(600)
    model = OnlineMultiLabelClassifier()
    assert model.predict_set_one(rows[0]) == set()
    for x, k in zip(rows, y.tolist(), strict=True):
        model.learn_one(x, {"odd": k % 2 == 1, "large": k > 4})
    found = [model.predict_set_one(x, 0.8) for x in rows_new]
    learner, names = model._rows.learner, model._rows.table.names
    for x, one in zip(rows_new, found, strict=True):
        p = model.predict_proba_one(x)
        [inside] = learner.conformal.sets(np.array([[p[name][True] for name in names]]), 0.8, by_class=True)
        assert one == {name for name, yes in zip(names, inside, strict=True) if yes}
    assert {frozenset(one) for one in found} > {frozenset({"odd"}), frozenset({"large"})}


def test_alarms_of_dicts_are_those_of_arrays(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1400, 3)).round(3)
    X[700:, 1] += 3.0
    y = ((X[:, 0] > 0) ^ (np.arange(1400) > 700)).astype(int)
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    for kind, fitted in ((OnlineClassifier, confidently.OnlineClassifier(view=None)), (AutoClassifier, None)):
        model = kind()
        assert model.alarms_ == 0 and model.rows_since_alarm_ == 0
        if kind is AutoClassifier:
            assert model.alarm_columns_ is None and model.moved_columns_ is None and model.moves_ == []
        model.learn_many(rows, pd.Series(y))
        assert model.alarms_ == 1 and 500 < model.rows_since_alarm_ < 700
        model.save(tmp_path / "m.cw")
        same = load(tmp_path / "m.cw") if fitted is None else fitted.partial_fit(X, y, classes=[0, 1])
        assert (model.alarms_, model.rows_since_alarm_) == (same.alarms_, same.rows_since_alarm_)
    assert model.alarm_columns_ == same.alarm_columns_ == ["b"]
    assert model.moved_columns_ == same.moved_columns_ and 700 < model.moved_columns_["b"] < 900
    assert model.moves_ == same.moves_ and 700 <= model.moves_[0] < 900


@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_nothing_is_excluded_before_there_are_rows_enough(kind):
    model, rows = kind(), digits(10)[0]
    assert model.predict_set_one(rows[0]) == set() and model.abstain_one(rows[0])
    model.learn_one(rows[0], "a")
    assert model.predict_set_one(rows[0]) == {"a"} and model.abstain_one(rows[0])
    for x in rows[1:5]:
        model.learn_one(x, "b")
    assert model.predict_set_one(rows[0]) == {"a", "b"} and model.abstain_one(rows[0])


def test_what_cannot_be_promised_is_one_error():
    rows = digits(2)[0]
    for model in (OnlineClassifier(calibration=None), OnlineMultiLabelClassifier(calibration=None)):
        with pytest.raises(ValueError, match="predict_set_one: calibration=None has calibrated nothing"):
            model.predict_set_one(rows[0])
    with pytest.raises(ValueError, match="abstain_one: calibration=None has calibrated nothing"):
        OnlineClassifier(calibration=None).abstain_one(rows[0])
    with pytest.raises(ValueError, match=r"predict_set_one: coverage must be in \(0, 1\), got 90"):
        OnlineClassifier().predict_set_one(rows[0], 90)
    with pytest.raises(ValueError, match=r"abstain_one: risk must be in \(0, 1\), got 0"):
        OnlineClassifier().abstain_one(rows[0], 0)


def test_novelty_of_label_sets_and_without_a_calibration():
    rows, rows_new, y = digits(200)
    model, other = OnlineMultiLabelClassifier(), OnlineClassifier(calibration=None)
    for x, k in zip(rows, y.tolist(), strict=True):
        model.learn_one(x, {"odd": k % 2 == 1, "large": k > 4})
        other.learn_one(x, k)
    assert 0.0 < model.novelty_one(rows_new[0]) <= 1.0
    with pytest.raises(ValueError, match="novelty_one: calibration=None has calibrated nothing"):
        other.novelty_one(rows_new[0])
