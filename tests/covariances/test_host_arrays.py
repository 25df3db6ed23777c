"""Products in strips: equal to plain formulas, symmetric to the last bit, and shared by threads where large."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_info, threadpool_limits

from confidently.covariances import threads
from confidently.covariances.host_arrays import BlockUpdate, NumpyArrays
from confidently.covariances.settings import Settings
from confidently.covariances.threads import Crew, crew, one_blas_thread
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner

RANDOM = np.random.default_rng(0)
TOLERANCE = {"float64": 1e-12, "float32": 2e-4}


@pytest.fixture(params=[1, 2, 3, 5])
def arrays(request, monkeypatch):
    """Arrays whose products are shared by so many threads, however small they are."""
    monkeypatch.setattr(threads, "WORTHWHILE", 0)
    monkeypatch.setattr("confidently.covariances.host_arrays.WORTHWHILE", 0)
    found = Crew(request.param)
    yield NumpyArrays(found)
    found.close()


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.few
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", [1, 31, 150, 333])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
def test_products_equal_plain_formulas(arrays, n, d, dtype):
    left, right = (RANDOM.normal(size=shape).astype(dtype) for shape in ((n, n), (n, d)))
    out = arrays.empty("out", (n, d), np.dtype(dtype))
    arrays.multiply([(left, right, out)])
    np.testing.assert_allclose(out, left @ right, rtol=0, atol=TOLERANCE[dtype] * n)
    arrays.multiply([(left, right, out)], subtract=True)
    np.testing.assert_allclose(out, 0, atol=TOLERANCE[dtype] * n)

    s = np.eye(d, dtype=dtype)
    arrays.subtract_gram([(s, right)])
    np.testing.assert_allclose(s, np.eye(d) - right.T @ right, rtol=0, atol=TOLERANCE[dtype] * n)
    assert np.array_equal(s, s.T)


@pytest.mark.few
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("two_sides", [False, True])
@pytest.mark.parametrize("n", [1, 64, 65, 200])
def test_updates_solve_the_triangle(arrays, n, two_sides, dtype):
    G = RANDOM.normal(size=(300, 150)).astype(dtype)
    plus, minus = (RANDOM.permutation(300)[:n] for _ in range(2))
    lower = np.tril(RANDOM.normal(size=(n, n)) * 0.05, -1).astype(dtype)
    mean, size = RANDOM.normal(size=(2, n)).astype(dtype), RANDOM.uniform(size=n).astype(dtype)
    weights = RANDOM.normal(size=(150, 2)).astype(dtype)
    update = BlockUpdate(G, plus, minus if two_sides else None, lower, mean, size, weights.copy())
    z = G[plus] - G[minus] if two_sides else G[plus]
    expected = solve_triangular(np.eye(n) + lower, z, lower=True, unit_diagonal=True)
    Q = arrays.update([update])[0]
    scale = np.abs(expected).max() * n
    np.testing.assert_allclose(Q, size[:, None] * expected, rtol=0, atol=TOLERANCE[dtype] * scale)
    change = update.weights - weights
    np.testing.assert_allclose(change, (mean @ expected).T, rtol=0, atol=TOLERANCE[dtype] * scale)


def test_kept_arrays_are_used_again():
    arrays = NumpyArrays()
    large = arrays.empty("G", (4, 5), np.dtype("float64"))
    assert np.shares_memory(arrays.empty("G", (3, 5), np.dtype("float64")), large)
    assert not np.shares_memory(arrays.empty("H", (3, 5), np.dtype("float64")), large)
    assert arrays.empty("G", (4, 5), np.dtype("float32")).dtype == np.float32


# --- threads ----------------------------------------------------------------------------------------------------------


def test_every_blas_has_one_thread_while_a_crew_is_open():
    with threadpool_limits(2, "blas"):
        if blas_threads() != {2}:
            pytest.skip("the BLAS cannot have two threads")
        with crew() as found:
            assert (blas_threads(), found.threads) == ({1}, 2)
            with one_blas_thread() as more:
                assert more == 2
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        with pytest.raises(RuntimeError), crew():
            raise RuntimeError
        assert blas_threads() == {2}


def test_a_blas_of_one_thread_gets_no_crew():
    with threadpool_limits(1, "blas"), crew() as found:
        assert found.threads == 1


def test_the_limit_ends_with_the_last_learner_that_needs_it():
    inside, leave = threading.Barrier(2), threading.Event()

    def other():
        with one_blas_thread():
            inside.wait()
            leave.wait()

    before = blas_threads()
    with one_blas_thread():
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait()
    assert blas_threads() == {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.parametrize(("operations", "expected"), [(threads.WORTHWHILE / 2, 1), (2 * threads.WORTHWHILE, 2)])
def test_small_products_stay_in_the_calling_thread(operations, expected):
    seen, together = set(), threading.Barrier(expected)

    def task(number):
        together.wait(10)
        seen.add((number, threading.get_ident()))

    found = Crew(2)
    found.run([task] * 2, operations)
    found.close()
    assert {number for number, _ in seen} == set(range(expected))
    assert (0, threading.get_ident()) in seen
    assert len(seen) == expected


@pytest.mark.parametrize("fails_in", [0, 1])
def test_an_error_in_any_thread_reaches_the_caller(fails_in):
    together = threading.Barrier(2)

    def task(number):
        together.wait(10)
        if number == fails_in:
            raise OverflowError("too large")

    found = Crew(2)
    with pytest.raises(OverflowError, match="too large"):
        found.run([task, task], np.inf)
    found.run([lambda number: None] * 2, np.inf)  # and may go on
    found.close()


@pytest.mark.parametrize(("covariance", "task", "rule"), [("full", "binary", "arow"), ("full", "joint", "cw_stdev"),
    ("full", "one-vs-rest", "iellip"), ("shared", "softmax", "logistic")])  # fmt: skip
def test_threads_do_not_change_what_is_learned(monkeypatch, covariance, task, rule):
    X, y = RANDOM.normal(size=(400, 40)) / 6, RANDOM.integers(0, 2 if task == "binary" else 3, 400).astype(np.int32)
    settings = Settings(rule, covariance, task, rows_per_product=100)
    monkeypatch.setattr(threads, "WORTHWHILE", 0)
    monkeypatch.setattr("confidently.covariances.host_arrays.WORTHWHILE", 0)
    learners = []
    for n in (1, 2):
        with threadpool_limits(n, "blas"):
            learners.append(Learner(settings, 2 if task == "binary" else 3, 40))
            learners[-1].learn(as_matrix(X), y)
    one, two = learners
    assert one.updates == two.updates
    np.testing.assert_allclose(two.mean(), one.mean(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(two.covariance_matrix(), one.covariance_matrix(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("covariance", "task"), [("full", "binary"), ("full", "joint"), ("shared", "joint"), ("kernel", "joint")]
)
def test_learning_and_predicting_leave_the_blas_as_it_was(monkeypatch, covariance, task):
    X, y = RANDOM.normal(size=(60, 120)), RANDOM.integers(0, 2, 60).astype(np.int32)
    seen, multiply = set(), NumpyArrays.multiply

    def noted(self, *products, **options):
        seen.update(blas_threads())
        return multiply(self, *products, **options)

    monkeypatch.setattr(NumpyArrays, "multiply", noted)
    before = blas_threads()
    learner = Learner(Settings("arow", covariance, task), 2, 120)
    learner.learn(as_matrix(X), y)
    learner.margin_distribution(as_matrix(X))
    assert blas_threads() == before
    assert seen <= {1}
    assert seen or covariance == "kernel"
