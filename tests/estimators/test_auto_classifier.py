"""AutoClassifier: the choice of members, exact continuation, streams, refusals."""

from __future__ import annotations

import warnings
from importlib import import_module

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import entropy
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_circles
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from confidently import AROW, AutoClassifier, Logistic, OnlineClassifier, active
from confidently.data import DataWarning, open_stream
from confidently.data.memory.matrix import as_matrix
from confidently.tasks.calibration import correction

GIVEN = [OnlineClassifier(AROW(r=0.5), view="standard"), OnlineClassifier("logistic", view="standard,pairs")]


def words(n_classes=2, rows=300, seed=0):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_classes, rows)
    texts = [" ".join(f"w{generator.integers(0, 400) * 2 + (k if t < 8 else 0)}" for t in range(60)) for k in y]
    return HashingVectorizer(n_features=2**12, alternate_sign=False, norm=None).transform(texts), y


def data(name):
    if name.startswith("words"):
        return words(3 if name.endswith("3") else 2)
    X, y = {"cancer": load_breast_cancer, "digits": load_digits, "iris": load_iris}[name](return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:400]
    return X[order], y[order]


def test_training_a_member_does_not_change_the_stack():
    X, y = data("cancer")
    model = AutoClassifier().fit(X, y)
    before = model.predict_proba(X)
    for member in model.members_.values():
        member.partial_fit(X[::-1], y[::-1])
    assert (model.predict_proba(X) == before).all()


def narrow(name):
    """Return a narrow table sorted by class, whose classes a learner of rows of unit norm cannot tell apart, or cannot
    learn in this order."""
    generator = np.random.default_rng(0)
    if name == "iris":
        return load_iris(return_X_y=True)
    if name == "rings":
        X, y = make_circles(1000, noise=0.1, factor=0.5, random_state=0)
    elif name == "threshold":
        X = generator.normal(size=(2000, 5))
        y = (X[:, 0] > 1.2).astype(int)
    else:
        y = generator.integers(0, 2, 2000)
        X = generator.normal(size=(2000, 20)) * np.where(y, 1.5, 1.0)[:, None]
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def error_of_folds(model, X, y):
    return 1 - float(np.mean(cross_val_score(model, X, y, cv=5)))


@pytest.mark.long("validations by folds")
@pytest.mark.parametrize(("name", "limit"), [("rings", 0.02), ("threshold", 0.02), ("variance", 0.35)])
def test_the_length_of_a_row_of_a_narrow_table_counts(name, limit):
    X, y = narrow(name)
    assert error_of_folds(AutoClassifier(), X, y) < limit
    members = [
        OnlineClassifier(rule, view=view) for rule in ("arow", "logistic") for view in ("standard", "standard,pairs")
    ]
    assert error_of_folds(AutoClassifier(members), X, y) > limit + 0.03  # of rows of unit norm


@pytest.mark.long("validations by folds")
@pytest.mark.parametrize("name", ["iris", "threshold"])
def test_sorted_rows_of_an_array_are_learned_as_well_as_by_a_batch_learner(name):
    X, y = narrow(name)
    batch = error_of_folds(make_pipeline(StandardScaler(), LogisticRegression()), X, y)
    assert error_of_folds(AutoClassifier(), X, y) < batch + 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of sorted rows
        assert error_of_folds(AutoClassifier(shuffle=False, passes=1), X, y) > batch + 0.05


def many_intents(n_classes=100, per_class=20):
    """Return short texts of many classes, each of which has a few words of its own."""
    generator = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), per_class)
    own = generator.integers(300, 3000, (n_classes, 12))
    common, mine = generator.integers(0, 300, (len(y), 5)), generator.integers(0, 12, (len(y), 4))
    texts = [
        " ".join(f"w{j}" for j in (*words, *own[k, chosen])) for k, words, chosen in zip(y, common, mine, strict=True)
    ]
    return texts, y


@pytest.mark.long("stacks of thousands of texts")
def test_a_stack_of_many_classes_is_no_larger_than_five_of_its_members(tmp_path):
    texts, y = many_intents()
    X = CountVectorizer(binary=True, dtype=float).fit_transform(texts)
    model, alone = AutoClassifier().fit(X, y), OnlineClassifier(view="unit").fit(X, y)
    assert list(model.members_) == ["arow on unit", "naive Bayes", "arow on idf"]
    sizes = []
    for k, one in enumerate((model, alone)):
        one.save(tmp_path / f"{k}.cw")
        sizes.append((tmp_path / f"{k}.cw").stat().st_size)
    assert sizes[0] < 5 * sizes[1]
    assert model.score(X, y) > 0.9
    few = y < 64
    assert "logistic on unit,pairs" in AutoClassifier().fit(X[few], y[few]).members_


@pytest.mark.parametrize("per_batch", [500, 2**20])
def test_the_classes_of_the_first_rows_of_a_stream_choose_its_members(tmp_path, per_batch):
    texts, y = many_intents(80)
    order = np.random.default_rng(0).permutation(len(y))
    path = tmp_path / "intents.txt"
    path.write_text("".join(f"c{y[k]}\t{texts[k]}\n" for k in order))
    model = AutoClassifier().fit_stream(open_stream(str(path), chunk_bytes=per_batch))
    assert list(model.members_) == ["arow on unit", "naive Bayes", "arow on idf"]


