"""The views of ranks and bins: against scikit-learn, with ties and few values, across the thousandth value."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import ndtri
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer

import confidently
from confidently import AutoRegressor, Bins, Categories, OnlineClassifier, Ranks, _core, merge
from confidently.covariances.settings import Settings
from confidently.data import open_stream
from confidently.data.class_order import ClassOrder
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.models.file import ModelFileError
from confidently.models.linear_form import linear_form
from confidently.models.merging import MergeError
from confidently.models.onnx_export import to_onnx
from confidently.views.columns import MISSING, PLAIN, ZERO, Columns
from confidently.views.first_values import FIRST
from confidently.views.table import make_view
from confidently.views.view import Labelled
from tests.command_line import here
from tests.model_files import contents_of, write_contents
from tests.views.test_views_against_twins import D, as_dicts, bins_of, close, matrix_of, twin_of

VIEWS = [Ranks(unit_norm=False), Bins(n=7, unit_norm=False)]
by_view = pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)


def learned(view, X, kind=ZERO, arrays=None, weight=None):
    """Count rows in; return the view's arrays and the rows it made."""
    X = X if isinstance(X, csr_array) else np.asarray(X, dtype=float)
    if arrays is None:
        arrays = view.grown(view.new_arrays(2), Columns.alike(X.shape[1], kind), 2)
    rows = Labelled(as_matrix(X), None, 0, np.zeros(X.shape[0], np.int32), None, weight, None, 2)
    return view.learn(arrays, rows, None)


def seen_as(view, arrays, X):
    """Return the rows that a view makes, as a dense array."""
    X = np.asarray(X, dtype=float)
    seen = view.see(arrays, as_matrix(X), 0, len(X))
    width = view.n_columns(arrays, X.shape[1])
    return csr_array((seen.values, seen.columns, seen.start), shape=(len(X), width)).toarray()


def same(one, other):
    assert one.keys() == other.keys()
    for key in one:
        assert np.array_equal(one[key], other[key]), key


