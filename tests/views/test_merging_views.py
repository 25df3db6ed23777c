"""Merging of models with views: statistics as of one pass over all rows, and weights column by column."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

import confidently
from confidently import AROW, OnlineClassifier, _core, merge
from confidently.covariances.settings import Settings
from confidently.data import DataWarning, open_stream
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.models.merging import MergeError, merge_models
from confidently.models.model import Model
from confidently.views.columns import MISSING, PLAIN, ZERO, Columns
from confidently.views.cosines import DIRECTION
from confidently.views.table import VIEWS, make_view
from confidently.views.view import Labelled, Placed
from tests.command_line import here
from tests.covariance_cases import serves
from tests.twins import views as twins

KINDS = {"plain": PLAIN, "missing": MISSING, "zero": ZERO}
N, D, K = 40, 8, 4
EVERY = [*VIEWS, "standard,pairs", "idf,pairs"]
APART = [name for name in EVERY if name not in ("ranks", "bins")]  # whose statistics have no need of a common base


# --- statistics, against the twins -------------------------------------------------------------------------------


def rows_of(generator, kinds, columns, shift=10.0):
    """Rows over some columns: shifted ones, repeated values and absent columns."""
    rows = []
    for _ in range(N):
        there = [j for j in columns if generator.random() < 0.7]
        values = {j: generator.normal() + shift * (j % 2) if j % 3 else float(generator.integers(1, 3)) for j in there}
        rows.append({j: 1.0 if kinds[j] == "plain" else x for j, x in values.items()})
    return rows


class Trained:
    """What a view learns of rows, with its columns and classes in an order of its own."""

    def __init__(self, view, kinds, start=None):
        self.view, self.kinds = view, kinds
        self.columns, self.classes = (list(start.columns), list(start.classes)) if start else ([], [])
        self.arrays = {k: v.copy() for k, v in start.arrays.items()} if start else view.new_arrays(0)

    def learn(self, rows, labels, weights):
        new = list(dict.fromkeys(j for row in rows for j in row if j not in self.columns))
        self.columns += new
        self.classes += dict.fromkeys(k for k in labels if k not in self.classes)
        columns = Columns(np.array([KINDS[self.kinds[j]] for j in new], np.int8), [f"f{j}" for j in new])
        self.arrays = self.view.grown(self.arrays, columns, len(self.classes))
        at = {j: k for k, j in enumerate(self.columns)}
        X = matrix_of([{at[j]: x for j, x in row.items()} for row in rows], len(self.columns))
        numbers = np.array([self.classes.index(k) for k in labels], np.int32)
        labelled = Labelled(X, None, 0, numbers, None, np.array(weights), None, len(self.classes))
        self.arrays, _ = self.view.learn(self.arrays, labelled, _core.UndoLog())
        return self

    @property
    def placed(self):
        packed = self.view.packed(self.arrays, len(self.columns))
        return Placed(packed, np.array(self.columns, np.intp), np.array(self.classes, np.intp))


def matrix_of(rows, n_columns):
    rows = [dict(sorted(row.items())) for row in rows]
    start = np.cumsum([0, *map(len, rows)])
    columns, values = ([pick for row in rows for pick in of(row)] for of in (dict.keys, dict.values))
    return as_matrix(csr_array((values, columns, start), shape=(len(rows), n_columns)))


def learned(twin, parts):
    for rows, labels, weights in parts:
        for row, label, w in zip(rows, labels, weights, strict=True):
            if w:
                twin.learn(row, [label], w)
    return twin


def statistics(name, twin):
    if name == "standard":
        moments = [(0, 0, 0)] * D
        for j, values in twin.values.items():
            total = sum(w for w, _ in values)
            mean = sum(w * x for w, x in values) / total if total else 0
            moments[j] = total, mean, sum(w * (x - mean) ** 2 for w, x in values)
        count, mean, squares = np.array(moments, dtype=float).T
        return {"standard.count": count, "standard.mean": mean, "standard.squares": squares}
    having = np.array([twin.having.get(j, [0.0] * K if name == "nb" else 0.0) for j in range(D)])
    return {f"{name}.rows": np.atleast_1d(twin.rows), f"{name}.frequency": having}


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize(
    ("name", "shift", "accuracy"),
    [("standard", 10.0, 1e-12), ("standard", 1e6, 1e-9), ("idf", 0.0, 1e-12), ("nb", 0.0, 1e-12)],
)
def test_merged_statistics_are_those_of_one_pass(name, shift, accuracy, with_base, seed):
    """Some columns and classes are known to one part only, and no two parts have them in one order."""
    generator = np.random.default_rng(seed)
    kinds, view = dict(zip(range(D), generator.choice(list(KINDS), size=D), strict=True)), make_view(name)
    base, parts, data = None, [], []

    def some(columns, classes):
        weights = generator.choice([0.0, 1.0, 2.5], size=N)
        data.append((rows_of(generator, kinds, columns, shift), generator.choice(classes, N).tolist(), weights))
        return data[-1]

    if with_base:
        base = Trained(view, kinds).learn(*some([3, 1, 0], [1, 0]))
    parts = [
        Trained(view, kinds, base).learn(*some([5, 4, 3, 2, 1], [0, 2])),
        Trained(view, kinds, base).learn(*some([1, 2, 3, 6, 7, 0], [3, 1, 0])),
    ]
    start = base or Trained(view, kinds)
    merged = view.merged([part.placed for part in parts], start.placed, D, K)
    swapped = view.merged([part.placed for part in parts[::-1]], start.placed, D, K)
    assert all(np.array_equal(merged[key], swapped[key]) for key in merged)
    twin = {"standard": lambda: twins.Standard(kinds), "idf": twins.Idf, "nb": lambda: twins.NaiveBayes(K)}[name]()
    learned(twin, data)
    for key, expected in statistics(name, twin).items():
        assert merged[key] == pytest.approx(expected, rel=accuracy), key
    # and rows are seen as after one pass
    rows = rows_of(generator, kinds, range(D), shift)
    seen = view.see(view.unpacked(merged, D), matrix_of(rows, D), 0, N)
    for k, row in enumerate(rows):
        own = slice(seen.start[k], seen.start[k + 1])
        found = dict(zip(seen.columns[own].tolist(), seen.values[own].tolist(), strict=True))
        assert found == pytest.approx(twin.see(row), rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_a_column_of_equal_values_has_no_deviation(seed):
    """As in one pass: other values then count as their signs."""
    generator = np.random.default_rng(seed)
    view, kinds, x = make_view("standard"), {0: "missing"}, generator.normal(3.0)

    def more(start=None):
        n, w = generator.integers(1, 9), generator.random()
        return Trained(view, kinds, start).learn([{0: x}] * n, [0] * n, [w] * n)

    base = more()
    parts = [more(base), more(base), more(base)]
    for start in (base, Trained(view, kinds)):
        merged = view.merged([part.placed for part in parts], start.placed, 1, 1)
        assert merged["standard.squares"].tolist() == [0.0]
        assert merged["standard.mean"].tolist() == [x]


def test_products_are_aligned_by_their_features():
    view, kinds = make_view("pairs"), dict.fromkeys(range(D), "zero")
    rows = [[{2: 1.0, 5: 2.0}, {7: 1.0}], [{5: 1.0, 2: 1.0}, {2: 3.0, 0: 1.0}]]
    parts = [Trained(view, kinds).learn(own, [0, 0], [1.0, 1.0]) for own in rows]
    parts[1].columns = parts[1].columns[::-1]  # the numbers of its columns are those of the merged model backwards
    placed = [part.placed for part in parts]
    merged = view.merged(placed, Trained(view, kinds).placed, D, K)
    names = [(int(i), int(j)) for i, j in zip(merged["pairs.first"], merged["pairs.second"], strict=True)]
    assert len(set(names)) == len(names)
    assert all(j < 0 or i <= j for i, j in names)
    for part, own in zip(placed, parts, strict=True):
        first, second = view.terms(own.arrays)
        expected = [sorted(own.columns[k] for k in term if k >= 0) for term in zip(first, second, strict=True)]
        found = [sorted(k for k in names[column] if k >= 0) for column in view.columns_in(merged, part)]
        assert found == expected


# --- models -------------------------------------------------------------------------------------------------------


def table(path, columns="abc", n=120, seed=0, kinds="numbers"):
    """A table with these columns in this order; columns of one name have the same distribution."""
    generator = np.random.default_rng(seed)
    lines = [",".join([*columns, "town", "label"])]
    for _ in range(n):
        values = dict(zip("abcd", generator.normal(size=4) * [1, 10, 0.1, 1] + [0, 50, 0, 1], strict=True))
        label = int(values["a"] + 0.1 * (values["b"] - 50) > 0)
        town = ["Rome", "Oslo"][generator.integers(2)]
        lines.append(",".join([*(f"{abs(values[c]):.6f}" for c in columns), town, str(label)]))
    path.write_text("\n".join(lines) + "\n")
    return path


def opened(path):
    return open_stream(path, vocabulary=True, normalize="none", zeros=True)


def trained(path, view, **settings):
    return OnlineClassifier(view=view, **settings).fit_stream(opened(path))


def gaussian(model):
    """Mean and precision of every weight, by the name of its column."""
    learner, names = model.learner_, list(model.features_.names)
    columns = range(learner.width)
    called = [learner.view.column_name(learner.state, j, lambda k: names[k]) for j in columns]
    called = [" * ".join(sorted(name.split(" * "))) for name in called]
    mean, precision = learner.mean()[0], 1.0 / learner.variance()[0]
    return dict(zip([*called, "intercept"], zip(mean, precision, strict=True), strict=True))


@pytest.mark.parametrize("name", APART)
def test_weights_are_merged_by_the_names_of_columns(name, tmp_path):
    """The precisions of each column's weight are added, wherever the models have the column."""
    one = trained(table(tmp_path / "one.csv", "abc"), name)
    two = trained(table(tmp_path / "two.csv", "cdba", seed=1), name)
    found, parts, prior = gaussian(merge([one, two])), [gaussian(one), gaussian(two)], (0.0, 1.0)
    assert found.keys() == parts[0].keys() | parts[1].keys()
    for column, (mean, precision) in found.items():
        (m1, p1), (m2, p2) = (part.get(column, prior) for part in parts)
        assert precision == pytest.approx(p1 + p2 - 1.0)
        assert mean == pytest.approx((m1 * p1 + m2 * p2) / precision, abs=1e-12)
    backwards = gaussian(merge([two, one]))
    assert {column: pytest.approx(both) for column, both in found.items()} == backwards


