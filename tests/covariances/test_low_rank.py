"""A diagonal and a matrix of low rank: the twin reduces its matrix as the core does; up to there, all is exact."""

import numpy as np
import pytest

from confidently import OnlineClassifier, load
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.rules import make_rule
from tests.covariances.test_core_equals_reference import assert_twins_agree, core_labels, noisy_rows, twins

TASKS = [
    ("arow", "binary"), ("cw_stdev", "binary"), ("iellip", "binary"), ("arow", "joint"), ("logistic", "softmax"),
    ("arow", "one-vs-rest"), ("scw1", "multilabel"), ("arow", "multilabel-one-vs-rest"),
]  # fmt: skip


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize(("rule", "task"), TASKS)
def test_it_is_reduced_as_the_twin_is(rule, task, rank):
    X, labels = noisy_rows(task, n=120, d=8)
    ids, start = core_labels(labels)
    learner, twin = twins(make_rule(rule), "low_rank", task, X.shape[1], prior_variance=0.7, rank=rank)
    twin.learn(X, labels)
    learner.learn(as_matrix(X), ids, start, calibrate=False)
    assert learner.updates > 4 * rank
    assert_twins_agree(learner, twin, 1e-7)


def correlated(n=300, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.1 * rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=d) + rng.normal(size=n) > 0).astype(np.int32)


def test_with_all_directions_it_is_the_full_covariance():
    X, y = correlated(d=6)
    low, full = (Learner(Settings("arow", name, rank=7), 2, 6) for name in ("low_rank", "full"))
    for learner in (low, full):
        learner.learn(as_matrix(X), y)
    assert full.updates > 50
    np.testing.assert_allclose(low.mean(), full.mean(), rtol=1e-8)
    matrices = [learner.covariance.matrix(learner.state, learner.size) for learner in (low, full)]
    np.testing.assert_allclose(*matrices, rtol=1e-7, atol=1e-10)


def test_a_few_directions_are_nearer_to_the_full_covariance_than_none():
    """Three directions explain these rows, so that rank 3 keeps nearly all."""
    X, y = correlated()

    def scores_of(name, rank):
        learner = Learner(Settings("arow", name, rank=rank), 2, 30)
        learner.learn(as_matrix(X), y)
        return learner.decision(as_matrix(X))

    full = scores_of("full", rank=3)
    low, diag = (np.linalg.norm(scores_of(name, rank=3) - full) for name in ("low_rank", "diag"))
    assert 4 * low < diag


def test_files_leave_out_features_at_the_prior(tmp_path):
    rng = np.random.default_rng(0)
    X = np.zeros((40, 5000))
    X[:, 4000:4020] = rng.normal(size=(40, 20))
    y = (X.sum(axis=1) > 0).astype(int)
    classifier = OnlineClassifier("arow", "low_rank", view=None).fit(X, y)
    classifier.save(tmp_path / "m.cw")
    assert (tmp_path / "m.cw").stat().st_size < 60_000
    np.testing.assert_array_equal(load(tmp_path / "m.cw").variance_, classifier.variance_)


def test_new_features_and_classes_come_at_the_prior():
    X, y = correlated(d=10)
    early = Learner(Settings("arow", "low_rank", rank=2), 2, 6)
    early.learn(as_matrix(X[:, :6]), y)
    wide = Learner(Settings("arow", "low_rank", rank=2), 2, 10)
    wide.learn(as_matrix(np.pad(X[:, :6], ((0, 0), (0, 4)))), y)
    early.grow(n_features=10)
    for learner in (early, wide):
        learner.learn(as_matrix(X), y)
    np.testing.assert_allclose(early.mean(), wide.mean(), rtol=1e-12)


def test_memory_that_is_not_there_is_said_before_any_work():
    with pytest.raises(MemoryError, match=r'covariance="low_rank" of rank 65536 over \d+ weights needs'):
        Learner(Settings("arow", "low_rank", rank=2**16), 2, 10**9 // 2)


@pytest.mark.parametrize("rank", [0, -1, 2**20, 1.5, "32", None])
def test_a_rank_is_a_small_positive_integer(rank):
    with pytest.raises((ValueError, TypeError), match="rank"):
        OnlineClassifier(covariance="low_rank", rank=rank, view=None).fit(np.eye(2), [0, 1])
