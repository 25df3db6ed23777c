"""Sets of classes: the levels, scores and martingale of the core against a slow twin, and what is promised."""

import math

import numpy as np
import pytest

from confidently import AutoClassifier, OnlineClassifier, _core
from confidently.tasks import conformal
from confidently.tasks.conformal import ERRORS, ConformalSets, untrained
from tests.twins.conformal import Followed, Scores, Sets


def learned(scores, labels, classes=3):
    state = untrained(classes)
    _core.conformal_learn(state, classes, scores, labels)
    return state


def stream(n, seed=0, classes=3):
    generator = np.random.default_rng(seed)
    return generator.normal(2.0, 3.0, n), generator.choice(classes, n, p=[0.6, 0.3, 0.1]).astype(np.int32)


@pytest.mark.parametrize("n", [0, 1, 7, 31, 32, 33, 700])
def test_what_is_learned_is_that_of_the_twin(n):
    scores, labels = stream(n)
    scores[n // 2 :] -= 9.0  # which alarms
    state, twin = learned(scores, labels), Sets(3)
    for score, k in zip(scores, labels, strict=True):
        twin.learn(float(score), int(k))
    found = ConformalSets(state)
    assert found.alarms == twin.martingale.alarms and (twin.martingale.alarms > 0) == (n == 700)
    for probability in (1e-4, 0.1, 0.6, 0.99):
        p = np.full((1, 3), probability)
        score = math.log(probability / (1.0 - probability))
        for by_class in (False, True):
            expected = [twin.p_values(score, k)[by_class] for k in range(3)]
            np.testing.assert_allclose(found.p_values(p, by_class)[0], expected, rtol=1e-9)
    for by_class, levels in ((False, twin.levels), (True, twin.own_levels)):
        expected = np.maximum.accumulate((ERRORS + levels.said())[::-1])[::-1]
        np.testing.assert_allclose([found.error(1.0 - e, by_class) for e in ERRORS], expected, rtol=1e-9)
        settled = ConformalSets(conformal.settled(state))
        np.testing.assert_allclose([settled.error(1.0 - e, by_class) for e in ERRORS], ERRORS)


@pytest.mark.parametrize("of_labels", [False, True])
def test_late_labels_teach_scores_and_answers_and_leave_levels(of_labels):
    generator, n = np.random.default_rng(6), 400
    p, labels = generator.dirichlet(np.ones(3), n), generator.integers(0, 3, n).astype(np.int32)
    weight, start = (np.arange(n) % 5 > 0).astype(float), np.arange(n + 1) if of_labels else None
    before = learned(*stream(200))
    state = conformal.learned_late(before, p, labels, start, weight)
    twin, used = Sets(3), np.flatnonzero(weight)
    for score, k in zip(*stream(200), strict=True):
        twin.learn(float(score), int(k))
    levels = twin.levels, twin.own_levels
    twin.levels, twin.own_levels = Followed(), Followed()  # which nothing reads
    for score, k in zip(np.log(p / (1 - p))[used, labels[used]], labels[used], strict=True):
        twin.learn(float(score), int(k))
    found = ConformalSets(state)
    for by_class in (False, True):
        expected = [twin.p_values(math.log(0.6 / 0.4), k)[by_class] for k in range(3)]
        np.testing.assert_allclose(found.p_values(np.full((1, 3), 0.6), by_class)[0], expected, rtol=1e-9)
        expected = np.maximum.accumulate((ERRORS + levels[by_class].said())[::-1])[::-1]
        np.testing.assert_allclose([found.error(1.0 - e, by_class) for e in ERRORS], expected, rtol=1e-9)
    answers, mistakes = (state[at + 1] / state[at] for at in (conformal.ANSWERS, conformal.MISTAKES))
    wrong = (p.argmax(axis=1) != labels)[used]
    counted = 1.0001 ** (np.arange(len(used)) - len(used))
    expected = [0.0, 0.0] if of_labels else [counted.sum(), counted[wrong].sum()]
    np.testing.assert_allclose([answers, mistakes], expected, rtol=1e-9)


def test_cuts_change_nothing():
    scores, labels = stream(500)
    state = untrained(3)
    for first in range(0, 500, 73):
        _core.conformal_learn(state, 3, scores[first : first + 73], labels[first : first + 73])
    np.testing.assert_array_equal(state, learned(scores, labels))


def covered(found, p, labels, coverage, by_class):
    return found.sets(p, coverage, by_class)[np.arange(len(labels)), labels]


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95, 0.99])
def test_rows_of_each_class_are_covered(coverage):
    """Half of the rows calibrate, and a rare and difficult class is covered as often as others."""
    generator = np.random.default_rng(1)
    labels = generator.choice(3, 30_000, p=[0.6, 0.3, 0.1]).astype(np.int32)
    logits = generator.normal(size=(30_000, 3))
    logits[np.arange(30_000), labels] += np.array([3.0, 1.5, 0.5])[labels]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    true = p[np.arange(30_000), labels]
    half = 15_000
    found = ConformalSets(conformal.settled(learned(np.log(true / (1.0 - true))[:half], labels[:half])))
    for_all = covered(found, p[half:], labels[half:], coverage, by_class=False)
    assert abs(for_all.mean() - coverage) < 0.012
    by_class = covered(found, p[half:], labels[half:], coverage, by_class=True)
    for k, tolerance in enumerate((0.012, 0.015, 0.03)):
        assert abs(by_class[labels[half:] == k].mean() - coverage) < tolerance
    if coverage == 0.9:
        assert for_all[labels[half:] == 2].mean() < 0.8  # which is why sets are by class
    sizes = [found.sets(p[half:], coverage, by_class).sum() for by_class in (False, True)]
    assert sizes[0] < sizes[1]


