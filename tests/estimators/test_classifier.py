"""OnlineClassifier: what a user of scikit-learn expects, and every input that must be refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_multilabel_classification
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from confidently import AROW, CELLIP, MIRA, PA, AutoClassifier, OnlineClassifier
from confidently.covariances.table import COVARIANCES
from confidently.tasks.calibration import posterior_probabilities, posterior_probability
from tests.covariance_cases import OVER_WEIGHTS, serves


def binary(n=300, d=8, seed=0):
    X, y = make_classification(n, d, class_sep=1.5, random_state=seed)
    return StandardScaler().fit_transform(X), y


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def multilabel(n=300):
    X, Y = make_multilabel_classification(n, 12, n_classes=5, random_state=0)
    return X / 20, Y


TASKS = {"binary": binary, "multiclass": digits, "multilabel": multilabel}


def same_model(a, b):
    assert a.learner_.header() == b.learner_.header()
    for name, array in a.learner_.state.items():
        np.testing.assert_array_equal(array, b.learner_.state[name], err_msg=name)


# --- scikit-learn's tools -------------------------------------------------------------------------------------------


def test_grid_search_over_rules_and_their_parameters():
    X, y = binary()
    grid = [{"rule": ["cw_stdev"], "rule__eta": [0.7, 0.9]}, {"rule": [AROW(), PA()]}]
    search = GridSearchCV(OnlineClassifier(), grid, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ > 0.8


def test_nested_parameters():
    classifier = OnlineClassifier("cw_stdev").set_params(rule__eta=0.8)
    assert classifier.get_params()["rule__eta"] == 0.8
    classifier.set_params(rule="arow", rule__r=2.0)
    assert classifier.rule == AROW(r=2.0)
    assert clone(classifier).rule == AROW(r=2.0)
    with pytest.raises(ValueError, match="AROW: unknown parameter 'eta'; expected r"):
        classifier.set_params(rule__eta=0.9)


# --- what is learned ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", OVER_WEIGHTS)
@pytest.mark.parametrize("task", TASKS)
def test_attributes_explain_the_answers(task, covariance):
    """decision = X coef' + intercept; variances follow from variance_ and covariance_."""
    if not serves(covariance, "multilabel") and task == "multilabel":
        pytest.skip("refused")
    X, y = TASKS[task]()
    X = X[:, :12]
    multiclass = "joint" if task == "multiclass" else None
    # Hard margins on rows that are not separable leave no digit of what a diagonal less a product is.
    rule = "arow" if covariance == "low_rank" else "cw_stdev"
    classifier = OnlineClassifier(rule, covariance, multiclass=multiclass, view=None).fit(X, y)
    decision = (X @ classifier.coef_.T + classifier.intercept_).squeeze()
    np.testing.assert_allclose(classifier.decision_function(X), decision, atol=1e-9)
    mean, variance = classifier.margin_distribution(X)
    np.testing.assert_array_equal(mean, classifier.decision_function(X))
    assert variance.shape == mean.shape
    assert classifier.variance_.shape == classifier.coef_.shape
    assert classifier.intercept_variance_.shape == classifier.intercept_.shape
    whole, one = classifier.covariance_, np.column_stack([X, np.ones(len(X))])
    if not isinstance(whole, np.ndarray):  # uncorrelated weights
        expected = (X**2 @ classifier.variance_.T + classifier.intercept_variance_).squeeze()
        np.testing.assert_allclose(variance, expected, rtol=1e-9)
        assert whole.diagonal().min() > 0
        return
    assert np.array_equal(whole, whole.swapaxes(-1, -2))
    if task != "multilabel" or covariance == "full":  # a shared one ranks labels: see the sampled classifiers below
        d = one.shape[1]
        shared, independent = whole.shape == (d, d), whole.ndim == 3
        own = whole if shared else whole[3] if independent else whole[3 * d : 4 * d, 3 * d : 4 * d]  # of class 3
        variance = variance if task == "binary" else variance[:, 3]
        np.testing.assert_allclose(variance, np.einsum("ij,jk,ik->i", one, own, one), rtol=1e-7, atol=1e-10)


def test_variances_of_ranked_labels_by_sampling():
    X, Y = multilabel()
    classifier = OnlineClassifier("arow", "full", multiclass="joint", view=None).fit(X, Y)
    learner = classifier.learner_
    d = X.shape[1] + 1
    mean = np.roll(learner.weights[:, 0], -1, axis=0).T
    rng = np.random.default_rng(0)
    sample = rng.multivariate_normal(mean.ravel(), classifier.covariance_, 20000).reshape(20000, -1, d)
    score = sample @ np.append(X[0], 1.0)
    drawn = score[:, 1:] - score[:, :1]
    expected_mean, variance = classifier.margin_distribution(X[:1])
    np.testing.assert_allclose(drawn.mean(axis=0), expected_mean[0], atol=0.05)
    np.testing.assert_allclose(drawn.var(axis=0), variance[0], rtol=0.05)
    spread = (sample[:, 1:] - sample[:, :1]).var(axis=0)[:, :-1]
    np.testing.assert_allclose(classifier.variance_, spread, rtol=0.06)


def test_rules_without_precision_keep_the_prior():
    X, y = binary()
    for covariance in OVER_WEIGHTS:
        classifier = OnlineClassifier("pa", covariance, prior_variance=0.5).fit(X, y)
        assert (classifier.variance_ == 0.5).all()
        assert (classifier.covariance_.diagonal() == 0.5).all()
        if COVARIANCES[covariance].binds_rows:  # others have a variance at every place
            assert classifier.learner_.state.keys() == OnlineClassifier("pa").fit(X, y).learner_.state.keys()


