"""coverage_by of regressions and of label sets: as of classes, in arrays, frames, dicts and files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, _core, load, merge
from confidently.data import DataError, DataWarning, open_stream
from confidently.evaluation.labeled_data import evaluate
from confidently.models.file import ModelFileError
from confidently.models.merging import MergeError
from confidently.tasks import conformal, errors
from confidently.tasks.conformal import CONFORMAL, MARTINGALE, RARE, rows_seen
from confidently.tasks.groups import GROUPS
from tests.model_files import contents_of, write_contents

KINDS = [OnlineRegressor, AutoRegressor]
TOWNS = np.array(["Delft", "Lund", "Porto"])


def rows(n=1200, numbers=1, seed=0):
    """Rows whose last column is a group, of which the noise depends."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 3, n)
    X = np.column_stack([generator.normal(size=(n, 3)), group])
    noise = np.array([0.1, 0.5, 3.0])[group, None] * generator.normal(size=(n, numbers))
    y = X[:, :3] @ generator.normal(size=(3, numbers)) + noise
    return X, y[:, 0] if numbers == 1 else y


def label_rows(n=900, seed=0):
    X, y = rows(n, 3, seed)
    return X, (y > 0.3).astype(int)


def frame_of(X, y):
    frame = pd.DataFrame(X[:, :3].round(4), columns=["a", "b", "c"])
    return frame.assign(town=TOWNS[X[:, 3].astype(int)], label=y.round(4))


def states(model):
    return model.learner_.groups.states


def assert_same(one, other):
    assert one.learner_.groups.column == other.learner_.groups.column
    assert list(states(one)) == list(states(other))
    for value, state in states(one).items():
        np.testing.assert_array_equal(states(other)[value], state)


def inside(model, X, y, coverage=0.9):
    low, high = model.predict_interval(X, coverage).T
    return (low <= y) & (y <= high)


@pytest.mark.parametrize("kind", [OnlineRegressor, pytest.param(AutoRegressor, marks=pytest.mark.long)])
def test_each_group_is_covered_as_often_as_is_asked_for(kind):
    found = []
    for seed in range(3):
        X, y = rows(5000, seed=seed)
        model = kind(coverage_by=3).fit(X[:3000], y[:3000])
        covered = inside(model, X[3000:], y[3000:])
        found.append([covered[X[3000:, 3] == group].mean() for group in range(3)])
    np.testing.assert_allclose(np.mean(found, axis=0), 0.9, atol=0.03)


SETTINGS = [
    *({"covariance": name} for name in ("diag", "full", "low_rank", "kernel")), {"rule": "pa1_reg"},
    {"rule": "quantile", "dtype": "float32"}, {"rows_per_product": 7}, {"view": "standard,pairs"},
    {"fit_intercept": False}, {"forget": 0.01, "covariance": "diag"},
]  # fmt: skip


@pytest.mark.parametrize("numbers", [1, 2])
@pytest.mark.parametrize("settings", [*SETTINGS, None], ids=str)
def test_a_group_of_all_rows_has_learned_what_all_rows_have(settings, numbers):
    if numbers == 2 and settings is not None and settings.get("covariance") in ("low_rank", "kernel", "full"):
        pytest.skip("of one number")
    X, y = rows(700, numbers)
    X[:, 3] = 7.0
    kind = AutoRegressor(coverage_by=3) if settings is None else OnlineRegressor(coverage_by=3, **settings)
    plain = clone(kind).set_params(coverage_by=None)
    for model in (kind, plain):
        model.fit(X[:500], y[:500], sample_weight=np.arange(500) % 5 > 0).partial_fit(X[500:], y[500:])
    assert list(states(kind)) == ["7"]
    np.testing.assert_array_equal(errors.rows(states(kind)["7"]), kind.learner_.targets.errors)
    for coverage in (0.5, 0.8, 0.9, 0.99):
        np.testing.assert_array_equal(kind.predict_interval(X, coverage), plain.predict_interval(X, coverage))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_intervals_depends_on_the_column(kind):
    X, y = rows()
    plain, grouped = kind().fit(X, y), kind(coverage_by=3).fit(X, y)
    for one, other in zip(plain.predict(X, True), grouped.predict(X, True), strict=True):
        np.testing.assert_array_equal(one, other)
    for name in (CONFORMAL, "calibration"):
        np.testing.assert_array_equal(grouped.learner_.state[name], plain.learner_.state[name])
    assert (grouped.predict_interval(X) != plain.predict_interval(X)).any()


