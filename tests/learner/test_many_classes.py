"""Learners whose classes appear one after the other, up to many: what they learn, and how their arrays grow."""

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest

from confidently.covariances.settings import Settings
from confidently.covariances.weights import COLUMNS_PER_SPARE, widened
from confidently.data.memory.matrix import as_matrix
from confidently.learner import learner as learner_module
from confidently.learner.learner import Learner
from confidently.models.model import Model
from tests.tables.tasks import MULTILABEL

CLASSES, ROWS, FEATURES = 40, 150, 5
KNOWN = 3  # classes before the first row


def rows_of_many_classes(task, seed=0):
    """Return rows, labels, their starts, and the first rows of the classes after the known ones."""
    random = np.random.default_rng(seed)
    X, first = random.normal(size=(ROWS, FEATURES)), np.sort(random.integers(0, ROWS, CLASSES - KNOWN))
    lists = [list(KNOWN + np.flatnonzero(first == row)) for row in range(ROWS)]
    for row, labels in enumerate(lists):
        labels.append(int(random.integers(KNOWN + np.count_nonzero(first < row))))
    if task not in MULTILABEL:  # a row has one label, so that classes may appear later than they begin to exist
        return X, np.array([labels[0] for labels in lists], dtype=np.int32), None, first
    start = np.cumsum([0, *map(len, lists)])
    return X, np.concatenate(lists).astype(np.int32), start, first


def learned_row_by_row(learner, X, labels, start, first):
    """Train on one row per call, growing in between, with arrays that have no columns to spare."""
    for row in range(len(X)):
        learner.grow(n_classes=KNOWN + int(np.count_nonzero(first <= row)))
        learner.state["weights"] = learner.state["weights"].copy()
        one = slice(row, row + 1) if start is None else slice(start[row], start[row + 1])
        alone = None if start is None else np.array([0, start[row + 1] - start[row]])
        learner.learn(as_matrix(X[row : row + 1]), labels[one], alone)


def assert_same_state(a, b):
    assert a.state.keys() == b.state.keys()
    for name in a.state:
        np.testing.assert_array_equal(a.state[name], b.state[name], err_msg=name)


@pytest.mark.parametrize("task", ["joint", "one-vs-rest", *MULTILABEL])
@pytest.mark.parametrize(("rule", "options"), [
    ("arow", {}), ("pa1", {"average": True}), ("probit", {"forget": 0.01}),
    ("cellip", {"dtype": "float32", "prior_variance": 1e9}), ("arow", {"covariance": "full"}),
])  # fmt: skip
def test_a_class_exists_from_the_row_on_that_starts_it(monkeypatch, task, rule, options):
    monkeypatch.setattr(learner_module, "ROWS_PER_STRIDE", 7)
    if options.get("covariance") == "full":
        task = "one-vs-rest"  # a matrix of all classes is too large for training row by row
    X, labels, start, first = rows_of_many_classes(task)
    once, by_row = (Learner(Settings(rule, task=task, **options), KNOWN, FEATURES) for _ in range(2))
    if rule == "cellip":  # about to be multiplied into the variances, also into those of classes to come
        for learner in (once, by_row):
            learner.state["scale"][:] = 1.01e-12
    once.grow(n_classes=CLASSES)
    once.learn(as_matrix(X), labels, start, class_start=first)
    learned_row_by_row(by_row, X, labels, start, first)
    assert_same_state(once, by_row)
    assert once.updates > ROWS / 2
    assert rule != "cellip" or (once.state["folded"] != 1.0).any()


@pytest.mark.long("2,000 classes one by one")
def test_weights_are_copied_rarely_however_many_classes_come():
    learner, copies = Learner(Settings(task="joint"), 2, 3), 0
    for n_classes in range(3, 2000):
        before = learner.state["weights"]
        learner.grow(n_classes=n_classes)
        after = learner.state["weights"]
        copies += after.ctypes.data != before.ctypes.data
        assert after.shape == (4, 2, n_classes)
        assert after.base.nbytes <= after.nbytes * (1 + 1 / COLUMNS_PER_SPARE)
        learner.state["weights"][:, 0, -1] = n_classes
    np.testing.assert_array_equal(learner.state["weights"][:, 0], np.tile([0, 0, *range(3, 2000)], (4, 1)))
    np.testing.assert_array_equal(learner.state["weights"][:, 1], 1.0)
    assert copies < COLUMNS_PER_SPARE * np.log(2000)


