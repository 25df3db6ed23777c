"""Kernel covariance: a linear kernel equals the full covariance; budget and memory are kept."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import rbf_kernel

from confidently import OnlineClassifier, memory
from confidently.covariances import kernel_budget
from confidently.covariances.kernel_functions import KernelFunction
from confidently.covariances.kernel_support import ROWS
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from tests.covariances.test_core_equals_reference import N_CLASSES, RULES_AND_TASKS, core_labels, noisy_rows
from tests.twins import kernel_budget as slow_budget


@pytest.mark.few(1)
@pytest.mark.parametrize(("rule", "task"), RULES_AND_TASKS)
def test_linear_kernel_is_full_covariance(rule, task):
    X, labels = noisy_rows(task, n=90, d=12, seed=3)
    ids, start = core_labels(labels)
    options, sizes = {"prior_variance": 0.7, "average": rule in ("arow", "pa"), "task": task}, (N_CLASSES[task], 12)
    full = Learner(Settings(rule, "full", **options), *sizes)
    kernel = Learner(Settings(rule, "kernel", kernel="linear", rows_per_product=20, **options), *sizes)
    for learner in (full, kernel):
        learner.learn(as_matrix(csr_matrix(X) if learner is kernel else X), ids, start)
    assert kernel.updates > 0
    assert (kernel.mistakes, kernel.updates, kernel.infeasible) == (full.mistakes, full.updates, full.infeasible)
    M = as_matrix(X)
    for got, expected in zip(kernel.margin_distribution(M), full.margin_distribution(M), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(kernel.probabilities(M), full.probabilities(M), rtol=1e-6, atol=1e-9)
    coefficients, support = kernel.dual()
    support = support.toarray() if hasattr(support, "toarray") else support
    scores = (X @ support.T + 1.0) @ coefficients.T
    if task == "multilabel":
        scores = scores[:, 1:] - scores[:, :1]
    np.testing.assert_allclose(kernel.decision(M).reshape(scores.shape), scores, rtol=1e-8, atol=1e-8)


def circles(n=400):
    X, y = make_circles(n, noise=0.1, factor=0.5, random_state=0)
    return X, y


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", rbf_kernel])
def test_kernels_separate_circles(kernel):
    X, y = circles()
    classifier = OnlineClassifier("arow", "kernel", kernel=kernel, kernel_params={"gamma": 2.0}).fit(X[:300], y[:300])
    assert classifier.score(X[300:], y[300:]) > 0.93
    assert OnlineClassifier("arow", "full").fit(X[:300], y[:300]).score(X[300:], y[300:]) < 0.7
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.decision_function(X), classifier.decision_function(X))


@pytest.mark.parametrize("rule", ["arow", "pa1", "gibbs_pa"])
def test_the_budget_is_kept_with_a_warning_and_little_loss(rule):
    X, y = circles(900)
    options = {"covariance": "kernel", "kernel_params": {"gamma": 2.0}}
    free = OnlineClassifier(rule, **options).fit(X[:600], y[:600])
    with pytest.warns(UserWarning, match="budget of 100 support rows is full"):
        kept = OnlineClassifier(rule, budget=100, **options).fit(X[:600], y[:600])
    assert len(kept.support_vectors_) == 100 < len(free.support_vectors_)
    assert kept.score(X[600:], y[600:]) > free.score(X[600:], y[600:]) - 0.05


def test_the_posterior_after_dropping_is_that_of_the_kept_rows():
    """Where every row updates, dropping support rows leaves the Gaussian process posterior of the kept rows."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 4)), rng.integers(0, 2, 40).astype(np.int32)
    learner = Learner(Settings("gibbs_pa", "kernel", budget=25, kernel_params={"gamma": 0.3}), n_features=4)
    with pytest.warns(UserWarning, match="budget"):
        learner.learn(as_matrix(X), y)
    state = learner.state
    unit = state["triangle"][0] + np.eye(25)
    information = unit @ np.diag(1 / state["gained"][0]) @ unit.T
    support = KernelFunction(learner.settings, 4).rows(*(state[name] for name in ROWS))
    T = rbf_kernel(support, gamma=0.3) + 1.0
    noise = information - T  # 1/zeta of each kept row on the diagonal, 0 elsewhere
    assert np.diag(noise).min() > 0
    np.testing.assert_allclose(noise - np.diag(np.diag(noise)), 0, atol=1e-8)
    own = np.ones(len(X)) * 2.0
    t = rbf_kernel(support, X, gamma=0.3) + 1.0
    expected = own - np.einsum("ij,ij->j", t, np.linalg.solve(T + np.diag(np.diag(noise)), t))
    np.testing.assert_allclose(learner.margin_distribution(as_matrix(X))[1], expected, rtol=1e-8)


