"""Rules whose weights wander: averages, calibrated by rows that they score before these are learned."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification

from confidently import RULES, OnlineClassifier, _core
from confidently.data import DataWarning
from confidently.data.memory.matrix import as_matrix
from confidently.learner.averaged import calibrate_by
from confidently.learner.recipe import ROWS_TO_CALIBRATE
from confidently.tasks import novelty
from confidently.tasks.calibration import INITIAL_SIGMOID, INITIAL_TEMPERATURE
from confidently.tasks.novelty import VARIANCES
from tests.twins import calibration as twins

WANDERING = {
    "perceptron", "pa", "pa1", "pa2", "sop", "cw_stdev", "cw_var", "iellip", "iellip_margin", "bayespa"
}  # fmt: skip
N = 600


def rows_of(n=N, n_classes=4, seed=100):
    return make_classification(n, 20, n_informative=8, n_classes=n_classes, n_clusters_per_class=1, random_state=seed)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_scores_that_are_known_calibrate_as_in_training(columns):
    random, n = np.random.default_rng(columns), 300
    scores, w = 3.0 * random.normal(size=(n, columns)), random.choice([0.0, 0.5, 1.0, 2.0], n)
    labels = random.integers(0, max(columns, 2), n).astype(np.int32)
    found = np.array(INITIAL_SIGMOID if columns == 1 else INITIAL_TEMPERATURE)
    _core.calibration_learn(found, scores, labels, w)
    twin = twins.Sigmoid() if columns == 1 else twins.Temperature()
    for f, label, weight in zip(scores, labels, w, strict=True):
        if weight > 0 and columns == 1:
            twin.learn(f[0], bool(label), weight)
        elif weight > 0:
            twin.learn(f, label, weight)
    np.testing.assert_allclose(found, twin.state(), rtol=1e-9, atol=1e-12)


def test_which_rules_wander():
    assert {name for name, rule in RULES.items() if rule.wanders} == WANDERING


@pytest.mark.parametrize("rule", ["pa1", "cw_stdev", "arow"])
@pytest.mark.parametrize("how", ["fit", "few rows", "partial_fit", "average=False", "average=True"])
def test_weights_are_averaged_where_a_fit_of_enough_rows_can_calibrate_them(rule, how):
    X, y = rows_of()
    model = OnlineClassifier(rule, **({"average": how == "average=True"} if "average" in how else {}))
    n = ROWS_TO_CALIBRATE - 1 if how == "few rows" else N
    model = model.partial_fit(X, y, classes=range(4)) if how == "partial_fit" else model.fit(X[:n], y[:n])
    averaged = how == "average=True" or (how == "fit" and rule != "arow")
    assert model.learner_.settings.average == averaged
    assert model.n_seen_ == n
    doubtful = rule != "arow" and not averaged
    for call in (model.predict_set, model.abstain):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call(X)
        assert any("single rows move the weights" in str(one.message) for one in found) == doubtful


def test_held_rows_are_judged_by_the_averaged_weights():
    X, y = rows_of(2000, 2)
    learner = OnlineClassifier("pa1", average=True).partial_fit(X[:1500], y[:1500], classes=[0, 1]).learner_
    matrix, labels = as_matrix(X[1500:]), y[1500:].astype(np.int32)
    weights = learner.state["weights"].copy()
    scores, variances = learner.judged(matrix)
    calibrate_by(learner, matrix, labels, None, None, 1 / 3)
    np.testing.assert_array_equal(learner.state["weights"], weights)
    # what is known of the scores is of the 500 rows alone, but no rows are forgotten
    assert learner.conformal.rows == pytest.approx(500, rel=0.4)
    counted = novelty.untrained()
    _core.margin_variances_learn(counted, variances)
    assert counted[3] == 500
    assert learner.state[VARIANCES][3] == 2000
    # the slope is that of the held rows: the log-loss has no gradient along it
    t = learner.state["calibration"][0] * scores[:, 0] + learner.state["calibration"][1]
    error = 1 / (1 + np.exp(-t)) - labels
    assert abs(error.mean()) < 0.03
    assert abs((error * t).mean()) < 0.06
    # and what the rows are as evidence counts once, whatever it took to find the slope
    p = learner.probabilities(matrix)[:, 1]
    assert learner.state["calibration"][4] == pytest.approx((p * (1 - p)).sum(), rel=0.3)


@pytest.mark.parametrize("rule", ["pa1", "perceptron", "cw_stdev", "iellip"])
def test_classes_are_covered_by_averaged_weights(rule):
    found = []
    for seed in (103, 104):
        X, y = rows_of(6000, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataWarning)
            sets = OnlineClassifier(rule).fit(X[:3000], y[:3000]).predict_set(X[3000:])
        hit = sets[np.arange(3000), y[3000:]]
        found += [hit[y[3000:] == k].mean() for k in range(4)]
    assert min(found) > 0.8
    assert np.mean(found) == pytest.approx(0.9, abs=0.03)


def test_label_sets_and_groups_and_weights_are_judged():
    X, y = rows_of()
    labels = (X[:, :3] > 0.5).astype(int)
    model = OnlineClassifier("pa1").fit(X, labels, sample_weight=np.linspace(0.5, 2.0, N))
    assert model.learner_.settings.average
    assert model.score(X, labels) > 0.3
    X[:, 5] = np.arange(N) % 2
    model = OnlineClassifier("pa1", coverage_by=5).fit(X, y)
    assert len(model.learner_.groups.states) == 2
    np.testing.assert_array_less(0.7, model.predict_set(X)[np.arange(N), y].mean())
