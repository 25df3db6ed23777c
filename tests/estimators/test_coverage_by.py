"""coverage_by: sets that cover each value of a column, in arrays, frames, dicts and files, and clear errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from confidently import AutoClassifier, OnlineClassifier, _core, load, merge
from confidently.data import DataError, DataWarning, open_stream
from confidently.evaluation.labeled_data import evaluate
from confidently.models.file import ModelFileError
from confidently.models.merging import MergeError
from confidently.tasks import conformal
from confidently.tasks.conformal import CONFORMAL, COUNTS, MARTINGALE, RARE, ConformalSets, rows_seen
from confidently.tasks.groups import GROUPS
from tests.model_files import contents_of, write_contents

KINDS = [OnlineClassifier, AutoClassifier]
TOWNS = np.array(["Delft", "Lund", "Porto"])


def rows(n=6000, classes=2, seed=0):
    """Rows whose last column is a group; the labels of the third group are hardly foreseeable."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 3, n)
    X = np.column_stack([generator.normal(size=(n, 3)), group])
    noise = np.array([0.0, 0.5, 3.0])[group] * generator.normal(size=n)
    return X, np.digitize(X[:, 0] + X[:, 1] + noise, np.linspace(-0.7, 0.7, classes + 1)[1:-1])


def frame_of(X, y):
    frame = pd.DataFrame(X[:, :3].round(4), columns=["a", "b", "c"])
    return frame.assign(town=TOWNS[X[:, 3].astype(int)], label=np.array(["no", "yes", "perhaps"])[y])


def by_group(sets, X, y):
    covered = sets[np.arange(len(y)), y]
    return [covered[X[:, 3] == group].mean() for group in range(3)]


def states(model):
    return model.learner_.groups.states


def assert_same(one, other):
    assert one.learner_.groups.column == other.learner_.groups.column
    assert list(states(one)) == list(states(other))
    for value, state in states(one).items():
        np.testing.assert_array_equal(states(other)[value], state)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_each_group_is_covered_as_often_as_is_asked_for(kind):
    found = {True: [], False: [], None: []}
    for seed in range(3):
        X, y = rows(12000, seed=seed)
        (X, X_new), (y, y_new) = np.split(X, [6000]), np.split(y, [6000])
        model = kind(coverage_by=3).fit(X, y)
        found[None].append(by_group(kind().fit(X, y).predict_set(X_new), X_new, y_new))
        for by_class in (False, True):
            found[by_class].append(by_group(model.predict_set(X_new, by_class=by_class), X_new, y_new))
    assert np.mean(found[None], axis=0)[2] < 0.82
    for by_class in (False, True):
        np.testing.assert_allclose(np.mean(found[by_class], axis=0), 0.9, atol=0.03)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_the_predictions_before_each_row(kind, classes):
    X, y = rows(260, classes)
    model = kind(coverage_by=3).partial_fit(X[:60], y[:60], classes=range(classes))
    expected = {value: state.copy() for value, state in states(model).items()}
    for row in range(60, 260):
        p = model.predict_proba(X[[row]])[0, y[row]]
        own = expected[str(int(X[row, 3]))]
        _core.conformal_learn(own, classes, np.log([p / (1.0 - p)]), y[[row]].astype(np.int32))
        model.partial_fit(X[[row]], y[[row]])
    p = np.linspace(0.01, 0.98, classes)[None] ** np.arange(1, 5)[:, None]
    for value, own in expected.items():
        for by_class in (False, True):
            found = ConformalSets(states(model)[value]).p_values(p, by_class)
            np.testing.assert_allclose(found, ConformalSets(own).p_values(p, by_class), rtol=1e-6)


