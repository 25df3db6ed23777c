"""Estimators on frames with more than numbers, on dicts and on texts: the same models as from files."""

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, load
from confidently.active import certainty
from confidently.cli import run
from confidently.data import DataError, DataWarning, open_stream
from confidently.tasks import conformal
from tests.states import settled_state

N = 600
MESSAGES = ["free money now", "see you at noon", "money for free", "lunch at noon?\nsure", "", "a\ttab"] * 20
SPAM = np.array(["spam", "ham", "spam", "ham", "ham", "ham"] * 20)
ESTIMATORS = (
    OnlineClassifier(), AutoClassifier(shuffle=False, passes=1), OnlineRegressor(), AutoRegressor(shuffle=False),
)  # fmt: skip
ARGUMENTS = (
    ["--rule", "arow"], ["--auto", "--classification"], ["--rule", "ridge"], ["--auto", "--regression"],
)  # fmt: skip


def table(n=N, seed=0):
    """Return a frame with all kinds of columns."""
    rng = np.random.default_rng(seed)
    minutes = pd.to_timedelta(rng.integers(0, 10**6, n), "min")
    return pd.DataFrame(
        {
            "town": rng.choice(["Delft", "Lund", "Paris", None], n),
            "kind": pd.Categorical(rng.choice(["u", "v"], n)),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n).round(1)),
            "when": (pd.Timestamp("2024-01-01") + minutes).where(rng.random(n) < 0.9),
            "new": pd.array(np.where(rng.random(n) < 0.1, None, rng.random(n) < 0.3), dtype="boolean"),
            "rooms": rng.integers(0, 5, n),
            "nothing": [None] * n,
        }
    )


FRAME, NEW = table(), table(100, seed=1).assign(town="Oslo")
CLASSES = np.where((FRAME["town"] == "Delft") ^ (FRAME["rooms"] > 2), "yes", "no")
PRICES = FRAME["rooms"].to_numpy() * 2.5 + 5 * (FRAME["town"] == "Lund").to_numpy()
EACH = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)

# Stacks take rows by the same code, and longer.
MOST = pytest.mark.parametrize(
    "estimator",
    [*ESTIMATORS[::2], *(pytest.param(one, marks=pytest.mark.long("five stacks each")) for one in ESTIMATORS[1::2])],
    ids=lambda estimator: type(estimator).__name__,
)


def labels_for(estimator):
    return PRICES if estimator.predicts_numbers else CLASSES


def assert_same(one, other):
    """Assert that two estimators are the same model."""
    ours, theirs = settled_state(one), settled_state(other)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    if getattr(one, "features_", None) is not None:
        assert list(one.features_.names) == list(other.features_.names)


# --- frames as files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "arguments"),
    [
        pytest.param(one, given, marks=pytest.mark.long("six stacks") if "--auto" in given else ())
        for one, given in zip(ESTIMATORS, ARGUMENTS, strict=True)
    ],
)
def test_a_frame_is_learned_as_its_file_is_on_the_command_line(tmp_path, estimator, arguments):
    file, model, y = tmp_path / "rows.parquet", tmp_path / "model.cw", labels_for(estimator)
    FRAME.assign(target=y).to_parquet(file)
    arguments = [*arguments, "--no-shuffle"]
    assert run(["train", str(file), "--label", "target", *arguments, "-o", str(model), "-q"]) == 0
    words = FRAME[["town", "kind"]].assign(target=y)  # without numeric columns, rows are scaled
    words.to_parquet(tmp_path / "words.parquet")
    of_words = ["train", str(tmp_path / "words.parquet"), "--label", "target", *arguments, "-o", str(tmp_path / "w.cw")]
    assert run([*of_words, "-q"]) == 0
    assert_same(clone(estimator).fit(words, "target"), load(tmp_path / "w.cw"))
    trained = load(model)
    fitted = clone(estimator).fit(FRAME.assign(target=y), "target")
    assert_same(fitted, trained)
    assert fitted.source_ == {**trained.source_, "closed": fitted.source_["closed"]}
    assert_same(clone(estimator).fit_stream(file, label="target"), trained)
    predicted = np.concatenate(list(trained.predict_stream(file)))
    np.testing.assert_array_equal(fitted.predict(FRAME), predicted)
    np.testing.assert_array_equal(trained.predict(FRAME.assign(target=y)), predicted)
    fitted.save(model)
    assert run(["predict", str(model), str(file), "-o", str(tmp_path / "predicted.csv"), "-q"]) == 0