def columns(n, seed=0):
    """Continuous columns of several shapes, one of few values, one of equal ones, one that is mostly 0."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 6)) * [1.0, 30.0, 1e-3, 1.0, 0.0, 1.0] + [0.0, 0.0, 5.0, 0.0, 3.0, 0.0]
    X[:, 1] **= 3
    X[:, 3] = generator.integers(0, 4, n)
    X[:, 5] *= generator.random(n) < 0.3
    return X


# --- against others ---------------------------------------------------------------------------------------------------


def test_normal_quantiles_are_those_of_scipy():
    p = np.concatenate([np.linspace(0.0, 1.0, 4001), 10.0 ** -np.arange(1.0, 308.0), [0.075, 0.925, 1 - 2.0**-53]])
    found = np.array([_core.normal_quantile(float(x)) for x in p])
    assert found == pytest.approx(ndtri(p), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("n", [FIRST, 512, 128])
def test_ranks_are_those_of_scikit_learn(n):
    """Without ties: of the first rows, at their quantiles, and near those in between, where scores are not linear."""
    X = columns(n + 500)[:, :3]
    view = Ranks(unit_norm=False)
    arrays, _ = learned(view, X[:n])
    transformer = QuantileTransformer(n_quantiles=65, output_distribution="normal").fit(X[:n])
    limit = min(3.0, -ndtri(0.5 / (n + 1)))
    quantiles = np.quantile(X[:n], np.arange(1, 64) / 64, axis=0)
    assert seen_as(view, arrays, quantiles) == pytest.approx(transformer.transform(quantiles), abs=1e-9)
    expected = np.clip(transformer.transform(X), -limit, limit)
    far = np.abs(seen_as(view, arrays, X) - expected)
    for at in (0, 1, 2, 20, 31):  # by how much Phi^-1 differs from a line between two quantiles
        low, high = at / 64, (at + 1) / 64
        p = np.linspace(low, high, 10_000)
        ends = np.clip(ndtri([low, high]), -limit, limit)
        largest = np.abs(np.interp(p, [low, high], ends) - np.clip(ndtri(p), -limit, limit)).max()
        there = (np.abs(expected) >= np.abs(ends).min()) & (np.abs(expected) <= np.abs(ends).max())
        assert 0.0 < far[there].max() <= largest + 1e-9
        assert largest < (0.17 if at == 0 else 0.022)
    beyond = np.array([[1e9, 1e50, 1e9], [-1e9, -1e50, -1e9]])
    assert seen_as(view, arrays, beyond) == pytest.approx(np.outer([limit, -limit], np.ones(3)), rel=1e-14)


@pytest.mark.parametrize("n_bins", [2, 7, 16, 256])
def test_bins_are_those_of_scikit_learn(n_bins):
    X = columns(FIRST + 500)[:, :3]
    view = Bins(n=n_bins, unit_norm=False)
    arrays, _ = learned(view, X[:FIRST])
    method = (
        {"quantile_method": "linear"} if "quantile_method" in inspect.signature(KBinsDiscretizer).parameters else {}
    )
    binner = KBinsDiscretizer(n_bins, encode="onehot-dense", strategy="quantile", subsample=None, **method)
    assert np.array_equal(seen_as(view, arrays, X), binner.fit(X[:FIRST]).transform(X))


@pytest.mark.parametrize("kind", [[MISSING, ZERO, PLAIN], [ZERO], [MISSING]], ids=["any kind", "zero", "missing"])
@by_view
def test_more_than_a_thousand_rows_are_those_of_the_twin(view, kind):
    """Rows are compared where the twin, which sorts for every row, is not too slow."""
    generator, n = np.random.default_rng(3), 1300
    kinds = np.resize(np.array(kind, np.int8), D)
    names = dict(enumerate({PLAIN: "plain", MISSING: "missing", ZERO: "zero"}[k] for k in kinds.tolist()))
    values = columns(n)[:, [0, 3, 5, 1]]
    there = generator.random(values.shape) < 0.8
    rows = [{j: 1.0 if names[j] == "plain" else x[j] for j in np.flatnonzero(own).tolist()} for x, own in
            zip(values.tolist(), there, strict=True)]  # fmt: skip
    arrays = view.grown(view.new_arrays(2), Columns(kinds), 2)
    twin, found = twin_of(view, names, arrays), []
    name_of = bins_of(view, kinds).__getitem__ if view.name == "bins" else lambda j: j
    checked = [*range(0, n, 37), *range(998, 1003)]
    X, expected = matrix_of([{**row} for row in rows]), {}
    for i, row in enumerate(rows):
        if i in checked:
            expected[i] = twin.see(row)
        twin.learn(row, [0], 1.0)
    for first in range(0, n, 100):
        labels = np.zeros(min(100, n - first), np.int32)
        arrays, seen = view.learn(arrays, Labelled(X, None, first, labels, None, None, None, 2), None)
        found += as_dicts(seen, name_of)
    close([found[i] for i in expected], list(expected.values()))


@pytest.mark.long("twelve graphs")
def test_an_exported_graph_makes_the_same_rows(tmp_path):
    """After all and after few values, at ties and edges, with missing values and words between numbers."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    generator = np.random.default_rng(5)
    for n in (1, 40, 1500):
        X = columns(1600)
        X[::7, 3] = 0.0
        rows = [dict(enumerate(x)) | {6: float(x[0] > 0.2)} for x in X.tolist()]
        absent = generator.random((len(X), 7)) < 0.1
        rows = [{j: x for j, x in row.items() if not gone[j]} for row, gone in zip(rows, absent, strict=True)]
        kinds = np.array([ZERO, MISSING, ZERO, MISSING, ZERO, MISSING, PLAIN, ZERO, PLAIN], np.int8)
        labels = (X[:, 0] > 0.2).astype(np.int32)
        dense = np.zeros((len(X), D))
        dense[:, kinds == MISSING] = np.nan
        for i, row in enumerate(rows):
            dense[i, list(row)] = list(row.values())
        for chain in ("ranks", "bins", "ranks,pairs", "bins,pairs"):
            learner = Learner(Settings("arow"), 2, D, view=make_view(chain), columns=Columns(kinds))
            learner.learn(matrix_of(rows[:n]), labels[:n])
            graph = to_onnx(learner, linear_form(learner, "progressive", ClassOrder([0, 1])), dtype="float64")
            session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
            _, p = session.run(["label", "probabilities"], {"X": dense})
            assert p == pytest.approx(learner.probabilities(matrix_of(rows)), rel=1e-9, abs=1e-12)