SETTINGS = [
    *({"covariance": name, "multiclass": task} for name in ("diag", "full") for task in (None, "one-vs-rest", "joint")),
    {"rule": "logistic", "multiclass": "softmax", "covariance": "shared"}, {"rule": "pa1", "dtype": "float32"},
    {"covariance": "kernel", "view": None}, {"covariance": "full", "rows_per_product": 7},
    {"rule": "logistic", "covariance": "diag"}, {"covariance": "full", "forget": 0.01},
]  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", [*SETTINGS, None], ids=str)
def test_a_group_of_all_rows_has_learned_what_all_rows_have(settings, classes):
    X, y = rows(700, classes)
    X[:, 3] = 7.0
    kind = AutoClassifier(coverage_by=3) if settings is None else OnlineClassifier(coverage_by=3, **settings)
    model = kind.fit(X[:500], y[:500], sample_weight=np.arange(500) % 5 > 0).partial_fit(X[500:], y[500:])
    whole, own = model.learner_.state[CONFORMAL], states(model)["7"]
    assert rows_seen(whole) == 600
    for part in (slice(MARTINGALE), slice(RARE, None)):
        np.testing.assert_array_equal(own[part], whole[part])


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_sets_depends_on_the_column(kind):
    X, y = rows(1500)
    plain, grouped = kind().fit(X, y), kind(coverage_by=3).fit(X, y)
    np.testing.assert_array_equal(grouped.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(grouped.learner_.state[CONFORMAL], plain.learner_.state[CONFORMAL])
    np.testing.assert_array_equal(grouped.abstain(X, 0.2), plain.abstain(X, 0.2))
    assert (grouped.predict_set(X, 0.8) != plain.predict_set(X, 0.8)).any()


@pytest.mark.long
@pytest.mark.parametrize(
    "model",
    [
        *(OnlineClassifier(covariance=name, view=None) for name in ("diag", "shared", "kernel")),
        OnlineClassifier("logistic", passes=2), OnlineClassifier(multiclass="one-vs-rest"), AutoClassifier(),
    ],
    ids=str,
)  # fmt: skip
def test_cuts_and_files_change_nothing(model, tmp_path):
    X, y = rows(1400, classes=3)
    weight = np.arange(1400) % 7 > 0
    model.set_params(coverage_by=3)
    whole, parts = clone(model), clone(model)
    whole.partial_fit(X, y, range(3), sample_weight=weight)
    for first, last in ((0, 1024), (1024, 1025), (1025, 1400)):
        own = slice(first, last)
        parts.partial_fit(X[own], y[own], range(3) if first == 0 else None, sample_weight=weight[own])
        parts.save(tmp_path / "model.cw")
        parts = load(tmp_path / "model.cw")
    assert parts.coverage_by == 3
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-6)
    if model.get_params().get("covariance") not in ("shared", "kernel"):  # whose products round by the number of rows
        assert_same(whole, parts)
        np.testing.assert_array_equal(parts.predict_set(X, 0.8), whole.predict_set(X, 0.8))
    counted = sum(state[1] / state[0] > 0 for state in states(whole).values())
    assert counted == 3 and set(states(whole)) == {"0", "1", "2"}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_dicts_files_and_streams_are_alike(kind, tmp_path):
    frame = frame_of(*rows(1500))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    dicts = frame.drop(columns="label").to_dict("records")
    model = kind(coverage_by="town", random_state=0)
    on_frame = clone(model).partial_fit(frame, "label", classes=["no", "yes"])
    on_dicts = clone(model).partial_fit(dicts, frame["label"].to_numpy(), classes=["no", "yes"])
    on_file = clone(model).fit_stream(tmp_path / "rows.csv")
    with open_stream(tmp_path / "rows.csv", keep=["town"], zeros=True, normalize="none") as stream:
        on_stream = clone(model).fit_stream(stream)
    assert set(states(on_frame)) == set(TOWNS)
    for other in (on_dicts, on_file, on_stream):
        assert_same(on_frame, other)
    expected = on_frame.predict_set(frame, 0.8)
    assert (expected != kind().partial_fit(frame, "label", classes=["no", "yes"]).predict_set(frame, 0.8)).any()
    np.testing.assert_array_equal(on_dicts.predict_set(dicts, 0.8), expected)
    for keep in ((), ("a",)):
        [found] = on_file.predict_stream(tmp_path / "rows.csv", "predict_set", coverage=0.8, keep=keep)
        np.testing.assert_array_equal(found, expected)
    measured = evaluate(on_file, tmp_path / "rows.csv", coverage=0.8, by="town")
    inside = expected[np.arange(1500), (frame["label"] == "yes").astype(int)]
    for one in measured["by"]["groups"]:
        assert one["coverage"] == pytest.approx(inside[frame["town"] == one["value"]].mean())
    assert evaluate(on_file, tmp_path / "rows.csv", coverage=0.8)["set"]["coverage"] == pytest.approx(inside.mean())
    on_file.partial_fit_stream(tmp_path / "rows.csv")
    on_frame.partial_fit(frame, "label")
    assert_same(on_frame, on_file)


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


