"""Trees: the same as scikit-learn's, grown when and on what the page says, kept in files, merged, and left out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import confidently
from confidently import (
    AutoClassifier,
    AutoRegressor,
    Categories,
    ModelFileError,
    OnlineClassifier,
    OnlineRegressor,
    Trees,
    make_view,
    merge,
)  # fmt: skip
from confidently.data.memory.matrix import as_matrix
from confidently.models import file
from confidently.views.columns import MISSING, ZERO, Columns
from confidently.views.forest import Forest
from confidently.views.trees import COUNTS, ROWS, TARGET, WEIGHT
from confidently.views.view import Labelled
from tests.command_line import here

N, D = 700, 4
HOW = {"l2_regularization": 1.0, "early_stopping": False, "random_state": 0, "max_bins": N // 8}


def table(n=N, seed=0):
    """Rows whose class is a checkerboard of two columns, in single precision."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, D)).astype(np.float32).astype(float)
    return X, ((X[:, :2] > 0).sum(axis=1) % 2).astype(np.int32)


def grown(view, kind=ZERO, n_classes=2):
    return view.grown(view.new_arrays(n_classes), Columns.alike(D, kind), n_classes)


def learned(view, arrays, X, labels, n_classes=2, targets=None, weight=None, start=None):
    labelled = Labelled(as_matrix(X), None, 0, labels, start, weight, None, n_classes, targets)
    return view.learn(arrays, labelled, None)


def scores(view, arrays, X):
    seen, found = view.see(arrays, as_matrix(X), 0, len(X)), np.zeros((len(X), len(arrays["trees.base"])))
    for row in range(len(X)):
        part = slice(seen.start[row], seen.start[row + 1])
        found[row, seen.columns[part]] = seen.values[part]
    return found


def growths(view, n, piece=1):
    """After how many rows trees have grown."""
    X, y = table(n)
    arrays, found, before = grown(view), [], 0.0
    for first in range(0, n, piece):
        arrays, _ = learned(view, arrays, X[first : first + piece], y[first : first + piece])
        if arrays[COUNTS][1] < before + piece:
            found.append(first + piece)
        before = arrays[COUNTS][1]
    return found


# --- what they are ------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_scikit_learn():
    view, (X, _) = Trees(first=N, rounds=20), table()
    targets = np.column_stack([X[:, 0] * X[:, 1], 100.0 + 5.0 * np.sin(3.0 * X[:, 2])])
    arrays, _ = learned(view, grown(view, n_classes=2), X, np.zeros(N, np.int32), 2, targets)
    for k, own in enumerate(targets.T):
        standard = (own - own.mean()) / own.std()
        model = HistGradientBoostingRegressor(max_iter=20, **HOW).fit(X, standard)
        assert np.allclose(scores(view, arrays, X)[:, k], model.predict(X), atol=1e-6)


def test_labels_are_those_of_scikit_learn():
    view, (X, y) = Trees(first=N, rounds=20), table()
    has = np.column_stack([y, X[:, 2] > 0.3, np.zeros(N)]).astype(bool)  # no row has the last one
    start = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    arrays, _ = learned(view, grown(view, n_classes=3), X, np.nonzero(has)[1].astype(np.int32), 3, start=start)
    found = scores(view, arrays, X)
    for k in range(2):
        model = HistGradientBoostingClassifier(max_iter=20, **HOW).fit(X, has[:, k])
        assert np.allclose(found[:, k], model.decision_function(X), atol=1e-5)
    assert not found[:, 2].any()


def test_weights_count_and_missing_values_have_a_side_of_their_own():
    X, y = table()
    generator = np.random.default_rng(1)
    weight, gone = generator.choice([0.5, 3.0], N), generator.random((N, D)) < 0.2
    X = (40.0 * X).round() / 40.0  # of more values than bins, scikit-learn's bins would follow the weights
    view, there = Trees(first=N, rounds=20), ~gone
    rows = csr_array((X[there], np.nonzero(there)[1], np.concatenate([[0], np.cumsum(there.sum(axis=1))])), (N, D))
    arrays, _ = learned(view, grown(view, MISSING), rows, y, weight=weight)
    X[gone] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20, **HOW).fit(X, y, weight)
    found = view.see(arrays, as_matrix(rows), 0, N).values
    assert np.allclose(found, np.clip(model.decision_function(X), -30, 30), atol=1e-5)


