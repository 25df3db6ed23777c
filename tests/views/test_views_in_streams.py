"""Views of rows that are read from files, and of dicts: which columns are numbers, what a 0 and a missing value are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import confidently
from confidently import OnlineClassifier
from confidently.data import DataError, features, open_stream
from confidently.views.columns import MARKS, MISSING, PLAIN, Columns
from confidently.views.pairs import column_of
from confidently.views.table import make_view
from tests.command_line import here
from tests.data.tables import write

N = 400


def run(*arguments, status=0):
    done = here(*arguments)
    assert done.returncode == status, done.stderr
    return done


def table(tmp_path, name="rows.csv", n=N, seed=0):
    """A table whose second column dwarfs the others; the label is the sign of the third."""
    generator = np.random.default_rng(seed)
    path = tmp_path / name
    lines = ["age,income,score,town,note,label"]
    for _ in range(n):
        score = generator.normal()
        age = "" if generator.random() < 0.2 else str(generator.integers(0, 3))
        town = ["Rome", "Oslo", "7"][generator.integers(3)]
        note = " ".join(generator.choice(["red", "green", "blue"], size=2))
        lines.append(f"{age},{generator.normal() * 1e6:.0f},{score:.4f},{town},{note},{int(score > 0)}")
    path.write_text("\n".join(lines) + "\n")
    return path


def opened(path, **options):
    return open_stream(path, vocabulary=True, text="note", category="town", normalize="none", zeros=True, **options)


def trained(path, view="standard", **options):
    return OnlineClassifier(view=view).fit_stream(opened(path, **options))


def kinds(model):
    names = list(model.features_.names)
    return dict(zip(names, model.learner_.state["standard.kind"].tolist(), strict=True))


@pytest.mark.parametrize(("feature", "column"), [
    ("town=Rome", "town"), ("a:b=c", "a"), ("note^red", "note"), ("age", "age"), ("=x", ""), ("^a", ""),
])  # fmt: skip
def test_the_column_of_a_feature(feature, column):
    assert column_of(feature) == column


def test_a_large_column_is_no_longer_decisive(tmp_path):
    path = table(tmp_path, n=4000)
    raw = run("train", "--view", "none", path, "--json")
    seen = run("train", "--view", "standard", path, "--json")
    errors = [json.loads(done.stdout.splitlines()[-1])["error"] for done in (raw, seen)]
    assert errors[0] > 0.4
    assert errors[1] < 0.05


def test_numbers_are_standardized_and_words_and_categories_are_left(tmp_path):
    found = kinds(trained(table(tmp_path)))
    assert {name for name, kind in found.items() if kind == MISSING} == {"age", "income", "score"}
    assert {name for name, kind in found.items() if kind == PLAIN} == {
        "town=Rome", "town=Oslo", "town=7", "note:red", "note:green", "note:blue",
    }  # fmt: skip


def test_zero_is_a_value_and_a_missing_one_is_not(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y,label\n1,5,a\n0,6,b\n,7,a\n3,8,b\n")
    model = trained_on_plain_columns(path)
    state = model.learner_.state
    assert state["standard.count"].tolist() == [3.0, 4.0]
    assert state["standard.mean"] == pytest.approx([4 / 3, 6.5])
    assert state["standard.squares"] == pytest.approx([np.var([1, 0, 3]) * 3, np.var([5, 6, 7, 8]) * 4])


def trained_on_plain_columns(path):
    stream = open_stream(path, vocabulary=True, normalize="none", zeros=True)
    return OnlineClassifier(view="standard").fit_stream(stream)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet", "rows.feather"])
def test_the_numbers_of_every_table_are_the_same(name, tmp_path):
    rows = [{"x": 1.0, "y": 5.0, "c": "p"}, {"x": 0.0, "y": 6.0, "c": "q"}, {"x": None, "y": 7.0, "c": "p"}] * 5
    labels = ["a", "b", "a"] * 5
    columns = {column: [row[column] for row in rows] for column in "xyc"} | {"label": labels}
    csv, other = write(tmp_path / "rows.csv", columns), write(tmp_path / name, columns)
    one, two = trained_on_plain_columns(csv), trained_on_plain_columns(other)
    by_name = [dict(zip(m.features_.names, m.coef_[0].tolist(), strict=True)) for m in (one, two)]
    assert by_name[0] == pytest.approx(by_name[1])
    assert kinds(one) == kinds(two)


@pytest.mark.parametrize("view", ["standard", "ranks", "bins", "idf", "nb", "pairs", "standard,pairs", "bins,pairs"])
def test_the_division_into_batches_and_files_does_not_matter(view, tmp_path):
    path = table(tmp_path)
    whole = trained(path, view)
    small = trained(path, view, chunk_bytes=500)
    lines = path.read_text().splitlines(keepends=True)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("".join(lines[:151]))
    second.write_text("".join([lines[0], *lines[151:]]))
    parts = trained(first, view)
    parts.save(tmp_path / "model")
    parts = confidently.load(tmp_path / "model").partial_fit_stream(second)
    for name, model in (("whole", whole), ("small", small), ("parts", parts)):
        model.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("view", ["nb", "standard,pairs"])
@pytest.mark.parametrize("multiclass", ["joint", "one-vs-rest"])
def test_classes_that_appear_within_a_batch_begin_there(view, multiclass, tmp_path):
    generator = np.random.default_rng(0)
    path = tmp_path / "rows.csv"
    lines = ["a,b,c,label"]
    for i in range(300):
        label = generator.integers(0, 2 + i // 40)
        values = generator.integers(0, 3, size=3)
        lines.append(f"{values[0] + label},{values[1]},{values[2]},{label}")
    path.write_text("\n".join(lines) + "\n")
    for name, chunk_bytes in (("whole", 1 << 20), ("small", 64)):
        model = OnlineClassifier(view=view, multiclass=multiclass).fit_stream(
            open_stream(path, vocabulary=True, normalize="none", zeros=True, chunk_bytes=chunk_bytes)
        )
        assert len(model.classes_) > 5
        model.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == (tmp_path / "whole").read_bytes()


def test_numbered_features_are_0_where_they_are_absent(tmp_path):
    generator = np.random.default_rng(0)
    X = np.round(generator.normal(size=(60, 4)), 3)
    X[generator.random(X.shape) < 0.4] = 0.0
    X[0] = 1.0  # every feature is known from the first row on, as in an array
    y = (X[:, 0] > X[:, 1]).astype(int)
    y[:2] = 0, 1
    path = tmp_path / "rows.svm"
    rows = (" ".join(f"{j + 1}:{x}" for j, x in enumerate(row) if x) for row in X)
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True)))
    one = OnlineClassifier(view="standard").fit_stream(open_stream(path, chunk_bytes=100))
    other = OnlineClassifier(view="standard").partial_fit(X, y, classes=[0, 1])
    assert np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("view", ["ranks", "bins", "bins,pairs"])
def test_it_does_not_matter_when_a_numbered_feature_is_known(view, tmp_path):
    """Its values so far were 0, and while all are, it makes no column that differs from 0."""
    generator = np.random.default_rng(0)
    X = np.round(generator.normal(size=(1300, 5)), 2) * (generator.random((1300, 5)) < 0.5)
    for first, column in ((7, 3), (600, 4)):
        X[:first, column] = 0.0
    y = (X[:, 0] > X[:, 1]).astype(int)
    y[:2] = 0, 1
    path = tmp_path / "rows.svm"
    rows = (" ".join(f"{j + 1}:{x}" for j, x in enumerate(row) if x) for row in X)
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True)))
    models = [OnlineClassifier(view=view).fit_stream(open_stream(path, chunk_bytes=n)) for n in (100, 3000, 1 << 20)]
    models.append(OnlineClassifier(view=view).partial_fit(X, y, classes=[0, 1]))
    for model in models[1:]:
        assert np.array_equal(model.coef_, models[0].coef_)
        assert np.array_equal(model.predict_proba(X), models[0].predict_proba(X))


def test_the_columns_of_features_are_told_by_their_names():
    names = ["age", "town=Rome", "", "note:red", "größe", "ü=", "a.b"]
    marked = [False, True, False, True, False, True, False]
    assert Columns.named(names).kind.tolist() == [PLAIN if mark else MISSING for mark in marked]
    assert features.Strings.of(names).having(MARKS).tolist() == [k for k, mark in enumerate(marked) if mark]
    assert features.Strings.of(names).part(2, 6).having(MARKS).tolist() == [k for k in range(4) if marked[2 + k]]
    assert features.Strings.of([]).having(MARKS).tolist() == []


@pytest.mark.parametrize("view", ["idf", "pairs", "unit,pairs", make_view("cosines", n=5)])
def test_the_names_with_the_largest_weights_are_kept(view, tmp_path, monkeypatch):
    """Of hashed features; that of a product counts for both."""
    monkeypatch.setattr(features, "MAX_NAMES", 30)
    monkeypatch.setattr(features, "KEPT_NAMES", 5)
    generator, path = np.random.default_rng(0), tmp_path / "rows.vw"
    rows = []
    for _ in range(300):
        first, second = generator.integers(2, size=2)
        rows.append(f"{2 * (first ^ second) - 1} | p{first} q{second} x{generator.integers(60)}\n")
    path.write_text("".join(rows))
    model = OnlineClassifier(view=view).fit_stream(open_stream(path))
    names = list(model.features_.names)
    assert 5 <= len(names) <= 30
    if "pairs" in str(view):
        assert {"p0", "p1", "q0", "q1"} <= set(names)


def test_values_that_were_scaled_are_refused(tmp_path):
    path = table(tmp_path)
    with pytest.raises(ValueError, match="needs rows as they are; open the stream with normalize='none', zeros=True"):
        OnlineClassifier(view="standard").fit_stream(open_stream(path))
    run("cache", path, "--normalize", "l2", "-o", tmp_path / "cache")
    done = run("train", "--view", "standard", tmp_path / "cache", status=2)
    assert "build the cache with confidently cache --normalize none" in done.stderr
    run("cache", path, "--normalize", "none", "--zeros", "-o", tmp_path / "cache")
    run("train", "--view", "standard", tmp_path / "cache")


def test_rows_that_a_view_cannot_take_are_errors_with_their_place(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 " + " ".join(f"{j}:1" for j in range(1, 1002)) + "\n0 1:1\n")
    with pytest.raises(DataError, match=r"rows\.svm, line 1, or soon after it: a row has 1001 features to pair"):
        OnlineClassifier(view="pairs").fit_stream(open_stream(path))
    path.write_text("".join(f"{k % 2} {k * 2000 + 1}:1\n" for k in range(8)))
    done = run("train", "--view", "standard", path, status=2)
    assert "standardizing makes sparse rows dense" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_trains_continues_predicts_and_explains(tmp_path):
    path, model = table(tmp_path), tmp_path / "model"
    done = run("train", "--view", "standard,pairs", "--vocabulary", path, "-o", model)
    assert "view standard,pairs" in done.stdout + done.stderr
    facts = json.loads(run("inspect", model, "--json").stdout)
    assert [view["name"] for view in facts["view"]] == ["standard", "pairs"]
    assert "score * town=Rome" in run("inspect", model, "--top", "100").stdout
    loaded = confidently.load(model)
    predicted = np.concatenate(list(loaded.predict_stream(path)))
    lines = run("predict", model, path).stdout.split()
    assert [str(label) for label in predicted] == lines
    evaluated = json.loads(run("evaluate", model, path, "--json").stdout)
    labels = [int(line[-1]) for line in path.read_text().splitlines()[1:]]
    assert evaluated["error"] == pytest.approx(np.mean(predicted != labels))
    row = tmp_path / "row.csv"
    row.write_text("age,income,score,town,note\n1,5,2.5,Rome,red\n")
    explained = json.loads(run("inspect", model, "--row", row.read_text(), "--top", "100", "--json").stdout)
    mean, variance = next(iter(loaded.predict_stream(row, "margin_distribution")))
    assert sum(one["mean"] for one in explained["contributions"]) == pytest.approx(float(mean[0]))
    assert sum(one["variance"] for one in explained["contributions"]) == pytest.approx(float(variance[0]))


@pytest.mark.parametrize(
    ("name", "rows", "options", "multiplied", "others"),
    [
        ("rows.csv", None, ["--view", "standard", "--pairs", "score,town", "--pairs", "age,age", "--vocabulary"],
         ["score * town=Rome", "age * age"], ["age * score", "score * score"]),
        ("rows.vw", "1 |a x y |b z:2\n-1 |a x |b z\n", ["--pairs", "a,b"], ["a^x * b^z"], ["a^x * a^y"]),
        ("rows.svm", "1 1:1 2:1 3:1\n0 1:1 2:1\n", ["--pairs", "1,3"], ["1 * 3"], ["1 * 2"]),
    ],
)  # fmt: skip
def test_the_command_line_multiplies_chosen_columns(name, rows, options, multiplied, others, tmp_path):
    path, model = tmp_path / name, tmp_path / "model"
    if rows is None:
        table(tmp_path, name)
    else:
        path.write_text(rows * 20)
    run("train", *options, path, "-o", model)
    shown = run("inspect", model, "--top", "100").stdout
    assert all(product in shown for product in multiplied)
    assert not any(product in shown for product in others)


@pytest.mark.parametrize("pair", ["a", "a,", "a,b,c"])
def test_pairs_name_two_columns(pair, tmp_path):
    done = run("train", "--pairs", pair, table(tmp_path), status=2)
    assert f"--pairs: expected two columns or namespaces separated by a comma, got '{pair}'" in done.stderr


def test_all_products_and_chosen_ones_are_not_mixed(tmp_path):
    done = run("train", "--view", "pairs", "--pairs", "a,b", table(tmp_path), status=2)
    assert "a view may occur once" in done.stderr


@pytest.mark.parametrize("view", ["nonsense", "pairs,standard"])
def test_invalid_views_are_usage_errors(view, tmp_path):
    done = run("train", "--view", view, table(tmp_path), status=2)
    assert "--view" in done.stderr


# --- dicts ------------------------------------------------------------------------------------------------------------


def dict_rows():
    generator = np.random.default_rng(0)
    for _ in range(150):
        x = {
            "a": float(generator.normal() * 1e4),
            "b": float(generator.integers(0, 3)),
            "c": "pq"[generator.integers(2)],
        }
        if generator.random() < 0.2:
            x["b"] = None
        yield x, bool(x["a"] > 0)


def test_dicts_are_seen_as_rows_of_a_table(tmp_path):
    river = pytest.importorskip("confidently.river", reason="River is not installed")
    model = river.OnlineClassifier(view="standard")
    path = tmp_path / "rows.jsonl"
    lines = []
    for x, y in dict_rows():
        model.learn_one(x, y)
        lines.append(json.dumps(x | {"label": int(y)}) + "\n")
    path.write_text("".join(lines))
    other = OnlineClassifier(view="standard").fit_stream(
        open_stream(path, vocabulary=True, normalize="none", zeros=True)
    )
    x = {"a": 3e4, "b": 0, "c": "p"}
    path.write_text(json.dumps(x) + "\n")
    expected = next(iter(other.predict_stream(path, "predict_proba")))[0]
    found = model.predict_proba_one(x)
    assert sorted(found.values()) == pytest.approx(sorted(expected.tolist()))


def test_frames_are_learned_as_their_rows():
    river = pytest.importorskip("confidently.river", reason="River is not installed")
    pd = pytest.importorskip("pandas")
    rows = [({k: v for k, v in x.items() if v is not None and k != "c"}, y) for x, y in dict_rows()]
    rows = [row for row in rows if "b" in row[0]]
    one, many = (river.OnlineClassifier(view="standard") for _ in range(2))
    for x, y in rows:
        one.learn_one(x, y)
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows])
    many.learn_many(X, y)
    assert np.allclose(one.predict_proba_one(rows[0][0])[True], many.predict_proba_many(X)[True][0])


def test_hashed_names_have_no_kinds():
    river = pytest.importorskip("confidently.river", reason="River is not installed")
    with pytest.raises(ValueError, match="the view standard needs names of features, which hash_bits drops"):
        river.OnlineClassifier(view="standard", hash_bits=10)
    river.OnlineClassifier(view="idf", hash_bits=10).learn_one({"a": 1}, True)
