"""Numbers of labels in arrays: the compiled table and NumPy agree."""

import numpy as np
import pytest

from confidently import _core
from confidently.data.class_order import ClassOrder
from confidently.data.memory.labels import distinct_numbers

LABELS = {
    "few": [3, 1, 3, 3, 7], "negative": [-5, 0, -5, 900], "one": [2], "none": [], "in a wide range": [0, 10**6, 5],
    "at both ends": [np.iinfo(np.int64).min, np.iinfo(np.int64).max],
}  # fmt: skip


@pytest.mark.parametrize("case", LABELS)
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "uint64", "float64", "U20", ">i4"])
def test_distinct_classes_and_the_position_of_every_label(case, dtype):
    try:
        y = np.array(LABELS[case]).astype(dtype)
    except OverflowError:
        pytest.skip("not in the range of the type")
    classes, numbers = distinct_numbers(y)
    expected, positions = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(numbers, positions)
    assert numbers.dtype == np.int32
    assert classes.dtype == expected.dtype


def test_integers_far_apart_are_left_to_numpy():
    assert _core.distinct_numbers(np.array([0, 2000])) is None
    assert _core.distinct_numbers(np.array([0, 1000])) is not None


def test_numbers_of_known_classes():
    order = ClassOrder(np.array([7, 2, 5]))
    assert order.numbers_of(np.array([2, 7])).tolist() == [1, 0]
    assert order.numbers_of(np.array([2, 8])) is None
    assert order.numbers_of(np.array([1])) is None
    assert order.numbers_of(np.array(["2"])) is None