@MOST
def test_all_libraries_and_ways_to_pass_labels_give_the_same_model(estimator):
    y = labels_for(estimator)
    whole = FRAME.assign(target=y)
    expected = clone(estimator).fit(FRAME, y)
    of_polars = pl.from_pandas(whole).with_columns(pl.col("kind").cast(pl.Enum(["u", "v"])))
    for rows in (whole, of_polars, pa.Table.from_pandas(whole), pa.RecordBatch.from_pandas(whole)):
        assert_same(clone(estimator).fit(rows, "target"), expected)
    assert_same(clone(estimator).fit(pl.from_pandas(FRAME), pl.Series("target", y.tolist())), expected)
    assert_same(clone(estimator).fit_stream(whole, label="target"), expected)
    assert clone(estimator).fit(FRAME, pd.Series(y, name="price")).source_["label"] == "price"


def test_an_index_is_no_feature():
    expected = OnlineClassifier().fit(FRAME, CLASSES)
    assert_same(OnlineClassifier().fit(FRAME.set_index(pd.Index(np.arange(N) * 7, name="key")), CLASSES), expected)


@MOST
def test_a_frame_of_numbers_is_an_array(estimator):
    X, y = FRAME[["rooms", "age"]].fillna(0.0), labels_for(estimator)
    objects = X.astype(object)
    for rows in (X, pl.from_pandas(X), objects):
        fitted = clone(estimator).fit(rows, y)
        assert_same(fitted, clone(estimator).fit(X.to_numpy(), y))
        assert list(fitted.feature_names_in_) == ["rooms", "age"] and not hasattr(fitted, "source_")
        assert len(fitted.predict(FRAME[["rooms", "age"]])) == len(FRAME)  # missing numbers are those of a table
        with pytest.raises(ValueError, match=r"the column 'age' \(.*\) of X does not hold numbers, as all columns did"):
            fitted.predict(X.assign(age="old"))


NUMBERS = {  # frames that are tables, since numbers are missing or categories
    "pandas": lambda X: X,
    "Polars": lambda X: pl.DataFrame({name: X[name].to_numpy() for name in X}),
    "categories": lambda X: X.assign(rooms=X["rooms"].astype("category")),
}


@MOST
@pytest.mark.parametrize("kind", NUMBERS)
def test_a_frame_of_numbers_that_are_no_array_is_a_table(tmp_path, estimator, kind):
    X, y = FRAME[["rooms", "age"]], labels_for(estimator)
    NUMBERS["categories" if kind == "categories" else "pandas"](X).assign(label=y).to_parquet(tmp_path / "rows.parquet")
    fitted = clone(estimator).fit(NUMBERS[kind](X), y)
    assert_same(fitted, clone(estimator).fit_stream(tmp_path / "rows.parquet"))
    assert fitted.predict(X.fillna(1.0)).shape == (N,) and list(fitted.features_.names) == ["rooms", "age"]


@MOST
def test_fit_forgets_what_rows_were_before(estimator):
    y, fitted = labels_for(estimator), clone(estimator)
    for rows in (FRAME[["rooms"]], FRAME, FRAME[["rooms"]], FRAME[["rooms"]].to_numpy(), FRAME):
        assert_same(fitted.fit(rows, y), clone(estimator).fit(rows, y))
        assert hasattr(fitted, "source_") == hasattr(fitted, "features_") == (rows is FRAME)
        assert fitted.predict(rows).shape == (N,)


# --- training ------------------------------------------------------------------------------------------------------