def test_spare_columns_are_taken_once():
    weights = widened(np.zeros((3, 2, 20)), 21)
    one, two = widened(weights, 22), widened(weights, 22)
    one[..., -1] = 1.0
    three = widened(weights, 22)
    for other in (two, three):
        other[..., -1] = 2.0
    np.testing.assert_array_equal(one[..., -1], 1.0)


@pytest.mark.parametrize("part", [np.s_[:2], np.s_[..., :19], np.s_[..., 1:], np.s_[:, :1], np.s_[:, :, ::2]])
def test_only_whole_weights_take_spare_columns(part):
    weights = widened(np.zeros((3, 2, 16)), 20)
    before = weights.base.copy()
    widened(weights[part], weights[part].shape[2] + 1)[:] = 7.0
    np.testing.assert_array_equal(weights.base, before)


def learner_with_spare_columns():
    X, labels, start, first = rows_of_many_classes("joint")
    learner = Learner(Settings(task="joint"), KNOWN, FEATURES)
    learner.grow(n_classes=CLASSES)
    learner.learn(as_matrix(X), labels, start, class_start=first)
    assert not learner.state["weights"].flags.c_contiguous
    return learner, as_matrix(X), labels


def test_copies_and_files_have_the_classes_and_nothing_else(tmp_path):
    learner, X, labels = learner_with_spare_columns()
    plain = copy(learner)
    plain.state = {name: array.copy() for name, array in learner.state.items()}
    for name, one in (("spare", learner), ("plain", plain)):
        Model(one, [f"c{k}" for k in range(CLASSES)]).save(tmp_path / name)
    assert (tmp_path / "spare").read_bytes() == (tmp_path / "plain").read_bytes()
    for twin in (deepcopy(learner), pickle.loads(pickle.dumps(learner)), Model.load(tmp_path / "spare").learner):
        assert twin.state["weights"].flags.c_contiguous
        assert_same_state(twin, plain)
        twin.grow(n_classes=CLASSES + 1)
        twin.learn(X, labels)
    learner.grow(n_classes=CLASSES + 1)
    learner.learn(X, labels)
    assert_same_state(twin, learner)
    for found, expected in zip(learner.margin_distribution(X), twin.margin_distribution(X), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_labels_of_classes_that_do_not_exist_yet_are_refused():
    learner, X, labels = learner_with_spare_columns()
    before = {name: array.copy() for name, array in learner.state.items()}
    late = int(np.flatnonzero(labels == CLASSES - 1)[0]) + 1
    for class_start, message in (
        ([late], "labels out of range"),
        ([5, 2], "decrease"),
        ([0] * CLASSES, "more classes"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.learn(X, labels, class_start=np.array(class_start))
    for name, array in learner.state.items():
        np.testing.assert_array_equal(array, before[name])
    wide = Learner(Settings(covariance="full", task="joint"), 4, 60)
    with pytest.raises(ValueError, match="row by row"):
        wide.learn(as_matrix(np.ones((1, 60))), np.array([0], dtype=np.int32), class_start=np.array([0]))


@pytest.mark.parametrize("task", ["joint", "one-vs-rest", "softmax"])
def test_two_classes_are_split_into_two_columns(task):
    """A third class turns one column into two, whose difference is the score."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60).astype(np.int32)
    X[:, 3] = 0.0  # stays at the prior
    learner = Learner(Settings("logistic" if task == "softmax" else "arow"), 2, 4)
    learner.learn(as_matrix(X), y)
    before = learner.decision(as_matrix(X))
    learner.grow(n_classes=5, multiclass=task)
    scores = learner.decision(as_matrix(X))
    factor = 2 if task == "one-vs-rest" else 1
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], factor * before, rtol=1e-12)
    assert not np.signbit(learner.mean()[:, 3]).any()
