"""Margins and probabilities of the same scores: those of the two calls, to the last bit."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from confidently import AutoClassifier, OnlineClassifier
from confidently.data.memory.matrix import as_matrix

X, Y = load_digits(return_X_y=True)
ESTIMATORS = {
    "stack": AutoClassifier(), "view": OnlineClassifier(view="standard"), "full": OnlineClassifier(covariance="full"),
}  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_they_are_those_of_two_calls(name, n_classes):
    learner = ESTIMATORS[name].fit(X[:300], Y[:300] % n_classes).learner_
    rows = as_matrix(X[300:])
    found = learner.margins_and_probabilities(rows)
    expected = (*learner.top_margins(rows), learner.probabilities(rows))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
