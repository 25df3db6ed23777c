"""The files of a stream, read one after the other by any reader."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..batch import Batch, DataError, batch_of
from ..sources.file_range import FileRange
from ..sources.source import display_name

Path = str | os.PathLike[str]


def batches_of_files(
    paths: Sequence[Path],
    parsed: Callable[[str, Path], Iterator[tuple[dict[str, Any], int]]],
    keep: Sequence[str],
    unit: str = "line",
    empty: str = "has no rows",
) -> Iterator[Batch]:
    """Yield batches of the rows of one file after the other.

    Parameters
    ----------
    paths : sequence of path
    parsed : callable
        Takes a file's name in messages and the file; yields the rows of the compiled reader, piece by piece, and the
        bytes of the file read by then. Raises ValueError with the error and its location in the file.
    keep : sequence of str
        What to return of every row.
    unit : str
        How messages count rows.
    empty : str
        The error of a file without rows.
    """
    before = 0
    for path in paths:
        name, rows, done = display_name(path), 0, 0
        try:
            for found, done in parsed(name, path):
                here = len(found["start"]) - 1 + found["n_skipped"]
                rows += here
                if here:
                    yield batch_of(name, unit, found, keep, before + done)
        except DataError:
            raise
        except ValueError as error:
            raise DataError(f"{name}, {error}") from None
        if rows == 0 and not isinstance(path, FileRange):
            raise DataError(f"{name} {empty}")
        before += done
