"""Labels that come late: sets and abstentions learn from what was predicted when the rows came."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from confidently import AutoClassifier, OnlineClassifier, load
from confidently.tasks import conformal
from confidently.tasks.conformal import rows_seen

KINDS = [OnlineClassifier, AutoClassifier]
CHUNK = 50


def turning(n, turn):
    """A line through the origin that turns by so many radians per row; a tenth of the labels is wrong."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, 2))
    angle = turn * np.arange(n)
    y = (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0) ^ (generator.random(n) < 0.1)
    return X, y.astype(int)


def followed(model, X, y, delay, given):
    """Return the sets of rows, with a model that learns each row so many rows later."""
    n = len(y)
    model.partial_fit(X[:CHUNK], y[:CHUNK], classes=[0, 1])
    p, sets = np.zeros((n, 2)), np.ones((n, 2), bool)
    for t in range(CHUNK, n, CHUNK):
        if t >= delay + CHUNK:
            due = slice(t - delay, t - delay + CHUNK)
            model.partial_fit(X[due], y[due], predicted=p[due] if given else None)
        now = slice(t, t + CHUNK)
        p[now], sets[now] = model.predict_proba(X[now]), model.predict_set(X[now], 0.9)
    return sets


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")  # of sets that have every class at first
@pytest.mark.parametrize(
    "kind",
    [
        lambda: OnlineClassifier(forget=0.003),
        pytest.param(AutoClassifier, marks=pytest.mark.long("hundreds of calls of a stack")),
    ],
)
def test_sets_cover_as_asked_for_though_labels_are_late(kind):
    X, y = turning(9000, 0.0004)
    late = slice(4000, None)
    covered = [followed(kind(), X, y, 1000, given)[np.arange(len(y)), y][late].mean() for given in (False, True)]
    assert covered[0] < 0.84
    assert abs(covered[1] - 0.9) < 0.02


def test_predictions_of_the_moment_teach_the_scores_that_training_would():
    X, y = turning(600, 0.0)
    models = [OnlineClassifier().partial_fit(X[:300], y[:300], classes=[0, 1]) for _ in range(2)]
    for row in range(300, 600):
        x, label = X[row : row + 1], y[row : row + 1]
        models[0].partial_fit(x, label)
        models[1].partial_fit(x, label, predicted=models[1].predict_proba(x))
    one, late = (model.learner_.conformal for model in models)
    p = np.array([[0.2, 0.8], [0.5, 0.5]])
    for by_class in (False, True):
        np.testing.assert_allclose(late.p_values(p, by_class), one.p_values(p, by_class), rtol=1e-6)
    assert late.least_probability(0.2) == one.least_probability(0.2)
    levels = [model.learner_.state["conformal"][: conformal.LEVELS] for model in models]
    np.testing.assert_array_equal(levels[1], conformal.untrained_levels())  # misses of long ago are forgotten
    assert (levels[0] != levels[1]).any()
    for name, array in models[0].learner_.state.items():
        if name != "conformal":
            np.testing.assert_array_equal(array, models[1].learner_.state[name])


@pytest.mark.long("stacks of digits")
@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_those_of_the_classes_before(kind, tmp_path):
    """Classes in another order than the sorted one, one of them new, rows of weight 0, and a file."""
    X, y = load_digits(n_class=3, return_X_y=True)
    names = np.array(["c", "a", "b"])[y]
    model = kind().partial_fit(X[:90][y[:90] < 2], names[:90][y[:90] < 2], classes=["c", "a"])
    X, names = X[90:], names[90:]
    p = model.predict_proba(X)
    before = model.learner_.state["conformal"].copy()
    weight = np.ones(len(names))
    weight[names == "c"] = 0.0
    model.partial_fit(X, names, classes=["b"], sample_weight=weight, predicted=p)
    assert model.classes_.tolist() == ["a", "b", "c"]
    by_number = model.as_model().classes
    known = {"a": p[:, 0], "b": np.zeros(len(p)), "c": p[:, 1]}
    labels = np.array([by_number.index(name) for name in names], np.int32)
    predicted = np.column_stack([known[name] for name in by_number])
    expected = conformal.learned_late(conformal.grown(before, 3), predicted, labels, None, weight)
    np.testing.assert_array_equal(model.learner_.state["conformal"], conformal.settled(expected))
    model.save(tmp_path / "m.cw")
    np.testing.assert_array_equal(load(tmp_path / "m.cw").predict_set(X, 0.8), model.predict_set(X, 0.8))


def test_rows_of_a_class_without_weight_teach_nothing():
    X, y = turning(400, 0.0)
    model = OnlineClassifier(class_weight={0: 0.0}).partial_fit(X[:200], y[:200], classes=[0, 1])
    seen = rows_seen(model.learner_.state["conformal"])
    model.partial_fit(X[200:], y[200:], predicted=model.predict_proba(X[200:]))
    assert rows_seen(model.learner_.state["conformal"]) == seen + y[200:].sum()


def test_levels_rest_until_labels_are_in_time_again():
    X, y = turning(1000, 0.0)
    model = OnlineClassifier().partial_fit(X[:400], y[:400], classes=[0, 1])
    followed = model.learner_.conformal.errors(0.9, by_class=True)
    assert (abs(followed - 0.1) > 1e-6).all()
    model.partial_fit(X[400:], y[400:], predicted=model.predict_proba(X[400:]))
    assert model.learner_.conformal.errors(0.9, by_class=True) == pytest.approx(0.1)
    model.partial_fit(X[:1], y[:1])
    assert model.learner_.conformal.errors(0.9, by_class=True) == pytest.approx(followed, abs=0.04)


def test_impossible_predictions_change_nothing():
    X, y = turning(100, 0.0)
    p = np.full((100, 2), 0.5)
    model = OnlineClassifier().partial_fit(X, y, classes=[0, 1])
    before = {name: array.copy() for name, array in model.learner_.state.items()}
    for predicted, match in (
        (p[:99], r"shape \(100, 2\), got shape \(99, 2\)"),
        (np.full((100, 3), 0.3), "classes that were added since"),
        (p * 3.0, "probabilities, from 0 to 1"),
        (p * np.nan, "probabilities, from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=match):
            model.partial_fit(X, y, predicted=predicted)
    for name, array in before.items():
        np.testing.assert_array_equal(model.learner_.state[name], array)
