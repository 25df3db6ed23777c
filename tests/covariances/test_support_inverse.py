"""The inverse of a kernel learner's support, and rows in slots, against what is computed anew."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from confidently.covariances.host_arrays import NumpyArrays
from confidently.covariances.kernel_functions import KernelFunction
from confidently.covariances.settings import Settings
from confidently.covariances.support_inverse import SupportInverse
from confidently.covariances.support_rows import SupportRows


@pytest.mark.parametrize(("n_dropped", "n_added"), [(3, 2), (2, 2), (0, 2), (3, 0), (0, 0)])
def test_an_inverse_whose_rows_are_replaced_is_that_of_the_rows_there(n_dropped, n_added):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(40, 40))
    whole = root @ root.T + np.eye(40)  # rows 0 to 19 are old ones, those after them new
    inverse = SupportInverse(24, NumpyArrays())
    slots = rng.permutation(24)[:20]
    inverse.renew(whole[:20, :20].copy(), slots)
    dropped, new = slots[:n_dropped], np.arange(20, 20 + n_added)
    free = np.setdiff1d(np.arange(24), slots[n_dropped:])[:n_added]
    rows = np.zeros((n_added, 24))
    rows[:, slots] = whole[np.ix_(new, np.arange(20))]
    projected = inverse.times(rows)
    inverse.replace(dropped, free, projected, whole[np.ix_(new, new)] - projected @ rows.T)
    now, at = np.concatenate([np.arange(n_dropped, 20), new]), np.concatenate([slots[n_dropped:], free])
    expected = np.zeros((24, 24))
    expected[np.ix_(at, at)] = np.linalg.inv(whole[np.ix_(now, now)])
    np.testing.assert_allclose(inverse.matrix, expected, atol=1e-12)


@pytest.mark.parametrize("density", [0.1, 0.9])
def test_rows_in_slots_come_back(density):
    X = csr_matrix(random_array((6, 30), density=density, rng=np.random.default_rng(1)))
    arrays = (X.data, X.indices, X.indptr.astype(np.int64))
    rows = SupportRows(KernelFunction(Settings("arow", "kernel", kernel="linear"), 30), arrays, 6)
    rows.grow(2)
    rows.put(np.array([7, 2]), arrays, np.array([5, 1]))
    expected = X.toarray()[[0, 1, 1, 3, 4, 5, 5]]
    found = rows.csr(np.array([0, 1, 2, 3, 4, 5, 7]))
    np.testing.assert_array_equal(csr_matrix(found, shape=(7, 30)).toarray(), expected)
    every = rows.matrix()
    every = every if isinstance(every, np.ndarray) else every.toarray()
    np.testing.assert_array_equal(every[[0, 1, 2, 3, 4, 5, 7]], expected)
