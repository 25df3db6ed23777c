"""coverage_by: sets and intervals that cover each value of a column, in arrays, frames, dicts and files; errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, _core, load, merge
from confidently.data import DataError, DataWarning, open_stream
from confidently.evaluation.labeled_data import evaluate
from confidently.models.file import ModelFileError
from confidently.models.merging import MergeError
from confidently.tasks import conformal, errors
from confidently.tasks.conformal import CONFORMAL, COUNTS, MARTINGALE, RARE, ConformalSets, rows_seen
from confidently.tasks.groups import GROUPS
from tests.model_files import contents_of, write_contents

KINDS = [OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor]
CLASSIFIERS, REGRESSORS = KINDS[:2], KINDS[2:]
EACH = pytest.mark.parametrize("kind", KINDS)
STACKS = pytest.mark.long("stacks of thousands of rows")
TOWNS = np.array(["Delft", "Lund", "Porto"])


def rows(n=6000, classes=2, seed=0):
    """Rows whose last column is a group; the labels of the third group are hardly foreseeable."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 3, n)
    X = np.column_stack([generator.normal(size=(n, 3)), group])
    noise = np.array([0.0, 0.5, 3.0])[group] * generator.normal(size=n)
    return X, np.digitize(X[:, 0] + X[:, 1] + noise, np.linspace(-0.7, 0.7, classes + 1)[1:-1])


