"""Data for workers: files that they open themselves, and blocks of Dask's arrays and data frames."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, zip_longest
from typing import Any

from distributed import Client, Future

from ..data import DataError, DataWarning, ReaderOptions, open_stream
from ..data.cache.origin import is_cache
from ..data.selection import columns_of_first
from ..data.sources.compression import compression_of
from ..data.sources.encoding import cuts_lines
from ..data.sources.file_range import FileRange
from ..data.sources.paths import expand_paths
from ..data.sources.source import MAX_MAGIC_BYTES, UTF16_MARKS, display_name, is_uri, opened
from ..learner.recipe import ROWS_TO_CHOOSE
from ..learner.tables import view_of_stream
from ..views.view import View
from .cells import Cell, Piece
from .tasks import Failure, Job, Seed, cut, learn_files, learn_rows


@dataclass
class Survey:
    """The training files: their sizes in bytes, which of them can be cut, how rows are read, columns of the first.

    ``default`` is the view that the rows choose, if they are to choose one.
    """

    files: list[str]
    sizes: list[int]
    divisible: list[bool]
    reading: ReaderOptions
    multilabel: bool
    n_columns: int
    warnings: list[str]
    default: View | None


def survey(
    paths: Sequence[str],
    reading: ReaderOptions | None,
    how: dict[str, Any],
    multilabel: bool | None,
    on_error: str,
    seen_by_default: bool,
) -> Any:
    """Inspect files and read the first rows; return a :class:`Survey` or a :class:`Failure`.

    ``seen_by_default``: the rows are to choose a view.
    """
    try:
        files = [os.fspath(path) for path in expand_paths(list(paths))]
        sizes = [size_of_file(file) for file in files]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataWarning)
            with open_stream(files, reading, multilabel=multilabel, on_error=on_error, **how) as stream:
                default = view_of_stream(stream) if seen_by_default else None
                n_columns, _ = columns_of_first(stream, ROWS_TO_CHOOSE)
        divisible = [can_be_cut(file, stream.reading) for file in files]
        texts = [str(warning.message) for warning in caught]
        return Survey(files, sizes, divisible, stream.reading, stream.multilabel, n_columns, texts, default)
    except (DataError, OSError, ValueError) as error:
        return Failure(error)


def size_of_file(path: str) -> int:
    """Return the size of a regular file or URI in bytes.

    Raises
    ------
    DataError
        If it is neither, for example a pipe, since every worker opens the file itself.
    """
    if is_uri(path):
        with opened(path) as file:
            return file.seek(0, os.SEEK_END)
    if path == "-" or not os.path.isfile(path):
        raise DataError(
            f"{display_name(path)}: workers open files themselves and need a regular file; write the data to one"
        )
    return os.path.getsize(path)


def can_be_cut(path: str, reading: ReaderOptions) -> bool:
    """Return whether a file has one row per line, which a line feed ends, and is not compressed."""
    if not reading.file_format.lines or not cuts_lines(reading.encoding) or is_cache(path):
        return False
    with opened(path) as file:
        head = file.read(MAX_MAGIC_BYTES)
    return compression_of(head, path) is None and not head.startswith(UTF16_MARKS)


class Files:
    """Files that every worker can open."""

    def __init__(self, client: Client, survey: Survey) -> None:
        self.client, self.survey = client, survey
        self.turns: Iterator[str] = iter(())

    def expect(self, cells: list[Cell], threads: Mapping[str, int]) -> None:
        """Assign the cells to workers in turn; Dask would send all of them to the worker that has the base."""
        self.turns = cycle(in_turn(threads))

    def learn(self, base: Future, cell: Cell, job: Job, calibrate: bool, seed: Seed, key: str) -> Future:
        """Submit a task that opens the cell's files."""
        paths = [self._path(piece) for piece in cell]
        worker = next(self.turns, None)  # None while all workers are lost
        where: dict[str, Any] = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        return self.client.submit(learn_files, base, paths, job, calibrate, seed, key=key, **where)

    def _path(self, piece: Piece) -> str | FileRange:
        path, whole = self.survey.files[piece.unit], self.survey.sizes[piece.unit]
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
