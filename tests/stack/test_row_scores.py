"""One row at a time: the core scores it for all members with the same view in one call, as it scores many rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from tests.estimators.test_auto_classifier import words

N = 1100  # enough for views by quantiles


def table(n_classes):
    generator = np.random.default_rng(n_classes)
    X = generator.normal(size=(N + 20, 4)) * [1, 10, 0.1, 1]
    numbers = X[:, 0] + X[:, 2] * X[:, 3] * 10
    return X, np.searchsorted(np.quantile(numbers, np.arange(1, n_classes) / n_classes), numbers)


def labels():
    X, y = table(4)
    return X, np.column_stack([y > 0, y % 2, y == 3]).astype(int)


def text():
    X, y = words(3, 600)
    return csr_array(X), y


DATA = {"two classes": lambda: table(2), "three classes": lambda: table(3), "label sets": labels, "words": text}


def has_a_matrix(member):
    return isinstance(member, Learner) and member.covariance.couples_features


def scores(stack, X):
    """Return scores of rows together and of each by itself."""
    rows = [stack.logits(as_matrix(X[i : i + 1])) for i in range(X.shape[0])]
    return stack.logits(as_matrix(X)), np.concatenate(rows, axis=1)


@pytest.mark.long("a stack of each kind of data")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("data", DATA)
def test_a_row_has_the_scores_that_it_has_among_others(data, dtype):
    X, y = DATA[data]()
    n = X.shape[0] - 20
    stack = AutoClassifier(dtype=dtype).partial_fit(X[:n], y[:n], classes=np.unique(y)).learner_
    together, alone = scores(stack, X[n:])
    for k, member in enumerate(stack.members):
        if has_a_matrix(member):
            tolerance = 1e-12 if dtype == "float64" else 1e-4
            np.testing.assert_allclose(alone[k], together[k], rtol=tolerance, atol=tolerance, err_msg=stack.names[k])
        else:
            np.testing.assert_array_equal(alone[k], together[k], err_msg=stack.names[k])
    assert any(map(has_a_matrix, stack.members)) == (data in ("two classes", "three classes"))
    row, found = as_matrix(X[:1]), np.zeros((len(stack.members), 1, together.shape[2]))
    stack._bound.begin(stack.members, stack.rests)
    others = [[k] for k, member in enumerate(stack.members) if not isinstance(member, Learner)]
    assert stack._bound.score(row, found) == others  # naive Bayes is scored as many rows are


@pytest.mark.parametrize("targets", [1, 2])
def test_a_row_has_the_numbers_that_it_has_among_others(targets):
    X, _ = table(2)
    Y = np.column_stack([X[:, 0] + X[:, 2] * X[:, 3], 5 + X[:, 1]])[:, :targets]
    stack = AutoRegressor().partial_fit(X[:N], Y[:N]).learner_
    together, _ = stack.predictions(as_matrix(X[N:]), uncertain=False)
    alone = [stack.predictions(as_matrix(X[i : i + 1]), uncertain=False)[0] for i in range(N, N + 20)]
    np.testing.assert_array_equal(np.concatenate(alone, axis=2), together)
    row, found = as_matrix(X[:1]), np.zeros((len(stack.members), 1, targets))
    stack._bound.begin(stack.members, stack.rests)
    assert not stack._bound.score(row, found)


def test_counts_are_predicted_as_those_of_many_rows():
    X, _ = table(2)
    counts = np.random.default_rng(0).poisson(np.exp(X[:, :1]))
    stack = AutoRegressor([OnlineRegressor("poisson"), OnlineRegressor()]).partial_fit(X[:N], counts[:N]).learner_
    together, _ = stack.predictions(as_matrix(X[N:]), uncertain=False)
    alone = [stack.predictions(as_matrix(X[i : i + 1]), uncertain=False)[0] for i in range(N, N + 20)]
    np.testing.assert_allclose(np.concatenate(alone, axis=2), together, rtol=1e-12)


def test_products_that_training_did_not_have_are_scored_as_those_of_many_rows():
    X, y = table(2)
    X[:N, 3] = 0.0
    stack = AutoClassifier([OnlineClassifier(view="standard,pairs"), OnlineClassifier(view="pairs")])
    stack = stack.partial_fit(X[:N], y[:N], classes=[0, 1]).learner_
    found = np.zeros((2, 1, 1))
    stack._bound.begin(stack.members, stack.rests)
    assert stack._bound.score(as_matrix(X[N : N + 1]), found)
    together, alone = scores(stack, X[N:])
    np.testing.assert_array_equal(alone, together)


def test_rankings_and_kernels_are_scored_as_those_of_many_rows():
    X, Y = labels()
    ranking = AutoClassifier([OnlineClassifier(multiclass="joint", view="unit")]).partial_fit(X[:N], Y[:N]).learner_
    X, y = table(2)
    kernel = AutoClassifier([OnlineClassifier(covariance="kernel")]).partial_fit(X[:99], y[:99], [0, 1])
    for stack in (ranking, kernel.learner_):
        together, alone = scores(stack, X[N:])
        np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-12)


def test_a_row_is_checked():
    X, y = table(2)
    stack = AutoClassifier().partial_fit(X[:N], y[:N], classes=[0, 1]).learner_
    with pytest.raises(ValueError, match="5 columns, the learner 4 features"):
        stack.logits(as_matrix(np.ones((1, 5))))
    with pytest.raises(ValueError, match="X contains"):
        stack.logits(as_matrix(np.array([[0.0, np.nan, 0.0, 0.0]])))