@pytest.mark.long("three trainings of each estimator")
@EACH
def test_training_in_parts_is_that_of_the_whole(estimator):
    y = labels_for(estimator)
    parts = clone(estimator)
    classes = {} if estimator.predicts_numbers else {"classes": ["no", "yes"]}
    for first, last in ((0, 300), (300, 301), (301, N)):
        parts.partial_fit(FRAME[first:last], y[first:last], **classes)
        classes = {}
    whole = clone(estimator).fit_stream(
        FRAME.assign(label=y), **({} if estimator.predicts_numbers else {"classes": ["no", "yes"]})
    )
    if not isinstance(estimator, AutoClassifier | AutoRegressor):  # whose first call chooses the members
        assert_same(parts, whole)
    assert parts.n_seen_ == N and len(parts.features_) == len(whole.features_)
    later = clone(estimator).fit(FRAME[:300], y[:300]).partial_fit(FRAME[300:].assign(target=y[300:]), "target")
    assert later.n_seen_ == N
    assert later.score(FRAME.assign(target=y), "target") == later.score(FRAME, y) > 0.5
    with pytest.raises(DataError, match="no column 'target' of labels"):
        later.score(FRAME, "target")
    assert len(later.features_) == len(whole.features_)


def test_new_classes_and_columns_may_come_later():
    fitted = OnlineClassifier().fit(FRAME[:400], CLASSES[:400])
    with pytest.warns(DataWarning, match="1 new column: 'color'"):
        fitted.partial_fit(FRAME[400:].assign(color="red"), np.full(200, "maybe"), classes=["maybe"])
    assert list(fitted.classes_) == ["maybe", "no", "yes"] and "color=red" in list(fitted.features_.names)
    assert list(fitted.partial_fit(FRAME[:2], ["ever", "no"]).classes_) == ["ever", "maybe", "no", "yes"]
    closed = OnlineClassifier().fit_stream(FRAME.assign(label=CLASSES), classes=["no", "yes"])
    with pytest.raises(DataError, match=r"the label 'maybe' is not one of the classes \(no, yes\)"):
        closed.partial_fit(FRAME[:2], ["maybe", "no"], classes=["maybe"])


def test_labels_may_come_late():
    fitted, other = (OnlineClassifier().fit(FRAME[:300], CLASSES[:300]) for _ in range(2))
    p, before = fitted.predict_proba(FRAME[300:]), fitted.learner_.state[conformal.CONFORMAL].copy()
    fitted.partial_fit(FRAME[300:], CLASSES[300:], predicted=p)
    other.partial_fit(FRAME[300:], CLASSES[300:])
    np.testing.assert_array_equal(fitted.coef_, other.coef_)
    numbers = fitted._class_order.numbers[(CLASSES[300:] == "yes").astype(int)]
    by_number = p[:, np.argsort(fitted._class_order.numbers)]
    expected = conformal.learned_late(before, by_number, numbers.astype(np.int32), None, None)
    np.testing.assert_array_equal(fitted.learner_.state[conformal.CONFORMAL], expected)
    assert np.any(expected != other.learner_.state[conformal.CONFORMAL])
    with pytest.raises(ValueError, match="predicted must have a row per row of X"):
        fitted.partial_fit(FRAME, CLASSES, predicted=p)


def test_shuffled_rows_are_those_of_a_shuffled_stream():
    seed = int(np.random.RandomState(5).randint(2**31 - 1))
    stream = open_stream(FRAME.assign(label=CLASSES), normalize="none", zeros=True).shuffle(2 * N, seed)
    fitted = OnlineClassifier(shuffle=True, random_state=5, calibration=None).fit(FRAME, CLASSES)  # nothing is centered
    assert_same(fitted, OnlineClassifier(calibration=None).fit_stream(stream))
    assert np.any(fitted.coef_ != OnlineClassifier().fit(FRAME, CLASSES).coef_)