def number_rows(n=1200, numbers=1, seed=0):
    """Rows of such groups, of which the noise of one or more numbers depends."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 3, n)
    X = np.column_stack([generator.normal(size=(n, 3)), group])
    noise = np.array([0.1, 0.5, 3.0])[group, None] * generator.normal(size=(n, numbers))
    y = X[:, :3] @ generator.normal(size=(3, numbers)) + noise
    return X, y[:, 0] if numbers == 1 else y


def label_rows(n=900, seed=0):
    X, y = number_rows(n, 3, seed)
    return X, (y > 0.3).astype(int)


def rows_for(kind, n, seed=0):
    return rows(n, seed=seed) if kind in CLASSIFIERS else number_rows(n, seed=seed)


def frame_of(X, y):
    frame = pd.DataFrame(X[:, :3].round(4), columns=["a", "b", "c"]).assign(town=TOWNS[X[:, 3].astype(int)])
    return frame.assign(label=y.round(4) if y.dtype == float else np.array(["no", "yes", "perhaps"])[y])


def known(kind, y):
    return {"classes": np.unique(y)} if kind in CLASSIFIERS else {}


def asked(model, X, coverage=0.9, **how):
    return model.predict_interval(X, coverage) if model.predicts_numbers else model.predict_set(X, coverage, **how)


def has_true(found, y):
    if found.dtype != bool:
        return (found[..., 0] <= y) & (y <= found[..., 1])
    return found[np.arange(len(y)), y]


def by_group(found, X, y):
    return [has_true(found, y)[X[:, 3] == group].mean() for group in range(3)]


def states(model):
    return model.learner_.groups.states


def assert_same(one, other):
    assert one.learner_.groups.column == other.learner_.groups.column
    assert list(states(one)) == list(states(other))
    for value, state in states(one).items():
        np.testing.assert_array_equal(states(other)[value], state)


@pytest.mark.parametrize(
    ("kind", "seeds", "n"),
    [
        *zip(KINDS, (1, 1, 2, 1), (4000, 1000, 3000, 1000), strict=True),
        *(pytest.param(kind, 3, 6000, marks=pytest.mark.long("thirty trainings")) for kind in KINDS),
    ],
)
def test_each_group_is_covered_as_often_as_is_asked_for(kind, seeds, n):
    found = {True: [], False: [], None: []}
    for seed in range(seeds):
        X, y = rows_for(kind, 2 * n, seed)
        (X, X_new), (y, y_new) = np.split(X, [n]), np.split(y, [n])
        model = kind(coverage_by=3).fit(X, y)
        if kind is OnlineClassifier or seeds == 3:
            found[None].append(by_group(asked(kind().fit(X, y), X_new), X_new, y_new))
        for by_class in (False, True) if kind in CLASSIFIERS else (True,):
            how = {"by_class": by_class} if kind in CLASSIFIERS else {}
            found[by_class].append(by_group(asked(model, X_new, **how), X_new, y_new))
    assert kind in REGRESSORS or not found[None] or np.mean(found[None], axis=0)[2] < 0.85
    for values in (found[True], found[False]):
        if values:
            np.testing.assert_allclose(np.mean(values, axis=0), 0.9, atol={1: 0.06, 2: 0.03, 3: 0.03}[seeds])


OF_CLASSES = [
    *({"covariance": name, "multiclass": task} for name in ("diag", "full") for task in (None, "one-vs-rest", "joint")),
    {"rule": "logistic", "multiclass": "softmax", "covariance": "shared"}, {"rule": "pa1", "dtype": "float32"},
    {"covariance": "full", "rows_per_product": 7}, {"rule": "logistic", "covariance": "diag"},
    {"covariance": "full", "forget": 0.01}, None,
]  # fmt: skip
OF_LABELS = [
    {}, {"multiclass": "one-vs-rest"}, {"multiclass": "joint"}, {"covariance": "full"}, {"dtype": "float32"},
    {"covariance": "full", "rows_per_product": 7}, {"covariance": "kernel", "view": None}, {"view": "standard,pairs"},
    None,
]  # fmt: skip
OF_NUMBERS = [
    *({"covariance": name} for name in ("diag", "full", "low_rank")), {"rule": "pa1_reg"},
    {"rule": "quantile", "dtype": "float32"}, {"rows_per_product": 7}, {"view": "standard,pairs"},
    {"fit_intercept": False}, {"forget": 0.01, "covariance": "diag"}, None,
]  # fmt: skip
ONE_NUMBER = ("low_rank", "kernel", "full")


@pytest.mark.long("a training of each setting")
@pytest.mark.parametrize(
    ("settings", "targets"),
    [
        *((settings, classes) for settings in OF_CLASSES for classes in (2, 3)),
        *((settings, "labels") for settings in OF_LABELS),
    ],
    ids=str,
)
def test_a_group_of_all_rows_has_learned_what_all_rows_have(settings, targets):
    X, y = label_rows(700) if targets == "labels" else rows(700, targets)
    X[:, 3] = 7.0
    model = AutoClassifier(coverage_by=3) if settings is None else OnlineClassifier(coverage_by=3, **settings)
    model.fit(X[:500], y[:500], sample_weight=np.arange(500) % 5 > 0).partial_fit(X[500:], y[500:])
    whole, own = model.learner_.state[CONFORMAL], states(model)["7"]
    counted = np.concatenate([y[:500][np.arange(500) % 5 > 0], y[500:]])
    assert rows_seen(whole) == (counted.sum() if targets == "labels" else 600)
    for part in (slice(MARTINGALE), slice(RARE, None)):
        np.testing.assert_array_equal(own[part], whole[part])


@pytest.mark.long("two trainings of each setting")
@pytest.mark.parametrize(
    ("settings", "numbers"),
    [(s, n) for s in OF_NUMBERS for n in (1, 2) if n == 1 or not s or s.get("covariance") not in ONE_NUMBER],
    ids=str,
)
def test_a_group_of_all_numbers_has_learned_what_all_have(settings, numbers):
    X, y = number_rows(700, numbers)
    X[:, 3] = 7.0
    grouped = AutoRegressor(coverage_by=3) if settings is None else OnlineRegressor(coverage_by=3, **settings)
    plain = clone(grouped).set_params(coverage_by=None)
    for model in (grouped, plain):
        model.fit(X[:500], y[:500], sample_weight=np.arange(500) % 5 > 0).partial_fit(X[500:], y[500:])
    assert list(states(grouped)) == ["7"]
    np.testing.assert_array_equal(errors.rows(states(grouped)["7"]), grouped.learner_.targets.errors)
    for coverage in (0.5, 0.8, 0.9, 0.99):
        np.testing.assert_array_equal(grouped.predict_interval(X, coverage), plain.predict_interval(X, coverage))


@pytest.mark.long("two stacks of each kind")
@EACH
def test_nothing_but_sets_and_intervals_depends_on_the_column(kind):
    X, y = rows_for(kind, 1200 if kind is OnlineClassifier else 500)
    plain, grouped = kind().fit(X, y), kind(coverage_by=3).fit(X, y)
    for name in (CONFORMAL, "calibration"):
        if name in plain.learner_.state:
            np.testing.assert_array_equal(grouped.learner_.state[name], plain.learner_.state[name])
    if kind in CLASSIFIERS:
        np.testing.assert_array_equal(grouped.predict_proba(X), plain.predict_proba(X))
        np.testing.assert_array_equal(grouped.abstain(X, 0.2), plain.abstain(X, 0.2))
    else:
        np.testing.assert_array_equal(grouped.predict(X, True), plain.predict(X, True))
    assert (asked(grouped, X, 0.8) != asked(plain, X, 0.8)).any()


REGRESSIONS = [OnlineRegressor(covariance="diag"), OnlineRegressor(covariance="full")]
REGRESSIONS += [OnlineRegressor("pa1_reg", "diag", view="standard"), AutoRegressor()]
CUT = {
    **{f"classes {name}": (OnlineClassifier(covariance=name, view=None), 3) for name in ("diag", "shared", "kernel")},
    "classes logistic": (OnlineClassifier("logistic", passes=2), 3),
    "classes one-vs-rest": (OnlineClassifier(multiclass="one-vs-rest"), 3),
    "classes auto": (AutoClassifier(), 3),
    **{f"labels {kind.__name__}": (kind(), "labels") for kind in CLASSIFIERS},
    **{f"numbers {k} {model}": (model, -k) for k in (1, 2) for model in REGRESSIONS[: 2 + k]},
}
ROUNDED = ("classes shared", "classes kernel", "labels AutoClassifier")  # products round by the number of rows


@pytest.mark.long("stacks of 1,100 rows")
@pytest.mark.parametrize("case", CUT)
def test_cuts_and_files_change_nothing(case, tmp_path):
    model, targets = CUT[case]
    X, y = label_rows(1100) if targets == "labels" else rows(1100, 3) if targets == 3 else number_rows(1100, -targets)
    classes = {} if model.predicts_numbers else {"classes": range(3)}
    weight = np.arange(1100) % 7 > 0
    whole, parts = (clone(model).set_params(coverage_by=3) for _ in range(2))
    whole.partial_fit(X, y, **classes, sample_weight=weight)
    for first, last in ((0, 1024), (1024, 1025), (1025, 1100)):
        own = slice(first, last)
        parts.partial_fit(X[own], y[own], **(classes if first == 0 else {}), sample_weight=weight[own])
        parts.save(tmp_path / "model.cw")
        parts = load(tmp_path / "model.cw")
    assert parts.coverage_by == 3 and set(states(whole)) == {"0", "1", "2"}
    if case not in ROUNDED and (not model.predicts_numbers or model.get_params().get("covariance") == "diag"):
        assert_same(whole, parts)
        np.testing.assert_array_equal(asked(parts, X, 0.8), asked(whole, X, 0.8))
    if model.predicts_numbers:
        for value, state in states(whole).items():
            assert errors.rows_seen(states(parts)[value]) == errors.rows_seen(state)
        np.testing.assert_allclose(asked(parts, X), asked(whole, X), rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("kind", [*KINDS[::2], *(pytest.param(k, marks=STACKS) for k in KINDS[1::2])])
def test_frames_dicts_files_and_streams_are_alike(kind, tmp_path):
    frame = frame_of(*rows_for(kind, 1200 if kind in CLASSIFIERS else 500))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    table, y = frame.drop(columns="label"), frame["label"].to_numpy()
    dicts, model, classes = table.to_dict("records"), kind(coverage_by="town"), known(kind, y)
    if kind in CLASSIFIERS:
        model.set_params(random_state=0)
    on_frame = clone(model).partial_fit(frame, "label", **classes)
    on_dicts = clone(model).partial_fit(dicts, y, **classes)
    on_file = clone(model).fit_stream(tmp_path / "rows.csv")
    how = {"keep": ["town"], "zeros": True, "normalize": "none", "targets": kind in REGRESSORS}
    with open_stream(tmp_path / "rows.csv", **how) as stream:
        on_stream = clone(model).fit_stream(stream)
    assert set(states(on_frame)) == set(TOWNS)
    for other in (on_dicts, on_file, on_stream):
        assert_same(on_frame, other)
    expected = asked(on_frame, frame, 0.8)
    assert (expected != asked(kind().partial_fit(frame, "label", **classes), frame, 0.8)).any()
    np.testing.assert_array_equal(asked(on_dicts, dicts, 0.8), expected)
    method = "predict_interval" if kind in REGRESSORS else "predict_set"
    for keep in ((), ("a",)):
        [found] = on_file.predict_stream(tmp_path / "rows.csv", method, coverage=0.8, keep=keep)
        np.testing.assert_array_equal(found, expected)
    inside = has_true(expected, y if kind in REGRESSORS else (y == "yes").astype(int))
    measured = evaluate(on_file, tmp_path / "rows.csv", coverage=0.8, by="town")
    for one in measured["by"]["groups"]:
        assert one["coverage"] == pytest.approx(inside[frame["town"] == one["value"]].mean())
    if kind in CLASSIFIERS:
        assert measured["set"]["coverage"] == pytest.approx(inside.mean())
    assert_same(on_frame.partial_fit(frame, "label"), on_file.partial_fit_stream(tmp_path / "rows.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        without = table.drop(columns="town")
        assert len(on_frame.predict(without)) == len(frame)
        for refused in (lambda: asked(on_frame, without), lambda: on_frame.partial_fit(without, y)):
            with pytest.raises(DataError, match="no column 'town'"):
                refused()
    stream = open_stream(tmp_path / "rows.csv", **how | {"keep": ()})
    with stream, pytest.raises(DataError, match=r"keep=\['town'\]"):
        clone(model).fit_stream(stream)


def test_columns_of_numbers_have_names_numbers_or_are_sparse():
    X, y = rows(900)
    X[:, 3] *= 0.5
    model = OnlineClassifier(coverage_by=3).fit(X, y)
    assert set(states(model)) == {"0", "0.5", "1"}
    named = pd.DataFrame(X, columns=list("abcd"))
    by_name = OnlineClassifier(coverage_by="d").fit(named, y)
    sparse = OnlineClassifier(coverage_by=3, view="standard").fit(csr_array(X), y)
    for value, state in states(model).items():
        np.testing.assert_array_equal(states(by_name)[value], state)
        np.testing.assert_array_equal(states(sparse)[value], state)
    np.testing.assert_array_equal(by_name.predict_set(named, 0.8), model.predict_set(X, 0.8))
    np.testing.assert_array_equal(sparse.predict_set(csr_array(X), 0.8), model.predict_set(X, 0.8))
    frame = frame_of(X, y)
    frame.loc[::4, "town"] = None  # missing values are a group
    assert set(states(OnlineClassifier(coverage_by="town").fit(frame, "label"))) == {*TOWNS[:2], ""}


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_that_come_later_have_scores_in_every_group(kind):
    X, y = rows(1500, classes=3)
    order = np.argsort(y[:900] == 2, kind="stable")
    X[:900], y[:900] = X[order], y[order]
    model = kind(coverage_by=3).partial_fit(X[:200], y[:200], classes=[1, 0])
    model.partial_fit(X[200:], y[200:], classes=[2])
    for value, state in states(model).items():
        assert state[-COUNTS:][2] == ((y == 2) & (X[:, 3] == float(value))).sum() > 0
    assert has_true(model.predict_set(X, 0.9), y)[900:].mean() > 0.85


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_late_labels_teach_groups_what_was_predicted(kind, labels):
    X, y = label_rows(700) if labels else rows(700)
    y[500:510] = 0
    frame = pd.DataFrame(X, columns=list("abcd")).assign(d=TOWNS[X[:, 3].astype(int)])
    for model, table in ((kind(coverage_by=3), X), (kind(coverage_by="d"), frame))[: 1 if labels else 2]:
        model.partial_fit(table[:500], y[:500], classes=range(3) if labels else [0, 1])
        before = {value: state.copy() for value, state in states(model).items()}
        p = (
            np.random.default_rng(0).uniform(size=(200, 3))
            if labels
            else np.random.default_rng(0).dirichlet([1, 1], 200)
        )
        model.partial_fit(table[500:], y[500:], predicted=p)
        for group, value in enumerate(["0", "1", "2"] if table is X else TOWNS):
            at = (X[500:, 3] == group) & (y[500:].any(axis=1) if labels else True)
            own, late = before[value], y[500:][at]
            if labels:
                start = np.append(0, np.cumsum(late.sum(axis=1)))
                _core.conformal_learn_late(own, p[at], late.nonzero()[1].astype(np.int32), start)
            else:
                _core.conformal_learn_late(own, p[at], late.astype(np.int32))
            np.testing.assert_array_equal(states(model)[value], conformal.settled(own))


@pytest.mark.parametrize("kind", [*KINDS[::2], *(pytest.param(k, marks=STACKS) for k in KINDS[1::2])])
def test_merged_models_have_the_rows_of_all(kind, tmp_path):
    X, y = rows_for(kind, 5000)
    if kind in CLASSIFIERS:
        y = np.array(["y", "x"])[y]
    base = kind(coverage_by=3).partial_fit(X[:1200], y[:1200], **known(kind, y))
    base.save(tmp_path / "base.cw")
    parts = [load(tmp_path / "base.cw").partial_fit(X[own], y[own]) for own in (slice(1200, 2000), slice(2000, 3000))]
    merge(parts, base).save(tmp_path / "whole.cw")
    whole = load(tmp_path / "whole.cw")
    seen = [(rows_seen if kind in CLASSIFIERS else errors.rows_seen)(states(whole)[value]) for value in "012"]
    counts = np.bincount(X[:3000, 3].astype(int))
    assert (np.abs(seen - counts) <= (0 if kind in CLASSIFIERS else 7)).all()  # first rows have no standardized error
    numbers = np.searchsorted(["x", "y"], y) if kind in CLASSIFIERS else y
    found = by_group(asked(whole, X[3000:]), X[3000:], numbers[3000:])
    assert min(found) > 0.85 and max(found) < 0.97
    with pytest.raises(MergeError, match="coverage_by = 3 in model 1, coverage_by = None in model 2"):
        merge([parts[0], kind().fit(X[:1200], y[:1200])])


def test_groups_of_one_model_keep_what_it_knows_of_them():
    X, y = rows(3000, classes=3)
    names = np.array(["x", "y", "z"])[y]
    alone = OnlineClassifier(coverage_by=3).fit(X[X[:, 3] == 1], names[X[:, 3] == 1])
    other = OnlineClassifier(coverage_by=3).partial_fit(X[X[:, 3] == 2], names[X[:, 3] == 2], classes=["z", "y", "x"])
    found = merge([alone, other])
    p = np.array([[0.1, 0.3, 0.6]])
    for part, value in ((alone, "1"), (other, "2")):
        own, merged = (p_values(model, value, p) for model in (part, found))
        np.testing.assert_allclose(merged, own, rtol=1e-12)


def p_values(model, value, p):
    """The p-values by class of probabilities of the sorted classes, in their order."""
    by_number = p[:, np.argsort(model._class_order.numbers)]
    return ConformalSets(states(model)[value]).p_values(by_number, by_class=True)[:, model._class_order.numbers]


@pytest.mark.parametrize("kind", [OnlineClassifier, pytest.param(AutoClassifier, marks=STACKS)])
def test_each_group_has_each_label_as_often_as_is_asked_for(kind):
    X, y = label_rows(3500)
    model, plain = (kind(coverage_by=by).fit(X[:2000], y[:2000]) for by in (3, None))
    found, before = (one.predict_set(X[2000:]) for one in (model, plain))
    assert (found != before).any()
    for group in range(3):
        own = X[2000:, 3] == group
        assert 0.84 < found[own][y[2000:][own] == 1].mean() < 0.96


ERRORS = {
    "typo": ("Town", "frame", DataError, r"no column 'Town' \(did you mean 'town'\?\)"),
    "typo in an array": ("dd", "named", ValueError, "X has no column 'dd'.* there are 'a', 'b'"),
    "a number of named columns": (3, "frame", ValueError, "coverage_by=3 is the number of a column"),
    "a name without names": ("d", "array", ValueError, "X has no names; use its number"),
    "beyond the columns": (4, "array", ValueError, "number of a column, from 0 to 3, got 4"),
    "negative": (-1, "array", ValueError, "number of a column, from 0 to 3, got -1"),
    "another type": (True, "array", TypeError, "name or the number of a column, got True"),
}


@EACH
def test_errors_are_clear(kind):
    X, y = rows_for(kind, 200)
    named = pd.DataFrame(X, columns=list("abcd"))
    given = {"frame": (frame_of(X, y), "label"), "array": (X, y), "named": (named, y)}
    for column, data, error, message in ERRORS.values():
        model = kind(coverage_by=column)
        with pytest.raises(error, match=message):
            model.fit(*given[data])
        assert not hasattr(model, "learner_")


@EACH
def test_the_column_stays_once_training_has_begun(kind):
    X, y = rows_for(kind, 600)
    model = kind(coverage_by=3).fit(X, y)
    with pytest.raises(ValueError, match="coverage_by cannot change after training has begun, from 3 to 2"):
        model.set_params(coverage_by=2).partial_fit(X, y)
    assert states(model.fit(X.round(), y)).keys() >= {"-1", "0", "1"}
    if kind in (OnlineClassifier, OnlineRegressor):
        with pytest.raises(ValueError, match="coverage_by needs calibration='progressive'"):
            kind(coverage_by=3, calibration=None).fit(X, y)
    if kind is OnlineRegressor:
        with pytest.raises(ValueError, match="to_sklearn: intervals by the values of a column are not exported"):
            kind(coverage_by=3).fit(X, y).to_sklearn()


@pytest.mark.parametrize("kind", [OnlineClassifier, OnlineRegressor])
def test_values_of_few_rows_are_covered_together(kind):
    X, y = rows_for(kind, 4500)
    X[:, 3] = np.arange(4500) % 600 * 7  # five rows each, and more values than have scores of their own
    found = has_true(asked(kind(coverage_by=3).fit(X[:3000], y[:3000]), X[3000:], 0.8), y[3000:])
    means = [found[y[3000:] == k].mean() for k in (0, 1)] if kind is OnlineClassifier else found.mean()
    assert -0.05 < np.mean(means) - 0.8 < 0.07
    many, few = rows_for(kind, 1500)
    many[:, 3], many[:5, 3] = 1.0, 9.0
    end = "sets have every" if kind is OnlineClassifier else "intervals are inf"
    model, asking = kind(coverage_by=3).fit(many, few), np.vstack([[0.0, 0, 0, 9], [0.0, 0, 0, 7], many[5:]])
    with pytest.warns(DataWarning, match=f"rows whose 3 is '9', '7', which have few rows together: {end}"):
        wide = asked(model, asking)
    assert wide[:2].all() if kind is OnlineClassifier else np.isinf(wide[:2]).all()
    assert not wide[2:].all() if kind is OnlineClassifier else np.isfinite(wide[2:]).all()


DAMAGES = {
    "a value twice": lambda header, arrays: header["coverage_by"].update(values=["0", "0", "2"]),
    "fewer values": lambda header, arrays: header["coverage_by"]["values"].pop(),
    "no scores": lambda header, arrays: arrays.pop(GROUPS),
    "negative counts": lambda header, arrays: arrays[GROUPS].fill(-5.0),
    "another type of value": lambda header, arrays: header["coverage_by"].update(values=[1, 2, 3]),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", [OnlineClassifier, OnlineRegressor])
def test_damaged_groups_are_clear_errors(kind, damage, tmp_path):
    path = tmp_path / "model.cw"
    kind(coverage_by=3).fit(*rows_for(kind, 300)).save(path)
    header, arrays = contents_of(path)
    DAMAGES[damage](header, arrays)
    write_contents(path, header, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)
