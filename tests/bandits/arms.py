"""Decisions of many arms, and models that are compared with one estimator per arm."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse import random as random_sparse

N_ARMS, N_FEATURES = 7, 40


def decisions(n, seed=0, n_arms=N_ARMS):
    random = np.random.default_rng(seed)
    X = csr_array(
        random_sparse(n, N_FEATURES, 0.15, format="csr", random_state=random, data_rvs=random.standard_normal)
    )
    return random.integers(n_arms, size=n), random.integers(2, size=n).astype(float), X


def assert_same_scores(models, per_arm, X):
    for found, expected in zip(models.scores(X), per_arm.scores(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
