"""Files looked at from where they are learned: what there is, how large, and which can be read from the middle."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..data import DataError, DataWarning, ReaderOptions, open_stream
from ..data.cache.file import is_cache
from ..data.sources.compression import compression_of
from ..data.sources.paths import expanded
from ..data.sources.source import LONGEST_MAGIC, display_name, is_uri, opened
from .tasks import Failure

LINES = ("svmlight", "vw", "text", "jsonl")  # a CSV file may have line ends in its cells, and has a header


@dataclass
class Survey:
    """What there is to learn: files, their bytes, which of them can be cut, and how rows are read."""

    files: list[str]
    sizes: list[int]
    divisible: list[bool]
    reading: ReaderOptions
    multilabel: bool
    warnings: list[str]


def survey(
    paths: Sequence[str], reading: ReaderOptions | None, how: dict[str, Any], multilabel: bool | None, on_error: str
) -> Any:
    """Look at files, and read the first rows; a :class:`Survey` or a :class:`Failure`."""
    try:
        files = [os.fspath(path) for path in expanded(list(paths))]
        sizes = [size_of_file(file) for file in files]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataWarning)
            with open_stream(files, reading, multilabel=multilabel, on_error=on_error, **how) as stream:
                next(iter(stream), None)
        divisible = [can_be_cut(file, stream.reading.format) for file in files]
        texts = [str(warning.message) for warning in caught]
        return Survey(files, sizes, divisible, stream.reading, stream.multilabel, texts)
    except (DataError, OSError, ValueError) as error:
        return Failure(error)


def size_of_file(path: str) -> int:
    """Bytes of a regular file or of what a URI names.

    Raises
    ------
    DataError
        If it is neither, as a pipe: workers open their files themselves.
    """
    if is_uri(path):
        with opened(path) as file:
            return file.seek(0, os.SEEK_END)
    if path == "-" or not os.path.isfile(path):
        raise DataError(f"{display_name(path)} is no regular file: workers read theirs themselves, so write it to one")
    return os.path.getsize(path)


def can_be_cut(path: str, format: str) -> bool:
    """Whether the file is text with a row a line, not compressed."""
    if format not in LINES or is_cache(path):
        return False
    with opened(path) as file:
        return compression_of(file.read(LONGEST_MAGIC), path) is None
