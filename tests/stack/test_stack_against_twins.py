"""Naive Bayes, the mixture and whole stacks against plain twins."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently import AROW, Logistic, _core
from confidently.covariances.examples import Examples, Progressive
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.learner.recipe import Recipe
from confidently.stack.choice import new_stack
from confidently.stack.members import COUNTERS, ROWS, WEIGHTS
from confidently.stack.naive_bayes import NaiveBayes
from confidently.stack.plan import Plan, plan
from confidently.stack.stack import HESSIAN, OWN, SHARE, Stack
from confidently.views.columns import Columns
from confidently.views.table import make_view
from tests.twins import stack as twins

N, D = 60, 9
OF_MIXTURE = (WEIGHTS, SHARE, OWN, HESSIAN, ROWS, COUNTERS)


def random_rows(generator):
    """Rows that have a third of the features, some none."""
    X = np.where(generator.random((N, D)) < 0.3, generator.normal(size=(N, D)), 0.0)
    return X, [{j: float(X[i, j]) for j in np.flatnonzero(X[i])} for i in range(N)]


def learn_as_a_member(learner, X, labels):
    """Train with the scores by the line recorded: without a correction."""
    examples = Examples(X, labels)
    columns = 1 if learner.n_classes == 2 else learner.n_classes
    with learner.begin(examples) as transaction:
        learner.train(examples, transaction, True, Progressive(None, np.zeros((len(labels), columns))))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_naive_bayes_is_that_of_the_twin(n_classes, weighted):
    generator = np.random.default_rng(n_classes)
    X, rows = random_rows(generator)
    labels = generator.integers(0, n_classes, N).astype(np.int32)
    w = generator.choice([0.0, 1.0, 2.5], N) if weighted else np.ones(N)
    member, twin = NaiveBayes(n_classes, D), twins.NaiveBayes(n_classes)
    matrix, expected = as_matrix(csr_array(X)), []
    for i in range(N):
        found = np.empty((1, member.columns))
        _core.naive_bayes_scores(member.state, as_matrix(csr_array(X[[i]])), found)
        assert found[0] == pytest.approx(twin.score(rows[i]), rel=1e-9, abs=1e-9)
        one = Examples(matrix, labels, weight=w, order=np.array([i]))
        with member.begin(one) as undo:
            member.train(one, undo, True, Progressive())
        if w[i] > 0:
            twin.learn(rows[i], int(labels[i]), w[i])
    expected = [twin.score(row) for row in rows]
    found = np.empty((N, member.columns))
    _core.naive_bayes_scores(member.state, matrix, found)
    assert found == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("columns", [1, 3, 7])
@pytest.mark.parametrize("members", [1, 4])
@pytest.mark.parametrize("size", [0.1, 3.0, 2000.0])
def test_the_mixture_is_that_of_the_twin(columns, members, size):
    generator = np.random.default_rng(members)
    logits = size * generator.normal(size=(members, N, columns))
    labels = generator.integers(0, max(columns, 2), N).astype(np.int32)
    w = generator.choice([0.5, 1.0, 3.0], N)
    stack, cost = Stack(recipes()[:1] * members), np.zeros(1)
    weights, share, own, hessian, rows, counters = arrays = [stack.state[name] for name in OF_MIXTURE]
    _core.mixture_learn(*arrays, logits, labels, w, cost)
    twin = twins.Mixture(members)
    mistakes, loss = 0, 0.0
    for i in range(N):
        p = twin.probabilities(logits[:, i])
        mistakes += p[labels[i]] <= np.delete(p, labels[i]).max()  # ties are mistakes
        loss -= log(max(twin.learn(logits[:, i], labels[i], w[i]), 1e-15))
    assert weights == pytest.approx(twin.weights, rel=1e-5, abs=1e-7)
    assert share == pytest.approx(twin.share, rel=1e-5, abs=1e-7)
    for i, window in enumerate(twin.windows):
        assert own[i] == pytest.approx(window.weights, rel=1e-5, abs=1e-7)
        assert hessian[i] == pytest.approx(window.hessian, rel=1e-5, abs=1e-7)
    assert cost[0] == pytest.approx(loss, rel=1e-9)
    assert counters.tolist() == [N, mistakes]
    assert rows[0] == w.sum()


def test_rows_without_weight_leave_the_mixture():
    arrays = [Stack(recipes()[:2]).state[name] for name in OF_MIXTURE]
    before = [array.copy() for array in arrays]
    _core.mixture_learn(*arrays, np.ones((2, 3, 1)), np.zeros(3, dtype=np.int32), np.zeros(3), None)
    assert all(np.array_equal(array, was) for array, was in zip(arrays, before, strict=True))


def recipes():
    return [
        plan(Recipe.of(AROW(r=0.1), make_view("standard")), "arow"),
        plan(Recipe.of(Logistic(), make_view("unit"), prior_variance=3.0), "logistic"),
        plan(Recipe.of(AROW(r=0.3), make_view("nb")), "nb"),
        Plan("naive Bayes", lambda n_classes, n_features, columns: NaiveBayes(n_classes, n_features)),
        plan(Recipe(AROW(r=0.1), "shared"), "shared"),
    ]


def logits_alone(member, X):
    return np.concatenate([member.logits_of(seen) for seen in member.seen_rows(X)])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_stack_is_its_members_and_the_mixture_of_what_they_said_before_each_label(n_classes):
    generator = np.random.default_rng(0)
    X, _ = random_rows(generator)
    labels = generator.integers(0, n_classes, N).astype(np.int32)
    stack = Stack(recipes(), n_classes=n_classes, n_features=D, columns=Columns.alike(D))
    alone = [one.make(n_classes, D, Columns.alike(D)) for one in recipes()]
    twin, mistakes, cost, loss = twins.Mixture(len(alone)), 0, np.zeros(1), 0.0
    matrix = as_matrix(X)
    stack.learn(matrix, labels, log_loss=cost)
    for i in range(N):
        row = as_matrix(X[[i]])
        logits = np.stack([logits_alone(member, row)[0] for member in alone])
        p = twin.probabilities(logits)
        mistakes += p[labels[i]] <= np.delete(p, labels[i]).max()
        loss -= log(twin.learn(logits, labels[i], 1.0))
        for member in alone:
            learn_as_a_member(member, row, labels[[i]])
    assert stack.state[WEIGHTS] == pytest.approx(twin.weights, rel=1e-6, abs=1e-9)
    assert stack.state[HESSIAN] == pytest.approx(np.array([w.hessian for w in twin.windows]), rel=1e-6, abs=1e-9)
    assert stack.state[SHARE] == pytest.approx(twin.share, rel=1e-6, abs=1e-9)
    assert (stack.n_seen, stack.mistakes) == (N, mistakes)
    assert cost[0] == pytest.approx(loss, rel=1e-9)
    for member, other in zip(stack.members, alone, strict=True):
        assert logits_alone(member, as_matrix(X)) == pytest.approx(
            logits_alone(other, as_matrix(X)), rel=1e-9, abs=1e-12
        )
    expected = [twin.probabilities(np.stack([logits_alone(m, as_matrix(X[[i]]))[0] for m in alone])) for i in range(N)]
    assert stack.probabilities(as_matrix(X)) == pytest.approx(np.array(expected), rel=1e-6)


@pytest.mark.parametrize("covariance", ["diag", "full", "shared"])
@pytest.mark.parametrize(("n_classes", "multiclass"), [(2, "joint"), (4, "joint"), (4, "one-vs-rest"), (4, "softmax")])
@pytest.mark.parametrize("rows_per_product", [None, 8])
def test_logits_of_training_are_those_predicted_before_the_label(covariance, n_classes, multiclass, rows_per_product):
    if (rows_per_product and covariance == "diag") or (covariance == "shared" and multiclass == "one-vs-rest"):
        pytest.skip("not a setting of this covariance")
    generator = np.random.default_rng(1)
    X, _ = random_rows(generator)
    labels = generator.integers(0, n_classes, N).astype(np.int32)
    rule = Logistic() if multiclass == "softmax" else AROW()
    task = multiclass if n_classes > 2 else "binary"
    settings = Settings(rule, covariance, task=task, rows_per_product=rows_per_product)
    learner, alone = Learner(settings, n_classes, D), Learner(settings, n_classes, D)
    order = generator.permutation(N)
    found = np.zeros((N, n_classes if n_classes > 2 else 1))
    examples = Examples(as_matrix(X), labels, order=order)
    with learner.begin(examples) as transaction:
        for first, last in ((0, 25), (25, N)):
            part = Progressive(None, found).block(first, last)
            learner.train(examples.part(first, last), transaction, True, part)
    for at, i in enumerate(order):
        row = as_matrix(X[[i]])
        assert found[at] == pytest.approx(logits_alone(alone, row)[0], rel=1e-6, abs=1e-9)
        learn_as_a_member(alone, row, labels[[i]])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_members_predict_together_what_each_predicts_alone(n_classes):
    """Also members that see the same rows, of which there are more than are made at a time."""
    generator = np.random.default_rng(3)
    X = as_matrix(generator.normal(size=(2500, D)))
    labels = generator.integers(0, n_classes, 2500).astype(np.int32)
    stack = new_stack(n_classes, D)
    stack.prepare(X)
    stack.learn(X, labels)
    assert len(stack.names) > len({member.view for member in stack.members})
    assert np.array_equal(stack.logits(X), [logits_alone(member, X) for member in stack.members])
    mean, variance = stack.margin_distribution(X)
    alone = [[m.logit_deviations_of(seen) for seen in m.seen_rows(X)] for m in stack.members]
    bound = np.tensordot(np.abs(stack.state[WEIGHTS]), [np.concatenate(of_member) for of_member in alone], 1)
    assert variance.reshape(2500, -1) == pytest.approx(bound**2)
    assert np.array_equal(mean, stack.decision(X))


def test_later_passes_count_mistakes_and_leave_calibrations_and_weights():
    generator = np.random.default_rng(2)
    X, _ = random_rows(generator)
    labels = (X[:, 0] > 0).astype(np.int32)
    stack = Stack(recipes(), n_classes=2, n_features=D, columns=Columns.alike(D))
    stack.learn(as_matrix(X), labels)
    weights, seen = stack.state[WEIGHTS].copy(), [m.state["calibration"].copy() for m in stack.members]
    members = stack.logits(as_matrix(X))
    before = stack.mistakes
    stack.learn(as_matrix(X), labels, calibrate=False)
    assert np.array_equal(stack.state[WEIGHTS], weights)
    assert all(np.array_equal(m.state["calibration"], was) for m, was in zip(stack.members, seen, strict=True))
    assert not any(map(np.array_equal, stack.logits(as_matrix(X)), members))
    assert stack.state[COUNTERS][0] == 2 * N
    assert before < stack.mistakes < 2 * before


def test_the_bound_of_the_variance_holds_for_members_that_are_one():
    """Members of the same Gaussian are fully correlated, so the bound is the variance."""
    generator = np.random.default_rng(3)
    X, _ = random_rows(generator)
    labels = (X[:, 0] > 0).astype(np.int32)
    twice = [plan(Recipe(AROW()), name) for name in ("one", "two")]
    stack = Stack(twice, n_classes=2, n_features=D)
    stack.learn(as_matrix(X), labels)
    alone = Learner(Settings(AROW()), 2, D)
    learn_as_a_member(alone, as_matrix(X), labels)
    variance = alone.margin_distribution(as_matrix(X))[1]
    a = alone.state["calibration"][0] / np.sqrt(1 + variance)
    total = stack.state[WEIGHTS].sum()
    assert stack.margin_distribution(as_matrix(X))[1] == pytest.approx((total * a) ** 2 * variance)
