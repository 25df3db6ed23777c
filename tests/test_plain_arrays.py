"""Arrays of the core that need no NumPy do what those of NumPy do, over the same memory."""

import copy
import math
import os
import pickle
import subprocess
import sys
import threading
import warnings
from operator import getitem, setitem

import numpy as np
import pytest

from confidently import _core
from confidently.arrays import is_finite, type_of
from confidently.late import THREAD_SETTINGS, _Late

TYPES = ("float64", "float32", "int64", "int32", "uint32", "int8", "uint8")
SHAPES = [(0,), (1,), (5,), (0, 2), (4, 3), (3, 0, 2), (4, 2, 3), (5, 2, 1)]
INDEXES = [
    0, -1, 2, slice(None), slice(1, 3), slice(-2, None), slice(3, 1), slice(0, 100), slice(None, None, 2),
    slice(None, None, -1), (slice(None), 0), (slice(None), 1), (1, slice(None)), (slice(1, 3), slice(None), 0),
    (0, 1, 0), (0, 0, 0, 0), 99, -99, 2**70, "x", None, ..., (..., 0), [0, 1], 1.5, True,
]  # fmt: skip


def pair(shape: tuple[int, ...], dtype: str, seed: int = 0) -> tuple[_core.PlainArray, np.ndarray]:
    """A plain array and one of NumPy with the same numbers."""
    plain, numbers = _core.zeros(shape, dtype), np.random.default_rng(seed).integers(0, 100, shape)
    known = (numbers / 7 if dtype.startswith("float") else numbers).astype(dtype)
    np.asarray(plain)[...] = known
    return plain, known


def outcome(f, *arguments):
    """What a function returns, or the kind of its error."""
    try:
        return f(*arguments)
    except Exception as error:
        return type(error)


def same(found, expected) -> bool:
    if isinstance(expected, type) or isinstance(found, type):
        return found is expected
    return np.shape(found) == np.shape(expected) and bool((np.asarray(found) == np.asarray(expected)).all())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_they_know_what_they_are(shape, dtype):
    plain, known = pair(shape, dtype)
    assert isinstance(plain, _core.PlainArray) and not isinstance(plain, np.ndarray)
    for name in ("shape", "ndim", "size", "nbytes", "itemsize", "dtype", "T"):
        assert same(getattr(plain, name), getattr(known, name)), name
    assert (len(plain), type_of(plain)) == (len(known), dtype)
    view = np.asarray(plain)
    assert view.dtype == dtype and view.flags.writeable and view.flags.c_contiguous
    assert plain.data.c_contiguous and not plain.data.readonly
    assert same(plain.tolist(), known.tolist()) and same(list(plain), list(known))
    for copied in (plain.copy(), copy.copy(plain), copy.deepcopy(plain), pickle.loads(pickle.dumps(plain))):
        assert same(copied, known) and not np.shares_memory(np.asarray(copied), view)


