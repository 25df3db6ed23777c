"""Predictions of data frames, batch by batch in Arrow's format."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, DoubleType, StringType, StructField, StructType

from ..data import DataWarning
from .reading import columns_of
from .units import quoted, table_of, vectors_of
from .workers import in_worker

NUMBERS = ArrayType(DoubleType(), containsNull=False)
INTERVAL = StructType([StructField("lower", DoubleType()), StructField("upper", DoubleType())])


class Columns(NamedTuple):
    """Names of the columns to add, ``None`` for those to leave out, and the probability of sets and intervals."""

    predictionCol: str | None
    probabilityCol: str | None
    varianceCol: str | None
    setCol: str | None
    intervalCol: str | None
    coverage: float


class Added(NamedTuple):
    """A column of predictions: its name, its type, and the method that gives it."""

    name: str
    kind: DataType
    method: str


class Predictor(Protocol):
    """How a kind of estimator predicts."""

    def read(self, estimator: Any, frame: DataFrame) -> list[str]:
        """Return the columns of a data frame that the estimator reads, or raise ``DataError``."""

    def added(self, estimator: Any, columns: Columns) -> list[Added]:
        """Return the columns that a fitted estimator adds."""

    def answers(self, estimator: Any, rows: pa.RecordBatch, added: list[Added], coverage: float) -> list[pa.Array]:
        """Return the columns of predictions of some rows, which are read once."""


def predicted(kind: Predictor, estimator: Any, sent: Any, frame: DataFrame, columns: Columns) -> DataFrame:
    """Return a data frame with columns of predictions.

    Parameters
    ----------
    kind : Predictor
    estimator
        A fitted estimator of the package.
    sent
        The same, as executors have it.
    frame : DataFrame
        Its columns must be those of training; labels, weights and further columns may be there.
    columns : Columns
    """
    added = kind.added(estimator, columns)
    if taken := [one.name for one in added if one.name in frame.columns]:
        raise ValueError(f"the data frame has a column {taken[0]!r} already; set another name, or drop it")
    read = kind.read(estimator, frame)
    names, vectors = frame.columns, vectors_of(frame.schema)
    lists = [vector_to_array(frame[quoted(name)]) for name in read if name in vectors]
    position = {name: k for k, name in enumerate(names)}
    position |= {name: len(names) + k for k, name in enumerate(name for name in read if name in vectors)}
    # called by their position, since mapInArrow takes no names with dots
    given = frame.select("*", *lists).toDF(*map(str, range(len(names) + len(lists))))
    kinds = [*(field.dataType for field in frame.schema), *(one.kind for one in added)]
    schema = StructType([StructField(str(k), kind) for k, kind in enumerate(kinds)])
    places = {name: position[name] for name in read}
    task = partial(predict_batches, kind, sent, places, len(names), added, columns.coverage)
    found = given.mapInArrow(task, schema).toDF(*names, *(one.name for one in added))
    for one in added:
        if one.method == "predict_proba":
            found = found.withColumn(one.name, array_to_vector(found[quoted(one.name)]))
    return found


def are_numbers(estimator: Any) -> bool:
    """Return whether all classes are numbers, which pyspark.ml has as doubles."""
    return bool(np.issubdtype(estimator.classes_.dtype, np.number))


@in_worker
def predict_batches(
    kind: Predictor, sent: Any, read: dict[str, int], n_kept: int, added: list[Added], coverage: float,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Yield the first columns of batches with columns of predictions.

    ``read`` are the names and positions of the columns that the estimator reads.
    """
    estimator = sent.value
    for batch in batches:
        rows = [batch.column(k) for k in read.values()]
        arrays = batch.columns[:n_kept]
        if batch.num_rows:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # of which executors could only fill their logs
                arrays += kind.answers(estimator, pa.RecordBatch.from_arrays(rows, list(read)), added, coverage)
        else:
            arrays += [pa.nulls(0, arrow_type(one.kind)) for one in added]
        yield pa.RecordBatch.from_arrays(arrays, [str(k) for k in range(len(arrays))])


class OfEstimators:
    """Predictions of single learners and of stacks."""

    def read(self, estimator: Any, frame: DataFrame) -> list[str]:
        return columns_of(estimator.as_model(), frame)

    def added(self, estimator: Any, columns: Columns) -> list[Added]:
        if estimator.predicts_numbers:
            of_methods = [
                (columns.predictionCol, DoubleType(), "predict"),
                (columns.varianceCol, DoubleType(), "predict_variance"),
                (columns.intervalCol, INTERVAL, "predict_interval"),
            ]
        else:
            several = estimator.learner_.task.multilabel
            label = DoubleType() if are_numbers(estimator) else StringType()
            of_methods = [
                (columns.predictionCol, ArrayType(label) if several else label, "predict"),
                (columns.probabilityCol, NUMBERS, "predict_proba"),
                (columns.varianceCol, NUMBERS, "score_variance"),
                (columns.setCol, ArrayType(label), "predict_set"),
            ]
        return [Added(name, kind, method) for name, kind, method in of_methods if name]

    def answers(self, estimator: Any, rows: pa.RecordBatch, added: list[Added], coverage: float) -> list[pa.Array]:
        matrix = estimator._matrix(table_of([rows]))
        learner = estimator._learner_for(matrix)
        found = []
        for one in added:
            if estimator.predicts_numbers:
                numbers = _numbers(estimator, matrix, learner, one.method, coverage)
            else:
                numbers = _of_classes(estimator, matrix, learner, one.method, coverage)
            found.append(as_column(numbers, arrow_type(one.kind)))
        return found


def _numbers(estimator: Any, matrix: Any, learner: Any, method: str, coverage: float) -> np.ndarray:
    if method == "predict_variance":
        _, deviations = estimator._apply("predict_std", matrix, learner, coverage)
        return np.square(deviations)
    return estimator._apply(method, matrix, learner, coverage)


def _of_classes(estimator: Any, matrix: Any, learner: Any, method: str, coverage: float) -> Any:
    classes = estimator.classes_
    if method == "score_variance":
        _, variances = estimator._apply("margin_distribution", matrix, learner)
        return variances.reshape(matrix.shape[0], -1)
    if method == "predict_set":
        return [classes[row].tolist() for row in estimator._sets(matrix, learner, None, coverage, True)]
    found = estimator._apply(method, matrix, learner)
    if method == "predict" and learner.task.multilabel:
        return [classes[row.astype(bool)].tolist() for row in found]
    return found


def as_column(found: Any, kind: pa.DataType) -> pa.Array:
    """Return predictions as a column."""
    if pa.types.is_struct(kind):
        lower, upper = found.T
        return pa.StructArray.from_arrays([pa.array(lower), pa.array(upper)], ["lower", "upper"])
    if isinstance(found, np.ndarray) and found.ndim == 2:
        starts = pa.array(np.arange(len(found) + 1, dtype=np.int32) * found.shape[1])
        return pa.ListArray.from_arrays(starts, pa.array(np.ascontiguousarray(found, np.float64).ravel()))
    return pa.array(found if isinstance(found, list) else found.tolist(), kind)


def arrow_type(kind: DataType) -> pa.DataType:
    """Return the type of a column of predictions in Arrow."""
    if isinstance(kind, ArrayType):
        return pa.list_(arrow_type(kind.elementType))
    if isinstance(kind, StructType):
        return pa.struct([(field.name, arrow_type(field.dataType)) for field in kind])
    return pa.float64() if isinstance(kind, DoubleType) else pa.string()
