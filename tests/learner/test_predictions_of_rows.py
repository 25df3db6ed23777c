"""The prediction of a row is the same to the last bit, alone and among others, and whatever form the rows have."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from confidently import OnlineClassifier
from confidently.data.memory.matrix import UnsortedColumns, as_matrix

RNG = np.random.default_rng(0)
ZEROS = {"all": 1.0, "most": 0.9, "half": 0.5, "few": 0.1, "none": 0.0}
METHODS = ("decision_function", "predict_proba", "margin_distribution")


def rows(part, n=23, d=19):
    X = RNG.normal(size=(n, d))
    return np.where(RNG.random((n, d)) < ZEROS[part], 0.0, X)


def answers(model, X):
    return [np.vstack(np.atleast_2d(getattr(model, method)(X))) for method in METHODS]


@pytest.mark.few
@pytest.mark.parametrize("part", ZEROS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [2, 3, 6, 10, 27, 28, 41])
@pytest.mark.parametrize("options", [{}, {"average": True}, {"multiclass": "one-vs-rest"}, {"fit_intercept": False}])
def test_alone_and_among_others(part, dtype, k, options):
    X, y = RNG.normal(size=(90, 19)), np.arange(90) % k
    model = OnlineClassifier("arow", dtype=dtype, **options, view=None).fit(X, y)
    Z = rows(part).astype(np.float32).astype(np.float64)
    for method in METHODS:
        together = getattr(model, method)(Z)
        for form in (csr_matrix, np.asfortranarray, lambda Z: Z.astype(np.float32)):
            np.testing.assert_array_equal(getattr(model, method)(form(Z)), together)
        alone = [getattr(model, method)(Z[i : i + 1]) for i in range(len(Z))]
        if method == "margin_distribution":
            alone, together = [np.stack(one) for one in alone], np.stack(together)
            np.testing.assert_array_equal(np.concatenate(alone, axis=1), together)
        else:
            np.testing.assert_array_equal(np.concatenate(alone), together)


def test_scores_of_two_classes_are_moderated_alike_in_rows_with_few_zeros():
    """Their variances are sums in four lanes, which zeros among the values would move to others."""
    random = np.random.default_rng(0)
    for _ in range(100):
        X = random.normal(size=(90, 19))
        learner = OnlineClassifier("arow", view=None).fit(X, np.arange(90) % 2).learner_
        Z = np.where(random.random((24, 19)) < 0.1, 0.0, random.normal(size=(24, 19)))
        alone = [learner.logits_of(as_matrix(row[None])) for row in Z]
        np.testing.assert_array_equal(np.concatenate(alone), learner.logits_of(as_matrix(Z)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_every_width_with_long_runs_of_zeros(dtype):
    for d in range(1, 51):
        X, k = np.where(RNG.random((60, d)) < 0.3, RNG.normal(size=(60, d)), 0.0).astype(dtype), 3
        for i in range(60):
            first = RNG.integers(0, d)
            X[i, first : first + RNG.integers(0, 40)] = 0.0
        X[7, -1] = -0.0
        models = [OnlineClassifier("arow", view=None).fit(form, np.arange(60) % k) for form in (X, csr_matrix(X))]
        dense, sparse = (model.learner_.state["weights"] for model in models)
        np.testing.assert_array_equal(dense, sparse)
        for form in (X, csr_matrix(X), X[:1]):
            np.testing.assert_array_equal(models[0].predict_proba(form), models[1].predict_proba(X)[: form.shape[0]])


@pytest.mark.parametrize("k", [2, 5])
def test_weights_beyond_the_cache_are_asked_for_before_their_rows_are_checked(k):
    d = 70_000
    X = random_array((31, d), density=5e-4, rng=RNG, format="csr")
    model = OnlineClassifier("arow", view=None).fit(X, np.arange(31) % k)
    for method in ("decision_function", "predict_proba"):
        alone = [getattr(model, method)(X[i : i + 1]) for i in range(31)]
        np.testing.assert_array_equal(np.concatenate(alone), getattr(model, method)(X))
    outside = csr_matrix(X)
    outside.indices[outside.indptr[9]] = -5
    with pytest.raises(ValueError, match="row 9 of X has column -5, expected 0 to 69999"):
        model.predict(outside)


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("dense", [True, False])
def test_rows_are_checked_while_they_are_scored(k, dense):
    X = RNG.normal(size=(40, 7))
    model = OnlineClassifier("arow", view=None).fit(X, np.arange(40) % k)
    for row, value, what in ((0, np.nan, "NaN"), (39, np.inf, "infinity"), (13, -1e101, r"-1e\+101")):
        bad = X.copy()
        bad[row, 4] = value
        bad[39, 6] = np.nan  # the first fault is the one that is named, unless it is that row
        place = "row 39, column 4" if row == 39 else f"row {row}, column 4"
        for method in ("predict", *METHODS):
            with pytest.raises(ValueError, match=f"X contains {what} in {place}"):
                getattr(model, method)(bad if dense else csr_matrix(bad))


@pytest.mark.parametrize("k", [2, 5])
def test_rows_out_of_order_are_sorted(k):
    X = RNG.normal(size=(9, 5))
    model = OnlineClassifier("arow", view=None).fit(X, np.arange(9) % k)
    swapped = csr_matrix(X)
    swapped.indices[-2:], swapped.data[-2:] = swapped.indices[-2:][::-1].copy(), swapped.data[-2:][::-1].copy()
    for method in ("predict", *METHODS):
        np.testing.assert_array_equal(getattr(model, method)(swapped), getattr(model, method)(X))
    with pytest.raises(UnsortedColumns, match="row 8"):
        model.learner_.decision(as_matrix(swapped, check=False))