def test_dicts_are_learned_as_the_rows_of_a_file(tmp_path):
    """None is a missing value, 0 is none; words and categories are columns of their own."""
    river = pytest.importorskip("confidently.river", reason="River is not installed")
    X = columns(1100)[:, :2].tolist()
    for name in ("ranks", "bins"):
        model, lines = river.OnlineClassifier(view=name), []
        for i, (a, _) in enumerate(X):
            row = {"a": a, "b": None if i % 5 == 0 else float(i % 3), "town": "pq"[i % 2]}
            model.learn_one(row, a > 0.5)
            lines.append(json.dumps(row | {"label": int(a > 0.5)}) + "\n")
        (tmp_path / "rows.jsonl").write_text("".join(lines))
        stream = open_stream(tmp_path / "rows.jsonl", vocabulary=True, normalize="none", zeros=True)
        other = OnlineClassifier(view=name).fit_stream(stream)
        (tmp_path / "row.jsonl").write_text(json.dumps({"a": 0.4, "b": None, "town": "q"}) + "\n")
        expected = next(iter(other.predict_stream(tmp_path / "row.jsonl", "predict_proba")))[0]
        found = model.predict_proba_one({"a": 0.4, "b": None, "town": "q"})
        assert sorted(found.values()) == pytest.approx(sorted(expected.tolist()))