def test_indicators_are_no_table_and_their_products_count():
    generator = np.random.default_rng(0)
    X = (generator.random((2000, 12)) < 0.5).astype(float)
    y = (X[:, 0] != X[:, 1]).astype(int)  # exclusive or
    models = [model.fit(X[:1500], y[:1500]) for model in (AutoClassifier(), OnlineClassifier())]
    assert "logistic on unit,pairs" in models[0].members_
    right, chance = (model.score(X[1500:], y[1500:]) for model in models)
    assert right > 0.95
    assert chance < 0.6


def test_a_column_of_large_numbers_does_not_drown_the_others():
    X, y = data("cancer")
    scaled = X.copy()
    scaled[:, 3] = 1e6 * scaled[:, 3] + 1e6
    models = AutoClassifier().fit(X[:300], y[:300]), AutoClassifier().fit(scaled[:300], y[:300])
    assert (models[0].predict(X) == models[1].predict(scaled)).all()


def test_classes_that_come_later():
    X, y = data("iris")
    first = y < 2
    model = AutoClassifier().partial_fit(X[first], y[first], classes=[0, 1])
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.bincount(model.predict(X)).min() > 20


def test_an_interrupted_call_leaves_the_classifier_unchanged(tmp_path, monkeypatch):
    """Although members still train, in threads, when the interruption comes."""
    X, y = words(rows=3000)
    model = AutoClassifier().fit(X[:300], y[:300])
    model.save(tmp_path / "before")
    threads = import_module("confidently.stack.threads")
    monkeypatch.setattr(threads, "processors", lambda: 4)

    def interrupted(futures):
        raise KeyboardInterrupt

    monkeypatch.setattr(threads, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    model.save(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()


def test_members_continue_by_themselves():
    X, y = data("cancer")
    model = AutoClassifier(GIVEN, passes=1, shuffle=False).fit(X[:200], y[:200])
    alone = clone(GIVEN[0]).fit(X[:200], y[:200])
    member = model.members_["1. arow on standard"]
    assert (member.decision_function(X) == alone.decision_function(X)).all()
    assert not correction(member.learner_.state["calibration"], several=False)[1].any()
    member.partial_fit(X[200:], y[200:])
    alone.partial_fit(X[200:], y[200:])
    assert (member.decision_function(X) == alone.decision_function(X)).all()
    assert correction(member.learner_.state["calibration"], several=False)[1].any()
    assert member.get_params()["rule__r"] == 0.5
    assert isinstance(model.members_["2. logistic on standard,pairs"].rule, Logistic)


@pytest.mark.parametrize("name", ["words", "words of 3"])
def test_members_disagree_by_the_divergence_of_their_probabilities(name):
    X, y = data(name)
    model = AutoClassifier().fit(X[:200], y[:200])
    logits = model.learner_.logits(as_matrix(X))
    p = [np.column_stack([1 - expit(one[:, 0]), expit(one[:, 0])]) if one.shape[1] == 1 else softmax(one, axis=1)
         for one in logits]  # fmt: skip
    expected = entropy(np.mean(p, axis=0), axis=1) - np.mean([entropy(one, axis=1) for one in p], axis=0)
    assert active.certainty(model, X, "disagreement") == pytest.approx(1 / expected)
    chosen = active.query(model, X, 10, "disagreement", random_state=0)
    assert expected[chosen].min() >= np.sort(expected)[-10] - 1e-12
    mixed = active.query(model, X, 10, "disagreement", random_state=0, explore=0.25)
    assert (mixed[:8] == chosen[:8]).all()
    assert len(set(mixed)) == 10
    with pytest.raises(ValueError, match="expected one of 'confidence', 'margin', 'disagreement'"):
        active.certainty(model, X, "expected_change")
    with pytest.raises(ValueError, match="strategy: expected one of"):
        active.certainty(OnlineClassifier().fit(X, y), X, "disagreement")
    with pytest.raises(ValueError, match="explore"):
        active.query(model, X, 10, explore=1.5)


@pytest.mark.long("six stacks")
def test_small_narrow_arrays_are_seen_twice():
    X, y = data("cancer")
    few, given = AutoClassifier().fit(X, y), AutoClassifier(passes=2).fit(X, y)
    assert few.n_seen_ == 2 * len(y)
    assert (few.predict_proba(X) == given.predict_proba(X)).all()
    assert few.get_params()["passes"] == "auto"
    many, wide = np.tile(X, (8, 1)), np.tile(X, (1, 5))
    assert AutoClassifier(GIVEN).fit(many, np.tile(y, 8)).n_seen_ == len(many)
    assert AutoClassifier(GIVEN).fit(wide, y).n_seen_ == len(y)
    assert AutoClassifier(GIVEN).partial_fit(X, y, classes=[0, 1]).n_seen_ == len(y)
    for passes in ("two", 0, 1.5, True):
        with pytest.raises(ValueError, match='passes must be "auto" or an integer >= 1'):
            AutoClassifier(passes=passes).fit(X, y)