@pytest.mark.long("factors made again at each of 1,200 rows")
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rule", "task", "options"),
    [
        ("arow", "binary", {}), ("cw_stdev", "joint", {"prior_variance": 0.3}),
        ("iellip", "one-vs-rest", {"average": True, "prior_variance": 0.3}),
        ("pa1", "joint", {}), ("logistic", "softmax", {}), ("arow", "multilabel", {}),
        ("arow", "joint", {"kernel": "linear"}),
        ("arow", "binary", {"kernel": "poly", "kernel_params": {"degree": 2}}),
    ],
)  # fmt: skip
def test_a_long_stream_within_a_budget_equals_factors_made_anew(monkeypatch, rule, task, options):
    """Through several times as many blocks as the inverse is kept for (REFRESH)."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1200, 5))
    X[600:620] = X[580:600]  # equal rows: a kernel without noise would be singular
    X[900] *= 5.0  # the largest kernel value of "linear" and "poly" changes, and with it the noise
    y = ((X[:, 0] * X[:, 1] > 0) + (X[:, 2] > 0.5) * (task != "binary")).astype(np.int32)
    start = np.arange(len(y) + 1) if task == "multilabel" else None
    learners = []
    for within_budget in (kernel_budget.KernelWithinBudget, slow_budget.KernelWithinBudget):
        monkeypatch.setattr(kernel_budget, "KernelWithinBudget", within_budget)
        classes = 2 if task == "binary" else 3
        learners.append(Learner(Settings(rule, "kernel", task, budget=60, rows_per_product=20, **options), classes, 5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            learners[-1].learn(as_matrix(X), y, label_start=start)
    quick, slow = learners
    assert (quick.mistakes, quick.updates) == (slow.mistakes, slow.updates)
    assert quick.state["dropped"] == slow.state["dropped"] > 3 * 16 * 5
    for name in ROWS:
        assert np.array_equal(quick.state[name], slow.state[name])
    for name in ("dual", "gained", "triangle"):
        scale = np.abs(slow.state[name]).max(initial=0.0)
        np.testing.assert_allclose(quick.state[name], slow.state[name], rtol=1e-5, atol=1e-6 * scale, err_msg=name)


def test_insufficient_memory_is_an_error_before_training(monkeypatch):
    X, y = circles(300)
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000)
    with pytest.raises(
        MemoryError, match=r"up to 300 support rows needs 2,160,000 bytes and 10,000 are available; use a budget"
    ):
        OnlineClassifier(covariance="kernel").fit(X, y)


def test_invalid_kernels_are_rejected():
    X, y = circles(50)
    with pytest.raises(ValueError, match="kernel must be a function of two matrices or one of"):
        OnlineClassifier(covariance="kernel", kernel="rfb").fit(X, y)
    with pytest.raises(ValueError, match="one number per pair"):
        OnlineClassifier(covariance="kernel", kernel=lambda a, b: np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="finite values"):
        OnlineClassifier(covariance="kernel", kernel=lambda a, b: np.full((len(a), len(b)), np.nan)).fit(X, y)
    with pytest.raises(ValueError, match="name all classes before the first row"):
        OnlineClassifier(covariance="kernel").partial_fit(X, y, [0, 1]).partial_fit(X, y, [0, 1, 2])
    with pytest.raises(AttributeError, match="no weights of features"):
        _ = OnlineClassifier(covariance="kernel").fit(X, y).coef_
    with pytest.raises(TypeError, match="cannot be saved"):
        OnlineClassifier(covariance="kernel", kernel=rbf_kernel).fit(X, y).save("never written")
