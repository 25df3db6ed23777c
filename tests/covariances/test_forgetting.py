"""Forgetting: every row takes away a fraction of the gained precision; nothing else changes."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

from confidently import OnlineClassifier, load, merge
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.models.explanation import Entries
from confidently.rules import RULES, make_rule
from tests.command_line import here, rows
from tests.covariances.test_core_equals_reference import (
    N_CLASSES,
    RULES_AND_TASKS,
    assert_twins_agree,
    core_labels,
    noisy_rows,
    twins,
)

FORGETTING = [rule for rule in RULES if make_rule(rule).learns_precision]


@pytest.mark.few(1)
@pytest.mark.parametrize(("rule", "task"), [(rule, task) for rule, task in RULES_AND_TASKS if rule in FORGETTING])
@pytest.mark.parametrize("forget", [0.01, 0.9])  # 0.9 is applied to the store about every hundred rows
def test_equals_the_slow_twin(rule, task, forget):
    X, labels = noisy_rows(task, n=260)
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0], size=len(X))
    ids, start = core_labels(labels)
    learner, reference = twins(make_rule(rule), "diag", task, X.shape[1], prior_variance=0.7, forget=forget)
    reference.learn(X, labels, weight)
    learner.learn(as_matrix(X), ids, start, weight=weight, calibrate=False)
    assert learner.updates > 0
    assert_twins_agree(learner, reference, 1e-7)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("rule", "task"),
    [(rule, task) for rule, task in RULES_AND_TASKS if rule in ("arow", "cellip", "iellip", "logistic")],
)
def test_batch_boundaries_do_not_change_the_state(rule, task, dtype):
    """The states are equal bit for bit, also with growing features and sparse rows."""
    X, labels = noisy_rows(task, n=200)
    X[:60, 4:] = 0.0  # features that appear after the store is updated for the first time
    ids, start = core_labels(labels)
    options = {"forget": 0.3, "dtype": dtype, "prior_variance": 0.1}
    whole = Learner(Settings(rule, "diag", task, **options), N_CLASSES[task], 6)
    whole.learn(as_matrix(X), ids, start)
    parts = Learner(Settings(rule, "diag", task, **options), N_CLASSES[task], 4)
    for first, last in ((0, 1), (1, 60), (60, 61), (61, 150), (150, 200)):
        parts.grow(n_features=4 if last <= 60 else 6)
        rows = csr_matrix(X[first:last, : parts.n_features])
        piece = slice(first, last)
        here = ids[piece] if start is None else ids[start[first] : start[last]]
        begins = None if start is None else start[first : last + 1] - start[first]
        parts.learn(as_matrix(rows), np.ascontiguousarray(here), begins)
    assert whole.state["kept"].max() < 1.0
    for name, array in whole.state.items():
        kept = parts.weights if name == "weights" else parts.state[name]
        np.testing.assert_array_equal(kept, whole.weights if name == "weights" else array, err_msg=name)


def test_unseen_weights_stay_at_the_prior_and_others_return_to_it():
    learner = Learner(Settings("arow", prior_variance=0.3, forget=0.05, fit_intercept=False), n_features=3)
    learner.learn(as_matrix(np.array([[1.0, 0.0, 0.0]])), np.array([1], dtype=np.int32))
    sure, weight = learner.variance()[0, 0], learner.mean()[0, 0]
    assert sure < 0.1
    rows = np.zeros((6000, 3))
    rows[:, 1] = 1.0
    labels = np.ones(len(rows), dtype=np.int32)
    for n, expected in ((1, None), (6000, 0.3)):
        learner.learn(as_matrix(rows[:n]), labels[:n])
        precision = 1 / sure
        if expected is None:  # after one more row
            expected = 1 / (1 / 0.3 + 0.95 * (precision - 1 / 0.3))
        assert learner.variance()[0, 0] == pytest.approx(expected, rel=1e-12)
    assert learner.variance()[0, 2] == 0.3
    assert learner.mean()[0, 0] == weight  # the mean is not forgotten


def test_forgetting_nothing_equals_no_forgetting():
    X, labels = noisy_rows("joint")
    ids = np.array(labels, dtype=np.int32)
    plain, nearly = (Learner(Settings("arow", "diag", "joint", forget=f), 4, 6) for f in (0.0, 1e-15))
    for learner in (plain, nearly):
        learner.learn(as_matrix(X), ids)
    assert "kept" not in plain.state
    np.testing.assert_allclose(nearly.variance(), plain.variance(), rtol=1e-11)


def test_a_third_class_preserves_the_first_two():
    X, labels = noisy_rows("binary")
    learner = Learner(Settings("arow", forget=0.01), n_features=6)
    learner.learn(as_matrix(X), np.array(labels, dtype=np.int32))
    mean, variance = learner.margin_distribution(as_matrix(X))
    learner.grow(n_classes=3)
    scores = learner.decision(as_matrix(X))
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(learner.margin_distribution(as_matrix(X))[1][:, :2].sum(axis=1), variance, rtol=1e-12)
    assert learner.state["kept"] == 1.0


def test_forgetting_follows_reversed_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = (X[:, 0] > 0) ^ (np.arange(4000) >= 2000) ^ (rng.random(4000) < 0.1)  # without noise, few rows would be updates
    errors = {}
    for forget in (0.0, 0.01):
        classifier = OnlineClassifier("arow", forget=forget, view=None).partial_fit(
            X[:2500], y[:2500], classes=[False, True]
        )
        errors[forget] = 1 - classifier.score(X[2500:], y[2500:])
    assert errors[0.01] < 0.15 < errors[0.0]


@pytest.mark.parametrize(("settings", "message"), [
    ({"covariance": "kernel"}, "forget needs a covariance of weights"),
    ({"rule": "pa1"}, "the rule pa1 keeps its covariance at the prior"), ({"forget": 1.0}, "forget"),
    ({"forget": -0.1}, "forget"), ({"forget": "a lot"}, "forget"),
])  # fmt: skip
def test_invalid_settings_are_rejected(settings, message):
    X, labels = noisy_rows("binary", n=20)
    with pytest.raises((ValueError, TypeError), match=message):
        OnlineClassifier(**{"forget": 0.1, **settings}).fit(X, labels)


def test_forget_cannot_change_during_training():
    X, labels = noisy_rows("binary", n=20)
    classifier = OnlineClassifier(forget=0.1).fit(X, labels)
    with pytest.raises(ValueError, match="forget"):
        classifier.set_params(forget=0.0).partial_fit(X, labels)


def test_merging_applies_the_forgetting():
    X, labels = noisy_rows("joint", n=200)
    y = np.array(labels)
    parts = [OnlineClassifier(forget=0.02).partial_fit(X[k::2], y[k::2], classes=range(4)) for k in range(2)]
    merged = merge(parts)
    precision = sum(1 / part.variance_ for part in parts) - 1.0
    np.testing.assert_allclose(1 / merged.variance_, precision, rtol=1e-12)
    shift = sum(part.coef_ / part.variance_ for part in parts)
    np.testing.assert_allclose(merged.coef_, shift / precision, rtol=1e-12)
    assert parts[0].learner_.state["kept"] < 1.0  # the models stay unchanged
    assert merged.partial_fit(X, y).forget == 0.02
    with pytest.raises(ValueError, match="forget"):
        merge([parts[0], OnlineClassifier().partial_fit(X, y, classes=range(4))])


def test_explanations_have_the_current_variances():
    X, labels = noisy_rows("joint", n=200)
    classifier = OnlineClassifier("cw_stdev", forget=0.02, view=None).fit(X, labels)
    there = np.flatnonzero(X[0])
    entries = Entries(classifier.learner_, there, X[0, there])
    whole = classifier.margin_distribution(X[:1])[1][0]
    for column in range(4):
        assert entries.variances(column, None).sum() == pytest.approx(whole[column], rel=1e-12)


def test_the_command_line_forgets_and_resumes_bit_for_bit(tmp_path):
    text = rows(400)
    lines = text.splitlines(keepends=True)
    for name, part in (("all", lines), ("first", lines[:250]), ("second", lines[250:])):
        (tmp_path / f"{name}.svm").write_text("".join(part))
    options = ("-q", "--forget", "0.01", "--normalize", "none")
    for arguments in (
        ("all.svm", *options, "-o", "all.cw"),
        ("first.svm", *options, "-o", "first.cw"),
        ("second.svm", "-q", "--init-model", "first.cw", "-o", "second.cw"),
    ):
        done = here("train", "--no-shuffle", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    whole, parts = (load(tmp_path / f"{name}.cw") for name in ("all", "second"))
    for name, array in whole.learner_.state.items():
        np.testing.assert_array_equal(parts.learner_.state[name], array, err_msg=name)
    X, y = load_svmlight_file(tmp_path / "all.svm", n_features=20)
    arrays = OnlineClassifier(forget=0.01).fit(X, y)
    np.testing.assert_allclose(np.sort(whole.variance_[0]), np.sort(arrays.variance_[0]), rtol=1e-12)
    refused = here("train", "all.svm", "--forget", "0.1", "--rule", "pa1", "-o", "x.cw", cwd=tmp_path)
    assert refused.returncode == 2
    assert "keeps its covariance at the prior" in refused.stderr
