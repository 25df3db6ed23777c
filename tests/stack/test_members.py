"""What holds for the members of every stack: copies, growth before they are chosen, errors and weights of classes."""

import pickle
from copy import copy

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently import AROW, _core
from confidently.covariances.examples import Examples, Progressive
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.river import AutoClassifier
from confidently.stack.members import COUNTERS, ROWS, ROWS_PER_STRIDE, WEIGHTS
from confidently.stack.naive_bayes import CALIBRATION, ENTRIES, NaiveBayes
from confidently.stack.naive_bayes import ROWS as ROWS_OF_CLASSES
from confidently.stack.plan import Plan
from confidently.stack.stack import HESSIAN, Stack
from confidently.views.columns import Columns
from confidently.views.table import make_view

D = 6


def recipe(name, rule, view=None):
    def make(n_classes, n_features, columns):
        settings = Settings(rule, task="binary" if n_classes == 2 else "joint")
        return Learner(settings, n_classes, n_features, view=make_view(view), columns=columns)

    return Plan(name, make)


def new_stack(n_classes=2, words=True):
    members = [recipe("one", AROW(r=0.1)), recipe("other", AROW(r=10.0), "standard")]
    if words:
        members.append(Plan("words", lambda n_classes, n_features, columns: NaiveBayes(n_classes, n_features)))
    return Stack(members, n_classes=n_classes, n_features=D, columns=Columns.alike(D))


def data(n, n_classes=2, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, D))
    return as_matrix(X), (np.abs(X[:, 0] + generator.normal(size=n)) * n_classes / 3).astype(np.int32).clip(
        max=n_classes - 1
    )


def arrays(stack):
    parts = {"mixture": stack, **dict(zip(stack.names, stack.members, strict=True))}
    return {(part, name): array.copy() for part, of in parts.items() for name, array in of.state.items()}


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array, err_msg=str(key))


def test_a_copy_that_replaces_arrays_leaves_the_stack_as_it_was():
    """As where joblib has mapped the arrays: they cannot be written to, so that training replaces them."""
    stack = new_stack(words=False)
    stack.learn(*data(200))
    for part in (stack, *stack.members):
        for array in part.state.values():
            array.flags.writeable = False
    before, other = arrays(stack), copy(stack)
    other.state = {name: array.copy() for name, array in other.state.items()}
    other.learn(*data(100, seed=1))
    assert_equal(arrays(stack), before)
    assert other.members[0].n_seen == 300


def test_columns_that_come_before_the_members_are_chosen_are_known_then():
    def choose(X, columns, n_classes):
        seen.append(columns)
        return [recipe("one", AROW())]

    names, seen = ["a", "b", "town=Rom", "c", "town=Bonn", "d"], []
    expected = Columns.named(names)
    for parts in ([6], [1, 4, 6], [4, 4, 6]):
        stack, known = Stack(choose=choose), 0
        for n in parts:
            stack.grow(n_features=n, columns=Columns.named(names[known:n]))
            known = n
        stack.prepare(as_matrix(np.ones((1, D))))
    for columns in seen:
        np.testing.assert_array_equal(columns.kind, expected.kind)
        assert list(columns.names) == names


def test_an_error_undoes_what_the_mixture_has_learned_in_strides_before_it():
    stack = new_stack()
    stack.learn(*data(300))
    before, cost = arrays(stack), np.ones(1)

    def interrupt(done):
        assert done == ROWS_PER_STRIDE
        assert stack.state[COUNTERS][0] == 300 + done
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stack.learn(*data(2 * ROWS_PER_STRIDE, seed=1), log_loss=cost, progress=interrupt)
    assert_equal(arrays(stack), before)
    assert cost == [1.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_of_classes_multiply_those_of_rows(weighted):
    X, labels = data(400, 3)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], 400) if weighted else None
    of_classes = np.array([0.25, 1.0, 3.0])
    one, other = new_stack(3), new_stack(3)
    one.learn(X, labels, weight=weight, class_weight=of_classes)
    other.learn(X, labels, weight=of_classes[labels] * (1.0 if weight is None else weight))
    assert_equal(arrays(one), arrays(other))
    plain = new_stack(3)
    plain.learn(X, labels, weight=weight)
    assert not np.array_equal(plain.state[WEIGHTS], one.state[WEIGHTS])


def test_weights_of_rows_go_with_them_in_any_order():
    X, labels = data(300, 3)
    generator = np.random.default_rng(2)
    weight, order = generator.choice([0.0, 0.5, 2.0], 300), generator.permutation(300)
    one, other = new_stack(3), new_stack(3)
    one.learn(X, labels, weight=weight, order=order)
    rows = np.random.default_rng(0).normal(size=(300, D))[order]
    other.learn(as_matrix(rows), labels[order], weight=weight[order])
    assert_equal(arrays(one), arrays(other))


@pytest.mark.parametrize("name", [WEIGHTS, HESSIAN, ROWS])
def test_without_calibration_the_mixture_stays(name):
    stack = new_stack()
    stack.learn(*data(300))
    before, seen = stack.state[name].copy(), stack.n_seen
    stack.learn(*data(300, seed=1), calibrate=False)
    np.testing.assert_array_equal(stack.state[name], before)
    assert stack.n_seen == seen + 300
    stack.learn(*data(300, seed=1))
    assert not np.array_equal(stack.state[name], before)