def test_weights_multiply_the_loss():
    weight = np.arange(N) % 3
    file = FRAME.assign(label=CLASSES, weight=weight * np.where(CLASSES == "yes", 0.5, 1.0))
    fitted = OnlineClassifier(class_weight={"yes": 0.5}).fit(FRAME, CLASSES, sample_weight=weight)
    kept = OnlineClassifier().fit_stream(file[weight > 0], weight="weight")
    predicted = fitted.predict_proba(NEW), kept.predict_proba(NEW)
    np.testing.assert_allclose(*predicted, rtol=1e-9)
    factor = N / (2 * np.array([np.count_nonzero(name == CLASSES) for name in ("no", "yes")]))
    balanced = OnlineClassifier(class_weight="balanced").fit(FRAME, CLASSES)
    assert_same(
        balanced, OnlineClassifier(class_weight=dict(zip(["no", "yes"], factor, strict=True))).fit(FRAME, CLASSES)
    )


def test_label_sets_and_several_numbers():
    estimator = OnlineClassifier()
    y = np.column_stack([CLASSES == "yes", FRAME["rooms"] == 1, np.zeros(N, dtype=bool)]).astype(int)
    fitted = clone(estimator).fit(FRAME, y)
    assert fitted.predict(NEW).shape == (100, 3) and (fitted.predict(FRAME)[:, 1] == y[:, 1]).mean() > 0.75
    assert not fitted.predict(FRAME)[:, 2].any()
    found = OnlineRegressor().fit(FRAME, np.column_stack([PRICES, -PRICES])).predict(FRAME)
    assert np.abs(found[:, 0] - PRICES).mean() < 1.0 and np.abs(found[:, 1] + PRICES).mean() < 1.0


# --- prediction ----------------------------------------------------------------------------------------------------


@pytest.mark.long("a training of each estimator")
@EACH
def test_unseen_categories_are_those_of_files(tmp_path, estimator):
    NEW.to_parquet(tmp_path / "new.parquet")
    fitted = clone(estimator).fit(FRAME, labels_for(estimator))
    methods = (
        ["predict", "predict_interval"] if estimator.predicts_numbers else ["predict", "predict_proba", "predict_set"]
    )
    methods += ["novelty"]
    methods += ["margin_distribution"] if hasattr(estimator, "margin_distribution") else []
    before = fitted.n_features_in_
    for method in methods:
        here, there = getattr(fitted, method)(NEW), fitted.predict_stream(tmp_path / "new.parquet", method)
        np.testing.assert_array_equal(here, next(there))
        np.testing.assert_array_equal(here, next(fitted.predict_stream(NEW, method)))
    if not estimator.predicts_numbers:
        assert certainty(fitted, NEW).shape == (100,)
    assert fitted.n_features_in_ == before == fitted.learner_.n_features


def test_models_of_other_formats_read_frames_and_dicts(tmp_path):
    frame = FRAME.drop(columns=["nothing", "when"]).assign(label=CLASSES)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_json(tmp_path / "rows.jsonl", orient="records", lines=True)
    for name in ("csv", "parquet", "jsonl"):
        fitted = OnlineClassifier().fit_stream(tmp_path / f"rows.{name}")
        read = np.concatenate(list(fitted.predict_stream(tmp_path / f"rows.{name}", "predict_proba")))
        source = fitted.source_
        rows = frame.assign(new=frame["new"].astype(object)) if name == "csv" else frame
        if name == "csv":  # where true is a category
            rows = frame.assign(new=frame["new"].map({True: "True", False: "False"}))
        np.testing.assert_allclose(fitted.predict_proba(rows), read, rtol=1e-12)
        np.testing.assert_allclose(fitted.predict_proba(rows.to_dict("records")), read, rtol=1e-12)
        fitted.partial_fit(rows, "label")
        assert fitted.source_ == source


# --- scikit-learn --------------------------------------------------------------------------------------------------


@pytest.mark.long("validations by folds")
@EACH
@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "Polars"])
def test_pipelines_and_validations(estimator, library):
    y = labels_for(estimator)
    frame = FRAME if library is pd else pl.from_pandas(FRAME)
    pipeline = make_pipeline(FunctionTransformer(), clone(estimator)).fit(frame, y)
    np.testing.assert_array_equal(pipeline.predict(frame), clone(estimator).fit(frame, y).predict(frame))
    assert np.mean(cross_val_score(estimator, frame, y, cv=3)) > 0.5
    if isinstance(estimator, OnlineClassifier | OnlineRegressor):
        search = GridSearchCV(estimator, {"passes": [1, 2]}, cv=2).fit(frame, y)
        assert search.best_score_ > 0.5