@pytest.mark.few(1)
@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize("name", APART)
def test_a_merged_model_is_saved_predicts_and_continues(name, covariance, tmp_path):
    settings = {"rule": AROW(r=0.3), "covariance": covariance}
    models = [trained(table(tmp_path / f"{k}.csv", "abcd", seed=k), name, **settings) for k in range(3)]
    merged = merge(models)
    merged.save(tmp_path / "model")
    loaded, path = confidently.load(tmp_path / "model"), tmp_path / "0.csv"
    assert loaded.view == make_view(name)
    p = [np.concatenate(list(model.predict_stream(path, "predict_proba"))) for model in (merged, loaded)]
    assert np.array_equal(*p)
    y = [line[-1] for line in path.read_text().splitlines()[1:]]
    if name.startswith("standard"):
        assert np.mean(p[0].argmax(axis=1).astype(str) == y) > 0.8
    assert merged.n_seen_ == 360
    for k, model in enumerate((merged, loaded)):
        model.partial_fit_stream(path).save(tmp_path / f"continued {k}")
    assert (tmp_path / "continued 0").read_bytes() == (tmp_path / "continued 1").read_bytes()


@pytest.mark.parametrize("name", EVERY)
def test_a_base_counts_once(name, tmp_path):
    """Parts that have learned nothing since the base merge to the base."""
    base = trained(table(tmp_path / "base.csv"), name)
    base.save(tmp_path / "base")
    copies = [confidently.load(tmp_path / "base") for _ in range(2)]
    merged = merge(copies, base=base)
    for key, array in base.learner_.view.packed(base.learner_.state, 5).items():
        assert merged.learner_.view.packed(merged.learner_.state, 5)[key] == pytest.approx(array), key
    assert np.allclose(merged.coef_, base.coef_)
    with pytest.warns(DataWarning, match="1 new column: 'd'"):
        copies[0].partial_fit_stream(table(tmp_path / "more.csv", "abcd", seed=1))
    merged = merge(copies, base=base)
    path = tmp_path / "more.csv"
    found, expected = (np.concatenate(list(m.predict_stream(path, "decision_function"))) for m in (merged, copies[0]))
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-9)