def test_explanations_and_inspection_name_bins(tmp_path):
    x = np.random.default_rng(0).permutation(np.arange(2000.0))
    lines = ["income,town,label", *(f"{v:.0f},{'pq'[i % 2]},{int(700 < v < 1300)}" for i, v in enumerate(x))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    done = here("train", "--view", "bins", tmp_path / "rows.csv", "--vocabulary", "-o", tmp_path / "model", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["error"] < 0.1
    model = confidently.load(tmp_path / "model")
    learner, names = model.learner_, list(model.features_.names)
    called = [learner.view.column_name(learner.state, j, names.__getitem__) for j in range(learner.width)]
    edges = learner.state["bins.knots"][0]
    shown = here("inspect", tmp_path / "model", "--row", "income,town\n1000,p\n", "--top", "50", "--json")
    assert shown.returncode == 0, shown.stderr
    explained = [one["feature"] for one in json.loads(shown.stdout)["contributions"]]
    expected = called[int(np.searchsorted(edges, 1000.0))]
    assert expected.startswith("income in ") and " to " in expected
    assert {expected, "town=p"} <= set(explained)
    missing = here("inspect", tmp_path / "model", "--row", "income,town\n,p\n", "--top", "50", "--json")
    assert "income missing" in [one["feature"] for one in json.loads(missing.stdout)["contributions"]]
    assert "income above" in here("inspect", tmp_path / "model", "--top", "50").stdout


# --- ties, few values, equal values -----------------------------------------------------------------------------------


def test_a_tie_has_the_score_of_its_middle():
    x = np.repeat([1.0, 2.0, 5.0], [250, 500, 250])
    view = Ranks(unit_norm=False)
    arrays, _ = learned(view, np.random.default_rng(0).permutation(x)[:, None])
    z = seen_as(view, arrays, [[1.0], [2.0], [5.0], [0.0], [7.0]])[:, 0]
    assert z == pytest.approx([*ndtri([0.125, 0.5, 0.875]), -3.0, 3.0], abs=0.05)  # within a quantile of 64
    assert z[1] == pytest.approx(0.0, abs=0.03)


def test_a_column_of_equal_values_is_0():
    for n in (1, 5, FIRST):
        arrays, _ = learned(VIEWS[0], np.full((n, 1), 3.7))
        limit = min(3.0, -ndtri(0.5 / (min(2 ** int(np.log2(n)), 512) + 1 if n < FIRST else n + 1)))
        found = seen_as(VIEWS[0], arrays, [[3.7], [3.6], [3.8]])[:, 0]
        assert found == pytest.approx([0.0, -limit, limit], rel=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_each_of_few_values_has_a_bin_of_its_own(seed):
    generator = np.random.default_rng(seed)
    n_bins = int(generator.integers(2, 20))
    values = np.unique(generator.normal(size=generator.integers(1, n_bins + 1)) * 10.0 ** generator.integers(-5, 5))
    probabilities = generator.dirichlet(np.full(len(values), 0.3))
    x = np.append(generator.choice(values, FIRST - len(values), p=probabilities), values)
    view = Bins(n=n_bins, unit_norm=False)
    arrays, _ = learned(view, generator.permutation(x)[:, None])
    bins = seen_as(view, arrays, values[:, None]).argmax(axis=1)
    assert (np.diff(bins) > 0).all()
    below = np.array([(x < value).mean() for value in values])
    room = np.arange(n_bins - len(values), n_bins)
    lowest = np.maximum.accumulate(np.minimum((n_bins * below + 1e-9).astype(int), room) - np.arange(len(values)))
    assert np.array_equal(bins, lowest + np.arange(len(values)))  # the bin of its quantile, if that is free
    names = [view.column_name(arrays, j, lambda _: "x") for j in bins]
    assert len(set(names)) == len(values) and not any("empty" in name for name in names)


@pytest.mark.parametrize("heavy", [-5.0, 0.013, 5.0])  # the smallest value, one in between, the largest
def test_a_frequent_value_has_a_bin_of_its_own(heavy):
    generator = np.random.default_rng(0)
    x = generator.uniform(-1.0, 1.0, FIRST)
    x[:400] = heavy
    view = Bins(unit_norm=False)
    arrays, _ = learned(view, generator.permutation(x)[:, None])
    bins = seen_as(view, arrays, x[:, None]).argmax(axis=1)
    assert len(set(bins[:400])) == 1
    assert bins[0] not in bins[400:]
    assert 8 <= len(set(bins)) <= 12
    assert (np.diff(arrays["bins.knots"]) >= 0.0).all()


def test_missing_values_have_a_bin_and_the_median_rank():
    X = csr_array(([1.0, 2.0, 3.0, 4.0], ([0, 1, 2, 3], [0, 0, 0, 0])), shape=(5, 2))
    arrays, seen = learned(Bins(n=4, unit_norm=False), X, MISSING)
    assert [sorted(row) for row in as_dicts(seen)] == [[], [3], [3], [3], [4]]  # the second has had no value
    assert [Bins(n=4).column_name(arrays, j, "ab".__getitem__) for j in (4, 9)] == ["a missing", "b missing"]
    _, seen = learned(Ranks(unit_norm=False), X, MISSING)
    assert [sorted(row) for row in as_dicts(seen)] == [[], [0], [0], [0], []]


def test_a_column_that_was_always_0_shows_what_is_above():
    arrays, _ = learned(VIEWS[1], np.zeros((FIRST, 1)))
    found = seen_as(VIEWS[1], arrays, [[-1.0], [0.0], [1e-9]])
    assert np.array_equal(found, np.eye(7)[[0, 0, 6]] * [[1.0], [0.0], [1.0]])
    assert [VIEWS[1].column_name(arrays, j, lambda _: "x") for j in (0, 6)] == ["x up to 0", "x above 0"]


# --- the order of rows and columns ------------------------------------------------------------------------------------


@by_view
def test_statistics_end_with_the_thousandth_value(view):
    X = columns(3 * FIRST)
    arrays, _ = learned(view, X[:FIRST])
    assert arrays[f"{view.name}.sample"].size == 0
    later, _ = learned(view, X[FIRST:] * 7.0, arrays={key: array.copy() for key, array in arrays.items()})
    same(later, arrays)
    before, _ = learned(view, X[: FIRST - 1])
    assert before[f"{view.name}.sample"].size == (FIRST - 1) * X.shape[1]
    halfway, _ = learned(view, X[:512])
    assert np.array_equal(before[f"{view.name}.knots"], halfway[f"{view.name}.knots"])


@by_view
def test_no_cut_of_the_rows_changes_a_bit(view):
    X = columns(1400)
    whole, seen = learned(view, X)
    generator, arrays, first, parts = np.random.default_rng(1), None, 0, []
    while first < len(X):
        n = int(generator.choice([1, 2, 60, 333]))
        arrays, part = learned(view, X[first : first + n], arrays=arrays)
        parts.append(part)
        first += n
    same(arrays, whole)
    for name in ("values", "columns"):
        assert np.array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(seen, name))


@pytest.mark.parametrize("n", [3, 600, 1200])
@by_view
def test_a_late_column_has_been_0_and_renumbers_none(view, n):
    X = columns(1500)
    X[:n, 4:] = 0.0
    at_once, _ = learned(view, X)
    arrays, _ = learned(view, X[:n, :4])
    names = [view.column_name(arrays, j, str) for j in range(view.n_columns(arrays, 4))]
    arrays = view.grown(arrays, Columns.alike(2, ZERO), 2)
    assert [view.column_name(arrays, j, str) for j in range(len(names))] == names
    same(learned(view, X[n:], arrays=arrays)[0], at_once)


@by_view
def test_weights_make_no_difference_unless_they_are_0(view):
    X, weight = columns(1200), np.random.default_rng(0).choice([0.0, 0.1, 30.0], 1200)
    arrays, _ = learned(view, X, weight=weight)
    same(arrays, learned(view, X[weight > 0.0])[0])


@by_view
def test_sparse_rows_and_single_precision_are_the_same(view):
    X = columns(1200)
    y = X[:, 0] > 0.3
    dense = OnlineClassifier(view=view).fit(X, y)
    sparse = OnlineClassifier(view=view).fit(csr_array(X), y)
    assert np.array_equal(dense.decision_function(X), sparse.decision_function(csr_array(X)))
    narrow = OnlineClassifier(view=view, dtype="float32").fit(X.astype(np.float32), y)
    wide = OnlineClassifier(view=view).fit(X.astype(np.float32).astype(float), y)
    same(*(view.arrays(model.learner_.state) for model in (narrow, wide)))
    assert narrow.decision_function(X.astype(np.float32)) == pytest.approx(wide.decision_function(X), abs=1e-3)


@pytest.mark.parametrize("start", [0, 700, 999, 1000])
@by_view
def test_an_error_undoes_what_was_counted(view, start, monkeypatch):
    """Also across the thousandth value, where the sample of a column is dropped."""
    monkeypatch.setattr("confidently.learner.learner.ROWS_PER_VIEW", 100)
    X, labels = columns(1500), np.arange(1500, dtype=np.int32) % 2
    learner = Learner(Settings("arow"), 2, 6, view=view, columns=Columns.alike(6, ZERO))
    learner.learn(as_matrix(X[:start]), labels[:start])
    before, kept = {key: array.copy() for key, array in learner.state.items()}, dict(learner.state)
    calls, original = iter(range(100)), learner._learn_rows

    def learn(*arguments, **more):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return original(*arguments, **more)

    monkeypatch.setattr(learner, "_learn_rows", learn)
    with pytest.raises(KeyboardInterrupt):
        learner.learn(as_matrix(X[start:]), labels[start:])
    assert all(learner.state[key] is kept[key] for key in kept)
    same(learner.state, before)


# --- rows in random order ---------------------------------------------------------------------------------------------


def quantiles_of(view, X, kept):
    """Return the knots of columns of continuous values by NumPy."""
    p = np.arange(65) / 64 if view.name == "ranks" else np.arange(1, view.n) / view.n
    return np.quantile(X[kept], p, axis=0).T


@pytest.mark.parametrize(("n", "chain"), [(514, False), (700, True), (1500, False)])
@by_view
def test_a_shuffled_fit_compares_with_quantiles_of_its_rows_from_the_first_on(view, n, chain):
    X = columns(n)[:, :3]
    y = (X[:, 0] > 0).astype(int)
    own = make_view([Categories(), view]) if chain else view
    model = OnlineClassifier(view=own, passes=2, shuffle=True).fit(X, y)
    state = model.learner_.state
    seen = np.arange(min(n, FIRST)) * n // min(n, FIRST)
    assert state[f"{view.name}.knots"] == pytest.approx(quantiles_of(view, X, seen))
    assert state[f"{view.name}.rows"] == state[f"{view.name}.counts"][0] == min(n, FIRST)
    more = columns(FIRST, seed=1)[:, :3]
    model.partial_fit(more, (more[:, 0] > 0).astype(int))  # a stream renews them
    values = np.concatenate([X, more])[:FIRST] if n < FIRST else X[seen]
    if n < FIRST:
        assert model.learner_.state[f"{view.name}.knots"] == pytest.approx(quantiles_of(view, values, slice(None)))
    else:
        assert np.array_equal(model.learner_.state[f"{view.name}.knots"], state[f"{view.name}.knots"])


def test_stacks_see_the_quantiles_of_all_rows_from_the_first_on():
    X = columns(514)[:, :3]
    model = AutoRegressor(trees=False).fit(X, X[:, 0])
    knots = [m.learner_.state["bins.knots"] for m in model.members_.values() if "bins.knots" in m.learner_.state]
    assert knots
    for own in knots:
        n = own.shape[1] + 1
        assert own == pytest.approx(np.quantile(X, np.arange(1, n) / n, axis=0).T)


@by_view
def test_rows_without_weight_are_not_foreseen(view):
    X = columns(400)
    y, weight = (X[:, 0] > 0).astype(int), np.where(np.arange(400) % 3, 1.0, 0.0)
    X[weight == 0.0] += 1e12
    state = OnlineClassifier(view=view, shuffle=True).fit(X, y, sample_weight=weight).learner_.state
    kept = learned(view, X[weight > 0.0])[0]
    assert np.array_equal(state[f"{view.name}.counts"], kept[f"{view.name}.counts"])
    assert state[f"{view.name}.knots"].max() < 1e9


@by_view
def test_training_in_random_order_goes_on_with_the_knots_of_a_file(view, tmp_path):
    """As `train` does after an interruption."""
    X = columns(300)
    y = (X[:, 0] > 0).astype(int)
    model = OnlineClassifier(view=view).partial_fit(X[:1], y[:1], classes=[0, 1])
    learner = model.learner_ = model._fresh_learner(X, 2, False)
    learner.shuffled = True
    learner.prepare(as_matrix(X))
    knots = learner.state[f"{view.name}.knots"].copy()
    learner.learn(as_matrix(X[:200]), y[:200].astype(np.int32))
    model.save(tmp_path / "model")
    resumed = confidently.load(tmp_path / "model").learner_
    resumed.learn(as_matrix(X[200:]), y[200:].astype(np.int32))
    assert np.array_equal(resumed.state[f"{view.name}.knots"], knots)
    resumed.settle(shuffled=True)
    assert resumed.state[f"{view.name}.rows"] == 300


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 300, 1000])
@by_view
def test_training_resumes_within_and_after_the_first_values(view, n, tmp_path):
    X = columns(1500)
    y = (X[:, 0] > 0).astype(int)
    whole = OnlineClassifier(view=view).partial_fit(X[:n], y[:n], classes=[0, 1]) if n else OnlineClassifier(view=view)
    if n:
        whole.save(tmp_path / "model")
        resumed = confidently.load(tmp_path / "model").partial_fit(X[n:], y[n:])
    else:
        resumed = OnlineClassifier(view=view).partial_fit(X[:5], y[:5], classes=[0, 1]).partial_fit(X[5:], y[5:])
    whole.partial_fit(X[n:], y[n:], classes=[0, 1])
    whole.save(tmp_path / "one")
    resumed.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize(("field", "spoiled", "message"), [
    ("kind", lambda a: a + 2, "must be in"), ("rows", lambda a: a + 5000, "must be in"),
    ("rows", lambda a: a + 0.5, "must be integers"), ("rows", lambda a: a - 5000, "must be in"),
    ("counts", lambda a: a + np.resize([0.5, -0.5], a.shape), "must be integers"),
    ("counts", lambda a: -a, "must be in|sample is"), ("counts", lambda a: a - np.inf, "not finite"),
    ("counts", lambda a: a + 1, "sample is"), ("counts", lambda a: a[1:], "counts is"),
    ("knots", lambda a: a[:, ::-1], "must ascend"), ("knots", lambda a: a[:, 1:], "knots is"),
    ("knots", lambda a: a + 1e200, "must be in"), ("sample", lambda a: a[1:], "sample is"),
    ("sample", lambda a: a + np.nan, "not finite"), ("sample", lambda a: a + 1e200, "must be in"),
])  # fmt: skip
@by_view
def test_arrays_that_cannot_be_are_refused(view, field, spoiled, message, tmp_path):
    X = columns(300)
    OnlineClassifier(view=view).fit(X, X[:, 0] > 0).save(tmp_path / "model")
    header, arrays = contents_of(tmp_path / "model")
    name = f"{view.name}.{field}"
    write_contents(tmp_path / "model", header, arrays | {name: np.ascontiguousarray(spoiled(arrays[name]))})
    with pytest.raises(ModelFileError, match=message):
        confidently.load(tmp_path / "model")


