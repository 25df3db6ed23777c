"""Training on data frames: the model of one process with the same partitions and rounds, to the byte."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import confidently
from confidently.data import DataError, DataWarning
from tests.spark.data import bytes_of, partitions_of, people, trained_here

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")

from confidently import spark as on_spark  # noqa: E402
from confidently.spark import engine  # noqa: E402

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # those of Spark


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(people(1500)).repartition(6, "visits").persist()


@pytest.fixture(scope="module")
def rows(frame):
    return frame.drop("price")


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("OnlineClassifier", "label"), ("AutoClassifier", "label"), ("OnlineRegressor", "price"),
        ("AutoRegressor", "price"),
    ],
)  # fmt: skip
def test_the_model_is_that_of_one_process(frame, kind, label):
    rows = frame.drop("price" if label == "label" else "label")
    fitted = getattr(on_spark, kind)(rounds=3, labelCol=label).fit(rows)
    expected, summaries = trained_here(getattr(confidently, kind)(), partitions_of(rows), 3, label=label)
    assert bytes_of(fitted.estimator.as_model()) == bytes_of(expected)
    assert [one.rows for one in fitted.rounds] == [one.rows for one in summaries]
    assert sum(one.rows for one in fitted.rounds) == fitted.estimator.n_seen_ == 1500


def test_the_model_is_that_of_dask(spark, tmp_path):
    """Files of equal size are cut as the partitions are that have their rows."""
    pytest.importorskip("distributed")
    from distributed import Client

    from confidently import distributed

    data = people(1600)[["visits", "label"]].assign(age=np.random.default_rng(1).normal(size=1600))
    data["label"] = (data["label"] == "yes").astype(int)
    for k in range(8):  # the quarters of two partitions
        table = pa.Table.from_pandas(data[k * 200 : (k + 1) * 200], preserve_index=False)
        parquet.write_table(
            table, tmp_path / f"{k}.parquet", compression="none", use_dictionary=False, write_statistics=False
        )
    paths = [str(tmp_path / f"{k}.parquet") for k in range(8)]
    assert len({os.path.getsize(path) for path in paths}) == 1
    options = {"normalize": "none", "zeros": True}  # which Dask does not infer
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        by_dask = distributed.fit(
            confidently.OnlineClassifier(), paths, client=client, partitions=2, rounds=4, label="label", **options
        )
    rows = spark.createDataFrame(data).persist()
    assert [len(table) for table in partitions_of(rows)] == [800, 800]
    by_spark = on_spark.OnlineClassifier(rounds=4, **options).fit(rows)
    assert bytes_of(by_spark.estimator.as_model()) == bytes_of(by_dask.as_model())


def test_one_partition_in_one_round_is_one_stream(rows):
    one = rows.coalesce(1).persist()
    fitted = on_spark.OnlineClassifier(rounds=1).fit(one)
    [table] = partitions_of(one)
    expected = confidently.OnlineClassifier().fit_stream(table, label="label")
    assert bytes_of(fitted.estimator.as_model()) == bytes_of(expected.as_model())


def test_rows_are_shuffled_by_the_seed(rows):
    found = [
        bytes_of(on_spark.OnlineClassifier(rounds=2, shuffle=True, random_state=seed).fit(rows).estimator.as_model())
        for seed in (0, 0, 1)
    ]
    assert found[0] == found[1] != found[2]


def test_empty_and_skewed_partitions(spark):
    """Ten partitions, most of the rows in one of them and half of them empty."""
    data = people(1300).drop(columns="price")
    group = np.where(np.arange(1300) < 1000, 0, np.arange(1300) % 4)
    by = spark.createDataFrame(data.assign(group=group)).repartition(10, "group")
    rows = by.drop("group").persist()
    tables = partitions_of(rows)
    sizes = [len(table) for table in tables]
    assert len(tables) < 5 and max(sizes) > 900
    fitted = on_spark.OnlineClassifier(rounds=4).fit(rows)
    expected, _ = trained_here(confidently.OnlineClassifier(), tables, 4)
    assert bytes_of(fitted.estimator.as_model()) == bytes_of(expected)
    assert fitted.estimator.n_seen_ == 1300


def test_classes_and_features_of_one_partition_only(spark):
    data = people(1400).drop(columns="price")
    data.loc[1050:, "city"], data.loc[1380:, "label"] = "lima", "perhaps"
    rows = spark.createDataFrame(data).repartitionByRange(5, "city").persist()
    fitted = on_spark.OnlineClassifier(rounds=2).fit(rows)
    expected, _ = trained_here(confidently.OnlineClassifier(), partitions_of(rows), 2)
    assert bytes_of(fitted.estimator.as_model()) == bytes_of(expected)
    assert list(fitted.estimator.classes_) == ["no", "perhaps", "yes"]
    assert "city=lima" in fitted.estimator.features_.names


def dying_once(marker):
    """A task's function that kills its process the first time."""

    def pass_on(batches):
        for batch in batches:
            if not os.path.exists(marker):
                open(marker, "x").close()
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return pass_on


