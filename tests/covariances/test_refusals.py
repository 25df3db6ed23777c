"""Refusals of covariances and learners that no other test provokes."""

import numpy as np
import pytest

from confidently import OnlineClassifier, _core, load
from confidently.covariances.dense import Dense
from confidently.covariances.kernel_support import check_support
from confidently.covariances.settings import Settings
from confidently.covariances.state import OutOfRange
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.models.file import ModelFileError
from tests.model_files import contents_of, write_contents

X, Y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2


@pytest.fixture(scope="module")
def kernel():
    return OnlineClassifier(covariance="kernel").fit(X, Y).learner_


def test_weights_of_a_kernel_and_coefficients_of_examples_without_one(kernel):
    diagonal = OnlineClassifier().fit(X, Y).learner_
    with pytest.raises(AttributeError, match='only covariance="kernel" keeps coefficients of examples'):
        diagonal.covariance.dual(diagonal.state, diagonal.size)
    with pytest.raises(AttributeError, match="a kernel learner has no weights of features; use dual"):
        kernel.covariance.weights(kernel.state, 3)
    with pytest.raises(AttributeError, match="the covariance of a kernel learner is in the space of its kernel"):
        kernel.covariance.matrix(kernel.state, kernel.size)


@pytest.mark.parametrize(("name", "change", "message"), [
    ("support.start", lambda a: a + 1, "the support rows do not fit together"),
    ("support.columns", lambda a: a + 1, "the support rows do not fit together"),
    ("support.columns", lambda a: a[::-1].copy(), "columns of a support row do not ascend"),
    ("support.sides", lambda a: a + 1, "a support row has an unknown class"),
    ("support.sides", lambda a: a - 2, "a support row has an unknown class"),
])  # fmt: skip
def test_support_rows_made_by_hand_are_checked(kernel, name, change, message):
    columns = kernel.settings.task.columns(kernel.n_classes)
    check_support(kernel.state, kernel.size, columns)
    with pytest.raises(ValueError, match=message):
        check_support(kernel.state | {name: change(kernel.state[name])}, kernel.size, columns)


def test_a_kernel_that_is_not_finite():
    model = OnlineClassifier(covariance="kernel", kernel=lambda a, b: np.full((len(a), len(b)), np.nan))
    with pytest.raises(ValueError, match="kernel must return finite values; rescale the rows"):
        model.fit(X, Y)


def test_answers_of_a_kernel_that_are_out_of_range():
    model = OnlineClassifier(covariance="kernel", kernel="linear").fit(X, Y)
    model.learner_.state["dual"] = model.learner_.state["dual"] * 1e300
    with pytest.raises(OutOfRange, match="the kernel of the rows is out of range; rescale their values"):
        model.decision_function(1e20 * X)


def test_weights_of_a_matrix_product_that_are_too_large(monkeypatch):
    model = OnlineClassifier(covariance="full", rows_per_product=8).fit(X, Y)
    before = model.coef_.copy()
    monkeypatch.setattr(_core, "largest_weight", lambda single: 1e-9)
    monkeypatch.setattr(Dense, "is_pending", lambda *_: False)  # which the core checks
    with pytest.raises(OutOfRange, match="out of the range of float64"):
        model.partial_fit(X, Y)
    np.testing.assert_array_equal(model.coef_, before)


def test_a_kernel_that_is_a_function_is_not_saved(tmp_path):
    model = OnlineClassifier(covariance="kernel", kernel=lambda a, b: np.asarray(a @ b.T)).fit(X, Y)
    with pytest.raises(TypeError, match="a kernel that is a function cannot be saved in a model file"):
        model.save(tmp_path / "m.cw")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", [lambda a: a[:, :, :2], lambda a: a.astype(np.float32), lambda a: a[0]])
def test_pending_updates_made_by_hand_are_checked(tmp_path, change):
    OnlineClassifier(covariance="full", rows_per_product=16).fit(X, Y).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    assert arrays["pending"].shape[1] > 0
    write_contents(tmp_path / "m.cw", header, arrays | {"pending": np.ascontiguousarray(change(arrays["pending"]))})
    with pytest.raises(ModelFileError, match=r"pending is float\d+\[.*\], not float64\["):
        load(tmp_path / "m.cw")


@pytest.mark.parametrize("task", ["joint", "one-vs-rest"])
def test_a_learner_of_one_class(task):
    with pytest.raises(ValueError, match=f"{task} needs at least 2 classes, got 1"):
        Learner(Settings("arow", task=task), 1)


def test_weights_that_a_learner_refuses():
    rows, ones = as_matrix(X, "float64"), np.ones(40)
    multilabel = Learner(Settings("arow", task="multilabel"), 2, 3)
    labels, start = np.zeros(40, np.int32), np.arange(41)
    with pytest.raises(ValueError, match="class weights need one class per row; leave them out for multilabel data"):
        multilabel.learn(rows, labels, start, class_weight=np.ones(2))
    binary = Learner(Settings("arow"), 2, 3)
    with pytest.raises(ValueError, match=r"weights of examples must be at most 1e\+09, got 1e\+10; scale them down"):
        binary.learn(rows, labels, weight=1e5 * ones, class_weight=np.array([1e5, 1.0]))


def test_labels_that_come_late_need_a_covariance_that_learns_row_by_row():
    learner = Learner(Settings("arow", "full", rows_per_product=8), 2, 3)
    with pytest.raises(ValueError, match="class_start needs a covariance that learns row by row"):
        learner.learn(as_matrix(X, "float64"), np.zeros(40, np.int32), class_start=np.zeros(2, np.int64))


def test_numbers_that_a_posterior_refuses():
    learner = OnlineClassifier().fit(X, Y).learner_
    with pytest.raises(ValueError, match="row must be in 0 to 0, got 1"):
        learner.marginal(1)
    with pytest.raises(ValueError, match="n must be at least 0, got -1"):
        learner.sample_weights(-1, np.random.default_rng(0))
    for n in (0, 5):
        with pytest.raises(ValueError, match=f"n must be in 1 to 4, the number of principal axes, got {n}"):
            learner.marginal(0).principal_axes(n)
