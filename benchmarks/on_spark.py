"""Training on Spark: rows per second of one and of two executors' threads, and of one process without Spark.

A generated data frame of numbers and categories as Parquet, AROW with r = 0.1, one partition per thread and then eight,
in 4 rounds. Spark keeps the rows as units before the first round; that time is part of the training. Each setting runs
once to warm up, and then in turns.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from harness import arguments, machine, write_json
from pyarrow import parquet
from pyspark.sql import SparkSession

import confidently
from confidently.spark import OnlineClassifier

NUMBERS, CATEGORIES, VALUES, SEED = 10, 10, 1000, 0
PARTITIONS, ROUNDS = 8, 4


def write_rows(folder: Path, n_rows: int) -> None:
    """Write rows of two classes, as one file per partition."""
    random = np.random.default_rng(SEED)
    of_values = random.normal(size=(CATEGORIES, VALUES))
    for k in range(PARTITIONS):
        n = n_rows // PARTITIONS
        numbers = random.normal(size=(n, NUMBERS))
        values = (VALUES * random.random((n, CATEGORIES)) ** 3).astype(int)
        scores = numbers.sum(axis=1) + of_values[np.arange(CATEGORIES), values].sum(axis=1)
        columns: dict[str, Any] = {f"x{j}": numbers[:, j] for j in range(NUMBERS)}
        columns |= {f"c{j}": pa.array(values[:, j]).cast(pa.string()) for j in range(CATEGORIES)}
        columns["label"] = (scores + random.normal(size=n) > 0).astype(int)
        parquet.write_table(pa.table(columns), folder / f"{k}.parquet")


def seconds_on_spark(folder: Path, threads: int, repetitions: int) -> list[float]:
    """Return the seconds of each training, after one to warm up."""
    spark = (
        SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "4g")
        .config("spark.sql.files.maxPartitionBytes", max(path.stat().st_size for path in folder.iterdir()))
        .config("spark.sql.files.openCostInBytes", 0).getOrCreate()
    )  # fmt: skip
    spark.sparkContext.setLogLevel("ERROR")
    rows, found = spark.read.parquet(str(folder)), []
    for _ in range(repetitions + 1):
        began = time.perf_counter()
        model = OnlineClassifier(rule=confidently.AROW(r=0.1), rounds=ROUNDS).fit(rows)
        found.append(time.perf_counter() - began)
        shown = ", ".join(f"{one.seconds:.2f}" for one in model.rounds)
        print(
            f"{threads} threads, {model.rounds[0].partitions} partitions: {found[-1]:.2f} s, rounds {shown}", flush=True
        )
    spark.stop()
    return found[1:]


def seconds_alone(folder: Path) -> float:
    """Return the seconds of one process without Spark."""
    began = time.perf_counter()
    confidently.OnlineClassifier(confidently.AROW(r=0.1)).fit_stream(str(folder))
    return time.perf_counter() - began


def main() -> None:
    options = arguments(
        __doc__,
        ("--rows", {"type": int, "default": 2_000_000}),
        ("--repetitions", {"type": int, "default": 3}),
    )
    print(machine())
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder, options.rows)
        one, two = (seconds_on_spark(folder, threads, options.repetitions) for threads in (1, 2))
        alone = [seconds_alone(folder) for _ in range(options.repetitions)]
    ratio = median(one) / median(two)
    print(f"two threads: {ratio:.2f} times as fast as one; one process without Spark: {median(alone):.2f} s")
    write_json(options.json, {"one": one, "two": two, "alone": alone, "ratio": ratio})


if __name__ == "__main__":
    main()