def test_class_weight_is_sample_weight():
    X, y = binary()
    by_class = OnlineClassifier("arow", class_weight={0: 0.5, 1: 2.0}).fit(X, y)
    by_row = OnlineClassifier("arow").fit(X, y, sample_weight=np.where(y == 1, 2.0, 0.5))
    same_model(by_class, by_row)
    balance = len(y) / (2 * np.bincount(y))
    balanced = OnlineClassifier("arow", class_weight="balanced").fit(X, y)
    same_model(balanced, OnlineClassifier("arow").fit(X, y, sample_weight=balance[y]))


def test_infeasible_examples_are_counted():
    X, y = binary()
    classifier = OnlineClassifier(CELLIP(gamma=5.0, a=1.0)).fit(np.vstack([X, X]), np.concatenate([y, 1 - y]))
    assert classifier.infeasible_ > 0


# --- new classes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", OVER_WEIGHTS)
@pytest.mark.parametrize("multiclass", ["joint", "one-vs-rest"])
def test_a_third_class_leaves_the_first_two_as_they_were(covariance, multiclass):
    if not serves(covariance, multiclass):
        pytest.skip("rejected: it couples the classes")
    X, y = digits()
    X = X[:, 16:40]
    classifier = OnlineClassifier("arow", covariance, multiclass=multiclass)
    two = y < 2
    classifier.partial_fit(X[two], y[two], classes=[0, 1])
    mean, variance = classifier.margin_distribution(X[two])
    slope = classifier.learner_.state["calibration"][0]
    classifier.partial_fit(X[two][:1], y[two][:1], classes=[0, 1, 2, 5], sample_weight=[0.0])
    assert list(classifier.classes_) == [0, 1, 2, 5]
    new_mean, new_variance = classifier.margin_distribution(X[two])
    difference = new_mean[:, 1] - new_mean[:, 0]
    if multiclass == "joint":
        np.testing.assert_allclose(difference, mean, atol=1e-12)
        np.testing.assert_allclose(new_variance[:, 0] + new_variance[:, 1], variance, rtol=1e-9)
    else:
        np.testing.assert_allclose(new_mean[:, 1], mean, atol=1e-12)
        np.testing.assert_allclose(new_variance[:, 0], variance, rtol=1e-9)
    calibration = classifier.learner_.state["calibration"]
    assert calibration[0] == slope / (1 if multiclass == "joint" else 2)
    some = np.isin(y, [0, 1, 2, 5])
    classifier.partial_fit(X[some], y[some])
    assert classifier.score(X[some], y[some]) > 0.8


@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier, MIRA])
def test_classes_need_not_be_announced(kind):
    X, y = digits()
    X, y = X[y < 4], y[y < 4]
    two = y[:200] < 2
    one, other = (kind().partial_fit(X[:200][two], y[:200][two], classes=classes) for classes in (None, [0, 1]))
    one.partial_fit(X[200:], y[200:])
    other.partial_fit(X[200:], y[200:], classes=[2, 3])
    np.testing.assert_array_equal(one.classes_, [0, 1, 2, 3])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_new_classes_of_a_multiclass_stream_start_at_the_prior():
    X, y = digits()
    early = OnlineClassifier("arow", multiclass="one-vs-rest")
    early.partial_fit(X[y < 4], y[y < 4], classes=[0, 1, 2, 3])
    before = early.coef_
    early.partial_fit(X[:1], y[:1], classes=range(6), sample_weight=[0.0])
    np.testing.assert_array_equal(early.coef_[:4], before)
    assert (early.coef_[4:] == 0).all()
    assert (early.variance_[4:] == 1).all()


# --- probabilities --------------------------------------------------------------------------------------------------


def test_posterior_probabilities_of_two_classes_are_the_normal_integral():
    mean, variance = np.array([[0.3, -0.2]]), np.array([[0.5, 1.5]])
    p = posterior_probabilities(mean, variance)
    np.testing.assert_allclose(p[0, 0], posterior_probability(np.array([0.5]), np.array([2.0]))[0], atol=2e-3)


def test_posterior_probabilities_of_many_classes_by_sampling():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(3, 5)), rng.uniform(1e-6, 2.0, (3, 5))
    drawn = mean[:, None] + np.sqrt(variance)[:, None] * rng.normal(size=(3, 200_000, 5))
    share = np.stack([np.bincount(d.argmax(axis=1), minlength=5) for d in drawn]) / 200_000
    np.testing.assert_allclose(posterior_probabilities(mean, variance), share, atol=0.01)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fit_intercept": False},
        {"average": True},
        {"covariance": "full"},
        {"covariance": "full", "multiclass": "joint"},
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_attributes_have_the_type_asked_for(dtype, settings, n_classes):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 4)), np.arange(60) % n_classes
    model = OnlineClassifier(dtype=dtype, **settings, view=None).fit(X, y)
    for name in ("coef_", "intercept_", "variance_", "intercept_variance_", "covariance_"):
        assert getattr(model, name).dtype == dtype, name
    expected = X @ model.coef_.astype(np.float64).T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X).reshape(60, -1), expected, rtol=1e-5, atol=1e-5)
    assert model.decision_function(X).dtype == model.predict_proba(X).dtype == np.float64


def test_coefficients_of_examples_have_the_type_asked_for():
    model = OnlineClassifier(covariance="kernel", dtype="float32").fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert model.dual_coef_.dtype == np.float32
