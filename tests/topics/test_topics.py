"""The topic model as scikit-learn's users meet it: tasks, streams, files, warnings, real text."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack

from confidently import OnlineMedLDA, load
from confidently.models.file import ModelFileError
from confidently.models.model import Model
from confidently.topics.estimator import CollapseWarning
from confidently.topics.learner import check_values
from tests.data_sets import word_counts
from tests.model_files import contents_of, write_contents

CLASSIFIERS = ("gibbs", "averaging")


def corpus(n=240, classes=3, seed=0):
    """Documents of 40 words; every class prefers a third of the vocabulary."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    p = np.full((classes, 30), 0.3)
    for k in range(classes):
        p[k, 10 * k : 10 * k + 10] = 1.0
    X = np.array([rng.multinomial(40, p[k] / p[k].sum()) for k in y])
    return csr_matrix(X), y


X, Y = corpus()


def targets(y):
    return {
        "binary": np.where(y > 0, "b", "a"),
        "classes": np.array(["x", "y", "z"])[y],
        "labels": np.column_stack([y == 0, y < 2, y == 2]).astype(int),
    }


TARGETS = targets(Y)


@pytest.mark.long("600 documents of each task")
@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize("task", TARGETS)
@pytest.mark.parametrize("n_topics", [6, None])
def test_learns_every_task(classifier, task, n_topics):
    (X_train, y_train), y = corpus(600, seed=1), TARGETS[task]
    few = {"step_size": 10.0}  # 600 documents are few for averaging to begin with
    model = OnlineMedLDA(n_topics, classifier, max_topics=8, random_state=0, **few)
    model.fit(X_train, targets(y_train)[task])
    assert model.score(X, y) > 0.8
    proportions = model.transform(X)
    K = n_topics or 8
    assert proportions.shape == (240, K * (3 if task == "classes" else 1)) == (240, model.n_topics_)
    np.testing.assert_allclose(proportions.reshape(240, -1, K).sum(axis=2), 1)
    scores = model.decision_function(X).reshape(240, -1)
    blocks = np.broadcast_to(proportions.reshape(240, -1, K), (240, len(model.coef_), K))
    np.testing.assert_allclose(scores, np.einsum("dlk,lk->dl", blocks, model.coef_), atol=1e-9)
    mean, variance = model.margin_distribution(X)
    np.testing.assert_array_equal(mean.reshape(240, -1), scores)
    assert (variance > 0).all() and model.variance_.shape == model.coef_.shape
    assert model.components_.shape == (model.n_topics_, 30)
    assert len(model.get_feature_names_out()) == model.n_topics_


def test_predictions_depend_on_nothing_but_the_document():
    model = OnlineMedLDA(6, random_state=0).fit(X, TARGETS["classes"])
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.decision_function(X[100:101]), scores[100:101])
    np.testing.assert_array_equal(model.decision_function(X[::-1]), scores[::-1])
    np.testing.assert_array_equal(model.decision_function(X.toarray()), scores)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).decision_function(X), scores)


def test_passes():
    """Each pass counts every document once more, is reported, and only the first calibrates."""
    y, reported = TARGETS["binary"], []
    once, thrice = (OnlineMedLDA(4, passes=n, random_state=0).fit(X, y, progress=reported.append) for n in (1, 3))
    assert (once.n_seen_, thrice.n_seen_) == (240, 720) and reported[-1] == 720
    words = X.sum() * once.learner_.settings.step_size
    assert thrice.components_.sum() - once.components_.sum() == pytest.approx(2 * words)
    np.testing.assert_array_equal(thrice.learner_.state["looked.scores"], once.learner_.state["looked.scores"])
    with pytest.raises(ValueError, match="passes"):
        OnlineMedLDA(4, passes=0).fit(X, y)


def test_top_words():
    model = OnlineMedLDA(3, random_state=0).fit(X, TARGETS["binary"])
    words = [f"w{j}" for j in range(30)]
    top = model.top_words(words, 4)
    assert [len(row) for row in top] == [4, 4, 4]
    assert top[1] == [words[j] for j in np.argsort(-model.components_[1])[:4]]
    assert model.top_words(n=1)[0][0] == top[0][0].replace("w", "x")
    p = model.components_ / model.components_.sum(axis=1, keepdims=True)
    lift = p / (model.components_.sum(axis=0) / model.components_.sum())
    for weight in (0.0, 0.6):
        score = weight * np.log(p) + (1 - weight) * np.log(lift)
        assert model.top_words(words, 4, weight) == [[words[j] for j in row[:4]] for row in np.argsort(-score, axis=1)]
    with pytest.raises(ValueError, match=r"relevance must be in \[0, 1\], got 2"):
        model.top_words(words, 4, relevance=2)
    with pytest.raises(ValueError, match="feature_names: expected 30 names, one per word, got 2"):
        model.top_words(["a", "b"])


