"""Shares of classes among rows without labels, and the probabilities that follow from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import log_loss

from confidently import AutoClassifier, OnlineClassifier
from confidently.tasks import prior_shift
from confidently.tasks.conformal import ConformalSets


@pytest.mark.parametrize("classes", [2, 5])
def test_shares_have_the_largest_likelihood(classes):
    generator = np.random.default_rng(classes)
    p = generator.dirichlet(np.full(classes, 0.4), 300)
    own = generator.dirichlet(np.full(classes, 5.0))
    found = prior_shift.shares(p, own)

    def loss(free):
        weights = np.exp(np.append(free, 0.0))
        return -np.log(p @ (weights / weights.sum() / own)).mean()

    best = minimize(loss, np.zeros(classes - 1), method="BFGS", options={"gtol": 1e-9})
    weights = np.exp(np.append(best.x, 0.0))
    assert found == pytest.approx(weights / weights.sum(), abs=1e-5)
    assert found.sum() == pytest.approx(1.0)


def test_probabilities_follow_from_bayes_rule():
    """Two normal distributions, of which the probabilities are known for any shares."""
    x = np.random.default_rng(0).normal(size=200)
    ratio = np.exp(2 * x)  # of the densities around 1 and -1

    def expected(share):
        return share * ratio / (share * ratio + 1 - share)

    own, other = np.array([0.7, 0.3]), np.array([0.1, 0.9])
    p = np.stack([1 - expected(own[1]), expected(own[1])], axis=1)
    assert prior_shift.corrected(p, other, own)[:, 1] == pytest.approx(expected(other[1]))
    np.testing.assert_allclose(prior_shift.corrected(p, own, own), p)


def shifted(classes, names=None):
    X, y = make_classification(8000, 12, n_informative=6, n_classes=classes, class_sep=1.2, random_state=0)
    y = y if names is None else np.array(names)[y]
    generator, (first, *_) = np.random.default_rng(0), np.unique(y)
    late = np.arange(4000, 8000)
    late = late[(y[late] == first) | (generator.random(4000) < 0.15)]  # more of the first class
    return X, y, late


@pytest.mark.long("stacks of thousands of rows")
@pytest.mark.parametrize("estimator", [OnlineClassifier(), AutoClassifier()])
@pytest.mark.parametrize("classes, names", [(2, ["b", "a"]), (4, None)])
def test_shares_are_found_and_lower_error_and_log_loss(estimator, classes, names):
    X, y, late = shifted(classes, names)
    model = estimator.fit(X[:4000], y[:4000])
    true = np.array([np.mean(y[late] == one) for one in model.classes_])
    found = model.class_shares(X[late])
    assert found == pytest.approx(true, abs=0.04)
    before, after = model.predict_proba(X[late]), model.predict_proba(X[late], shares=found)
    assert log_loss(y[late], after, labels=model.classes_) < 0.9 * log_loss(y[late], before, labels=model.classes_)
    errors = [np.mean(model.classes_[p.argmax(axis=1)] != y[late]) for p in (before, after)]
    assert errors[1] < errors[0]


def test_shares_of_training_change_nothing_and_classes_without_rows_have_none():
    X, y = load_digits(return_X_y=True)
    model = OnlineClassifier().partial_fit(X[y < 8], y[y < 8], classes=np.arange(10))
    own = np.bincount(y[y < 8], minlength=10) / np.sum(y < 8)
    p = model.predict_proba(X, shares=own)
    expected = np.where(own > 0, model.predict_proba(X), 0.0)
    np.testing.assert_allclose(p, expected / expected.sum(axis=1, keepdims=True))
    assert model.class_shares(X)[8:].tolist() == [0.0, 0.0]
    assert ConformalSets(OnlineClassifier().partial_fit(X[:3], y[:3], np.arange(4), [0, 0, 0]).learner_.state[
        "conformal"]).shares.tolist() == [0.25] * 4  # fmt: skip


@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_shares_are_in_the_order_of_classes_also_of_those_that_came_late(kind):
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=0)
    X, y = X[(y > 0) | (np.arange(400) % 3 > 0)], np.array(["a", "c", "b"])[y[(y > 0) | (np.arange(400) % 3 > 0)]]
    first = np.flatnonzero(y != "a")[:60]
    model = kind().partial_fit(X[first], y[first], classes=["c", "b"])
    rest = np.setdiff1d(np.arange(len(y)), first)
    model.partial_fit(X[rest], y[rest], classes=["a"])
    own = np.array([np.mean(y == one) for one in "abc"])
    np.testing.assert_allclose(model.predict_proba(X, shares=own), model.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize(
    "shares, message",
    [
        ([0.5, 0.5], r"one number per class, shape \(3,\), got shape \(2,\)"),
        ([0.5, 0.2, 0.2], "add up to 1"),
        ([1.5, -0.5, 0.0], "at least 0"),
        ([np.nan, 0.5, 0.5], "at least 0"),
    ],
)
def test_invalid_shares_are_one_error(shares, message):
    X, y = load_digits(n_class=3, return_X_y=True)
    with pytest.raises(ValueError, match=message):
        OnlineClassifier().fit(X, y).predict_proba(X, shares)
