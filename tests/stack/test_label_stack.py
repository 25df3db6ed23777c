"""Stacks of label sets: the mixtures against a twin, members' logits, labels that come later, decisions, errors."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from confidently import AROW, Logistic, _core
from confidently.covariances.examples import Examples, Progressive
from confidently.data.memory.matrix import as_matrix
from confidently.learner.recipe import Recipe
from confidently.stack.choice import new_stack
from confidently.stack.label_stack import LABEL_COUNTS, OF_MIXTURES, LabelStack
from confidently.stack.members import COUNTERS, ROWS_PER_STRIDE, WEIGHTS
from confidently.stack.plan import plan
from confidently.stack.stack import HESSIAN, OWN, SHARE
from confidently.views.columns import ZERO, Columns
from confidently.views.table import make_view
from tests.stack.test_members import arrays, assert_equal
from tests.twins.stack import LabelMixtures

N, D, LABELS = 80, 6, 4


def recipes():
    return [
        plan(Recipe.of(AROW(r=0.1), make_view("standard")), "arow", multilabel=True),
        plan(Recipe.of(Logistic(), make_view("unit"), prior_variance=3.0), "logistic", multilabel=True),
        plan(Recipe.of(AROW(), multiclass="joint"), "ranked", multilabel=True),
        plan(Recipe(AROW(r=0.5), "shared"), "shared", multilabel=True),
        plan(Recipe(AROW(r=0.5), "full"), "full", multilabel=True),
    ]


def label_sets(n=N, labels=LABELS, seed=0):
    """Rows, the labels of each, among them none and all, and where these start."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, D))
    relevant = X[:, :labels] + 0.5 * generator.normal(size=(n, labels)) > 0.6
    relevant[0], relevant[1] = False, True
    start = np.append(0, relevant.sum(axis=1).cumsum())
    return as_matrix(X), relevant, np.nonzero(relevant)[1].astype(np.int32), start


def stack_of(labels=LABELS, members=None):
    return LabelStack(members or recipes(), n_classes=labels, n_features=D, columns=Columns.alike(D, ZERO))


def assert_is_twin(state, twin):
    for k, mixture in enumerate(twin.mixtures):
        assert state[WEIGHTS][k] == pytest.approx(mixture.weights, rel=1e-5, abs=1e-7)
        assert state[SHARE][k] == pytest.approx(mixture.share, rel=1e-5, abs=1e-7)
        for i, window in enumerate(mixture.windows):
            assert state[OWN][k, i] == pytest.approx(window.weights, rel=1e-5, abs=1e-7)
            assert state[HESSIAN][k, i] == pytest.approx(
                window.hessian, rel=1e-4, abs=1e-7
            )  # of large logits, digits cancel
    counts = np.column_stack([twin.hits, twin.chances])
    assert state[LABEL_COUNTS] == pytest.approx(counts)


@pytest.mark.parametrize("members", [1, 4])
@pytest.mark.parametrize("size", [0.1, 3.0, 2000.0])
def test_the_mixtures_are_those_of_the_twin(members, size):
    generator = np.random.default_rng(members)
    _, relevant, labels, start = label_sets()
    logits, w = size * generator.normal(size=(members, N, LABELS)), generator.choice([0.5, 1.0, 3.0], N)
    state, cost = stack_of(members=recipes()[:1] * members).state, np.zeros(1)
    _core.label_mixtures_learn(*(state[name] for name in OF_MIXTURES), state[COUNTERS], logits, labels, start, w, cost)
    twin, mistakes, loss = LabelMixtures(members, LABELS), 0, 0.0
    for i in range(N):
        scores = twin.scores(logits[:, i])
        has = relevant[i]
        mistakes += scores[has].min(initial=np.inf) <= scores[~has].max(initial=-np.inf)
        p = twin.learn(logits[:, i], has, w[i])
        loss -= sum(log(max(q, 1e-15)) for q in np.where(has, p, 1 - p))
    assert_is_twin(state, twin)
    assert state[COUNTERS].tolist() == [N, mistakes]
    assert cost[0] == pytest.approx(loss, rel=1e-6)


