"""A shared covariance is the nearest to the updated one, as a numerical optimizer confirms."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import minimize

from confidently import step
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner

D = 3
LOWER = np.tril_indices(D)


def nearest_shared(precision, columns):
    """S that minimizes KL(N(0, I (x) S) || N(0, precision^-1)), over Cholesky factors."""

    def divergence(numbers):
        factor = np.zeros((D, D))
        factor[LOWER] = numbers
        S = factor @ factor.T
        blocks = sum(precision[k : k + D, k : k + D] for k in range(0, columns * D, D))
        value = 0.5 * np.trace(precision @ block_diag(*[S] * columns)) - columns * np.log(np.abs(np.diag(factor))).sum()
        return value, (blocks @ factor - columns * np.diag(1 / np.diag(factor)))[LOWER]

    numbers = np.eye(D)[LOWER]
    for _ in range(3):  # a fresh start where the last one stopped sharpens the optimum
        numbers = minimize(divergence, numbers, jac=True, method="BFGS", options={"gtol": 1e-12}).x
    factor = np.zeros((D, D))
    factor[LOWER] = numbers
    return factor @ factor.T


def trained(rule, n_classes, rows_per_product):
    """Return a learner after 12 rows, and one row more with the label that is least expected."""
    rng = np.random.default_rng(n_classes)
    settings = Settings(rule, "shared", "joint", fit_intercept=False, rows_per_product=rows_per_product)
    learner = Learner(settings, n_classes, D)
    X = rng.normal(size=(13, D))
    learner.learn(as_matrix(X[:12]), rng.integers(0, n_classes, 12).astype(np.int32))
    return learner, X[12], int(np.argmin(learner.mean() @ X[12]))


@pytest.mark.parametrize("rows_per_product", [None, 1])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("rule", ["arow", "cw_stdev", "gibbs_pa"])
def test_the_shared_covariance_is_the_nearest_to_the_updated_one(rule, n_classes, rows_per_product):
    learner, x, label = trained(rule, n_classes, rows_per_product)
    before, S = deepcopy(learner), learner.covariance_matrix()[0]
    scores = before.mean() @ x
    rival = max((k for k in range(n_classes) if k != label), key=lambda k: scores[k])
    answer = step(rule, scores[label] - scores[rival], 2 * x @ S @ x)
    assert answer is not None
    z = np.zeros((n_classes, D))
    z[label], z[rival] = x, -x
    precision = block_diag(*[np.linalg.inv(S)] * n_classes) + answer[1] * np.outer(z, z)
    learner.learn(as_matrix(x[None]), np.array([label], dtype=np.int32))
    np.testing.assert_allclose(learner.covariance_matrix()[0], nearest_shared(precision, n_classes), rtol=0, atol=1e-7)
    mean = before.mean() + answer[0] * z @ S
    np.testing.assert_allclose(learner.mean(), mean, rtol=0, atol=1e-12)


def test_a_label_set_counts_its_calibration_label():
    """Two pairs update a row; each gains 2/K of its precision, K the labels and the calibration label."""
    learner = Learner(Settings("arow", "shared", "multilabel", fit_intercept=False), 3, D)
    x = np.array([1.0, -0.5, 2.0])
    learner.learn(as_matrix(x[None]), np.array([1], dtype=np.int32), np.array([0, 1]))
    gained = 2 * (2 / 4) / 0.1  # zeta = 1/r of both pairs
    np.testing.assert_allclose(
        learner.covariance_matrix()[0], np.linalg.inv(np.eye(D) + gained * np.outer(x, x)), rtol=0, atol=1e-12
    )
