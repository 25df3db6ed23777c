"""Dense covariances: the block a row is learned in changes the speed, never the result."""

import numpy as np
import pytest
from data_sets import load

from confidently import RULES
from confidently.learner import Learner
from confidently.matrix import as_matrix

SIZES = (1, 2, 7, 64, 256)
ROWS = 300
PRECISE = [rule for rule in RULES if Learner(rule).settings.rule.learns_precision]


def real_rows(name):
    """Rows and labels of two classes. No row comes twice: learned by a rule with a hard constraint it lies exactly on
    its margin, and rounding alone decides whether its copy is learned once more."""
    if name == "usps pair":
        X, y, _, _ = load("usps")
        X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)] == 8
    else:
        X, y, _, _ = load(name, 2 * ROWS, 10)
        y = y == y.max()
    dense = X.toarray() if hasattr(X, "toarray") else X
    first = np.sort(np.unique(dense, axis=0, return_index=True)[1])[:ROWS]
    return X[first], y[first].astype(np.int32)


def learned(rule, X, y, start=None, task="binary", one_by_one=False, classes=2, covariance="full", **options):
    learner = Learner(rule, covariance, task, classes, X.shape[1], **options)
    for part in np.array_split(np.arange(len(y)), len(y)) if one_by_one else [slice(None)]:
        learner.learn(as_matrix(X[part]), y[part])
    return learner


def decisions(learner):
    return learner.mistakes, learner.updates, learner.infeasible


@pytest.mark.parametrize("rule", PRECISE)
@pytest.mark.parametrize("name", ["usps pair", "a9a", "spambase"])
def test_any_block_size_and_single_rows_give_the_same(name, rule):
    X, y = real_rows(name)
    whole = learned(rule, X, y, block_size=1)
    assert whole.updates > 0
    others = [learned(rule, X, y, block_size=size) for size in SIZES[1:]]
    others.append(learned(rule, X, y, one_by_one=True))
    for other in others:
        assert decisions(other) == decisions(whole)
        np.testing.assert_allclose(other.mean(), whole.mean(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(other.covariance(), whole.covariance(), rtol=1e-9, atol=1e-9)
