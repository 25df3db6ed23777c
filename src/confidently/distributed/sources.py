"""Data for workers: files that they open themselves, and blocks of Dask's arrays and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, cycle, zip_longest
from typing import Any

from distributed import Client, Future

from ..data.sources.file_range import FileRange
from ..rounds.cells import Cell, Piece
from ..rounds.tasks import Job, Seed, cut, learn_rows


class Files:
    """Files that every worker can open.

    Parameters
    ----------
    client : Client
    files : sequence of str
    sizes : sequence of int
        In the unit of the cells.
    """

    def __init__(self, client: Client, files: Sequence[str], sizes: Sequence[int]) -> None:
        self.client, self.files, self.sizes = client, files, sizes
        self.turns: Iterator[str] = iter(())

    def expect(self, cells: list[Cell], threads: Mapping[str, int]) -> None:
        """Assign the cells to workers in turn; Dask would send all of them to the worker that has the base."""
        self.turns = cycle(in_turn(threads))

    def learn(self, base: Future, cell: Cell, job: Job, calibrate: bool, seed: Seed, key: str) -> Future:
        """Submit a task that opens the cell's files."""
        paths = [self._path(piece) for piece in cell]
        worker = next(self.turns, None)  # None while all workers are lost
        where: dict[str, Any] = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        return self.client.submit(job.learn, base, paths, calibrate, seed, key=key, **where)

    def _path(self, piece: Piece) -> str | FileRange:
        path, whole = self.files[piece.unit], self.sizes[piece.unit]
        return path if (piece.first, piece.last) == (0, whole) else FileRange(path, piece.first, piece.last)


def in_turn(threads: Mapping[str, int]) -> list[str]:
    """Return every worker once per thread, in turns.

    >>> in_turn({"a": 1, "b": 2, "c": 2})
    ['a', 'b', 'c', 'b', 'c']
    """
    rounds = zip_longest(*([name] * n for name, n in threads.items()))
    return [name for name in chain.from_iterable(rounds) if name is not None]


class Blocks:
    """Blocks of rows that Dask computes on the workers and keeps while this round or the next needs them.

    Parameters
    ----------
    client : Client
    blocks : list of Delayed
        Each a tuple: rows, labels, weights or None.
    estimator : OnlineClassifier or AutoClassifier
    sizes : list of int
        Sizes of the blocks, in the unit of the cells.
    """

    def __init__(self, client: Client, blocks: list[Any], estimator: Any, sizes: list[int]) -> None:
        self.client, self.blocks, self.estimator, self.sizes = client, blocks, estimator, sizes
        self.computed: dict[int, Future] = {}

    def expect(self, cells: list[Cell], threads: Mapping[str, int]) -> None:
        """Compute the blocks of these cells and release all others."""
        wanted = sorted({piece.unit for cell in cells for piece in cell})
        kept = {unit: future for unit, future in self.computed.items() if future.status in ("finished", "pending")}
        missing = [unit for unit in wanted if unit not in kept]
        futures = self.client.compute([self.blocks[unit] for unit in missing])
        self.computed = {unit: kept[unit] for unit in wanted if unit in kept} | dict(zip(missing, futures, strict=True))

    def learn(self, base: Future, cell: Cell, job: Job, calibrate: bool, seed: Seed, key: str) -> Future:
        """Submit a task to which the rows of the cell are sent, unless they are there already."""
        rows = [self._rows(piece, f"{key}-rows-{k}") for k, piece in enumerate(cell)]
        return self.client.submit(learn_rows, base, rows, self.estimator, job, calibrate, seed, key=key)

    def _rows(self, piece: Piece, key: str) -> Future:
        block, size = self.computed[piece.unit], self.sizes[piece.unit]
        if (piece.first, piece.last) == (0, size):
            return block
        return self.client.submit(cut, block, piece.first, piece.last, size, key=key)
