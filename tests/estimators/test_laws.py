"""Laws of all estimators: continuation, forms of rows, streams, weights, orders, settings, merging in any order."""

import copy
import pickle
import re
import warnings
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix, random_array
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import BernoulliNB

from confidently import (
    MIRA,
    AutoClassifier,
    AutoRegressor,
    OnlineClassifier,
    OnlineMedLDA,
    OnlineRegressor,
    load,
    merge,
    progressive_validation,
)
from confidently.data import DataWarning, open_stream
from confidently.models.merging import MergeError
from tests.states import settled_state

pytestmark = pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
GENERATOR = np.random.default_rng(0)
N, D = 240, 5
X = (GENERATOR.normal(size=(N, D)) * [1.0, 10.0, 0.1, 1.0, 2.0]).round(3)
X[np.abs(X) < 0.05] = 0.0
SCORE = X[:, 0] + X[:, 3] * X[:, 4] + 0.2 * GENERATOR.normal(size=N)
Y = {
    "two": np.array(["ham", "spam"])[(SCORE > 0).astype(int)],
    "three": np.digitize(SCORE, [-0.7, 0.7]) + 7,
    "labels": np.column_stack([X[:, 0] > 0, SCORE > 0, X[:, 4] > 2]).astype(int),
    "number": SCORE.round(4),
    "numbers": np.column_stack([SCORE, X[:, 1] - SCORE]).round(4),
    "column": SCORE[:, None].round(4),
}
WORDS = random_array((N, 800), density=0.02, random_state=np.random.default_rng(1), format="csr")
GIVEN = [OnlineClassifier("logistic", view="standard,pairs"), OnlineClassifier("pa1", dtype="float64", view="unit")]
GIVEN_NUMBERS = [OnlineRegressor(prior_variance=10.0), OnlineRegressor("quantile", view="standard")]


class Case(NamedTuple):
    model: Any
    target: str

    @property
    def y(self):
        return Y[self.target]

    def first(self):
        """What the first call needs besides rows: classes, not in their order, which their numbers then have."""
        return {"classes": np.unique(self.y)[::-1]} if self.target in ("two", "three") else {}

    def trained(self, rows=slice(None), X=X, **how):
        return clone(self.model).partial_fit(X[rows], self.y[rows], **self.first(), **how)


NUMBERS = ("number", "numbers", "column")
KINDS = [
    ("", OnlineClassifier(), ("two", "three", "labels")),
    ("average ", OnlineClassifier("pa1", average=True), ("two",)),
    ("full ", OnlineClassifier(covariance="full"), ("three", "labels")),
    ("", AutoClassifier(), ("two", "three", "labels")), ("float32 ", AutoClassifier(dtype="float32"), ("labels",)),
    ("given ", AutoClassifier(GIVEN), ("two", "labels")), ("", OnlineRegressor(), NUMBERS),
    ("diag ", OnlineRegressor("pa1_reg", "diag", view="standard"), ("number",)), ("", AutoRegressor(), NUMBERS[:2]),
    ("given ", AutoRegressor(GIVEN_NUMBERS), NUMBERS[1:]), ("", MIRA(), ("three",)),
]  # fmt: skip
CASES = {f"{type(model).__name__} {name}{y}": Case(model, y) for name, model, targets in KINDS for y in targets}
LEARNERS = {name: case for name, case in CASES.items() if not name.startswith("MIRA")}  # which are saved in files
each = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
FEW = {
    name: case for name, case in CASES.items() if name not in ("AutoClassifier three", "AutoClassifier float32 labels")
}
each_of_few = pytest.mark.parametrize("case", FEW.values(), ids=FEW)
SETTINGS = ("forget", "rank", "budget", "dtype", "view_")
VIEWS = ["unit", "standard", "idf", "nb", "pairs", "cosines", "first", "ranks", "bins", "bins,pairs"]
SAVED = FEW | {
    f"{' '.join(repr(model).split())} {y}": Case(model, y) for model, y in (
        (OnlineClassifier("cw_stdev", forget=0.02), "three"), (OnlineClassifier("arow", "sparse", view=None), "three"),
        *((OnlineClassifier(rule, "kernel", multiclass=multiclass, budget=30), "three") for rule, multiclass in (
            ("cw_stdev", "joint"), ("arow", "one-vs-rest"), ("pa1", "joint"), ("logistic", "softmax"))),
        *((OnlineClassifier(covariance="low_rank", rank=2, multiclass=multiclass, dtype=dtype), "three")
          for multiclass, dtype in (("joint", "float32"), ("one-vs-rest", "float64"), ("joint", "float64"))),
        (OnlineClassifier(covariance="low_rank", rank=2), "two"), (OnlineClassifier(multiclass="joint"), "labels"),
        (OnlineClassifier(covariance="shared"), "labels"),
        (OnlineRegressor(covariance="low_rank", rank=2), "number"),
        (OnlineRegressor(covariance="low_rank", rank=2, dtype="float32"), "number"),
        *((OnlineClassifier(rule, projection=projection), "two")
          for rule in ("arow", "probit") for projection in ("moments", "precision")),
        *((OnlineClassifier(view=view), "three") for view in VIEWS),
        *((OnlineClassifier(covariance="full", view=view), "three") for view in ("unit", "pairs", "ranks", "bins")),
    )
}  # fmt: skip
each_learner = pytest.mark.parametrize("case", LEARNERS.values(), ids=LEARNERS)


