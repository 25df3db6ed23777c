"""Sets of classes and withheld answers of topic models: what was learned of documents before their labels were used."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, vstack

from confidently import OnlineMedLDA, load
from confidently.data.warning import DataWarning
from confidently.tasks.conformal import CONFORMAL, learned_late, untrained
from confidently.topics.calibration import scored_documents
from tests.data_sets import word_counts
from tests.topics.test_topic_calibration import TARGETS, noisy
from tests.topics.test_topics import corpus

X, Y = corpus(6000, seed=4)
NOISY = {"binary": noisy(np.where(Y > 0, "b", "a")), "classes": noisy(np.array(["x", "y", "z"])[Y])}
CLEAR = np.array(["x", "y", "z"])[Y]
NOISY["labels"] = np.column_stack([noisy(k == Y, seed=k) for k in range(3)]).astype(int)


@pytest.mark.parametrize("classifier", ["gibbs", "averaging"])
@pytest.mark.parametrize("task", TARGETS)
def test_probabilities_are_those_of_a_model_that_has_not_learned_the_batch(task, classifier):
    y = NOISY[task]
    classes = None if task == "labels" else np.unique(y)
    settings = {"n_topics": 4, "classifier": classifier, "random_state": 1, "epsilon": 40.0, "batch_size": 32}
    whole = OnlineMedLDA(**settings).partial_fit(X[:600], y[:600], classes=classes)
    model, learned, expected = OnlineMedLDA(**settings), 0, untrained(2 if task == "binary" else 3)
    for first in (128, 256, 384, 512):
        model.partial_fit(X[learned:first], y[learned:first], classes=classes)
        p, scored, learned = model.predict_proba(X[first : first + 32]), y[first : first + 32], first
        labels, start = scored.nonzero()[1] if task == "labels" else np.searchsorted(classes, scored), None
        if task == "labels":
            start = np.append(0, scored.sum(axis=1).cumsum())
        expected = learned_late(expected, p, labels.astype(np.int32), start, None)
    np.testing.assert_array_equal(whole.learner_.state[CONFORMAL], expected)


def test_large_batches_are_learned_in_the_same_groups():
    """In one batch of all documents, more of them are scored than are kept, by a model that knows nothing."""
    model = OnlineMedLDA(2, random_state=0, batch_size=len(Y)).partial_fit(X, NOISY["binary"], classes=["a", "b"])
    assert model.learner_.state["looked"][0] == 544
    labels = (NOISY["binary"][scored_documents(0, len(Y))] == "b").astype(np.int32)
    expected = learned_late(untrained(2), np.full((544, 2), 0.5), labels, None, None)
    np.testing.assert_array_equal(model.learner_.state[CONFORMAL], expected)


@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("cut", [140, 150])
def test_training_resumes_exactly(task, cut, tmp_path):
    y = NOISY[task][:300]
    classes = None if task == "labels" else np.unique(y)
    settings = {"n_topics": 3, "batch_size": 5, "random_state": 0, "epsilon": 40.0}
    whole = OnlineMedLDA(**settings).partial_fit(X[:300], y, classes=classes)
    OnlineMedLDA(**settings).partial_fit(X[:cut], y[:cut], classes=classes).save(tmp_path / "half.cw")
    rest = load(tmp_path / "half.cw").partial_fit(X[cut:300], y[cut:])
    np.testing.assert_array_equal(rest.learner_.state[CONFORMAL], whole.learner_.state[CONFORMAL])
    whole.save(tmp_path / "whole.cw")
    new = X[5000:]
    np.testing.assert_array_equal(load(tmp_path / "whole.cw").predict_set(new, 0.8), whole.predict_set(new, 0.8))


@pytest.mark.few(1)
@pytest.mark.parametrize("coverage", [0.8, 0.9])
@pytest.mark.parametrize("task", TARGETS)
def test_sets_have_the_true_class_as_often_as_asked_for(task, coverage):
    """A quarter of the labels is at random, so that the best class alone does not cover so many."""
    y, new = NOISY[task], slice(4000, None)
    model = OnlineMedLDA(6, random_state=0).fit(X[:4000], y[:4000])
    found = model.predict_set(X[new], coverage)
    true = y[new] == 1 if task == "labels" else y[new][:, None] == model.classes_
    covered = [found[true[:, k], k].mean() for k in range(true.shape[1])]
    assert all(coverage - 0.07 < part < coverage + 0.1 for part in covered)
    assert found.sum(axis=1).mean() < (0.85 if coverage == 0.9 else 0.75) * found.shape[1]
    together = model.predict_set(X[new], coverage, by_class=False)
    assert abs(together[true].mean() - coverage) < 0.06 and (together != found).any()


@pytest.mark.long("real text")
def test_sets_of_newsgroups():
    """Atheism against religion, split at random, where a tenth is misclassified."""
    X, y, X_more, y_more = word_counts("newsgroups", ("alt.atheism", "talk.religion.misc"))
    X, y = vstack([X, X_more]).tocsr(), np.append(y, y_more)
    covered, sizes = [], []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        train, new = order[:1000], order[1000:]
        model = OnlineMedLDA(10, random_state=seed).fit(X[train], y[train])
        found = model.predict_set(X[new])
        covered.append(found[y[new][:, None] == model.classes_].mean())
        sizes.append(found.sum(axis=1).mean())
    assert 0.87 < np.mean(covered) < 0.97 and np.mean(sizes) < 1.3


def test_answers_are_withheld_so_that_few_are_wrong():
    """A third of the documents has words of any class."""
    words = np.random.default_rng(0).multinomial(40, np.full(30, 1 / 30), size=len(Y))
    mixed = csr_matrix(np.where(np.arange(len(Y))[:, None] % 3, X.toarray(), words))
    model = OnlineMedLDA(6, random_state=0).fit(mixed[:4000], CLEAR[:4000])
    wrong = model.predict(mixed[4000:]) != CLEAR[4000:]
    assert wrong.mean() > 0.2
    for risk in (0.1, 0.15):
        given = ~model.abstain(mixed[4000:], risk)
        assert given.mean() > 0.5 and wrong[given].mean() <= risk


def test_few_documents_leave_every_class():
    model = OnlineMedLDA(3, random_state=0).fit(X[:200], NOISY["classes"][:200])
    with pytest.warns(DataWarning, match=r"predict_set: sets have every class: coverage 0\.99 needs 99 rows"):
        assert model.predict_set(X[:5], 0.99).all()
    with pytest.warns(DataWarning, match="abstain: every document is left unanswered"):
        assert model.abstain(X[:5]).all()


def test_nothing_is_promised_without_calibration_or_of_label_sets():
    model = OnlineMedLDA(3, calibration=None, random_state=0).fit(X[:200], NOISY["classes"][:200])
    for method in ("predict_set", "abstain"):
        with pytest.raises(ValueError, match=f"{method}: calibration=None has calibrated nothing"):
            getattr(model, method)(X)
    labels = OnlineMedLDA(3, random_state=0).fit(X[:200], NOISY["labels"][:200])
    with pytest.raises(ValueError, match="abstain: rows have several labels"):
        labels.abstain(X)
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\)"):
        labels.predict_set(X, 1.0)
    with pytest.raises(ValueError, match=r"risk must be in \(0, 1\)"):
        model.abstain(X, 0.0)
    with pytest.raises(AttributeError, match="not fitted"):
        _ = OnlineMedLDA().alarms_


def test_alarms_count_what_was_not_in_random_order():
    y = CLEAR
    still = OnlineMedLDA(4, random_state=0).partial_fit(X, y, classes=["x", "y", "z"])
    assert still.alarms_ == 0 and still.rows_since_alarm_ == still.learner_.state["looked"][0] == 544
    other = np.where(np.arange(len(y)) < 3000, y, np.roll(["x", "y", "z"], 1)[Y])
    moved = OnlineMedLDA(4, random_state=0).partial_fit(X, other, classes=["x", "y", "z"])
    assert moved.alarms_ > 0 and moved.rows_since_alarm_ < 200


def test_files_without_scores_begin_with_none(tmp_path):
    model = OnlineMedLDA(3, random_state=0).fit(X[:100], NOISY["classes"][:100])
    model.save(tmp_path / "few.cw")
    np.testing.assert_array_equal(load(tmp_path / "few.cw").learner_.state[CONFORMAL], untrained(3))
