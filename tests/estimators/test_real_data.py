"""The compiled core and the reference implementation on real data: every rule and covariance, the same decisions.

Mistakes and updates are counted exactly; means and variances agree to TOLERANCE, relative and absolute: the two add
up the same products in different orders, and every update builds on the one before.
"""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.rules import RULES, make_rule
from tests.covariances.test_core_equals_reference import assert_twins_agree, core_labels
from tests.data_sets import load
from tests.twins.reference import ReferenceLearner

TOLERANCE = 1e-7

# (rows, columns) by set, task and covariance: few enough for the slow reference.
SIZES = {
    ("a9a", "binary", "diag"): (600, 123),
    ("a9a", "binary", "full"): (300, 123),
    ("a9a", "binary", "shared"): (200, 123),
    ("usps", "joint", "diag"): (300, 256),
    ("usps", "joint", "full"): (150, 16),
    ("usps", "joint", "shared"): (200, 64),
    ("usps", "one-vs-rest", "diag"): (60, 256),
    ("usps", "one-vs-rest", "full"): (60, 32),
    ("newsgroups", "joint", "diag"): (300, 64),
    ("newsgroups", "joint", "full"): (100, 8),
    ("newsgroups", "joint", "shared"): (200, 64),
    ("newsgroups", "one-vs-rest", "diag"): (60, 64),
    ("scene", "multilabel", "diag"): (200, 294),
    ("scene", "multilabel", "full"): (100, 16),
    ("scene", "multilabel", "shared"): (150, 64),
    ("scene", "multilabel-one-vs-rest", "diag"): (60, 294),
    ("scene", "multilabel-one-vs-rest", "full"): (60, 32),
}
HASHED = {"newsgroups": {"columns": 4096}}  # few enough that words meet again in the columns kept


def real_rows(name, n, columns):
    """The first rows with columns spread over all, dense, and labels as the reference takes them."""
    X, y, _, _ = load(name, train_rows=1000, test_rows=1, **HASHED.get(name, {}))
    X = csr_matrix(X).toarray()[:n, np.linspace(0, X.shape[1] - 1, columns).astype(int)]
    if y.ndim == 2:
        return X, [set(np.flatnonzero(row)) for row in y[:n]], y.shape[1]
    classes = np.unique(y)
    return X, list(np.searchsorted(classes, y[:n])), len(classes)


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("name", "task", "covariance"), SIZES)
def test_core_equals_reference_on_real_data(name, task, covariance, rule):
    X, labels, n_classes = real_rows(name, *SIZES[name, task, covariance])
    rule = make_rule(rule)
    learner = Learner(Settings(rule, covariance, task), n_classes, X.shape[1])
    structure = covariance if rule.learns_precision else "identity"
    reference = ReferenceLearner(rule.name, rule.get_params(), structure, task, n_classes, X.shape[1])
    learner.learn(as_matrix(csr_matrix(X)), *core_labels(labels), calibrate=False)
    reference.learn(X, labels)
    assert learner.mistakes > 0 and learner.updates > 0
    assert_twins_agree(learner, reference, TOLERANCE)
