"""The engine of Spark: a round as one job, whose tasks Spark may run again."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..data.batch import DataError
from ..rounds.cells import Piece
from ..rounds.rounds import FAN_IN, Assignment
from ..rounds.tasks import Failure, Job, Learned, Seed, merge_learned
from .sending import sent, slots
from .units import Unit, Units, batch_of, table_of
from .workers import in_worker

SCHEMA = "place int, learned binary"
CHANGED = (
    "rows of {partition} of the data frame changed when Spark computed them again, for example after it lost an "
    "executor; save the data frame and train on what was saved, or make it deterministic"
)


class Work(NamedTuple):
    """What is learned from a partition in a round.

    Attributes
    ----------
    place : int
        Of its cell among those of the round.
    pieces : list of (Unit, Piece)
    """

    place: int
    pieces: list[tuple[Unit, Piece]]


class SparkEngine:
    """Trains on units.

    Parameters
    ----------
    units : Units
    """

    def __init__(self, units: Units) -> None:
        self.units, self.copies = units, 0

    def learn(self, assigned: Assignment) -> Learned | Failure:
        """Have each partition learn its cell, and the results merged until few are left, which are merged here."""
        work = {}
        for k, cell in enumerate(assigned.cells):
            pieces = [(self.units.known[piece.unit], piece) for piece in cell]
            work[pieces[0][0].part] = Work(k, pieces)
        spark, n = self.units.frame.sparkSession, len(work)
        self.copies = min(n, slots(spark) or n)
        with sent(spark, assigned.base) as base:
            seeds = [assigned.seed_of(k) for k in range(n)]
            task = partial(learn_units, base, work, assigned.job, assigned.calibrate, seeds)
            learned = _of_round(self.units.frame, work).mapInArrow(task, SCHEMA)
            while n > FAN_IN:
                groups = learned.withColumn("merged", F.expr(f"place div {FAN_IN}"))
                n_groups = -(-n // FAN_IN)
                task = partial(merge_groups, base, n, assigned.job)
                learned, n = groups.repartition(n_groups, "merged").mapInArrow(task, SCHEMA), n_groups
            found = {row.place: pickle.loads(row.learned) for row in learned.collect()}
        return merged(assigned.base, found, n, assigned.job)


def _of_round(frame: DataFrame, work: dict[int, Work]) -> DataFrame:
    """Return the units of a round. Spark leaves out what it keeps of other units, by the first two conditions."""
    ranges = {part: (one.pieces[0][0].number, one.pieces[-1][0].number) for part, one in work.items()}
    all_ranges = [ranges.get(part, (1, 0)) for part in range(max(ranges) + 1)]
    firsts, lasts = (", ".join(str(pair[k]) for pair in all_ranges) for k in (0, 1))
    least, most = min(first for first, _ in ranges.values()), max(last for _, last in ranges.values())
    return frame.filter(f"number >= {least} and number <= {most} and part <= {max(ranges)}").filter(
        f"number >= element_at(array({firsts}), part + 1) and number <= element_at(array({lasts}), part + 1)"
    )


@in_worker
def learn_units(
    base: Any, work: dict[int, Work], job: Job, calibrate: bool, seeds: list[Seed], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield what is learned from the cells of the partitions whose units come."""
    found: dict[int, dict[int, tuple[int, pa.Buffer]]] = defaultdict(dict)
    for batch in batches:
        parts, numbers, digests = (batch.column(name).to_pylist() for name in ("part", "number", "digest"))
        for k, (part, number, digest) in enumerate(zip(parts, numbers, digests, strict=True)):
            found[part][number] = digest, batch.column("rows")[k].as_buffer()
    for part, units in found.items():
        one = work[part]
        try:
            rows = table_of([_rows(units, unit, piece) for unit, piece in one.pieces])
        except KeyError:
            learned: Any = Failure(DataError(CHANGED.format(partition=f"partition {part}")))
        else:
            learned = job.learn(base.value, [rows], calibrate, seeds[one.place])
        yield _row(one.place, learned)


def _rows(units: dict[int, tuple[int, pa.Buffer]], unit: Unit, piece: Piece) -> pa.RecordBatch:
    """Return the rows of a piece; ``KeyError``: they are not those of its unit."""
    digest, content = units[unit.number]
    if digest != unit.digest:
        raise KeyError(unit)
    return batch_of(content).slice(piece.first, piece.last - piece.first)


@in_worker
def merge_groups(base: Any, n: int, job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the merged results of the groups that come, of ``n`` results in all."""
    groups: dict[int, dict[int, Any]] = defaultdict(dict)
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("merged", "place", "learned"))
        for group, place, learned in zip(*columns, strict=True):
            groups[group][place] = pickle.loads(learned)
    for group, found in groups.items():
        yield _row(group, merged(base.value, found, min(FAN_IN, n - group * FAN_IN), job))


def merged(base: Any, found: dict[int, Any], n: int, job: Job) -> Learned | Failure:
    """Return what one group has learned, which has ``n`` results by their places; a partition without rows has none."""
    if len(found) < n:
        return Failure(DataError(CHANGED.format(partition="a partition")))
    results = [found[place] for place in sorted(found)]
    return results[0] if n == 1 else merge_learned(base, results, job)


def _row(place: int, learned: Any) -> pa.RecordBatch:
    content = pickle.dumps(learned, protocol=pickle.HIGHEST_PROTOCOL)
    return pa.RecordBatch.from_arrays(
        [pa.array([place], pa.int32()), pa.array([content], pa.binary())], ["place", "learned"]
    )
