"""Rows for the tests, their partitions, and what one process makes of them."""

import os
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa

from confidently.data.formats.inference import infer_columns
from confidently.data.reading import ReaderOptions
from confidently.data.sources.in_memory import InMemory
from confidently.rounds.cells import cells_of
from confidently.rounds.preparation import initial_model, seed_of, skipping
from confidently.rounds.rounds import Rounds
from confidently.rounds.survey import first_rows
from confidently.rounds.tasks import Job, choose_by_files
from tests.rounds.here import Here

CITIES = ["rome", "oslo", "bern"]


def people(n, seed=0):
    """Rows with numbers, a category, a date and missing values."""
    rng = np.random.default_rng(seed)
    seconds = pd.to_timedelta(rng.integers(0, 10**6, n), unit="s")
    frame = pd.DataFrame({
        "age": rng.normal(size=n),
        "visits": rng.poisson(2.0, n),
        "city": rng.choice(CITIES, n),
        "when": pd.Timestamp("2024-01-01", tz="UTC") + seconds.as_unit("us"),
    })  # fmt: skip
    score = frame["age"] + (frame["city"] == "rome") - 0.5 * frame["visits"] + 0.3 * rng.normal(size=n)
    frame["label"] = np.where(score > 0, "yes", "no")
    frame["price"] = 10.0 * score + 3.0
    frame.loc[::7, "age"] = None
    return frame


def partitions_of(frame):
    """The rows of each partition that has any, as tables of Arrow."""
    rows = frame.selectExpr("*", "spark_partition_id() partition").toPandas()
    tables = [
        pa.Table.from_pandas(rows[rows.partition == k].drop(columns="partition"), preserve_index=False)
        for k in sorted(rows.partition.unique())
    ]
    return [table.cast(tables[0].schema) for table in tables]


def trained_here(estimator, tables, rounds, base=None, label="label"):
    """The model that one process makes of the same partitions and rounds, and the summaries."""
    whole = pa.concat_tables(tables)
    head = InMemory("parquet", whole, len(whole))
    grids = [cells_of([len(table)], [True], 1, rounds) for table in tables]
    grid = [
        [[piece._replace(unit=k) for piece in of_one[r][0]] for k, of_one in enumerate(grids)] for r in range(rounds)
    ]
    if base is None:
        reading = estimator._scaled([head], infer_columns([head], ReaderOptions(format="parquet", label=label)))
        numbers = {"targets": True} if estimator.predicts_numbers else {}
        multilabel = False if numbers else None
        found = first_rows(head, reading, numbers, multilabel, skipping("stop"), estimator._is_seen_by_default)
        base = initial_model(estimator, found, None)
        job = Job(found.reading, found.multilabel)
        if base.learner.rows_to_prepare:
            base = choose_by_files(base, [head], job)
    else:
        job = Job(ReaderOptions.from_dict(base.source), base.learner.task.multilabel)
    training = Rounds(Here(tables), base, grid, job, seed=seed_of(estimator), calibrate=estimator._calibrates)
    summaries = list(training)
    return training.model, summaries


def bytes_of(model):
    """The model file of a model."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.cw")
        model.save(path)
        with open(path, "rb") as file:
            return file.read()