def logits_alone(member, X):
    return np.concatenate([member.logits_of(seen) for seen in member.seen_rows(X)])


def test_a_stack_is_its_members_and_the_mixtures_of_what_they_said_before_each_row():
    X, relevant, labels, start = label_sets()
    stack, cost = stack_of(), np.zeros(1)
    alone = [one.make(LABELS, D, Columns.alike(D, ZERO)) for one in recipes()]
    twin, loss, rows = LabelMixtures(len(alone), LABELS), 0.0, [as_matrix(label_sets_rows()[[i]]) for i in range(N)]
    stack.learn(X, labels, start, log_loss=cost)
    for i, row in enumerate(rows):
        p = twin.learn(np.stack([logits_alone(member, row)[0] for member in alone]), relevant[i], 1.0)
        loss -= np.log(np.where(relevant[i], p, 1 - p)).sum()
        own = labels[start[i] : start[i + 1]]
        one = Examples(row, own, np.array([0, len(own)]))
        for member in alone:
            with member.begin(one) as transaction:
                member.train(one, transaction, True, Progressive(None, np.zeros((1, LABELS))))
    assert_is_twin(stack.state, twin)
    assert cost[0] == pytest.approx(loss, rel=1e-6)
    logits = np.stack([logits_alone(member, X) for member in alone])
    assert stack.logits(X) == pytest.approx(logits, rel=1e-6, abs=1e-9)
    scores = np.array([twin.scores(logits[:, i]) for i in range(N)])
    assert stack.decision(X) == pytest.approx(scores, rel=1e-6, abs=1e-9)
    assert stack.probabilities(X) == pytest.approx(1 / (1 + np.exp(-scores)), rel=1e-6)
    assert stack.label_threshold == pytest.approx(twin.threshold)
    assert np.array_equal(stack.predict(X), stack.probabilities(X) > stack.label_threshold)


def label_sets_rows():
    return np.random.default_rng(0).normal(size=(N, D))


def test_a_row_is_learned_alike_alone_and_among_others():
    X, _, labels, start = label_sets()
    one, other = stack_of(), stack_of()
    one.learn(X, labels, start)
    for first, last in ((0, 1), (1, 30), (30, N)):
        other.learn(X, labels, start, order=np.arange(first, last))
    assert_equal(arrays(other), arrays(one))