def answers(model, X=X):
    """All that a model says of rows."""
    if getattr(model, "predicts_numbers", False):
        return [*model.predict(X, return_std=True), model.predict_interval(X, 0.8), model.novelty(X)]
    asked = ("decision_function", "predict", "predict_proba", "margin_distribution", "predict_set", "novelty")
    return [np.array(getattr(model, name)(X)) for name in asked if hasattr(model, name)]


def assert_alike(one, other, exactly=True):
    for ours, theirs in zip(one, other, strict=True):
        if exactly or ours.dtype.kind not in "f":
            np.testing.assert_array_equal(ours, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def bytes_of(model, path):
    model.save(path)
    return path.read_bytes()


# --- continuation ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*budget")
@pytest.mark.parametrize("case", SAVED.values(), ids=SAVED)
def test_copies_and_files_continue_as_if_never_saved(case, tmp_path):
    model, n = case.trained(slice(100)), 130 if "Auto" in type(case.model).__name__ else N
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    if hasattr(model, "save"):
        model.save(tmp_path / "m.cw")
        copies.append(load(tmp_path / "m.cw"))
        assert type(copies[-1]) is type(model) and copies[-1].n_seen_ == 100
        assert case.model.get_params().get("members") != "auto" or repr(copies[-1]) == repr(model)
        assert all(getattr(copies[-1], name, None) == getattr(model, name, None) for name in SETTINGS)
    for one in copies:
        assert_alike(answers(one), answers(model))
    for one in (model, *copies):
        one.partial_fit(X[100:n], case.y[100:n])
    for one in copies:
        assert_alike(answers(one), answers(model))
        assert one.n_seen_ == n and np.array_equal(getattr(one, "mistakes_", 0), getattr(model, "mistakes_", 0))
        if hasattr(model, "save"):
            assert bytes_of(one, tmp_path / "a") == bytes_of(model, tmp_path / "b")
    fresh = clone(model)
    assert fresh.get_params().keys() == model.get_params().keys() and not hasattr(fresh, "n_seen_")


@pytest.mark.parametrize("model", [AutoClassifier(), OnlineClassifier(view="idf"), AutoRegressor()], ids=str)
def test_rows_of_words_continue_from_files(model, tmp_path):
    y = WORDS @ np.random.default_rng(0).normal(size=800)
    y = y if model.predicts_numbers else (y > 0).astype(int)
    whole = model.partial_fit(WORDS[:80], y[:80], **({} if model.predicts_numbers else {"classes": [0, 1]}))
    whole.save(tmp_path / "m.cw")
    continued = load(tmp_path / "m.cw")
    for one in (whole, continued):
        one.partial_fit(WORDS[80:], y[80:])
    assert bytes_of(whole, tmp_path / "a") == bytes_of(continued, tmp_path / "b")


@each_of_few
def test_single_rows_are_learned_as_a_batch_of_them(case):
    whole, parts = case.trained(slice(60)), case.trained(slice(1))
    if "Auto" in type(case.model).__name__:
        parts = case.trained(slice(45))  # which chooses the members, for as many rows
    for k in range(parts.n_seen_, 60):
        parts.partial_fit(X[k : k + 1], case.y[k : k + 1])
    if getattr(parts, "members", None) == "auto":
        assert list(parts.members_) == list(whole.members_)
    elif getattr(parts, "covariance", None) != "full":
        assert_alike(answers(parts), answers(whole), exactly=False)
    assert parts.n_seen_ == whole.n_seen_ == 60


# --- rows ------------------------------------------------------------------------------------------------------------


def unsorted(rows):
    """The same rows, the columns of each in descending order."""
    rows = csr_array(rows)
    for a, b in pairwise(rows.indptr):
        rows.indices[a:b], rows.data[a:b] = rows.indices[a:b][::-1].copy(), rows.data[a:b][::-1].copy()
    rows.has_sorted_indices = False
    return rows


FORMS = {
    "frame": lambda X: pd.DataFrame(X, columns=[*"abcde"]), "columns in memory": np.asfortranarray,
    "lists": np.ndarray.tolist,
}  # fmt: skip
SPARSE = {"unsorted": unsorted, "CSC": csc_array, "matrix": csr_matrix}


@each_of_few
def test_rows_of_any_form_are_learned_alike(case):
    rows, y, stack = X[:120], case.y[:120], "Auto" in type(case.model).__name__
    for forms, base in ((FORMS, rows), (SPARSE, csr_array(rows))):
        expected = answers(clone(case.model).fit(base, y), base)
        for form in list(forms.values())[: 1 if stack else None]:
            found = clone(case.model).fit(form(rows), y)
            assert_alike(answers(found, form(rows)), expected, exactly=False)
            assert form is not FORMS["frame"] or list(found.feature_names_in_) == list("abcde")


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_row_out_of_order_does_not_teach_the_rows_before_twice(passes, shuffle):
    options = {"passes": passes, "shuffle": shuffle, "random_state": 0, "view": None}
    expected, found = (OnlineClassifier("arow", **options).fit(rows, Y["two"]) for rows in (X, unsorted(X)))
    for name, array in expected.learner_.state.items():
        np.testing.assert_array_equal(found.learner_.state[name], array, err_msg=name)
    assert found.learner_.undoes


@each_learner
def test_rows_without_weight_are_not_seen(case):
    keep = np.arange(N) % 3 > 0
    found = clone(case.model).set_params(**NO_SHUFFLE[type(case.model)])
    expected = clone(found).fit(X[keep], case.y[keep])
    found.fit(X, case.y, sample_weight=keep.astype(float))
    assert found.n_seen_ == expected.n_seen_ == keep.sum()
    if "Auto" not in type(case.model).__name__:  # whose views are of all rows
        assert_alike(answers(found), answers(expected), exactly=False)
    with pytest.raises(ValueError, match=r"at least one non-zero|weight"):
        clone(case.model).fit(X, case.y, sample_weight=np.zeros(N))


NO_SHUFFLE = {
    kind: {"shuffle": False, "passes": 1} for kind in (OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor)
}


@pytest.mark.parametrize("case", [c for n, c in FEW.items() if n in LEARNERS and n != "AutoClassifier labels"], ids=str)
def test_the_seed_decides_on_the_order(case):
    def fitted(**how):
        return answers(clone(case.model).set_params(passes=1, **how).fit(X, case.y))[0]

    once, other = fitted(shuffle=True, random_state=0), fitted(shuffle=True, random_state=1)
    assert (fitted(shuffle=True, random_state=0) == once).all()
    default = fitted(random_state=0)
    if "Auto" in type(case.model).__name__:
        assert (default == once).all()  # arrays are shuffled
        assert (once != other).any()
        assert np.array_equal(fitted(shuffle=False), answers(case.trained())[0])  # and parts of them are not
    else:
        assert np.array_equal(default, fitted(shuffle=False))
        assert type(case.model) is OnlineRegressor or (once != other).any()


# --- streams ---------------------------------------------------------------------------------------------------------


def written(path, y):
    labels = [",".join(map(str, np.flatnonzero(one))) if y.ndim == 2 else one for one in y]
    if path.suffix == ".svm":
        lines = [
            f"{a} {' '.join(f'{j + 1}:{x!r}' for j, x in enumerate(row))}"
            for a, row in zip(labels, X.tolist(), strict=True)
        ]
    else:
        lines = [
            "a,b,c,d,e,label",
            *(",".join([*map(repr, row), f'"{a}"']) for a, row in zip(labels, X.tolist(), strict=True)),
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


STREAMED = {name: case for name, case in LEARNERS.items() if case.target not in NUMBERS[1:] and name in FEW}


STREAMS = [(case, "svm" if case.target in ("three", "number") else "csv") for case in STREAMED.values()]
STREAMS += [
    (case, "csv" if case.target in ("three", "number") else "svm")
    for name, case in STREAMED.items()
    if "Auto" not in name
]


@pytest.mark.parametrize(("case", "suffix"), STREAMS, ids=str)
def test_a_stream_is_learned_as_its_rows_however_it_is_cut(case, suffix, tmp_path):
    path = written(tmp_path / f"rows.{suffix}", case.y)
    how = {"normalize": "none", "targets": case.target == "number", "multilabel": case.target == "labels"}
    how |= {"zeros": True, "label": "label"} if suffix == "csv" else {}
    of_stream = dict(case.first())
    if case.target == "labels":
        of_stream["classes"] = range(3)
    found = []
    for chunk_bytes in (900, 1 << 20):
        with open_stream(path, chunk_bytes=chunk_bytes, **how) as stream:
            model = clone(case.model).fit_stream(stream, **({} if case.target == "number" else of_stream))
        found.append(bytes_of(model, tmp_path / "m.cw"))
    assert found[0] == found[1]
    for method in (
        ("predict_interval",) if model.predicts_numbers else ("predict", "predict_proba", "predict_set", "novelty")
    ):
        parts = list(model.predict_stream(path, method, chunk_bytes=900))
        assert len(parts) > 1
        assert_alike([np.concatenate(parts)], [next(model.predict_stream(path, method))], exactly=False)
    again = load(tmp_path / "m.cw").partial_fit_stream(path)
    assert again.n_seen_ == 2 * N
    assert bytes_of(again, tmp_path / "a") == bytes_of(model.partial_fit_stream(path), tmp_path / "b")
    stack = "Auto" in type(case.model).__name__
    if not stack and suffix == "csv":
        array = case.trained().partial_fit(X, case.y)
        ours, theirs = (next(one.predict_stream(path)) if one is again else one.predict(X) for one in (again, array))
        if case.target == "number":
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        else:
            assert (ours.astype(str) == theirs.astype(str)).mean() > 0.95  # numbers of classes decide on ties
    (tmp_path / "bad.svm").write_text("1 1:1\n1 1:x\n")
    before = bytes_of(again, tmp_path / "a")
    with pytest.raises(ValueError, match=r"line|column|header|format"):
        again.partial_fit_stream(tmp_path / "bad.svm")
    assert bytes_of(again, tmp_path / "a") == before


# --- what is said ----------------------------------------------------------------------------------------------------


LEVELS = (0.5, 0.8, 0.9, 0.95, 0.98)


@each
def test_what_is_said_of_a_row_agrees(case):
    model = case.trained()
    if case.target in NUMBERS:
        mean, std = model.predict(X, return_std=True)
        limits = [np.moveaxis(model.predict_interval(X, coverage), -1, 0) for coverage in LEVELS]
        assert mean.shape == case.y.shape and (limits[0][0] < limits[0][1]).all() and (std > 0).all()
        for (low, high), (lower, higher) in pairwise(limits):
            assert (lower <= low).all() and (high <= higher).all() and (lower < low).any()
        return
    scores, predicted = model.decision_function(X), model.predict(X)
    if not hasattr(model, "predict_proba"):
        assert (predicted == model.classes_[scores.argmax(axis=1)]).all()
        return
    p = model.predict_proba(X)
    mean, variance = model.margin_distribution(X)
    assert (mean == scores).all() and variance.shape == mean.shape and (variance > 0).all()
    if case.target == "labels":
        assert np.array_equal(predicted, (p > model.learner_.label_threshold).astype(int))
    else:
        assert (predicted == model.classes_[p.argmax(axis=1)]).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        shares = np.array([np.mean(case.y == one) for one in model.classes_])
        np.testing.assert_allclose(model.predict_proba(X, shares=shares), p, rtol=1e-6)  # those of training
        other = np.roll(shares, 1) if len(shares) > 2 else np.array([0.9, 0.1])
        moved = model.predict_proba(X, shares=other)
        np.testing.assert_allclose(
            moved[:, 0] / moved[:, 1] * p[:, 1] / p[:, 0], other[0] / other[1] * shares[1] / shares[0]
        )
        assert (model.abstain(X, 0.3) == (p.max(axis=1) < model.learner_.conformal.least_probability(0.3))).all()
    for by_class in (True, False):
        sets = [model.predict_set(X, coverage, by_class=by_class) for coverage in LEVELS]
        assert all((low <= high).all() for low, high in pairwise(sets)) and (sets[0] != sets[-1]).any()


@each_learner
@pytest.mark.parametrize("as_dicts", [False, True])
def test_verbose_training_shows_a_bar_and_changes_nothing(case, as_dicts, capsys):
    if as_dicts and "Auto" in type(case.model).__name__ and case.target != "two":
        pytest.skip("as others")
    given = pd.DataFrame(X[:60], columns=list("abcde")).to_dict("records") if as_dicts else X[:60]
    shown = clone(case.model).set_params(passes=2, verbose=True).fit(given, case.y[:60])
    captured = capsys.readouterr()
    last = captured.err.splitlines()[-1]
    assert captured.out == "" and "120 rows" in last
    assert (" % mistakes in pass 2" in last) == (case.target not in NUMBERS)
    quiet = clone(case.model).set_params(passes=2).fit(given, case.y[:60])
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(shown.predict(given), quiet.predict(given))
    assert shown.n_iter_ == quiet.n_iter_ == 2


# --- settings --------------------------------------------------------------------------------------------------------

WRONG = [
    ("rule", "no_such", "unknown rule 'no_such'"), ("dtype", "float16", "dtype: expected one of"),
    ("passes", 0, "passes must be"), ("passes", 1.5, "passes must be"), ("passes", True, "passes must be"),
    ("shuffle", "yes", "shuffle must be"), ("shuffle", 2, "shuffle must be"),
    ("covariance", "dense", "covariance: expected one of"), ("calibration", "platt", "calibration: expected one of"),
    ("prior_variance", 0.0, r"prior_variance must be in"), ("view", "sideways", "unknown view"),
    ("tol", -1, "tol must be None or a number >= 0"), ("tol", "x", "tol must be"),
    ("tol", float("nan"), "tol must be"), ("average", "always", 'average must be "auto", True or False'),
    ("average", 1.0, "average must be"), ("bounds", (1.0, 0.0), "bounds: "), ("bounds", (0.0, 0.0), "bounds: "),
    ("bounds", "0,1", "bounds: "), ("bounds", (0.0,), "bounds: "), ("bounds", (float("nan"), 1.0), "bounds: "),
    ("bounds", (-1e60, 0.0), "bounds: "), ("bounds", 3, "bounds: "),
    ("members", "best", 'members: expected "auto" or a list of'), ("members", [], "at least one Online"),
    ("members", [1], "expected Online.*, got int"), ("members", None, "got None"),
    ("members", [OnlineClassifier(passes=0)], "passes must be|expected OnlineRegressors"),
    ("members", [OnlineRegressor(covariance="kernel")], "is not supported in a stack|expected OnlineClassifiers"),
    ("multiclass", "ovo", "multiclass: expected one of"),
    ("min_variance", 1.0, r"min_variance must be in \[1e-20, 1\)"),
    ("class_weight", {"ham": -1.0}, "finite and >= 0"), ("class_weight", {9: 1.0}, "unknown classes|9"),
    ("class_weight", "even", "class_weight: expected one of 'balanced'"), ("rule", 3, "rule: expected a rule"),
    ("class_weight", {"ham": "much"}, "class weights must be numbers"),
]  # fmt: skip


ONLY = {"shuffle": (AutoClassifier, AutoRegressor), "average": (OnlineClassifier,)}  # others take what is true


@pytest.mark.parametrize(("name", "value", "message"), WRONG, ids=str)
def test_invalid_settings_are_one_error_of_each_estimator(name, value, message):
    kinds = [(kind, Y["two"]) for kind in (OnlineClassifier, AutoClassifier)]
    kinds += [(kind, Y["number"]) for kind in (OnlineRegressor, AutoRegressor)]
    found = [(kind, y) for kind, y in kinds if name in kind().get_params() and kind in ONLY.get(name, (kind,))]
    assert found
    for kind, y in found:
        model = kind(**{name: value})
        with pytest.raises((TypeError, ValueError), match=message):
            model.fit(X, y)
        assert not hasattr(model, "learner_")


@each_learner
def test_what_was_decided_stays(case):
    model = case.trained(slice(60))
    dtype = "float64" if case.model.get_params().get("dtype") == "float32" else "float32"
    with pytest.raises(ValueError, match=r"dtype.* cannot change after training has begun"):
        model.set_params(dtype=dtype).partial_fit(X, case.y)
    assert clone(model).fit(X[:60], case.y[:60]).n_seen_ > 0


# --- merging ---------------------------------------------------------------------------------------------------------

MERGED = {
    name: case for name, case in LEARNERS.items() if "Auto" not in name or "given" in name
}  # fmt: skip


@pytest.mark.parametrize("case", MERGED.values(), ids=MERGED)
def test_models_are_merged_in_any_order(case, tmp_path):
    """To rounding: sums of three numbers depend on their order."""
    parts = [case.trained(slice(k * 80, (k + 1) * 80)) for k in range(3)]
    whole, other = merge(parts), merge([parts[2], parts[0], parts[1]])
    assert whole.n_seen_ == other.n_seen_ == N
    assert_alike(answers(whole), answers(other), exactly=False)
    assert np.array_equal(getattr(whole, "mistakes_", 0), getattr(other, "mistakes_", 0))
    for one in (whole, other):
        one.partial_fit(X[:10], case.y[:10])
    assert_alike(answers(whole), answers(other), exactly=False)
    one, two = settled_state(merge(parts[:2])), settled_state(merge(parts[1::-1]))
    assert one.keys() == two.keys()


def test_merged_regressions_know_what_all_targets_were():
    """Whether none was negative and all were integers, until one part has seen others."""
    counts, far = np.abs(SCORE).round(), 5.0 * X
    base, one, other = (
        OnlineRegressor().fit(X[rows], counts[rows]) for rows in (slice(80), slice(80, 160), slice(160, N))
    )
    continued = [copy.deepcopy(base).partial_fit(X[rows], counts[rows]) for rows in (slice(80, 160), slice(160, N))]
    for counted in (merge([one, other]), merge(continued, base)):
        limits = counted.predict_interval(far)
        assert limits.min() == 0.0 == counted.predict(far).min() and (limits % 1.0 == 0.0).all()
    for targets, negative, whole in ((counts - 3.0, True, True), (counts + 0.5, False, False), (SCORE, True, False)):
        mixed = OnlineRegressor().fit(X[80:], targets[80:])
        for both in ([base, mixed], [mixed, base]):
            limits = merge(both).predict_interval(far)
            assert ((limits < 0.0).any(), (limits % 1.0 == 0.0).all()) == (negative, whole)


def test_topic_models_say_that_they_are_not_merged():
    counts = csr_array(np.abs(X).astype(int))
    parts = [OnlineMedLDA(2, random_state=0).fit(counts, Y["two"]) for _ in range(2)]
    with pytest.raises((MergeError, TypeError), match=re.compile("topic|OnlineMedLDA", re.IGNORECASE)):
        merge(parts)


def test_other_estimators_are_not_merged():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = OnlineClassifier().fit(X, Y["two"])
    with pytest.raises((MergeError, TypeError), match=r"SGDClassifier|classifier"):
        merge([model, SGDClassifier().fit(X, Y["two"])])


# --- progressive validation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [SGDClassifier(random_state=0), BernoulliNB(), MIRA()], ids=lambda one: type(one).__name__
)
def test_any_classifier_is_validated_by_its_predictions_before_each_row(model):
    y, at = Y["three"][:80], [1, 20, 80]
    curve = progressive_validation(model, X[:80], y, at=at)
    own, wrong = clone(model), [1.0]
    for k in range(80):
        wrong += [float(own.predict(X[k : k + 1])[0] != y[k])] if k else []
        own.partial_fit(X[k : k + 1], y[k : k + 1], classes=np.unique(y))
    assert curve.mistakes[0].tolist() == np.cumsum(wrong)[np.array(at) - 1].tolist()
    np.testing.assert_array_equal(curve.models[0].predict(X), own.predict(X))
