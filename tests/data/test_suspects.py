"""What the core finds in the very first rows, compared with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.sparse import csr_array

from confidently import _core
from confidently.data.features import Strings
from confidently.data.memory.matrix import csr_matrix

EARLIEST, FRACTION = 50.0, 0.5
VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, -4.0, 2.5, 50.0, 51.0, 1e6, np.nan, np.inf, 1e200])


def expected(X):
    with np.errstate(all="ignore"):
        filled = X[:, (X != 0).any(axis=0)]
        numbers = np.flatnonzero((X != 0).any(axis=0))
        different = [len(np.unique(column)) == len(X) for column in filled.T]
        ids = [int(k) for k, new, column in zip(numbers, different, filled.T, strict=True) if new and is_whole(column)]
        late = numbers[(filled >= EARLIEST).all(axis=0)].tolist()
        squares = np.nan_to_num((filled**2).sum(axis=0), nan=np.nan, posinf=np.inf)
    total = squares.sum()
    best = int(np.nanargmax(squares)) if np.isfinite(squares).any() or np.isinf(squares).any() else -1
    dominant = int(numbers[best]) if best >= 0 and squares[best] > FRACTION * total else -1
    return len(numbers), ids, late, dominant


def is_whole(column):
    return bool((column == np.rint(column)).all())


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=5), elements=VALUES))
def test_suspects_are_those_of_numpy(X):
    sparse = csr_array(X)
    for matrix in (_core.dense(X), csr_matrix(sparse.data, sparse.indices, sparse.indptr, X.shape[1])):
        assert _core.suspects(matrix, EARLIEST, FRACTION) == expected(X)


def test_rows_without_values_have_no_suspects():
    assert _core.suspects(_core.dense(np.zeros((3, 2))), EARLIEST, FRACTION) == (0, [], [], -1)


@pytest.mark.parametrize("seed", range(5))
def test_entries_are_counted_by_column(seed):
    columns = np.random.default_rng(seed).integers(0, 50, 1000).astype(np.int32)
    np.testing.assert_array_equal(_core.column_counts(columns, 60), np.bincount(columns, minlength=60))


@given(st.lists(st.text(alphabet="a=:ü")))
def test_strings_with_a_character_are_found(strings):
    found = Strings.of(strings)
    assert found.having("=:").tolist() == [k for k, text in enumerate(strings) if "=" in text or ":" in text]
    assert list(Strings.joined([found, found])) == strings * 2 and list(found) == strings