def test_samples_that_do_not_match_the_counts_are_refused():
    arrays, _ = learned(VIEWS[0], columns(10))
    for counts in (arrays["ranks.counts"] - 1.0, arrays["ranks.counts"] + 1.0, arrays["ranks.counts"] * np.nan):
        with pytest.raises(ValueError, match=r"ranks\.sample does not match the counts"):
            VIEWS[0].see(arrays | {"ranks.counts": counts}, as_matrix(columns(3)), 0, 3)


# --- names, chains ----------------------------------------------------------------------------------------------------


def test_bins_are_called_by_their_edges():
    x = np.random.default_rng(0).permutation(np.arange(1000.0) * 100.0 + 20_000.0)
    view = Bins(n=4)
    arrays, _ = learned(view, x[:, None], MISSING)
    names = [view.column_name(arrays, j, lambda _: "income") for j in range(5)]
    assert names == [
        "income up to 45,000", "income in 45,000 to 70,000", "income in 70,000 to 94,900", "income above 94,900",
        "income missing",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("x", "names"),
    [
        ([1.0, 2.0, 3.0], ["up to 1.5", "in 1.5 to 2.5", "in 2.5 to 3", "above 3"]),
        ([1e-9, 2e-9], ["up to 1.5e-09", "in 1.5e-09 to 2e-09", "above 2e-09"]),
        ([1e15, 2e15], ["up to 1.5e+15", "in 1.5e+15 to 2e+15", "above 2e+15"]),
        ([100_001.0, 100_002.0, 100_003.0], ["up to 100,001.5", "in 100,001.5 to 100,002.5", "in 100,002.5 to 100,003",
                                             "above 100,003"]),
        ([-2.0, 0.0], ["up to -1", "in -1 to 0", "above 0"]),
    ],
)  # fmt: skip
def test_edges_are_written_with_the_digits_that_tell_them_apart(x, names):
    view = Bins(n=10)
    arrays, _ = learned(view, np.tile(x, 20)[:, None])
    found = [view.column_name(arrays, j, lambda _: "x").removeprefix("x ") for j in range(10)]
    assert [name for name in found if "empty" not in name] == names