def test_missing_values_are_a_group():
    frame = frame_of(*rows(600))
    frame.loc[::4, "town"] = None
    assert set(states(OnlineClassifier(coverage_by="town").fit(frame, "label"))) == {*TOWNS, ""}


@pytest.mark.parametrize("kind", KINDS)
def test_classes_that_come_later_have_scores_in_every_group(kind):
    X, y = rows(2400, classes=3)
    order = np.argsort(y[:1500] == 2, kind="stable")
    X[:1500], y[:1500] = X[order], y[order]
    model = kind(coverage_by=3).partial_fit(X[:300], y[:300], classes=[1, 0])
    model.partial_fit(X[300:], y[300:], classes=[2])
    for value, state in states(model).items():
        counted = state[-COUNTS:][2]
        assert counted == ((y == 2) & (X[:, 3] == float(value))).sum() > 0
    covered = model.predict_set(X, 0.9)[np.arange(2400), y]
    assert covered[1500:].mean() > 0.85


@pytest.mark.parametrize("kind", KINDS)
def test_late_labels_teach_groups_what_was_predicted(kind):
    X, y = rows(1200)
    frame, names = pd.DataFrame(X, columns=list("abcd")), np.array(["no", "yes"])[y]
    frame["d"] = TOWNS[X[:, 3].astype(int)]
    models = [kind(coverage_by=3), kind(coverage_by="d")]
    for model, table, labels in zip(models, (X, frame), (y, names), strict=True):
        model.partial_fit(table[:800], labels[:800], classes=np.unique(labels))
        before = {value: state.copy() for value, state in states(model).items()}
        p = np.random.default_rng(0).dirichlet(np.ones(2), 400)
        model.partial_fit(table[800:], labels[800:], predicted=p)
        for group, value in enumerate(["0", "1", "2"] if table is X else TOWNS):
            own, at = before[value], X[800:, 3] == group
            _core.conformal_learn_late(own, p[at], y[800:][at].astype(np.int32))
            np.testing.assert_array_equal(states(model)[value], conformal.settled(own))


@pytest.mark.long
def test_merged_models_have_the_rows_of_all(tmp_path):
    X, y = rows(3000, classes=3)
    names = np.array(["x", "y", "z"])[y]
    for kind in KINDS:
        base = kind(coverage_by=3).partial_fit(X[:1200], names[:1200], classes=["z", "x", "y"])
        base.save(tmp_path / "base.cw")
        parts = [
            load(tmp_path / "base.cw").partial_fit(X[first:last], names[first:last])
            for first, last in ((1200, 2000), (2000, 3000))
        ]
        whole = merge(parts, base)
        whole.save(tmp_path / "whole.cw")
        for value in ("0", "1", "2"):
            assert rows_seen(states(load(tmp_path / "whole.cw"))[value]) == (X[:, 3] == float(value)).sum()
        assert all(coverage > 0.85 for coverage in by_group(whole.predict_set(X), X, y))
        with pytest.raises(MergeError, match="coverage_by = 3 in model 1, coverage_by = None in model 2"):
            merge([parts[0], kind().fit(X, names)])
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


