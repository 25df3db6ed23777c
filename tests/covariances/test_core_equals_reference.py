"""The compiled core equals the reference implementation, for every rule x covariance x task."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from confidently import _core
from confidently.covariances.settings import Settings
from confidently.covariances.table import COVARIANCES as KINDS
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.rules import RULES, make_rule
from tests.covariance_cases import OVER_WEIGHTS, has_task, serves
from tests.tables.tasks import MULTILABEL
from tests.twins.reference import COVARIANCES as REFERENCE_COVARIANCES
from tests.twins.reference import ReferenceLearner

TASKS = ("binary", "joint", "one-vs-rest", "softmax", *MULTILABEL)
CASES = [
    (rule, covariance, task)
    for rule in RULES
    for covariance in OVER_WEIGHTS
    for task in TASKS
    if serves(covariance, task) and has_task(rule, task)
]
RULES_AND_TASKS = [(rule, task) for rule in RULES for task in TASKS if has_task(rule, task)]
N_CLASSES = dict.fromkeys(TASKS, 4) | {"binary": 2}


def test_the_reference_has_every_covariance_of_the_core():
    complete = sorted(REFERENCE_COVARIANCES) == sorted(_core.covariance_names())
    assert complete, "COVARIANCES in tests/twins/reference.py and in core/covariances/table.hpp differ"


def noisy_rows(task, n=150, d=6, seed=0, norm=1.0):
    """Return sparse rows of about the given length, with labels that a linear model mostly predicts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X *= norm / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9) * rng.uniform(0.5, 1.0, (n, 1))
    scores = X @ rng.normal(size=(d, N_CLASSES[task])) + 0.1 * norm * rng.normal(size=(n, N_CLASSES[task]))
    if task in MULTILABEL:
        return X, [set(np.flatnonzero(row > 0.2 * norm)) for row in scores]
    return X, list((scores[:, 0] > 0).astype(int) if task == "binary" else scores.argmax(axis=1))


def core_labels(labels):
    """Return class numbers for the core and, if multilabel, the position of each row's first."""
    if not isinstance(labels[0], set):
        return np.array(labels, dtype=np.int32), None
    start = np.cumsum([0, *(len(label) for label in labels)])
    return np.array([k for label in labels for k in sorted(label)], dtype=np.int32), start


def twins(rule, covariance, task, d, prior_variance=1.0, **options):
    """Return a compiled learner and its reference."""
    learner = Learner(Settings(rule, covariance, task, prior_variance=prior_variance, **options), N_CLASSES[task], d)
    structure = covariance if rule.learns_precision else "identity"
    return learner, ReferenceLearner(
        rule.name, rule.get_params(), structure, task, N_CLASSES[task], d, prior_variance, **options
    )


def learner_columns(learner):
    """Return mean and variance, one row per column of the state, intercept last."""
    weights = learner.weights.astype(float)
    mean = weights[:, 0] - (weights[:, -1] / learner.n_seen if learner.settings.average else 0)
    roll = -1 if learner.settings.fit_intercept else 0
    return np.roll(mean, roll, axis=0).T, learner.column_variances()


