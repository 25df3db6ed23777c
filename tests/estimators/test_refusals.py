"""Refusals of estimators that no other test provokes; what was learned stays as it was."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from confidently import IELLIP, MIRA, AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor
from confidently.covariances.settings import Settings
from confidently.data import open_stream
from confidently.data.memory.matrix import as_matrix
from confidently.exclusive import ConcurrentUse
from confidently.learner.learner import Learner
from confidently.river import OnlineClassifier as RiverClassifier

X, Y, SETS = np.eye(4), np.array([0, 1, 0, 1]), np.eye(4, 2, dtype=int)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Files of rows of one class each, and of sets of labels."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n" * 2)
    (tmp_path / "sets.svm").write_text("1,2 1:1\n3 2:1\n 1:1\n")
    (tmp_path / "rows.csv").write_text("label,a\n1,1\n0,2\n")
    (tmp_path / "one.txt").write_text("a\tone\na\ttwo\n")


def known(labels=Y):
    return OnlineClassifier().fit(X, labels)


def of_stream(path, kind=OnlineClassifier, targets=False, **settings):
    """An estimator of a stream, which was trained before; if the stream is refused it stays as it was."""
    model = kind().fit(X, Y)
    before = model.coef_.copy()
    with open_stream(path, targets=targets) as stream:
        try:
            return model.set_params(**settings).fit_stream(stream)
        except ValueError:
            np.testing.assert_array_equal(model.coef_, before)
            raise


def asked(method, kind=OnlineClassifier):
    return getattr(kind(calibration=None).fit(X, Y), method)(X)


FAR = np.array([0, 2**31 + 5], np.int64)
REFUSED = {
    "labels of another kind": (
        lambda: known().partial_fit(X, SETS), "y changed between one class per row and an indicator matrix of labels",
    ),
    "labels of another number": (
        lambda: known(SETS).partial_fit(X, np.eye(4, 3, dtype=int)), "y has 3 columns of labels, the classifier knows",
    ),
    "one class announced": (
        lambda: OnlineClassifier().partial_fit(X, 0 * Y, classes=[0]), r"at least 2 classes, got one class: 0; pass",
    ),
    "one class": (lambda: known(np.ones(4)), "at least 2 classes"),
    "one class at first": (lambda: OnlineClassifier().partial_fit(X, 0 * Y), r"one class: 0; pass those of later rows"),
    "balanced parts": (lambda: OnlineClassifier(class_weight="balanced").partial_fit(X, Y, [0, 1]), "balanced"),
    "balanced streams": (
        lambda: of_stream("rows.svm", class_weight="balanced"),
        "class_weight='balanced' needs all labels at once; for a stream, pass a dict",
    ),
    "class weights of label sets": (
        lambda: of_stream("sets.svm", class_weight={1: 2.0}), "class_weight needs one class per row, got multilabel",
    ),
    "a stream of one class": (lambda: of_stream("one.txt"), r"one class only \('a'\)"),
    "passes over a stream": (lambda: of_stream("rows.svm", passes=2), "read once, got passes=2"),
    "passes over numbers": (lambda: of_stream("rows.svm", OnlineRegressor, True, passes=2), "read once, got passes=2"),
    "a list of numbers for a stream": (lambda: OnlineRegressor().fit_stream([1, 2]), "expected a stream"),
    "an unknown rule": (lambda: of_stream("rows.svm", rule="nonsense"), "unknown rule"),
    "a stream of classes": (lambda: of_stream("rows.svm", OnlineRegressor), "open it with targets=True"),
    "a stream of numbers": (lambda: of_stream("rows.svm", targets=True), "use OnlineRegressor"),
    "counts below zero": (
        lambda: of_stream("rows.svm", OnlineRegressor, True, rule="poisson"),
        r"rows.svm, line 1, or soon after it: the rule poisson needs targets >= 0",
    ),
    "several numbers of files": (
        lambda: OnlineRegressor().fit(X, np.eye(4, 2)).partial_fit_stream("rows.svm"),
        "rows of files have one target, the regressor has 2 outputs",
    ),
    "probabilities of numbers": (
        lambda: next(of_stream("rows.svm", OnlineRegressor, True).predict_stream("rows.svm", "predict_proba")),
        "method",
    ),
    "a risk of a file": (
        lambda: next(of_stream("rows.svm").predict_stream("rows.svm", "abstain", risk=2)),
        r"risk must be in \(0, 1\), got 2",
    ),
    "a coverage of a file": (
        lambda: next(of_stream("rows.svm").predict_stream("rows.svm", coverage=2)),
        r"coverage must be in \(0, 1\), got 2",
    ),
    **{
        f"{method} without calibration": (
            lambda method=method: asked(method), f"^{method}: calibration=None has calibrated nothing",
        )
        for method in ("predict_set", "abstain", "novelty", "class_shares")
    },
    "novelty of numbers without calibration": (lambda: asked("novelty", OnlineRegressor), "^novelty: calibration=None"),
    "late labels without calibration": (
        lambda: OnlineClassifier(calibration=None).fit(X, Y).partial_fit(X, Y, predicted=np.full((4, 2), 0.5)),
        "partial_fit: calibration=None",
    ),
    "late labels before training": (
        lambda: OnlineClassifier().partial_fit(X, Y, classes=[0, 1], predicted=np.full((4, 2), 0.5)), "not fitted",
    ),
    "sets before training": (lambda: OnlineClassifier().predict_set(X), "not fitted"),
    "abstention before training": (lambda: OnlineClassifier().abstain(X), "not fitted"),
    "shares of labels": (lambda: known(SETS).class_shares(X), "rows have several labels"),
    "probabilities by shares of labels": (
        lambda: known(SETS).predict_proba(X, [0.2, 0.8]), "rows have several labels",
    ),
    "files after arrays": (
        lambda: list(known().predict_stream("rows.csv")), "trained on arrays, which do not define the columns of files",
    ),
    "weights that are all zero": (lambda: OnlineClassifier().fit(X, Y, np.zeros(4)), "at least one non-zero"),
    "classes of two kinds": (
        lambda: OnlineClassifier().partial_fit(X, Y, [0, 1]).partial_fit(X, Y, classes=["a"]),
        "mix strings and numbers: 'a' and 0, 1",
    ),
    "a shared covariance of single learners": (
        lambda: OnlineClassifier("arow", "shared", multiclass="one-vs-rest").fit(X, Y), "couples the classes",
    ),
    "a shared covariance where classes come late": (
        lambda: Learner(Settings("arow", "shared"), n_features=2).grow(n_classes=3, multiclass="one-vs-rest"),
        "couples the classes",
    ),
    "label lists that go back": (
        lambda: Learner(Settings("arow", task="multilabel"), n_classes=2, n_features=4).learn(
            as_matrix(X), np.zeros(3, np.int32), np.array([0, 2, 1, 2, 3])),
        "never decrease",
    ),
    "columns beyond 32 bits": (
        lambda: as_matrix(csr_array((np.ones(2), FAR, np.arange(3)), shape=(2, 2**31 + 6))),
        "at most 2147483646 are possible; hash",
    ),
    **{
        f"{name} of {kind.__name__}": (
            lambda kind=kind, name=name: kind(**{name: "yes"}).fit(X, Y), f"{name} must be .*True or False, got 'yes'",
        )
        for kind in (OnlineClassifier, OnlineRegressor, AutoClassifier, AutoRegressor, MIRA)
        for name in ("shuffle", "average") if name in kind().get_params()
    },
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_calls_that_are_refused(rows, case):
    call, message = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_rows_of_files_by_number_are_those_of_arrays(rows):
    assert len(next(iter(known().predict_stream("rows.svm")))) == 4


def test_attributes_before_training():
    for name in ("coef_", "mistakes_", "alarms_", "marginal"):
        with pytest.raises(AttributeError, match="is not fitted; call fit or partial_fit first"):
            getattr(OnlineClassifier(), name)() if name == "marginal" else getattr(OnlineClassifier(), name)
    model = OnlineClassifier(calibration=None).fit(X, Y)
    assert (model.alarms_, model.rows_since_alarm_) == (0, 0)


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
