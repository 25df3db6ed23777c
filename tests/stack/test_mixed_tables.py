"""Tables of numbers and categories of many values: members see columns by kind, at every door."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from confidently import AutoClassifier, AutoRegressor, Categories, Standard, load, make_view, merge, river
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.stack.choice import choose
from confidently.views.columns import Columns
from tests.command_line import here

N = 2600


def mixed(n=N, who=400, effect=1.0, seed=0):
    """Two numbers whose product matters, a category of many values that may matter, and one of few."""
    generator = np.random.default_rng(seed)
    X, names = generator.normal(size=(n, 2)), generator.integers(0, who, n)
    of_names = effect * generator.normal(size=who)
    score = 3.0 * X[:, 0] * X[:, 1] + of_names[names]
    rows = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "who": [f"n{k}" for k in names]})
    rows["day"] = generator.choice(["mo", "tu", "we"], n)
    return rows, score, (score + generator.logistic(size=n) > 0).astype(int)


def log_loss(model, rows, y):
    p = model.predict_proba(rows)[:, 1]
    return -np.log(np.where(y == 1, p, 1.0 - p)).mean()


@pytest.mark.long("two stacks of 1,800 rows")
def test_a_category_without_meaning_costs_little():
    rows, _, y = mixed(effect=0.0)
    alone, together = (
        log_loss(AutoClassifier(random_state=0).fit(seen[:1800], y[:1800]), seen[1800:], y[1800:])
        for seen in (rows[["u", "v"]], rows)
    )
    assert together < alone + 0.02


@pytest.mark.long("four stacks of 1,800 rows")
@pytest.mark.parametrize("kind", [AutoClassifier, AutoRegressor])
def test_a_category_with_meaning_helps(kind):
    rows, score, y = mixed(effect=2.0, who=150)
    found = []
    for seen in (rows[["u", "v"]], rows):
        if kind is AutoClassifier:
            model = kind(random_state=0).fit(seen[:1800], y[:1800])
            found.append(log_loss(model, seen[1800:], y[1800:]))
        else:
            model = kind(random_state=0).fit(seen[:1800], score[:1800])
            found.append(np.sqrt(np.mean((model.predict(seen[1800:]) - score[1800:]) ** 2)))
    assert found[1] < 0.8 * found[0]


def test_a_category_that_follows_from_numbers_does_not_hide_them():
    generator = np.random.default_rng(3)
    city, n = generator.zipf(1.3, 3000) % 400, 3000
    place = generator.uniform(-1, 1, (400, 2))[city] + 0.02 * generator.normal(size=(n, 2))
    y = np.floor(2 * (place + 1)).sum(axis=1) % 3
    frame = pd.DataFrame(place, columns=["lat", "lon"])
    found = []
    for rows in (frame, frame.assign(city=[f"c{k}" for k in city])):
        model = AutoClassifier(random_state=0, passes=1).fit(rows[:2000], y[:2000])
        found.append(metrics.log_loss(y[2000:], model.predict_proba(rows[2000:])))
    assert found[1] < 1.5 * found[0]


def test_which_columns_members_see():
    names = ["u", "v", *(f"who=n{k}" for k in range(200)), *(f"day={day}" for day in "abc")]
    X = np.zeros((1000, len(names)))
    generator = np.random.default_rng(0)
    X[:, :2] = generator.normal(size=(1000, 2))
    X[np.arange(1000), 2 + generator.integers(0, 200, 1000)] = 1.0
    X[np.arange(1000), 202 + generator.integers(0, 3, 1000)] = 1.0
    views = {plan.recipe.view for plan in choose(as_matrix(X), Columns.named(names)) if plan.recipe is not None}
    firsts = {view.views[0] for view in views}
    assert Categories(n=32, shown=("day",)) in firsts
    assert Categories(n=0, outputs=0) in firsts
    assert Standard() in firsts
    of_more = choose(as_matrix(X), Columns.named(names), 5)
    assert any(
        plan.recipe and Categories(n=32, shown=("day",), outputs=5) in plan.recipe.view.views for plan in of_more
    )
    words = [name.replace("=", ":") for name in names]
    views = [plan.recipe.view.views[0] for plan in choose(as_matrix(X), Columns.named(words)) if plan.recipe]
    assert Categories(n=32, shown=()) in views
    assert Categories(n=0, outputs=0) not in views  # these are numbers alone already


@pytest.mark.long("three stacks of 1,300 rows")
@pytest.mark.parametrize("with_dicts", [False, pytest.param(True, marks=pytest.mark.long("rows one by one"))])
def test_every_door(with_dicts, tmp_path):
    """Frames, files, parts of them, dicts and saved models are the same rows."""
    rows, _, y = mixed(1300)
    rows.insert(0, "label", y)
    rows.to_csv(tmp_path / "all.csv", index=False)
    whole = AutoClassifier().fit_stream(tmp_path / "all.csv")
    model = None
    for k, (first, last) in enumerate(pairwise([0, 40, 700, 1300])):
        rows[first:last].to_csv(tmp_path / f"{k}.csv", index=False)
        if model is None:
            model = AutoClassifier().fit_stream(tmp_path / f"{k}.csv")
        else:
            model.save(tmp_path / "model")
            model = load(tmp_path / "model").partial_fit_stream(tmp_path / f"{k}.csv")
    for one in (whole, model):
        one.save(tmp_path / "saved")
        assert load(tmp_path / "saved").learner_.names == one.learner_.names
    seen = rows.drop(columns="label")[:60]
    expected = whole.predict_proba(seen)
    np.testing.assert_array_equal(model.predict_proba(seen), expected)
    np.testing.assert_allclose([whole.predict_proba(seen[k : k + 1])[0] for k in range(60)], expected, atol=1e-12)
    framed = AutoClassifier().partial_fit(rows.drop(columns="label"), y, classes=[0, 1])
    np.testing.assert_allclose(framed.predict_proba(seen), expected, atol=1e-9)
    if not with_dicts:
        return
    dicts = river.AutoClassifier()
    for x, label in zip(rows.drop(columns="label").to_dict("records"), y.tolist(), strict=True):
        dicts.learn_one(x, label)
    assert sorted(dicts.members) == sorted(whole.learner_.names)
    assert dicts.predict_proba_one(seen.iloc[0].to_dict())[1] == pytest.approx(expected[0, 1], abs=1e-6)


def test_explanations_add_up(tmp_path):
    rows, _, y = mixed(1200)
    rows.insert(0, "label", y)
    rows.to_csv(tmp_path / "all.csv", index=False)
    AutoClassifier().fit_stream(tmp_path / "all.csv").save(tmp_path / "model")
    row = json.dumps(rows.drop(columns="label").iloc[3].to_dict())
    shown = here("inspect", tmp_path / "model", "--row", row, "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    p = load(tmp_path / "model").predict_proba(rows.drop(columns="label")[3:4])[0, 1]
    assert found["margin"]["mean"] == pytest.approx(abs(np.log(p / (1.0 - p))), abs=1e-6)
    assert sum(one["mean"] for one in found["members"]) == pytest.approx(found["margin"]["mean"], abs=1e-6)


@pytest.mark.long("two stacks of 2,000 rows")
def test_models_merge():
    rows, _, y = mixed(5200)
    parts = [AutoClassifier().partial_fit(rows[k : k + 2000], y[k : k + 2000], classes=[0, 1]) for k in (0, 2000)]
    with pytest.warns(UserWarning, match="no members on quantiles"):
        merged = merge(parts)
    left = rows[4000:], y[4000:]
    assert any("by kind" in name for name in merged.learner_.names)
    assert log_loss(merged, *left) < max(log_loss(part, *left) for part in parts) + 0.01


def test_statistics_of_other_classes_do_not_merge(tmp_path):
    rows, _, y = mixed(1200)
    names = np.where(y == 1, "yes", "no")
    parts = []
    for order in (["no", "yes"], ["yes", "no"]):
        first = [int(np.flatnonzero(names == name)[0]) for name in order]
        chosen = np.array([*first, *np.setdiff1d(np.arange(1200), first)])
        rows.iloc[chosen].assign(label=names[chosen]).to_csv(tmp_path / "part.csv", index=False)
        parts.append(AutoClassifier().fit_stream(tmp_path / "part.csv"))
    with pytest.warns(UserWarning, match="statistics of categories are of other classes"):
        merged = merge(parts)
    assert not any("by kind" in name for name in merged.learner_.names)


def test_later_passes_do_not_train_members_that_would_know_the_labels():
    rows, _, y = mixed(1500, who=1200, effect=0.0)
    once, thrice = (AutoClassifier(passes=k, random_state=0).fit(rows[:1000], y[:1000]) for k in (1, 3))
    assert log_loss(thrice, rows[1000:], y[1000:]) < log_loss(once, rows[1000:], y[1000:]) + 0.1
    assert any(
        isinstance(one, Learner) and one.view is not None and one.view.sees_labels for one in thrice.learner_.members
    )
    assert make_view("standard,pairs").sees_labels is False


@pytest.mark.long("two stacks of 1,300 rows")
def test_graphs_predict_the_same():
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    rows, score, y = mixed(1500)
    for model, target in ((AutoClassifier(random_state=0), y), (AutoRegressor(random_state=0), score)):
        model.fit(rows[:1300], target[:1300])
        graph = model.to_onnx("float64")
        session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        X, names = np.full((40, model.n_features_in_), 0.0), list(model.features_.names)
        for k, (_, row) in enumerate(rows[1300:1340].iterrows()):
            for name in ("u", "v"):
                X[k, names.index(name)] = row[name]
            for name in ("who", "day"):
                if f"{name}={row[name]}" in names:
                    X[k, names.index(f"{name}={row[name]}")] = 1.0
        known = [f"who={row}" in names for row in rows["who"][1300:1340]]
        found = session.run(None, {"X": X})
        if target is y:
            np.testing.assert_allclose(found[1][known], model.predict_proba(rows[1300:1340])[known], atol=1e-8)
        else:
            np.testing.assert_allclose(np.ravel(found[0])[known], model.predict(rows[1300:1340])[known], rtol=1e-5)
