"""Fits of several passes: a tenth of the rows is left out of all and learned once, at last, so that it calibrates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor
from confidently.data.memory.matrix import as_matrix
from confidently.estimators.held import held_rows, learn_held
from confidently.learner.recipe import ROWS_TO_CALIBRATE
from confidently.tasks import calibration, conformal
from confidently.tasks.calibration import INITIAL_LABEL, INITIAL_SIGMOID, INITIAL_TEMPERATURE
from confidently.tasks.conformal import CONFORMAL
from confidently.tasks.novelty import VARIANCES

N = 600


def rows_of(n=N, n_classes=4, seed=0):
    return make_classification(
        n, 12, n_informative=6, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.05, random_state=seed
    )


@pytest.mark.parametrize("n", [ROWS_TO_CALIBRATE, 1234, 20_000])
def test_a_tenth_is_held_out_of_several_passes(n):
    order = np.random.default_rng(0).permutation(n)
    np.testing.assert_array_equal(held_rows(n, 2, order), order[n - n // 10 :])
    by_number = held_rows(n, 3, None)
    assert (np.diff(by_number) > 0).all()
    shares = np.histogram(by_number, bins=5, range=(0, n))[0] / (n / 5)
    assert shares == pytest.approx(0.1, abs=4 * (0.09 / (n / 5)) ** 0.5)
    np.testing.assert_array_equal(by_number, held_rows(2 * n, 3, None)[: len(by_number)])  # whatever comes after
    assert held_rows(n, 1, order) is None
    assert held_rows(ROWS_TO_CALIBRATE - 1, 9, None) is None


@pytest.mark.parametrize(("rule", "average", "passes"), [
    ("arow", False, 3), ("cw_stdev", False, 3), ("pa1", False, 3), ("pa1", True, 1), ("pa1", True, 3),
])  # fmt: skip
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_weights_are_those_of_the_passes_and_of_the_held_rows(rule, average, passes, shuffle):
    X, y = rows_of()
    options = {"shuffle": shuffle, "random_state": 1, "view": None, "average": "auto" if average else False}
    model = OnlineClassifier(rule, passes=passes, **options).fit(X, y)
    random = np.random.RandomState(1)
    orders = [random.permutation(N) if shuffle else np.arange(N) for _ in range(passes)]
    held = held_rows(N, passes, orders[0] if shuffle else None, averages=average)
    other = OnlineClassifier(rule, view=None, average=average)
    for order in orders:
        kept = order[~np.isin(order, held)]
        other.partial_fit(X[kept], y[kept], classes=range(4))
    other.partial_fit(X[held], y[held])
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.variance_, other.variance_)
    assert model.n_seen_ == passes * N - (passes - 1) * len(held)
    assert model.n_iter_ == passes


def test_what_calibrates_comes_from_the_held_rows_alone():
    X, y = rows_of(3000, 3)
    model = OnlineClassifier(passes=4, shuffle=True, random_state=0).fit(X, y)
    assert model.learner_.conformal.rows == pytest.approx(300, rel=0.2)  # later ones count a little more
    counts = model.learner_.state[VARIANCES]
    assert counts[2] / counts[1] == pytest.approx(300, rel=0.2)
    assert model.learner_.conformal.shares == pytest.approx(np.bincount(y) / 3000, abs=0.01)  # of all rows
    few = OnlineClassifier(passes=4, shuffle=True, random_state=0).fit(X[:600], y[:600])
    first = OnlineClassifier().fit(X[:540], y[:540]).learner_.conformal.rows
    assert few.learner_.conformal.rows == pytest.approx(60 + min(first, 240), rel=0.25)
    none = OnlineClassifier(passes=4, shuffle=True, random_state=0).fit(X[:400], y[:400])
    assert none.learner_.conformal.rows == pytest.approx((400 + 15) / 4, rel=0.01)  # all 400, whose weights grow


def test_tries_for_the_slope_leave_the_learner_as_it_was():
    X, y = rows_of()
    model = OnlineClassifier(passes=1).fit(X[:500], y[:500])
    before = {name: array.copy() for name, array in model.learner_.state.items()}
    seen = []

    def learn(learner):
        kept = learner.state if learner is model.learner_ else model.learner_.state
        seen.append((learner is model.learner_, learner.state["calibration"][0]))
        if learner is not model.learner_:
            for name in before.keys() - {"calibration"}:
                np.testing.assert_array_equal(kept[name], before[name], err_msg=name)
        learner.learn(as_matrix(model.view_ and X[500:]), y[500:].astype(np.int32))

    learn_held(model.learner_, learn, 100, 500, calibrates=True)
    assert [own for own, _ in seen] == [False, False, False, True]
    slopes = [slope for _, slope in seen]
    assert len(set(slopes)) == 4
    assert abs(np.log(slopes[3] / slopes[2])) < abs(np.log(slopes[1] / slopes[0]))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("part", [0.0, 0.1, 1.0])
def test_less_evidence_of_a_correction_leaves_less_of_it(several, part):
    random, initial = np.random.default_rng(0), INITIAL_TEMPERATURE if several else INITIAL_SIGMOID
    start = 5 if several else 8
    own = np.array(initial)
    own[:start] = random.uniform(0.5, 2.0, start)
    w, h = own[start:].reshape(2, -1)
    w[:], h[:] = random.normal(size=w.size), random.uniform(0.0, 30.0, h.size)
    w[0] = h[0] = 0.0
    found = calibration.renewed(own, part, several)
    # w minimizes h (w - best)^2 + 8 w^2, with more or less of h
    best = np.divide(w * (h + 8.0), h, out=np.zeros_like(w), where=h > 0)
    expected = part * h * best / (part * h + 8.0)
    np.testing.assert_allclose(found[start:], np.concatenate([expected, part * h]), atol=1e-12)
    line = slice(1, 2) if several else slice(2, 5)
    np.testing.assert_allclose(found[line], part * own[line])
    kept = np.delete(np.arange(start), np.arange(start)[line])
    np.testing.assert_array_equal(found[kept], own[kept])
    other = random.uniform(0.5, 2.0, own.size)
    slopes = calibration.with_slope(found, other, several)
    taken = [0, 2, 3, 4] if several else [0, 1, 5, 6, 7]
    np.testing.assert_array_equal(slopes[taken], other[taken])
    rest = np.setdiff1d(np.arange(own.size), taken)
    np.testing.assert_array_equal(slopes[rest], found[rest])


def test_calibrations_of_labels_are_renewed_by_themselves():
    own = np.random.default_rng(0).uniform(0.5, 2.0, 3 * len(INITIAL_LABEL))
    found = calibration.renewed_labels(own, 0.25).reshape(3, -1)
    for label, before in zip(found, own.reshape(3, -1), strict=True):
        np.testing.assert_array_equal(label[:-2], calibration.renewed(before[:-2], 0.25, several=False))
        np.testing.assert_array_equal(label[-2:], 0.25 * before[-2:])


def test_scores_count_as_asked():
    X, y = rows_of(2000)
    own = OnlineClassifier().fit(X, y).learner_.state[CONFORMAL]
    found = conformal.renewed(own, 0.1)
    before, after = conformal.ConformalSets(own), conformal.ConformalSets(found)
    assert after.rows == pytest.approx(0.1 * before.rows)
    assert after.alarms == before.alarms
    np.testing.assert_allclose(after.shares, before.shares)
    np.testing.assert_allclose(
        conformal.renewed(own, 1.0)[: conformal.MARTINGALE],
        np.r_[
            own[: conformal.LEVELS],
            1.0,
            own[conformal.LEVELS + 1] / own[conformal.LEVELS],
            own[conformal.LEVELS + 2],
            own[conformal.LEVELS + 3 : conformal.MARTINGALE] / own[conformal.LEVELS],
        ],
    )
    assert conformal.part_to_keep(own, 1 / 6) == 0.0
    assert conformal.part_to_keep(own, 1 / 10) == pytest.approx(100.0 / before.rows)
    assert conformal.part_to_keep(own, 0.0) == pytest.approx(300.0 / before.rows)
    assert conformal.part_to_keep(conformal.untrained(4), 0.1) == 1.0


@pytest.mark.parametrize("rule", ["arow", "logistic", "cw_stdev"])
def test_promises_hold_after_ten_passes(rule):
    X, y = rows_of(16_000, 8, seed=5)
    model = OnlineClassifier(rule, passes=10, shuffle=True, random_state=0).fit(X[:12_000], y[:12_000])
    X, y = X[12_000:], y[12_000:]
    p = model.predict_proba(X)
    assert p.max(axis=1).mean() == pytest.approx(model.score(X, y), abs=0.04)
    covered = model.predict_set(X, by_class=False)[np.arange(4000), y].mean()
    assert 0.87 < covered < 0.94
    assert (model.novelty(X) < 0.05).mean() < 0.06


X, Y = rows_of()
HALVES = np.column_stack([X, np.arange(N) % 2])
MIXED = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(kind=np.where(X[:, 3] > 0, "up", "down"))
HELD = len(held_rows(N, 9, None))
SEEN = {  # how many rows are learned
    "a stack with groups": (AutoClassifier(passes=2, coverage_by=12, random_state=0), HALVES, Y, 2 * N - 60),
    "labels": (AutoClassifier(passes=2), X, (X[:, :3] > 0.3).astype(int), 2 * N - 60),
    "numbers": (OnlineRegressor(passes=3, shuffle=True), X, Y, 3 * N - 120),
    "numbers of a stack": (AutoRegressor(passes=3, shuffle=True), X, Y, 3 * N - 120),
    "passes that end early": (OnlineClassifier(passes=9, tol=1.0), X, Y, 2 * N - HELD),
    "without a calibration": (OnlineClassifier(passes=2, calibration=None), X, Y, 2 * N),
    "a frame, calibrated in the first pass as files are": (OnlineClassifier("pa1", passes=2), MIXED, Y, 2 * N),
}


@pytest.mark.parametrize("case", SEEN)
def test_held_rows_are_learned_once(case):
    estimator, rows, y, n_seen = SEEN[case]
    model = clone(estimator).fit(rows, y)
    assert (model.n_seen_, model.n_iter_) == (n_seen, 2 if model.tol else model.passes)
    if not model.calibration:
        assert model.learner_.state["calibration"].tolist() == list(INITIAL_TEMPERATURE)
    elif rows is MIXED:
        assert not model.learner_.settings.average