def test_a_column_without_values_has_numbered_bins():
    view = Bins(n=3)
    arrays = view.grown(view.new_arrays(2), Columns.of_table(["a", "b=c"], 2, np.array([1])), 2)
    names = [view.column_name(arrays, j, ["a", "b=c"].__getitem__) for j in range(view.n_columns(arrays, 2))]
    assert names == ["a in bin 1", "a in bin 2", "a in bin 3", "a missing", "b=c"]
    assert view.by_feature(arrays, np.array([1.0, 5.0, 0.0, 2.0, 3.0])).tolist() == [5.0, 3.0]
    assert view.by_feature(view.new_arrays(2), np.zeros(0)).tolist() == []


def test_products_of_bins_are_of_the_columns_chosen():
    X = columns(600)[:, :3]
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    view = make_view([Bins(n=4), confidently.Pairs(columns=[(0, 1)])])
    model = OnlineClassifier(view=view).fit(X, y)
    assert model.score(X, y) > 0.9
    learner = model.learner_
    names = [learner.view.column_name(learner.state, j, "abc".__getitem__) for j in range(learner.width)]
    products = [name.split(" * ") for name in names if " * " in name]
    assert len(products) == 16
    assert {(left[0], right[0]) for left, right in products} <= {("a", "b"), ("b", "a")}
    assert len(learner.sizes()) == 3 and (learner.sizes()[:2] > learner.sizes()[2]).all()