def test_misses_are_made_up_for_whatever_comes():
    """After a change, each stretch of the stream is covered, by the levels that follow."""
    generator, state = np.random.default_rng(2), untrained(2)
    hits = []
    for t in range(6000):
        score = generator.normal(4.0 if (t // 2000) % 2 == 0 else 2.5, 1.0)
        probability = 1.0 / (1.0 + math.exp(-score))
        found = ConformalSets(state).sets(np.array([[probability, 1.0 - probability]]), 0.9, True)
        hits.append(bool(found[0, 0]))
        _core.conformal_learn(state, 2, np.array([score]), np.zeros(1, np.int32))
    by_stretch = np.array(hits).reshape(-1, 1000).mean(axis=1)
    assert (np.abs(by_stretch - 0.9) < 0.03).all()
    assert ConformalSets(state).alarms >= 1


def test_few_rows_leave_everything_in_the_set():
    scores, labels = stream(8)
    p = np.array([[0.999, 0.0009, 0.0001]])
    assert ConformalSets(untrained(3)).sets(p, 0.5, False).all()
    assert ConformalSets(learned(scores[:3], labels[:3])).sets(p, 0.9, False).all()


def test_alarms_are_rare_in_any_random_order():
    generator = np.random.default_rng(3)
    n = 5000
    alarms = [
        ConformalSets(learned(generator.normal(2.0, 3.0, n), generator.integers(0, 3, n).astype(np.int32))).alarms
        for _ in range(60)
    ]
    assert sum(alarms) <= 2


def test_answers_are_as_often_wrong_as_was_allowed():
    """In nearly all of many draws, of which each has its own threshold."""
    generator, above, answered = np.random.default_rng(4), 0, []
    for _ in range(40):
        score = np.abs(generator.normal(0.0, 3.0, 9000))
        wrong = generator.random(9000) > 1.0 / (1.0 + np.exp(-score))
        X = np.where(generator.random(9000) < 0.5, score, -score)[:, None]
        y = np.where(wrong, X[:, 0] < 0, X[:, 0] > 0).astype(int)
        model = OnlineClassifier("logistic", view=None, prior_variance=100.0).fit(X[:6000], y[:6000])
        leave = model.abstain(X[6000:], risk=0.05)
        above += (1.0 / (1.0 + np.exp(score[6000:][~leave]))).mean() > 0.05
        answered.append(1.0 - leave.mean())
    assert above <= 1 and np.mean(answered) > 0.4


def test_merged_scores_count_all_rows():
    scores, labels = stream(900)
    base = learned(scores[:300], labels[:300])
    parts = []
    for k in range(2):
        own = base.copy()
        rows = slice(300 + 300 * k, 600 + 300 * k)
        _core.conformal_learn(own, 3, scores[rows], labels[rows])
        parts.append(own)
    merged = ConformalSets(conformal.merged(parts, base))
    assert merged.rows == pytest.approx(max(ConformalSets(part).rows for part in parts))
    p = np.full((1, 3), 0.7)
    one, other = (ConformalSets(part).p_values(p, False)[0, 0] for part in parts)
    assert min(one, other) <= merged.p_values(p, False)[0, 0] <= max(one, other)
    assert list(conformal.values(conformal.merged(parts, base)))


@pytest.mark.parametrize("auto", [False, True])
def test_a_new_class_has_no_scores_yet(auto):
    generator = np.random.default_rng(5)
    X, y = generator.normal(size=(300, 4)), np.arange(300) % 2
    model = AutoClassifier() if auto else OnlineClassifier()
    model.partial_fit(X, y, classes=[0, 1])
    before = model.learner_.state["conformal"].copy()
    model.partial_fit(X[:1], [2], classes=[0, 1, 2])
    assert model.learner_.state["conformal"].size == before.size + conformal.COUNTS
    assert model.predict_set(X, 0.9).shape == (300, 3)


@pytest.mark.parametrize(
    "name, value", [("coverage", 0.0), ("coverage", 1.0), ("coverage", 90), ("risk", 0.0), ("risk", 2)]
)
def test_levels_are_within_0_and_1(name, value):
    model = OnlineClassifier().fit([[0.0], [1.0]], [0, 1])
    method = model.predict_set if name == "coverage" else model.abstain
    with pytest.raises(ValueError, match=f"{name} must be in"):
        method([[0.0]], value)


def test_conformity_is_the_rank_among_the_best_classes_before_in_twins():
    rng = np.random.default_rng(5)
    state, twin = untrained(3), Scores()
    for p in rng.dirichlet([2.0, 1.0, 1.0], 300):
        _core.conformal_learn_late(state, p[None], np.array([int(rng.integers(3))], np.int32))
        twin.add(int(Sets.place(np.log(p.max() / (1.0 - p.max())))))
    asked = rng.dirichlet([1.0, 1.0, 1.0], 100)
    places = [Sets.place(score) for score in np.log(asked.max(axis=1) / (1.0 - asked.max(axis=1)))]
    expected = [(twin.below(place) + 1.0) / (twin.rows() + 1.0) for place in places]
    np.testing.assert_allclose(ConformalSets(state).conformity(asked), expected, rtol=1e-12)