def test_columns_that_are_mostly_of_one_value_split_as_those_of_scikit_learn():
    """Mostly 0, between others; mostly missing; mostly the largest; and one without such a value."""
    generator, X = np.random.default_rng(2), (40.0 * table()[0]).round() / 40.0
    usual = generator.random((N, D)) < [0.8, 0.85, 0.8, 0.0]
    X = np.where(usual, [0.0, np.nan, 2.0, 0.0], X)
    y = np.abs(X[:, 0]) + np.nan_to_num(X[:, 1], nan=0.7) ** 2 + (X[:, 2] < 0.3) + 0.1 * X[:, 3]
    weight, there = generator.uniform(0.5, 2.0, N), ~np.isnan(X)
    rows = csr_array((X[there], np.nonzero(there)[1], np.concatenate([[0], np.cumsum(there.sum(axis=1))])), (N, D))
    arrays, _ = learned(
        Trees(first=N, rounds=20), grown(Trees(), MISSING, 1), rows, np.zeros(N, np.int32), 1, y[:, None], weight
    )
    model = HistGradientBoostingRegressor(max_iter=20, **HOW).fit(X, (y - y.mean()) / y.std(), weight)
    assert set(arrays["trees.column"]) == {-1, 0, 1, 2, 3}
    assert np.allclose(Trees().see(arrays, as_matrix(rows), 0, N).values, model.predict(X), atol=1e-6)


def test_classes_are_those_of_scikit_learn():
    """Rows have weights of their own, so that no two splits gain the same, of which either might be taken."""
    generator = np.random.default_rng(0)
    X, weight = generator.integers(0, 80, (N, D)).astype(float), generator.uniform(0.5, 2.0, N)
    y = np.digitize(X[:, 0] + X[:, 1], [60, 100]).astype(np.int32)
    arrays, _ = learned(Trees(first=N, rounds=20), grown(Trees(), n_classes=3), X, y, 3, weight=weight)
    model = HistGradientBoostingClassifier(max_iter=20, **HOW).fit(X, y, weight)
    assert np.allclose(scores(Trees(), arrays, X), model.decision_function(X), atol=1e-6)


