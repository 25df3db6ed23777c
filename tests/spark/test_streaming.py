"""Training on micro-batches: each exactly once, and after a kill the same bytes."""

import os
import signal
import subprocess
import sys
import textwrap

import pyarrow as pa
import pytest
from pyarrow import parquet

import confidently
from confidently import ModelFileError
from confidently.data import DataError
from confidently.models.model import Model
from tests.spark.data import bytes_of, partitions_of, people, trained_here

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
from confidently.spark import OnlineClassifier, StreamTrainer  # noqa: E402

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]  # those of Spark


def batch(spark, k, n=300):
    return spark.createDataFrame(people(n, seed=k).drop(columns="price")).persist()


def test_micro_batches_continue_one_model(spark, tmp_path):
    trainer, base = StreamTrainer(OnlineClassifier(rounds=2), tmp_path / "model.cw"), None
    for k in range(3):
        rows = batch(spark, k)
        trainer(rows, k)
        base, _ = trained_here(confidently.OnlineClassifier(), partitions_of(rows), 2, base)
        trainer(rows, k)  # as after a failure
        assert trainer.model().training == {"batch": k}
    assert bytes_of(confidently.load(tmp_path / "model.cw").as_model()) == bytes_of(base)
    assert trainer.as_estimator().n_seen_ == 900


def test_batches_without_rows_or_with_one_class(spark, tmp_path):
    trainer = StreamTrainer(OnlineClassifier(rounds=1), tmp_path / "model.cw")
    rows = batch(spark, 0)
    trainer(rows.filter("age > 1000"), 0)
    assert trainer.model() is None
    trainer(rows.filter("label = 'yes'"), 1)
    trainer(rows.filter("age > 1000"), 2)
    assert trainer.model().training == {"batch": 1}
    trainer(rows.filter("label = 'no'"), 3)
    assert set(trainer.as_estimator().classes_) == {"yes", "no"}


def test_schemas_that_change(spark, tmp_path):
    trainer = StreamTrainer(OnlineClassifier(rounds=1), tmp_path / "model.cw")
    rows = batch(spark, 0)
    trainer(rows, 0)
    before = (tmp_path / "model.cw").read_bytes()
    with pytest.raises(DataError, match="no column 'city'"):
        trainer(rows.drop("city"), 1)
    with pytest.raises(DataError, match="column 'visits' of the data frame holds string, and numbers in training"):
        trainer(rows.withColumn("visits", rows.visits.cast("string")), 1)
    assert (tmp_path / "model.cw").read_bytes() == before
    trainer(rows.select(*reversed(rows.columns)).withColumn("more", rows.visits), 1)
    other = StreamTrainer(OnlineClassifier(rounds=1), tmp_path / "other.cw")
    other(rows, 0)
    other(rows, 1)
    assert (tmp_path / "model.cw").read_bytes() == (tmp_path / "other.cw").read_bytes()


def test_files_that_are_not_those_of_the_query(spark, tmp_path):
    trainer = StreamTrainer(OnlineClassifier(rounds=1), tmp_path / "model.cw")
    trainer(batch(spark, 0), 5)
    with pytest.raises(ValueError, match="the model has seen micro-batch 5, and the query begins again at 0"):
        trainer(batch(spark, 0), 0)
    confidently.load(tmp_path / "model.cw").save(tmp_path / "model.cw")
    with pytest.raises(ModelFileError, match="was not trained on micro-batches"):
        trainer(batch(spark, 0), 6)


QUERY = """
    import os, signal, sys
    from confidently.models import file
    from confidently.spark import OnlineClassifier, StreamTrainer
    from tests.spark.conftest import session

    folder, when = sys.argv[1:]
    spark = session("local[2]")
    rows = spark.readStream.schema(spark.read.parquet(f"{folder}/rows").schema).option("maxFilesPerTrigger", 1)
    trainer = StreamTrainer(OnlineClassifier(rounds=2), f"{folder}/model.cw")

    def train(batch, number):
        if when == "before" and number == 1:
            from confidently.spark import streaming
            streaming.replace = lambda *arguments, **more: os.kill(os.getpid(), signal.SIGKILL)
        trainer(batch, number)
        if when == "after" and number == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    query = rows.parquet(f"{folder}/rows").writeStream.trigger(availableNow=True)
    query.option("checkpointLocation", f"{folder}/checkpoint").foreachBatch(train).start().awaitTermination()
"""


def run(folder, when):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(QUERY), str(folder), when]
    return subprocess.run(command, capture_output=True, text=True).returncode


@pytest.mark.long("starts processes")
def test_a_query_that_was_killed_trains_on_each_batch_once(spark, tmp_path):
    """Before a micro-batch is in the file, and after, before Spark notes that it is done."""
    (tmp_path / "rows").mkdir()
    trainer = StreamTrainer(OnlineClassifier(rounds=2), tmp_path / "whole.cw")
    for k in range(3):
        path = tmp_path / "rows" / f"{k}.parquet"
        table = pa.Table.from_pandas(people(300, seed=k).drop(columns="price"), preserve_index=False)
        parquet.write_table(table, path)
        os.utime(path, (10**9 + k, 10**9 + k))
        trainer(spark.read.parquet(str(path)), k)
    assert run(tmp_path, "before") == -signal.SIGKILL
    assert Model.load(tmp_path / "model.cw").training == {"batch": 0}
    assert run(tmp_path, "after") == -signal.SIGKILL
    assert Model.load(tmp_path / "model.cw").training == {"batch": 1}
    assert run(tmp_path, "never") == 0
    assert (tmp_path / "model.cw").read_bytes() == (tmp_path / "whole.cw").read_bytes()
    assert trainer.as_estimator().n_seen_ == 900
