"""``view="auto"``: an estimator sees rows as ``confidently train`` does, and learns the same from the same data."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from confidently import AutoClassifier, OnlineClassifier, Standard, load, merge, progressive_validation
from confidently.cli import run
from confidently.data import DataWarning, open_stream
from confidently.models.merging import MergeError
from tests.states import settled_state

SETS = {"wine": load_wine, "breast cancer": load_breast_cancer, "iris": load_iris, "digits": load_digits}
KIND = "standard.kind"  # absent values are 0 in arrays and unknown in tables; no row of these lacks one


def shuffled(load_set):
    X, y = load_set(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def extremes():
    """Columns of all scales, a constant one, one of zeros, and one that is mostly 0."""
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 6)) * [1e-9, 1.0, 1e6, 1e9, 0.0, 1.0] + [0.0, 1e5, 0.0, 0.0, 7.0, 0.0]
    X[:, 5] *= random.random(300) < 0.1
    return np.column_stack([X, np.zeros(300)]), (X[:, 1] > 1e5).astype(int) + (X[:, 5] != 0)


def images():
    """784 columns, most of which are 0 in a row, and many always."""
    random = np.random.default_rng(2)
    X = np.zeros((300, 784))
    y = random.integers(0, 3, 300)
    for row, label in zip(X, y, strict=True):
        row[100 + 150 * label + random.integers(0, 150, 60)] = random.integers(1, 256, 60)
    return X, y


TABLES = {name: shuffled(load_set) for name, load_set in SETS.items()} | {"extremes": extremes(), "images": images()}


def frame(X, y):
    found = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    return found.assign(label=y)


def trained(folder, X, y, *options):
    """The model that the command line trains on a table, and its file of rows."""
    continued = "--init-model" in options
    file, model = folder / "rows.csv", folder / ("more.cw" if continued else "model.cw")
    frame(X, y).to_csv(file, index=False)
    if not continued:  # classes, which arrays show at once, and files one after the other
        options = ("--rule", "arow", "--classes", ",".join(map(str, np.unique(y))), *options)
    assert run(["train", str(file), "-o", str(model), "-q", "--no-shuffle", *options]) == 0
    return load(model), file


def check_same(one, other, *but):
    mine, theirs = settled_state(one), settled_state(other)
    assert mine.keys() == theirs.keys() and one.view_ == other.view_
    # the width of an open block is that of the features used so far, of which files show also those that are 0
    for name in mine.keys() - {KIND, "block.counts", *but}:
        np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)


OPTIONS = {
    "arow": ([], {}),
    "full": (["--covariance", "full"], {"covariance": "full"}),
    "shared": (["--covariance", "shared"], {"covariance": "shared"}),
    "float32": (["--dtype", "float32"], {"dtype": "float32"}),
    "logistic": (["--rule", "logistic", "--prior-variance", "3"], {"rule": "logistic", "prior_variance": 3.0}),
}


CASES = [  # a matrix over 784 columns takes long
    (table, options)
    for table in TABLES for options in OPTIONS if table != "images" or options not in ("full", "shared")
]  # fmt: skip


@pytest.mark.long("four trainings of each table")
@pytest.mark.few(1)
@pytest.mark.parametrize(("table", "options"), CASES)
def test_arrays_are_learned_as_on_the_command_line(table, options, tmp_path):
    X, y = TABLES[table]
    given, settings = OPTIONS[options]
    expected, file = trained(tmp_path, X, y, *given)
    rows = frame(X, y).drop(columns="label")
    fitted = OnlineClassifier(**settings).fit(X, y)
    ways = [fitted, OnlineClassifier(**settings).fit(rows, y)]
    if options not in ("full", "shared"):  # which learn blocks of rows together
        ways.append(OnlineClassifier(**settings))
        for k, last in ((0, 1), (1, 2), (2, 50), (50, len(y))):  # a first call with one row
            ways[-1].partial_fit(X[k:last], y[k:last], classes=None if k else np.unique(y))
    for found in ways:
        check_same(found, expected)
    for method in ("predict", "predict_proba", "decision_function"):
        answer = getattr(expected, method)(X)  # of arrays with zeros, which are values as in the file
        np.testing.assert_array_equal(answer, getattr(fitted, method)(X))
        np.testing.assert_array_equal(answer, np.concatenate(list(expected.predict_stream(file, method))))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_zeros_of_arrays_are_values_of_a_table(kind, tmp_path):
    X, y = extremes()
    X = X[:, [1, 4, 5, 6]].astype(np.float32).astype(np.float64)
    model, file = trained(tmp_path, X, y)
    np.testing.assert_array_equal(
        model.decision_function(X.astype(kind)), np.concatenate(list(model.predict_stream(file, "decision_function")))
    )
    twice = OnlineClassifier().fit(X.astype(kind), y)
    check_same(twice, model)
    more, _ = trained(tmp_path, X, y, "--init-model", str(tmp_path / "model.cw"))
    check_same(model.partial_fit(X.astype(kind), y), more)


def test_sparse_rows_are_learned_as_on_the_command_line(tmp_path):
    X, y = TABLES["images"]
    file, model = tmp_path / "rows.svm", tmp_path / "model.cw"
    dump_svmlight_file(X, y, str(file), zero_based=False)
    assert run(["train", str(file), "--rule=arow", "-o", str(model), "-q", "--no-shuffle", "--classes", "0,1,2"]) == 0
    rows = csr_matrix(X)[:, : load(model).n_features_in_]
    found = OnlineClassifier().fit(rows, y)
    assert found.view_ is None
    check_same(found, load(model))


def test_streams_are_learned_as_on_the_command_line(tmp_path):
    X, y = TABLES["wine"]
    expected, file = trained(tmp_path, X, y)
    found = OnlineClassifier().fit_stream(open_stream(file, normalize="none", zeros=True), classes=[0, 1, 2])
    check_same(found, expected)
    np.testing.assert_array_equal(found.learner_.state[KIND], expected.learner_.state[KIND])
    with pytest.warns(DataWarning, match="numeric columns are not standardized.*normalize='none', zeros=True"):
        scaled = OnlineClassifier().fit_stream(open_stream(file), classes=[0, 1, 2])
    raw = OnlineClassifier(view=None).fit_stream(open_stream(file), classes=[0, 1, 2])
    assert scaled.view_ is raw.view_ is None
    check_same(scaled, raw)


def test_a_stream_of_text_or_without_rows_has_no_view(tmp_path):
    (tmp_path / "rows.tsv").write_text("label\tword\n" + "a\tx\nb\ty\n" * 20)
    (tmp_path / "rows.txt").write_text("a\thello you\nb\tbye\n" * 20)
    (tmp_path / "empty.csv").write_text("label,x\n")
    for name in ("rows.tsv", "rows.txt"):
        assert OnlineClassifier().fit_stream(open_stream(tmp_path / name)).view_ is None
    with pytest.raises(ValueError, match=r"header|row"):
        OnlineClassifier().fit_stream(open_stream(tmp_path / "empty.csv"))


def test_a_shuffled_stream_is_looked_at_in_its_order(tmp_path):
    X, y = TABLES["wine"]
    frame(X, y).to_csv(tmp_path / "rows.csv", index=False)
    options = {"normalize": "none", "zeros": True}
    models = [
        OnlineClassifier(view=view).fit_stream(open_stream(tmp_path / "rows.csv", **options).shuffle(seed=1))
        for view in ("auto", "standard")
    ]
    check_same(*models)


# --- accuracy ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wine", "breast cancer", "digits"])  # iris: four columns lose much with their length
def test_tables_need_no_scaler(name):
    """Within 2 points of scaled logistic regression."""
    X, y = SETS[name](return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)

    def accuracy(model):
        with warnings.catch_warnings(action="ignore", category=DataWarning):
            return cross_val_score(model, X, y, cv=folds).mean()

    found = accuracy(OnlineClassifier(shuffle=True, random_state=0))
    raw = accuracy(OnlineClassifier(view=None, shuffle=True, random_state=0))
    scaled = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    assert found > max(raw, accuracy(scaled) - 0.02)


# --- the estimator ----------------------------------------------------------------------------------------------------


@pytest.fixture
def wine():
    return TABLES["wine"]


def test_it_is_shown_as_resolved(wine):
    model = OnlineClassifier("cw_stdev")
    assert repr(model) == "OnlineClassifier(rule='cw_stdev')"
    model.fit(*wine)
    assert repr(model) == "OnlineClassifier(rule='cw_stdev', view=Standard(unit_norm=True))"
    assert "Standard(unit_norm=True)" in model._repr_html_()
    assert "Standard(unit_norm=True)" in make_pipeline(StandardScaler(), model)._repr_html_()
    assert repr(OnlineClassifier().fit(csr_matrix(wine[0]), wine[1])) == "OnlineClassifier(view=None)"
    assert repr(OnlineClassifier(view=None).fit(*wine)) == "OnlineClassifier(view=None)"
    assert max(map(len, repr(OnlineClassifier("cw_stdev", "full", prior_variance=2.0).fit(*wine)).splitlines())) <= 80


def test_parameters_stay_as_they_were_given(wine):
    model = OnlineClassifier().fit(*wine)
    assert model.get_params()["view"] == "auto" and model.view_ == Standard()
    assert not [name for name in model.get_params() if name.startswith("view__")]
    fresh = clone(model)
    assert fresh.view == "auto"
    with pytest.raises(AttributeError, match="not fitted"):
        _ = fresh.view_
    check_same(fresh.fit(*wine), model)
    with pytest.raises(ValueError, match="view='auto' has no parameter 'unit_norm'; pass a view"):
        OnlineClassifier().set_params(view__unit_norm=False)
    assert OnlineClassifier().set_params(view="standard", view__unit_norm=False).view == Standard(unit_norm=False)
    with pytest.raises(ValueError, match="unknown view 'automatic'"):
        OnlineClassifier(view="automatic").fit(*wine)


def test_the_view_is_chosen_once(wine):
    X, y = wine
    dense = OnlineClassifier().partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    sparse = OnlineClassifier().partial_fit(csr_matrix(X[:1]), y[:1], classes=[0, 1, 2])
    for model in (dense, sparse):
        for rows in (X[1:90], csr_matrix(X[90:])):
            first = 1 if rows is not None and rows.shape[0] == 89 else 90
            model.partial_fit(rows, y[first : first + rows.shape[0]])
    check_same(dense, OnlineClassifier(view="standard").fit(X, y))
    check_same(sparse, OnlineClassifier(view=None).fit(X, y))
    assert dense.fit(csr_matrix(X), y).view_ is None  # fit begins again


def test_merging(wine):
    X, y = wine
    parts = [OnlineClassifier().fit(X[k::2], y[k::2]) for k in range(2)]
    whole = merge(parts)
    assert whole.view == "auto" and whole.view_ == Standard()
    check_same(whole, merge([OnlineClassifier(view="standard").fit(X[k::2], y[k::2]) for k in range(2)]))
    assert whole.partial_fit(X, y).view_ == Standard()
    with pytest.raises(MergeError, match=r"view = standard in model 1, view = none in model 2"):
        merge([parts[0], OnlineClassifier().fit(csr_matrix(X), y)])


def test_what_no_view_is_chosen_for(wine):
    X, y = wine
    kernel = OnlineClassifier(covariance="kernel").fit(X, y)
    assert kernel.view_ is None
    check_same(kernel, OnlineClassifier(covariance="kernel", view=None).fit(X, y))
    wide = np.zeros((4, 10_001))
    wide[:, 0] = y = np.array([0, 1, 0, 1])
    assert OnlineClassifier().fit(wide, y).view_ is None
    assert OnlineClassifier().fit(wide[:, :10_000], y).view_ == Standard()


def test_members_of_a_stack_see_arrays_as_the_classifier_does(wine):
    stack = AutoClassifier([OnlineClassifier("arow"), OnlineClassifier("arow", view=None)], passes=1).fit(*wine)
    seen, raw = stack.members_.values()
    assert (seen.view_, raw.view_) == (Standard(), None)
    alone = OnlineClassifier(shuffle=True, random_state=0).fit(*wine)
    check_same(seen, alone, "calibration", "conformal")  # of which members learn a part, and nothing


def test_progressive_validation_sees_rows_so(wine, tmp_path):
    X, y = wine
    found, named = (
        progressive_validation(OnlineClassifier(view=view), X, y, random_state=0) for view in ("auto", "standard")
    )
    np.testing.assert_array_equal(found.mistakes, named.mistakes)
    check_same(found.models[0], named.models[0])
    frame(X, y).to_csv(tmp_path / "rows.csv", index=False)
    options = {"normalize": "none", "zeros": True}
    curves = [
        progressive_validation(OnlineClassifier(view=view), open_stream(tmp_path / "rows.csv", **options))
        for view in ("auto", "standard")
    ]
    np.testing.assert_array_equal(curves[0].mistakes, curves[1].mistakes)
