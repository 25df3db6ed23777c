"""Every calibration equals its twin in plain Python, on unbalanced rows with weights and without an intercept."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.special import softmax as scipy_softmax
from scipy.stats import norm
from sklearn.metrics import log_loss

from confidently import Logistic, OnlineClassifier
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.river import OnlineClassifier as RiverClassifier
from confidently.tasks.calibration import (
    INITIAL_LABEL,
    INITIAL_SIGMOID,
    INITIAL_TEMPERATURE,
    posterior_probability,
    sigmoid,
    sigmoids,
    softmax,
)
from tests.covariance_cases import has_task
from tests.data_sets import load
from tests.tables.tasks import MULTILABEL
from tests.twins.calibration import Labels, Sigmoid, Temperature, moderated

PRIOR = 0.7
N_CLASSES = {"binary": 2, "joint": 3, "one-vs-rest": 3, "softmax": 3} | dict.fromkeys(MULTILABEL, 3)


def unbalanced(task, n=200, d=4):
    """Return rows of positive values, labels of which the last is common, and weights."""
    rng = np.random.default_rng(5)
    X, w = rng.uniform(0.1, 1.0, size=(n, d)), rng.choice([0.0, 0.3, 1.0, 4.0], size=n)
    score = X @ rng.normal(size=(d, N_CLASSES[task])) + rng.normal(size=(n, N_CLASSES[task]))
    if task in MULTILABEL:
        return X, [np.flatnonzero(row > [2.0, 1.0, -1.0]) for row in score], w
    if task == "binary":
        return X, (score[:, 0] > -1.2).astype(int), w
    return X, np.add(score, [0.0, 0.5, 2.0]).argmax(axis=1), w


def learn(learner, x, label, w):
    start = np.array([0, len(label)]) if learner.task.multilabel else None
    labels = np.atleast_1d(label).astype(np.int32)
    learner.learn(as_matrix(x[None]), labels, start, weight=np.array([w]))


def replay(twin, learner, x, label, w):
    """Update the twin with the margins of a row that the learner has not trained on yet."""
    X, task = as_matrix(x[None]), learner.task.name
    if task in MULTILABEL:
        mean, variance = (found[0] for found in learner.margin_distribution(X))
        scores = mean if task == "multilabel" else [moderated(m, v, PRIOR) for m, v in zip(mean, variance, strict=True)]
        twin.learn(list(scores), label, w)
    elif task == "binary":
        mean, variance = learner.margin_distribution(X)
        twin.learn(moderated(mean[0], variance[0], PRIOR), label, w)
    else:
        _, variance = learner.top_margins(X)
        twin.learn([moderated(f, variance[0], PRIOR) for f in learner.decision(X)[0]], label, w)


def twin_of(task):
    return Labels(3) if task in MULTILABEL else Sigmoid() if task == "binary" else Temperature()


@pytest.mark.long("a slow twin, row by row")
@pytest.mark.parametrize(
    ("task", "rule"),
    [(task, rule) for task in N_CLASSES for rule in ("arow", "pa1", "probit", "logistic") if has_task(rule, task)],
)
def test_the_calibration_equals_its_twin(task, rule):
    X, labels, weights = unbalanced(task)
    learner = Learner(Settings(rule, task=task, fit_intercept=False, prior_variance=PRIOR), N_CLASSES[task], X.shape[1])
    twin = twin_of(task)
    for x, label, w in zip(X, labels, weights, strict=True):
        if w > 0:
            replay(twin, learner, x, label, w)
        learn(learner, x, label, w)
        np.testing.assert_allclose(learner.state["calibration"], twin.state(), rtol=1e-11, atol=1e-11)
    size = len(INITIAL_LABEL if task in MULTILABEL else INITIAL_SIGMOID)
    offsets = learner.state["calibration"][1::size] if task in ("binary", *MULTILABEL) else [1.0]
    assert np.abs(offsets).max() > 0.1  # so that the test can see an offset that is not learned


def line(slope, offset):
    """Return a calibration without a correction."""
    return np.array([slope, offset, *INITIAL_SIGMOID[2:]])


def test_sigmoids_of_scores():
    scores = np.array([-1e300, -1e6, -3.0, -0.2, 0.0, 0.5, 40.0, 1e6, 1e300])
    least = 2.0**-53
    for slope, offset in ((1.0, 0.0), (0.3, -2.0), (1e-3, 1.5)):
        expected = np.clip(expit(slope * scores + offset), least, 1 - least)
        p = sigmoid(scores, line(slope, offset))
        np.testing.assert_allclose(p[:, 1], expected, rtol=1e-15)
        np.testing.assert_array_equal(p[:, 0], 1.0 - p[:, 1])
    columns = np.column_stack([scores, scores[::-1]])
    labels = [line(0.3, -2.0), [0.0, 0.0], line(2.0, 1.0), [0.0, 0.0]]
    each = sigmoids(columns, np.concatenate(labels))
    np.testing.assert_array_equal(each[:, 0], sigmoid(scores, line(0.3, -2.0))[:, 1])
    np.testing.assert_array_equal(each[:, 1], sigmoid(scores[::-1], line(2.0, 1.0))[:, 1])
    assert sigmoid(scores[:0]).shape == (0, 2) and sigmoids(columns[:, :0], np.zeros(0)).shape == (9, 0)


def test_softmax_of_scores():
    scores = np.array([[0.0, 1.0, -2.0], [1e9, 1e9, 0.0], [-1e300, 0.0, 1e300], [700.0, -700.0, 0.0]])
    for slope in (1.0, 0.2, 5.0):
        calibration = np.array([slope, *INITIAL_TEMPERATURE[1:]])
        np.testing.assert_allclose(softmax(scores, calibration), scipy_softmax(slope * scores, axis=1), rtol=1e-14)
    np.testing.assert_array_equal(softmax(scores.T.copy().T), softmax(scores))
    assert softmax(scores[:0]).shape == (0, 3)


@pytest.mark.parametrize("task", N_CLASSES)
def test_probabilities_are_the_same_with_their_scores_by_themselves_and_of_dicts(task):
    X, labels, _ = unbalanced(task, n=50)
    learner = Learner(Settings("logistic" if task == "softmax" else "arow", task=task), N_CLASSES[task], X.shape[1])
    for x, label in zip(X, labels, strict=True):
        learn(learner, x, label, 1.0)
    scores, p = learner.decision(as_matrix(X)), learner.probabilities(as_matrix(X))
    found = learner.decision_and_probabilities(as_matrix(X))
    np.testing.assert_array_equal(found[0], scores)
    np.testing.assert_array_equal(found[1], p)
    for i in range(len(X)):
        np.testing.assert_array_equal(learner.probabilities(as_matrix(X[i : i + 1]))[0], p[i])


@pytest.mark.long("a slow twin, row by row")
@pytest.mark.parametrize("covariance", ["full", "shared", "kernel"])
def test_products_calibrate_alike(covariance):
    """In one call, with blocks of rows; a temperature where the covariance allows several classes."""
    task = "joint"
    X, labels, weights = unbalanced(task)
    settings = Settings(
        "arow", covariance, task, fit_intercept=False, prior_variance=PRIOR, rows_per_product=16, kernel="linear"
    )
    learner, alone = (Learner(settings, 3, X.shape[1]) for _ in range(2))
    twin = twin_of(task)
    for x, label, w in zip(X, labels, weights, strict=True):
        if w > 0:
            replay(twin, alone, x, label, w)
        learn(alone, x, label, w)
    learner.learn(as_matrix(X), labels.astype(np.int32), weight=weights)
    np.testing.assert_allclose(learner.state["calibration"], twin.state(), rtol=1e-8, atol=1e-12)


def test_the_log_loss_of_a_calibrated_offset_is_lower():
    """On unbalanced rows without an intercept, the offset carries what the weights cannot."""
    X, labels, _ = unbalanced("binary", n=2000)
    learner, loss = Learner(Settings("arow", fit_intercept=False), 2, X.shape[1]), np.zeros(1)
    learner.learn(as_matrix(X), labels.astype(np.int32), log_loss=loss)
    base = labels.mean()
    assert loss[0] / len(labels) < -(base * np.log(base) + (1 - base) * np.log(1 - base))


def test_dicts_are_calibrated_alike():
    X, labels, weights = unbalanced("binary")
    model, twin = RiverClassifier("arow", fit_intercept=False, prior_variance=PRIOR), Sigmoid()
    learner = Learner(Settings("arow", fit_intercept=False, prior_variance=PRIOR), 2, X.shape[1])
    model._rows.table.number(0)  # classes in the order of the learner
    for x, label, w in zip(X, labels, weights, strict=True):
        if w > 0:
            replay(twin, learner, x, label, w)
            learn(learner, x, label, w)
            model.learn_one(dict(enumerate(x)), int(label), w)
    np.testing.assert_allclose(model._rows.learner.state["calibration"], twin.state(), rtol=1e-12, atol=1e-12)


def test_the_uncalibrated_probability_of_logistic_is_the_mean_of_its_likelihood():
    """Of 1/(1 + exp(-score)) under the Gaussian of the score, as integration finds it."""
    grid = np.linspace(-12.0, 12.0, 4001)
    density = norm.pdf(grid) * (grid[1] - grid[0])
    for m in (-30.0, -3.0, 0.0, 0.7, 8.0):
        for v in (1e-6, 0.3, 4.0, 100.0):
            found = posterior_probability(np.array([m]), np.array([v]), Logistic().score_noise())[0]
            assert found == pytest.approx(float(density @ expit(m + np.sqrt(v) * grid)), abs=4e-4)
    X, labels, _ = unbalanced("binary")
    classifier = OnlineClassifier("logistic", calibration=None).fit(X, labels)
    expected = posterior_probability(*classifier.margin_distribution(X), Logistic().score_noise())
    np.testing.assert_array_equal(classifier.predict_proba(X)[:, 1], expected)


@pytest.mark.long("large data sets")
@pytest.mark.parametrize(
    "name", ["a9a", "w8a", "avazu", pytest.param("ssa_names", marks=pytest.mark.long("a large data set"))]
)
def test_logistic_is_calibrated_by_itself(name):
    """A line adds little to its likelihood; a correction may add more, where the model is too simple."""
    X, y, X_test, y_test = load(name)
    classifier = OnlineClassifier("logistic").fit(X, y)
    corrected = log_loss(y_test, classifier.predict_proba(X_test))
    classifier.learner_.state["calibration"][8:] = 0.0
    calibrated = log_loss(y_test, classifier.predict_proba(X_test))
    uncalibrated = log_loss(y_test, classifier.set_params(calibration=None).predict_proba(X_test))
    assert uncalibrated - calibrated < 0.004
    assert corrected < calibrated + 0.001