def test_a_partition_whose_process_is_killed_runs_again(rows, tmp_path):
    expected = on_spark.OnlineClassifier(rounds=2).fit(rows)
    marker = str(tmp_path / "marker")
    killed = on_spark.OnlineClassifier(rounds=2).fit(rows.mapInArrow(dying_once(marker), rows.schema))
    assert os.path.exists(marker)
    assert bytes_of(killed.estimator.as_model()) == bytes_of(expected.estimator.as_model())


def test_a_round_whose_process_is_killed_runs_again(rows, tmp_path, monkeypatch):
    expected = on_spark.OnlineClassifier(rounds=2).fit(rows)
    marker, learn = str(tmp_path / "marker"), engine.learn_units

    def learn_or_die(*arguments):
        *given, batches = arguments
        return learn(*given, dying_once(marker)(batches))

    monkeypatch.setattr(engine, "learn_units", learn_or_die)
    killed = on_spark.OnlineClassifier(rounds=2).fit(rows)
    assert os.path.exists(marker)
    assert bytes_of(killed.estimator.as_model()) == bytes_of(expected.estimator.as_model())


CLUSTER = """
    import os, signal, sys
    from confidently.spark import OnlineClassifier, engine
    from tests.spark.conftest import session

    rows, model, marker = sys.argv[1:]
    spark = session("local-cluster[2,1,1024]")
    learn = engine.learn_units

    def learn_or_kill(*given):
        try:
            open(marker, "x").close()
        except FileExistsError:
            return learn(*given)
        daemon = open(f"/proc/{os.getppid()}/stat").read().split()
        os.kill(int(daemon[3]), signal.SIGKILL)  # the executor, which started it
        os.kill(os.getpid(), signal.SIGKILL)

    engine.learn_units = learn_or_kill
    OnlineClassifier(rounds=3).fit(spark.read.parquet(rows)).estimator.save(model)
"""


@pytest.mark.long("starts a cluster and kills its processes")
def test_an_executor_that_is_killed_changes_nothing(tmp_path):
    """Its rows are computed again by the other, or by one that takes its place."""
    rows, model, marker = (tmp_path / name for name in ("rows", "model.cw", "marker"))
    rows.mkdir()
    for k in range(2):
        table = pa.Table.from_pandas(people(700, seed=k).drop(columns="price"), preserve_index=False)
        parquet.write_table(table, rows / f"{k}.parquet")
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(CLUSTER), *map(str, (rows, model, marker))]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": os.getcwd()})
    assert marker.exists()
    in_order = sorted(rows.iterdir(), key=os.path.getsize, reverse=True)  # as Spark reads them
    tables = [parquet.read_table(path) for path in in_order]
    expected, _ = trained_here(confidently.OnlineClassifier(), tables, 3)
    assert bytes_of(confidently.load(model).as_model()) == bytes_of(expected)


