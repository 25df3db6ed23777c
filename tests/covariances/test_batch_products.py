"""Dense covariances: the number of rows per product changes the speed, never the result."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from confidently import RULES, OnlineClassifier, _core, memory
from confidently.covariances import dense_state
from confidently.covariances import devices as arrays
from confidently.covariances.dense import Dense
from confidently.covariances.settings import Settings
from confidently.covariances.threads import one_blas_thread
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from tests.data_sets import load

SIZES = (1, 2, 7, 64, 256)
ROWS = 300
PRECISE = [rule for rule in RULES if Learner(Settings(rule)).settings.rule.learns_precision]


def real_rows(name):
    """Return distinct rows and labels of two classes.

    After an update by a rule with a hard constraint, a row lies exactly on its margin, so that rounding would decide
    whether a copy of it is an update.
    """
    if name == "usps pair":
        X, y, _, _ = load("usps")
        X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)] == 8
    else:
        X, y, _, _ = load(name, 2 * ROWS, 10)
        y = y == y.max()
    dense = X.toarray() if hasattr(X, "toarray") else X
    first = np.sort(np.unique(dense, axis=0, return_index=True)[1])[:ROWS]
    return X[first], y[first].astype(np.int32)


def learned(
    rule, X, y, start=None, task="binary", one_by_one=False, classes=2, covariance="full", device=None, **options
):
    learner = Learner(Settings(rule, covariance, task, **options), classes, X.shape[1], device=device)
    for part in np.array_split(np.arange(len(y)), len(y)) if one_by_one else [slice(None)]:
        learner.learn(as_matrix(X[part]), y[part], calibrate=False)
    return learner


def decisions(learner):
    return learner.mistakes, learner.updates, learner.infeasible


@pytest.mark.long("seven trainings on real data by each rule")
@pytest.mark.few(1)
@pytest.mark.parametrize("rule", PRECISE)
@pytest.mark.parametrize("name", ["usps pair", "a9a", "spambase"])
def test_rows_per_product_and_single_rows_give_the_same(name, rule):
    X, y = real_rows(name)
    whole = learned(rule, X, y, rows_per_product=1)
    assert whole.updates > 0
    others = [learned(rule, X, y, rows_per_product=size) for size in SIZES[1:]]
    others.append(learned(rule, X, y, one_by_one=True))
    for other in others:
        assert decisions(other) == decisions(whole)
        np.testing.assert_allclose(other.mean(), whole.mean(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(other.covariance_matrix(), whole.covariance_matrix(), rtol=1e-9, atol=1e-9)


@pytest.mark.long("ten classes of full covariances")
@pytest.mark.parametrize("covariance", ["full", "shared"])
@pytest.mark.parametrize("task", ["joint", "one-vs-rest", "softmax"])
def test_many_classes_in_blocks_and_row_by_row(covariance, task):
    if (covariance, task) == ("shared", "one-vs-rest"):
        pytest.skip("rejected, since a shared covariance couples the classes")
    X, y, _, _ = load("usps", 250, 10)
    X, y = X[:, ::8], (y - y.min()).astype(np.int32)
    options, rule = {"task": task, "classes": 10, "covariance": covariance}, "logistic" if task == "softmax" else "arow"
    whole = learned(rule, X, y, rows_per_product=1, **options)
    for other in (
        learned(rule, X, y, rows_per_product=64, **options),
        learned(rule, csr_matrix(X), y, **options),
    ):
        assert decisions(other) == decisions(whole)
        np.testing.assert_allclose(other.mean(), whole.mean(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(other.covariance_matrix(), whole.covariance_matrix(), rtol=1e-9, atol=1e-9)


@pytest.mark.long("full covariances row by row")
@pytest.mark.few(1)
@pytest.mark.parametrize(("covariance", "task"), [("full", "binary"), ("full", "joint"), ("full", "one-vs-rest"),
                                                  ("shared", "joint"), ("shared", "binary")])  # fmt: skip
@pytest.mark.parametrize("rule", ["arow", "cw_stdev", "iellip"])
def test_small_covariances_need_no_matrix_products(monkeypatch, rule, covariance, task):
    X, y, _, _ = load("usps", 150, 10)
    classes = 2 if task == "binary" else 4
    X, y = X[:, ::8], np.minimum(y - y.min(), classes - 1).astype(np.int32)
    options = {"task": task, "classes": classes, "covariance": covariance, "average": True}
    monkeypatch.setattr(dense_state, "SMALL", 0)
    whole, mixed = learned(rule, X, y, **options), learned(rule, X[:3], y[:3], one_by_one=True, **options)
    assert mixed.state["pending_rows"][0] > 0
    monkeypatch.setattr(dense_state, "SMALL", 4 * X.shape[1] + 4)
    monkeypatch.setattr("confidently.covariances.batch_products.ProductLearner.learn", None)
    mixed.learn(as_matrix(X[3:]), y[3:], calibrate=False)
    for other in (mixed, learned(rule, csr_matrix(X), y, **options)):
        assert decisions(other) == decisions(whole)
        np.testing.assert_allclose(other.mean(), whole.mean(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(other.covariance_matrix(), whole.covariance_matrix(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sparse_rows_are_multiplied_without_their_zeros(dtype):
    random = np.random.default_rng(0)
    rows = random.normal(size=(7, 200)).astype(dtype)
    numbers = [0, 1, 5, 6, 199, 200, 3]
    for row, n in zip(rows, numbers, strict=True):
        row[random.permutation(200)[n:]] = 0.0
    S, out = random.normal(size=(200, 90)).astype(dtype), np.full((7, 90), 7.0, dtype)
    sparse = np.array(numbers) < 0.03 * 200
    assert _core.multiply_sparse_rows(rows, S, out) == np.count_nonzero(~sparse)
    np.testing.assert_allclose(
        out[sparse], (rows.astype(float) @ S)[sparse], rtol=2e-5 if dtype == "float32" else 1e-12
    )
    assert (out[~sparse] == 7.0).all()


@pytest.mark.parametrize("pending", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("covariance", "task"), [("full", "binary"), ("full", "joint"), ("full", "one-vs-rest"),
                                                  ("shared", "joint")])  # fmt: skip
def test_blocks_of_sparse_and_dense_rows(monkeypatch, covariance, task, dtype, pending):
    """Every second row of words is sparse; one by one in the compiled loop, nothing is multiplied."""
    X, y, _, _ = load("newsgroups", 120, 10)
    X = X[:, np.argsort(-X.getnnz(axis=0), kind="stable")[:150]].astype(np.float64).tolil()
    for i in range(0, 120, 2):
        X[i, X.rows[i][3:]] = 0.0
    X = X.tocsr()
    classes = 2 if task == "binary" else 3
    y = (np.unique(y, return_inverse=True)[1] % classes).astype(np.int32)
    assert 30 < np.count_nonzero(X.getnnz(axis=1) < 0.03 * 150) < 90
    options = {"task": task, "classes": classes, "covariance": covariance, "dtype": dtype}
    if not pending or (covariance, task) == ("full", "joint"):
        monkeypatch.setattr(Dense, "is_pending", lambda *_: False)
    found = learned("arow", X, y, rows_per_product=30, **options)
    monkeypatch.setattr(dense_state, "SMALL", 1000)
    expected = learned("arow", X, y, **options)
    assert dtype == "float32" or decisions(found) == decisions(expected)
    tolerance = 1e-9 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(found.mean(), expected.mean(), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.covariance_matrix(), expected.covariance_matrix(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("a", [0.25, 16.0, 3.7])
@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_scaling_the_prior_scales_the_posterior(covariance, a):
    """Crammer et al. 2008, Lemma 3: CW-Stdev decides the same for (sqrt(a) mean, a Sigma) as for (mean, Sigma)."""
    X, y = real_rows("spambase")
    one, scaled = (
        learned("cw_stdev", X, y, covariance=covariance, prior_variance=prior, min_variance=1e-20) for prior in (1.0, a)
    )
    assert decisions(one) == decisions(scaled)
    np.testing.assert_allclose(scaled.mean(), np.sqrt(a) * one.mean(), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(scaled.covariance_matrix(), a * one.covariance_matrix(), rtol=1e-8, atol=1e-10 * a)


def test_reading_the_covariance_does_not_change_the_state():
    X, y = real_rows("a9a")
    untouched, queried = (Learner(Settings("arow", "full"), n_features=X.shape[1]) for _ in range(2))
    for i in range(60):
        for learner in (untouched, queried):
            learner.learn(as_matrix(X[i : i + 1]), y[i : i + 1], calibrate=False)
        queried.covariance_matrix(), queried.margin_distribution(as_matrix(X[:5]))
    assert queried.state["pending_rows"][0] > 0
    for name, array in untouched.state.items():
        assert array.tobytes() == queried.state[name].tobytes()
    assert np.array_equal(queried.covariance_matrix(), queried.covariance_matrix().swapaxes(1, 2))


@pytest.mark.long("full covariances of 256 columns")
@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("rule", "covariance", "task"),
    [
        ("arow", "full", "binary"), ("cw_stdev", "full", "binary"), ("iellip", "full", "one-vs-rest"),
        ("arow", "shared", "joint"), ("logistic", "full", "softmax"), ("logistic", "shared", "softmax"),
    ],
)  # fmt: skip
def test_pending_rows_equal_products_of_blocks(monkeypatch, rule, covariance, task, dtype):
    """On a shuffled pass over weighted rows, cut into calls, with averaging and calibration."""
    X, y, _, _ = load("usps", 400, 10)
    classes = 2 if task == "binary" else 4
    y, n = np.minimum(y - y.min(), classes - 1).astype(np.int32), len(y)
    rng = np.random.default_rng(0)
    order, weight = rng.permutation(n), rng.uniform(0.5, 2.0, n)
    learners = []
    for pending in (True, False):
        monkeypatch.setattr(Dense, "is_pending", lambda *_, pending=pending: pending)
        learner = Learner(Settings(rule, covariance, task, average=True, dtype=dtype), classes, X.shape[1])
        for part in np.split(order, [100, 101, 250]):
            learner.learn(as_matrix(X), y, weight=weight, order=part)
        learners.append(learner)
    pending, blocks = learners
    assert decisions(pending) == decisions(blocks)
    assert 0 < pending.state["pending_rows"] <= 32
    tolerance = 1e-9 if dtype == "float64" else 2e-3
    others = ("covariance", "pending", "block.")
    found, expected = (
        {name: array for name, array in one.state.items() if not name.startswith(others)}
        | {"Sigma": one.covariance_matrix()}
        for one in learners
    )
    for name, array in found.items():
        scale = np.abs(expected[name]).max(initial=0.0)
        if name == "conformal" and dtype == "float32":  # rounding moves a row to the bin beside its own
            assert np.abs(array - expected[name]).sum() < 0.02 * np.abs(array).sum()
            continue
        np.testing.assert_allclose(array, expected[name], rtol=tolerance, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("forget", [0.0, 0.02])
@pytest.mark.parametrize(("rule", "covariance", "task"), [("arow", "full", "binary"), ("iellip", "full", "one-vs-rest"),
                                                          ("logistic", "shared", "softmax")])  # fmt: skip
def test_pending_rows_are_the_same_for_any_cut_and_room(rule, covariance, task, forget, dtype):
    """Half of the rows are sparse; features that no row has are room, and take no part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 101)) * rng.choice([1.0, 0.02], 150)[:, None]
    X[::2] *= rng.random((75, 101)) < 0.1
    y, weight = rng.integers(0, 2 if task == "binary" else 3, 150).astype(np.int32), rng.integers(0, 3, 150) / 2.0
    expected = None
    for cut, room in ((150, 0), (1, 0), (7, 0), (13, 0 if forget else 30)):  # to forget, a whole matrix is inverted
        wide = np.pad(X, ((0, 0), (0, room)))
        learner = Learner(Settings(rule, covariance, task, forget=forget, dtype=dtype), int(y.max()) + 1, 101 + room)
        for first in range(0, 150, cut):
            part = slice(first, first + cut)
            learner.learn(as_matrix(wide[part], dtype), y[part], weight=weight[part])
        state = {"mean": learner.mean()[:, :101], "stored": learner.state["covariance"][:, :102, :102]}
        state |= {name: learner.state[name] for name in ("counters", "calibration", "conformal", "pending_rows")}
        expected = expected or state
        for name, array in state.items():
            np.testing.assert_array_equal(array, expected[name], err_msg=f"{name} {cut} {room}")