MERGED = [
    (covariance, task, settings)
    for covariance in ("diag", "full", "shared")
    for task in ("binary", "joint", "one-vs-rest", "multilabel")
    for settings in ({}, {"average": True}, {"dtype": "float32"}, {"rule": "cellip"}, {"rule": "pa"})
    if serves(covariance, task) and (settings != {"rule": "pa"} or covariance == "diag")
]


@pytest.mark.few
@pytest.mark.parametrize(("covariance", "task", "settings"), MERGED)
@pytest.mark.parametrize("name", APART)
def test_weights_are_merged_as_those_of_the_rows_that_views_make(name, covariance, task, settings):
    """Where the columns of the views have the same order: of rows without zeros."""
    rule, others = settings.get("rule", "arow"), {k: v for k, v in settings.items() if k != "rule"}
    n_classes, generator = 2 if task == "binary" else 3, np.random.default_rng(0)
    viewed, plain = [], []
    for _ in range(2):
        X = as_matrix(np.abs(generator.normal(size=(30, 3))) + 0.1)
        labels, start = generator.integers(0, n_classes, 30).astype(np.int32), None
        if task == "multilabel":
            labels, start = np.repeat(labels, 2), np.arange(0, 61, 2)
            labels[1::2] = (labels[1::2] + 1) % n_classes
        view, columns = make_view(name, **({"n": 7} if name == "cosines" else {})), Columns.alike(3, ZERO)
        own = Settings(rule, covariance, task, **others)
        learner = Learner(own, n_classes, 3, view=view, columns=columns)
        learner.learn(X, labels, start)
        arrays = view.grown(view.new_arrays(n_classes), columns, n_classes)
        _, seen = view.learn(arrays, Labelled(X, None, 0, labels, start, None, None, n_classes), _core.UndoLog())
        other = Learner(own, n_classes, learner.width)
        other.learn(seen.matrix(learner.width), labels, start)
        viewed.append(Model(learner, list("abc"[:n_classes])))
        plain.append(Model(other, list("abc"[:n_classes])))
    found, expected = (merge_models(models, ["one", "two"], None, "").learner for models in (viewed, plain))
    assert found.n_features == 3
    for quantity in ("mean", "column_variances"):
        ours, theirs = getattr(found, quantity)(), getattr(expected, quantity)()
        assert np.allclose(ours, theirs, rtol=1e-5 if "dtype" in settings else 1e-9, atol=1e-9)
    assert np.allclose(found.state["calibration"], expected.state["calibration"])
    assert (found.n_seen, found.mistakes, found.updates) == (expected.n_seen, expected.mistakes, expected.updates)


