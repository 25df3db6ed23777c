"""Active learning: certainty in closed form, budgets kept, and that requesting labels pays."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.base import clone

from confidently import AROW, OnlineClassifier
from confidently.evaluation.active import STRATEGIES, Selector, certainty, query, simulate
from confidently.rules.theory import kl_divergence
from tests.covariance_cases import OVER_WEIGHTS


def rows(n, seed=0, classes=2, d=12):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    X = random.normal(size=(n, d)) * 0.5
    X[np.arange(n), y] += 1.0
    return X, y


def learned(classes=2, n=60, **settings):
    return OnlineClassifier(**settings, view=None).fit(*rows(n, classes=classes))


@pytest.mark.parametrize("covariance", OVER_WEIGHTS)
def test_certainty_of_two_classes(covariance):
    classifier, X = learned(covariance=covariance), rows(30, seed=1)[0]
    mean = X @ classifier.coef_[0] + classifier.intercept_
    sigma = classifier.covariance_
    sigma = sigma if isinstance(sigma, np.ndarray) else sigma.toarray()
    with_one = np.column_stack([X, np.ones(30)])
    variance = np.einsum("ij,jk,ik->i", with_one, sigma, with_one)
    assert_allclose(certainty(classifier, X), np.abs(mean) / np.sqrt(variance), rtol=1e-10)
    assert_allclose(certainty(classifier, csr_array(X), "margin"), np.abs(mean), rtol=1e-10)


@pytest.mark.parametrize("multiclass", ["joint", "one-vs-rest"])
@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_certainty_of_several_classes(covariance, multiclass):
    """The two best classes' difference, its variance with their covariance."""
    classifier, X = learned(4, covariance=covariance, multiclass=multiclass), rows(30, seed=1)[0]
    scores = classifier.decision_function(X)
    last, best = np.argsort(scores, axis=1)[:, -2:].T
    rows_ = np.column_stack([X, np.ones(30)])
    sigma = classifier.covariance_
    if covariance == "full" and multiclass == "joint":
        z = np.zeros((30, 4, 13))
        z[np.arange(30), best], z[np.arange(30), last] = rows_, -rows_
        variance = np.einsum("ij,jk,ik->i", z.reshape(30, -1), sigma, z.reshape(30, -1))
    else:
        variance = sum(classifier.margin_distribution(X)[1][np.arange(30), side] for side in (best, last))
    margin = scores[np.arange(30), best] - scores[np.arange(30), last]
    assert_allclose(certainty(classifier, X), margin / np.sqrt(variance), rtol=1e-9)
    assert_allclose(certainty(classifier, X, "margin"), margin, rtol=1e-9)


@pytest.mark.parametrize("rule", ["arow", "cw_stdev", "pa1"])
@pytest.mark.parametrize("classes", [2, 3])
def test_change_is_the_divergence_that_learning_makes(rule, classes):
    """Learn each row with either label, and compare the Gaussians before and after."""
    settings = {"covariance": "full", "multiclass": "joint", "prior_variance": 0.3}
    classifier, X = learned(classes, rule=rule, **settings), rows(12, seed=1)[0]
    certainties, found = certainty(classifier, X), np.zeros(12)
    for k, (second, best) in enumerate(np.argsort(classifier.predict_proba(X), axis=1)[:, -2:]):
        for label, probability in ((best, norm.cdf(certainties[k])), (second, norm.sf(certainties[k]))):
            after = clone_with_state(classifier).partial_fit(X[[k]], [label])
            found[k] += probability * kl_divergence(*gaussian(after), *gaussian(classifier))
    assert_allclose(1.0 / certainty(classifier, X, "expected_change"), found, rtol=1e-6, atol=1e-14)


def clone_with_state(classifier):
    return pickle.loads(pickle.dumps(classifier))


def gaussian(classifier):
    return np.column_stack([classifier.coef_, classifier.intercept_]).ravel(), classifier.covariance_


def test_certainty_of_multilabel_rows():
    """The certainty of the least certain label."""
    X = rows(60)[0]
    classifier = OnlineClassifier().fit(X, X[:, :3] > 0.5)
    mean, variance = classifier.margin_distribution(X)
    assert_allclose(certainty(classifier, X), (np.abs(mean) / np.sqrt(variance)).min(axis=1))