def test_stream_with_new_words():
    """Words that appear later are learned and do not change what was learned before."""
    y = TARGETS["binary"]
    model = OnlineMedLDA(5, random_state=0, epsilon=40.0).partial_fit(X[:120, :20], y[:120], classes=["a", "b"])
    before = model.components_
    assert model.n_features_in_ == 20
    model.partial_fit(X[120:], y[120:])
    assert model.n_features_in_ == 30 and model.components_.shape == (5, 30)
    assert (model.components_[:, :20] >= before).all()
    assert model.components_[:, 20:].sum() > X[120:, 20:].sum()
    assert model.score(X, y) > 0.8
    for answer in (model.predict, lambda rows: model.partial_fit(rows, y)):
        with pytest.raises(ValueError, match="X has 20 features, but OnlineMedLDA is expecting 30"):
            answer(X[:, :20])


def test_named_words_must_stay_in_place():
    import pandas as pd

    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(30)])
    model = OnlineMedLDA(3, random_state=0).partial_fit(frame.iloc[:, :20], Y == 0, classes=[False, True])
    model.partial_fit(frame, Y == 0)
    assert list(model.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="the columns do not begin with the 30 known words, got 31 columns"):
        model.partial_fit(frame[frame.columns[::-1]].assign(new=1), Y == 0)


def test_unseen_words_are_skipped():
    model = OnlineMedLDA(4, random_state=0).fit(hstack([X, np.zeros((240, 2))]).tocsr(), TARGETS["binary"])
    strange = csr_matrix(([7.0], ([0], [31])), shape=(2, 32))
    assert model.decision_function(strange).tolist() == [0.0, 0.0]
    assert not model.transform(strange).any()


RESUME = textwrap.dedent(
    """
    import sys
    import numpy as np
    from scipy.sparse import load_npz
    from confidently import load
    folder = sys.argv[1]
    for task in sys.argv[2:]:
        model = load(f"{folder}/{task}.cw")
        model.partial_fit(load_npz(f"{folder}/X.npz"), np.load(f"{folder}/{task}.npy"))
        model.save(f"{folder}/{task}.resumed.cw")
    """
)


@pytest.mark.long("a new process")
def test_exact_resume_in_a_new_process(tmp_path):
    from scipy.sparse import save_npz

    save_npz(tmp_path / "X.npz", X[100:])
    models = {
        "binary": OnlineMedLDA(5, random_state=3),
        "classes": OnlineMedLDA(5, "averaging", random_state=3),
        "labels": OnlineMedLDA(None, max_topics=5, random_state=3),
    }
    for task, model in models.items():
        y = TARGETS[task]
        model.partial_fit(X[:100, :25], y[:100], classes=None if task == "labels" else np.unique(y))
        model.save(tmp_path / f"{task}.cw")
        np.save(tmp_path / f"{task}.npy", y[100:])
    subprocess.run([sys.executable, "-c", RESUME, str(tmp_path), *models], check=True)
    for task, model in models.items():
        model.partial_fit(X[100:], TARGETS[task][100:])
        model.save(tmp_path / "whole.cw")
        assert (tmp_path / "whole.cw").read_bytes() == (tmp_path / f"{task}.resumed.cw").read_bytes()
        after = load(tmp_path / f"{task}.resumed.cw")
        np.testing.assert_array_equal(after.predict(X), model.predict(X))
        assert after.get_params() == model.get_params()


def test_damaged_and_unexpected_files_are_rejected(tmp_path):
    model = OnlineMedLDA(3, random_state=0).fit(X, TARGETS["binary"])
    model.save(tmp_path / "m.cw")
    content = bytearray((tmp_path / "m.cw").read_bytes())
    content[-5] ^= 1
    (tmp_path / "bad.cw").write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "bad.cw")
    with pytest.raises(ModelFileError, match="got a topic model; use confidently topics predict"):
        Model.load(tmp_path / "m.cw")


