"""Probabilities of topic models: the fit equals an optimizer's, and its scores precede the use of labels."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_expit, log_softmax
from sklearn.metrics import log_loss

from confidently import OnlineMedLDA
from confidently.models.file import Header
from confidently.topics.calibration import fitted_sigmoid, fitted_softmax, scored_documents
from confidently.topics.model import TopicModel
from confidently.topics.state import SCORED
from tests.topics.test_topics import corpus

X, Y = corpus(1200, seed=4)
TARGETS = {
    "binary": np.where(Y > 0, "b", "a"),
    "classes": np.array(["x", "y", "z"])[Y],
    "labels": np.column_stack([Y == 0, Y < 2, Y == 2]).astype(int),
}


def noisy(y, fraction=0.25, seed=9):
    """The same classes, some of them at random."""
    random = np.random.default_rng(seed)
    return np.where(random.random(len(y)) < fraction, random.choice(np.unique(y), len(y)), y)


@pytest.mark.parametrize("n", [0, 1, 3, 200])
@pytest.mark.parametrize("kind", ["noisy", "separable", "one label"])
def test_sigmoid_is_the_maximum(n, kind):
    random = np.random.default_rng(n)
    u = random.normal(size=n) * 3 + 1
    sign = {
        "noisy": np.where(random.random(n) < 0.7, np.sign(u), 1),
        "separable": np.sign(u),
        "one label": -np.ones(n),
    }[kind]

    weight = random.choice([0.3, 1.0, 4.0], n)

    def cost(ab):
        return -weight @ log_expit(sign * (ab[0] * u + ab[1])) + 0.5 * (ab[0] - 1) ** 2 + ab[1] ** 2 / 200

    found = minimize(cost, np.zeros(2), tol=1e-12)
    assert cost(fitted_sigmoid(u, sign, weight)) <= found.fun + 1e-9
    np.testing.assert_allclose(fitted_sigmoid(u, sign, weight), found.x, atol=2e-4)


@pytest.mark.parametrize("n", [0, 1, 200])
def test_softmax_is_the_maximum(n):
    random = np.random.default_rng(n)
    u, true = random.normal(size=(n, 4)) * 2, random.integers(4, size=n)
    u[np.arange(n), true] += 1.5

    weight = random.choice([0.3, 1.0, 4.0], n)

    def cost(a):
        return -weight @ log_softmax(a * u, axis=1)[np.arange(n), true] + 0.5 * (a - 1) ** 2

    np.testing.assert_allclose(fitted_softmax(u, true, weight)[0], minimize_scalar(cost).x, atol=1e-5)
    assert fitted_softmax(-10 * u, true, weight)[0] > 0  # misleading scores count little, but keep their sign


def test_which_documents_are_scored_before_they_are_learned():
    scored = scored_documents(0, 3000)
    expected = [start + i for start in [*range(128, 1024, 128), *range(1024, 3000, 512)] for i in range(32)]
    assert scored.tolist() == expected
    assert (scored_documents(1000, 2000) + 1000).tolist() == [d for d in expected if d >= 1000]


@pytest.mark.parametrize("classifier", ["gibbs", "averaging"])
@pytest.mark.parametrize("task", TARGETS)
def test_scores_are_those_of_a_model_that_has_not_learned_the_batch(task, classifier):
    y = TARGETS[task]
    settings = {"n_topics": 4, "classifier": classifier, "random_state": 1, "epsilon": 40.0, "batch_size": 24}
    classes = None if task == "labels" else np.unique(y)
    whole = OnlineMedLDA(**settings).partial_fit(X[:400], y[:400], classes=classes)
    state = whole.learner_.state
    scored = scored_documents(0, 400)
    assert state["looked"][0] == len(scored) == 32 + 32 + 16
    before = OnlineMedLDA(**settings, calibration=None)
    for start in range(0, 400, 24):
        batch = slice(start, min(start + 24, 400))
        for row, document in enumerate(scored):
            if batch.start <= document < batch.stop:
                scores = before.decision_function(X[document : document + 1])
                np.testing.assert_allclose(state["looked.scores"][row], np.ravel(scores))
        before.partial_fit(X[batch], y[batch], classes=classes)
    signs = state["looked.signs"][: len(scored)] > 0
    expected = y[scored] if task == "labels" else y[scored][:, None] == (["b"] if task == "binary" else classes)
    np.testing.assert_array_equal(signs, expected)
    np.testing.assert_array_equal(before.coef_, whole.coef_)  # scoring changes nothing that is learned
    np.testing.assert_array_equal(before.components_, whole.components_)


@pytest.mark.parametrize("task", ["binary", "classes"])
def test_probabilities_are_those_of_noisy_classes(task):
    """With a quarter of the labels at random, only uncalibrated probabilities are far too confident."""
    y = noisy(TARGETS[task])
    found = {}
    for calibration in ("progressive", None):
        model = OnlineMedLDA(5, calibration=calibration, random_state=0).fit(X[:900], y[:900])
        p = model.predict_proba(X[900:])
        np.testing.assert_allclose(p.sum(axis=1), 1)
        found[calibration] = log_loss(y[900:], p, labels=model.classes_)
        if task == "binary":  # the likelier the higher the score
            order = np.argsort(model.decision_function(X[900:]))
            assert (np.diff(p[order, 1]) >= 0).all()
            np.testing.assert_array_equal(p[:, 1] > 0.5, model.decision_function(X[900:]) > 0)
        if task == "classes":
            np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X[900:]))
    shares = np.unique(y, return_counts=True)[1] / len(y)
    known = 0.75 + 0.25 / len(shares)  # of labels that are the text's
    best = -known * np.log(known) - (1 - known) * np.log((1 - known) / (len(shares) - 1))
    assert best - 0.1 < found["progressive"] < best + 0.25 < -(shares @ np.log(shares)) < found[None]


def test_probabilities_of_labels():
    model = OnlineMedLDA(6, random_state=0).fit(X[:900], TARGETS["labels"][:900])
    p, truth = model.predict_proba(X[900:]), TARGETS["labels"][900:]
    assert p.shape == (300, 3) and ((p > 0) & (p < 1)).all()
    for label in range(3):
        share = truth[:, label].mean()
        chance = -share * np.log(share) - (1 - share) * np.log(1 - share)
        assert log_loss(truth[:, label], p[:, label]) < 0.6 * chance


def test_probabilities_before_the_first_scored_document():
    model = OnlineMedLDA(4, random_state=0).fit(X[:100], TARGETS["binary"][:100])
    expected = 1 / (1 + np.exp(-model.decision_function(X[100:]) / model.epsilon_))
    np.testing.assert_allclose(model.predict_proba(X[100:])[:, 1], expected, rtol=1e-9)


def test_models_saved_before_there_was_a_calibration_load():
    learner = OnlineMedLDA(4, random_state=0).fit(X, TARGETS["classes"]).learner_
    header, arrays = learner.header(), TopicModel(learner, ["x", "y", "z"]).packed()
    settings = {k: v for k, v in asdict(learner.settings).items() if k != "calibration"}
    old = Header(
        **header | {"settings": settings}, format=2, classes=["x", "y", "z"], estimator={}, source={}, crc32={}
    )
    found = TopicModel.unpacked(old, {name: array for name, array in arrays.items() if name not in SCORED})
    assert found.state["looked"][0] == 0 and found.state.keys() == learner.state.keys()
    np.testing.assert_array_equal(found.means(), learner.means())


def test_unknown_calibrations_are_rejected():
    with pytest.raises(ValueError, match="calibration"):
        OnlineMedLDA(calibration="sigmoid").fit(X, Y)