def assert_twins_agree(learner, reference, tolerance=1e-8):
    assert learner.n_seen == reference.n_seen
    assert learner.mistakes == reference.mistakes
    assert learner.updates == reference.updates.sum()
    assert learner.infeasible == reference.infeasible
    mean, variance = learner_columns(learner)
    np.testing.assert_allclose(mean, reference.weights(), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(variance, reference.covariance.variances(), rtol=tolerance, atol=tolerance)


@pytest.mark.long("a slow twin of each rule")
@pytest.mark.few
@pytest.mark.parametrize(("rule", "covariance", "task"), CASES)
def test_core_equals_reference(rule, covariance, task):
    X, labels = noisy_rows(task)
    ids, start = core_labels(labels)
    learner, reference = twins(make_rule(rule), covariance, task, X.shape[1])
    reference.learn(X, labels)
    in_blocks = (
        [Learner(Settings(rule, covariance, task, rows_per_product=20), N_CLASSES[task], X.shape[1])]
        if KINDS[covariance].by_products
        else []
    )  # so few features go row by row otherwise
    for tried in (learner, *in_blocks):
        tried.learn(as_matrix(X), ids, start, calibrate=False)
        assert tried.updates > 0
        exact = tried is learner and covariance != "low_rank"
        assert_twins_agree(tried, reference, 1e-8 if exact else 1e-7)


@pytest.mark.few(1)
@pytest.mark.parametrize(("rule", "task"), RULES_AND_TASKS)
def test_options_equal_reference(rule, task):
    """Weights, averaging, another prior, an order, sparse float32 input and no intercept, in several calls."""
    X, labels = noisy_rows(task, seed=1)
    X = X.astype(np.float32).astype(np.float64)
    rng = np.random.default_rng(2)
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], size=len(X))
    order = rng.permutation(len(X))
    ids, start = core_labels(labels)
    learner, reference = twins(
        make_rule(rule), "diag", task, X.shape[1], prior_variance=0.7, average=True, fit_intercept=False
    )
    matrix = as_matrix(csr_matrix(X.astype(np.float32)))
    for part in (order[:1], order[1:90], order[90:]):
        learner.learn(matrix, ids, start, weight=weight, order=np.ascontiguousarray(part), calibrate=False)
    reference.learn(X[order], [labels[i] for i in order], weight[order])
    assert_twins_agree(learner, reference)
    decision = X @ reference.weights().T
    if task == "multilabel":
        decision = decision[:, 1:] - decision[:, :1]
    np.testing.assert_allclose(learner.decision(matrix).reshape(decision.shape), decision, rtol=1e-8, atol=1e-8)


def weighted_twins(rule, task, seed, n=80):
    """Return rows with weights, and a learner and its reference that average and have no intercept."""
    X, labels = noisy_rows(task, n=n, seed=seed)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], size=n)
    options = {"prior_variance": 0.7, "average": True, "fit_intercept": False}
    return X, labels, weight, *twins(make_rule(rule), "diag", task, X.shape[1], **options)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long("more seeds")) for seed in (1, 2, 3))])
@pytest.mark.parametrize(("rule", "task"), RULES_AND_TASKS)
def test_core_equals_reference_up_to_the_first_tie(rule, task, seed):
    """A tie is a decision that depends on rounding, for example where a hard rule leaves a margin at its threshold."""
    X, labels, weight, learner, reference = weighted_twins(rule, task, seed)
    reference.ties = []
    reference.learn(X, labels, weight)
    first = min([*reference.ties, len(X)])
    learner, reference = weighted_twins(rule, task, seed)[3:]
    if first:
        learner.learn(as_matrix(X[:first]), *core_labels(labels[:first]), weight=weight[:first], calibrate=False)
        reference.learn(X[:first], labels[:first], weight[:first])
        assert_twins_agree(learner, reference)


def test_pa_ties_at_its_margin_when_a_row_returns():
    """A step ends at margin 1, whatever the weight."""
    X, _, _, _, reference = weighted_twins("pa", "binary", 0)
    reference.ties = []
    reference.learn(X[[0, 0]], [1, 1], np.array([2.0, 1.0]))
    assert reference.ties == [1]


@pytest.mark.parametrize("task", ["joint", "one-vs-rest"])
def test_classes_without_rows_tie_in_the_core_and_in_the_reference(task):
    """Equal weights must give equal scores, also in a matrix product."""
    for seed in range(40):
        X, labels, weight, learner, reference = weighted_twins("pa2", task, seed, n=12)
        labels = [min(label, 1) for label in labels]
        learner.learn(as_matrix(X), *core_labels(labels), weight=weight, calibrate=False)
        reference.learn(X, labels, weight)
        assert (learner.mistakes, learner.updates) == (reference.mistakes, reference.updates.sum())


@pytest.mark.parametrize(
    ("rule", "task"),
    [(rule, task) for rule in ("arow", "cw_stdev", "iellip", "logistic") for task in TASKS if has_task(rule, task)],
)
def test_float32_state_is_close(rule, task):
    X, labels = noisy_rows(task, n=60)
    ids, start = core_labels(labels)
    wide, narrow = (
        Learner(Settings(rule, "diag", task, dtype=dtype), N_CLASSES[task], X.shape[1])
        for dtype in ("float64", "float32")
    )
    for learner in (wide, narrow):
        learner.learn(as_matrix(X), ids, start, calibrate=False)
    assert narrow.state["weights"].dtype == np.float32
    np.testing.assert_allclose(narrow.mean(), wide.mean(), rtol=1e-3, atol=1e-4)
