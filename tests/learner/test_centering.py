"""The mean probability of rows in random order is the share of the class."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

from confidently import AutoClassifier, OnlineClassifier, load
from confidently.learner.centering import ROWS, center, rows_to_center


class Odds:
    """A learner that has log-odds of rows, and nothing else."""

    corrects, centered = True, 0.0

    def __init__(self, odds):
        self.odds = odds

    def probabilities(self, X):
        p = expit(self.odds)
        return np.column_stack([1 - p, p])

    def shift(self, offset):
        self.odds = self.odds + offset


def rows(n=1500, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 8))
    return X, (generator.random(n) < expit(X[:, 0] + 0.7 * X[:, 1] - 3.0)).astype(int)


@pytest.mark.long("stacks of thousands of rows, three passes")
@pytest.mark.parametrize("kind", [AutoClassifier, OnlineClassifier])
@pytest.mark.parametrize("passes", [1, 3])
def test_the_mean_probability_is_the_share(kind, passes):
    X, y = rows()
    model = kind(passes=passes, shuffle=True, random_state=0).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.02)
    for names in (["no", "yes"], ["yes", "no"]):  # classes of frames are numbered as they come
        frame = pd.DataFrame(X).add_prefix("x").assign(city="Ulm", label=np.array(names)[y])
        model = kind(passes=passes, shuffle=True).fit(frame, "label")
        p = model.predict_proba(frame.drop(columns="label"))[:, list(model.classes_).index(names[1])]
        assert p.mean() == pytest.approx(y.mean(), rel=0.02)


def test_weights_count():
    X, y = rows()
    weight = np.where(X[:, 2] > 0, 3.0, 0.5)
    model = OnlineClassifier("logistic", shuffle=True).fit(X, y, sample_weight=weight)
    p = model.predict_proba(X)[:, 1]
    assert np.average(p, weights=weight) == pytest.approx(np.average(y, weights=weight), rel=0.02)
    balanced = OnlineClassifier("logistic", shuffle=True, class_weight="balanced").fit(X, y)
    by_class = np.bincount(y)[y]
    assert np.average(balanced.predict_proba(X)[:, 1], weights=1 / by_class) == pytest.approx(0.5, rel=0.02)


def test_rows_in_order_and_probabilities_that_are_not_calibrated_stay():
    X, y = rows()
    one = OnlineClassifier("logistic", shuffle=False).fit(X, y)
    other = OnlineClassifier("logistic", shuffle=False).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    raw = OnlineClassifier("logistic", shuffle=True, calibration=None).fit(X, y)
    assert raw.learner_.state["calibration"][1] == 0.0


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_the_offset_is_that_of_a_logistic_regression(share):
    """With all rows, by a root finder; what is left is the prior of the offset."""
    generator = np.random.default_rng(1)
    odds = generator.normal(logit(share), 1.0, ROWS)
    labels = (generator.random(ROWS) < expit(odds - 0.8)).astype(int)
    found, weight = Odds(odds), np.ones(ROWS)
    center(found, None, labels, weight, labels.mean())
    exact = brentq(lambda offset: (labels - expit(odds + offset)).sum() - offset, -4, 4)
    assert (found.odds - odds)[0] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("sure", [0.0, 30.0])
def test_a_part_of_the_rows_has_the_share_of_all_where_predictions_say_little(sure):
    labels = np.arange(100) % 2
    found = Odds(sure * (2 * labels - 1.0))
    center(found, None, labels, np.ones(100), 0.1)
    expected = 0.1 if sure == 0.0 else 0.5
    assert found.probabilities(None)[:, 1].mean() == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    ("p", "expected"), [(0.4, 0.4), (0.1, 0.25 + 0.375 * 0.15), (0.01, 0.25 + 0.04125 * 0.15), (0.5, 0.4)]
)
def test_the_mean_is_between_the_share_of_these_rows_and_that_of_all(p, expected):
    """Nearer to that of all the larger p(1 - p) is, compared with .4 times .6."""
    n = 100_000
    learner, labels = Odds(np.full(n, logit(p))), (np.arange(n) % 4 == 0).astype(np.int32)
    center(learner, None, labels, np.ones(n), 0.4)
    assert expit(learner.odds).mean() == pytest.approx(expected, abs=1e-4)
    certain = Odds(np.full(n, logit(p)))
    center(certain, None, np.zeros(n, np.int32), np.ones(n), 0.0)  # where nothing is at stake
    assert expit(certain.odds).mean() < 0.01


def test_rows_are_taken_at_even_distances():
    assert list(rows_to_center(3)) == [0, 1, 2]
    found = rows_to_center(10 * ROWS)
    assert len(found) == ROWS and found[0] == 0 and found[-1] == 10 * ROWS - 1 and np.ptp(np.diff(found)) <= 1


@pytest.mark.parametrize("y", [np.zeros(40), np.r_[np.zeros(39), 1]])
def test_few_rows_of_a_class(y):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = AutoClassifier().fit(np.r_[X, X], np.r_[y, y]) if y.any() else OnlineClassifier("arow", shuffle=True)
    if y.any():
        assert 0.005 < model.predict_proba(X)[:, 1].mean() < 0.1
    else:
        with pytest.raises(ValueError, match="class"):
            model.fit(X, y)


@pytest.mark.long("a stack of 3,000 rows")
@pytest.mark.filterwarnings("ignore:predict_set")
@pytest.mark.parametrize("kind", [AutoClassifier, OnlineClassifier])
def test_sets_novelty_and_withheld_answers_are_of_scores_before_centering(kind, tmp_path):
    """Of ten rows of a class, those of the other one were in 4 % of the sets of .9 that should have had them."""
    generator = np.random.default_rng(6)
    X, y = generator.normal(size=(3000, 4)), np.zeros(3000, dtype=int)
    y[generator.choice(3000, 10, replace=False)] = 1
    X[:, 0] += 1.5 * y
    model = kind(shuffle=True, random_state=0).fit(X, y)
    model.save(tmp_path / "m.cw")
    plain, loaded = load(tmp_path / "m.cw"), load(tmp_path / "m.cw")
    offset = model.learner_.centered
    assert abs(offset) > 0.01 and loaded.learner_.centered == offset
    plain.learner_.shift(-offset)
    plain.learner_.centered = 0.0
    sets, withheld = plain.predict_set(X), plain.abstain(X, 0.05)
    for one in (model, loaded):  # a correction of single learners follows the offset
        assert np.mean(one.predict_set(X) != sets) < (0.002 if kind is OnlineClassifier else 1e-9)
        if kind is AutoClassifier:
            np.testing.assert_allclose(one.novelty(X), plain.novelty(X), rtol=1e-9)
        assert not withheld.all() and one.abstain(X, 0.05)[withheld].all()
    assert model.predict_set(X)[y == 0, 0].mean() > 0.8
    model.partial_fit(X[:1], y[:1])
    assert model.learner_.centered == 0.0
