"""covariance="sparse" is covariance="diag" of which only the weights that rows have moved are stored."""

import json
from copy import copy, deepcopy

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array
from sklearn.datasets import load_iris

from confidently import ModelFileError, OnlineClassifier, load, merge
from confidently.covariances.covariance import Covariance
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.models.inspection import class_views
from confidently.models.merging import merge_models
from confidently.models.model import Model
from confidently.rules import RULES
from tests.command_line import here
from tests.covariance_cases import known
from tests.model_files import contents_of, write_contents

F, K = 120, 23


def rows(n=600, seed=0, n_classes=K):
    """Return sparse rows, of which each has a feature of its class most of the time, and labels by Zipf's law."""
    random = np.random.default_rng(seed)
    y = ((random.zipf(1.4, n) - 1) % n_classes).astype(np.int32)
    X = random_array((n, F), density=0.06, rng=random, format="csr")
    own = csr_matrix((random.random(n), (np.arange(n), np.where(random.random(n) < 0.8, 5 * y % F, 7))), shape=(n, F))
    return (X + own).tocsr(), y


def pair(rule="arow", **options):
    return [Learner(Settings(rule, name, "joint", **options), K, F) for name in ("diag", "sparse")]


def assert_same(dense, sparse, X):
    if not dense.settings.rule.learns_precision:  # whose step is the prior variance times alpha, then times the row
        for a, b in ((dense.mean(), sparse.mean()), (dense.variance(), sparse.variance())):
            tolerance = 1e-6 if dense.dtype == "float32" else 1e-12
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        return
    np.testing.assert_array_equal(dense.weights, sparse.weights)
    for name in ("updates", "counters", "scale", "folded", "variances"):
        np.testing.assert_array_equal(dense.state[name], sparse.state[name], err_msg=name)
    for name in ("calibration", "conformal"):  # sums over classes in another order
        np.testing.assert_allclose(dense.state[name], sparse.state[name], rtol=1e-9, atol=1e-11, err_msg=name)
    X = as_matrix(X, dense.dtype)
    np.testing.assert_array_equal(dense.decision(X), sparse.decision(X))
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(X))
    np.testing.assert_array_equal(dense.margin_distribution(X), sparse.margin_distribution(X))
    np.testing.assert_array_equal(dense.top_margins(X), sparse.top_margins(X))
    np.testing.assert_allclose(dense.probabilities(X), sparse.probabilities(X), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("rule", RULES)
def test_it_learns_what_diag_learns_to_the_bit(rule):
    X, y = rows()
    for options in ({}, {"fit_intercept": False, "average": True}, {"dtype": "float32", "projection": "moments"}):
        dense, sparse = pair(rule, prior_variance=0.7, **options)
        for first, last in ((0, 1), (1, 400), (400, 600)):
            losses = [np.zeros(1), np.zeros(1)]
            for learner, loss in zip((dense, sparse), losses, strict=True):
                learner.learn(as_matrix(X[first:last], learner.dtype), y[first:last], log_loss=loss)
            np.testing.assert_allclose(*losses, rtol=1e-7)
        assert_same(dense, sparse, np.vstack([X[:50].toarray(), np.zeros((1, F))]))


@pytest.mark.parametrize(("slope", "low", "high"), [(300.0, -np.inf, -60.0), (60.0, -37.0, -9.5)])
def test_classes_far_below_the_best_one_do_not_change_the_calibration(slope, low, high):
    """Two classes have the same features each, so that one of them is a rival; all others are left out, or summed."""
    n_pairs, n = 40, 400
    random = np.random.default_rng(0)
    pairs = random.integers(0, n_pairs, n)
    y = (2 * pairs + random.integers(0, 2, n)).astype(np.int32)
    own = csr_matrix((np.ones(n), (np.arange(n), pairs)), shape=(n, F))
    common = csr_matrix((np.full(n, 0.2), (np.arange(n), n_pairs + pairs % 3)), shape=(n, F))
    learners = [Learner(Settings("arow", name, "joint", fit_intercept=False), 2 * n_pairs, F)
                for name in ("diag", "sparse")]  # fmt: skip
    far = 0
    for first in range(0, n, 2):
        block = as_matrix((own + common)[first : first + 2])
        scores = learners[0].decision(block)
        met = learners[1].decision(block) != 0
        for learner in learners:
            learner.state["calibration"][0] = slope  # which falls since the pairs cannot be told apart
            learner.learn(block, y[first : first + 2])
        distance = scores.max(axis=1, keepdims=True) - scores
        far += np.count_nonzero(met & (-slope * distance > low) & (-slope / 3 * distance < high))
        dense, sparse = (learner.state["calibration"] for learner in learners)
        assert dense[0] > slope / 3
        np.testing.assert_allclose(dense, sparse, rtol=1e-9, atol=1e-11)
    assert far > n


def test_only_moved_weights_are_stored():
    X, y = rows()
    _, sparse = pair("arow", fit_intercept=False)
    sparse.learn(as_matrix(X), y)
    assert sparse.updates > 0.9 * len(y)
    moved = np.zeros((F, K), dtype=bool)
    one = Learner(sparse.settings, K, F)
    for i in range(len(y)):
        before = one.mean()
        one.learn(as_matrix(X[i : i + 1]), y[i : i + 1])
        moved |= (one.mean() != before).T
    assert known(sparse)["column"].size == moved.sum() < 0.9 * F * K


def test_rivals_without_weights_are_the_first_classes():
    """A row of features that no class has is an error of the first class, whose rivals score 0 as well."""
    X = np.eye(4)
    dense, sparse = (Learner(Settings("arow", name, "joint", fit_intercept=False), 9, 4) for name in ("diag", "sparse"))
    for learner in (dense, sparse):
        learner.learn(as_matrix(X), np.array([0, 5, 1, 8], dtype=np.int32))
    np.testing.assert_array_equal(dense.weights, sparse.weights)
    assert sorted(sparse.mean()[:, 0].nonzero()[0]) == [0, 1]
    assert sorted(sparse.mean()[:, 1].nonzero()[0]) == [0, 5]


def test_a_third_class_continues_with_the_same_beliefs():
    """Two classes have one column, which "diag" adds up in another order."""
    X, y = rows(200, n_classes=2)
    more, later = rows(100, seed=1, n_classes=5)
    for average in (False, True):
        models = [OnlineClassifier("arow", name, average=average, view=None) for name in ("diag", "sparse")]
        for model in models:
            model.partial_fit(X, y, classes=[0, 1]).partial_fit(more, later, classes=range(5))
        np.testing.assert_allclose(models[0].learner_.weights, models[1].learner_.weights, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(models[0].predict(more), models[1].predict(more))


@pytest.mark.parametrize("rows_before", [0, 500])
@pytest.mark.parametrize("n", [3, 100])
def test_an_interrupted_call_leaves_no_change(rows_before, n):
    """The arrays were replaced by larger ones, or not; changes were copied, or logged."""
    X, y = rows()
    _, sparse = pair("arow")
    sparse.learn(as_matrix(X[:rows_before]), y[:rows_before])
    before, state = {name: array.copy() for name, array in known(sparse).items()}, sparse.state

    def stop(done):
        if done == n:
            raise KeyboardInterrupt

    later = slice(rows_before, rows_before + n)
    with pytest.raises(KeyboardInterrupt):
        sparse.learn(as_matrix(X[later]), y[later], progress=stop)
    assert all(array is state[name] for name, array in sparse.state.items())
    for name, array in known(sparse).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    sparse.learn(as_matrix(X[rows_before:]), y[rows_before:])
    _, whole = pair("arow")
    whole.learn(as_matrix(X), y)
    for name, array in known(whole).items():
        np.testing.assert_array_equal(array, known(sparse)[name], err_msg=name)


def test_the_state_that_was_grown_is_unchanged():
    X, y = rows(100)
    _, sparse = pair()
    sparse.learn(as_matrix(X), y)
    other, before = copy(sparse), known(sparse)
    other.grow(n_features=3 * F, n_classes=2 * K)
    for name, array in known(sparse).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_files_are_in_proportion_to_what_was_learned(tmp_path):
    """A class and two numbers per weight, whatever the numbers of classes and features."""
    n_classes, n_features, n = 5_000, 2**18, 2_000
    random = np.random.default_rng(0)
    y = random.integers(0, n_classes, n).astype(np.int32)
    columns = np.sort(random.integers(0, n_features, (n, 30)), axis=1)
    X = csr_matrix((np.ones(n * 30), columns.ravel(), np.arange(0, n * 30 + 1, 30)), shape=(n, n_features))
    X.sum_duplicates()
    learner = Learner(Settings("arow", "sparse", "joint", fit_intercept=False), n_classes, n_features)
    learner.learn(as_matrix(X), y)
    Model(learner, list(range(n_classes))).save(tmp_path / "m.cw")
    stored = len(known(learner)["column"])
    assert stored > 50_000
    own = sum(array.nbytes for name, array in known(learner).items() if name in ("column", "mean", "variance"))
    assert own == 20 * stored
    again = load(tmp_path / "m.cw").learner_
    np.testing.assert_array_equal(again.predict(as_matrix(X)), learner.predict(as_matrix(X)))
    for name, array in known(again).items():
        np.testing.assert_array_equal(array, known(learner)[name], err_msg=name)


DAMAGES = {
    "a column twice": lambda arrays: arrays["column"].__setitem__(slice(0, 2), 3),
    "a column that does not exist": lambda arrays: arrays["column"].__setitem__(0, K),
    "a negative column": lambda arrays: arrays["column"].__setitem__(0, -1),
    "a row twice": lambda arrays: arrays["lists.rows"].__setitem__(1, arrays["lists.rows"][0]),
    "an empty list": lambda arrays: arrays["lists"].__setitem__(0, 0),
    "longer lists": lambda arrays: arrays["lists"].__setitem__(0, 2**62),
    "another number of columns": lambda arrays: arrays["extent"].__setitem__(1, K + 1),
    "fewer means": lambda arrays: arrays.__setitem__("mean", arrays["mean"][:-1].copy()),
    "means of another type": lambda arrays: arrays.__setitem__("mean", arrays["mean"].astype(np.float32)),
    "columns of another type": lambda arrays: arrays.__setitem__("column", arrays["column"].astype(np.int64)),
    "a negative variance": lambda arrays: arrays["variance"].__setitem__(0, -1.0),
    "a mean that is not finite": lambda arrays: arrays["mean"].__setitem__(0, np.nan),
    "no columns": lambda arrays: arrays.pop("column"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_lists_are_refused(tmp_path, damage):
    X, y = rows()
    _, sparse = pair()
    sparse.learn(as_matrix(X), y)
    Model(sparse, list(range(K))).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    DAMAGES[damage](arrays)
    write_contents(tmp_path / "m.cw", header, arrays)
    with pytest.raises(ModelFileError, match=r"m\.cw: damaged model file"):
        load(tmp_path / "m.cw")


def test_what_does_not_fit_the_memory_is_refused(monkeypatch):
    X, y = rows(50)
    _, sparse = pair()
    sparse.learn(as_matrix(X), y)
    monkeypatch.setattr("confidently.memory.available_bytes", lambda: 4_000)
    with pytest.raises(MemoryError, match="a table of 121 features by 23 columns, one per class, needs"):
        sparse.mean()
    with pytest.raises(MemoryError, match="a table of 50 rows by 23 scores needs"):
        sparse.decision(as_matrix(X))
    assert sparse.predict(as_matrix(X)).shape == (50,)
    with pytest.raises(MemoryError, match="what is counted of 100 classes needs"):
        Learner(sparse.settings, 100, 3)
    more = rows(600, seed=2)
    with pytest.raises(MemoryError, match=r"room for [\d,]+ weights needs"):
        sparse.learn(as_matrix(more[0]), more[1])


@pytest.mark.parametrize("multiclass", ["one-vs-rest", "softmax"])
def test_tasks_that_move_all_classes_are_refused(multiclass):
    X, y = load_iris(return_X_y=True)
    model = OnlineClassifier("logistic", "sparse", multiclass=multiclass)
    with pytest.raises(ValueError, match='use multiclass="joint", or another covariance'):
        model.partial_fit(X, y, classes=range(3))


def test_without_a_choice_pairs_of_classes_move_whatever_the_rule(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = OnlineClassifier("logistic", "sparse", random_state=0, shuffle=True).fit(X, y)
    assert model.learner_.settings.task.multiclass == "joint"
    model.save(tmp_path / "model.cw")
    loaded = load(tmp_path / "model.cw")
    assert loaded.multiclass is None
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    chosen = OnlineClassifier("logistic", "sparse", multiclass="joint", random_state=0, shuffle=True).fit(X, y)
    assert np.array_equal(chosen.predict_proba(X), model.predict_proba(X))


def test_only_some_kinds_find_the_best_class():
    with pytest.raises(NotImplementedError, match=r"Covariance\.best is not defined"):
        Covariance(Settings()).best({}, as_matrix(np.zeros((1, 1))), None)
    dense, _ = pair()
    with pytest.raises(ValueError, match="this covariance scores all columns"):
        dense.covariance.compiled().best(dense.state, as_matrix(np.zeros((1, F))), np.zeros(1, np.int32))


def test_iris_as_with_diag():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X.sample(frac=1, random_state=0), y.sample(frac=1, random_state=0)
    models = [OnlineClassifier("arow", name, random_state=0).fit(X, y) for name in ("diag", "sparse")]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    np.testing.assert_array_equal(models[0].covariance_.diagonal(), models[1].covariance_.diagonal())


@pytest.mark.long("ten models of each of twenty settings")
@pytest.mark.parametrize("rule", ["arow", "cw_stdev", "nherd", "sop", "pa1"])
@pytest.mark.parametrize("how", ["product", "mean"])
@pytest.mark.parametrize("average", [False, True])
def test_merged_models_are_those_of_diag(rule, how, average):
    """The second model has other features and classes; both may have continued from a first one."""
    random = np.random.default_rng(0)
    X, y = rows(900)
    common = {"average": average, "fit_intercept": average, "multiclass": "joint", "view": None, "min_variance": 1e-4}
    order = random.permutation(F)
    merged = {}
    for name in ("diag", "sparse"):
        base = OnlineClassifier(rule, name, **common).partial_fit(X[:200], y[:200], classes=range(K))
        parts = [deepcopy(base).partial_fit(X[a:b], y[a:b]) for a, b in ((200, 400), (400, 600))]
        apart = [OnlineClassifier(rule, name, **common).partial_fit(X[a:b][:, order], y[a:b], classes=range(K))
                 for a, b in ((600, 750), (750, 900))]  # fmt: skip
        merged[name] = merge(parts, base=base, how=how), merge(apart, how=how)
    for dense, sparse in zip(*merged.values(), strict=True):
        assert_same(dense.learner_, sparse.learner_, X[:50])
        sparse.partial_fit(X, y)
        dense.partial_fit(X, y)
        assert_same(dense.learner_, sparse.learner_, X[:50])


@pytest.mark.parametrize("first", [(0, 1), (1, 2)])
def test_a_merged_model_of_two_classes_is_that_of_diag(first):
    X, y = rows(300, n_classes=3)
    two = np.isin(y, first)
    merged = {}
    for name in ("diag", "sparse"):
        models = [OnlineClassifier("arow", name, multiclass="joint", average=True, view=None) for _ in range(3)]
        models[0].partial_fit(X[two][:60], y[two][:60], classes=first)
        models[1].partial_fit(X[60:], y[60:], classes=range(3))
        models[2].partial_fit(X[two][60:], y[two][60:], classes=first)
        merged[name] = merge(models[:2]), merge(models[::2])
    for dense, sparse in zip(*merged.values(), strict=True):
        np.testing.assert_allclose(dense.learner_.weights, sparse.learner_.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.long("5,000 classes of a million features")
def test_a_merge_stores_only_what_a_model_stored(tmp_path):
    """5,000 classes of 2**20 features, whose table would be 84 GB."""
    n, n_classes, n_features = 300, 5_000, 2**20
    random = np.random.default_rng(0)
    settings = Settings("arow", "sparse", "joint", fit_intercept=False)
    models, stored = [], set()
    for _ in range(2):
        y = random.choice(n_classes, n).astype(np.int32)
        X = csr_matrix((np.ones(4 * n), random.integers(0, n_features, 4 * n), 4 * np.arange(n + 1)), (n, n_features))
        learner = Learner(settings, n_classes, n_features)
        learner.learn(as_matrix(X), y)
        models.append(Model(learner, list(range(n_classes))))
        rows_of, columns, _ = learner.covariance.entries(learner.state)
        stored |= set(zip(rows_of.tolist(), columns.tolist(), strict=True))
    merged = merge_models(models, ["a", "b"], None, "").learner
    rows_of, columns, _ = merged.covariance.entries(merged.state)
    assert set(zip(rows_of.tolist(), columns.tolist(), strict=True)) == stored


def test_inspection_of_one_class_equals_that_of_all(monkeypatch):
    X, y = rows()
    _, sparse = pair()
    sparse.learn(as_matrix(X), y)
    model = Model(sparse, [f"class {k}" for k in range(K)])
    of_all = {view.name: view for view in class_views(model)}
    size = 8 * 2 * (F + 1)  # of the weights of one class
    monkeypatch.setattr("confidently.memory.available_bytes", lambda: max(5 * size, sparse.state["mean"].nbytes * 3))
    for name in ("class 0", "class 3"):
        [view] = class_views(model, class_name=name)
        assert view == of_all[name]
    stored = np.bincount(known(sparse)["column"], minlength=K)
    largest = class_views(model, most=3)
    assert largest == [view for view in of_all.values() if view in largest]  # in the same order
    assert {view.name for view in largest} == {f"class {k}" for k in np.argsort(-stored, kind="stable")[:3]}


def said(*arguments):
    """Return what a command prints."""
    done = here(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout or done.stderr


@pytest.mark.long("2,000 classes")
def test_thousands_of_classes_from_the_command_line(tmp_path, monkeypatch):
    """Every class has a feature of its own; rows are predicted 50 at a time."""
    n = 2_000
    monkeypatch.setattr("confidently.learner.predictor.SCORES_AT_ONCE", 50 * n)
    lines = [f"{k} {k + 1}:1 {n + 1 + k % 7}:0.1" for k in range(n)]
    (tmp_path / "rows.svm").write_text("\n".join(lines * 2) + "\n")
    data, model = str(tmp_path / "rows.svm"), str(tmp_path / "m.cw")
    trained = here("train", data, "--covariance", "sparse", "--multiclass", "joint", "--no-intercept", "-o", model)
    assert f"classes    {n:,}" in trained.stdout + trained.stderr
    assert said("predict", model, data).split() == [str(k) for k in range(n)] * 2
    top = said("predict", model, data, "--proba", "--top", "2").splitlines()
    assert top[0] == "class\tranking\tproba:top1\tproba:top2" and top[1].split("\t")[1].startswith("0,")
    evaluated = json.loads(said("evaluate", model, data, "--json"))
    assert evaluated["error"] == 0.0 and len(evaluated["classes"]) == n and "confusion" not in evaluated
    shown = said("inspect", model, "--class", "1234", "--top", "1")
    assert "1235" in shown
    assert "\n\n(1,988 classes with fewer weights; use --class NAME to show one)" in said("inspect", model)
    shown = json.loads(said("inspect", model, "--json"))
    assert len(shown["weights"]) == 12 and shown["classes_left_out"] == 1_988
    unknown = here("inspect", model, "--class", "x")
    assert "expected one of 0, 1, 2," in unknown.stderr and ", ... (2,000 classes)" in unknown.stderr