@pytest.mark.parametrize("value", [0, 0.0, -0.0, 1])
def test_a_number_is_no_choice_of_true_and_false(tmp_path, value):
    """Though 0.0 is equal to False: the core takes none."""
    path = tmp_path / "m.cw"
    OnlineMedLDA(3, random_state=0).fit(X, TARGETS["binary"]).save(path)
    header, arrays = contents_of(path)
    header["settings"]["nonparametric"] = value
    write_contents(path, header, arrays)
    with pytest.raises(ModelFileError, match="nonparametric must be True or False, got"):
        load(path)


def test_a_collapse_is_reported():
    with pytest.warns(CollapseWarning, match=r"all 240 documents are predicted to be of one class.*step_size"):
        model = OnlineMedLDA(4, "averaging", n_inner=1, random_state=0).fit(X, TARGETS["binary"])
    with pytest.warns(CollapseWarning):
        model.predict(X)
    model.predict(X[:50])  # may be of one class by chance
    with pytest.warns(CollapseWarning):
        OnlineMedLDA(4, "averaging", n_inner=1, random_state=0).fit(X, TARGETS["labels"][:, ::2])


@pytest.mark.parametrize(("settings", "message"), [
    ({"n_topics": 0}, "n_topics must be in"), ({"n_topics": 2.5}, "n_topics must be an integer"),
    ({"classifier": "svm"}, "classifier: expected one of 'gibbs', 'averaging'"),
    ({"topic_expectation": "mode"}, "topic_expectation: expected one of"), ({"c": -1.0}, "c must be in"),
    ({"epsilon": 0.0}, "epsilon must be in"), ({"step_size": float("inf")}, "step_size must be in"),
    ({"n_topics": None, "max_topics": 0}, "max_topics must be in"),
])  # fmt: skip
def test_bad_parameters_leave_the_model_as_it_was(settings, message):
    model = OnlineMedLDA(3, random_state=0).fit(X, TARGETS["binary"])
    before = model.decision_function(X)
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**settings).fit(X, TARGETS["binary"])
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_bad_input():
    model = OnlineMedLDA(3, random_state=0).fit(X, TARGETS["classes"])
    with pytest.raises(ValueError, match="Negative values in data"):
        model.predict(-X)
    with pytest.raises(ValueError, match="use counts up to 16777216"):
        model.predict(X * 1e9)
    with pytest.raises(ValueError, match="cannot add classes"):
        model.partial_fit(X, TARGETS["classes"], classes=["new"])
    with pytest.raises(ValueError, match="n_topics, prior_variance cannot change after training began"):
        model.set_params(n_topics=4).partial_fit(X, TARGETS["classes"])


def test_a_model_that_is_not_fitted():
    with pytest.raises(AttributeError, match="the topic model is not fitted yet; call fit or partial_fit"):
        _ = OnlineMedLDA().components_


def test_labels_of_another_kind():
    model = OnlineMedLDA(3, random_state=0).partial_fit(X, TARGETS["classes"], classes=np.unique(TARGETS["classes"]))
    with pytest.raises(ValueError, match="y changed between one class per row and an indicator matrix of labels"):
        model.partial_fit(X, TARGETS["labels"])


def test_an_interrupted_call_leaves_the_model_as_it_was(monkeypatch):
    model = OnlineMedLDA(3, random_state=0).fit(X, TARGETS["binary"])
    before = {name: array.copy() for name, array in model.learner_.state.items()}
    learn = type(model.learner_)._learn

    def interrupted(*arguments):
        learn(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model.learner_), "_learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, TARGETS["binary"])
    for name, array in before.items():
        np.testing.assert_array_equal(model.learner_.state[name], array)


def test_a_precision_that_is_not_symmetric():
    model = OnlineMedLDA(3, random_state=0).fit(X, TARGETS["binary"])
    model.learner_.state["precision"][..., 0, 1] += 1.0
    with pytest.raises(ValueError, match="precision is not symmetric"):
        check_values(model.learner_.state)


def test_fractional_counts_are_rounded_up():
    y = TARGETS["binary"]
    whole = OnlineMedLDA(3, random_state=0).fit(X, y)
    parts = OnlineMedLDA(3, random_state=0).fit(X - 0.4 * (X > 0), y)
    np.testing.assert_array_equal(whole.components_, parts.components_)