@pytest.mark.parametrize(("views", "message"), [
    ("standard,ranks", "the view ranks takes values as they are, so it must be the first, got standard, ranks"),
    ("ranks,bins", "the view bins takes values as they are, so it must be the first"),
    ("pairs,bins", "the view pairs makes columns of its own, so it must be the last"),
])  # fmt: skip
def test_views_that_take_values_come_first(views, message):
    with pytest.raises(ValueError, match=message):
        make_view(views)


@pytest.mark.parametrize("n", [1, 257, 2.5, True])
def test_numbers_of_bins_that_cannot_be_are_refused(n):
    with pytest.raises((ValueError, TypeError), match="n must be"):
        Bins(n=n)


@pytest.mark.parametrize(("name", "kind"), [("ranks", ZERO), ("bins", ZERO), ("bins", MISSING)])
def test_many_columns_are_not_made_dense(name, kind):
    view = make_view(name)
    state = view.grown(view.new_arrays(2), Columns.alike(10_000, kind), 2)
    with pytest.raises(ValueError, match=f"the view {name} makes sparse rows dense: all 10,001 columns"):
        view.grown(state, Columns.alike(1, kind), 2)
    assert view.n_known(view.grown(state, Columns.alike(5000, PLAIN), 2)) == 15_000


# --- merging ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize("chain", ["", "pairs"])
@by_view
def test_models_that_continue_from_one_merge(view, chain, covariance):
    """Precisions are added and means weighted by them, as without a view; quantiles stay."""
    X = columns(2000)[:, :4]
    y = (X[:, 0] > 0).astype(int)
    view = make_view([view, chain]) if chain else view

    def model(*parts):
        found = OnlineClassifier(view=view, covariance=covariance)
        for part in parts:
            found.partial_fit(X[part], y[part], classes=[0, 1])
        return found

    first, one, two = slice(0, 1200), slice(1200, 1600), slice(1600, 2000)
    base, parts = model(first), [model(first, one), model(first, two)]
    merged = merge(parts, base=base)
    if not chain:
        same(*(view.arrays(own.learner_.state) for own in (merged, base)))
    if covariance == "diag" and not chain:
        found, start, a, b = (1.0 / own.learner_.variance() for own in (merged, base, *parts))
        assert found == pytest.approx(a + b - start)
    assert np.mean(merged.predict(X) == model(first, one, two).predict(X)) > 0.97
    apart = merge(parts)  # the quantiles are equal, whatever they come from
    same(*(view.arrays(own.learner_.state) for own in (merged, apart)) if not chain else ({}, {}))


