"""Margins of stacks: with probabilities of the same scores, to the last bit; their bounds; and how sure weights are."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from confidently import AutoClassifier, OnlineClassifier
from confidently.data.memory.matrix import as_matrix
from confidently.stack.members import WEIGHTS
from confidently.stack.stack import HESSIAN, OWN, SHARE

X, Y = load_digits(return_X_y=True)
X = X[:, 16:40]
ESTIMATORS = {
    "stack": AutoClassifier(), "view": OnlineClassifier(view="standard"), "full": OnlineClassifier(covariance="full"),
}  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_they_are_those_of_two_calls(name, n_classes):
    learner = ESTIMATORS[name].fit(X[:300], Y[:300] % n_classes).learner_
    rows = as_matrix(X[300:])
    found = learner.margins_and_probabilities(rows)
    expected = (*learner.top_margins(rows), learner.probabilities(rows))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_margin_of_the_two_best_classes_is_bounded_as_a_sum_is():
    """A standard deviation of a difference is at most the sum of both, whatever the correlation."""
    stack = AutoClassifier().fit(X[:300], Y[:300] % 4).learner_
    rows = as_matrix(X[300:])
    mean, variance = stack.margin_distribution(rows)
    margin, bound = stack.top_margins(rows)
    for i in range(len(margin)):
        first, second = sorted(range(4), key=lambda k, i=i: -mean[i, k])[:2]
        assert margin[i] == mean[i, first] - mean[i, second]
        assert bound[i] == pytest.approx((variance[i, first] ** 0.5 + variance[i, second] ** 0.5) ** 2)


def test_weights_are_as_sure_as_the_rows_make_them():
    """The damping is that of a prior deviation of .3; windows that differ make them less sure."""
    stack = AutoClassifier().fit(X[:300], Y[:300] % 2).learner_
    state = stack.state
    expected = np.zeros(len(stack.members))
    for share, own, hessian in zip(state[SHARE], state[OWN], state[HESSIAN], strict=True):
        precision = hessian + np.eye(len(stack.members)) / 0.3**2
        expected += share * (np.diag(np.linalg.inv(precision)) + (own - state[WEIGHTS]) ** 2)
    np.testing.assert_allclose(stack.weight_deviations() ** 2, expected, rtol=1e-9)
    state[HESSIAN][:], state[OWN][:] = 0.0, state[WEIGHTS]
    np.testing.assert_allclose(stack.weight_deviations(), 0.3)


def test_scores_of_members_are_bounded():
    """Whatever slope a calibration has, one member leaves the others a say."""
    learner = AutoClassifier().fit(X[:300], Y[:300] % 2).learner_
    learner.members[0].state["calibration"][0] = 1e9
    logits = learner.logits(as_matrix(X[300:]))
    assert np.abs(logits[0]).max() == 1000.0 > np.abs(logits[1:]).max()
    assert np.isfinite(learner.probabilities(as_matrix(X[300:]))).all()
