"""The first training of a classifier keeps no copies for an error, after which there is no classifier."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from confidently import OnlineClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 6))
Y = (X[:, 0] > 0).astype(int)


def unsorted(X):
    """The same rows, with columns in descending order in the last one."""
    rows = csr_matrix(X)
    last = slice(rows.indptr[-2], rows.indptr[-1])
    rows.indices[last], rows.data[last] = rows.indices[last][::-1].copy(), rows.data[last][::-1].copy()
    return rows


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_row_out_of_order_does_not_teach_the_rows_before_twice(passes, shuffle):
    options = {"passes": passes, "shuffle": shuffle, "random_state": 0}
    expected = OnlineClassifier("arow", **options, view=None).fit(X, Y)
    found = OnlineClassifier("arow", **options, view=None).fit(unsorted(X), Y)
    for name, array in expected.learner_.state.items():
        np.testing.assert_array_equal(found.learner_.state[name], array, err_msg=name)
    assert found.learner_.undoes


def test_a_failed_first_training_leaves_nothing():
    bad = X.copy()
    bad[-1, 2] = np.nan
    model = OnlineClassifier("arow")
    for train in (model.fit, lambda rows, y: model.partial_fit(rows, y, [0, 1])):
        with pytest.raises(ValueError, match="NaN in row 49"):
            train(bad, Y)
        assert not hasattr(model, "learner_")


def test_later_training_is_undone():
    bad = X.copy()
    bad[-1, 2] = np.nan
    model = OnlineClassifier("arow").fit(X, Y)
    before = {name: array.copy() for name, array in model.learner_.state.items()}
    with pytest.raises(ValueError, match="NaN in row 49"):
        model.partial_fit(bad, Y)
    for name, array in before.items():
        np.testing.assert_array_equal(model.learner_.state[name], array)
