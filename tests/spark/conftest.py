"""One session for all tests that need no other one."""

import os
import shutil
import sys
import warnings

import pytest

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100",  # so that a partition has several units
    "spark.sql.session.timeZone": "UTC",
}


def session(master):
    """Start a session, or return that which runs; what Spark warns of concerns Spark."""
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@pytest.fixture(scope="session")
def spark():
    """Two threads; a task that fails is tried again."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    started = session("local[2,4]")
    yield started
    started.stop()
