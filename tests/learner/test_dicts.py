"""Rows that are dicts: however they are read, they are learned and predicted alike."""

import datetime
import math
import random
from collections import Counter, OrderedDict, UserDict

import numpy as np
import pandas as pd
import pytest

from confidently.data import open_stream
from confidently.estimators.parameters import recipe_of
from confidently.estimators.river import OnlineClassifier
from confidently.learner.dicts import DictRows
from confidently.views.table import make_view

SHORT = ["a", "", "to", "the", "four", "letters", "a longer name", "of sixteen bytes", "é", "\U0001f600", "1", "x=y"]
LONG = ["one of seventeen!", "日本語の名前と", "name " * 10, "long " * 60]
NAMES = [*SHORT, *LONG, *(f"word {k}" for k in range(300))]
VALUES = [0.0, 1.0, -2.5, 3, True, False, None, np.float64(0.25)]
OTHERS = ["red", "blue", np.float32(0.5), np.int64(2)]


def rows_of(seed, others=False):
    chance = random.Random(seed)
    found = []
    for _ in range(300):
        names = chance.sample(NAMES, chance.randrange(30))
        x = {(name + "!")[:-1]: chance.choice(VALUES) for name in names}
        if others and chance.random() < 0.5:
            x |= {chance.choice([1, "x", 2.5, "word 1"]): chance.choice(OTHERS)}
        found.append((x, chance.choice("ab")))
    return found


class ByEntry(UserDict):
    """What is no dict is read entry by entry."""


def rows(**changed):
    river = OnlineClassifier(**changed)
    return DictRows(recipe_of(river, make_view(river.view)), river.calibration, river.hash_bits)


def state(learner):
    keys, (text, start) = learner.core.features()
    return {**learner.learner.state, "keys": keys, "text": text, "start": start}


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.few(1)
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize(
    "settings", [{}, {"hash_bits": 5}, {"hash_bits": 20}, {"dtype": "float32", "rule": "pa1"}, {"view": "standard"}]
)
def test_rows_are_read_alike(settings, others):
    plain, by_entry, in_turns, only_learned = (rows(**settings) for _ in range(4))
    for k, (x, y) in enumerate(rows_of(1, others)):
        kind = [dict, OrderedDict, Counter, ByEntry][k % 4]
        expected = by_entry.predict(ByEntry(x)), by_entry.probabilities(ByEntry(x))
        assert (plain.predict(x), plain.probabilities(x)) == expected
        assert (in_turns.predict(kind(x)), in_turns.probabilities(kind(x))) == expected
        weight = 1.0 if k % 3 else 0.5
        by_entry.learn(ByEntry(x), y, weight)
        plain.learn(x, y, weight)
        in_turns.learn(kind(x), y, weight)
        only_learned.learn(dict(x), y, weight)
    for each in (plain, in_turns, only_learned):
        assert_same(state(each), state(by_entry))


def test_the_order_of_a_dict_does_not_matter():
    one, other = rows(), rows()
    names = {name: 0.0 + k for k, name in enumerate(NAMES)}
    for each in (one, other):
        each.learn(names, "a")
    chance = random.Random(2)
    for x, y in rows_of(2):
        shuffled = list(x.items())
        chance.shuffle(shuffled)
        one.learn(x, y)
        other.predict(dict(shuffled))
        other.learn(dict(shuffled), y)
    assert_same(one.learner.state, other.learner.state)


@pytest.mark.parametrize("change", [
    lambda x: x.update(b=3.0), lambda x: x.update(new=1.0), lambda x: x.pop("a"), lambda x: x.clear(),
    lambda x: x.update({"c": x.pop("a")}), lambda x: x.update({"a": None}), lambda x: x.setdefault("d", 7),
    lambda x: x.popitem(), lambda x: x.update(b=2.0, a=1.0), lambda x: x.update(b=x.pop("b")),
    lambda x: x.update({"d": x.pop("a"), "b": x.pop("b")}),
])  # fmt: skip
@pytest.mark.parametrize("known", [False, True])
def test_a_dict_may_change_after_it_was_predicted(change, known):
    model, other = rows(), rows()
    for each in (model, other):
        each.learn({"a": 1.0} | ({"b": 1.0, "c": 2.0, "d": -1.0} if known else {}), "x")
        each.learn({"a": -1.0}, "y")
    x = {"b": 1.0, "a": 2.0}
    model.predict(x)
    change(x)
    assert model.probabilities(x) == other.probabilities(dict(x))
    model.learn(x, "y")
    other.learn(dict(x), "y")
    assert_same(state(model), state(other))


def test_a_name_may_take_the_place_of_a_deleted_one():
    model, other = rows(), rows()
    for each in (model, other):
        for k in range(60):
            each.learn({f"name {k:02d}": float(k)}, "xy"[k % 2])
    for k in range(1, 60):
        x = {f"name {k:02d}": 1.0}
        model.predict(x)
        x.clear()
        x[f"name {k - 1:02d}"] = 1.0  # often at the same address
        assert model.probabilities(x) == other.probabilities(dict(x))