def test_query_takes_the_least_sure():
    classifier, pool = learned(), rows(50, seed=2)[0]
    chosen, certainties = query(classifier, pool, 7), certainty(classifier, pool)
    assert_array_equal(certainties[chosen], np.sort(certainties)[:7])
    assert sorted(query(classifier, pool, 50, "random", 0)) == list(range(50))
    assert_array_equal(query(classifier, pool, 5, "random", 3), query(classifier, pool, 5, "random", 3))
    assert len(set(query(OnlineClassifier(), pool, 5, random_state=1))) == 5  # knows nothing: any


def test_a_fraction_of_a_small_batch_is_random_on_average():
    classifier, pool = learned(), rows(50, seed=2)[0]
    least = query(classifier, pool, 5)
    random = [
        5 - np.isin(query(classifier, pool, 5, random_state=seed, explore=0.15), least).sum() for seed in range(400)
    ]
    assert set(random) <= {0, 1}
    assert np.mean(random) == pytest.approx(0.75 * 45 / 46, abs=0.1)  # one of the 46 others is itself the fifth
    assert len(set(query(classifier, pool, 5, random_state=0, explore=1.0))) == 5


@pytest.mark.long("500 rows one by one for each strategy")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", [0.05, 0.3, 1.0])
def test_budget(strategy, budget):
    """Never more than 1 + budget n; and in the end nearly as many."""
    X, y = rows(500, seed=3)
    classifier = OnlineClassifier("arow")
    selector = Selector(classifier, budget, strategy, random_state=0)
    for k in range(len(y)):
        if selector.should_query(X[k]):
            classifier.partial_fit(X[[k]], y[[k]], classes=[0, 1])
        assert selector.n_queried <= 1 + budget * selector.n_seen
    assert selector.n_seen == 500
    assert selector.n_queried == classifier.n_seen_ >= 0.6 * budget * 500


def test_rows_of_a_batch_are_decided_one_after_the_other():
    classifier, X = learned(), rows(40, seed=4)[0]
    one_by_one, together = Selector(classifier, 0.3), Selector(classifier, 0.3)
    assert_array_equal([one_by_one.should_query(x) for x in X], together.choose(csr_array(X)))
    assert one_by_one.should_query(csr_array(X[:1])) == together.should_query(X[:1])


def test_asked_rows_are_less_sure_than_others():
    """By a classifier that stays as it is, among rows after the threshold has settled."""
    classifier, X = learned(), rows(2000, seed=5)[0]
    asked, certainties = Selector(classifier, 0.2).choose(X)[200:], certainty(classifier, X)[200:]
    assert certainties[asked].max() < np.quantile(certainties[~asked], 0.6)
    assert certainties[asked].mean() < 0.3 * certainties[~asked].mean()


def test_asking_pays():
    """Many features, of which few rows tell much: fewer errors than with random rows."""
    errors = {}
    for strategy in ("confidence", "random"):
        errors[strategy] = []
        for seed in range(5):
            random = np.random.default_rng(seed)
            weights = random.normal(size=30)
            X = random.normal(size=(1500, 30))
            y = (X @ weights > 0).astype(int)
            sizes = np.arange(20, 220, 20)
            errors[strategy].append(
                simulate(
                    OnlineClassifier("arow", "full"), X[:1000], y[:1000], X[1000:], y[1000:], sizes, strategy, seed
                )
            )
    confident, random = (np.mean(errors[strategy], axis=0) for strategy in ("confidence", "random"))
    assert confident[0] == random[0]  # the first round is random
    assert confident[-1] < 0.8 * random[-1]


def test_simulation_of_all_labels_has_learned_them_all():
    """In whatever order: AROW with a full covariance, one-vs-rest and a large r, does not mind it."""
    X, y = rows(80, classes=3)
    classifier = OnlineClassifier(AROW(r=100.0), "full", multiclass="one-vs-rest", view=None)
    whole = 1 - clone(classifier).fit(X[:60], y[:60]).score(X[60:], y[60:])
    for strategy in STRATEGIES:
        errors = simulate(classifier, X[:60], y[:60], X[60:], y[60:], [10, 30, 60], strategy, 0)
        assert errors.shape == (3,) and errors[-1] == whole
    assert not hasattr(classifier, "learner_")


def test_bad_input():
    classifier, X = learned(), rows(5)[0]
    with pytest.raises(
        ValueError, match="strategy: expected one of 'confidence', 'margin', 'expected_change', 'random', got 'entropy'"
    ):
        query(classifier, X, 2, "entropy")
    with pytest.raises(ValueError, match="k must be between 1 and the 5 rows of the pool, got 6"):
        query(classifier, X, 6)
    with pytest.raises(ValueError, match="budget must be a fraction"):
        Selector(classifier, 1.5)