@pytest.mark.parametrize("index", INDEXES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_they_are_indexed_as_those_of_numpy(shape, index):
    plain, known = pair(shape, "float64")
    found, expected = outcome(getitem, plain, index), outcome(getitem, known, index)
    assert same(found, expected)
    if isinstance(found, _core.PlainArray):
        assert same(found.copy(), expected)
        if found.size:
            assert found.data.c_contiguous == expected.flags.c_contiguous
            assert np.shares_memory(np.asarray(found), np.asarray(plain))
            assert found.min() == expected.min() and found.max() == expected.max()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("value", [3, 2.5, -1, 300, 2**40, math.nan, "x", None, [1, 2], True], ids=str)
@pytest.mark.parametrize("index", INDEXES, ids=str)
def test_they_are_written_to_as_those_of_numpy(dtype, value, index):
    for shape in SHAPES:
        plain, known = pair(shape, dtype)
        with np.errstate(all="ignore"):
            assert outcome(setitem, plain, index, value) == outcome(setitem, known, index, value), shape
        np.testing.assert_array_equal(np.asarray(plain), known)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("given", TYPES)
def test_arrays_are_written_into_them(dtype, given):
    for shape, index, from_shape in [
        ((6,), slice(1, 4), (3,)), ((6,), slice(1, 4), (1,)), ((6,), slice(1, 4), (2,)), ((6,), 1, (1,)),
        ((4, 2, 3), (slice(None), 1), (3,)), ((4, 2, 3), (slice(None), 1), (1,)), ((4, 2, 3), slice(2, 4), (2, 2, 3)),
        ((4, 2, 3), slice(None), (4, 1, 3)), ((4, 2, 3), (slice(None), 1), (4, 3)), ((0, 2), slice(None), (0, 2)),
    ]:  # fmt: skip
        (plain, known), (value, expected) = pair(shape, dtype), pair(from_shape, given, seed=1)
        done = outcome(setitem, plain, index, value), outcome(setitem, known, index, expected)
        assert done[0] == done[1], (shape, from_shape)
        np.testing.assert_array_equal(np.asarray(plain), known)
    whole, known = pair((6,), dtype)
    whole[1:] = whole[:-1]  # which overlap
    known[1:] = known[:-1].copy()
    np.testing.assert_array_equal(np.asarray(whole), known)


@pytest.mark.parametrize("dtype", TYPES)
def test_operators_are_those_of_numpy(dtype):
    plain, known = pair((4, 3), dtype)
    other, numbers = pair((3,), "int32", seed=1)
    for f in (
        lambda a, b: a + 2, lambda a, b: a - 2, lambda a, b: 2 - a, lambda a, b: a + b, lambda a, b: b - a,
        lambda a, b: a * 2.5, lambda a, b: a / 3, lambda a, b: a // 3, lambda a, b: a % 3, lambda a, b: a**2,
        lambda a, b: 2**b, lambda a, b: a @ b, lambda a, b: -b, lambda a, b: +a, lambda a, b: abs(a),
        lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a >= 3, lambda a, b: ~b,
        lambda a, b: b & 3, lambda a, b: b | 1, lambda a, b: b ^ 1, lambda a, b: 5 in b, lambda a, b: bool(a),
        lambda a, b: float(b[:1]), lambda a, b: a.sum(), lambda a, b: a.astype("float32"), lambda a, b: np.sqrt(b),
        lambda a, b: a.reshape(-1, 2), lambda a, b: a.reshape(-1, 5), lambda a, b: a.reshape((3, 4)),
        lambda a, b: hash(a),
        lambda a, b: a.max(axis=0), lambda a, b: a[:0].min(), lambda a, b: a[:0].min(initial=3), lambda a, b: a.nothing,
        lambda a, b: repr(b), lambda a, b: str(b), lambda a, b: f"{b}", lambda a, b: np.concatenate([b, b]),
    ):  # fmt: skip
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            assert same(outcome(f, plain, other), outcome(f, known, numbers))
    before = np.asarray(plain)
    plain *= 1
    assert np.shares_memory(plain, before)


def test_the_smallest_and_the_largest_number_is_nan_if_there_is_one():
    for place in range(3):
        array = _core.zeros((3,), "float64")
        array[place] = math.nan
        assert math.isnan(array.min()) and math.isnan(array.max()) and not is_finite(array)
    array[2] = math.inf
    assert not is_finite(array) and is_finite(array[:2]) and is_finite(array[:0])


def test_labels_are_numbered_anew():
    table, labels = pair((4,), "int32")[0], _core.zeros((3,), "int32")
    labels[0], labels[2] = 3, 1
    assert same(table[labels], np.asarray(table)[np.asarray(labels)])
    labels[1] = 4
    with pytest.raises(IndexError):
        table[labels]


def test_arrays_are_joined_and_numbered():
    parts = [pair((n,), "int64", seed=n)[0] for n in (3, 0, 2)]
    assert same(_core.joined(parts), np.concatenate([np.asarray(part) for part in parts]))
    assert same(
        _core.joined([parts[0][1:], parts[2]]), np.concatenate([np.asarray(parts[0])[1:], np.asarray(parts[2])])
    )
    rows = [pair((n, 3), "float64", seed=n)[0] for n in (2, 0, 4)]
    assert same(_core.joined([*rows, rows[0][1:]]), np.concatenate([np.asarray(part) for part in [*rows, rows[0][1:]]]))
    assert same(_core.joined([rows[0][:, :2], rows[2][:, 1:]]), np.concatenate([rows[0][:, :2], rows[2][:, 1:]]))
    assert _core.numbered(3, 6).tolist() == [3, 4, 5] and _core.numbered(3, 3).tolist() == []
    assert _core.zeros((2, 3), "int8").zeros_like(4).shape == (4, 3)
    for wrong in (
        [], [parts[0], _core.zeros((1,), "int32")], [_core.zeros((), "int64")], [np.zeros(2)],
        [parts[0], _core.zeros((3, 1), "int64")], [rows[0], _core.zeros((2, 2), "float64")],
    ):  # fmt: skip
        with pytest.raises(ValueError, match="join"):
            _core.joined(wrong)
    with pytest.raises(ValueError, match="above"):
        _core.numbered(2, 1)


@pytest.mark.parametrize(
    ("shape", "dtype", "error"),
    [
        ((-1,), "float64", ValueError), ((1, 1, 1, 1), "float64", ValueError), ((1,), "float16", ValueError),
        ((2**40, 2**40), "float64", MemoryError), ((2**61,), "float64", MemoryError),
    ],
)  # fmt: skip
def test_impossible_shapes_are_refused(shape, dtype, error):
    with pytest.raises(error):
        _core.zeros(shape, dtype)


def test_arrays_over_bytes_share_them_if_they_fit():
    data = bytearray(np.arange(6.0).tobytes())
    array = _core.over(data, (2, 3), "float64")
    array[1, 2] = 7.0
    assert np.frombuffer(data)[5] == 7.0
    with pytest.raises(BufferError):
        data.clear()  # which the array holds
    for wrong in ((2, 2), (3, 3), (-2, -3), (2**62, 2**62, 0), (2**32, 2**32)):
        with pytest.raises((ValueError, MemoryError)):
            _core.over(data, wrong, "float64")
    with pytest.raises(BufferError):
        _core.over(bytes(data), (2, 3), "float64")


def in_a_new_process(code: str, **environment: str) -> str:
    kept = {name: text for name, text in os.environ.items() if name not in THREAD_SETTINGS}
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_numpy_is_imported_when_it_is_first_used():
    code = (
        "import sys; from confidently.arrays import zeros; from confidently.late import numpy as np; "
        "array = zeros((3,)); array[1] = 2.0; print('numpy' in sys.modules, type(array).__name__); "
        "print(np.sqrt(array[1]), 'numpy' in sys.modules, type(zeros((3,))).__name__, np.linalg.norm(array))"
    )
    assert in_a_new_process(code).splitlines() == ["False PlainArray", "1.4142135623730951 True ndarray 2.0"]


def test_numpy_is_imported_once_by_several_threads():
    late, found = _Late("numpy"), []
    threads = [threading.Thread(target=lambda: found.append(late.zeros)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [np.zeros] * 8
    with pytest.raises(AttributeError, match="nothing"):
        late.nothing  # noqa: B018


@pytest.mark.parametrize(("given", "expected"), [({}, "1"), ({"OMP_NUM_THREADS": "2"}, "None")])
def test_without_threads_of_its_blas(given, expected):
    code = (
        "import os, sys; from confidently import late; late.without_blas_threads(); seen = []; "
        "sys.addaudithook(lambda name, at: name == 'import' and at[0].startswith('numpy.') and "
        "seen.append(os.environ.get('OPENBLAS_NUM_THREADS'))); before = dict(os.environ); late.numpy.pi; "
        "assert dict(os.environ) == before; print(seen[0])"
    )
    assert in_a_new_process(code, **given) == expected


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_rows_are_written_to_rows(dtype):
    whole, expected = pair((6, 2, 3), dtype)
    some, same_rows = pair((3, 2, 3), dtype, seed=1)
    where = _core.zeros((3,), "int64")
    np.asarray(where)[:] = 4, 0, 5
    whole[where] = some
    expected[[4, 0, 5]] = same_rows
    assert same(whole, expected)
    for wrong in (_core.zeros((2, 2, 3), dtype), _core.zeros((3, 2, 2), dtype)):
        with pytest.raises(ValueError, match="shape"):  # by NumPy
            whole[where] = wrong
    where[1] = 6
    with pytest.raises(IndexError):
        whole[where] = some
    assert same(whole, expected)
    where[1] = 1
    whole[where] = whole[:3]  # over the same memory, and other types: by NumPy
    expected[[4, 1, 5]] = expected[:3].copy()
    assert same(whole, expected)
