"""Sets of classes: the levels, scores and martingale of the core against a slow twin, and what is promised."""

import copy
import itertools
import math

import numpy as np
import pytest

from confidently import AutoClassifier, OnlineClassifier, _core
from confidently.data import DataWarning
from confidently.tasks import conformal
from confidently.tasks.conformal import ERRORS, ConformalSets, untrained
from tests.twins.conformal import Alarms, Scores, Sets


def learned(scores, labels, classes=3):
    state = untrained(classes)
    _core.conformal_learn(state, classes, scores, labels)
    return state


def stream(n, seed=0, classes=3):
    generator = np.random.default_rng(seed)
    return generator.normal(2.0, 3.0, n), generator.choice(classes, n, p=[0.6, 0.3, 0.1]).astype(np.int32)


PROBABILITIES = (1e-4, 0.1, 0.6, 0.99)


def assert_same(state, twin):
    """Compare p-values and levels of all classes with those of a twin."""
    found = ConformalSets(state)
    for (coverage, enough), repeated in itertools.product(((0.9, 30.0), (0.99, 199.0)), (False, True)):
        sets = ConformalSets(state, repeated)
        for probability in PROBABILITIES:
            p = np.full((1, 3), probability)
            score = math.log(probability / (1.0 - probability))
            expected = [twin.of_own(score, k, enough, repeated) for k in range(3)]
            np.testing.assert_allclose(sets.p_values(p, True, coverage)[0], expected, rtol=1e-9)
            np.testing.assert_allclose(sets.p_values(p, False)[0], twin.all.p_value(score, repeated), rtol=1e-9)
    for error, enough in zip(ERRORS, (30.0, 30.0, 30.0, 199.0), strict=True):
        levels = [twin.levels, *(twin.levels_of(k, enough) for k in range(3))]
        at = [np.maximum.accumulate((ERRORS + one.said())[::-1])[::-1][error == ERRORS][0] for one in levels]
        np.testing.assert_allclose(found.errors(1.0 - error, False), at[0], rtol=1e-9)
        np.testing.assert_allclose(found.errors(1.0 - error, True), at[1:], rtol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 7, 31, 32, 200, 700])
def test_what_is_learned_is_that_of_the_twin(n):
    scores, labels = stream(n)
    state, twin = learned(scores, labels), Sets(3)
    for score, k in zip(scores, labels, strict=True):
        twin.learn(float(score), int(k))
    assert_same(state, twin)
    rare = [sum(one.rows() < enough for one in twin.own) for enough in (30.0, 99.0)]
    assert rare == {200: [2, 3], 700: [1, 2]}.get(n, [3, 3])
    settled = ConformalSets(conformal.settled(state))
    for by_class in (False, True):
        np.testing.assert_allclose([settled.errors(1.0 - e, by_class) for e in ERRORS], np.tile(ERRORS, (3, 1)).T)


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
    levels = copy.deepcopy((twin.levels, twin.rare_levels, twin.own_levels))
    for score, k in zip(np.log(p / (1 - p))[used, labels[used]], labels[used], strict=True):
        twin.learn(float(score), int(k))
    twin.levels, twin.rare_levels, twin.own_levels = levels
    assert_same(state, twin)
    answers, mistakes = (state[at + 1] / state[at] for at in (conformal.ANSWERS, conformal.MISTAKES))
    wrong = (p.argmax(axis=1) != labels)[used]
    counted = 1.0001 ** (np.arange(len(used)) - len(used))
    expected = [0.0, 0.0] if of_labels else [counted.sum(), counted[wrong].sum()]
    np.testing.assert_allclose([answers, mistakes], expected, rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 3, 40])
def test_alarms_are_those_of_the_twin(classes):
    """The labels of the second part are not those expected; then neither u nor its rank is uniform."""
    generator, n = np.random.default_rng(classes), 900
    p = generator.dirichlet(np.full(classes, 0.5), n)
    p[::7] = 1.0 / classes  # all as probable
    labels = np.array([generator.choice(classes, p=one) for one in p]).astype(np.int32)
    labels[600:] = p[600:].argmin(axis=1)
    twin, state = Alarms(), untrained(classes)
    rows = []
    for t in range(n):
        twin.learn(p[t], labels[t])
        state = conformal.learned_late(state, p[[t]], labels[[t]], None, None)
        found = ConformalSets(state)
        if found.alarms > len(rows):
            rows.append(found.last_alarm)
            assert found.rows_since_alarm == 0
    assert found.alarms == twin.alarms > 0 and rows == twin.rows and min(rows) > 600
    np.testing.assert_array_equal(state, conformal.learned_late(untrained(classes), p, labels, None, None))


