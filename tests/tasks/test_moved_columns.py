"""Columns that move: the core against a slow twin, false alarms, which column is named, and files."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from confidently import AutoClassifier, AutoRegressor, ModelFileError, OnlineClassifier, OnlineRegressor, load, merge
from confidently.data.memory.matrix import as_matrix
from confidently.tasks.moved_columns import COMPARED, MAX_COLUMNS, REPEATED, MovedColumns
from tests.model_files import contents_of, write_contents
from tests.ordinary_rows import NULL, null_stream
from tests.twins.moved_columns import MovedColumns as Twin


def after(X, cuts=(), order=None, n_columns=None):
    """What is known after rows, in several calls."""
    found = MovedColumns.begun()
    for part in np.split(np.arange(X.shape[0]), cuts):
        rows = None if order is None else np.arange(len(part))
        found = found.after(as_matrix(X[part if order is None else order[part]]), rows, n_columns or X.shape[1])
    return found


def changing(d, n=2500, seed=0):
    """Rows of numbers, rounded numbers and indicators, of which some change."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    X[:, 1] = X[:, 1] > 1.0
    X[:, 2] = X[:, 2].round()
    X[600:, 3] += 2.0
    X[1500:, 1] = 1.0
    X[: n // 2, 0] = 0.0
    return X


def trained(model, X, y, **options):
    """A model that has learned rows of a stream."""
    classes = {} if "Regressor" in type(model).__name__ else {"classes": [0, 1]}
    return model.partial_fit(X, y, **classes, **options)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("d", [4, 5, 25, 65])
def test_columns_that_moved_are_those_of_the_twin(d):
    X, twin = changing(d, 2500 if d < 25 else 3500), Twin()
    for row in X.tolist():
        twin.learn(row)
    expected = {column: row for row, columns in twin.moves for column in columns}
    assert len(twin.moves) > (d < 25) and after(X).last_rows == expected


@pytest.mark.parametrize("n", [30, 33, 40, 700])
@pytest.mark.parametrize("kinds", [1, 4, 40, 4000])
def test_rows_repeat_where_there_are_few_kinds(n, kinds):
    """As the twin counts them, whether columns that are zero are stored or come later."""
    generator = np.random.default_rng(kinds)
    X, twin = generator.normal(size=(kinds, 3)).round(1)[generator.integers(kinds, size=n)], Twin()
    X[:, 2] = 0.0
    for row in X.tolist():
        twin.learn(row)
    known = after(csr_array(X))
    assert known.repeats == after(np.ascontiguousarray(X[:, :2])).repeats == (kinds < 400 and n > 32)
    assert twin.repeated == known.state[REPEATED] and twin.looks == known.state[COMPARED]


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
def test_the_division_into_calls_changes_nothing(kind):
    X = changing(5)
    X = csr_array(X) if kind == "sparse" else X.astype(kind)
    whole = after(X)
    assert whole.last_rows and same(whole, after(X, [1, 2, 31, 32, 33, 500, 501, 1777]))
    assert same(whole, after(X, [700], order=np.arange(X.shape[0])))
    if kind == "sparse":
        assert same(whole, after(X.toarray()))


def test_a_column_that_comes_later_was_zero():
    X = changing(5)
    first = MovedColumns.begun().after(as_matrix(np.ascontiguousarray(X[:1250, 1:3])), None, 2)
    X[:1250, [0, 3, 4]] = 0.0
    X = np.ascontiguousarray(X[:, [1, 2, 0, 3, 4]])
    assert same(after(X), first.after(as_matrix(X[1250:]), None, 5))


def test_rows_without_weight_and_other_passes_do_not_count():
    X = changing(5)
    y = (X[:, 4] > 0.0).astype(int)
    weight = np.arange(len(X)) % 3.0
    few = weight > 0.0
    model = trained(OnlineClassifier(), X, y, sample_weight=weight)
    assert same(model.learner_.moved, trained(OnlineClassifier(), X[few], y[few]).learner_.moved)
    once, thrice = (OnlineClassifier(passes=n, shuffle=False).fit(X, y) for n in (1, 3))
    assert thrice.learner_.moved.state[0] <= once.learner_.moved.state[0] == len(X)


@pytest.mark.parametrize("kind", [*NULL, "many"])
@pytest.mark.parametrize("streams", [20, pytest.param(500, marks=pytest.mark.long("500 streams"))])
def test_columns_move_by_chance_in_one_stream_of_a_hundred(kind, streams):
    def rows(seed):
        if kind != "many":
            return null_stream(kind, np.random.default_rng(seed))[0]
        X = np.random.default_rng(seed).normal(size=(4000, 40))
        X[:, ::3] = X[:, ::3] > 1.5
        X[:, 1::3] = np.exp(3.0 * X[:, 1::3]).round()
        return X

    assert sum(bool(after(rows(seed)).last_rows) for seed in range(streams)) <= max(1, streams // 100)


def moving(kind, d, seed):
    """Rows of which one column, or two, change at row 3,000, and their numbers."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(6000, d))
    later = slice(3000, None)
    if kind == "shift":
        X[later, 3] += 1.0
    elif kind == "constant":
        X[later, 3] = 0.0
    elif kind == "missing":
        X[:, 3] += 3.0
        X[later, 3] = 0.0
    elif kind == "swap":
        X[:, 5] = 3.0 + 2.0 * X[:, 5]
        X[3000:, [3, 5]] = X[3000:, [5, 3]]
        return X, {3, 5}
    elif kind == "shares":
        shares = [0.4, 0.3, 0.2, 0.1]
        category = np.concatenate([generator.choice(4, 3000, p=shares), generator.choice(4, 3000, p=shares[::-1])])
        return np.concatenate([X, np.eye(4)[category]], axis=1), set(range(d, d + 4))
    return X, {3}


@pytest.mark.parametrize("kind", ["shift", "constant", "missing", "swap", "shares"])
@pytest.mark.parametrize("d", [10, 30])
@pytest.mark.parametrize("streams", [5, pytest.param(100, marks=pytest.mark.long("100 streams"))])
def test_the_column_that_moved_is_named(kind, d, streams):
    right = 0
    for seed in range(streams):
        X, expected = moving(kind, d, seed)
        found = after(X).last_rows
        right += set(found) <= expected and bool(found) if kind == "shares" else set(found) == expected
    assert right >= 0.95 * streams


def labelled(change, n=6000, seed=0):
    """A frame of six columns and labels; "column" shifts one of these, "labels" turns the labels, at row 3,000."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 6))
    score = X[:, 0] + X[:, 2] + 0.5 * generator.normal(size=n)
    if change == "labels":
        score[3000:] *= -1.0
    if change in ("column", "other"):
        X[3000:, 2 if change == "column" else 5] += 1.5
    return pd.DataFrame(X, columns=["temperature", "load", "flow", "d", "e", "f"]), score


@pytest.mark.parametrize("estimator", [OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor])
def test_alarms_name_the_column_and_none_where_only_labels_changed(estimator):
    for change, columns in (("column", ["flow"]), ("labels", []), (None, None)):
        X, score = labelled(change)
        y = score if "Regressor" in estimator.__name__ else score > 0.0
        model = estimator(shuffle=False).fit(X, y)
        assert (model.alarms_ > 0) == (change is not None) and model.alarm_columns_ == columns, change
        assert set(model.moved_columns_) == set(columns or ())


def test_a_column_that_no_label_depends_on_moves_without_an_alarm():
    X, score = labelled("other")
    model = OnlineClassifier(shuffle=False).fit(X, score > 0.0)
    assert model.alarms_ == 0 and model.alarm_columns_ is None and list(model.moved_columns_) == ["f"]
    assert 3000 < model.moved_columns_["f"] < 3600


def test_wide_tables_are_not_compared():
    X = np.random.default_rng(0).normal(size=(50, MAX_COLUMNS + 1))
    model = trained(OnlineClassifier(), X, X[:, 0] > 0.0)
    assert model.learner_.moved is model.moved_columns_ is model.alarm_columns_ is None
    model = trained(OnlineClassifier(), X[:, 1:], X[:, 0] > 0.0)
    assert model.moved_columns_ == {}


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "rows"),
    [(OnlineClassifier, 20), (OnlineClassifier, 4000), (AutoClassifier, 800), (OnlineRegressor, 800)],
)
def test_training_continues_from_a_file_as_if_it_had_not_stopped(estimator, rows, tmp_path):
    X, score = labelled("column")
    y = score if "Regressor" in estimator.__name__ else (score > 0.0).astype(int)
    model = trained(estimator(), X[:rows], y[:rows])
    model.save(tmp_path / "m.cw")
    again = load(tmp_path / "m.cw")
    for one in (model, again):
        trained(one, X[rows:], y[rows:]).save(tmp_path / f"{one is again}.cw")
    assert (tmp_path / "True.cw").read_bytes() == (tmp_path / "False.cw").read_bytes()
    assert list(again.moved_columns_) == ["flow"]