def test_rows_that_change_when_they_are_computed_again_are_an_error(rows, monkeypatch):
    """As they do if an executor is lost and the rows follow from random numbers."""

    def random_ages(batches):
        for batch in batches:
            ages = pa.array(np.random.default_rng().normal(size=batch.num_rows))
            yield batch.set_column(batch.schema.get_field_index("age"), "age", ages)

    learn = engine.SparkEngine.learn

    def losing(self, assigned):
        if assigned.number == 2:
            self.units.frame.unpersist(blocking=True)
        return learn(self, assigned)

    monkeypatch.setattr(engine.SparkEngine, "learn", losing)
    with pytest.raises(DataError, match="of the data frame changed when Spark computed them again"):
        on_spark.OnlineClassifier(rounds=3).fit(rows.mapInArrow(random_ages, rows.schema))
    expected = on_spark.OnlineClassifier(rounds=3).fit(rows)  # which Spark computes again without a change
    monkeypatch.setattr(engine.SparkEngine, "learn", learn)
    again = on_spark.OnlineClassifier(rounds=3).fit(rows)
    assert bytes_of(again.estimator.as_model()) == bytes_of(expected.estimator.as_model())


def test_an_invalid_row_is_one_error_or_skipped(spark):
    data = people(600).drop(columns="price")
    data.loc[500, "visits"] = 10**9
    data["visits"] = data["visits"].astype(float)
    data.loc[500, "visits"] = np.inf
    rows = spark.createDataFrame(data).repartition(3).persist()
    with pytest.raises(DataError, match="visits"):
        on_spark.OnlineClassifier(rounds=2).fit(rows)
    fitted = on_spark.OnlineClassifier(rounds=2, on_error="skip").fit(rows)
    assert fitted.estimator.n_seen_ == 599 and sum(one.skipped for one in fitted.rounds) == 1


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"labelCol": "lable"}, DataError, r"no column 'lable' \(did you mean 'label'\?\)"),
        ({"weightCol": "weight"}, DataError, "the data frame has no column 'weight'"),
        ({"rounds": 0}, ValueError, "rounds must be an integer >= 1, got 0"),
        ({"covariance": "kernel"}, ValueError, "kernel"),
        ({"class_weight": "balanced"}, ValueError, "balanced"),
        ({"rule": "nonsense"}, ValueError, "unknown rule 'nonsense'"),
        ({"coverage_by": "city"}, ValueError, "coverage_by is not supported on a cluster"),
    ],
)
def test_what_cannot_be_trained_is_one_error(rows, params, error, message):
    with pytest.raises(error, match=message):
        on_spark.OnlineClassifier(**params).fit(rows)


def test_a_frame_without_rows_or_with_one_class(rows):
    with pytest.raises(DataError, match="the data frame has no rows"):
        on_spark.OnlineClassifier().fit(rows.filter("age > 1000"))
    with pytest.raises(ValueError, match="one class only"):
        on_spark.OnlineClassifier(rounds=1).fit(rows.filter("label = 'yes'"))


def test_processes_do_not_search_for_garbage_in_what_they_imported(spark, rows):
    on_spark.OnlineClassifier(rounds=1).fit(rows)

    def frozen(batches):
        for _ in batches:
            yield pa.RecordBatch.from_arrays([pa.array([gc.get_freeze_count()])], ["count"])

    assert min(row["count"] for row in spark.range(0, 2, 1, 2).mapInArrow(frozen, "count long").collect()) > 10_000


@pytest.mark.parametrize("partitions", [1, 2])
def test_rows_in_one_partition_are_a_warning(rows, partitions):
    """As are those of one compressed file, which Spark cannot divide."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        on_spark.OnlineClassifier(rounds=1).fit(rows.coalesce(partitions))
    found = [str(one.message) for one in caught if issubclass(one.category, DataWarning)]
    assert [one.startswith("all rows are in one partition") for one in found] == [True] * (partitions == 1)


def test_unknown_parameters():
    with pytest.raises(TypeError, match="OnlineClassifier has no parameter 'roundes'"):
        on_spark.OnlineClassifier(roundes=3)