def test_alarms_of_labels_know_one_label_of_each_row():
    """Rows of one uncertain label and certain ones are as rows of two classes; without labels nothing is learned."""
    generator, n = np.random.default_rng(3), 500
    p = generator.random(n)
    relevant = generator.random(n) < np.where(np.arange(n) < 300, p, 1.0 - p)
    of_labels = np.column_stack([p, np.zeros(n), np.ones(n)])
    labels = np.concatenate([[0, 2] if one else [2] for one in relevant]).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(1 + relevant)])
    state = conformal.learned_late(untrained(3), of_labels, labels, start, None)
    of_two = np.column_stack([1.0 - p, p])
    expected = conformal.learned_late(untrained(2), of_two, relevant.astype(np.int32), None, None)
    part = slice(conformal.MARTINGALE, conformal.ANSWERS)
    np.testing.assert_array_equal(state[part], expected[part])
    assert ConformalSets(state).last_alarm == ConformalSets(expected).last_alarm > 300  # of rows, not of labels
    nothing = conformal.learned_late(untrained(0), np.zeros((3, 0)), np.zeros(0, np.int32), np.zeros(4, np.int64), None)
    np.testing.assert_array_equal(nothing, untrained(0))


def test_merged_scores_are_those_of_all_and_alarms_are_added():
    base, rows = learned(*stream(60)), [stream(300, seed=seed) for seed in (1, 2)]
    base[conformal.MARTINGALE + 1] = 2.0  # alarms
    parts = [base.copy() for _ in rows]
    for part, (scores, labels) in zip(parts, rows, strict=True):
        _core.conformal_learn(part, 3, scores, labels)
    parts[1][conformal.MARTINGALE + 1] = 5.0
    found = conformal.merged(parts, base)
    assert ConformalSets(found).alarms == 5  # 2 + 0 + 3
    assert conformal.rows_seen(found) == 660
    seen = [conformal.of_classes(one)[:, conformal.LEVELS + 2] for one in (base, *parts, found)]
    np.testing.assert_array_equal(seen[3], seen[1] + seen[2] - seen[0])
    gathered = found.copy()
    _core.conformal_gather_rare(gathered, 3)
    np.testing.assert_array_equal(found, gathered)
    rare = slice(conformal.RARE, conformal.RARE + conformal.LEVELS)
    np.testing.assert_allclose(found[rare], (parts[0][rare] + parts[1][rare]) / 2.0)
    assert (found[rare] != found[: conformal.LEVELS]).any()
    assert all(np.all(allowed.includes(float(x))) for _, part, allowed in conformal.values(found) for x in part.flat)
    assert any(x != 0.0 for x in gathered[conformal.RARE + conformal.LEVELS : conformal.CLASSES])


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
    assert -0.01 < for_all.mean() - coverage < 0.014  # scores of a bin count as equal, so that some more are covered
    by_class = covered(found, p[half:], labels[half:], coverage, by_class=True)
    for k, tolerance in enumerate((0.01, 0.014, 0.026)):
        assert -tolerance < by_class[labels[half:] == k].mean() - coverage < tolerance + 0.012
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


def test_scores_of_no_row_stay_when_a_better_model_comes():
    assert conformal.part_to_keep(untrained(2), 0.1) == 1.0
    np.testing.assert_array_equal(conformal.renewed(untrained(2), 1.0), untrained(2))


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
    found = merged.p_values(p, False)[0, 0]
    assert min(one, other) <= found <= max(one, other)
    assert list(conformal.values(conformal.merged(parts, base)))


@pytest.mark.parametrize("auto", [False, True])
def test_a_new_class_has_no_scores_yet(auto):
    generator = np.random.default_rng(5)
    X, y = generator.normal(size=(300, 4)), np.arange(300) % 2
    model = AutoClassifier() if auto else OnlineClassifier()
    model.partial_fit(X, y, classes=[0, 1])
    before = model.learner_.state["conformal"].copy()
    model.partial_fit(X[:1], [2], classes=[0, 1, 2])
    assert model.learner_.state["conformal"].size == before.size + conformal.SIZE
    with pytest.warns(DataWarning, match="1 of 3 classes is in every set: coverage 0.9 needs 9 rows of a class"):
        found = model.predict_set(X, 0.9)
    assert found.shape == (300, 3) and found[:, 2].all() and not found.all()


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
        twin.add(math.log(p.max() / (1.0 - p.max())))
    asked = rng.dirichlet([1.0, 1.0, 1.0], 100)
    expected = [twin.p_value(math.log(p / (1.0 - p))) for p in asked.max(axis=1).tolist()]
    np.testing.assert_allclose(ConformalSets(state).conformity(asked), expected, rtol=1e-12)