# --- dicts and texts -----------------------------------------------------------------------------------------------


DICTS = [
    {
        "n": k % 7, "kind": ["u", "v"][k % 2], "tags": ["x"] * (k % 3), "at": {"lat": k / 10, "nan": float("nan")},
        **({} if k % 5 else {"when": datetime.datetime(2024, 1, 1 + k % 28, k % 24), "none": None}),
    }
    for k in range(120)
]  # fmt: skip


@EACH
def test_dicts_are_json_lines(tmp_path, estimator):
    y = (np.arange(120) % 7 > 3).astype(float if estimator.predicts_numbers else int)
    file = tmp_path / "rows.jsonl"
    plain = [{**row, "at": {"lat": row["at"]["lat"]}} for row in DICTS]
    lines = [json.dumps({**row, "label": label}, default=str) for row, label in zip(plain, y.tolist(), strict=True)]
    file.write_text("\n".join(lines))
    fitted = clone(estimator).fit(DICTS, y)
    assert_same(fitted, clone(estimator).fit_stream(file, dates="when"))
    assert "when.weekday" in list(fitted.features_.names)
    whole = [{**row, "label": label} for row, label in zip(DICTS, y.tolist(), strict=True)]
    assert_same(clone(estimator).fit(whole, "label"), fitted)
    predicted = fitted.predict(whole), np.concatenate(list(fitted.predict_stream(file)))
    np.testing.assert_allclose(*map(np.asarray, predicted), rtol=1e-12)


@pytest.mark.parametrize("estimator", [OnlineClassifier(), AutoClassifier(shuffle=False, passes=1)])
def test_texts_are_those_of_files(tmp_path, estimator):
    file = tmp_path / "messages.txt"
    lines = [f"{label}\t{text}\n" for label, text in zip(SPAM, (m.replace("\n", " ") for m in MESSAGES), strict=True)]
    file.write_text("".join(lines))
    expected = clone(estimator).fit_stream(file)
    for texts in (MESSAGES, np.array(MESSAGES), pd.Series(MESSAGES), pl.Series(MESSAGES), tuple(MESSAGES)):
        fitted = clone(estimator).fit(texts, SPAM)
        assert_same(fitted, expected)
        assert set(fitted.predict(["money lottery", None, ""])) <= {"spam", "ham"}
    np.testing.assert_array_equal(fitted.predict(MESSAGES), np.concatenate(list(expected.predict_stream(file))))
    assert cross_val_score(estimator, MESSAGES, SPAM, cv=3).mean() > 0.9


# --- errors --------------------------------------------------------------------------------------------------------