@pytest.mark.parametrize("bad", [-math.inf, math.inf, -1e200, 10**400, object(), b"bytes"])
def test_errors_leave_everything_as_it_was(bad):
    model, other = rows(), rows()
    for each in (model, other):
        each.learn({"a": 1.0}, "a")
        each.learn({"a": 1.0}, "b")
    for x, y in rows_of(3)[:50]:
        model.learn(x, y)
        other.learn(x, y)
        row = {"new " + y: 1.0, **x, "the": bad, "another": 2.0}
        told = []
        for kind in (dict, ByEntry):
            with pytest.raises(ValueError) as error:
                model.predict(kind(row))
            told.append(str(error.value))
            with pytest.raises(ValueError) as error:
                model.learn(kind(row), y)
            told.append(str(error.value))
        assert len(set(told)) == 1
        assert_same(state(model), state(other))


@pytest.mark.parametrize("missing", [None, math.nan, -math.nan, np.float64("nan"), pd.NA, pd.NaT])
def test_missing_values_leave_no_trace(missing):
    model, other = rows(), rows()
    for x, y in rows_of(3)[:50]:
        for kind in (dict, ByEntry):
            row = kind({"never": missing, **x, "the": missing})
            plain = {name: value for name, value in x.items() if name != "the"}
            model.learn(row, y)
            other.learn(plain, y)
            assert model.probabilities(row) == other.probabilities(plain)
    assert_same(state(model), state(other))


def test_dates_are_the_features_that_readers_make_of_them():
    aware = datetime.timezone(datetime.timedelta(hours=2))
    moments = {
        "at": datetime.datetime(2024, 1, 5, 22, 10, 1, 500_000),
        "there": datetime.datetime(2024, 1, 5, 3, tzinfo=aware), "day": datetime.date(1999, 12, 31),
        "clock": datetime.time(10, 30), "stamp": pd.Timestamp("2024-02-29 12:00"),
    }  # fmt: skip
    [batch] = open_stream([moments | {"label": "a"}], normalize="none", multilabel=False)
    model = rows()
    for kind in (dict, ByEntry):
        values, columns = model.core.row(kind(moments), True, 1e100)
        assert list(model.features().names) == list(batch.new_features.names)
        np.testing.assert_array_equal(values[columns], batch.values)


def test_a_name_that_is_no_text_is_an_error():
    model = rows()
    for y in "ab":
        model.learn({"a": 1.0}, y)
    for name in ("\ud800", "\ud800 and more"):
        with pytest.raises(UnicodeEncodeError):
            model.predict({"a": 1.0, name: 1.0})
        with pytest.raises(UnicodeEncodeError):
            model.learn({"b": 1.0, name: 1.0}, "a")
    assert model.core.size == 1


def test_forgotten_names_get_other_columns():
    model = rows()
    for y in "ab":
        model.learn({"a": 1.0}, y)
    for _ in range(3):
        with pytest.raises(ValueError, match="another"):
            model.learn({"b": 1.0, "another": math.inf}, "a")
    for _ in range(3):
        model.learn({"c": 2.0, "b": 1.0}, "b")
    assert list(model.features().names) == ["a", "c", "b"]
    values, columns = model.core.row({"b": 2.0, "c": 3.0, "a": 4.0}, True, 1e100)
    assert columns.tolist() == [0, 1, 2]
    assert values.tolist() == [4.0, 3.0, 2.0]


def test_more_names_than_are_remembered():
    one, other = rows(hash_bits=17), rows(hash_bits=17)
    chance = random.Random(4)
    vocabulary = [f"{k} is a name of another length"[: chance.randrange(6, 31)] for k in range(200_000)]
    for _ in range(3):
        for k in range(0, len(vocabulary), 1000):
            x = dict.fromkeys(vocabulary[k : k + 1000], 1.0)
            one.learn(x, k % 3 == 0)
            other.learn(ByEntry(x), k % 3 == 0)
    assert_same(one.learner.state, other.learner.state)


VIEWS = ["unit", "standard", "center", "ranks", "bins", "idf", "nb", "standard,pairs", "first", "standard,cosines"]


@pytest.mark.parametrize("classes", ["ab", "abc"])
@pytest.mark.parametrize("view", VIEWS)
def test_views_make_in_the_compiled_loop_what_they_make_of_matrices(view, classes, monkeypatch):
    """Rows that bring features, and with them terms and first values, are learned as matrices there, too."""
    compiled = rows(view=view)
    monkeypatch.setattr(DictRows, "_binds_views", lambda *_: False)
    matrices = rows(view=view)
    assert matrices.only_matrices and not compiled.only_matrices
    chance, in_loop = random.Random(0), 0
    for k in range(700):
        x = {f"x{j}": chance.choice([0.0, 1.0, chance.gauss(0.0, 3.0)]) for j in chance.sample(range(5 + k // 100), 4)}
        y = classes[k % 3 % len(classes)] if x.get("x1", 0.0) > 0.0 else chance.choice(classes)
        others = x | {"never": 2.0}
        assert compiled.predict(others) == matrices.predict(others)
        assert compiled.predict(x) == matrices.predict(x)
        expected = matrices.probabilities(x)
        assert compiled.probabilities(x) == {name: pytest.approx(p, rel=1e-12) for name, p in expected.items()}
        if k % 50 == 49:
            for each in (compiled, matrices):
                with pytest.raises(ValueError, match="the value inf is too large"):
                    each.learn(x | {"new": math.inf}, y)
        weight = chance.choice([0.0, 0.5, 1.0])
        before = compiled.learner.state
        compiled.learn(x, y, weight)
        in_loop += compiled.learner.state is before
        matrices.learn(x, y, weight)
    assert in_loop > 200
    assert_same(state(compiled), state(matrices))