@pytest.mark.parametrize(
    "model",
    [
        *(OnlineRegressor(covariance=name) for name in ("diag", "full")),
        OnlineRegressor("pa1_reg", "diag", view="standard"), AutoRegressor(),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("numbers", [1, 2])
def test_cuts_and_files_change_nothing(model, numbers, tmp_path):
    X, y = rows(1100, numbers)
    weight = np.arange(1100) % 7 > 0
    model.set_params(coverage_by=3)
    whole, parts = clone(model), clone(model)
    whole.partial_fit(X, y, sample_weight=weight)
    for first, last in ((0, 1024), (1024, 1025), (1025, 1100)):
        own = slice(first, last)
        parts.partial_fit(X[own], y[own], sample_weight=weight[own])
        parts.save(tmp_path / "model.cw")
        parts = load(tmp_path / "model.cw")
    assert parts.coverage_by == 3 and set(states(whole)) == {"0", "1", "2"}
    if model.get_params().get("covariance") == "diag":  # products of others round by the number of rows
        assert_same(whole, parts)
        np.testing.assert_array_equal(parts.predict_interval(X), whole.predict_interval(X))
    for value, state in states(whole).items():
        assert errors.rows_seen(states(parts)[value]) == errors.rows_seen(state)
    np.testing.assert_allclose(parts.predict_interval(X), whole.predict_interval(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_frames_dicts_files_and_streams_are_alike(kind, tmp_path):
    frame = frame_of(*rows())
    frame.to_csv(tmp_path / "rows.csv", index=False)
    dicts = frame.drop(columns="label").to_dict("records")
    model = kind(coverage_by="town")
    on_frame = clone(model).partial_fit(frame, "label")
    on_dicts = clone(model).partial_fit(dicts, frame["label"].to_numpy())
    on_file = clone(model).fit_stream(tmp_path / "rows.csv")
    with open_stream(tmp_path / "rows.csv", keep=["town"], zeros=True, normalize="none", targets=True) as stream:
        on_stream = clone(model).fit_stream(stream)
    assert set(states(on_frame)) == set(TOWNS)
    for other in (on_dicts, on_file, on_stream):
        assert_same(on_frame, other)
    expected = on_frame.predict_interval(frame, 0.8)
    assert (expected != kind().partial_fit(frame, "label").predict_interval(frame, 0.8)).any()
    np.testing.assert_array_equal(on_dicts.predict_interval(dicts, 0.8), expected)
    for keep in ((), ("a",)):
        [found] = on_file.predict_stream(tmp_path / "rows.csv", "predict_interval", coverage=0.8, keep=keep)
        np.testing.assert_array_equal(found, expected)
    measured = evaluate(on_file, tmp_path / "rows.csv", coverage=0.8, by="town")
    covered = (expected[:, 0] <= frame["label"]) & (frame["label"] <= expected[:, 1])
    for one in measured["by"]["groups"]:
        assert one["coverage"] == pytest.approx(covered[frame["town"] == one["value"]].mean())
    on_file.partial_fit_stream(tmp_path / "rows.csv")
    on_frame.partial_fit(frame, "label")
    assert_same(on_frame, on_file)
    without = frame.drop(columns=["town", "label"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert len(on_frame.predict(without)) == len(frame)
        with pytest.raises(DataError, match="no column 'town'"):
            on_frame.predict_interval(without)


def test_values_of_few_rows_are_covered_together():
    X, y = rows(4500)
    X[:, 3] = np.arange(4500) % 600 * 7  # five rows each, and more values than have errors of their own
    model = OnlineRegressor(coverage_by=3).fit(X[:3000], y[:3000])
    assert abs(inside(model, X[3000:], y[3000:], 0.8).mean() - 0.8) < 0.05
    many, few = rows(1500)
    many[:, 3], many[:5, 3] = 1.0, 9.0
    model = OnlineRegressor(coverage_by=3).fit(many, few)
    with pytest.warns(DataWarning, match="rows whose 3 is '9', '7', which have few rows together: intervals are inf"):
        found = model.predict_interval(np.vstack([[0.0, 0.0, 0.0, 9.0], [0.0, 0.0, 0.0, 7.0], many[5:]]))
    assert np.isinf(found[:2]).all() and np.isfinite(found[2:]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_merged_models_have_the_rows_of_all(kind, tmp_path):
    X, y = rows(5000)
    base = kind(coverage_by=3).partial_fit(X[:1200], y[:1200])
    base.save(tmp_path / "base.cw")
    parts = [load(tmp_path / "base.cw").partial_fit(X[own], y[own]) for own in (slice(1200, 2000), slice(2000, 3000))]
    whole = merge(parts, base)
    whole.save(tmp_path / "whole.cw")
    whole = load(tmp_path / "whole.cw")
    known = sum(errors.rows_seen(state) for state in states(whole).values())
    assert 2980 < known <= 3000  # the first rows have no standardized error
    covered = inside(whole, X[3000:], y[3000:])
    assert all(0.85 < covered[X[3000:, 3] == group].mean() < 0.96 for group in range(3))
    with pytest.raises(MergeError, match="coverage_by = 3 in model 1, coverage_by = None in model 2"):
        merge([parts[0], kind().fit(X, y)])


def test_other_columns_and_damaged_files_are_errors(tmp_path):
    X, y = rows()
    model = OnlineRegressor(coverage_by=3).fit(X, y)
    with pytest.raises(ValueError, match="coverage_by cannot change after training has begun, from 3 to 2"):
        model.set_params(coverage_by=2).partial_fit(X, y)
    with pytest.raises(ValueError, match="coverage_by needs calibration='progressive'"):
        OnlineRegressor(coverage_by=3, calibration=None).fit(X, y)
    with pytest.raises(ValueError, match="to_sklearn: intervals by the values of a column are not exported"):
        OnlineRegressor(coverage_by=3).fit(X, y).to_sklearn()
    OnlineRegressor(coverage_by=3).fit(X, y).save(tmp_path / "model.cw")
    for damage in (lambda header, arrays: arrays[GROUPS].fill(-5.0), lambda header, arrays: arrays.pop(GROUPS)):
        header, arrays = contents_of(tmp_path / "model.cw")
        damage(header, arrays)
        write_contents(tmp_path / "damaged.cw", header, arrays)
        with pytest.raises(ModelFileError, match="damaged"):
            load(tmp_path / "damaged.cw")


# --- label sets ----------------------------------------------------------------------------------------------------

LABEL_SETTINGS = [
    {}, {"multiclass": "one-vs-rest"}, {"multiclass": "joint"}, {"covariance": "full"}, {"dtype": "float32"},
    {"covariance": "full", "rows_per_product": 7}, {"covariance": "kernel", "view": None}, {"view": "standard,pairs"},
    None,
]  # fmt: skip


@pytest.mark.parametrize("settings", LABEL_SETTINGS, ids=str)
def test_labels_of_a_group_of_all_rows_have_learned_what_those_of_all_rows_have(settings):
    X, y = label_rows(700)
    X[:, 3] = 7.0
    model = AutoClassifier(coverage_by=3) if settings is None else OnlineClassifier(coverage_by=3, **settings)
    model.fit(X[:500], y[:500], sample_weight=np.arange(500) % 5 > 0).partial_fit(X[500:], y[500:])
    whole, own = model.learner_.state[CONFORMAL], states(model)["7"]
    assert rows_seen(whole) == y[:500][np.arange(500) % 5 > 0].sum() + y[500:].sum()
    for part in (slice(MARTINGALE), slice(RARE, None)):
        np.testing.assert_array_equal(own[part], whole[part])


@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_cuts_and_files_change_no_label_sets(kind, tmp_path):
    X, y = label_rows()
    whole = kind(coverage_by=3).partial_fit(X, y, range(3))
    parts = kind(coverage_by=3)
    for own in (slice(600), slice(600, 601), slice(601, None)):
        parts.partial_fit(X[own], y[own], range(3) if own.stop == 600 else None)
        parts.save(tmp_path / "model.cw")
        parts = load(tmp_path / "model.cw")
    if kind is OnlineClassifier:
        assert_same(whole, parts)
    np.testing.assert_array_equal(parts.predict_set(X, 0.8), whole.predict_set(X, 0.8))


@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_each_group_has_each_label_as_often_as_is_asked_for(kind):
    X, y = label_rows(4000)
    model, plain = (kind(coverage_by=by).fit(X[:2500], y[:2500]) for by in (3, None))
    found, before = (one.predict_set(X[2500:]) for one in (model, plain))
    assert (found != before).any()
    for group in range(3):
        own = X[2500:, 3] == group
        assert 0.84 < found[own][y[2500:][own] == 1].mean() < 0.96


@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_late_labels_teach_groups_what_was_predicted(kind):
    X, y = label_rows(700)
    y[600:610] = 0
    model = kind(coverage_by=3).partial_fit(X[:500], y[:500], range(3))
    before = {value: state.copy() for value, state in states(model).items()}
    p = np.random.default_rng(0).uniform(size=(200, 3))
    model.partial_fit(X[500:], y[500:], predicted=p)
    for group, value in enumerate(["0", "1", "2"]):
        at = (X[500:, 3] == group) & y[500:].any(axis=1)
        own, labels = before[value], y[500:][at]
        start = np.append(0, np.cumsum(labels.sum(axis=1)))
        _core.conformal_learn_late(own, p[at], labels.nonzero()[1].astype(np.int32), start)
        np.testing.assert_array_equal(states(model)[value], conformal.settled(own))