ERRORS = {
    "typo": ("Town", "frame", DataError, r"no column 'Town' \(did you mean 'town'\?\)"),
    "typo in an array": ("dd", "named", ValueError, "X has no column 'dd'.* there are 'a', 'b'"),
    "a number of named columns": (3, "frame", ValueError, "coverage_by=3 is the number of a column"),
    "a name without names": ("d", "array", ValueError, "X has no names; use its number"),
    "beyond the columns": (4, "array", ValueError, "number of a column, from 0 to 3, got 4"),
    "negative": (-1, "array", ValueError, "number of a column, from 0 to 3, got -1"),
    "another type": (True, "array", TypeError, "name or the number of a column, got True"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_clear(kind, case):
    column, data, error, message = ERRORS[case]
    X, y = rows(200)
    given = {
        "frame": (frame_of(X, y), "label"), "array": (X, y), "named": (pd.DataFrame(X, columns=list("abcd")), y),
    }  # fmt: skip
    model = kind(coverage_by=column)
    with pytest.raises(error, match=message):
        model.fit(*given[data])
    assert not hasattr(model, "learner_")


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_the_column_have_predictions_and_no_sets(kind, tmp_path):
    frame = frame_of(*rows(1200))
    model = kind(coverage_by="town").fit(frame, "label")
    without = frame.drop(columns=["town", "label"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert len(model.predict(without)) == 1200
        with pytest.raises(DataError, match="no column 'town'"):
            model.predict_set(without)
        with pytest.raises(DataError, match="no column 'town'"):
            model.partial_fit(without, frame["label"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with open_stream(tmp_path / "rows.csv") as stream, pytest.raises(DataError, match=r"keep=\['town'\]"):
        OnlineClassifier(coverage_by="town", view=None).fit_stream(stream)


@pytest.mark.parametrize("kind", KINDS)
def test_the_column_stays_once_training_has_begun(kind):
    X, y = rows(1200)
    model = kind(coverage_by=3).fit(X, y)
    with pytest.raises(ValueError, match="coverage_by cannot change after training has begun, from 3 to 2"):
        model.set_params(coverage_by=2).partial_fit(X, y)
    assert states(model.fit(X.round(), y)).keys() >= {"-1", "0", "1"}
    with pytest.raises(ValueError, match="coverage_by needs calibration='progressive'"):
        OnlineClassifier(coverage_by=3, calibration=None).fit(X, y)


def test_values_of_few_rows_are_covered_together():
    X, y = rows(4500)
    X[:, 3] = np.arange(4500) % 600 * 7  # five rows each, and more values than have scores of their own
    model = OnlineClassifier(coverage_by=3).fit(X[:3000], y[:3000])
    sets = model.predict_set(X[3000:], 0.8)
    assert -0.02 < np.mean([sets[y[3000:] == k, k].mean() for k in range(2)]) - 0.8 < 0.07
    many, few = rows(1500)
    many[:, 3], many[:5, 3] = 1.0, 9.0
    model = OnlineClassifier(coverage_by=3).fit(many, few)
    with pytest.warns(DataWarning, match="rows whose 3 is '9', '7', which have few rows together: sets have every"):
        sets = model.predict_set(np.vstack([[0.0, 0.0, 0.0, 9.0], [0.0, 0.0, 0.0, 7.0], many[5:]]))
    assert sets[:2].all() and not sets[2:].all()


DAMAGES = {
    "a value twice": lambda header, arrays: header["coverage_by"].update(values=["0", "0", "2"]),
    "fewer values": lambda header, arrays: header["coverage_by"]["values"].pop(),
    "no scores": lambda header, arrays: arrays.pop(GROUPS),
    "negative counts": lambda header, arrays: arrays[GROUPS].fill(-5.0),
    "another type of value": lambda header, arrays: header["coverage_by"].update(values=[1, 2, 3]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_groups_are_clear_errors(damage, tmp_path):
    path = tmp_path / "model.cw"
    OnlineClassifier(coverage_by=3).fit(*rows(600)).save(path)
    header, arrays = contents_of(path)
    DAMAGES[damage](header, arrays)
    write_contents(path, header, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)
