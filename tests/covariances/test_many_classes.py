"""Thousands of classes: the same as few, by products of the columns that move; memory is looked for first."""

import numpy as np
import pytest

from confidently import OnlineClassifier
from confidently.covariances import batch_products, dense
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner

CLASSES = 300  # more than MANY_COLUMNS
COLUMNS = 120  # enough for products


def rows(n=900, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(CLASSES, size=n).astype(np.int32)
    return np.random.default_rng(1).normal(size=(CLASSES, COLUMNS))[y] + rng.normal(size=(n, COLUMNS)), y


@pytest.mark.few
@pytest.mark.parametrize("rows_per_product", [None, 150])  # by the core, and by NumPy
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("rule", "task"), [("arow", "joint"), ("cw_stdev", "joint"), ("logistic", "softmax")])
def test_a_block_moves_the_same_columns(rule, task, average, rows_per_product, monkeypatch):
    """What the others' columns would get is 0."""
    X, y = rows()
    settings = Settings(rule, "shared", task, average=average, rows_per_product=rows_per_product)
    found = []
    for many in (256, 10**9):
        monkeypatch.setattr(batch_products, "MANY_COLUMNS", many)
        monkeypatch.setattr(dense, "MANY_COLUMNS", many)
        learner = Learner(settings, CLASSES, COLUMNS)
        for first in range(0, len(X), 250):
            learner.learn(as_matrix(X[first : first + 250]), y[first : first + 250])
        found.append((learner.mistakes, learner.mean(), learner.decision(as_matrix(X))))
    (mistakes, mean, scores), (few_mistakes, few_mean, few_scores) = found
    assert mistakes == few_mistakes > CLASSES
    np.testing.assert_allclose(mean, few_mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scores, few_scores, rtol=1e-9, atol=1e-11)


def test_classes_beyond_the_memory_are_rejected_before_any_work():
    with pytest.raises(MemoryError, match="the weights of 10,000,001 features in 100,000 columns"):
        Learner(Settings("arow", "diag", "joint"), 100_000, 10**7)


def test_a_class_of_one_row_is_learned():
    X, y = rows(500)
    X, y = np.vstack([X, 3 * np.eye(1, COLUMNS)]), np.append(y, CLASSES)
    classifier = OnlineClassifier("arow", "shared", view=None)
    classifier.partial_fit(X, y, classes=np.arange(CLASSES + 1))
    assert classifier.predict(X[-1:])[0] == CLASSES
