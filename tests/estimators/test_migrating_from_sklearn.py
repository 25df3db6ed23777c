"""What docs/migrating-from-scikit-learn.md claims: where scikit-learn and this package agree, and where they differ."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn import linear_model
from sklearn.linear_model import Perceptron, SGDClassifier

from confidently import PA1, PA2, OnlineClassifier

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
pytestmark = pytest.mark.skipif(
    SKLEARN < (1, 8), reason='SGDClassifier(learning_rate="pa1") came with scikit-learn 1.8'
)

PAGE = Path(__file__).parents[2] / "docs" / "migrating-from-scikit-learn.md"
PASSES = 3
FORMS = {"pa1": PA1, "pa2": PA2}
ETA = 0.3  # of the perceptron


def rows(n_classes, n=300, d=6, seed=0):
    """Rows that a linear model gets mostly right, and no row that scikit-learn skips."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, n_classes)) + 0.5 * rng.normal(size=(n, n_classes))).argmax(axis=1)


def some_weights(n=300):
    return np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=n)


def their_pa(form, C=0.05, **settings):
    settings = {"fit_intercept": False, "max_iter": PASSES, "tol": None, "shuffle": False, **settings}
    return SGDClassifier(loss="hinge", penalty=None, learning_rate=form, eta0=C, **settings)


def our_pa(form, C=0.05, **settings):
    settings = {"fit_intercept": False, "passes": PASSES, "multiclass": "one-vs-rest", **settings}
    return OnlineClassifier(FORMS[form](C=C), **settings, view=None)


def their_perceptron(**settings):
    return Perceptron(eta0=ETA, **{"max_iter": PASSES, "tol": None, "shuffle": False, **settings})


def our_perceptron(**settings):
    settings = {"prior_variance": ETA, "passes": PASSES, "multiclass": "one-vs-rest", **settings}
    return OnlineClassifier("perceptron", **settings, view=None)


def assert_same(theirs, ours):
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-10, atol=1e-12)
    assert ours.coef_.any()


def distance(theirs, ours):
    return max(abs(ours.coef_ - theirs.coef_).max(), abs(ours.intercept_ - theirs.intercept_).max())


# --- what agrees -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("form", FORMS)
def test_passive_aggressive_agrees(form, n_classes, average):
    X, y = rows(n_classes)
    assert_same(their_pa(form, average=average).fit(X, y), our_pa(form, average=average).fit(X, y))
    assert_same(their_pa(form, average=average).fit(csr_matrix(X), y), our_pa(form, average=average).fit(X, y))


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_partial_fit_agrees(form, average):
    X, y = rows(2)
    theirs, ours = their_pa(form, average=average), our_pa(form, average=average)
    for part in np.array_split(np.arange(len(y)), 7):
        for learner in (theirs, ours):
            learner.partial_fit(X[part], y[part], classes=[0, 1])
    assert_same(theirs, ours)
    assert ours.n_seen_ == theirs.t_ - 1 == len(y)


@pytest.mark.parametrize("form", FORMS)
def test_prior_variance_is_another_C(form):
    X, y = rows(2)
    assert_same(their_pa(form, C=0.1).fit(X, y), our_pa(form, C=0.05, prior_variance=2.0).fit(X, y))


