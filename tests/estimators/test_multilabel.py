"""Labels: by default every label has a binary learner; a joint ranking if asked for, and where it was."""

import numpy as np
import pytest
from sklearn.utils import get_tags

from confidently import OnlineClassifier, merge
from confidently.covariances.table import COVARIANCES
from confidently.models.merged_learner import MergeError
from confidently.river import OnlineMultiLabelClassifier

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 6))
Y = (X @ RANDOM.normal(size=(6, 4)) + RANDOM.normal(size=(150, 4)) > 0.4).astype(int)


@pytest.mark.parametrize("covariance", ["diag", "full", "kernel"])
@pytest.mark.parametrize("rule", ["arow", "pa1", "cw_stdev", "iellip", "logistic"])
def test_every_label_has_a_binary_learner(rule, covariance):
    """Scores, variances and probabilities are those of learners that were trained on one label each."""
    labels = OnlineClassifier(rule, covariance).fit(X[:100], Y[:100])
    assert labels.learner_.settings.task.name == "multilabel-one-vs-rest"
    mean, variance = labels.margin_distribution(X[100:])
    for k in range(Y.shape[1]):
        alone = OnlineClassifier(rule, covariance).fit(X[:100], Y[:100, k])
        for found, expected in zip((mean, variance), alone.margin_distribution(X[100:]), strict=True):
            np.testing.assert_allclose(found[:, k], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            labels.predict_proba(X[100:])[:, k], alone.predict_proba(X[100:])[:, 1], rtol=1e-9, atol=1e-12
        )
        above = alone.predict_proba(X[100:])[:, 1] > labels.learner_.label_threshold  # half of the progressive F1
        np.testing.assert_array_equal(labels.predict(X[100:])[:, k], above)


@pytest.mark.parametrize(("settings", "task"), [
    ({}, "multilabel-one-vs-rest"), ({"multiclass": "one-vs-rest"}, "multilabel-one-vs-rest"),
    ({"multiclass": "joint"}, "multilabel"), ({"covariance": "shared"}, "multilabel"),  # which couples the labels
    ({"covariance": "shared", "multiclass": "joint"}, "multilabel"),
])  # fmt: skip
def test_training_continues_as_it_began(settings, task):
    model = OnlineClassifier(**settings).fit(X[:100], Y[:100])
    for trained in (model, model.partial_fit(X[100:], Y[100:]), model.fit(X, Y)):
        assert trained.learner_.settings.task.name == task


@pytest.mark.parametrize(("settings", "message"), [
    ({"rule": "logistic", "multiclass": "softmax"}, "multilabel rows have any number of labels"),
    ({"covariance": "shared", "multiclass": "one-vs-rest"}, "couples the classes"),
    *(({"covariance": "sparse", "multiclass": multiclass}, "which the task multilabel.* does not; use another covar")
      for multiclass in (None, "joint")),
])  # fmt: skip
def test_what_is_not_for_labels(settings, message):
    with pytest.raises(ValueError, match=message):
        OnlineClassifier(**settings).fit(X, Y)


@pytest.mark.parametrize("multiclass", [None, "joint", "one-vs-rest", "softmax"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_tags_say_whether_labels_can_be_learned(covariance, multiclass):
    model, learns = OnlineClassifier("logistic", covariance, multiclass=multiclass), True
    try:
        model.fit(X[:20], Y[:20])
    except ValueError:
        learns = False
    assert get_tags(model).classifier_tags.multi_label == learns


def test_a_ranking_is_not_merged_with_separate_learners():
    ranked = OnlineClassifier(multiclass="joint").fit(X, Y)
    with pytest.raises(MergeError, match=r"multiclass = one-vs-rest in .*, multiclass = joint in"):
        merge([OnlineClassifier().fit(X, Y), ranked])


def test_separate_learners_merge_as_binary_ones_do():
    parts = [OnlineClassifier().fit(X[part], Y[part]) for part in (slice(75), slice(75, 150))]
    merged = merge(parts)
    for k in range(Y.shape[1]):
        alone = merge([OnlineClassifier().fit(X[part], Y[part, k]) for part in (slice(75), slice(75, 150))])
        np.testing.assert_allclose(merged.coef_[k], alone.coef_[0], rtol=1e-9)
        np.testing.assert_allclose(merged.variance_[k], alone.variance_[0], rtol=1e-9)
        np.testing.assert_allclose(merged.predict_proba(X)[:, k], alone.predict_proba(X)[:, 1], rtol=1e-9)


@pytest.mark.parametrize("multiclass", [None, "joint"])
def test_streams_of_dicts_learn_the_same(multiclass):
    river, array = OnlineMultiLabelClassifier(multiclass=multiclass), OnlineClassifier(multiclass=multiclass, view=None)
    array.partial_fit(X[:100], Y[:100])
    for x, y in zip(X[:100].tolist(), Y[:100].tolist(), strict=True):
        river.learn_one(dict(enumerate(x)), dict(enumerate(map(bool, y))))
    probability, predicted = array.predict_proba(X[100:]), array.predict(X[100:])
    for i, x in enumerate(X[100:].tolist()):
        found = river.predict_proba_one(dict(enumerate(x)))
        np.testing.assert_allclose([found[k][True] for k in range(4)], probability[i], rtol=1e-9)
        assert river.predict_one(dict(enumerate(x))) == dict(enumerate(predicted[i] == 1))
