"""Models of entities on data frames: those of one process with the same partitions and rounds, to the byte."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import confidently
from confidently import OnlineClassifier, OnlineRegressor
from confidently.data import DataError
from confidently.data.formats.table import TYPED
from confidently.data.sources.in_memory import InMemory
from confidently.rounds.cells import cells_of
from confidently.rounds.entities import begin, finished
from confidently.rounds.rounds import Rounds
from tests.rounds.here import Here
from tests.spark.data import partitions_of

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
from pyspark.ml import Pipeline, PipelineModel  # noqa: E402

from confidently import entities  # noqa: E402
from confidently.spark import EntityModels, EntityModelsModel, StreamTrainer  # noqa: E402
from confidently.spark.entities import by_keys  # noqa: E402

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # those of Spark
USERS = 60


def tastes(n, seed=0):
    """Rows of users, each of which likes other genres, with a number and a target."""
    rng, own = np.random.default_rng(seed), np.random.default_rng(7).normal(0, 2, (USERS, 3))
    user, genre, x = rng.integers(USERS, size=n), rng.integers(3, size=n), rng.normal(size=n)
    score = own[user, genre] + x
    return pd.DataFrame({
        "user": [f"u{k}" for k in user],
        "genre": np.array(["crime", "love", "space"])[genre],
        "x": x,
        "label": np.where(score + rng.logistic(size=n) > 0, "yes", "no"),
        "price": 3.0 + score + 0.1 * rng.normal(size=n),
        "kind": np.array(["a", "b", "c", "d"])[np.clip((score + 2).astype(int), 0, 3)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(tastes(1500)).repartition(5, "x").persist()


def trained_here(model, tables, rounds, label):
    """What one process makes of the same partitions and rounds."""
    head = InMemory(TYPED, pa.concat_tables(tables), sum(map(len, tables)))
    base, job = begin(model, head, {"format": TYPED, "label": label})
    grids = [cells_of([len(table)], [True], 1, rounds) for table in tables]
    grid = [
        [[piece._replace(unit=k) for piece in of_one[r][0]] for k, of_one in enumerate(grids)] for r in range(rounds)
    ]
    training = Rounds(Here(tables), base, grid, job)
    summaries = list(training)
    return finished(model, training.model), summaries


def file_of(model, folder):
    """The bytes of a model's file."""
    model.save(folder / "model.ent")
    return (folder / "model.ent").read_bytes()


KINDS = {"label": OnlineClassifier(), "price": OnlineRegressor(), "kind": OnlineClassifier("logistic", view="ranks")}


@pytest.mark.parametrize("label", KINDS)
@pytest.mark.parametrize("rounds", [1, 3])
def test_the_model_is_that_of_one_process(frame, label, rounds, tmp_path):
    rows = frame.select("user", "genre", "x", label)
    fitted = EntityModels(key="user", shared=KINDS[label], rounds=rounds, labelCol=label, partitions=6).fit(rows)
    native = entities.EntityModels("user", KINDS[label])
    tables = partitions_of(by_keys(rows, "user", 6))
    expected, summaries = trained_here(native, tables, rounds, label)
    assert file_of(fitted.estimator, tmp_path) == file_of(expected, tmp_path)
    found = [(one.rows, one.learned, one.mistakes, one.log_loss) for one in fitted.rounds]
    assert found == [(one.rows, one.learned, one.mistakes, one.log_loss) for one in summaries]
    assert (fitted.estimator.n_seen_, fitted.estimator.n_entities_) == (1500, USERS)
    assert sorted(set().union(*(set(table["user"].to_pylist()) for table in tables))) == sorted(expected.keys_)
    assert sum(len(set(table["user"].to_pylist())) for table in tables) == USERS  # each in one partition


def test_the_model_is_that_of_dask(spark, frame, tmp_path):
    pytest.importorskip("distributed")
    from distributed import Client

    from confidently.distributed import fit_entities

    rows = frame.select("user", "genre", "x", "label")
    tables, paths = partitions_of(by_keys(rows, "user", 3)), []
    for k, table in enumerate(tables):
        for number, [[piece]] in enumerate(cells_of([len(table)], [True], 1, 2)):
            paths.append(str(tmp_path / f"{k}-{number}.parquet"))
            parquet.write_table(table.slice(piece.first, piece.last - piece.first), paths[-1])
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        by_dask = fit_entities(entities.EntityModels("user"), paths, client=client, rounds=2, label="label")
    by_spark = EntityModels(key="user", rounds=2, partitions=3).fit(rows)
    assert file_of(by_spark.estimator, tmp_path) == file_of(by_dask, tmp_path)


def test_one_partition_in_one_round_is_one_stream(frame, tmp_path):
    rows = frame.select("user", "genre", "x", "label")
    fitted = EntityModels(key="user", partitions=1).fit(rows)
    [table] = partitions_of(by_keys(rows, "user", 1))
    expected = entities.EntityModels("user").fit_stream(table, label="label")
    assert file_of(fitted.estimator, tmp_path) == file_of(expected, tmp_path)


