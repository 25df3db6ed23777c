"""Sending an object to executors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession


class Enclosed(NamedTuple):
    """An object that goes with the function which uses it, as a broadcast variable does by itself."""

    value: Any


def send(spark: SparkSession, value: Any) -> Any:
    """Return a broadcast variable; over Spark Connect, which has none, the object as part of a function."""
    return spark.sparkContext.broadcast(value) if is_classic(spark) else Enclosed(value)


@contextmanager
def sent(spark: SparkSession, value: Any) -> Iterator[Any]:
    """Send an object, and free the memory that it takes at the end."""
    shipped = send(spark, value)
    try:
        yield shipped
    finally:
        if not isinstance(shipped, Enclosed):
            shipped.destroy()


def is_classic(spark: SparkSession) -> bool:
    """Return whether a session runs in this process, not over Spark Connect."""
    return hasattr(spark, "_jsparkSession")


def slots(spark: SparkSession) -> int | None:
    """Return the number of tasks that run at the same time, if it is known."""
    return spark.sparkContext.defaultParallelism if is_classic(spark) else None


def partitions_of(frame: DataFrame) -> int:
    """Return the number of partitions of a data frame; over Spark Connect, which hides it, that after a shuffle."""
    spark = frame.sparkSession
    return frame.rdd.getNumPartitions() if is_classic(spark) else int(spark.conf.get("spark.sql.shuffle.partitions"))
