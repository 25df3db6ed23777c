"""What is predicted is what is most probable, through every door, and what counts as a mistake."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.metrics import f1_score

from confidently import RULES, OnlineClassifier, merge
from confidently.river import OnlineClassifier as RiverClassifier
from confidently.river import OnlineMultiLabelClassifier as RiverLabels
from confidently.tasks.calibration import mirrored, sigmoid


def rare_class(n=4000, d=8, share=0.01, seed=3):
    """Return rows of two classes of which the second is rare and hard to tell from the first."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, d)) + 1.1 * y[:, None], y


def noisy(n=6000, d=10, flipped=0.2, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) > 0.5).astype(int)
    return X / np.linalg.norm(X, axis=1, keepdims=True), np.where(rng.random(n) < flipped, 1 - y, y)


def labels(n=1500, seed=6):
    """Return rows of four labels, which are rare and hard to tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, (X @ rng.normal(size=(6, 4)) + 4 * rng.normal(size=(n, 4)) > [5.0, 6.0, 7.0, 4.0]).astype(int)


@pytest.mark.parametrize("rule", list(RULES))
def test_the_predicted_class_is_the_most_probable_one(rule):
    X, y = rare_class()
    classifier = OnlineClassifier(rule, view=None).fit(X, y)
    p, predicted = classifier.predict_proba(X), classifier.predict(X)
    np.testing.assert_array_equal(predicted, p.argmax(axis=1))
    np.testing.assert_array_equal(classifier.to_sklearn().predict(X), predicted)
    uncalibrated = classifier.set_params(calibration=None)
    np.testing.assert_array_equal(uncalibrated.predict(X), uncalibrated.decision_function(X) > 0)


def test_a_rare_class_is_predicted():
    X, y = rare_class(20_000, share=0.02)
    for rule in ("arow", "probit", "logistic"):
        predicted = OnlineClassifier(rule, view=None).fit(X[:15_000], y[:15_000]).predict(X[15_000:])
        assert f1_score(y[15_000:], predicted) > 0.3


def test_all_doors_predict_the_same(ok, tmp_path):
    X, y = rare_class(600, share=0.3)
    X = np.abs(X)
    classifier, river = OnlineClassifier("arow", view=None).fit(X, y), RiverClassifier("arow")
    for x, label in zip(X, y, strict=True):
        river.learn_one(dict(enumerate(x)), int(label))
    predicted = classifier.predict(X)
    assert (predicted != (classifier.decision_function(X) > 0)).any()  # so that the test can see the sign
    assert predicted.tolist() == [river.predict_one(dict(enumerate(x))) for x in X]
    rows, model = str(tmp_path / "rows.svm"), str(tmp_path / "model.cw")
    dump_svmlight_file(X, y, rows, zero_based=False)
    classifier.save(model)
    for options in ([], ["--proba"], ["--ranking"], ["--abstain", "0"]):
        lines = ok("predict", model, rows, *options).splitlines()[-len(y) :]
        assert [line.split("\t")[0] for line in lines] == predicted.astype(str).tolist(), options


@pytest.mark.parametrize("rule", ["arow", "probit", "pa1", "cw_stdev"])
def test_mistakes_are_predictions_before_their_labels(rule):
    X, y = noisy(400)
    classifier = OnlineClassifier(rule, view=None).partial_fit(X[:1], y[:1], classes=[0, 1])
    wrong = classifier.mistakes_
    for k in range(1, len(y)):
        wrong += int(classifier.predict_proba(X[k : k + 1])[0, y[k]] <= 0.5)
        classifier.partial_fit(X[k : k + 1], y[k : k + 1])
        assert classifier.mistakes_ == wrong
    whole = OnlineClassifier(rule, view=None).partial_fit(X[:1], y[:1], classes=[0, 1]).partial_fit(X[1:], y[1:])
    assert whole.mistakes_ == wrong


def test_mistakes_without_a_calibration_are_those_of_the_sign():
    X, y = noisy(400)
    classifier = OnlineClassifier("arow", view=None, calibration=None).partial_fit(X[:1], y[:1], classes=[0, 1])
    wrong = classifier.mistakes_
    for k in range(1, len(y)):
        wrong += int(classifier.decision_function(X[k : k + 1])[0] * (1 if y[k] else -1) <= 0)
        classifier.partial_fit(X[k : k + 1], y[k : k + 1])
    assert classifier.mistakes_ == wrong


@pytest.mark.long("600 rows one by one")
@pytest.mark.parametrize("multiclass", ["one-vs-rest", "joint"])
def test_labels_are_predicted_above_half_of_the_progressive_f1(multiclass):
    X, Y = labels()
    classifier = OnlineClassifier("arow", view=None, multiclass=multiclass)
    keep, hits, chances = 1 - 1 / 2000, 0.0, 0.0
    for k in range(300):
        if k:
            p = classifier.predict_proba(X[k : k + 1])[0]
            predicted = p > (hits + 0.5) / (chances + 1)
            np.testing.assert_array_equal(classifier.predict(X[k : k + 1])[0], predicted)
        else:
            predicted = np.zeros(4, dtype=bool)  # probabilities of one half
        classifier.partial_fit(X[k : k + 1], Y[k : k + 1], **({} if k else {"classes": np.arange(4)}))
        hits, chances = keep * hits + (predicted & (Y[k] == 1)).sum(), keep * chances + predicted.sum() + Y[k].sum()
        assert classifier.learner_.label_threshold == pytest.approx((hits + 0.5) / (chances + 1), rel=1e-12)


def test_the_threshold_of_labels_raises_their_f1():
    X, Y = labels(6000)
    classifier = OnlineClassifier("arow", view=None).fit(X[:4000], Y[:4000])
    p, truth = classifier.predict_proba(X[4000:]), Y[4000:]
    found = f1_score(truth, classifier.predict(X[4000:]), average="micro")
    best = max(f1_score(truth, p > t, average="micro") for t in np.linspace(0.05, 0.6, 56))
    assert found > best - 0.01
    assert found > f1_score(truth, p > 0.5, average="micro") + 0.01


def test_labels_of_dicts_are_predicted_alike():
    X, Y = labels(200)
    classifier, river = OnlineClassifier("arow", view=None), RiverLabels("arow")
    for x, y in zip(X, Y, strict=True):
        classifier.partial_fit(x[None], y[None], classes=np.arange(4))
        river.learn_one(dict(enumerate(x)), {k: bool(yes) for k, yes in enumerate(y)})
    for x, expected in zip(X, classifier.predict(X).tolist(), strict=True):
        assert [river.predict_one(dict(enumerate(x)))[k] for k in range(4)] == expected


@pytest.mark.parametrize("rule", ["arow", "probit", "logistic", "iellip_margin"])
def test_what_is_almost_certain_is_right_though_labels_are_noisy(rule):
    """A sigmoid alone says .95 of rows that are right in .8 of cases."""
    X, y = noisy(20_000)
    classifier = OnlineClassifier(rule, view=None).fit(X[:15_000], y[:15_000])
    p = classifier.predict_proba(X[15_000:])
    right = p.argmax(axis=1) == y[15_000:]
    certain = p.max(axis=1) >= 0.9
    assert certain.sum() < 50 or right[certain].mean() > 0.85
    calibration = classifier.learner_.state["calibration"].copy()
    calibration[8:22] = 0.0  # the line alone
    classifier.learner_.state["calibration"][:] = calibration
    by_line = classifier.predict_proba(X[15_000:])
    loss, of_line = (-np.log(each[np.arange(5000), y[15_000:]]).mean() for each in (p, by_line))
    assert loss < of_line + 0.001


def test_margins_that_shrink_keep_their_probabilities():
    """Of cw_stdev, which has no place for noise: its margins fall by five orders of magnitude."""
    X, y = noisy(12_000)
    classifier = OnlineClassifier("cw_stdev", view=None, average=False).fit(X[:10_000], y[:10_000])
    margin = np.abs(classifier.decision_function(X[10_000:])).max()
    assert margin < 1e-3 and classifier.learner_.state["calibration"][0] > 100
    p, truth = classifier.predict_proba(X[10_000:]), y[10_000:]
    assert -np.log(p[np.arange(len(truth)), truth]).mean() < 0.68  # log 2 says nothing
    by_sign = np.mean((classifier.decision_function(X[10_000:]) > 0) != truth)
    assert classifier.score(X[10_000:], truth) > 1 - by_sign - 0.02


def test_a_mirrored_calibration_says_the_same_of_the_other_class():
    X, y = noisy(3000)
    calibration = OnlineClassifier("arow", view=None).fit(X, y).learner_.state["calibration"]
    assert np.abs(calibration[8:22]).max() > 0.1
    scores = np.linspace(-5, 5, 201)
    other = sigmoid(-scores, mirrored(calibration))[:, ::-1]
    np.testing.assert_allclose(other, sigmoid(scores, calibration), rtol=1e-9)
    np.testing.assert_array_equal(mirrored(mirrored(calibration)), calibration)


def test_a_merged_calibration_keeps_the_order_of_scores():
    X, y = noisy(8000)
    parts = [OnlineClassifier("arow", view=None).partial_fit(X[k::4], y[k::4], classes=[0, 1]) for k in range(4)]
    merged = merge(parts)
    scores = np.linspace(-20, 20, 2001)
    p = sigmoid(scores, merged.learner_.state["calibration"])[:, 1]
    assert (np.diff(p) >= 0).all()
    loss = [-np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean() for model in (merged, *parts)]
    assert loss[0] < max(loss[1:]) + 0.02