@pytest.mark.parametrize(
    ("values", "rows", "bins"), [(254, 6000, 255), (255, 6000, 255), (256, 6000, 255), (257, 6000, 255),
                                 (3000, 6000, 255), (49, 400, 50), (51, 400, 50), (390, 390, 48), (100, 100, 16)],
)  # fmt: skip
def test_bins_are_quantiles_or_values(values, rows, bins):
    """Each has eight rows or more, unless these would be fewer than 16 bins."""
    X = np.random.default_rng(0).normal(size=(6000, 1)).astype(np.float32).astype(float)
    X = np.tile(X[:values], (rows // values + 1, 1))[:rows]
    y = (np.sin(5.0 * X[:, 0]) > 0).astype(np.int32)
    view = Trees(first=rows, rounds=5)
    arrays, _ = learned(view, view.grown(view.new_arrays(2), Columns.alike(1, ZERO), 2), X, y)
    model = HistGradientBoostingClassifier(max_iter=5, **HOW | {"max_bins": bins}).fit(X, y)
    assert np.allclose(scores(view, arrays, X)[:, 1], model.decision_function(X), atol=1e-6)


# --- when they grow -----------------------------------------------------------------------------------------------


def test_they_grow_often_while_rows_are_few_and_then_when_these_have_doubled():
    assert growths(Trees(rounds=1), 800) == [100, 125, 156, 195, 243, 303, 378, 472, 590, 764]
    assert growths(Trees(rounds=1, first=2000), 9000, 1000) == [2000, 4000, 8000]


def test_a_window_has_the_last_rows_and_grows_steadily():
    view = Trees(rounds=2, first=100, window=200, every=50)
    assert growths(view, 500)[-4:] == [343, 393, 443, 493]
    X, y = table(N)
    turned = np.where(np.arange(N) < 450, y, 1 - y)
    arrays, _ = learned(view, grown(view), X, turned.astype(np.int32))
    only, _ = learned(Trees(rounds=2, first=200), grown(view), X[493:693], turned[493:693].astype(np.int32))
    assert arrays["trees.threshold"].tolist() == only["trees.threshold"].tolist()
    assert len(view.packed(arrays, D)[WEIGHT]) == 200


def test_fit_grows_at_the_end_and_keeps_no_rows():
    X, y = table(N)
    model = OnlineClassifier("logistic", view=Trees(rounds=20), shuffle=True).fit(X, y)
    other = HistGradientBoostingClassifier(max_iter=20, **HOW)
    order = np.argsort(model.decision_function(X))
    assert np.corrcoef(other.fit(X, y).decision_function(X)[order], model.decision_function(X)[order])[0, 1] > 0.98
    state = model.learner_.state
    assert state[COUNTS].tolist() == [0.0, 0.0, N, 0.0]
    assert state[ROWS].shape == (0, D)


@pytest.mark.parametrize("labels", [np.zeros(300, np.int32), np.arange(300, dtype=np.int32) >= 299])
def test_one_class_so_far_grows_nothing_and_the_next_one_soon(labels):
    X, _ = table(300)
    view = Trees(first=100, rounds=5)
    arrays, seen = learned(view, grown(view), X, labels.astype(np.int32))
    assert not len(seen.values)
    arrays, _ = learned(view, arrays, *table(100))
    assert len(arrays["trees.root"]) == 5


def test_constant_and_huge_columns():
    X, y = table()
    X[:, 2], X[:, 3] = 7.0, np.where(y, 1e90, -1e90)
    model = OnlineClassifier("logistic", view=Trees(rounds=5)).fit(X, y)
    assert model.score(X, y) == 1.0


def test_a_class_of_hardly_any_weight():
    X, y = table()
    weight = np.where(y > 0, 1e-99, 1e8)
    model = OnlineClassifier("logistic", view=Trees(rounds=5)).partial_fit(X, y, sample_weight=weight, classes=[0, 1])
    assert np.isfinite(model.predict_proba(X)).all()


def test_features_without_end():
    """Rows of new features only: the first 1,024 are looked at."""
    model = OnlineClassifier("logistic", view=Trees(rounds=2))
    for k in range(130):
        model.partial_fit([{f"w{10 * k + j}": 1.0 for j in range(10)}], [k % 2], classes=[0, 1])
    assert model.learner_.state[ROWS].shape[1] == 1024
    assert model.predict([{"w1290": 1.0}]).shape == (1,)


# --- in files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [OnlineClassifier, OnlineRegressor])
def test_training_continues_from_a_file(kind, tmp_path):
    X, y = table(900)
    view = Trees(rounds=5, window=300, every=100)
    options = {"classes": [0, 1]} if kind is OnlineClassifier else {}
    whole = kind(view=view).partial_fit(X, y, **options)
    for at in (50, 130, 555):
        part = kind(view=view).partial_fit(X[:at], y[:at], **options)
        part.save(tmp_path / "model")
        confidently.load(tmp_path / "model").partial_fit(X[at:], y[at:]).save(tmp_path / "continued")
        whole.save(tmp_path / "whole")
        assert (tmp_path / "continued").read_bytes() == (tmp_path / "whole").read_bytes()


DAMAGE = {
    "a cycle": ("trees.right", 0, lambda a: a.__setitem__(0, 0)),
    "a child behind all nodes": ("trees.right", 0, lambda a: a.__setitem__(0, len(a) + 5)),
    "a child in another tree": ("trees.right", 0, lambda a: a.__setitem__(0, len(a) - 1)),
    "a column that is not there": ("trees.column", 0, lambda a: a.__setitem__(0, D)),
    "an inner node at the end": ("trees.column", 0, lambda a: a.__setitem__(-1, 0)),
    "a score that is not there": ("trees.output", 0, lambda a: a.__setitem__(0, 2)),
    "a root behind all nodes": ("trees.root", 0, lambda a: a.__setitem__(-1, 10**6)),
    "roots in another order": ("trees.root", 0, lambda a: a.__setitem__(1, 0)),
    "no number": ("trees.threshold", 0, lambda a: a.__setitem__(0, np.nan)),
    "other rows": (COUNTS, 0, lambda a: a.__setitem__(0, 3)),
    "a class that is not there": (TARGET, 0, lambda a: a.__setitem__((3, 0), 2.0)),
    "half a class": (TARGET, 0, lambda a: a.__setitem__((3, 0), 0.5)),
    "a negative count": (COUNTS, 0, lambda a: a.__setitem__(2, -1)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_trees_are_refused(damage, tmp_path):
    X, y = table()
    OnlineClassifier(view=Trees(rounds=3)).partial_fit(X, y, classes=[0, 1]).save(tmp_path / "model")
    contents = file.read(tmp_path / "model", file.LINEAR)
    header = {name: value for name, value in file.peeked(tmp_path / "model").items() if name not in ("crc32", "format")}
    name, _, change = DAMAGE[damage]
    arrays = {key: array.copy() for key, array in contents.arrays.items()}
    change(arrays[name])
    file.write(tmp_path / "damaged", header, arrays)
    with pytest.raises(ModelFileError):
        confidently.load(tmp_path / "damaged")


# --- merged, and in stacks ----------------------------------------------------------------------------------------


def test_a_merged_model_has_the_mean_of_the_trees():
    models = [OnlineClassifier("logistic", view=Trees(rounds=5), shuffle=True).fit(*table(N, seed)) for seed in (0, 1)]
    merged, (X, _) = merge(models), table(50, 2)
    found, *own = (scores(model.learner_.view, model.learner_.state, X) for model in (merged, *models))
    assert np.allclose(found, np.mean(own, axis=0), atol=1e-6)


def test_a_checkerboard_of_three_columns():
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, (3000, 6))
    y = ((X[:, :3] > 0).sum(axis=1) + (generator.random(3000) < 0.1)) % 2
    train, test = slice(0, 2000), slice(2000, None)
    errors = {
        trees: 1 - AutoClassifier(trees=trees).fit(X[train], y[train]).score(X[test], y[test])
        for trees in (True, False)
    }
    assert errors[True] < 0.18 < 0.2 < errors[False]


@pytest.mark.parametrize("kind", [AutoClassifier, AutoRegressor])
def test_stacks_have_them_where_columns_are_few(kind):
    X, y = table(1200)

    def names(X, **options):
        return [name for name in kind(**options).fit(X, y).learner_.names if "trees" in name]

    assert [name.rpartition(" on ")[2] for name in names(X)] == ["trees"]
    assert not names(X, trees=False)
    words = np.eye(1200)[:, :600]
    assert not names(words)
    stream = kind().partial_fit(X, y, **({"classes": [0, 1]} if kind is AutoClassifier else {}))
    found = [name.rpartition(" on ")[2] for name in stream.learner_.names if "trees" in name]
    assert found == ["trees of the last 16,000 rows", "trees of the last 2,000 rows"]


def test_without_trees_is_kept_in_the_file(tmp_path):
    X, y = table(300)
    AutoClassifier(trees=False).partial_fit(X[:50], y[:50], classes=[0, 1]).save(tmp_path / "model")
    loaded = confidently.load(tmp_path / "model").partial_fit(X[50:], y[50:])
    assert loaded.trees is False
    assert not [name for name in loaded.learner_.names if "trees" in name]


@pytest.mark.parametrize("kind", ["classes", "numbers", "labels"])
def test_none_for_river_and_from_the_shell(kind, tmp_path, call):
    X, y = table(150)
    options = {"classes": [], "numbers": ["--regression"], "labels": ["--multilabel"]}[kind]
    river = pytest.importorskip("confidently.river", reason="River is not installed")
    new = {"classes": river.AutoClassifier, "numbers": river.AutoRegressor, "labels": river.AutoMultiLabelClassifier}
    model = new[kind](trees=False)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        named = dict(zip("abcd", x, strict=True))
        model.learn_one(named, {"yes": label == 1, "no": label == 0} if kind == "labels" else label)
    assert not [one for one in model.members if "trees" in one]
    lines = [",".join(["y", *"abcd"]), *(",".join(map(str, [label, *x])) for x, label in zip(X, y, strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    train = ("train", tmp_path / "rows.csv", "--label", "y", *options, "-q")
    assert call(*train, "--no-trees", "-o", tmp_path / "shell.cw")[0] == 0
    loaded = confidently.load(tmp_path / "shell.cw")
    assert loaded.trees is False
    assert not [one for one in loaded.learner_.names if "trees" in one]
    if kind != "labels":  # which River's cannot save
        model.save(tmp_path / "river.cw")
        assert confidently.load(tmp_path / "river.cw").trees is False
    alone = ("--no-trees", "--rule", "ridge" if kind == "numbers" else "arow", "-o", tmp_path / "m.cw")
    code, _, err = call(*train, *alone)
    assert code == 2
    assert "only several learners (--auto)" in err


def test_what_columns_add_is_what_their_splits_add():
    """Of one tree, by the means of the residuals on each side of its splits."""
    X, _ = table()
    y = 4.0 * (X[:, 1] > 0.2) + X[:, 3]
    X[3::7, 1] = np.nan  # the first row numbers the columns
    model = OnlineRegressor(view=Trees(rounds=1), shuffle=True).fit(pd.DataFrame(X), y)
    state, view, seen = model.learner_.state, model.learner_.view, X.astype(np.float32)
    targets = (y - state["trees.scale"][0, 0]) / state["trees.scale"][0, 1]
    rest = targets - targets.mean()
    for row in (0, 1, 3):
        node, inside, expected = 0, np.ones(N, bool), np.zeros(D)
        while (column := state["trees.column"][node]) >= 0:
            own, limit = seen[:, column], state["trees.threshold"][node]
            left = np.where(np.isnan(own), state["trees.missing_left"][node] == 1, own <= limit)
            before, inside = inside, inside & (left == left[row])
            node = node + 1 if left[row] else state["trees.right"][node]
            expected[column] += 0.1 * (
                rest[inside].sum() / (inside.sum() + 1) - rest[before].sum() / (before.sum() + 1)
            )
        there = np.flatnonzero(~np.isnan(X[row]))
        one = csr_array((X[row, there], there, [0, len(there)]), shape=(1, D))
        assert np.count_nonzero(expected)
        assert view.divided(state, as_matrix(one))[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("x", "missing_left", "base", "added"), [
    (0.5, 0, -1.0, 1.0), (0.6, 0, -1.0, -1.0), (np.nan, 0, -1.0, -1.0), (np.nan, 1, -1.0, 1.0), (0.0, 0, 99.0, 0.3),
])  # fmt: skip
def test_what_a_column_adds_at_the_threshold_and_beyond_the_limit(x, missing_left, base, added):
    """The last score is 100 without its limit of 30, the first one 0."""
    whole = np.array([2, 0, 0], np.int32), np.array([missing_left, 0, 0], np.int8)
    forest = Forest(
        np.array([0, -1, -1], np.int32), np.array([0.5, 0, 0], np.float32), np.array([0, 1, -1], np.float32), *whole,
        *np.zeros((2, 1), np.int32), np.array([base]), np.ones(1),
    )  # fmt: skip
    assert forest.divided(np.array([x], np.float32)) == pytest.approx(np.array([[added]]))


@pytest.mark.parametrize("kind", ["two", "several", "numbers"])
def test_explanations_name_the_columns_that_trees_compare(kind, tmp_path):
    X, y = table()
    who = np.array(["b", "a"])[y]
    frame = pd.DataFrame({"left": X[:, 0], "right": X[:, 1], "noise": X[:, 2], "who": who})
    y = {"two": y, "several": y + (X[:, 0] > 0.5), "numbers": y + X[:, 0]}[kind]
    alone = {"view": make_view([Categories(), Trees()])}
    stack = (
        AutoRegressor(members=[OnlineRegressor(**alone)])
        if kind == "numbers"
        else AutoClassifier(members=[OnlineClassifier("logistic", **alone)])
    )
    stack.fit(frame, y).save(tmp_path / "m.cw")
    row = '{"left": 0.5, "right": -0.5, "noise": 0.1, "who": "a"}'
    found = json.loads(here("inspect", tmp_path / "m.cw", "--row", row, "--json").stdout)
    added = {part["feature"]: part["mean"] for part in found["features"]}
    assert sum(added.values()) == pytest.approx(sum(part["mean"] for part in found["members"]))
    assert abs(next(added[name] for name in added if name.startswith("who"))) > 0.1
    assert "(all columns together)" not in added


def test_features_that_split_are_important():
    X, y = table(2000)
    found = OnlineClassifier("logistic", view=Trees()).fit(X, y).feature_importances_
    assert found[:2].sum() > 0.9


@pytest.mark.parametrize("name", ["rounds", "first", "window", "every"])
@pytest.mark.parametrize("value", [0, 2.5, "3", True])
def test_parameters_are_checked(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        Trees(**{name: value})
