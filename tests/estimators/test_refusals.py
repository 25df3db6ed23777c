"""Refusals of estimators that no other test provokes; what was learned stays as it was."""

import numpy as np
import pytest

from confidently import IELLIP, MIRA, AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor
from confidently.data import open_stream
from confidently.exclusive import ConcurrentUse
from confidently.river import OnlineClassifier as RiverClassifier

X, Y, SETS = np.eye(4), np.array([0, 1, 0, 1]), np.eye(4, 2, dtype=int)


@pytest.fixture
def rows(tmp_path):
    """A file of rows of one class each, and one of sets of labels."""
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n" * 2)
    (tmp_path / "sets.svm").write_text("1,2 1:1\n3 2:1\n 1:1\n")
    (tmp_path / "rows.csv").write_text("label,a\n1,1\n0,2\n")
    return tmp_path


@pytest.mark.parametrize("estimator", [OnlineClassifier, OnlineRegressor, AutoClassifier, AutoRegressor, MIRA])
@pytest.mark.parametrize("name", ["shuffle", "average"])
def test_words_that_are_no_choice(estimator, name):
    if name in estimator().get_params():
        with pytest.raises(ValueError, match=f"{name} must be .*True or False, got 'yes'"):
            estimator(**{name: "yes"}).fit(X, Y)


def test_labels_of_another_kind():
    with pytest.raises(ValueError, match="y changed between one class per row and an indicator matrix of labels"):
        OnlineClassifier().fit(X, Y).partial_fit(X, SETS)


def test_labels_of_another_number():
    with pytest.raises(ValueError, match="y has 3 columns of labels, the classifier knows 2 labels"):
        OnlineClassifier().fit(X, SETS).partial_fit(X, np.eye(4, 3, dtype=int))


def test_one_class_announced():
    with pytest.raises(ValueError, match="at least 2 classes are needed, got 0"):
        OnlineClassifier().partial_fit(X, np.zeros(4, int), classes=[0])


def test_attributes_before_training():
    for name in ("coef_", "mistakes_", "marginal"):
        with pytest.raises(AttributeError, match="is not fitted; call fit or partial_fit first"):
            getattr(OnlineClassifier(), name)() if name == "marginal" else getattr(OnlineClassifier(), name)


def test_files_after_arrays(rows):
    with pytest.raises(ValueError, match="trained on arrays, which do not define the columns of files"):
        list(OnlineClassifier().fit(X, Y).predict_stream(rows / "rows.csv"))
    assert len(next(iter(OnlineClassifier().fit(X, Y).predict_stream(rows / "rows.svm")))) == 4


@pytest.mark.parametrize(
    ("file", "class_weight", "message"),
    [
        ("rows.svm", "balanced", "class_weight='balanced' needs all labels at once; for a stream, pass a dict"),
        ("sets.svm", {1: 2.0}, "class_weight needs one class per row, got multilabel data"),
    ],
)
def test_class_weights_of_streams(rows, file, class_weight, message):
    with open_stream(rows / file) as stream, pytest.raises(ValueError, match=message):
        OnlineClassifier(class_weight=class_weight).fit_stream(stream)


def test_a_river_classifier_of_one_class_is_not_saved(tmp_path):
    model = RiverClassifier()
    model.learn_one({"a": 1.0}, "spam")
    with pytest.raises(ValueError, match="fewer than two classes were seen; continue training until there are two"):
        model.save(tmp_path / "m.cw")
    assert not list(tmp_path.iterdir())


def test_dicts_that_take_a_river_classifier_out_of_range():
    model = RiverClassifier(IELLIP(gamma=1e300))
    with pytest.raises(ValueError, match="out of the range of float64"):
        for k in range(20):
            model.learn_one({"a": 1.0, "b": k % 3}, ("spam", "ham")[k % 2])
    assert all(np.isfinite(weight) for weight in model._rows.weights("mean").values())


def test_a_river_classifier_that_another_thread_changes(monkeypatch):
    """Before a row and while it is learned, in the only thread of this test."""
    model = RiverClassifier()
    model.learn_one({"a": 1.0}, "spam")
    model.learn_one({"a": 1.0}, "ham")
    with model._rows._alone(), pytest.raises(ConcurrentUse):
        model.learn_one({"a": 1.0}, "spam")
    monkeypatch.setattr(model._rows, "_make_room", lambda: None)
    with pytest.raises(ConcurrentUse):
        model.learn_one({f"{k}": 1.0 for k in range(1000)}, "spam")