@by_view
def test_models_of_different_quantiles_are_not_merged(view):
    X = columns(2400)
    y = (X[:, 0] > 0).astype(int)
    parts = [OnlineClassifier(view=view).fit(X[k : k + 1200], y[k : k + 1200]) for k in (0, 1200)]
    with pytest.raises(
        MergeError, match=r"the first 1,000 values of \d columns differ between the models; merge models "
    ):
        merge(parts)
    base = OnlineClassifier(view=view).partial_fit(X[:500], y[:500], classes=[0, 1])
    copies = [OnlineClassifier(view=view).partial_fit(X[:500], y[:500], classes=[0, 1]) for _ in range(2)]
    copies[0].partial_fit(X[500:900], y[500:900])
    merged = merge(copies, base=base)  # the other one has learned nothing
    same(*(view.arrays(own.learner_.state) for own in (merged, copies[0])))
    copies[1].partial_fit(X[900:1300], y[900:1300])
    with pytest.raises(MergeError, match="merge models that have continued from one that has seen at least 1,000 rows"):
        merge(copies, base=base)
    with pytest.raises(MergeError, match="counted rows that a model has not"):
        merge(copies, base=parts[0])


def test_columns_that_one_model_lacks_are_merged():
    X = columns(2000)
    y = (X[:, 0] > 0).astype(int)
    X[:1500, 4:] = 0.0
    view = VIEWS[1]
    base = OnlineClassifier(view=view).partial_fit(X[:1200, :4], y[:1200], classes=[0, 1])
    one = OnlineClassifier(view=view).partial_fit(X[:1200, :4], y[:1200], classes=[0, 1])
    two = OnlineClassifier(view=view).partial_fit(X[:1200, :4], y[:1200], classes=[0, 1])
    one.partial_fit(X[1200:1500, :4], y[1200:1500])
    state = view.arrays(merge([one, two], base=base).learner_.state)
    same(state, view.arrays(base.learner_.state))
