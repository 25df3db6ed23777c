"""Single rows, on which the core trains members bound to their arrays: as many rows do, and undone on an error."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest

from confidently import IELLIP, AutoClassifier, OnlineClassifier
from confidently.data.memory.matrix import as_matrix
from confidently.stack.bound import Bound
from confidently.stack.choice import new_stack
from confidently.stack.members import parts_of
from confidently.stack.number_choice import new_number_stack
from confidently.stack.number_stack import NumberStack
from confidently.stack.stack import Stack
from confidently.views.columns import ZERO, Columns

N, D = 1300, 4
KEPT = ("trees.rows", "trees.target", "trees.weight")


def table(classes=2):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N, D)) * [1.0, 10.0, 0.1, 1.0]
    X[:, 3] = generator.integers(0, 5, N)
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int32) + (X[:, 3] > 3) * (classes - 2)
    return X, y.astype(np.int32)


def trained(classes=2, n=N):
    X, y = table(classes)
    stack = new_stack(classes, D, Columns.alike(D, ZERO))
    stack.learn(as_matrix(X[:n]), y[:n], weight=np.ones(n))
    return stack, X, y


def learn(stack, X, y, weight=1.0):
    for x, label in zip(X, y, strict=True):
        stack.learn(as_matrix(x[None]), np.array([label], np.int32), weight=np.array([weight]))


def arrays_of(stack):
    """All arrays, those of rows that trees grow on without the room behind them."""
    return [
        {
            name: array[: int(part.state["trees.counts"][0])].copy() if name in KEPT else array.copy()
            for name, array in part.state.items()
        }
        for part in parts_of(stack)
    ]


def groups_left(monkeypatch):
    """The numbers of groups that the core has left to others, a list that grows."""
    left, real = [], Bound.learn
    monkeypatch.setattr(Bound, "learn", lambda *how: (groups := real(*how), left.append(len(groups)))[0])
    return left


def are_equal(one, other):
    return all(
        a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_one_by_one_are_those_of_one_call(classes, monkeypatch):
    """Nearly all groups of members are trained by the core, those of matrices of some hundred columns included."""
    stack, X, y = trained(classes, 1100)
    other, _, _ = trained(classes, N)
    left = groups_left(monkeypatch)
    learn(stack, X[1100:N], y[1100:N])
    assert any(member.state["pending_rows"] for member in stack.members if "pending" in member.state)
    assert np.mean(left) < 0.2 * len(stack._bound.groups)
    assert are_equal(arrays_of(stack), arrays_of(other))


def numbers(n=N, several=False):
    """Numbers of which logarithms are learned as well, and a column that is zero at first."""
    X, _ = table()
    X[:1150, 1] = 0.0
    y = np.exp(X[:, 0]) * (1.0 + (X[:, 3] > 2)) + X[:, 1] ** 2 + 3.0
    Y = np.column_stack([y, 5.0 - X[:, 0]]) if several else y[:, None]
    stack = new_number_stack(2 if several else 1, D, Columns.alike(D, ZERO))
    stack.learn(as_matrix(X[:n]), np.zeros(n, np.int32), weight=np.ones(n), targets=Y[:n])
    return stack, X, Y


def learn_numbers(stack, X, Y, weight=None):
    for k, (x, y) in enumerate(zip(X, Y, strict=True)):
        own = np.ones(1) if weight is None else weight[k : k + 1]
        stack.learn(as_matrix(x[None]), np.zeros(1, np.int32), weight=own, targets=y[None])


@pytest.mark.parametrize("several", [False, True], ids=["one number", "two numbers"])
def test_rows_of_numbers_one_by_one_are_those_of_one_call(several, monkeypatch):
    """Least squares, logarithms and rests included, while matrices are computed again and features come."""
    stack, X, Y = numbers(1000, several)
    other, _, _ = numbers(1000, several)
    weight = np.where(np.arange(300) % 7, 1.0, 0.5) * (np.arange(300) % 50 != 10)
    left = groups_left(monkeypatch)
    learn_numbers(stack, X[1000:], Y[1000:], weight)
    other.learn(as_matrix(X[1000:]), np.zeros(300, np.int32), weight=weight, targets=Y[1000:])
    assert several or any(stack.is_log(k) for k in range(len(stack.members)))
    assert stack.rests
    assert np.mean(left) < 0.3 * len(stack._bound.groups)
    assert are_equal(arrays_of(stack), arrays_of(other))


def test_an_interruption_undoes_a_row_of_numbers(monkeypatch):
    stack, X, Y = numbers(1020)
    learn_numbers(stack, X[1020:1030], Y[1020:1030])
    before, expected = arrays_of(stack), copy.deepcopy(stack)

    def broken(*how):
        raise KeyboardInterrupt

    for row in range(1030, 1100):  # after some of which matrices are computed again
        with monkeypatch.context() as patch:
            patch.setattr(NumberStack, "_mix", broken)
            with pytest.raises(KeyboardInterrupt):
                learn_numbers(stack, X[row : row + 1], Y[row : row + 1])
        assert are_equal(arrays_of(stack), before)
        learn_numbers(stack, X[row : row + 1], Y[row : row + 1])
        before = arrays_of(stack)
    learn_numbers(expected, X[1030:1100], Y[1030:1100])
    assert are_equal(before, arrays_of(expected))


def test_rows_without_weight_change_nothing():
    stack, X, y = trained()
    before = arrays_of(stack)
    learn(stack, X[:3], y[:3], 0.0)
    changed = {
        name
        for part, old in zip(arrays_of(stack), before, strict=True)
        for name in part
        if not np.array_equal(part[name], old[name])
    }
    assert {name for name in changed if not name.startswith("block.")} <= {"counters", "mixture.counters"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "arrays of views apart"])
def test_an_interruption_undoes_the_row(error, shared, monkeypatch):
    stack, X, y = trained()
    learn(stack, X[:5], y[:5])
    stack = stack if shared else stack.apart()
    before, expected = arrays_of(stack), copy.deepcopy(stack)

    def broken(*how):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Stack, "_mix", broken)
        with pytest.raises(error):
            learn(stack, X[5:6], y[5:6])
    assert are_equal(arrays_of(stack), before)
    learn(stack, X[5:40], y[5:40])
    learn(expected, X[5:40], y[5:40])
    assert are_equal(arrays_of(stack), arrays_of(expected))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda stack: pickle.loads(pickle.dumps(stack))])
def test_copies_learn_by_themselves(how):
    stack, X, y = trained()
    learn(stack, X[:5], y[:5])
    stack.probabilities(as_matrix(X[:1]))
    other = how(stack).apart()
    before = arrays_of(stack)
    learn(other, X[5:20], y[5:20])
    assert are_equal(arrays_of(stack), before)
    learn(stack, X[5:20], y[5:20])
    assert are_equal(arrays_of(stack), arrays_of(other))


def test_arrays_that_cannot_be_written_to_are_copied_first():
    X, y = table()
    model = AutoClassifier().partial_fit(X, y, classes=[0, 1])
    expected = model.predict_proba(X[:1])
    file = io.BytesIO()
    joblib.dump(model, file)
    loaded = joblib.load(io.BytesIO(file.getvalue()))
    for part in parts_of(loaded.learner_):
        for array in part.state.values():
            array.flags.writeable = False
    assert np.array_equal(loaded.predict_proba(X[:1]), expected)
    loaded.learner_.state = {name: array.copy() for name, array in loaded.learner_.state.items()}
    for row in range(3):
        loaded.partial_fit(X[row : row + 1], y[row : row + 1])
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    assert np.array_equal(loaded.predict_proba(X[:9]), model.predict_proba(X[:9]))


def test_rows_whose_terms_and_values_are_new():
    """A feature that comes late has products without numbers, and first values that are not complete."""
    X, y = table()
    stack, other = (new_stack(2, D, Columns.alike(D, ZERO)) for _ in range(2))
    X[:1150, 2], X[1200:, 2] = 0.0, 0.0
    stack.learn(as_matrix(X[:600]), y[:600], weight=np.ones(600))
    learn(stack, X[600:1210], y[600:1210])
    other.learn(as_matrix(X[:1210]), y[:1210], weight=np.ones(1210))
    assert are_equal(arrays_of(stack), arrays_of(other))


def test_a_row_that_takes_a_member_out_of_range_changes_nothing():
    """The steps of passive-aggressive learning are as long as the row is short."""
    members = [
        OnlineClassifier("arow", view=None),
        OnlineClassifier(IELLIP(gamma=1e60), view=None, fit_intercept=False),
    ]
    model = AutoClassifier(members).partial_fit([[1.0, 2.0], [2.0, 1.0]], [0, 1], classes=[0, 1])
    model.partial_fit([[0.5, 0.0]], [1])
    before = arrays_of(model.learner_)
    with pytest.raises(ValueError, match="the rows take the model out of the range of float64"):
        model.partial_fit([[1e-90, 0.0]], [0])
    assert are_equal(arrays_of(model.learner_), before)


def test_the_first_feature_that_no_row_had_ends_what_a_matrix_has_learned():
    """The last column is zero at first; which features are in use is told of a row that the core would learn."""
    X, y = table()
    X[:30, 3] = 0.0
    members = [OnlineClassifier("arow", covariance="full", view=None), OnlineClassifier("arow", view=None)]
    one, other = (AutoClassifier(members).partial_fit(X[:20], y[:20], classes=[0, 1]) for _ in range(2))
    for k in range(20, 60):
        one.partial_fit(X[k : k + 1], y[k : k + 1])
    other.partial_fit(X[20:60], y[20:60])
    assert one.learner_.members[0].state["block.counts"][0] == 1 + D
    assert are_equal(arrays_of(one.learner_), arrays_of(other.learner_))