class ForeignArrays(arrays.NumpyArrays):
    """Simulates a device with its own memory by copying everything in both directions."""

    shares_memory = False

    def put(self, array):
        return array.copy()

    def get(self, array):
        return array.copy()


@pytest.mark.long("full covariances of 256 columns")
@pytest.mark.parametrize("task", ["binary", "joint"])
def test_products_on_another_device(monkeypatch, task):
    X, y = real_rows("usps pair")
    options = {"task": task, "covariance": "full" if task == "binary" else "shared"}
    monkeypatch.setattr(Dense, "is_pending", lambda *_: False)
    here = learned("cw_stdev", X, y, **options)
    monkeypatch.setattr("confidently.covariances.batch_products.namespace", lambda device, threads: ForeignArrays())
    with one_blas_thread():
        there = learned("cw_stdev", X, y, device="elsewhere", **options)
    for name, array in here.state.items():
        np.testing.assert_array_equal(array, there.state[name], err_msg=name)


TORCH_CASES = [("full", "binary"), ("full", "joint"), ("full", "one-vs-rest"), ("shared", "joint")]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", ["cw_stdev", "arow", "iellip"])
@pytest.mark.parametrize(("covariance", "task"), TORCH_CASES)
def test_products_by_torch(covariance, task, rule, dtype):
    """PyTorch on the CPU equals NumPy, for blocks and single rows, dense and sparse."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    X, y, _, _ = load("usps", 200, 10)
    classes = 2 if task == "binary" else 4
    X, y = X[:, ::4], np.minimum(y - y.min(), classes - 1).astype(np.int32)
    options = {"task": task, "classes": classes, "covariance": covariance, "average": True, "dtype": dtype}
    here = learned(rule, X, y, rows_per_product=50, **options)
    there = learned(rule, csr_matrix(X[:90]), y[:90], rows_per_product=50, device="cpu", **options)
    for i in range(90, 110):
        there.learn(as_matrix(X[i : i + 1]), y[i : i + 1], calibrate=False)
    there.learn(as_matrix(X[110:]), y[110:], calibrate=False)
    tolerance = 1e-9 if dtype == "float64" else 2e-4
    assert dtype == "float32" or decisions(here) == decisions(there)
    assert all(isinstance(array, np.ndarray) and array.flags.c_contiguous for array in there.state.values())
    np.testing.assert_allclose(there.mean(), here.mean(), rtol=tolerance, atol=tolerance * np.abs(here.mean()).max())
    np.testing.assert_allclose(there.covariance_matrix(), here.covariance_matrix(), rtol=tolerance, atol=tolerance)


def test_a_device_whose_package_is_not_installed():
    with pytest.raises(ImportError, match='device="cupy" needs cupy'):
        OnlineClassifier("arow", "full", device="cupy").fit(np.eye(4), [0, 1, 0, 1])


def test_insufficient_memory_is_an_error_before_allocation(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000_000)
    message = "over 20001 weights needs 3,200,320,008 bytes and 10,000,000 are available"
    with pytest.raises(MemoryError, match=message):
        OnlineClassifier("arow", "full").fit(csr_matrix((3, 20000)), [0, 1, 0])


# --- safety -----------------------------------------------------------------------------------------------------------


def awkward(kind, rng):
    """Return rows that make a covariance singular or badly scaled, and labels."""
    X = rng.normal(size=(400, 6))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(np.int32)
    if kind == "contradictions":
        return np.repeat(X[:20], 40, axis=0), np.tile([0, 1], 400).astype(np.int32)
    if kind == "constant and collinear":
        return np.column_stack([X, np.ones((400, 2)), X[:, :1] + X[:, 1:2], np.zeros(400)]), y
    return X * [1e6, 1e-6, 1.0, 1e3, 1e-3, 1.0], y


AWKWARD_LEARNERS = [
    ("full", "binary", None), ("full", "binary", 16), ("full", "joint", 16), ("full", "one-vs-rest", 16),
    ("shared", "joint", None), ("shared", "joint", 16),
]  # fmt: skip


@pytest.mark.few
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", ["cw_stdev", "cw_var", "arow", "nherd", "gibbs_pa_exact"])
@pytest.mark.parametrize("kind", ["contradictions", "constant and collinear", "badly scaled"])
@pytest.mark.parametrize(("covariance", "task", "rows_per_product"), AWKWARD_LEARNERS)
def test_awkward_rows_leave_a_finite_sensible_learner(covariance, task, rows_per_product, kind, rule, dtype):
    X, y = awkward(kind, np.random.default_rng(0))
    learner = learned(rule, X, y, dtype=dtype, covariance=covariance, task=task, rows_per_product=rows_per_product)
    assert all(np.isfinite(array).all() for array in learner.state.values())
    mean, variance = learner.margin_distribution(as_matrix(X, dtype))
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()
    sigma = learner.covariance_matrix().astype(np.float64)
    assert np.linalg.eigvalsh(sigma).min() > -2e-6 * np.abs(sigma).max()  # float32's rounding of the prior
    # columns of 1e6 leave single precision no digits of the variances that cw_var demands of margins: what it learns
    # depends on how the BLAS rounds
    if kind != "contradictions" and (kind, rule, dtype) != ("badly scaled", "cw_var", "float32"):
        assert (learner.predict(as_matrix(X, dtype)) == y).mean() > 0.75


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_long_stream_stays_close_to_the_inverse_of_its_precision(dtype):
    """If every row is an update of AROW, Sigma^-1 = I + (1/r) sum of x x', which is summed here without inversions."""
    rng = np.random.default_rng(0)
    learner, precision = Learner(Settings("arow", "full", fit_intercept=False, dtype=dtype), n_features=40), np.eye(40)
    for _ in range(20):
        X = rng.normal(size=(1000, 40)) * 0.02
        y = rng.integers(0, 2, 1000).astype(np.int32)
        learner.learn(as_matrix(X), y, calibrate=False)
        precision += 10.0 * X.T @ X
    assert learner.updates == 20_000  # the rows are short, so no margin reaches 1
    expected = np.linalg.inv(precision)
    tolerance = 1e-9 if dtype == "float64" else 2e-2
    found = learner.covariance_matrix()[0]
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
    assert np.linalg.eigvalsh(found).min() > 0


@pytest.mark.long("full covariances of 256 columns")
@pytest.mark.parametrize("numbers", [False, True])
def test_an_error_after_blocks_have_ended_leaves_the_matrices(numbers):
    """The core logs changes of a covariance, and normal equations are replaced: nothing else keeps them."""
    X, y, _, _ = load("usps", 200, 10)
    settings = Settings("ridge", "full", "regression") if numbers else Settings("arow", "full")
    learner = Learner(settings, 1 if numbers else 2, X.shape[1])
    labels = np.zeros(len(y), np.int32) if numbers else (y > y.mean()).astype(np.int32)
    targets = y[:, None].astype(np.float64) if numbers else None

    def learn(part, progress=None):
        own = None if targets is None else targets[part]
        learner.learn(as_matrix(X[part]), labels[part], targets=own, progress=progress)

    learn(slice(80))
    assert learner.state["pending_rows"] > 0
    before = {name: array.copy() for name, array in learner.state.items()}

    def interrupt(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(slice(80, None), interrupt)
    for name, array in before.items():
        np.testing.assert_array_equal(learner.state[name], array, err_msg=name)
    learn(slice(80, None))
    assert not np.array_equal(learner.state["covariance"], before["covariance"])