@pytest.mark.parametrize("kept", [1, 700])
def test_results_do_not_depend_on_how_many_rows_are_kept_at_a_time(kept, monkeypatch):
    """Where labels are many, fewer rows are kept."""
    X, _, labels, start = label_sets()
    one, other, done = stack_of(), stack_of(), []
    one.learn(X, labels, start)
    monkeypatch.setattr("confidently.stack.members.MAX_OUTPUTS", kept)
    other.learn(X, labels, start, progress=done.append)
    assert done[0] == max(1, kept // (len(other.members) * LABELS))
    assert_equal(arrays(other), arrays(one))


def test_a_label_that_comes_later_begins_at_the_prior():
    X, _, labels, start = label_sets()
    few = labels < 3
    begin = np.append(0, few.cumsum())[start]
    stack = stack_of(3)
    stack.learn(X, labels[few], begin)
    known = {name: stack.state[name].copy() for name in OF_MIXTURES}
    stack.grow(n_classes=4)
    fresh = stack_of(1).state
    for name in OF_MIXTURES:
        assert np.array_equal(stack.state[name][:3], known[name])
        assert np.array_equal(stack.state[name][3:], fresh[name])
    stack.learn(X, labels, start)
    assert stack.predict(X).shape == (N, 4)


def test_an_error_undoes_what_the_mixtures_have_learned_in_strides_before_it():
    n = 2 * ROWS_PER_STRIDE
    stack, cost = stack_of(), np.ones(1)
    X, _, labels, start = label_sets(n)
    stack.learn(X, labels, start, order=np.arange(300))
    before = arrays(stack)

    def interrupt(done):
        assert stack.state[COUNTERS][0] == 300 + done
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stack.learn(X, labels, start, log_loss=cost, progress=interrupt)
    assert_equal(arrays(stack), before)
    assert cost == [1.0]


def test_later_passes_leave_the_mixtures():
    X, _, labels, start = label_sets()
    stack = stack_of()
    stack.learn(X, labels, start)
    before = {name: stack.state[name].copy() for name in OF_MIXTURES}
    stack.learn(X, labels, start, calibrate=False)
    assert all(np.array_equal(stack.state[name], array) for name, array in before.items())
    assert stack.n_seen == 2 * N


def test_one_surprising_row_of_a_rare_label_leaves_it_rare():
    """All members are sure that no row has the label; each of their weights could fall by .5."""
    stack = stack_of(1, recipes()[:1] * 5)
    logits, start = np.full((5, 251, 1), -9.0), np.eye(1, 252, 251, dtype=np.int64)[0]
    mixtures = [stack.state[name] for name in OF_MIXTURES]
    before = stack.state[WEIGHTS].sum()
    _core.label_mixtures_learn(*mixtures, stack.state[COUNTERS], logits, np.zeros(1, dtype=np.int32), start, None, None)
    assert before - 0.51 < stack.state[WEIGHTS].sum() < before - 0.1


def test_the_variance_is_bounded_by_that_of_correlated_members_and_disagreement_is_of_the_worst_label():
    X, _, labels, start = label_sets()
    stack = stack_of()
    stack.learn(X, labels, start)
    mean, variance = stack.margin_distribution(X)
    assert np.array_equal(mean, stack.decision(X))
    deviations = [np.concatenate([m.logit_deviations_of(seen) for seen in m.seen_rows(X)]) for m in stack.members]
    bound = np.einsum("kg,gnk->nk", np.abs(stack.state[WEIGHTS]), np.array(deviations))
    assert variance == pytest.approx(bound**2)
    p = 1 / (1 + np.exp(-stack.logits(X)))

    def entropy(q):
        return -(q * np.log(q) + (1 - q) * np.log(1 - q))

    expected = (entropy(p.mean(axis=0)) - entropy(p).mean(axis=0)).max(axis=1)
    assert stack.disagreement(X) == pytest.approx(expected, abs=1e-9)


def test_a_stack_of_classes_and_one_of_label_sets_refuse_the_labels_of_the_other():
    X, _, labels, start = label_sets()
    stack = new_stack(3, D)
    stack.prepare(X)
    with pytest.raises(ValueError, match="a stack learns one class per row, got lists of labels"):
        stack.learn(X, labels, start)
    with pytest.raises(ValueError, match="multilabel tasks need lists of labels"):
        stack_of().learn(X, np.zeros(N, dtype=np.int32))
    with pytest.raises(ValueError, match="class weights need one class per row"):
        stack_of().learn(X, labels, start, class_weight=np.ones(LABELS))


CHOSEN = {
    "table": (np.random.default_rng(0).normal(size=(200, 8)), 3, ["standard", "cosines", "pairs"]),
    "table of many labels": (np.random.default_rng(0).normal(size=(200, 8)), 100, ["standard", "cosines"]),
    "wide table": (np.random.default_rng(0).normal(size=(200, 200)), 3, ["standard", "cosines"]),
    "words": ((np.random.default_rng(0).random((300, 500)) < 0.05) * 1.0, 3, ["nb"]),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_members_follow_from_what_the_columns_are(name):
    rows, labels, views = CHOSEN[name]
    stack = new_stack(labels, rows.shape[1], Columns.alike(rows.shape[1], ZERO), multilabel=True)
    stack.prepare(as_matrix(rows))
    for view in ("standard", "cosines", "pairs", "nb"):
        assert any(view in member for member in stack.names) == (view in views)
    assert all(member.task is stack.task for member in stack.members)
    assert any("forget" in member for member in stack.names)