@pytest.mark.long("1,003 rows one by one")
def test_dicts_are_kept_until_the_members_are_chosen_for_good():
    generator, model, sizes = np.random.default_rng(0), AutoClassifier(), {}
    for n in range(1, 1004):
        x = {f"f{j}": float(v) for j, v in enumerate(generator.normal(size=3))}
        model.learn_one(x, bool(x["f0"] > 0))
        if n % 50 < 4:
            sizes[n] = len(pickle.dumps(model._rows.learner.early))
        assert (model._rows.learner.early is None) == (n >= 1000)
    assert sizes[953] > sizes[50] + 903 * 3 * 8  # with the rows so far
    assert sizes[1003] < sizes[50]


def test_a_third_class_keeps_what_naive_bayes_has_learned():
    stack = new_stack()
    stack.learn(*data(300))
    words = stack.members[2]
    (slope, _, curvature, *_), entries = words.state[CALIBRATION], words.state[ENTRIES].copy()
    stack.grow(n_classes=3)
    assert list(words.state[CALIBRATION]) == [slope, curvature]
    assert list(words.state[ENTRIES]) == [*entries, 0.0]
    stack.learn(*data(300, 3, seed=1))
    assert words.state[ROWS_OF_CLASSES].sum() == 600


def test_contributions_to_naive_bayes_add_up():
    """A feature that no row had adds nothing; the rest is the difference of the classes' shares."""
    generator, words = np.random.default_rng(0), NaiveBayes(2, D + 1)
    X = np.column_stack([(generator.random((200, D)) < 0.4).astype(float), np.zeros(200)])
    labels = ((X[:, 0] > 0) | (generator.random(200) < 0.3)).astype(np.int32)
    examples = Examples(as_matrix(X), labels)
    with words.begin(examples) as undo:
        words.train(examples, undo, True, Progressive())
    row = np.array([1.0, 0.0, 2.0, 0.0, 0.5, 0.0, 3.0])
    columns = np.flatnonzero(row)
    score = np.empty((1, 1))
    _core.naive_bayes_scores(words.state, as_matrix(row[None]), score)
    added = words.contributions(columns, row[columns], 1, 0)
    assert added[-1] == 0.0 != added[0]
    n = words.state[ROWS_OF_CLASSES]
    assert added.sum() == pytest.approx(score[0, 0] - 0.1 * np.log((n[1] + 1) / (n[0] + 1)))


@pytest.mark.parametrize("n_features", [D, 5000])
def test_an_error_takes_back_all_of_naive_bayes(n_features):
    X = csr_array((np.random.default_rng(0).random((60, n_features)) < 60 / (n_features + 100)).astype(float))
    labels, words = np.arange(60, dtype=np.int32) % 2, NaiveBayes(2, n_features)

    def train(first, last):
        examples = Examples(as_matrix(X[first:last]), labels[first:last])
        with words.begin(examples) as undo:
            words.train(examples, undo, True, Progressive())
            if first:
                raise KeyboardInterrupt

    train(0, 50)
    before = {name: array.copy() for name, array in words.state.items()}
    with pytest.raises(KeyboardInterrupt):
        train(50, 52)
    assert_equal(words.state, before)


def words_of(k, generator):
    """A row of few words at first, of which others come with every row."""
    return {f"w{j}": 1.0 for j in generator.integers(0, 3 + 4 * k, 5)}


def test_members_that_replace_others_learn_all_dicts_so_far():
    generator, model, chosen = np.random.default_rng(0), AutoClassifier(), []
    for k in range(150):
        model.learn_one(words_of(k, generator), "xy"[k % 2])
        assert model._rows.learner.n_seen == k + 1
        chosen.append(tuple(model._rows.learner.names))
    assert len(set(chosen)) > 1
    assert len(set(chosen[99:])) == 1


@pytest.mark.long("180 dicts of stacks")
def test_dicts_have_weights_while_they_are_kept():
    """One of weight 0 changes nothing but the time at which members are chosen."""
    generator = np.random.default_rng(0)
    once, twice = AutoClassifier(), AutoClassifier()
    for _ in range(45):
        x = {f"f{j}": float(v) for j, v in enumerate(generator.normal(size=20))}
        once.learn_one(x, bool(x["f0"] > 0), w=2.5)
        twice.learn_one(x, bool(x["f0"] > 0), w=2.5)
        twice.learn_one(x, bool(x["f0"] <= 0), w=0.0)
    one, other = once._rows.learner, twice._rows.learner
    assert one.names == other.names
    # covariances of all weights learn rows together, so that they are the same up to rounding
    np.testing.assert_allclose(one.state[WEIGHTS], other.state[WEIGHTS], rtol=1e-9)
    rows = as_matrix(generator.normal(size=(50, 20)))
    np.testing.assert_allclose(one.logits(rows), other.logits(rows), rtol=1e-9, atol=1e-12)
