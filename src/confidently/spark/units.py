"""Rows of a data frame as units, which Spark keeps: some rows of one partition in Arrow's format."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple
from zlib import crc32

import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ..data import DataError, DataWarning
from ..data.formats.table import TYPED
from ..data.sources.in_memory import InMemory
from ..rounds.cells import Cell, cells_of
from .sending import slots
from .workers import in_worker

SCHEMA = "part int, number int, n_rows long, digest long, rows binary"
MAX_UNIT_BYTES = 1 << 25  # of wide rows, fewer of which make a unit
VECTORS = ("VectorUDT",)  # types of pyspark.ml, which the reader takes as lists of numbers


class Unit(NamedTuple):
    """Consecutive rows of a partition, by which Spark recognizes them.

    Attributes
    ----------
    part : int
        The number of the partition.
    number : int
        Of the unit, in the order of the partition's rows.
    n_rows : int
    digest : int
        Of the rows, since Spark may have to compute them again.
    """

    part: int
    number: int
    n_rows: int
    digest: int


class Units(NamedTuple):
    """The units of a data frame, in the order of partitions and rows, and the data frame that has them."""

    frame: DataFrame
    known: list[Unit]

    def grid(self, rounds: int) -> list[list[Cell]]:
        """Return the cells of each partition in each round; a partition's rows are cut into chunks of equal size."""
        found: list[list[Cell]] = [[] for _ in range(rounds)]
        first = 0
        for _, members in groupby(self.known, attrgetter("part")):
            sizes = [unit.n_rows for unit in members]
            for k, [cell] in enumerate(cells_of(sizes, [True] * len(sizes), 1, rounds)):
                found[k].append([piece._replace(unit=piece.unit + first) for piece in cell])
            first += len(sizes)
        return found

    def head(self, n_rows: int) -> InMemory:
        """Return the first rows, at least so many if there are."""
        wanted, total = list[Unit](), 0
        for unit in self.known:
            wanted.append(unit)
            total += unit.n_rows
            if total >= n_rows:
                break
        names = ", ".join(f"({unit.part}, {unit.number})" for unit in wanted)
        found = self.frame.filter(f"(part, number) in ({names})").select("part", "number", "rows").collect()
        return table_of([batch_of(pa.py_buffer(row.rows)) for row in sorted(found, key=lambda row: row[:2])])


@contextmanager
def units_of(frame: DataFrame, columns: Sequence[str]) -> Iterator[Units]:
    """Have Spark keep some columns of a data frame as units as long as they are needed.

    Raises
    ------
    DataError
        If there are no rows.
    """
    task = partial(cut_into_units, list(columns))
    kept = readable(frame, columns).mapInArrow(task, SCHEMA).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        known = sorted(Unit(*row) for row in kept.select(*Unit._fields).collect())
        if not known:
            raise DataError("the data frame has no rows")
        yield Units(kept, known)
    finally:
        kept.unpersist()


def warn_if_one(units: Units) -> None:
    """Warn if one partition has all rows and more tasks could run, as with one compressed file."""
    if len({unit.part for unit in units.known}) == 1 and (n := slots(units.frame.sparkSession) or 1) > 1:
        warnings.warn(
            f"all rows are in one partition of the data frame, so one of {n} tasks trains; use repartition",
            DataWarning,
            stacklevel=4,
        )


def readable(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return some columns of a data frame in types that the reader knows: vectors become lists of numbers.

    They are called by their position, since ``mapInArrow`` takes no names with dots.
    """
    vectors, chosen = vectors_of(frame.schema), []
    for k, name in enumerate(columns):
        column = frame[quoted(name)]
        chosen.append((vector_to_array(column) if name in vectors else column).alias(str(k)))
    return frame.select(chosen)


def vectors_of(schema: StructType) -> list[str]:
    """Return the columns that hold vectors of pyspark.ml."""
    return [field.name for field in schema if type(field.dataType).__name__ in VECTORS]


def quoted(name: str) -> str:
    """Return the name of a column in SQL, in which a dot is otherwise a part of a struct."""
    return f"`{name.replace('`', '``')}`"


@in_worker
def cut_into_units(columns: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the units of a partition, whose columns have these names."""
    context = TaskContext.get()
    assert context is not None  # in a task
    part, number = context.partitionId(), 0
    for batch in batches:
        size = max(batch.num_rows * MAX_UNIT_BYTES // max(batch.nbytes, MAX_UNIT_BYTES), 1)
        for first in range(0, batch.num_rows, size):
            rows = batch.slice(first, size).rename_columns(columns)
            content = bytes_of(rows)
            unit = [part], [number], [rows.num_rows], [crc32(content)], [content]
            yield pa.RecordBatch.from_arrays(
                [pa.array(value, kind) for value, kind in zip(unit, KINDS, strict=True)], NAMES
            )
            number += 1


KINDS = (pa.int32(), pa.int32(), pa.int64(), pa.int64(), pa.binary())
NAMES = [*Unit._fields, "rows"]


def bytes_of(rows: pa.RecordBatch) -> bytes:
    """Return rows in Arrow's format of streams."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return sink.getvalue().to_pybytes()


def batch_of(content: pa.Buffer) -> pa.RecordBatch:
    """Return the rows of a unit."""
    with pa.ipc.open_stream(content) as reader:
        return reader.read_next_batch()


def table_of(batches: Sequence[pa.RecordBatch]) -> InMemory:
    """Return rows as readers take them in place of a file."""
    table = pa.Table.from_batches(batches)
    return InMemory(TYPED, table, table.num_rows)