@pytest.mark.parametrize("form", FORMS)
def test_intercept_is_a_constant_feature(form):
    X, y = rows(2)
    theirs = their_pa(form).fit(np.column_stack([X, np.ones(len(y))]), y)
    ours = our_pa(form, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(np.column_stack([ours.coef_, ours.intercept_]), theirs.coef_, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_perceptron_agrees(fit_intercept, n_classes, weighted):
    X, y = rows(n_classes)
    weight = some_weights() if weighted else None
    theirs, ours = their_perceptron(fit_intercept=fit_intercept), our_perceptron(fit_intercept=fit_intercept)
    assert_same(theirs.fit(X, y, sample_weight=weight), ours.fit(X, y, sample_weight=weight))


def test_averaged_perceptron_agrees():
    X, y = rows(2)
    theirs = SGDClassifier(
        loss="perceptron", penalty=None, learning_rate="constant", eta0=ETA, max_iter=PASSES, tol=None, shuffle=False,
        average=True,
    )  # fmt: skip
    assert_same(theirs.fit(X, y), our_perceptron(average=True).fit(X, y))


def test_class_weights_of_two_classes_agree():
    X, y = rows(2)
    for weights in ({0: 0.5, 1: 2.0}, "balanced"):
        assert_same(their_perceptron(class_weight=weights).fit(X, y), our_perceptron(class_weight=weights).fit(X, y))


def test_weights_agree_where_no_step_or_every_step_is_capped():
    X, y = rows(2)
    w = some_weights() / some_weights().max()  # "pa" never goes beyond its margin, so weights above 1 act as 1
    pa = OnlineClassifier("pa", fit_intercept=False, passes=PASSES, view=None)
    assert_same(their_pa("pa1", C=1e300).fit(X, y, sample_weight=w), pa.fit(X, y, sample_weight=w))
    assert_same(their_pa("pa1", C=1e-4).fit(X, y, sample_weight=w), our_pa("pa1", C=1e-4).fit(X, y, sample_weight=w))


@pytest.mark.skipif(not hasattr(linear_model, "PassiveAggressiveClassifier"), reason="scikit-learn has removed it")
@pytest.mark.parametrize(("loss", "form"), [("hinge", "pa1"), ("squared_hinge", "pa2")])
def test_passive_aggressive_classifier_itself(loss, form):
    with pytest.warns(FutureWarning, match=r"deprecated in version 1\.8 and will be removed in 1\.10"):
        theirs = linear_model.PassiveAggressiveClassifier(
            C=0.05, loss=loss, fit_intercept=False, shuffle=False, tol=None, max_iter=PASSES
        )
    X, y = rows(2)
    assert_same(theirs.fit(X, y), our_pa(form).fit(X, y))


# --- what differs ----------------------------------------------------------------------------------------------------

FIRST_ROW = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([1, 0]), [1.0, 0.0]  # the second row has weight 0


def test_their_intercept_takes_no_part_in_the_step():
    X, y, w = FIRST_ROW
    dense = their_pa("pa1", C=100.0, fit_intercept=True).fit(X, y, sample_weight=w)
    sparse = their_pa("pa1", C=100.0, fit_intercept=True).fit(csr_matrix(X), y, sample_weight=w)
    for X_ours in (X, csr_matrix(X)):
        ours = our_pa("pa1", C=100.0, fit_intercept=True).fit(X_ours, y, sample_weight=w)
        assert (ours.coef_[0, 0], ours.intercept_[0]) == (0.5, 0.5)
    assert (dense.coef_[0, 0], dense.intercept_[0]) == (1.0, 1.0)
    assert (sparse.coef_[0, 0], sparse.intercept_[0]) == (1.0, 0.01)


def test_a_row_of_zeros_moves_only_our_intercept():
    X, y = np.zeros((2, 2)), np.array([1, 0])
    assert their_pa("pa1", fit_intercept=True).fit(X, y, sample_weight=[1, 0]).intercept_ == 0.0
    assert our_pa("pa1", fit_intercept=True).fit(X, y, sample_weight=[1, 0]).intercept_ > 0.0


def test_sparse_perceptron_differs_by_its_intercept():
    X, y = rows(2)
    X = csr_matrix(X)
    assert distance(their_perceptron().fit(X, y), our_perceptron().fit(X, y)) > 0.01
    assert_same(their_perceptron(fit_intercept=False).fit(X, y), our_perceptron(fit_intercept=False).fit(X, y))


@pytest.mark.parametrize(("form", "expected"), [("pa1", 1.0), ("pa2", 1 / (1 + 1 / 2000))])
def test_a_weight_scales_their_step_and_our_loss(form, expected):
    X, y, w = np.eye(2), np.array([1, 0]), [10.0, 1.0]
    theirs, ours = (
        learner.fit(X, y, sample_weight=w) for learner in (their_pa(form, 100.0, max_iter=1), our_pa(form, 100.0))
    )
    assert theirs.coef_[0, 0] == pytest.approx(10.0, rel=0.01)
    assert ours.coef_[0, 0] == pytest.approx(expected, rel=1e-3)
    assert ours.coef_[0, 0] <= 1.0


def test_class_weights_of_several_classes_belong_to_the_row():
    X, y = rows(3)
    weights = {0: 0.5, 1: 2.0, 2: 1.0}
    ours = our_perceptron(class_weight=weights).fit(X, y)
    assert distance(their_perceptron(class_weight=weights).fit(X, y), ours) > 0.1
    by_row = np.array([weights[k] for k in y])
    assert_same(their_perceptron().fit(X, y, sample_weight=by_row), ours)


def test_they_average_over_rows_of_weight_zero_too():
    X, y = rows(2)
    w = some_weights()
    capped = {"C": 1e-4, "average": True}  # where the unaveraged coefficients agree
    ours = our_pa("pa1", **capped).fit(X, y, sample_weight=w)
    assert distance(their_pa("pa1", **capped).fit(X, y, sample_weight=w), ours) > 1e-5
    seen = w > 0
    assert_same(their_pa("pa1", **capped).fit(X[seen], y[seen], sample_weight=w[seen]), ours)
    assert ours.n_seen_ == PASSES * seen.sum()


def test_rows_of_zeros_count_in_our_average():
    X, y = rows(2)
    sparse = np.where(np.arange(len(y))[:, None] % 3 == 0, 0.0, X)
    kept = sparse.any(axis=1)
    theirs = their_pa("pa1", average=True, max_iter=1).fit(sparse, y)
    ours = our_pa("pa1", average=True, passes=1)
    assert distance(theirs, ours.fit(sparse, y)) > 1e-5
    assert_same(theirs, ours.fit(sparse[kept], y[kept]))


def test_our_average_does_not_depend_on_the_calls():
    X, y = rows(2)
    parts = np.array_split(np.arange(len(y)), 5)
    ours = our_perceptron(average=True)
    for part in parts:
        ours.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_array_equal(ours.coef_, our_perceptron(average=True, passes=1).fit(X, y).coef_)


@pytest.mark.skipif(SKLEARN != (1, 9), reason="the page speaks of scikit-learn 1.9")
def test_their_average_loses_the_intercept_between_calls():
    X, y = rows(2)
    parts = np.array_split(np.arange(len(y)), 5)
    theirs, whole = (
        SGDClassifier(loss="perceptron", penalty=None, learning_rate="constant", eta0=ETA, shuffle=False, average=True)
        for _ in range(2)
    )
    for part in parts:
        theirs.partial_fit(X[part], y[part], classes=[0, 1])
    whole.partial_fit(X, y, classes=[0, 1])
    assert distance(theirs, whole) > 1e-3


def test_several_classes_are_learned_jointly_by_default():
    X, y = rows(4)
    ours = our_pa("pa1", multiclass="joint").fit(X, y)
    assert distance(their_pa("pa1").fit(X, y), ours) > 0.01
    np.testing.assert_allclose(ours.coef_.sum(axis=0), 0.0, atol=1e-12)  # what one class gains, its rival loses


# --- the page itself -------------------------------------------------------------------------------------------------


def parameters_in_tables(section):
    """Names in the first column of the tables of one section of the page."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return {name for line in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", line)}


@pytest.mark.parametrize("name", ["PassiveAggressiveClassifier", "Perceptron", "SGDClassifier"])
def test_tables_name_every_parameter(name):
    learner = getattr(linear_model, name, None)
    if learner is None:
        pytest.skip(f"scikit-learn has removed {name}")
    assert parameters_in_tables(name) == set(inspect.signature(learner.__init__).parameters) - {"self"}