@pytest.mark.parametrize("task", TARGETS)
def test_documents_of_weight_0_are_skipped(task):
    y, there = TARGETS[task], np.arange(240) % 3 > 0
    weighted = OnlineMedLDA(3, random_state=0).fit(X, y, sample_weight=there)
    absent = OnlineMedLDA(3, random_state=0).fit(X[there], y[there])
    assert (weighted.n_seen_, weighted.epsilon_) == (160, absent.epsilon_)
    np.testing.assert_array_equal(weighted.predict_proba(X), absent.predict_proba(X))
    before = weighted.components_
    weighted.partial_fit(X, y, sample_weight=np.zeros(240))
    np.testing.assert_array_equal(weighted.components_, before)


def test_weights_favor_their_classes(tmp_path):
    """A class that counts more is predicted more often, by sample_weight as by class_weight, and likelier."""
    random = np.random.default_rng(0)
    y = np.where(random.random(240) < 0.4, random.permutation(TARGETS["binary"]), TARGETS["binary"])
    weights = {"a": 9.0}
    plain = OnlineMedLDA(4, random_state=0).fit(X, y)
    by_class = OnlineMedLDA(4, random_state=0, class_weight=weights).fit(X, y)
    by_row = OnlineMedLDA(4, random_state=0).fit(X, y, sample_weight=np.where(y == "a", 9.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
    assert (by_class.predict(X) == "a").sum() > (plain.predict(X) == "a").sum()
    assert by_class.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean()
    by_class.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.class_weight == weights
    np.testing.assert_array_equal(again.partial_fit(X, y).coef_, by_class.partial_fit(X, y).coef_)
    balanced = OnlineMedLDA(4, random_state=0, class_weight="balanced").fit(X, y)
    share = (y == "a").mean()
    same = OnlineMedLDA(4, random_state=0).fit(X, y, sample_weight=np.where(y == "a", 0.5 / share, 0.5 / (1 - share)))
    np.testing.assert_allclose(balanced.coef_, same.coef_, rtol=1e-9)


@pytest.mark.parametrize(("weight", "message"), [
    (-np.ones(240), "sample_weight must be finite and >= 0, got -1.0 in row 0"),
    (np.full(240, np.nan), "sample_weight must be finite and >= 0, got nan"),
    (np.ones(3), r"one number per row, shape \(240,\), got shape \(3,\)"),
    (np.zeros(240), "at least one non-zero number"),
])  # fmt: skip
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        OnlineMedLDA(3).fit(X, TARGETS["binary"], sample_weight=weight)


@pytest.mark.parametrize(("class_weight", "task", "message"), [
    ({"a": -1.0}, "binary", "class weights must be finite and >= 0"),
    ({"c": 1.0}, "binary", "class_weight has unknown classes"), ("some", "binary", "class_weight: expected one of"),
    ({0: 2.0}, "labels", "not for multilabel data"),
])  # fmt: skip
def test_bad_class_weights(class_weight, task, message):
    with pytest.raises(ValueError, match=message):
        OnlineMedLDA(3, class_weight=class_weight).fit(X, TARGETS[task])
    with pytest.raises(ValueError, match="needs all labels at once"):
        OnlineMedLDA(3, class_weight="balanced").partial_fit(X, TARGETS["binary"], classes=["a", "b"])


def test_progress_is_reported():
    reported = []
    OnlineMedLDA(3, random_state=0, batch_size=7).fit(
        csr_matrix(np.tile(X.toarray(), (5, 1))), np.tile(Y, 5), progress=reported.append
    )
    assert reported[-1] == 1200 and reported == sorted(reported) and len(reported) > 1


@pytest.mark.long("trains on newsgroups")
@pytest.mark.few(1)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
@pytest.mark.parametrize(("n_topics", "seeds", "least"), [
    (5, 3, 0.82), (20, 3, 0.82),
    *(pytest.param(n, 2, 0.81, marks=pytest.mark.long("many topics")) for n in (50, 100)),
])  # fmt: skip
def test_atheism_against_religion(classifier, n_topics, seeds, least):
    """Split by date, without stop words: mean accuracy over seeds with the defaults."""
    X, y, X_test, y_test = word_counts("newsgroups", ("alt.atheism", "talk.religion.misc"))
    found = [OnlineMedLDA(n_topics, classifier, random_state=s).fit(X, y).score(X_test, y_test) for s in range(seeds)]
    assert np.mean(found) >= least