def test_numbered_columns_that_a_part_lacks_were_0_in_it():
    X = np.random.default_rng(0).normal(size=(60, 4)) + 1.0
    X[:30, 3] = 0.0
    y = X[:, 0] > X[:, 1]
    one = OnlineClassifier(view="standard").partial_fit(X[:30, :3], y[:30], classes=[False, True])
    two = OnlineClassifier(view="standard").partial_fit(X[30:], y[30:], classes=[False, True])
    merged, whole = merge([one, two]), OnlineClassifier(view="standard").partial_fit(X, y, classes=[False, True])
    for key in ("rows", "count", "mean", "squares"):
        name = f"standard.{key}"
        assert merged.learner_.state[name] == pytest.approx(whole.learner_.state[name], rel=1e-12)


@pytest.mark.filterwarnings("ignore:rows are sorted by label")
def test_two_class_models_become_one_of_three_classes():
    generator = np.random.default_rng(0)
    X, y = np.abs(generator.normal(size=(90, 4))), np.repeat([0, 1, 2], 30)
    X[np.arange(90), y] += 1.0
    parts = [OnlineClassifier(view="nb").fit(X[y != k], y[y != k]) for k in (2, 0)]
    merged = merge(parts)
    assert merged.classes_.tolist() == [0, 1, 2]
    assert merged.learner_.state["nb.rows"].tolist() == [30.0, 60.0, 30.0]