ERRORS = {
    "no such column": (lambda: (FRAME.assign(price=1), "pryce"), r"'pryce' of labels \(did you mean 'price'\?\)"),
    "no such key": (lambda: (DICTS, "kin"), r"'kin' of labels \(did you mean 'kind'\?\); there are 'n', 'kind'"),
    "a column called label": (lambda: (FRAME.assign(label="a"), CLASSES), "X has a column 'label', as files call"),
    "y without names": (lambda: (np.ones((2, 2)), "target"), "y='target' is the name of a column, and X has no names"),
    "two columns of one name": (
        lambda: (FRAME[["town", "town"]], CLASSES), "X has 2 columns called 'town'; rename or drop them",
    ),
    "types within a column": (lambda: (FRAME.assign(c=[1, "a"] * 300), CLASSES), "X cannot be read as a table: .* c "),
    "dicts within a column": (
        lambda: (FRAME.assign(c=[[{"a": 1}]] * N), CLASSES), "column 'c' holds list<.*>, which cannot be features",
    ),
    "durations": (lambda: (FRAME.assign(long=pd.to_timedelta(range(N), "s")), CLASSES), "'long' holds duration"),
    "another length": (lambda: (FRAME, CLASSES[1:]), "X has 600 rows, y has 599; they must have as many"),
    "one class": (lambda: (FRAME, np.full(N, "a")), "y must have at least 2 classes, got one class: 'a'"),
    "a missing label": (lambda: (FRAME.assign(y=[None, "a"] * 300), "y"), "y: row 0 has no label, got None"),
    "no columns": (lambda: (FRAME[["nothing"]].assign(y=CLASSES)[["y"]], "y"), "X has no columns to read"),
    "infinity": (lambda: (FRAME.assign(big=np.inf), CLASSES), "X, row 1, column 'big': .*inf"),
    "infinity in a dict": (lambda: ([{}, {"a": [np.inf]}], ["a", "b"]), "X, row 2: 'a' is inf; leave it out"),
    "no dict": (lambda: ([{"a": 1}, 2], ["a", "b"]), "X, row 2: expected a dict, got 2"),
    "another object": (lambda: ([{"a": {"b": {1}}}, {}], ["a", "b"]), "X, row 1: 'a.b' holds a set"),
    "no text": (lambda: (["a", 2], ["a", "b"]), "X, row 2: expected a text, got 2"),
    "negative weights": (lambda: (FRAME, CLASSES, np.full(N, -1.0)), "sample_weight must be finite and >= 0"),
    "a lazy frame": (lambda: (pl.LazyFrame({"a": ["b"]}), ["a"]), "lazy frame"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_one_error_for_what_cannot_be_learned(case):
    make, message = ERRORS[case]
    fitted = OnlineClassifier().fit(FRAME, CLASSES)
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match=message):
        fitted.fit(*make())
    assert vars(fitted) == before


@EACH
def test_one_error_for_what_cannot_be_predicted(estimator):
    fitted = clone(estimator).fit(FRAME, labels_for(estimator))
    for rows, message in (
        (FRAME.drop(columns="age"), r"X: missing 1 of 7 columns of training: 'age'"),
        (FRAME.assign(age="old"), r"X: column 'age' holds (large_)?string, and numbers in training; convert it"),
        (FRAME.assign(town=1), r"X: column 'town' holds int64, and no numbers in training; convert it"),
        (FRAME.rename(columns={"age": "Age"}), "did you mean 'age' instead of 'Age'"),
        (["text", "text"], "X is a list of texts, and the estimator was trained on a data frame or Parquet"),
        (FRAME[:0], "X has no rows"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.predict(rows)
    with pytest.warns(DataWarning, match="1 new column: 'other'"):
        fitted.predict(FRAME.assign(other="a"))
    assert fitted.predict(FRAME[:1]).shape == (1,)
    numbers = clone(estimator).fit(FRAME[["rooms"]], labels_for(estimator))
    for rows, message in (
        (DICTS, "X is a list of dicts, and the estimator was trained on numbers in arrays or frames"),
        (MESSAGES, "X is a list of texts, and the estimator was trained on numbers in arrays or frames"),
    ):
        with pytest.raises(ValueError, match=message):
            numbers.predict(rows)
    with pytest.raises(ValueError, match="y='town' is the name of a column, and the estimator was trained on numbers"):
        numbers.partial_fit(FRAME[["rooms", "town"]], "town")
    texts = OnlineClassifier().fit(MESSAGES, SPAM)
    with pytest.raises(ValueError, match="X is a data frame, and the estimator was trained on texts"):
        texts.predict(FRAME)
    with pytest.raises(ValueError, match=r"^X must be as in training, texts: .* got 1D array"):
        texts.predict([3])


def test_what_fit_stream_takes(tmp_path):
    with pytest.raises(
        TypeError, match="fit_stream: expected a stream of open_stream, paths, a data frame or dicts, got i"
    ):
        OnlineClassifier().fit_stream(1)
    with pytest.raises(TypeError, match="the stream is open already; pass label to open_stream"):
        OnlineClassifier().fit_stream(open_stream(FRAME.assign(label=CLASSES)), label="label")
    with pytest.raises(ValueError, match="format: rows in memory are read as parquet, got 'csv'"):
        open_stream(FRAME, format="csv")
    with pytest.raises(FileNotFoundError):
        OnlineClassifier().fit_stream(tmp_path / "nothing.csv")
