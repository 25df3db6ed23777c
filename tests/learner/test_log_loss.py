"""The progressive log-loss: the cost of each label before training on it."""

import numpy as np
import pytest

from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from tests.covariance_cases import has_task
from tests.tables.tasks import MULTILABEL

CASES = [
    (task, rule, covariance)
    for task in ("binary", "joint", "one-vs-rest", "softmax", *MULTILABEL)
    for rule, covariance in (("arow", "diag"), ("gibbs_pa", "full"), ("pa", "diag"), ("logistic", "full"))
    if has_task(rule, task)
]
ROWS = 80


def problem(task, n_classes, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(ROWS, 5))
    if task not in MULTILABEL:
        return X, random.integers(n_classes, size=ROWS).astype(np.int32), None
    sets = random.random((ROWS, n_classes)) < 0.4
    return X, sets.nonzero()[1].astype(np.int32), np.append(0, np.cumsum(sets.sum(axis=1)))


@pytest.mark.parametrize(("task", "rule", "covariance"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_log_loss_is_the_cost_of_each_label_before_training(task, rule, covariance, weighted):
    n_classes = 2 if task == "binary" else 3
    X, labels, start = problem(task, n_classes)
    weight = np.random.default_rng(1).uniform(0.1, 2, ROWS) if weighted else None
    whole, rows = (Learner(Settings(rule, covariance, task), n_classes, 5) for _ in range(2))
    found, cost = np.array([10.0]), 10.0
    whole.learn(as_matrix(X), labels, start, weight=weight, log_loss=found)
    for i in range(ROWS):
        row = as_matrix(X[i : i + 1])
        p = rows.probabilities(row)[0]
        own = labels[i : i + 1] if start is None else labels[start[i] : start[i + 1]]
        given = np.where(np.isin(np.arange(n_classes), own), p, 1 - p) if task in MULTILABEL else p[own]
        cost -= np.log(given).sum()
        own_start = None if start is None else np.array([0, len(own)])
        rows.learn(row, own, own_start, weight=None if weight is None else weight[i : i + 1])
    assert found[0] == pytest.approx(cost, rel=1e-10)


def test_log_loss_is_unchanged_by_invalid_rows_and_without_calibration():
    X, labels, _ = problem("binary", 2)
    learner, cost = Learner(Settings(), n_features=5), np.array([1.0])
    learner.learn(as_matrix(X), labels, calibrate=False, log_loss=cost)
    assert cost[0] == 1.0
    X[60, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in row 60"):
        learner.learn(as_matrix(X, check=False), labels, log_loss=cost)
    assert cost[0] == 1.0


def test_the_cost_of_a_confident_mistake_is_bounded():
    learner, cost = Learner(Settings("pa", prior_variance=1.0), n_features=1), np.zeros(1)
    X, labels = as_matrix(np.ones((1, 1))), np.array([1], dtype=np.int32)
    for _ in range(2000):
        learner.learn(X, labels)
    learner.learn(as_matrix(np.full((1, 1), 1e80)), np.array([0], dtype=np.int32), log_loss=cost)
    assert 0 < cost[0] <= -np.log(1e-15) * (1 + 1e-12)
