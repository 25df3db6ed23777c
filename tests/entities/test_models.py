"""Models of entities as an estimator: inputs, habits of scikit-learn, files, errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import log_loss

from confidently import ModelFileError, OnlineClassifier, OnlineRegressor
from confidently.data import DataError
from confidently.entities import EntityModels
from tests.model_files import contents_of, write_contents


def people(n: int = 3000, users: int = 60, seed: int = 0, classes: int = 2) -> tuple[np.ndarray, np.ndarray, Any]:
    """Rows of users whose weights differ; labels, and keys."""
    random = np.random.default_rng(seed)
    X, key = random.normal(size=(n, 4)), random.integers(0, users, n)
    shared, own = random.normal(size=(4, classes)), random.normal(size=(users, 4, classes))
    scores = X @ shared + np.einsum("nj,njk->nk", X, own[key]) + random.gumbel(size=(n, classes))
    return X, scores.argmax(axis=1), key


def numbers(n: int = 3000, users: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Any]:
    random = np.random.default_rng(seed)
    X, key = random.normal(size=(n, 4)), random.integers(0, users, n)
    return X, X.sum(axis=1) + (X * random.normal(size=(users, 4))[key]).sum(axis=1) + random.normal(size=n) * 0.5, key


def taste(n: int = 400) -> tuple[list[dict[str, Any]], list[str]]:
    """Dicts with a key, and labels that depend on it."""
    random = np.random.default_rng(1)
    rows = [
        {"user": f"u{random.integers(8)}", "genre": random.choice(["crime", "space", "love"]).item(), "age": i % 7}
        for i in range(n)
    ]
    return rows, ["yes" if hash_of(row) % 3 else "no" for row in rows]


def hash_of(row: dict[str, Any]) -> int:
    return int(row["user"][1:]) * 5 + len(row["genre"])


def test_entities_are_better_than_the_shared_model_and_than_each_alone() -> None:
    X, y, key = people(6000)
    train, test = slice(4000), slice(4000, None)
    model = EntityModels().fit(X[train], y[train], key=key[train])
    found = log_loss(y[test], model.predict_proba(X[test], key=key[test]))
    shared = OnlineClassifier().fit(X[train], y[train])
    assert found < 0.9 * log_loss(y[test], shared.predict_proba(X[test]))
    alone = EntityModels(shared=OnlineClassifier(prior_variance=1e-9)).fit(X[train], y[train], key=key[train])
    assert found < log_loss(y[test], alone.predict_proba(X[test], key=key[test]))
    assert model.score(X[test], y[test], key=key[test]) > shared.score(X[test], y[test])


@pytest.mark.parametrize("classes", [2, 3])
def test_an_unknown_entity_has_the_probabilities_of_the_shared_model(classes: int) -> None:
    X, y, key = people(classes=classes)
    model = EntityModels().fit(X, y, key=key)
    assert model.n_entities_ == 60
    unknown = np.full(50, 1000)
    np.testing.assert_allclose(model.predict_proba(X[:50], key=unknown), model.shared_.predict_proba(X[:50]), atol=1e-5)
    assert (model.predict_proba(X[:50], key=key[:50]).sum(axis=1) == pytest.approx(1)) is True
    mean, variance = model.margin_distribution(X[:50], key=key[:50])
    wider = model.margin_distribution(X[:50], key=unknown)[1]
    assert mean.shape == model.decision_function(X[:50], key=key[:50]).shape
    assert (variance < wider).all()


def test_numbers_of_a_data_frame_are_learned_as_those_of_an_array():
    source = np.random.default_rng(0)
    X, key, y = source.normal(size=(90, 3)), source.integers(0, 4, 90), source.normal(size=90)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(user=key)
    by_frame = EntityModels("user", OnlineRegressor(view=None)).fit(frame, pd.Series(y))
    by_array = EntityModels(shared=OnlineRegressor(view=None)).fit(X, y, key=key)
    np.testing.assert_allclose(by_frame.predict(frame), by_array.predict(X, key=key), rtol=1e-9)


def test_numbers_have_standard_deviations_that_fit() -> None:
    X, y, key = numbers(8000)
    train, test = slice(6000), slice(6000, None)
    model = EntityModels(shared=OnlineRegressor()).fit(X[train], y[train], key=key[train])
    mean, std = model.predict(X[test], key=key[test], return_std=True)
    assert np.sqrt(np.mean((mean - y[test]) ** 2)) < 0.5 * np.std(y[test] - model.shared_.predict(X[test]))
    assert np.mean(((mean - y[test]) / std) ** 2) == pytest.approx(1, abs=0.15)
    assert model.score(X[test], y[test], key=key[test]) > 0.9
    assert is_regressor(model) and not hasattr(model, "predict_proba")
    assert (model.predict(X[:9], key=[99] * 9, return_std=True)[1] > std.max()).all()


def test_all_inputs_teach_the_same() -> None:
    rows, y = taste()
    model = EntityModels("user").fit(rows, y)
    frame = pd.DataFrame(rows)
    expected = model.predict_proba(rows)
    apart = frame.drop(columns="user")
    for X, options in (
        (frame, {"y": np.array(y)}),
        (frame.assign(said=y), {"y": "said"}),
        (apart, {"key": frame["user"]}),
    ):
        other = EntityModels("user").fit(X, **({"y": y} | options))
        np.testing.assert_allclose(other.predict_proba(frame), expected, rtol=1e-6)
        assert other.keys_ == model.keys_


def test_sparse_and_dense_arrays_teach_the_same() -> None:
    X, y, key = people(500)
    X[np.abs(X) < 0.7] = 0
    dense, sparse = (
        EntityModels(shared=OnlineClassifier(view=None)).fit(data, y, key=key) for data in (X, csr_array(X))
    )
    np.testing.assert_array_equal(dense.predict_proba(X, key=key), sparse.predict_proba(csr_array(X), key=key))


def test_files_teach_what_frames_do(tmp_path: Any) -> None:
    rows, y = taste()
    frame = pd.DataFrame(rows).assign(label=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = EntityModels("user").fit_stream(tmp_path / "rows.csv")
    frame.to_parquet(tmp_path / "rows.parquet")
    other = EntityModels("user").fit_stream(tmp_path / "rows.parquet")
    assert model.keys_ == other.keys_ and model.n_seen_ == len(rows)
    assert not any("user" in str(name) for name in model.deviation("u1").features)
    model.partial_fit(rows, y)
    assert model.n_seen_ == 2 * len(rows)
    assert model.score(rows, y) > 0.9


def test_memory_that_files_use_up_is_said_before_it_is_gone(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["label,user,a", *(f"{k % 2},u{k},{k % 7}" for k in range(70_000))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr("confidently.memory.available_bytes", lambda: 10**8)
    with pytest.raises(MemoryError, match=r"the model, now of 6\d,\d+ entities, needs .*max_entities"):
        EntityModels("user").fit_stream(tmp_path / "rows.csv")


def test_rows_with_several_numbers_or_labels_are_an_error() -> None:
    rows, _ = taste(4)
    with pytest.raises(ValueError, match="2 numbers per row; EntityModels predicts one"):
        EntityModels("user", OnlineRegressor()).fit(rows, np.ones((4, 2)))
    with pytest.raises(ValueError, match="several labels; EntityModels needs one class"):
        EntityModels("user").fit(rows, np.eye(4, 2, dtype=int))


def test_one_call_per_row_learns_too() -> None:
    rows, y = taste(60)
    model = EntityModels("user")
    for row, label in zip(rows, y, strict=True):
        model.partial_fit([row], [label], classes=["yes", "no"])
    assert model.n_seen_ == 60 and list(model.classes_) == ["no", "yes"]
    assert model.n_entities_ == len({row["user"] for row in rows})


def test_the_column_of_a_class_does_not_depend_on_the_order_of_rows() -> None:
    rows, y = taste()
    model = EntityModels("user").fit(rows, y)
    turned = sorted(range(len(y)), key=lambda i: (i > 0, i)) if y[0] == "no" else range(len(y))
    swapped = ["no" if label == "yes" else "yes" for label in y]
    other = EntityModels("user").fit([rows[i] for i in turned], [swapped[i] for i in turned])
    np.testing.assert_allclose(other.predict_proba(rows)[:, ::-1], model.predict_proba(rows), atol=1e-6)
    np.testing.assert_allclose(other.margin_distribution(rows)[0], -model.margin_distribution(rows)[0], atol=1e-6)
    one, two = model.deviation("u1"), other.deviation("u1")
    np.testing.assert_allclose(two.mean, -one.mean, atol=1e-5)
    assert one.features == two.features and one.features[0] == "intercept"


@pytest.mark.parametrize("kind", ["classes", "many classes", "numbers", "dicts"])
def test_a_saved_model_continues_bit_for_bit(kind: str, tmp_path: Any) -> None:
    if kind == "dicts":
        X, y = taste()
        options: dict[str, Any] = {"key": "user"}
        halves = [((X[:200], y[:200]), {}), ((X[200:], y[200:]), {})]
    else:
        X, y, key = numbers() if kind == "numbers" else people(classes=4 if kind == "many classes" else 2)
        options = {"shared": OnlineRegressor() if kind == "numbers" else OnlineClassifier("logistic")}
        halves = [((X[:2000], y[:2000]), {"key": key[:2000]}), ((X[2000:], y[2000:]), {"key": key[2000:]})]
    model = EntityModels(**options, max_entities=50, max_age=1000)
    model.fit(*halves[0][0], **halves[0][1])
    model.save(tmp_path / "a")
    model.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    read = EntityModels.load(tmp_path / "a")
    copied = pickle.loads(pickle.dumps(model))
    for one in (model, read, copied):
        one.partial_fit(*halves[1][0], **halves[1][1])
        one.save(tmp_path / "b")
        assert clone(one).max_entities == 50
        found = one.predict(*halves[1][0][:1], **halves[1][1])
        np.testing.assert_array_equal(found, model.predict(*halves[1][0][:1], **halves[1][1]))
        assert one.keys_ == model.keys_
        for name, array in model._table.state().items():
            np.testing.assert_array_equal(one._table.state()[name], array, err_msg=name)


@pytest.mark.parametrize("n_rows", [1000, 7])
@pytest.mark.parametrize("kind", ["classes", "numbers", "numbers of many columns"])
def test_an_entity_is_forgotten_when_none_of_the_last_rows_was_its_own(kind: str, n_rows: int) -> None:
    """Predictions forget it at once, and the list of keys with the rows at most as many later."""
    random, age = np.random.default_rng(0), 30
    X, key = random.normal(size=(120, 20 if "many" in kind else 3)), random.integers(0, 5, 120)
    key[:11] = 7
    numbers = X[:, 0] * np.where(key == 7, 3.0, -1.0)
    y = (numbers > 0).astype(int) if kind == "classes" else numbers
    shared = (OnlineClassifier if kind == "classes" else OnlineRegressor)(view=None)
    for after, known, listed in ((age - 1, True, True), (age, False, True), (2 * age + 1, False, False)):
        model = EntityModels(shared=shared, max_age=age)
        for first in range(0, 11 + after, n_rows):
            rows = slice(first, min(first + n_rows, 11 + after))
            more = {"classes": [0, 1]} if kind == "classes" else {}
            model.partial_fit(X[rows], y[rows], key=key[rows], **more)
        answers = model.predict_proba if kind == "classes" else model.predict
        assert np.allclose(answers(X[:9], key=[7] * 9), answers(X[:9], key=[99] * 9)) != known
        assert (7 in model.keys_) == listed and model.n_entities_ == 5 + listed
        assert not listed or (model.deviation(7).rows, model.deviation(7).age) == (11, after)


def test_a_damaged_file_is_refused(tmp_path: Any) -> None:
    rows, y = taste(50)
    EntityModels("user").fit(rows, y).save(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    for damaged in (b"", content[: len(content) // 2], content.replace(b"outputs", b"outpuhs")):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"damaged|an empty file"):
            EntityModels.load(tmp_path / "damaged")
    header, arrays = contents_of(tmp_path / "whole")
    for changes, wrong, message in (
        ({"outputs": 2**40}, {}, "do not fit the classes"),
        ({"regression": True}, {}, "of another kind"),
        ({"max_age": 0}, {}, "header.max_age"),
        ({"entity_variance": [-1.0]}, {}, "entity_variance must be"),
        ({}, {"keys.start": arrays["keys.start"][::-1].copy()}, "names do not fit together"),
        ({}, {"last": arrays["last"][1:]}, "the keys do not fit the entities"),
        ({}, {"model.shared": arrays["model.shared"][:-1]}, "model.shared: damaged or truncated"),
    ):
        write_contents(tmp_path / "damaged", header | changes, arrays | wrong)
        with pytest.raises(ModelFileError, match=message):
            EntityModels.load(tmp_path / "damaged")
    with pytest.raises(OSError):
        EntityModels.load(tmp_path / "absent")


def test_it_is_an_estimator_of_scikit_learn() -> None:
    model = EntityModels("user", OnlineClassifier("cw_var", prior_variance=2.0), entity_variance=0.5)
    other = clone(model)
    assert other.get_params()["shared__prior_variance"] == 2.0 and is_classifier(other)
    other.set_params(shared__prior_variance=3.0)
    rows, y = taste(100)
    assert other.fit(rows, y).shared_.prior_variance == 3.0
    assert set(other.variance_weights_) == {0.0, 0.5}
    assert sum(other.variance_weights_.values()) == pytest.approx(1)


BAD_KEYS: list[tuple[Any, type[Exception], str]] = [
    (["a", None, "b"], ValueError, "row 2: the key is missing"),
    (["a", float("nan"), "b"], ValueError, "row 2: the key is missing"),
    (pd.Series(["a", pd.NA, "b"]), ValueError, "row 2: the key is missing"),
    (["a", ["b"], "c"], TypeError, "row 2: expected a string or an integer"),
    (["a", 1, "b"], TypeError, "row 2: expected strings as in row 1, got 1"),
    ([True, False, True], TypeError, "row 1: expected a string or an integer, got True"),
    ([0.5, 1.5, 2.5], TypeError, "row 1: expected a string or an integer, got 0.5"),
    ([2**63, 1, 2], ValueError, "more than 64 bits"), (["a", "b"], ValueError, "X has 3 rows, key has 2"),
    ("abc", TypeError, "expected a key per row"), (None, ValueError, "there are no keys"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "kind", "message"), BAD_KEYS)
def test_bad_keys_are_one_clear_error(key: Any, kind: type[Exception], message: str) -> None:
    X, y, _ = people(3)
    y[:2] = 0, 1
    model = EntityModels()
    with pytest.raises(kind, match=message):
        model.fit(X, y, key=key)
    assert not hasattr(model, "shared_")
    model.partial_fit(X, y, [0, 1], key=[1, 2, 3])
    if kind is not TypeError or "row 2" not in message:
        return
    with pytest.raises(TypeError, match=r"keys of this model are integers, got 'a'"):
        model.partial_fit(X, y, key=list("abc"))
    with pytest.raises(TypeError, match=r"keys of this model are integers, got 'a'"):
        model.predict(X, key=list("abc"))


def test_classes_need_not_be_announced() -> None:
    X, y, key = people(400, classes=3)
    y[:60] = np.minimum(y[:60], 1)  # in blocks, of which the first ones have one class
    one, other = EntityModels(), EntityModels()
    one.partial_fit(X[:60], y[:60], key=key[:60]).partial_fit(X[60:], y[60:], key=key[60:])
    other.partial_fit(X[:60], y[:60], [0, 1], key[:60]).partial_fit(X[60:], y[60:], [0, 1, 2], key[60:])
    np.testing.assert_array_equal(one.predict_proba(X, key=key), other.predict_proba(X, key=key))


def test_errors_leave_the_model_as_it_was() -> None:
    X, y, key = people(400)
    model = EntityModels().fit(X[:200], y[:200], key=key[:200])
    before, rows = model.predict_proba(X, key=key), model.n_seen_
    bad = X[200:].copy()
    bad[150, 2] = np.nan
    for wrong, match in (
        ({"X": bad, "y": y[200:], "key": key[200:]}, "NaN in row 150, column 2"),
        ({"X": X[200:, :3], "y": y[200:], "key": key[200:]}, "features"),
        ({"X": X[200:], "y": y[200:] + 7, "key": key[200:], "classes": [0, 1]}, "7, 8"),
        ({"X": X[200:], "y": y[201:], "key": key[200:]}, "200 rows, y has 199"),
        ({"X": X[200:], "y": y[200:], "key": key[200:], "sample_weight": -np.ones(200)}, "sample_weight"),
        ({"X": X[200:], "y": np.ones((200, 3)), "key": key[200:]}, "labels"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            model.partial_fit(**wrong)
        assert model.n_seen_ == rows
        np.testing.assert_array_equal(model.predict_proba(X, key=key), before)


def test_rows_without_their_key_are_an_error() -> None:
    rows, y = taste(30)
    with pytest.raises(ValueError, match=r"no column 'usr' of keys \(did you mean 'user'\?\)"):
        EntityModels("usr").fit(pd.DataFrame(rows), y)
    del rows[4]["user"]
    with pytest.raises(ValueError, match="row 5: there is no column 'user' of keys"):
        EntityModels("user").fit(rows, y)
    with pytest.raises(ValueError, match="is the column of labels"):
        EntityModels("user").fit(rows, "user")
    with pytest.raises(ValueError, match="X has no names; pass the keys"):
        EntityModels("user").fit(np.ones((3, 2)), [0, 1, 0])


@pytest.mark.parametrize(("parameters", "kind", "message"), [
    ({"key": 3}, TypeError, "key must be the name of a column"),
    ({"entity_variance": 0}, ValueError, "entity_variance"), ({"entity_variance": []}, ValueError, "entity_variance"),
    ({"entity_variance": (0.1, 0.1)}, ValueError, "entity_variance"),
    ({"entity_variance": "auto"}, ValueError, "entity_variance"), ({"max_entities": 0}, ValueError, "max_entities"),
    ({"max_age": 1.5}, ValueError, "max_age"),
    ({"shared": 7}, TypeError, "expected an OnlineClassifier or an OnlineRegressor"),
    ({"shared": OnlineClassifier(passes=2)}, ValueError, "one pass"),
    ({"shared": OnlineClassifier(coverage_by=0)}, ValueError, "one set of errors for all"),
    ({"shared": OnlineRegressor("poisson")}, ValueError, "'poisson'"),
    ({"shared": OnlineRegressor("quantile")}, ValueError, "'quantile'"),
])  # fmt: skip
def test_bad_parameters_are_errors(parameters: dict[str, Any], kind: type[Exception], message: str) -> None:
    X, y, key = people(50)
    with pytest.raises(kind, match=message):
        EntityModels(**parameters).fit(X, y, key=key)


def test_too_many_entities_are_refused_before_they_take_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confidently.memory.available_bytes", lambda: 10**7)
    n = 2**16
    X, y = np.ones((n, 3)), np.arange(n) % 2
    model = EntityModels(shared=OnlineClassifier(view=None))
    with pytest.raises(MemoryError, match=r"65,536 entities with 3 features each needs .*max_entities"):
        model.fit(X, y, key=np.arange(n))
    EntityModels(shared=OnlineClassifier(view=None), max_entities=1000).fit(X, y, key=np.arange(n))


@pytest.mark.parametrize("n_rows", [1, 7, 100])
def test_batches_of_a_stream_make_no_difference(n_rows: int, tmp_path: Path) -> None:
    """The shared model predicts blocks, whose sizes follow from the rows before only."""
    rows, labels = taste()
    table = pa.Table.from_pylist([row | {"label": label} for row, label in zip(rows, labels, strict=True)])
    cut = pa.Table.from_batches(table.combine_chunks().to_batches(max_chunksize=n_rows))
    models = [EntityModels("user").fit_stream(data, label="label") for data in (table, cut)]
    for k, model in enumerate(models):
        model.save(tmp_path / str(k))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


@pytest.mark.parametrize("keys", [["a", None, "b"], [1, None, 2]])
def test_a_missing_key_of_a_stream_is_an_error(keys: list[Any]) -> None:
    known = pa.table({"user": [key or keys[0] for key in keys] * 20, "x": [0.5] * 60, "label": ["yes", "no"] * 30})
    model = EntityModels("user").fit_stream(known, label="label")
    rows = pa.table({"user": keys * 20, "x": [0.5] * 60, "label": ["yes", "no"] * 30})
    with pytest.raises(DataError, match="column 'user', row 2: the key is missing"):
        EntityModels("user").fit_stream(rows, label="label")
    with pytest.raises(DataError, match="column 'user', row 2: the key is missing"):
        model.partial_fit_stream(rows)
    assert model.n_seen_ == 60
    [found] = model.predict_stream(rows.drop_columns("label"))  # a row of nobody is predicted
    assert found.shape == (60, 2)


def test_streams_with_weights_of_classes_are_refused():
    rows = [{"user": f"u{k % 3}", "x": float(k % 2), "label": "ab"[k % 2]} for k in range(30)]
    weighted = OnlineClassifier(class_weight={"a": 2.0})
    with pytest.raises(ValueError, match="learn streams without weights of classes"):
        EntityModels("user", weighted).fit_stream(rows, label="label")
    model = EntityModels("user", weighted).fit([{"user": row["user"], "x": row["x"]} for row in rows], list("ab" * 15))
    with pytest.raises(ValueError, match="learn streams without weights of classes"):
        model.partial_fit_stream("more.csv")