def test_the_command_line_merges(tmp_path):
    for k, columns in enumerate(["abc", "cabd"]):
        table(tmp_path / f"{k}.csv", columns, seed=k)
        run("train", "--view", "standard,pairs", "--vocabulary", tmp_path / f"{k}.csv", "-o", tmp_path / f"{k}")
    run("merge", tmp_path / "0", tmp_path / "1", "-o", tmp_path / "model")
    facts = json.loads(run("inspect", tmp_path / "model", "--json").stdout)
    assert [view["name"] for view in facts["view"]] == ["standard", "pairs"]
    assert facts["rows_seen"] == 240
    found, expected = confidently.load(tmp_path / "model"), merge([confidently.load(tmp_path / f"{k}") for k in (0, 1)])
    assert found.learner_.state.keys() == expected.learner_.state.keys()
    for key, array in expected.learner_.state.items():
        assert np.array_equal(found.learner_.state[key], array), key


def run(*arguments, status=0):
    done = here(*arguments)
    assert done.returncode == status, done.stderr
    return done


# --- what cannot be merged ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "two", "message"), [
    ("standard", "idf", "view = standard in model 1, view = idf in model 2; merge models with equal settings"),
    ("standard", None, "view = standard in model 1, view = none in model 2"),
    ("standard", "standard,pairs", "view = standard in model 1, view = standard,pairs in model 2"),
    (make_view("cosines", seed=1), make_view("cosines", seed=2), "view__cosines__seed = 1 in model 1, .* = 2 in"),
    (make_view("pairs", columns=[(0, 1)]), "pairs", r"view__pairs__columns = .*'0', '1'.* = none in model 2"),
])  # fmt: skip
def test_different_views_are_not_merged(one, two, message):
    X = np.random.default_rng(0).normal(size=(20, 3))
    models = [OnlineClassifier(view=view).fit(X, X[:, 0] > 0) for view in (one, two)]
    with pytest.raises(MergeError, match=message):
        merge(models)


def test_directions_of_cosines_follow_from_names():
    """Whatever the order of columns, and whether they came at once; without names they follow from numbers."""
    view = make_view("cosines", n=5)
    abc = view.grown(view.new_arrays(2), Columns.named("abc"), 2)
    late = view.grown(view.grown(view.new_arrays(2), Columns.named("ca"), 2), Columns.named("b"), 2)
    np.testing.assert_array_equal(late[DIRECTION], abc[DIRECTION][[2, 0, 1]])
    assert len(np.unique(abc[DIRECTION])) == 15
    kept = view.unpacked(view.packed(late, 3), 3)
    np.testing.assert_array_equal(kept[DIRECTION], late[DIRECTION])
    unnamed = view.grown(view.new_arrays(2), Columns.alike(3), 2)
    assert view.packed(unnamed, 3) == {}
    placed = [Placed({}, np.array(own), np.arange(2)) for own in ([0, 1], [1, 0])]
    none = Placed({}, np.arange(0), np.arange(2))
    assert view.merged(placed[:1], none, 2, 2) == {}
    with pytest.raises(ValueError, match="the models number their columns differently; train them on rows whose"):
        view.merged(placed, none, 2, 2)


@pytest.mark.parametrize("name", ["standard", "idf", "nb"])
def test_a_base_that_has_counted_other_rows_is_refused(name):
    X = np.abs(np.random.default_rng(0).normal(size=(40, 3)))
    X[:20, 2] = 0.0
    parts = [OnlineClassifier(view=name).fit(csr_array(X[k : k + 20]), X[k : k + 20, 0] > 0.5) for k in (0, 20)]
    with pytest.raises(MergeError, match="counted rows that a model has not; merge the models without a base"):
        merge([parts[0].partial_fit(X[:5], X[:5, 0] > 0.5)], base=parts[1].partial_fit(X, X[:, 0] > 0.5))


def test_a_column_is_of_one_kind():
    view = make_view("standard")
    parts = [Trained(view, {0: kind}).learn([{0: 1.0}], [0], [1.0]).placed for kind in ("plain", "missing")]
    with pytest.raises(ValueError, match="a column is a number in one of the models and not in another"):
        view.merged(parts, Trained(view, {}).placed, 1, 1)
