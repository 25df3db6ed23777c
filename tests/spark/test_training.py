"""Training on data frames: the model of one process with the same partitions and rounds, to the byte."""

import pytest

import confidently
from tests.spark.data import bytes_of, partitions_of, people, trained_here

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")

from confidently import spark as on_spark  # noqa: E402

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("default")]  # of Spark's own warnings


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(people(900)).repartition(6, "visits").persist()


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("OnlineClassifier", "label"),
        ("AutoClassifier", "label"),
        ("OnlineRegressor", "price"),
        ("AutoRegressor", "price"),
    ],
)
def test_the_model_is_that_of_one_process(frame, kind, label):
    rows = frame.drop("price" if label == "label" else "label")
    fitted = getattr(on_spark, kind)(rounds=3, labelCol=label).fit(rows)
    expected, summaries = trained_here(getattr(confidently, kind)(), partitions_of(rows), 3, label=label)
    assert bytes_of(fitted.estimator.as_model()) == bytes_of(expected)
    assert [one.rows for one in fitted.rounds] == [one.rows for one in summaries]
    assert sum(one.rows for one in fitted.rounds) == fitted.estimator.n_seen_ == 900
