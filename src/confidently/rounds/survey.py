"""What is known of training files before the first round."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..data import DataError, DataWarning, ReaderOptions, open_stream
from ..data.cache.origin import is_cache
from ..data.selection import columns_of_first
from ..data.sources.compression import compression_of
from ..data.sources.encoding import cuts_lines
from ..data.sources.paths import expand_paths
from ..data.sources.source import MAX_MAGIC_BYTES, UTF16_MARKS, display_name, is_uri, opened
from ..learner.recipe import ROWS_TO_CHOOSE
from ..learner.tables import view_of_stream
from ..views.view import View
from .tasks import Failure


@dataclass(frozen=True, kw_only=True)
class FirstRows:
    """What the first rows of the data show: how rows are read, and the columns of the first.

    ``default`` is the view that the rows choose, if they are to choose one.
    """

    reading: ReaderOptions
    multilabel: bool
    n_columns: int
    warnings: list[str]
    default: View | None


@dataclass(frozen=True, kw_only=True)
class Survey(FirstRows):
    """The training files: also their sizes in bytes, and which of them can be cut."""

    files: list[str]
    sizes: list[int]
    divisible: list[bool]


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
        first = first_rows(files, reading, how, multilabel, on_error, seen_by_default)
        divisible = [can_be_cut(file, first.reading) for file in files]
        return Survey(files=files, sizes=sizes, divisible=divisible, **vars(first))
    except (DataError, OSError, ValueError) as error:
        return Failure(error)


def first_rows(
    paths: Any,
    reading: ReaderOptions | None,
    how: dict[str, Any],
    multilabel: bool | None,
    on_error: str,
    seen_by_default: bool,
) -> FirstRows:
    """Read the first rows of data; errors as of :func:`confidently.data.open_stream`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        with open_stream(paths, reading, multilabel=multilabel, on_error=on_error, **how) as stream:
            default = view_of_stream(stream) if seen_by_default else None
            n_columns, _ = columns_of_first(stream, ROWS_TO_CHOOSE)
    texts = [str(warning.message) for warning in caught]
    return FirstRows(
        reading=stream.reading, multilabel=stream.multilabel, n_columns=n_columns, warnings=texts, default=default
    )


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
