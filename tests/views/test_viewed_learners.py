"""Learners with a view: the learner of the rows that the view makes, resumed, undone and refused like any other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GridSearchCV

import confidently
from confidently import OnlineClassifier, _core, river
from confidently.covariances.settings import Settings
from confidently.covariances.table import COVARIANCES
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.views.columns import ZERO, Columns
from confidently.views.cosines import Cosines
from confidently.views.pairs import Pairs
from confidently.views.standard import Standard
from confidently.views.table import VIEWS, make_view
from confidently.views.unit import Unit
from confidently.views.view import Labelled
from tests.covariance_cases import serves
from tests.tables.tasks import MULTILABEL

N, D, K = 90, 5, 3
EVERY = [*VIEWS, "standard,pairs", "standard,cosines", "ranks,pairs", "bins,pairs"]


def view_of(name):
    return make_view(name, **{f"{'cosines__' * (',' in name)}n": 12} if "cosines" in name else {})


def rows(seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(N, D)) * [1.0, 10.0, 0.1, 1.0, 3.0] + [0.0, 5.0, 0.0, -1.0, 0.0]
    X[generator.random((N, D)) < 0.3] = 0.0
    return X, (X[:, 0] + 0.2 * X[:, 1] > 0.5).astype(np.int32) + (X[:, 3] > 0)


def seen_by(view, X, labels, start=None):
    """The rows that a view makes of all rows, one after the other, and its arrays."""
    arrays = view.grown(view.new_arrays(K), Columns.alike(D, ZERO), K)
    arrays, seen = view.learn(arrays, Labelled(as_matrix(X), None, 0, labels, start, None, None, K), _core.UndoLog())
    return csr_array(seen[:3], shape=(N, view.n_columns(arrays, D))), arrays


@pytest.mark.long("each view with each covariance and task")
@pytest.mark.parametrize("task", ["joint", "one-vs-rest", *MULTILABEL])
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("name", [name for name in EVERY if name != "bins,pairs"])  # seen again: new products
def test_a_view_and_a_learner_are_the_learner_of_the_rows_that_the_view_makes(name, covariance, task):
    if not serves(covariance, task):
        pytest.skip("the covariance does not serve the task")
    X, labels = rows()
    start = None
    if task in MULTILABEL:
        start = np.arange(0, 2 * N + 1, 2)
        labels = np.stack([labels, (labels + 1) % K], axis=1).ravel()
    settings = Settings("arow", covariance, task, kernel="linear" if covariance == "kernel" else None)
    view = view_of(name)
    viewed = Learner(settings, K, D, view=view, columns=Columns.alike(D, ZERO))
    viewed.learn(as_matrix(X), labels, start)
    made, arrays = seen_by(view, X, labels, start)
    plain = Learner(settings, K, made.shape[1])
    plain.learn(as_matrix(made), labels, start)
    assert viewed.width == made.shape[1]
    again = as_matrix(X)
    now = view.see(arrays, again, 0, N).matrix(viewed.width)
    assert np.allclose(viewed.decision(again), plain.decision(now), rtol=1e-6, atol=1e-8)
    assert np.allclose(viewed.probabilities(again), plain.probabilities(now), rtol=1e-6, atol=1e-8)
    mean, variance = viewed.margin_distribution(again)
    expected = plain.margin_distribution(now)
    assert np.allclose(mean, expected[0], rtol=1e-6, atol=1e-8)
    assert np.allclose(variance, expected[1], rtol=1e-6, atol=1e-8)
    assert viewed.mistakes == plain.mistakes


def learner_of(name, covariance="diag"):
    return Learner(Settings("arow", covariance, "joint"), K, D, view=view_of(name), columns=Columns.alike(D, ZERO))


def same(one, other):
    assert one.state.keys() == other.state.keys()
    for key in one.state.keys() - {"pairs.slots"}:  # whose size depends on how the room for terms grew
        a, b = one.state[key], other.state[key]
        n = min(len(a), len(b))  # room in advance
        assert np.array_equal(a[:n], b[:n]), key


@pytest.mark.parametrize("name", EVERY)
def test_the_division_into_calls_does_not_matter(name):
    X, labels = rows()
    whole, parts = learner_of(name), learner_of(name)
    whole.learn(as_matrix(X), labels)
    for first in range(0, N, 13):
        parts.learn(as_matrix(X[first : first + 13]), labels[first : first + 13])
    same(whole, parts)


def frozen(learner):
    return {key: array.copy() for key, array in learner.state.items()}


@pytest.mark.parametrize("fault", ["invalid", "range"])
@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("covariance", ["diag", "full", "kernel"])
@pytest.mark.parametrize("name", EVERY)
def test_a_call_that_fails_changes_nothing(name, covariance, trained, fault, monkeypatch):
    monkeypatch.setattr("confidently.learner.learner.ROWS_PER_VIEW", 10)
    settings = Settings("pa", covariance, "joint", kernel="linear" if covariance == "kernel" else None)
    settings = Settings("arow", covariance, "joint", kernel="linear") if covariance == "kernel" else settings
    learner = Learner(settings, K, D, view=view_of(name), columns=Columns.alike(D, ZERO))
    X, labels = rows()
    if trained:
        learner.learn(as_matrix(X[:30]), labels[:30])
    before, arrays, features = frozen(learner), dict(learner.state), learner.n_features
    if fault == "invalid":
        X[70, 2] = np.inf
        with pytest.raises(ValueError, match="infinity in row 70"):
            learner.learn(as_matrix(X, check=False), labels)
    else:
        calls = iter(range(100))

        def learn(*arguments, **more):
            if next(calls) == 3:
                raise OverflowError
            return original(*arguments, **more)

        which = "_learn_rows" if learner.covariance.is_row_by_row(learner.state, None) else "_learn_products"
        original = getattr(learner, which)
        monkeypatch.setattr(learner, which, learn)
        with pytest.raises(ValueError, match="out of the range"):
            learner.learn(as_matrix(X), labels)
    assert learner.n_features == features
    assert learner.state.keys() == arrays.keys()
    for key, array in learner.state.items():
        assert array is arrays[key], key
        assert np.array_equal(array, before[key]), key


@pytest.mark.parametrize("name", ["standard", "standard,pairs", "standard,cosines"])
def test_factors_and_shifts_of_columns_change_nothing_but_rounding(name):
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    plain = OnlineClassifier(view=name).fit(X[:400], y[:400])
    for changed in (X * 1e6, X + 1e6, X * np.geomspace(1e-6, 1e6, X.shape[1]) - 1e3):
        model = OnlineClassifier(view=name).fit(changed[:400], y[:400])
        assert np.allclose(model.decision_function(changed[400:]), plain.decision_function(X[400:]), atol=1e-5)
        assert np.array_equal(model.predict(changed[400:]), plain.predict(X[400:]))


def test_a_sparse_matrix_is_standardized_as_a_dense_one():
    X = random_array((N, D), density=0.5, random_state=0, format="csr")
    _, y = rows()
    sparse = OnlineClassifier(view="standard").fit(X, y)
    dense = OnlineClassifier(view="standard").fit(X.toarray(), y)
    assert np.array_equal(sparse.decision_function(X), dense.decision_function(X.toarray()))


def test_many_sparse_columns_are_not_made_dense():
    X = csr_array((N, 10_001))
    with pytest.raises(
        ValueError, match=r"makes sparse rows dense: all 10,001 columns .* use another view, such as idf"
    ):
        OnlineClassifier(view="standard").fit(X, np.arange(N) % 2)


def test_new_classes_start_without_rows():
    X, y = rows()
    whole = OnlineClassifier(view="nb").partial_fit(np.abs(X[:20]), np.minimum(y[:20], 1), classes=[0, 1])
    whole.partial_fit(np.abs(X[20:]), y[20:], classes=[0, 1, 2])
    assert whole.learner_.state["nb.rows"].tolist() == np.bincount([*np.minimum(y[:20], 1), *y[20:]]).tolist()


def test_too_many_features_to_pair_are_refused():
    X = np.ones((4, 1001))
    with pytest.raises(ValueError, match=r"a row has 1001 features to pair, at most 1000 .* pair chosen columns"):
        OnlineClassifier(view="pairs").fit(X, [0, 1, 0, 1])
    OnlineClassifier(view=Pairs(columns=[(0, 1)])).fit(X, [0, 1, 0, 1])


def test_no_product_is_added_beyond_the_largest_number_of_terms():
    X, y = rows()
    model = OnlineClassifier(view=Pairs(max_terms=8)).fit(X, y)
    first, second = model.learner_.view.terms(model.learner_.state)
    assert set(first[second < 0].tolist()) == set(range(D))
    assert 8 <= len(first) <= 8 + D
    assert model.predict(X).shape == (N,)


def test_columns_of_a_frame_are_paired_by_name():
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = OnlineClassifier(view=Pairs(columns=[("a", "c"), ("b", "b")])).fit(frame, y)
    first, second = model.learner_.view.terms(model.learner_.state)
    products = {(i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True) if j >= 0}
    assert products == {(0, 2), (1, 1)}


# --- scikit-learn -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [None, "none", *EVERY, Pairs(columns=[("a", "b")]), ["standard", Cosines(n=5)]])
def test_parameters_are_cloned(view):
    model = clone(OnlineClassifier(view=view))
    assert make_view(model.view) == make_view(view)
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert clone(clone(model)).get_params() == clone(model).get_params()


def test_parameters_of_views_are_set_and_searched():
    model = OnlineClassifier(view="cosines")
    assert model.get_params()["view__n"] == 1000
    assert model.set_params(view__n=5).view == Cosines(n=5)
    chain = OnlineClassifier(view="standard,cosines").set_params(view__cosines__n=7)
    assert chain.get_params()["view__cosines__n"] == 7
    X, y = load_digits(return_X_y=True)
    search = GridSearchCV(chain, {"view__cosines__n": [2, 200]}, cv=2).fit(X[:600], y[:600])
    assert search.best_params_ == {"view__cosines__n": 200}


@pytest.mark.parametrize(("view", "error", "message"), [
    (
        "nonsense",
        ValueError,
        "unknown view 'nonsense'; expected one of none, unit, standard, center, ranks, bins, idf, nb",
    ),
    (3, TypeError, "view: expected a view such as Standard.., or of unit, .* got 3"),
    ("pairs,standard", ValueError, "the view pairs makes columns of its own, so it must be the last"),
    ("idf,idf", ValueError, "a view may occur once"),
])  # fmt: skip
def test_invalid_views_are_refused(view, error, message):
    X, y = rows()
    with pytest.raises(error, match=message):
        OnlineClassifier(view=view).fit(X, y)


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: Pairs(columns=["ab"]), ValueError, "must be pairs of columns"),
    (lambda: Pairs(columns=[("a", "b", "c")]), ValueError, "must be pairs of columns"),
    (lambda: Pairs(max_terms=0), ValueError, r"max_terms must be in \[1,"),
    (lambda: Pairs(max_terms=1.5), TypeError, "max_terms must be an integer"),
    (lambda: Cosines(n=0), ValueError, r"n must be in \[1,"),
    (lambda: Cosines(scale=0.0), ValueError, "scale must be in"),
    (lambda: Cosines(seed=-1), ValueError, "seed must be in"),
    (lambda: Unit().with_params(n=3), ValueError, "unit has no parameters"),
    (lambda: Standard(unit_norm=2), ValueError, "unit_norm: expected one of True, False, got 2"),
    (lambda: make_view("standard,pairs", idf__n=3), ValueError, "unknown parameter 'idf__n'; expected"),
    (lambda: make_view(None, n=3), ValueError, "without a view there is no parameter 'n'"),
])  # fmt: skip
def test_invalid_parameters_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_the_view_cannot_change_after_training_has_begun():
    X, y = rows()
    model = OnlineClassifier(view="standard").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"view, and .* cannot change"):
        model.set_params(view="idf").partial_fit(X, y)
    model.set_params(view=[Standard()]).partial_fit(X, y)


def occurrences(seed=3, n=240, d=7):
    """Counts of few features a row, so that many products are rare, and classes."""
    generator = np.random.default_rng(seed)
    X = generator.integers(1, 4, size=(n, d)) * (generator.random((n, d)) < 0.25) * 1.0
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int32) + (X[:, 2] > 1)


def with_zeros(X):
    """The same sparse matrix with some, or all, of its zeros stored."""
    n, d = X.shape
    for kept in ((X != 0) | (np.random.default_rng(0).random((n, d)) < 0.3), np.ones((n, d), dtype=bool)):
        row, column = np.nonzero(kept)
        found = csr_array((X[row, column], (row, column)), shape=X.shape)
        assert found.nnz == kept.sum() > np.count_nonzero(X)
        yield found


@pytest.mark.parametrize("name", [*EVERY, "idf,pairs", "nb,pairs"])
def test_a_stored_zero_is_the_same_as_none(name):
    X, y = occurrences()
    expected = OnlineClassifier(view=view_of(name)).fit(csr_array(X), y)
    dense = OnlineClassifier(view=view_of(name)).fit(X, y)
    assert np.array_equal(dense.predict_proba(X), expected.predict_proba(X))
    for stored in with_zeros(X):
        found = OnlineClassifier(view=view_of(name)).fit(stored, y)
        for one in (X, stored):
            assert np.allclose(found.predict_proba(one), expected.predict_proba(csr_array(X)), rtol=0.0, atol=1e-12)
        counts = [key for key in expected.learner_.state if key.startswith(("idf.", "nb.", "pairs."))]
        assert all(np.array_equal(found.learner_.state[key], expected.learner_.state[key]) for key in counts)


@pytest.mark.parametrize("name", ["idf", "nb", "pairs"])
def test_a_stored_zero_of_a_file_is_the_same_as_none(name, tmp_path):
    X, y = occurrences()
    models = []
    for write_zeros in (False, True):
        lines = [
            f"{label} " + " ".join(f"{j}:{x:g}" for j, x in enumerate(row, 1) if x or write_zeros)
            for label, row in zip(y, X, strict=True)
        ]
        (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
        with confidently.data.open_stream(tmp_path / "rows.svm") as stream:
            models.append(OnlineClassifier(view=view_of(name)).fit_stream(stream))
    plain, zeros = models
    assert np.allclose(plain.predict_proba(X), zeros.predict_proba(X), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["idf", "nb", "pairs", "standard", "standard,pairs"])
def test_a_zero_of_a_dict_is_the_same_as_none(name):
    X, y = occurrences(n=80)
    if name.startswith("standard"):
        X = X + 1.0  # where a column is 0 or missing makes a difference
    models = [river.OnlineClassifier(view=view_of(name)) for _ in range(2)]
    for row, label in zip(X, y, strict=True):
        full = {f"x{j}": x for j, x in enumerate(row)}
        models[0].learn_one({key: x for key, x in full.items() if x}, label)
        models[1].learn_one(full, label)
    for row in X[:20]:
        row = {f"x{j}": x for j, x in enumerate(row)}
        assert models[1].predict_proba_one(row) == pytest.approx(models[0].predict_proba_one(row), abs=1e-12)


@pytest.mark.parametrize("name", [*EVERY, "nb,pairs"])
def test_rows_of_weight_0_change_nothing(name):
    """A row of weight 0 numbered its products, which then counted in the variances of predictions."""
    X, y = occurrences()
    weight = (np.random.default_rng(1).random(len(y)) < 0.5).astype(float)
    weight[:3] = 1.0
    kept = weight > 0
    one = OnlineClassifier(view=view_of(name)).partial_fit(X, y, [0, 1, 2], sample_weight=weight)
    other = OnlineClassifier(view=view_of(name)).partial_fit(X[kept], y[kept], [0, 1, 2])
    by_class = OnlineClassifier(view=view_of(name), class_weight={0: 1.0, 1: 1.0, 2: 0.0}).fit(X, y)
    without = OnlineClassifier(view=view_of(name)).partial_fit(X[y < 2], y[y < 2], [0, 1, 2])
    for found, expected in ((one, other), (by_class, without)):
        assert np.array_equal(found.predict_proba(X), expected.predict_proba(X))
        assert np.array_equal(found.coef_, expected.coef_)


@pytest.mark.parametrize("unit_norm", [True, False])
@pytest.mark.parametrize("task", ["binary", "joint", "one-vs-rest", "softmax", "multilabel", "multilabel-one-vs-rest"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_unseen_products_add_their_prior_variance(covariance, task, unit_norm):
    """What a row has that training has not: as where its products have got their numbers, without being learned."""
    if not serves(covariance, task):
        pytest.skip("the covariance does not serve the task")
    X, labels = occurrences()
    start = None
    if task == "binary":
        labels = np.minimum(labels, 1)
    if task in MULTILABEL:
        start = np.arange(0, 2 * len(X) + 1, 2)
        labels = np.stack([labels, (labels + 1) % K], axis=1).ravel().astype(np.int32)
    rule = "logistic" if task == "softmax" else "arow"
    kernel = "linear" if covariance == "kernel" else None
    settings = Settings(rule, covariance, task, kernel=kernel, prior_variance=0.7)
    view, n = Pairs(unit_norm=unit_norm), 12
    stop = None if start is None else start[: n + 1]
    learner = Learner(settings, 2 if task == "binary" else K, 7, view=view, columns=Columns.alike(7, ZERO))
    learner.learn(as_matrix(X[:n]), labels[: n if start is None else stop[-1]], stop)
    rows = as_matrix(X)
    seen = view.see(learner.state, rows, 0, len(X))
    assert seen.unseen
    mean, variance = learner.margin_distribution(rows)
    probabilities = learner.probabilities(rows)
    # the same Gaussian, in which all terms have numbers
    counted = Labelled(rows, None, 0, np.zeros(len(X), dtype=np.int32), None, None, None, K)
    width = learner.width
    arrays, _ = view.learn(learner.state, counted, None)
    arrays = {name: array for name, array in arrays.items() if name.startswith("pairs.")}
    wider = view.n_columns(arrays, 7)
    assert wider > width
    size = learner.size
    learner.state = learner.state | arrays
    _, learner.state = learner.covariance.grown(learner.state, size, learner.size)
    assert not view.see(learner.state, rows, 0, len(X)).unseen
    found = learner.margin_distribution(rows)
    assert np.allclose(found[0], mean, rtol=1e-9, atol=1e-12)
    assert np.allclose(found[1], variance, rtol=1e-9, atol=1e-12)
    assert np.allclose(learner.probabilities(rows), probabilities, rtol=1e-9, atol=1e-12)


def view_width(view, X, y):
    return OnlineClassifier(view=view).fit(X, y).learner_.width


def test_products_beyond_the_limit_have_no_variance():
    """Training would not number them, so they are no part of the model."""
    X, y = occurrences()
    full = OnlineClassifier(view=Pairs(max_terms=8)).fit(X, y)
    assert full.learner_.width < view_width(Pairs(), X, y)
    assert not full.learner_.view.see(full.learner_.state, as_matrix(X), 0, len(X)).unseen
    more = Pairs(
        max_terms=10
    )  # two more terms have room: those of a row come in the order in which training numbers them
    learner = Learner(Settings("arow"), 2, 4, view=more, columns=Columns.alike(4, ZERO))
    learner.learn(as_matrix(np.array([[1.0, 1.0, 1.0, 0.0]])), np.array([1], dtype=np.int32))  # 3 + 6 terms
    row = as_matrix(np.array([[0.0, 0.0, 1.0, 1.0]]))
    seen = more.see(learner.state, row, 0, 1)
    assert seen.columns.max() == learner.width == 9
    # the new feature is numbered; then no room is left for its products
    assert seen.values[seen.columns == 9] == pytest.approx(0.5)
