"""What a diagonal covariance keeps of an updated Gaussian: its precisions or its moments."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from confidently import RULES, OnlineClassifier, make_rule, merge
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from tests.covariances.test_core_equals_reference import (
    N_CLASSES,
    RULES_AND_TASKS,
    assert_twins_agree,
    core_labels,
    noisy_rows,
    twins,
)
from tests.twins.reference import ReferenceLearner

LEARNING = [name for name, rule in RULES.items() if rule.learns_precision]


def both(rule, task, X, labels, **options):
    ids, start = core_labels(labels)
    learner, reference = twins(make_rule(rule), "diag", task, X.shape[1], **options)
    learner.learn(as_matrix(X), ids, start, calibrate=False)
    reference.learn(X, labels)
    return learner, reference


@pytest.mark.few
@pytest.mark.parametrize(("rule", "task"), [(rule, task) for rule, task in RULES_AND_TASKS if rule in LEARNING])
@pytest.mark.parametrize("options", [{}, {"average": True, "fit_intercept": False}, {"forget": 0.01}])
def test_moments_equal_the_reference(rule, task, options):
    X, labels = noisy_rows(task, n=60)
    assert_twins_agree(*both(rule, task, X, labels, projection="moments", **options))


@pytest.mark.parametrize("task", [task for rule, task in RULES_AND_TASKS if rule == "probit"])
def test_probit_keeps_moments_by_default(task):
    X, labels = noisy_rows(task, n=60)
    learner, _ = both("probit", task, X, labels)
    moments, _ = both("probit", task, X, labels, projection="moments")
    precision, _ = both("probit", task, X, labels, projection="precision")
    assert np.array_equal(learner.mean(), moments.mean())
    assert not np.array_equal(learner.mean(), precision.mean())
    assert Settings("arow").projection == "precision"


def integrated(mean, variance, x, noise):
    """Mean and variance of each weight under the Gaussian times Phi(w.x/noise), by integration on a grid of weights."""
    axes = [m + np.sqrt(v) * np.linspace(-9, 9, 1201) for m, v in zip(mean, variance, strict=True)]
    grid = np.meshgrid(*axes, indexing="ij")
    score = sum(value * weight for value, weight in zip(x, grid, strict=True))
    log_p = log_ndtr(score / noise) - sum(
        (weight - m) ** 2 / (2 * v) for weight, m, v in zip(grid, mean, variance, strict=True)
    )
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    means = np.array([(p * weight).sum() for weight in grid])
    return means, np.array([(p * (weight - m) ** 2).sum() for weight, m in zip(grid, means, strict=True)])


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_probit_matches_the_moments_of_its_posterior(noise):
    """Three rows, each matched before the next: what assumed-density filtering is, without any formula of ours."""
    rows, labels = np.array([[1.0, -0.5], [0.3, 2.0], [-1.0, 0.7]]), [1, 0, 0]
    mean, variance = np.zeros(2), np.ones(2)
    learner = Learner(Settings(make_rule("probit", noise=noise), fit_intercept=False), 2, 2)
    for x, label in zip(rows, labels, strict=True):
        mean, variance = integrated(mean, variance, x if label else -x, noise)
        learner.learn(as_matrix(x[None]), np.array([label], dtype=np.int32))
        np.testing.assert_allclose(learner.mean()[0], mean, rtol=0, atol=1e-6)
        np.testing.assert_allclose(learner.variance()[0], variance, rtol=0, atol=1e-6)


def test_other_covariances_and_rules_without_variances_have_no_projection():
    for settings in (Settings("arow", "full", projection="moments"), Settings("arow", "kernel", projection="moments")):
        assert Learner(settings, 2, 3).settings.projection == "precision"


def test_a_classifier_keeps_its_projection():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    apart = [OnlineClassifier("arow", projection=projection).fit(X, y) for projection in ("moments", "precision")]
    with pytest.raises(ValueError, match=r"projection = moments in model 1, projection = precision in model 2"):
        merge(apart)
    with pytest.raises(ValueError, match="projection"):
        apart[0].set_params(projection="precision").partial_fit(X, y)
    with pytest.raises(ValueError, match="projection: expected one of 'precision', 'moments'"):
        OnlineClassifier(projection="variances").fit(X, y)


def test_a_rule_that_is_changed_keeps_the_projection_that_training_began_with():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 5)), rng.integers(0, 2, 100)
    classifier = OnlineClassifier("arow", view=None).fit(X, y).set_params(rule="probit").partial_fit(X, y)
    reference = ReferenceLearner("arow", {"r": 0.1}, "diag", "binary", N_CLASSES["binary"], 5)
    reference.learn(X, list(y))
    reference.rule, reference.parameters = "probit", make_rule("probit").get_params()
    reference.learn(X, list(y))
    np.testing.assert_allclose(classifier.variance_[0], reference.covariance.variances()[0, :-1], rtol=1e-8)