@pytest.mark.parametrize("label", ["label", "price", "kind"])
def test_predictions_are_those_of_the_model(spark, frame, label):
    shared = OnlineRegressor() if label == "price" else None
    model = EntityModels(key="user", shared=shared, labelCol=label).fit(frame.select("user", "genre", "x", label))
    new = pd.concat([tastes(200, seed=1), tastes(5, seed=2).assign(user="nobody")])[["user", "genre", "x"]]
    rows = spark.createDataFrame(new).repartition(3).persist()
    found, native = model.transform(rows).toPandas(), model.estimator
    table = found[["user", "genre", "x"]]
    if label == "price":
        mean, deviation = native.predict(table, return_std=True)
        np.testing.assert_allclose(found["prediction"], mean, 1e-12)
        np.testing.assert_allclose(found["variance"], deviation**2, 1e-12)
        assert "probability" not in found
    else:
        p = np.stack([one.toArray() for one in found["probability"]])
        np.testing.assert_allclose(p, native.predict_proba(table), 1e-12)
        assert found["prediction"].tolist() == native.predict(table).tolist()
        variance = native.margin_distribution(table)[1].reshape(len(table), -1)
        np.testing.assert_allclose(np.stack(found["variance"].tolist()), variance, 1e-12)
    unknown = found["user"] == "nobody"
    variances = np.stack(found["variance"].to_numpy()).reshape(len(found), -1).max(axis=1)
    assert variances[unknown].min() > np.median(variances[~unknown])


def test_it_is_saved_and_a_stage_of_pipelines(frame, tmp_path):
    rows = frame.select("user", "genre", "x", "label")
    stage = EntityModels(key="user", shared=OnlineClassifier("arow"), entity_variance=[0.25, 1.0], partitions=2)
    fitted = Pipeline(stages=[stage]).fit(rows)
    fitted.save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert isinstance(again.stages[0], EntityModelsModel)
    assert file_of(again.stages[0].estimator, tmp_path) == file_of(fitted.stages[0].estimator, tmp_path)
    assert again.transform(rows).collect() == fitted.transform(rows).collect()
    stage.save(str(tmp_path / "stage"))
    loaded = EntityModels.load(str(tmp_path / "stage"))
    assert repr(loaded.as_estimator()) == repr(stage.as_estimator())
    assert (loaded.getOrDefault("partitions"), loaded.getOrDefault("rounds")) == (2, 1)


def test_integers_and_missing_keys(spark):
    data = tastes(300)[["user", "x", "label"]]
    data["user"] = data["user"].str[1:].astype(int)
    rows = spark.createDataFrame(data)
    model = EntityModels(key="user", partitions=2).fit(rows)
    assert set(model.estimator.keys_) == set(map(str, data["user"]))
    assert model.transform(rows).count() == 300
    missing = rows.selectExpr("if(user = 3, null, user) as user", "x", "label")
    with pytest.raises(DataError, match=r"column 'user', row .*: the key is missing"):
        EntityModels(key="user").fit(missing)
    assert model.transform(missing.drop("label")).count() == 300


def test_weights_and_invalid_rows(spark, tmp_path):
    data = tastes(400)[["user", "x", "label"]].assign(weight=1.0)
    data.loc[100:, "weight"] = 0.5
    rows = spark.createDataFrame(data)
    weighted = EntityModels(key="user", weightCol="weight", partitions=1).fit(rows)
    [table] = partitions_of(by_keys(rows, "user", 1))
    expected = entities.EntityModels("user").fit_stream(table, label="label", weight="weight")
    assert file_of(weighted.estimator, tmp_path) == file_of(expected, tmp_path)
    data.loc[50, "x"] = np.inf
    bad = spark.createDataFrame(data.drop(columns="weight"))
    with pytest.raises(DataError, match="x"):
        EntityModels(key="user").fit(bad)
    skipped = EntityModels(key="user", on_error=1, partitions=3).fit(bad)
    assert skipped.estimator.n_seen_ == 399 and sum(one.skipped for one in skipped.rounds) == 1
    data.loc[60, "x"] = np.inf
    with pytest.raises(DataError, match="more than 1 invalid row"):
        EntityModels(key="user", on_error=1, partitions=3).fit(spark.createDataFrame(data.drop(columns="weight")))


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({}, ValueError, "there are no keys; name their column"),
        ({"key": "usr"}, DataError, r"no column 'usr' \(did you mean 'user'\?\)"),
        ({"key": "user", "rounds": 0}, ValueError, "rounds must be an integer >= 1, got 0"),
        ({"key": "user", "partitions": 0}, ValueError, "partitions must be an integer >= 1, got 0"),
        ({"key": "user", "entity_variance": -1.0}, ValueError, "entity_variance must be"),
        ({"key": "user", "shared": OnlineClassifier(covariance="kernel")}, ValueError, "kernel"),
        ({"key": "user", "shared": OnlineClassifier(class_weight={"yes": 2.0})}, ValueError, "class_weight"),
        ({"key": "user", "shared": OnlineClassifier(view="bins")}, confidently.MergeError, "columns of its own"),
    ],
)
def test_what_cannot_be_trained_is_one_error(frame, params, error, message):
    with pytest.raises(error, match=message):
        EntityModels(**params).fit(frame.select("user", "genre", "x", "label"))


def test_streams_are_not_for_entities(tmp_path):
    with pytest.raises(TypeError, match="EntityModels"):
        StreamTrainer(EntityModels(key="user"), tmp_path / "model")