def test_a_copy_learns_by_itself():
    X, score = labelled("column")
    model = trained(OnlineClassifier(), X[:2000], score[:2000] > 0.0)
    other = copy.deepcopy(model)
    before = model.learner_.moved
    other.partial_fit(X[2000:], score[2000:] > 0.0)
    assert model.learner_.moved is before and model.moved_columns_ == {} and other.moved_columns_


def test_files_without_it_and_merged_models_begin_anew(tmp_path):
    X, score = labelled("column")
    y = score > 0.0
    models = [trained(OnlineClassifier(), X[part], y[part]) for part in (slice(0, 4000), slice(4000, None))]
    merged = merge(models)
    assert merged.learner_.moved is merged.moved_columns_ is None
    models[0].save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    write_contents(
        tmp_path / "m.cw", header, {name: own for name, own in arrays.items() if not name.startswith("moved")}
    )
    model = load(tmp_path / "m.cw")
    assert model.moved_columns_ is None and model.partial_fit(X[4000:], y[4000:]).moved_columns_ == {}


def damaged(arrays, name, place, value):
    own = arrays[f"moved.{name}"].copy()
    own[place] = value
    return arrays | {f"moved.{name}": own}


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("state", 0, 1e6), ("state", 1, -1.0), ("state", 2, 1e300), ("state", 3, -1.0), ("state", 5, 33.0),
        ("state", 5, 1.5), ("state", 6, np.nan), ("by_column", (3, 1), -1.0), ("by_column", (0, 1), np.inf),
        ("by_column", slice(1), None), ("first", slice(0, 0), None), ("state", slice(3), None),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(name, place, value, tmp_path):
    X, score = labelled("column", n=3000)
    trained(OnlineClassifier(), X[:20], score[:20] > 0.0).save(tmp_path / "m.cw")
    header, arrays = contents_of(tmp_path / "m.cw")
    if value is None:
        arrays = arrays | {f"moved.{name}": np.ascontiguousarray(arrays[f"moved.{name}"][place])}
    else:
        arrays = damaged(arrays, name, place, value)
    write_contents(tmp_path / "m.cw", header, arrays)
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "m.cw")


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["column", "labels", "other"])
def test_commands_name_the_columns(change, ok, tmp_path):
    X, score = labelled(change)
    frame = X.round(4).assign(city=np.where(X["d"] > 0.0, "Rome", "Paris"), y=np.where(score > 0.0, "yes", "no"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    said = {
        "column": ": column 'flow' moved", "labels": ": no column moved", "other": "column 'f', last at row 3,"
    }[change]  # fmt: skip
    train = ["train", tmp_path / "rows.csv", "--no-shuffle", "--label", "y", "--rule", "arow", "-o", tmp_path / "m.cw"]
    assert said in ok(*train) and said in ok("inspect", tmp_path / "m.cw")
    *events, facts = map(json.loads, ok(*train, "--json").splitlines())
    moved = [event["moved_columns"] for event in events if event.get("event") == "moved"]
    assert moved == ([facts["moved_columns"]] if change != "labels" else [])
    assert facts["alarm_columns"] == {"column": ["flow"], "labels": [], "other": None}[change]
    assert list(facts["moved_columns"]) == {"column": ["flow"], "labels": [], "other": ["f"]}[change]


def test_categories_have_the_name_of_their_column(ok, tmp_path):
    generator = np.random.default_rng(0)
    city = np.concatenate([generator.choice(3, 3000, p=[0.6, 0.3, 0.1]), generator.choice(3, 3000, p=[0.1, 0.3, 0.6])])
    y = generator.random(6000) < 0.2 + 0.3 * city
    frame = pd.DataFrame({"x": generator.normal(size=6000), "city": np.array(["Rome", "Paris", "Oslo"])[city], "y": y})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    train = ["train", tmp_path / "rows.csv", "--no-shuffle", "--label", "y", "--rule", "arow", "--json"]
    facts = json.loads(ok(*train).splitlines()[-1])
    assert list(facts["moved_columns"]) == ["city"]
